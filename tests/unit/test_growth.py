"""Growth by counting finds a formula that says too little, and passes one that says enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoq import growth
from incoq.compile import Compiled, compile_source
from incoq.growth import Report, check_program, exponent, printed_costs, table, value, worlds_of

PROGRAM = """
from incoq import Set, query


class User:
    def __init__(self, age):
        self.age = age


@query
def oldest(s):
    return max((u.age for u in s), default=0)
"""
WORLDS = """
from people import User, oldest

from incoq import Set


def many(n):
    users = [User(i) for i in range(n)]
    groups = [Set(users) for _ in range(n)]
    for group in groups:
        oldest(group)
    yield
    users[0].age = n
    yield
    groups[0].add(User(n + 1))
    yield
    oldest(Set(users))
    yield
    oldest(groups[0])
"""
SIZES = (4, 13, 40, 126, 400)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "growth").mkdir()
    (tmp_path / "growth" / "people.py").write_text(WORLDS)
    (tmp_path / "people.py").write_text(PROGRAM)
    return tmp_path / "people.py"


def report_of(program: Path, mode: str = "filtered") -> Report:
    worlds = worlds_of(program)
    assert worlds is not None
    return check_program(program, worlds, SIZES, (mode,))


def verdicts(report: Report) -> dict[str, str]:
    return {row.update: row.verdict for row in report.rows}


def test_a_formula_is_evaluated_with_the_sizes_that_loops_met() -> None:
    sizes = {"#a": 3, "#b": 5, "heap": 7}
    assert value("O(1)", sizes) == 1
    assert value("O(#a × #b + #c)", sizes) == 16, "what no loop has met does not count"
    assert value("O(#a × log #q)", sizes) == 10


def test_an_exponent_is_the_slope_of_logarithms() -> None:
    assert exponent([1, 10, 100], [7, 70, 700]) == pytest.approx(1)
    assert exponent([1, 10, 100], [2, 200, 20_000]) == pytest.approx(2)
    assert exponent([1, 10, 100], [3, 3, 3]) == pytest.approx(0)


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_costs_grow_as_printed(program: Path, mode: str) -> None:
    report = report_of(program, mode)
    assert report.failures == []
    assert set(verdicts(report)) == {
        "o.age = x, del o.age", "s.add(x), s.discard(x)", "first ask of oldest", "asking oldest again",
    }  # fmt: skip
    steepest = max(s.count_exponent for row in report.rows for s in row.series)
    assert steepest > 0.9, "something did grow"
    assert all(len(line) <= 80 for line in table(report).splitlines())


@pytest.mark.parametrize(
    ("left_out", "update"),
    [
        (" × log #oldest", "o.age = x, del o.age"),
        ("log #oldest", "s.add(x), s.discard(x)"),
        ("#fil_inv_member{u} × ", "o.age = x, del o.age"),
        ("#member{s} + #member{s} × ", "first ask of oldest"),
    ],
)
def test_a_formula_that_leaves_something_out_is_outgrown(
    program: Path, monkeypatch: pytest.MonkeyPatch, left_out: str, update: str
) -> None:
    def less(compiled: Compiled) -> dict[str, str]:
        printed = printed_costs(compiled)
        changed = printed[update].replace(left_out, "").replace("O()", "O(1)")
        assert changed != printed[update]
        return {**printed, update: changed}

    monkeypatch.setattr(growth, "printed_costs", less)
    report = report_of(program)
    assert verdicts(report)[update] == "OUTGROWN"
    assert "OUTGROWN" in table(report)


def test_an_update_that_no_world_makes_is_reported(program: Path) -> None:
    worlds = program.parent / "growth" / "people.py"
    less = WORLDS.replace("users[0].age = n", "pass").replace("groups[0].add(User(n + 1))", "groups[0].pop()")
    worlds.write_text(less)
    assert verdicts(report_of(program))["o.age = x, del o.age"] == "NOT RUN"


def test_a_world_must_not_change_what_is_maintained(program: Path) -> None:
    worlds = program.parent / "growth" / "people.py"
    another = "\n\n@query\ndef ages(s):\n    return {u.age for u in s}\n"
    worlds.write_text(WORLDS.replace("import Set", "import Set, query") + another)
    with pytest.raises(Exception, match="changes what"):
        report_of(program)


def test_the_plan_of_the_program_is_not_run_by_its_worlds_alone() -> None:
    """Worlds are text beside the program: what they import from it is taken out, the rest stays."""
    text = growth.without_import_of("from people import User, oldest\nimport math\n", "people")
    assert text.strip() == "import math"
    assert printed_costs(compile_source(PROGRAM))["asking oldest again"] == "O(1)"
