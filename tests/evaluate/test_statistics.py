"""Statistics and fits, computed by Spark from rows that are made up and so have known answers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from made_rows import row, series

from incoq.evaluate.checks import HOLDS, UNDECIDED, order_holds
from incoq.evaluate.rows import STOPPED, Row, append
from incoq.evaluate.statistics import Statistics, compute, half_width

SIZES = (100, 200, 400, 800)


@pytest.fixture(scope="module")
def found(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Statistics:
    folder = tmp_path_factory.mktemp("samples")
    append(folder, series(SIZES, lambda n: 1e-6 * n**2, mode="original"))
    append(folder, series(SIZES, lambda n: 0.5))
    append(folder, series(SIZES, lambda n: 1.0 + 1e-3 * n, experiment="running-size"))
    append(folder, series(SIZES, lambda n: 1.0, experiment="running-size", part="updates"))
    append(folder, [row(mode="original", size=900, run=1, seconds=None, failure="given up")])
    append(folder, [row(mode="filtered", size=100, run=9, seconds=0.5, answers="other")])
    append(folder, [row(mode="filtered", size=100, run=10, operations=7, seconds=0.0035, answers="of fewer")])
    append(folder, [row(mode="original", size=1000, seconds=None, failure=f"{STOPPED} of 10 s")])
    append(folder, [row(experiment="wifi", run=1, seconds=6.0, repeats=3, space=9)])
    append(folder, [row(experiment="wifi", run=0, seconds=None, iterations=4, space=5)])
    append(folder, series(SIZES[1:], lambda n: 1.5, experiment="running-zipf"))
    append(folder, series(SIZES[1:], lambda n: 1.0, experiment="running-zipf", part="updates"))
    append(folder, uncertain(SIZES[0], "running-zipf"))
    for size in SIZES:
        append(folder, uncertain(size, "running-big"))
    return compute(spark, folder)


def uncertain(size: int, experiment: str) -> list[Row]:
    """Runs whose loops with and without queries differ by -0.1 s, and that by chance."""
    seconds = {"all": (1.0, 1.6, 0.8), "updates": (1.0, 0.9, 1.8)}
    return [
        row(experiment=experiment, part=part, size=size, run=run, seconds=taken)
        for part, all_taken in seconds.items()
        for run, taken in enumerate(all_taken, 1)
    ]


def test_a_mean_and_a_deviation_are_those_of_the_runs(found: Statistics) -> None:
    first = found.series("birthday", "original", "all", "time")[0]
    assert (first.size, first.runs) == (100, 3)
    assert first.value == pytest.approx(1e-6 * 100**2 / 1000 * 1e6)
    assert first.deviation == pytest.approx(0.01 * first.value)


def test_an_exponent_is_found_again(found: Statistics) -> None:
    fit = found.fit("birthday", "original", "all", "time")
    assert fit is not None
    assert fit.exponent == pytest.approx(2.0)
    assert fit.half_width == pytest.approx(0.0, abs=1e-4)
    constant = found.fit("birthday", "filtered", "all", "time")
    assert constant is not None
    assert constant.exponent == pytest.approx(0.0, abs=1e-9)


def test_counted_iterations_and_space_have_fits_of_their_own(found: Statistics) -> None:
    iterations = found.fit("birthday", "original", "all", "iterations")
    space = found.fit("birthday", "original", "all", "space")
    assert iterations is not None
    assert space is not None
    assert (iterations.exponent, space.exponent) == (pytest.approx(1.0), pytest.approx(2.0))


def test_queries_alone_are_the_loop_with_them_less_the_loop_without(found: Statistics) -> None:
    alone = found.series("running-size", "filtered", "query", "time")
    assert [e.value for e in alone] == pytest.approx([1e-3 * n / 1000 * 1e6 for n in SIZES])
    assert alone[0].deviation == pytest.approx(0.01 * alone[0].value)  # what both share cancels out
    fit = found.fit("running-size", "filtered", "query", "time")
    assert fit is not None
    assert fit.exponent == pytest.approx(1.0)


def test_a_loop_that_was_timed_thrice_took_a_third_each_time(found: Statistics) -> None:
    assert [e.value for e in found.series("wifi", "filtered", "all", "time")] == pytest.approx([2000.0])


def test_space_is_that_of_the_counted_run_in_which_all_versions_do_the_same(found: Statistics) -> None:
    assert [e.value for e in found.series("wifi", "filtered", "all", "space")] == [5.0]


def test_a_failure_and_a_difference_of_answers_are_problems(found: Statistics) -> None:
    problems = {(p.size, p.what) for p in found.problems}
    assert (900, "original, all: given up") in problems
    assert any(size == 100 and "answer differently" in what for size, what in problems)
    assert len(problems) == 2


def test_answers_are_compared_where_as_many_operations_were_performed(found: Statistics) -> None:
    assert not any("of fewer" in problem.what for problem in found.problems)


def test_what_was_stopped_at_the_limit_is_no_problem_but_is_told(found: Statistics) -> None:
    assert [(p.experiment, p.size, p.what) for p in found.stopped] == [
        ("birthday", 1000, "original stopped at the limit of 10 s")
    ]
    assert 1000 not in {p.size for p in found.problems}


def test_a_difference_of_times_below_zero_is_weighed_by_its_certainty(found: Statistics) -> None:
    alone = found.series("running-zipf", "filtered", "query", "time")
    assert [e.value > 0 for e in alone] == [False, True, True, True]
    fit = found.fit("running-zipf", "filtered", "query", "time")
    assert fit is not None
    assert fit.exponent == pytest.approx(0.0, abs=0.01)  # all are 0.5 s but for the uncertain one
    assert order_holds(0, fit.exponent, fit.half_width) == HOLDS


def test_differences_that_are_all_uncertain_leave_the_growth_undecided(found: Statistics) -> None:
    fit = found.fit("running-big", "filtered", "query", "time")
    assert fit is not None
    assert order_holds(0, fit.exponent, fit.half_width) == UNDECIDED


def test_the_interval_of_a_slope_is_that_of_the_textbook() -> None:
    # x = 1, 2, 3, 4 and y = 2, 4, 5, 8: slope 1.9, residual sum of squares 0.7, two degrees of freedom
    expected = 4.303 * math.sqrt(0.7 / 2 / 5)
    assert half_width(4, 5.0, 18.75, 9.5) == pytest.approx(expected)
    assert half_width(2, 5.0, 18.75, 9.5) == math.inf
