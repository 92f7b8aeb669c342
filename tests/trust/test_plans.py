"""A small share of the gate of plans, and the choice of join orders itself."""

from __future__ import annotations

import random

import pytest

from incoq import compile_source
from incoq.planning.find_covers import Problem, find_covers, legal_orders
from trust.plans import CHANCES, OneByOne, Tally, chosen, join_orders, try_all

SMALL, LARGE = 700_019, 700_005  # programs whose blocks have few join orders, and many

RUNNING = """
from incoq import Set, query
@query
def q(celeb, group):
    return {u.email for u in celeb.followers if u in group}
"""


def test_a_program_answers_the_same_under_every_plan() -> None:
    tally = Tally()
    try_all(SMALL, tally)
    assert not tally.failures
    assert tally.counts["programs"] == tally.counts["ordered"] == 1
    assert tally.counts["plan"] >= 17
    assert tally.counts["order"] >= 4
    assert 0 < tally.counts["alike"] < tally.counts["plan"] + tally.counts["order"]


@pytest.mark.parametrize(("number", "few"), [(SMALL, True), (LARGE, False)])
def test_a_program_is_tried_by_all_its_join_orders_or_by_some(number: int, few: bool) -> None:
    made = chosen(number)
    all_of_them, orders = join_orders(made, "filtered", "tags", random.Random(0))
    assert all_of_them == few
    codes = [compile_source(made.text, strategy="tags", orders=order).code for _, order in orders]
    assert len(set(codes)) > 1
    assert few or len(codes) == CHANCES


def test_a_given_order_is_followed() -> None:
    seen: list[tuple[Problem, tuple[int, ...]]] = []

    def last(problem: Problem) -> tuple[int, ...]:
        order = list(legal_orders(problem))[-1]
        seen.append((problem, order))
        return order

    compiled = compile_source(RUNNING, orders=last)
    result = compiled.plan.result_of("q")
    followed = {tuple(s.clause for s in block.covers.best.steps) for block in result.blocks}
    assert followed <= {order for _, order in seen}
    assert any(find_covers(p).best != find_covers(p, order).best for p, order in seen)


def test_every_legal_order_covers_all_clauses_once() -> None:
    first = OneByOne(0)
    compile_source(RUNNING, orders=first)
    assert first.most > 1
