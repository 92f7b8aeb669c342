"""The statistics of programs count what the paper's table counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoq.stats import PAPER, lines_of_code, measure, table

PROGRAMS = Path(__file__).parents[2] / "programs"


@pytest.mark.parametrize("name", ["running", "core_rbac", "ssd"])
def test_queries_and_updates_are_counted_as_in_the_paper(name: str) -> None:
    figures = measure(PROGRAMS / f"{name}.py")
    assert (figures.queries, figures.updates) == (PAPER[name].queries, PAPER[name].updates)


def test_every_program_of_the_paper_is_there() -> None:
    found = {p.stem for p in PROGRAMS.rglob("*.py")}
    assert set(PAPER) <= found


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    assert lines_of_code('"""Doc."""\n\n# note\nx = 1  # one\ny = (\n    2\n)\n') == 4


def test_the_table_fits_a_terminal() -> None:
    text = table([PROGRAMS / "running.py"])
    assert "(the paper's)" in text
    assert max(map(len, text.splitlines())) <= 80
