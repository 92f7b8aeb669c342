"""Mutants are what they say, the sample is a sample, and a mutant that a test sees counts as seen."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from trust import mutants as gate
from trust import mutations
from trust.mutations import Mutant, mutants_of

TEXT = '''
"""Not 1."""
from __future__ import annotations

Pair = tuple[int, int]

def f(xs: list[int] | None, y: int = 3) -> int | None:
    assert y > 1, "never"
    found = [x for x in xs if x]
    found.append(y)
    match found:
        case [first, *_] if first not in xs:
            return first
    return None
'''


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Mutant]:
    monkeypatch.setattr(mutations, "SOURCE", tmp_path)
    (tmp_path / "m.py").write_text(TEXT)
    return mutants_of(tmp_path / "m.py")


def test_what_only_types_say_is_left_alone(small: list[Mutant]) -> None:
    assert {(m.operator, m.text) for m in small} == {
        ("AddNot", "case [first, *_] if first not in xs:"),
        ("NumberReplacer", "def f(xs: list[int] | None, y: int = 3) -> int | None:"),
        ("NegateFilter", "found = [x for x in xs if x]"),
        ("DropStatement", "found.append(y)"),
        ("NegateMembership", "case [first, *_] if first not in xs:"),
    }


def test_a_mutant_is_one_change_of_a_program_that_still_parses(small: list[Mutant]) -> None:
    for mutant in small:
        before, after = TEXT.splitlines(), mutant.source().splitlines()
        assert len(before) == len(after)
        assert [i + 1 for i, pair in enumerate(zip(before, after, strict=True)) if len(set(pair)) > 1] == [
            mutant.line
        ]
        ast.parse(mutant.source())


def test_a_mutant_keeps_its_place_when_other_lines_come(small: list[Mutant], tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(TEXT.replace("def f", "OTHER = 7\n\ndef f"))
    again = mutants_of(tmp_path / "m.py")
    assert {m.place(5) for m in small} < {m.place(5) for m in again}
    assert len({m.place(5) for m in again}) == len(again)


def test_the_interval_of_a_share_is_wilsons() -> None:
    low, high = gate.interval(85, 100)
    assert (round(low, 1), round(high, 1)) == (76.7, 90.7)
    assert gate.interval(0, 0) == (0.0, 100.0)


def test_tests_that_saw_much_in_little_time_come_first_then_texts_then_those_of_all_files_in_turn() -> None:
    seconds = {
        "a::quick": 0.1, "a::slow": 5.0, "a::sharp": 5.0, "a::slower": 30.0, "a::slowest": 40.0,
        "b::slower": 60.0, "b::hopeless": 900.0, "tests/golden/x": 0.01,
    }  # fmt: skip
    order = list(gate.stages(sorted(seconds), seconds, Counter({"a::sharp": 80})))
    assert order == [
        ["a::sharp", "a::quick", "a::slow"], ["tests/golden/x"], ["a::slower", "b::slower", "a::slowest"],
    ]  # fmt: skip


def test_a_change_that_a_test_sees_is_seen_and_the_source_as_it_is_is_not_accused(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "m.py").write_text("def f(): return 1\n")
    (tmp_path / "test_m.py").write_text("from m import f\ndef test_f(): assert f() == 1\n")
    assert gate.fails(["test_m.py::test_f"], tmp_path, 60) == ""
    (tmp_path / "src" / "m.py").write_text("def f(): return 2\n")
    assert gate.fails(["test_m.py::test_f"], tmp_path, 60) == "test_m.py::test_f"
