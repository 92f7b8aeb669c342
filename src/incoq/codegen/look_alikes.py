"""Decide whether maintenance must know which of several equal values a set holds.

Before:    if x in s:                        1, 1.0 and True are equal: `s.discard(1.0)` may remove 1
               if x.__class__ not in ALONE:
                   x = stored(s, x)          what the set holds, found by a probe
After:     if x in s:                        where queries only compare: equal values give equal answers
Invariant: deletion changes what addition changed: keys are found by equality, and conditions that compare say
           the same of equal values. What is computed of them (`str(x)`, `x / 3`) may differ, and so may
           their fields: a named tuple equals a tuple, which has none.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from incoq.ir.invariants import Block, Invariant, Plan, Store
from incoq.ir.relational import Kind

_COMPARES = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_COUNTED = ("len", "exists", "any", "all")  # aggregates for which an element is as good as its equal


def tells_equals_apart(plan: Plan, dependents: Sequence[tuple[Invariant, Block]]) -> bool:
    """May what depends on an element that goes be changed otherwise by an equal one?"""
    pending = [invariant for invariant, _ in dependents]
    seen: set[str] = set()
    while pending:
        invariant = pending.pop()
        if invariant.name in seen:
            continue
        seen.add(invariant.name)
        if _tells(plan, invariant):
            return True
        if invariant.store in (Store.TAG, Store.JOIN):
            pending += [other for other, _ in plan.dependents(invariant.relation)]
    return False


def _tells(plan: Plan, invariant: Invariant) -> bool:
    if any(clause.relation.kind is Kind.FIELD for clause in invariant.clauses):
        return True
    if not all(_only_compares(test.expr.node) for test in invariant.tests):
        return True
    if invariant.result is None:
        return False
    query = next(q for q in plan.queries if q.name == invariant.query)
    if query.aggregate is not None and query.aggregate.kind not in _COUNTED:
        return True
    return not _only_compares(invariant.result.expr.node)


def _only_compares(node: ast.expr) -> bool:
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Tuple(elts=values) | ast.BoolOp(values=values):
            return all(map(_only_compares, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _only_compares(operand)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return all(isinstance(op, _COMPARES) for op in ops) and all(
                map(_only_compares, (left, *comparators))
            )
    return False
