"""Samples in processes of their own: what is left, what a cut leaves behind, and that all versions agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_rows import row

from incoq.evaluate import measure as measuring
from incoq.evaluate.experiments import EXPERIMENTS, Experiment, Plan
from incoq.evaluate.measure import Evaluation, Job, Protocol, generate_workloads, measure, take
from incoq.evaluate.rows import Row, append, read_rows

PROGRAMS = Path(__file__).parents[2] / "programs"


def small(name: str, sizes: tuple[int, ...], operations: int) -> Experiment:
    experiment = next(e for e in EXPERIMENTS if e.name == name)
    return replace(experiment, quick=Plan(sizes, operations, 1, experiment.quick.options))


def test_runs_go_on_until_they_agree_within_the_protocol() -> None:
    protocol = Protocol(3, 5)
    assert not protocol.is_enough([1.0, 1.0])
    assert protocol.is_enough([1.0, 1.01, 0.99])
    assert not protocol.is_enough([1.0, 2.0, 3.0, 4.0])
    assert protocol.is_enough([1.0, 2.0, 3.0, 4.0, 5.0])


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = Evaluation(tmp_path, PROGRAMS, (small("birthday", (10, 20), 5),), quick=True)
    taken: list[tuple[Any, ...]] = []

    def made(evaluation: Evaluation, job: Job) -> Row:
        if len(taken) == 7:
            taken.append(("cut",))
            raise KeyboardInterrupt
        taken.append(job.key)
        counted = {"seconds": None, "iterations": 5} if job.counted else {"seconds": 1.0}
        return row(mode=job.mode, part=job.part, size=job.size, run=job.run, **counted)  # type: ignore[arg-type]

    monkeypatch.setattr(measuring, "take", made)
    with pytest.raises(KeyboardInterrupt):
        measure(evaluation, lambda job, row: None)
    (evaluation.samples / ".birthday-half-written.part").write_bytes(b"PAR")
    assert len(read_rows(evaluation.samples)) == 7
    assert measure(evaluation, lambda job, row: None)
    keys = [key for key in taken if key != ("cut",)]
    assert len(keys) == len(set(keys)) == 6 * (measuring.QUICK.least + 1)
    assert evaluation.left(evaluation.rows()) == []
    assert evaluation.expected(evaluation.rows())[0] == 0


def test_a_budget_that_is_used_up_leaves_the_rest(tmp_path: Path) -> None:
    evaluation = Evaluation(tmp_path, PROGRAMS, (small("birthday", (10,), 5),), quick=True)
    assert not measure(evaluation, lambda job, row: None, until=0.0)
    assert len(evaluation.left([])) == 3


def test_what_failed_is_kept_and_not_tried_again(tmp_path: Path) -> None:
    experiment = small("birthday", (10,), 5)
    evaluation = Evaluation(tmp_path, PROGRAMS, (experiment,), quick=True)
    failed = take(evaluation, Job(experiment, "filtered", "all", 10, 1))  # its data were never made
    assert "FileNotFoundError" in failed.failure
    assert failed.seconds is None
    append(evaluation.samples, failed)
    assert {job.mode for job in evaluation.left(evaluation.rows())} == {"original", "incremental"}


@pytest.mark.parametrize(
    ("name", "size", "operations"),
    [("running-size", 200, 20), ("jql-size", 20, 20), ("la-mutex-rounds", 2, 1)],
)
def test_all_versions_answer_alike_and_count_their_loops(
    spark: Any, tmp_path: Path, name: str, size: int, operations: int
) -> None:
    experiment = small(name, (size,), operations)
    evaluation = Evaluation(tmp_path, PROGRAMS, (experiment,), quick=True)
    generate_workloads(spark, evaluation, lambda what: None)
    rows = [take(evaluation, Job(experiment, mode, "all", size, 0)) for mode in experiment.modes]
    assert [r.failure for r in rows] == [""] * len(rows)
    assert len({r.answers for r in rows}) == 1
    assert all(r.iterations is not None and r.seconds is None for r in rows)
    timed = take(evaluation, Job(experiment, experiment.modes[0], "all", size, 1))
    assert timed.seconds is not None
    assert timed.seconds > 0
    assert timed.iterations is None
