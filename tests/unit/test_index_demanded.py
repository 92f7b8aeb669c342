"""Indices that hold demanded tuples only: where there are any, and that they and the answers are right."""

from __future__ import annotations

import ast
import itertools
import random
from typing import Any

import pytest

import incoq
from incoq.evaluator import compile_naive
from incoq.invariants.index_demanded import holds_demanded
from incoq.verify import Checker

HEAD = "from incoq import Set, query\n\nR = Set()\nS = Set()\nT = Set()\n"
UPDATES = "".join(
    f"\ndef put_{name}(x):\n    {name}.add(x)\n\ndef take_{name}(x):\n    {name}.discard(x)\n"
    for name in "RST"
)
QUERIES = {  # what is demanded, and of what
    "one of three parameters": ("b", "{x for x in R if (a, x) in S if (c, b, x) in T}"),
    "two of three parameters": ("b, c", "{x for x in R if (a, x) in S if (b, c, x, y) in T for y in R}"),
    "a column beside the parameters": (
        "b",
        "{(x, y) for x in R if (a, x) in S for (c, y, x) in T if c == b}",
    ),
    "a set joined with itself": ("b", "{x for x in R if (c, a, x) in T if (c, b, x) in T}"),
    "a count": ("b", "len({x for x in R if (a, x) in S if (c, b, x) in T})"),
    "a sum of a bag": ("b", "sum(x for x in R if (a, x) in S if (c, b, x) in T)"),
    "a count within": ("b", "{x for x in R if len({y for y in R if (y, x) in S}) > 0 if (c, b, x) in T}"),
    "nothing but what is demanded": ("a", "{x for (x, y) in S for (z, y, w) in T if z == a}"),
}


def compiled(demand: str, expression: str, strategy: str = "auto") -> incoq.compile.Compiled:
    parameters = ", ".join(p for p in "abc" if f"{p}" in names(expression))
    demanded = ", ".join(repr(p) for p in demand.split(", "))
    text = f"{HEAD}\n@query(demand=({demanded},))\ndef q({parameters}):\n    return {expression}\n{UPDATES}"
    return incoq.compile_source(text, "program.py", strategy=strategy)


def names(expression: str) -> set[str]:
    tree = ast.parse(expression)
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - bound


def restricted(made: incoq.compile.Compiled) -> list[str]:
    return [invariant.name for invariant in made.plan.invariants if holds_demanded(invariant)]


def value(rng: random.Random) -> Any:
    number = rng.randrange(3)
    return rng.choice(
        (number, (number, rng.randrange(3)), (number, rng.choice((0, 1, True)), rng.randrange(2)))
    )


@pytest.mark.parametrize(("demand", "expression"), QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("strategy", ["auto", "tags"])
def test_answers_and_all_that_is_kept_are_right_after_every_update(
    demand: str, expression: str, strategy: str
) -> None:
    made = compiled(demand, expression, strategy)
    live: dict[str, Any] = {"__name__": "program"}
    exec(compile(made.code, "<compiled>", "exec"), live)
    checker = Checker(made, live)
    rng = random.Random(expression)
    parameters = [p for p in "abc" if p in names(expression)]
    released = [parameters.index(p) for p in demand.split(", ")]
    for number in range(120):
        live[f"{rng.choice(('put', 'put', 'take'))}_{rng.choice('RST')}"](value(rng))
        given = [rng.randrange(3) for _ in parameters]
        if number % 4 == 3:
            live["q"].release(*(given[i] for i in released))
        if number % 3 == 1:
            assert live["q"](*given) == _evaluated(parameters, expression, live)(*given), number
        checker.check()
    for given in itertools.product(range(3), repeat=len(released)):
        live["q"].release(*given)
    checker.check()
    assert made.extra_space(live) == 0


def _evaluated(parameters: list[str], expression: str, live: dict[str, Any]) -> Any:
    """The straightforward evaluation over the same sets."""
    [definition] = ast.parse(f"def q({', '.join(parameters)}):\n    return {expression}\n").body
    assert isinstance(definition, ast.FunctionDef)
    return compile_naive(definition, {name: set(live[name]) for name in "RST"})


def test_an_index_by_another_column_holds_what_is_demanded() -> None:
    made = compiled(*QUERIES["one of three parameters"])
    [index] = restricted(made)
    live: dict[str, Any] = {"__name__": "program"}
    exec(compile(made.code, "<compiled>", "exec"), live)
    for thing, x in itertools.product(range(20), range(5)):
        live["put_T"](("c", thing, x))
    live["q"](1, 7, "c")
    assert live[index] == {x: {("c", 7)} for x in range(5)}
    live["put_T"](("c", 7, 5))
    live["put_T"](("c", 8, 5))
    assert live[index] == {x: {("c", 7)} for x in range(6)}
    live["q"](1, 8, "c")
    live["q"].release(7)
    assert live[index] == {x: {("c", 8)} for x in range(6)}


def test_the_paper_s_strategy_and_a_comparison_do_without() -> None:
    demand, expression = QUERIES["one of three parameters"]
    assert restricted(compiled(demand, expression, "tags")) == []
    text = f"{HEAD}\n@query(demand=('b',))\ndef q(a, b, c):\n    return {expression}\n{UPDATES}"
    assert restricted(incoq.compile_source(text, "program.py", without=["demanded"])) == []


def test_an_index_holds_everything_where_the_whole_combination_is_no_tuple() -> None:
    assert restricted(compiled("a, b", QUERIES["one of three parameters"][1])) == []
