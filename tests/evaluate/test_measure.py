"""Samples in processes of their own: what is left, what a cut leaves behind, and that all versions agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_rows import row

from incoq.evaluate import measure as measuring
from incoq.evaluate.catalogue import EXPERIMENTS
from incoq.evaluate.experiments import Experiment, Plan
from incoq.evaluate.measure import Evaluation, Job, Protocol, generate_workloads, measure, take
from incoq.evaluate.rows import Key, Row, append, read_rows
from incoq.evaluate.sampler import sampler

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
    taken: list[Key] = []
    jobs = 0

    def made(evaluation: Evaluation, job: Job, server: Any) -> list[Row]:
        nonlocal jobs
        jobs += 1
        if jobs == 8:
            raise KeyboardInterrupt
        taken.extend(job.keys)
        counted = {"seconds": None, "iterations": 5} if job.counted else {"seconds": 1.0}
        return [
            row(mode=job.mode, part=part, size=job.size, run=run, **counted)  # type: ignore[arg-type]
            for part, run in job.runs
        ]

    monkeypatch.setattr(measuring, "take", made)
    with pytest.raises(KeyboardInterrupt):
        measure(evaluation, lambda job, rows: None)
    (evaluation.samples / ".birthday-half-written.part").write_bytes(b"PAR")
    assert len(read_rows(evaluation.samples)) == 4 + 3 * measuring.QUICK.least
    assert measure(evaluation, lambda job, rows: None)
    assert len(taken) == len(set(taken)) == 6 * (measuring.QUICK.least + 1)
    assert evaluation.left(evaluation.rows()) == []
    assert evaluation.expected(evaluation.rows())[0] == 0


def test_a_budget_that_is_used_up_leaves_the_rest(tmp_path: Path) -> None:
    evaluation = Evaluation(tmp_path, PROGRAMS, (small("birthday", (10,), 5),), quick=True)
    assert not measure(evaluation, lambda job, rows: None, until=0.0)
    assert len(evaluation.left([])) == 6


def test_what_failed_is_kept_and_not_tried_again(tmp_path: Path) -> None:
    experiment = small("birthday", (10,), 5)
    evaluation = Evaluation(tmp_path, PROGRAMS, (experiment,), quick=True)
    with sampler() as server:  # its data were never made
        failed = take(evaluation, Job(experiment, "filtered", 10, (("all", 1), ("all", 2))), server)
    assert len(failed) == 1
    assert "FileNotFoundError" in failed[0].failure
    assert failed[0].seconds is None
    append(evaluation.samples, failed)
    assert {job.mode for job in evaluation.left(evaluation.rows())} == {"original", "incremental"}


def test_what_was_stopped_at_the_limit_is_not_measured_at_larger_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = replace(small("la-mutex-rounds", (1, 400, 500), 1), modes=("original",))
    evaluation = Evaluation(tmp_path, PROGRAMS, (experiment,), quick=True)
    monkeypatch.setattr(measuring, "LIMIT", 0.5)
    assert measure(evaluation, lambda job, rows: None)
    rows = {r.size: r for r in evaluation.rows()}
    assert rows.keys() == {1, 400}
    assert rows[400].stopped
    assert not rows[1].failure


def test_more_runs_are_taken_where_runs_differ_after_all_others() -> None:
    birthday = next(e for e in EXPERIMENTS if e.name == "birthday")
    birthday = replace(birthday, modes=("original",), full=replace(birthday.full, sizes=(10, 20)))
    evaluation = Evaluation(Path(), PROGRAMS, (birthday,), quick=False)
    agreeing = [row(mode="original", size=size, run=run) for size in (10, 20) for run in range(11)]
    assert evaluation.left(agreeing) == []
    differing = [replace(r, seconds=float(r.run + 1)) for r in agreeing if (r.size, r.run) != (20, 0)]
    first, second, third = evaluation.left(differing)
    assert (first.size, first.runs) == (20, (("all", 0),))
    for job in (second, third):
        assert [run for _, run in job.runs] == list(range(11, 21))


def test_the_parts_of_a_point_are_run_in_turns_and_all_of_them_when_one_needs_more() -> None:
    access = next(e for e in EXPERIMENTS if e.name == "access-roles")
    access = replace(access, modes=("original",), full=replace(access.full, sizes=(10,)))
    evaluation = Evaluation(Path(), PROGRAMS, (access,), quick=False)
    _, job = evaluation.left([])
    assert job.runs[:4] == (("all", 1), ("updates", 1), ("all", 2), ("updates", 2))
    place = {"experiment": "access-roles", "mode": "original", "size": 10}
    rows = [
        row(**place, part=part, run=run, seconds=1.0 + run * (part == "updates"))  # type: ignore[arg-type]
        for part in access.parts
        for run in range(11)
    ]
    (more,) = evaluation.left(rows)
    assert more.runs[:2] == (("all", 11), ("updates", 11))


def test_a_loop_too_short_for_the_clock_is_prepared_and_timed_again(tmp_path: Path) -> None:
    experiment = small("wifi", (20,), 0)
    evaluation = Evaluation(tmp_path, PROGRAMS, (experiment,), quick=True)
    with sampler() as server:
        timed, counted = (
            take(evaluation, Job(experiment, "filtered", 20, (("all", run),)), server)[0] for run in (1, 0)
        )
    assert timed.repeats > 1
    assert timed.seconds is not None
    assert timed.seconds >= measuring.LEAST
    assert counted.repeats == 1
    assert (timed.operations, timed.answers, timed.space) == (20, counted.answers, counted.space)


@pytest.mark.parametrize(
    ("name", "size", "operations"),
    [("running-size", 200, 20), ("jql-size", 20, 20), ("jql3-size", 20, 20), ("ablation", 100, 20)],
)
def test_all_versions_answer_alike_and_count_their_loops(
    spark: Any, tmp_path: Path, name: str, size: int, operations: int
) -> None:
    experiment = small(name, (size,), operations)
    evaluation = Evaluation(tmp_path, PROGRAMS, (experiment,), quick=True)
    generate_workloads(spark, evaluation, lambda what: None)
    counted = tuple((part, 0) for part in experiment.parts)
    with sampler() as server:
        rows = [
            r
            for mode in experiment.modes
            for r in take(evaluation, Job(experiment, mode, size, counted), server)
        ]
        timed = take(evaluation, Job(experiment, experiment.modes[0], size, (("all", 1), ("all", 2))), server)
    assert [r.failure for r in rows] == [""] * len(experiment.modes) * len(experiment.parts)
    for part in experiment.parts:
        assert len({r.answers for r in rows if r.part == part}) == 1
    assert all(r.iterations is not None and r.seconds is None for r in rows)
    assert [r.run for r in timed] == [1, 2]
    assert all(r.seconds is not None and r.seconds > 0 and r.iterations is None for r in timed)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("la-mutex-rounds", 2), ("ra-mutex-processes", 2), ("ra-token-processes", 3),
        ("sk-token-processes", 3), ("cr-leader-processes", 4), ("hs-leader-processes", 4),
        ("two-phase-commit-cohorts", 3),
        ("ds-crash-processes", 4), ("cl-paxos-acceptors", 1),
    ],
)  # fmt: skip
def test_an_original_of_a_distributed_algorithm_leaves_the_same_trace(
    tmp_path: Path, name: str, size: int
) -> None:
    experiment = small(name, (size,), 1)
    evaluation = Evaluation(tmp_path, PROGRAMS, (experiment,), quick=True)
    with sampler() as server:
        rows = [
            take(evaluation, Job(experiment, mode, size, (("all", 1),)), server)[0]
            for mode in ("original", "filtered")
        ]
    assert [r.failure for r in rows] == ["", ""]
    assert rows[0].answers == rows[1].answers
