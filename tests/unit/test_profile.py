"""Profiles count what happened, where it happened, and beside it what evaluation would have done."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """\
import sys
from incoq import Set, query


class User:
    def __init__(self, loc):
        self.loc = loc


@query
def in_oslo(group):
    return {u for u in group if u.loc == "Oslo"}


def ask(group):
    return in_oslo(group)


users = [User("Oslo" if n % 2 else "Lima") for n in range(10)]
group, other = Set(users), Set()
for turn in range(100):
    assert len(ask(group)) == 5
ask(other)
for user in users:
    user.loc = user.loc
for user in users:
    group.discard(user)
setattr(users[0], "".join(["lo", "c"]), "Oslo")
print("done", sys.argv[1:])
if "fail" in sys.argv:
    raise SystemExit(3)
"""


def profiled(folder: Path, *args: str, text: str = PROGRAM, all_: bool = False) -> tuple[dict[str, Any], Any]:
    program = folder / "program.py"
    program.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable, "-m", "incoq.cli", "profile", "--strategy", "tags", "--json", "profile.json",
            *(["--all"] if all_ else []), "program.py", *args,
        ],
        cwd=folder, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    return json.loads((folder / "profile.json").read_text(encoding="utf-8")), done


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Any]:
    return profiled(tmp_path_factory.mktemp("profile"), "an", "argument")


def line_of(part: str) -> int:
    return next(n for n, line in enumerate(PROGRAM.split("\n"), 1) if part in line)


def test_the_program_runs_as_it_would(measured: tuple[dict[str, Any], Any]) -> None:
    _, done = measured
    assert done.stdout == "done ['an', 'argument']\n"
    assert done.returncode == 0


def test_calls_hits_and_misses_of_demand_are_counted(measured: tuple[dict[str, Any], Any]) -> None:
    (query,) = measured[0]["queries"]
    assert (query["calls"], query["hits"], query["misses"]) == (101, 99, 2)


def test_the_places_are_lines_of_the_program(measured: tuple[dict[str, Any], Any]) -> None:
    data, _ = measured
    assert [(p["line"], p["name"], p["calls"]) for p in data["asked"]] == [
        (line_of("return in_oslo(group)"), "in_oslo", 101)
    ]
    updates = {(p["line"], p["name"]): p["calls"] for p in data["updated"]}
    assert updates[line_of("user.loc = user.loc"), "set_loc"] == 10
    assert updates[line_of("group.discard"), "Set.discard"] == 10
    assert updates[line_of("setattr(users"), "set_attribute"] == 1
    assert sum(updates.values()) + 101 == data["events"]


def test_iterations_are_those_of_the_loops_of_both(measured: tuple[dict[str, Any], Any]) -> None:
    (query,) = measured[0]["queries"]
    assert 10 <= query["iterations"] <= 30  # the first time each user is tagged and looked at; then nothing
    assert query["naive_iterations"] == 100 * 10
    assert 32 <= query["samples"] < 101


def test_sizes_grow_with_demand_and_go_back(measured: tuple[dict[str, Any], Any]) -> None:
    data, _ = measured
    sizes = {s["name"]: s for s in data["structures"]}
    assert sizes["tag_u"]["largest"] == 10
    assert sizes["tag_u"]["sizes"][0] == sizes["tag_u"]["sizes"][-1] == 0
    assert all(len(s["sizes"]) == len(data["moments"]) <= 202 for s in data["structures"])
    assert data["moments"][-1] == data["events"]


def test_the_verdict_compares_with_evaluation(measured: tuple[dict[str, Any], Any]) -> None:
    data, done = measured
    assert re.search(r"worth it in this run|As fast as", data["verdict"], re.IGNORECASE)
    assert data["verdict"].split(":")[0] in " ".join(done.stderr.split())


def test_the_text_fits_80_columns_and_cuts_no_number(measured: tuple[dict[str, Any], Any]) -> None:
    lines = measured[1].stderr.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "…" in line.split("  ", 1)[-1].strip()[20:]]


def test_a_program_that_ends_early_still_has_a_profile(tmp_path: Path) -> None:
    data, done = profiled(tmp_path, "fail")
    assert done.returncode == 3
    assert data["queries"][0]["calls"] == 101


def test_a_program_that_asks_nothing_is_told_so(tmp_path: Path) -> None:
    data, _ = profiled(
        tmp_path, text="from incoq import query\n\n@query\ndef q(s):\n    return {x for x in s}\n"
    )
    assert data["verdict"].startswith("No query was asked")


def test_every_key_is_documented(measured: tuple[dict[str, Any], Any]) -> None:
    documented = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "profile-schema.md").read_text()))
    data = {k: v for k, v in measured[0].items() if k != "loops"}  # its keys are names of functions
    assert _keys(data) - documented == set()
    assert measured[0]["loops"]


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {k for v in value.values() for k in _keys(v)}
    return {k for v in value for k in _keys(v)} if isinstance(value, list) else set()


def test_unmarked_comprehensions_are_profiled_where_they_stand(tmp_path: Path) -> None:
    text = (
        "class Box:\n    def __init__(self):\n        self.items = set()\n\n"
        "box = Box()\n\ndef large(limit):\n    return {x for x in box.items if x > limit}\n\n"
        "for n in range(20):\n    box.items.add(n)\n    large(5)\n"
    )
    data, done = profiled(tmp_path, text=text, all_=True)
    assert done.returncode == 0, done.stderr
    # for the first time it is evaluated as it stands
    assert [(q["calls"], q["misses"]) for q in data["queries"]] == [(19, 1)]
    assert [(p["line"], p["calls"]) for p in data["asked"]] == [(8, 19)]


def test_a_list_or_dict_that_is_asked_about_for_the_first_time_counts(tmp_path: Path) -> None:
    text = (
        "from incoq import query\n\n@query\ndef q(l, m):\n    return {x for x in l if x in m}\n\n"
        "l, m = [1, 2], {1: 0}\nfor _ in range(3):\n    print(q(l, m))\n"
    )
    data, done = profiled(tmp_path, text=text)
    assert done.returncode == 0, done.stderr
    (query,) = data["queries"]
    assert (query["calls"], query["hits"], query["misses"]) == (3, 2, 1)
