"""The report in docs/evaluation: its tables follow from its samples, and the README's figures are its own."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from incoq.cli import main
from incoq.evaluate import cli
from incoq.evaluate.report import BEGIN, END
from incoq.evaluate.rows import read_rows

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "docs" / "evaluation"


def test_the_figures_of_the_readme_are_those_of_the_committed_report() -> None:
    _, begin, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition(BEGIN)
    figures, end, _ = rest.partition(END)
    assert begin
    assert end
    assert figures == (COMMITTED / "summary.md").read_text(encoding="utf-8")


def test_the_committed_report_is_what_the_command_makes_of_its_samples(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "_spark", lambda master: nullcontext(spark))  # the session of all tests stays
    for name in ("settings.json", "transformations.json", "samples/all.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((COMMITTED / name).read_bytes())
    result = CliRunner().invoke(main, ["evaluate", "--report-only", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "summary.md").read_text() == (COMMITTED / "summary.md").read_text()


def test_no_committed_sample_failed_and_all_answers_agree() -> None:
    rows = read_rows(COMMITTED / "samples")
    assert len(rows) > 1000
    assert [row.failure for row in rows if row.failure and not row.stopped] == []
    answers: dict[tuple[str, int, str, int], set[str]] = {}
    for row in rows:
        if not row.failure:
            key = (row.experiment, row.size, row.part, row.operations)
            answers.setdefault(key, set()).add(row.answers)
    assert [key for key, found in answers.items() if len(found) > 1] == []


def test_the_page_is_of_modest_size() -> None:
    assert (COMMITTED / "report.html").stat().st_size < 3_000_000
