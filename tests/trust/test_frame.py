"""The frame of the gates: what a run records is what the page shows."""

from __future__ import annotations

import pytest

from trust import __main__ as command
from trust import record
from trust.outcome import Outcome
from trust.registry import GATES, Gate


def test_the_table_of_the_page_is_made_of_the_recorded_figures() -> None:
    page = record.PAGE.read_text(encoding="utf-8")
    assert record.with_table(page, record.read()) == page


def test_every_recorded_figure_is_of_a_gate_that_held() -> None:
    figures = record.read()
    assert figures
    assert set(figures) <= {gate.name for gate in GATES}
    assert not {name for name, row in figures.items() if row["failures"]}


def test_a_gate_that_fails_makes_the_command_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Outcome("volume", "3 operations, 1 difference", "0 differences", ("seed 5: an answer is wrong",))
    monkeypatch.setattr(Gate, "run", lambda *_: bad)
    assert command.main(["--only", "volume", "--dry"]) == 1
    printed = capsys.readouterr().out
    assert "seed 5: an answer is wrong" in printed
    assert "1 failed" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_a_gate_that_breaks_off_is_a_failure() -> None:
    outcome = Gate("no_such_gate", "nothing").run(1, 0)
    assert not outcome.passed
