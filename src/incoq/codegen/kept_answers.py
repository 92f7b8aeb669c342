"""How the answer for one combination of parameters is kept, and how an element changes it.

Before:    answer = r_shared_days_len[d]            an object that counts
           answer.add(p)
After:     r_shared_days_len[d] += 1                the number itself
Invariant: a number is how many combinations there are (true ones for `any`, false ones for `all`); counts say
           how many combinations have each element, where several can
"""

from __future__ import annotations

import ast
from enum import Enum

from incoq.codegen.quote import quote_expr
from incoq.invariants.eliminate_counts import needs_counts
from incoq.ir.invariants import Plan
from incoq.ir.relational import RelationalQuery


class Form(Enum):
    """What stands in the map of results."""

    ELEMENTS = "elements"  # of a set query: a set, or a dict of counts
    NUMBER = "number"
    COUNTS = "counts"  # element -> how many combinations have it
    OBJECT = "object"  # an aggregate of `aggregates.py`


_VALUES = {"len": "A", "exists": "A > 0", "any": "A > 0", "all": "A == 0"}
_STEPS = {"len": "1", "exists": "1", "any": "E", "all": "(not E)"}


def form_of(plan: Plan, query: RelationalQuery) -> Form:
    """The cheapest form that serves."""
    aggregate = query.aggregate
    if aggregate is None:
        return Form.ELEMENTS
    if aggregate.kind not in _VALUES or (query.rest and not query.is_whole) or "numbers" in plan.without:
        return Form.OBJECT
    if aggregate.kind == "len" and aggregate.distinct and needs_counts(query):
        return Form.COUNTS
    return Form.NUMBER


def value_of(plan: Plan, query: RelationalQuery, kept: ast.expr) -> ast.expr:
    """What the program or another query sees of a kept answer."""
    match form_of(plan, query):
        case Form.ELEMENTS:
            return kept
        case Form.COUNTS:
            return quote_expr("len(A)", A=kept)
        case Form.NUMBER:
            assert query.aggregate is not None
            return quote_expr(_VALUES[query.aggregate.kind], A=kept)
    return quote_expr("A.value()", A=kept)


def step_of(query: RelationalQuery, element: ast.expr) -> ast.expr:
    """By how much an element changes a number."""
    assert query.aggregate is not None
    return quote_expr(_STEPS[query.aggregate.kind], E=element)
