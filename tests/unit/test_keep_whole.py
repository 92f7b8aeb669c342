"""Nested counts over global sets: when they are kept for all values, and that answers are the same."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest
from both_ways import same_both_ways

import incoq
from incoq.evaluator import compile_naive
from incoq.verify import Checker

HEAD = "from incoq import Set, query\n\nR = Set()\nS = Set()\nT = Set()\n"
UPDATES = "".join(
    f"\ndef put_{name}(x):\n    {name}.add(x)\n\ndef take_{name}(x):\n    {name}.discard(x)\n"
    for name in "RST"
)
QUERIES = {
    "a count of one set": "{x for x in R if len({y for (y, z) in T if z == x}) > 1}",
    "a count in the answer": "{(x, len({y for (y, z) in T if z == x})) for x in R}",
    "a count that may be nothing": "{x for x in R if len({y for (y, z) in T if z == x}) < 1}",
    "a count in an outer count": "len({x for x in R if len({y for (y, z) in T if z == x}) == 1})",
    "a join of two sets": (
        "{(x, w) for (x, w) in R if len({y for (y, z) in T if z == x if (w, y) in S}) >= 1}"
    ),
    "a set joined with itself": "{x for x in R if len({y for (y, z) in T if z == x if (y, 1) in T}) > 0}",
    "variables that share a name": "{(x, y) for (x, y) in R if len({y for (y, z) in T if z == x}) > 1}",
    "a count that something else sees, too": (
        "{x for x in {w for w in R if len({y for (y, z) in T if z == w}) > 0}}"
    ),
}
KEPT_APART = {
    "the outer query looks at the same set": "{x for (x, w) in T if len({y for (y, z) in T if z == x}) > 1}",
    "a parameter that no element tells": "{x for x in R if len({y for (y, z) in T if z > x}) > 1}",
    "elements that count once though they come twice": (
        "{x for x in R if len({w for (y, z, w) in T if z == x}) > 1}"
    ),
    "another nested query beside it": (
        "{x for x in R if len({y for (y, z) in T if z == x}) > len({y for (y, z) in S if z == x})}"
    ),
    "a sum": "{x for x in R if sum(y for (y, z) in T if z == x) > 1}",
}


def compiled(expression: str, parameters: str = "") -> incoq.compile.Compiled:
    return incoq.compile_source(
        f"{HEAD}\n@query\ndef q({parameters}):\n    return {expression}\n{UPDATES}", "program.py"
    )


def whole(made: incoq.compile.Compiled) -> list[str]:
    return [query.name for query in made.plan.queries if query.is_whole]


NAN = float("nan")  # does not equal itself, though a set finds it


def value(rng: random.Random) -> Any:
    number = rng.choice((0, 1, 2, NAN))
    return rng.choice((number, (rng.randrange(3), number), (rng.randrange(2), number, rng.randrange(2))))


@pytest.mark.parametrize("expression", [*QUERIES.values(), *KEPT_APART.values()], ids=[*QUERIES, *KEPT_APART])
def test_answers_and_all_that_is_kept_are_right_after_every_update(expression: str) -> None:
    made = compiled(expression)
    live: dict[str, Any] = {"__name__": "program"}
    exec(compile(made.code, "<compiled>", "exec"), live)
    checker = Checker(made, live)
    rng = random.Random(expression)
    for number in range(400):
        live[f"{rng.choice(('put', 'put', 'take'))}_{rng.choice('RST')}"](value(rng))
        if number % 7 == 3:
            live["q"].release()
        if number % 3:
            assert live["q"]() == _evaluated(expression, live), number
        checker.check()


def _evaluated(expression: str, live: dict[str, Any]) -> Any:
    """The straightforward evaluation over the same sets."""
    [definition] = ast.parse(f"def q():\n    return {expression}\n").body
    assert isinstance(definition, ast.FunctionDef)
    return compile_naive(definition, {name: set(live[name]) for name in "RST"})()


@pytest.mark.parametrize("expression", QUERIES.values(), ids=QUERIES)
def test_a_count_is_kept_for_all_values(expression: str) -> None:
    made = compiled(expression)
    assert len(whole(made)) == 1
    assert "for all values" in made.plan.why_strategy(whole(made)[0])


@pytest.mark.parametrize("expression", KEPT_APART.values(), ids=KEPT_APART)
def test_a_count_is_kept_for_values_in_demand_where(expression: str) -> None:
    assert whole(compiled(expression)) == []


@pytest.mark.parametrize(
    "count",
    [
        "len([t for t in S if x in t]) > 1",
        "len({y for (y, z) in T if z == x if y not in S}) > 1",
        "len({y for (y, z) in T if z == x if y.n > 1}) > 1",
        "len({y for (y, z) in x.pairs if z == x}) > 1",
    ],
)
def test_a_count_over_more_than_global_sets_is_kept_for_values_in_demand(count: str) -> None:
    assert whole(compiled(f"{{x for x in R if {count}}}")) == []


def test_a_join_is_kept_for_values_in_demand_where_the_outer_query_has_parameters() -> None:
    join = "len({y for (y, z) in T if z == x if (y, 1) in S}) > 0"
    assert whole(compiled(f"{{x for x in R if {join}}}")) != []
    assert whole(compiled(f"{{x for x in R if x > p if {join}}}", "p")) == []


def test_nothing_is_kept_for_values_without_any_combination() -> None:
    made = compiled(QUERIES["a count of one set"])
    live: dict[str, Any] = {"__name__": "program"}
    exec(compile(made.code, "<compiled>", "exec"), live)
    for x in range(50):
        live["put_R"](x)
    assert live["q"]() == set()
    space = made.extra_space(live)
    live["put_T"](("y", 7))
    assert made.extra_space(live) > space
    live["take_T"](("y", 7))
    assert made.extra_space(live) == space


def test_a_count_over_the_elements_of_sets_in_a_global_set_follows_each_of_them() -> None:
    same_both_ways(
        """
        TEAMS, ALL = Set(), Set()

        @query
        def wanted(): return {x for x in ALL if len({y for team in TEAMS for y in team if y == x}) > 0}

        @query
        def often(): return {x for x in ALL if len([team for team in TEAMS if x in team]) > 1}

        def main(show):
            one, two = Set([1]), Set([1, 2])
            ALL.update([1, 2, 3])
            def told(): show(wanted(), often())
            told()
            TEAMS.add(one); told()
            TEAMS.add(two); told()
            one.add(3); told()
            one.discard(1); told()
            two.clear(); told()
            ALL.discard(3); told()
            TEAMS.discard(one); told()
        """
    )
