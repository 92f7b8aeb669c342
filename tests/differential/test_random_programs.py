"""Compiled random programs answer what straightforward evaluation answers, after every operation.

`INCOQ_FUZZ_OPS` sets the number of operations; a failure prints the command that replays it.
"""

from __future__ import annotations

import os

import pytest

from incoq.testing.driver import Report, Settings, run

OPERATIONS = int(os.environ.get("INCOQ_FUZZ_OPS", "40000"))  # of each part
PARTS = range(5)
SHAPES = max(10, OPERATIONS // 170)


def report_of(operations: int = OPERATIONS, **settings: object) -> Report:
    shapes = max(10, operations // 170)
    report = run(Settings(operations=operations, shapes=shapes, **settings))  # type: ignore[arg-type]
    assert not report.failures, "\n\n".join(found.render() for found in report.failures)
    return report


@pytest.mark.parametrize("part", PARTS)
def test_random_programs_answer_as_straightforward_evaluation_does(part: int) -> None:
    """All parts together: at least 200,000 operations over 1,000 query shapes."""
    report = report_of(forms="core", seed=part * 1_000_000)
    assert report.counters.operations >= OPERATIONS
    assert len(report.shapes) >= SHAPES
    assert report.counters.changed > 0


@pytest.mark.parametrize("part", PARTS)
def test_random_programs_of_all_forms_answer_as_straightforward_evaluation_does(part: int) -> None:
    """Aggregates, nested queries, dicts, methods and globals too; a smaller budget, since half is refused."""
    report = report_of(OPERATIONS // 4, forms="all", seed=part * 1_000_000)
    assert report.counters.changed > 0


@pytest.mark.parametrize("part", range(2))
def test_lively_programs_answer_as_straightforward_evaluation_does(part: int) -> None:
    """Typed programs and queries: most answers are not empty, many updates change one, few are refused."""
    report = report_of(OPERATIONS // 2, forms="lively", seed=part * 1_000_000, each=400, every=2)
    assert report.counters.nonempty > 0.4 * report.counters.checks, report.render()
    assert report.counters.changed > 0.15 * report.counters.operations, report.render()
    assert sum(report.refused.values()) < 0.05 * report.programs, report.render()


@pytest.mark.parametrize(
    ("mode", "strategy"), [("filtered", "tags"), ("filtered", "first-clause"), ("incremental", "tags")]
)
def test_every_mode_and_strategy_answers_the_same_programs(mode: str, strategy: str) -> None:
    report = report_of(8000, mode=mode, strategy=strategy, seed=100_000)
    assert report.counters.nonempty > 0


def test_core_forms_are_seldom_refused() -> None:
    report = report_of(8000, forms="core", seed=200_000)
    # Strings as sources, and sets in comparisons by order, are met at run time and rightly refused.
    assert sum(report.refused.values()) <= 0.2 * report.programs, report.render()


def test_the_package_evaluator_agrees_with_the_oracle() -> None:
    report = report_of(8000, mode="uncompiled", forms="all", seed=300_000)
    assert report.counters.evaluated > 0
