"""The statistics of programs count what the paper's table counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoq.compile import compile_path
from incoq.stats import (
    count_queries,
    count_updates,
    fit_line,
    fit_power,
    lines_of_code,
    measure,
    running_example,
    table,
)
from incoq.stats_paper import NOTES, PAPER

PROGRAMS = Path(__file__).parents[2] / "programs"


@pytest.mark.parametrize("name", ["running", "core_rbac", "ssd"])
def test_queries_and_updates_are_counted_as_in_the_paper(name: str) -> None:
    figures = measure(PROGRAMS / f"{name}.py")
    assert (figures.queries, figures.updates) == (PAPER[name].queries, PAPER[name].updates)


def test_every_program_of_the_paper_is_there() -> None:
    found = {p.stem for p in PROGRAMS.rglob("*.py")}
    assert set(PAPER) <= found


@pytest.mark.parametrize("name", sorted(PAPER))
def test_a_note_says_why_a_count_differs_and_only_then(name: str) -> None:
    (path,) = [p for p in PROGRAMS.rglob(f"{name}.py") if p.parent.name != "growth"]
    compiled = compile_path(path, "incremental")
    (module,) = compiled.program.modules
    counts = {"queries": count_queries(compiled.plan), "updates": count_updates(module, compiled.plan)}
    theirs = {"queries": PAPER[name].queries, "updates": PAPER[name].updates}
    assert NOTES.get(name, {}).keys() == {what for what in counts if counts[what] != theirs[what]}


def test_a_line_and_a_power_are_fitted() -> None:
    fit = fit_line([(0, 1), (1, 3), (2, 5)])
    assert (fit.start, fit.slope, fit.determination) == pytest.approx((1, 2, 1))
    assert fit_power([(1, 2), (2, 8), (4, 32)]) == pytest.approx(2)


def test_copies_of_the_running_example_are_a_program() -> None:
    namespace: dict[str, object] = {}
    exec(running_example(3), namespace)
    assert {"nyc_fans_0", "nyc_fans_2", "User_1"} <= namespace.keys()


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    assert lines_of_code('"""Doc."""\n\n# note\nx = 1  # one\ny = (\n    2\n)\n') == 4


def test_the_table_fits_a_terminal() -> None:
    text = table([PROGRAMS / "running.py"])
    assert "(the paper's)" in text
    assert max(map(len, text.splitlines())) <= 80
