"""Large programs, as far as they are cheap."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from trust import record, size
from trust.size import CASES, HEADS, Case, Measured, measure


@pytest.mark.parametrize("case", [case for case in CASES if case.quick], ids=str)
def test_a_large_program_ends_in_an_answer_or_a_coded_refusal(case: Case) -> None:
    assert not measure(case, "filtered").fault


def test_a_run_goes_on_with_the_programs_that_the_last_one_did_not_come_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trust.md").write_text(f"{record.BEGIN}\n{record.END}")
    monkeypatch.setattr(record, "FIGURES", tmp_path / "trust.json")
    monkeypatch.setattr(record, "PAGE", tmp_path / "trust.md")
    turns = itertools.count()
    monkeypatch.setattr(size, "measure", lambda case, mode: Measured(case, mode, "an answer", next(turns)))
    seed = 0
    for _ in range(2 * len(CASES) + 1):  # each has time for one program
        outcome = size.run(0, seed)
        seed = outcome.next_seed
        record.write(outcome, 0, 0)
    assert outcome.figure.startswith(f"{2 * len(CASES)} of {2 * len(CASES)} programs; at most 30 s")
    head, first, second, *_ = outcome.rows
    assert head == HEADS
    assert (first[3], second[3]) == ("30.0", "1.0"), "the first was measured again"
