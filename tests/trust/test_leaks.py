"""A small share of the leak check over the suite."""

from __future__ import annotations

from pathlib import Path

from trust.leaks import ROOT, measure_file

TESTS = """
import linecache
from functools import lru_cache
import pytest
KEPT, CACHE = [], {}

def remember(value):
    return [value]

remember.__module__ = "incoq.made"
few, all_ = lru_cache(100)(remember), lru_cache(None)(remember)

def test_that_fills_a_bounded_cache():
    few(object())

def test_that_fills_a_cache_without_bounds():
    all_(object())

def test_that_keeps_an_object_each_time():
    KEPT.append(object())

@pytest.mark.parametrize("make", [object])
def test_that_keeps_what_a_parameter_makes(make, tmp_path):
    (tmp_path / "new").mkdir()
    KEPT.append(make())

def test_that_keeps_what_it_makes_once():
    CACHE.setdefault("made", object())

def test_that_needs_a_text_that_is_registered_once():
    name = CACHE.setdefault("text", "<a text>")
    if "registered" not in CACHE:
        linecache.cache[name] = (len("1"), None, ["1"], name)
        CACHE["registered"] = True
    assert linecache.getline(name, 1)

@pytest.mark.parametrize("times", [1, 5])
def test_that_makes_a_cycle(times, tmp_path):
    (tmp_path / "new").mkdir()
    for _ in range(times):
        one = []
        one.append(one)

def test_that_fails():
    assert 0

@pytest.mark.skip
def test_that_is_skipped():
    KEPT.append(object())
"""


def test_a_test_that_keeps_an_object_each_time_is_told_from_those_that_do_not(tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(TESTS)
    found = measure_file(path)
    left = {name.partition("::")[2]: blocks for name, blocks in found["left"].items()}
    assert {name for name, blocks in left.items() if min(blocks) > 0} == {
        "test_that_keeps_an_object_each_time",
        "test_that_keeps_what_a_parameter_makes[object]",
        "test_that_fills_a_cache_without_bounds",
    }
    assert len(left) == 8
    assert [name.partition("::")[2] for name in found["failed"]] == ["test_that_fails"]
    assert found["long"] == []


def test_programs_that_are_compiled_and_run_leave_nothing() -> None:
    found = measure_file(ROOT / "tests" / "unit" / "test_counting.py")
    assert found["left"]
    assert not {test: blocks for test, blocks in found["left"].items() if min(blocks) > 0}
    assert not found["failed"]
