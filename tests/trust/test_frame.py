"""The frame of the gates: what a run records is what the page shows."""

from __future__ import annotations

from pathlib import Path

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


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds with which a gate was run that tries two programs a run; it records at a place of its own."""
    seeds: list[int] = []

    def two(self: Gate, budget_seconds: float, seed: int) -> Outcome:
        seeds.append(seed)
        worst = {"worst": 9 - len(seeds)}
        rows = (("program", "times"), ("all", "{programs}"))
        figure = "{programs:,} programs, at worst {worst}; 0 differ"
        return Outcome(
            "names", figure, "0", rows=rows, counts={"programs": 2}, most=worst, next_seed=seed + 2
        )

    page = tmp_path / "trust.md"
    page.write_text(f"{record.BEGIN}\n{record.END}")
    monkeypatch.setattr(record, "FIGURES", tmp_path / "trust.json")
    monkeypatch.setattr(record, "PAGE", page)
    monkeypatch.setattr(Gate, "run", two)
    return seeds


def test_what_a_gate_counts_adds_up_over_runs_and_none_repeats_another(runs: list[int]) -> None:
    for _ in range(3):
        assert command.main(["--only", "names"]) == 0
    assert runs == [0, 2, 4]
    assert record.read()["names"]["figure"] == "6 programs, at worst 8; 0 differ"
    assert "| all | 6 |" in record.PAGE.read_text()


def test_a_run_that_repeats_another_is_shown_and_not_recorded(
    runs: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    command.main(["--only", "names"])
    before = record.read()
    command.main(["--only", "names", "--seed", "1"])
    assert runs == [0, 1]
    assert record.read() == before
    assert "2 programs, at worst 7" in capsys.readouterr().out


def test_a_run_from_a_seed_that_none_came_to_is_recorded(runs: list[int]) -> None:
    for arguments in ((), ("--seed", "90"), ()):
        command.main(["--only", "names", *arguments])
    assert runs == [0, 90, 92]
    assert record.read()["names"]["counts"] == {"programs": 6}


def test_a_run_that_breaks_off_leaves_the_totals(runs: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    command.main(["--only", "names"])
    monkeypatch.setattr(Gate, "run", lambda *_: Outcome("names", "it broke off", "-", ("MemoryError",)))
    assert command.main(["--only", "names"]) == 1
    assert record.read()["names"]["counts"] == {"programs": 2}
    assert record.read()["names"]["next_seed"] == 2
