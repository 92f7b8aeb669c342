"""Decide where an answer needs counts (paper, section 6, counting elimination).

Before:    r.cadd((attends,), (a, s))
After:     r.add((attends,), (a, s))
Invariant: an element is in the answer exactly when some combination of variables gives it.

Counts are not needed when nothing is ever deleted: the query looks at sets only, and the program has no
place that removes from one (a removal by code that is not compiled then raises IQ306). Nor are they when
only one combination can give an element: every variable is a parameter, or
part of the result, or found from such variables by following fields, or as the value of a nested query;
and the result tells different combinations apart, being a variable or a tuple of variables. Filtered
relations never need counts.
"""

from __future__ import annotations

import ast

from incoq.ir.relational import Kind, RelationalQuery


def needs_counts(query: RelationalQuery, only_adds: bool = False) -> bool:
    """Could two combinations of variables give one element of the answer, and one of them go away?"""
    if only_adds and all(
        c.relation.kind in (Kind.DEMAND, Kind.MEMBER) and not c.watch for c in query.clauses
    ):
        return False
    shown = _result_variables(query.result.expr.node)
    if shown is None:
        return True
    known = {*query.all_params, *query.fixed} | shown
    changed = True
    while changed:
        changed = False
        for clause in query.clauses:
            told = clause.relation.kind in (Kind.FIELD, Kind.VALUE) and known.issuperset(clause.args[:-1])
            if told and clause.args[-1] not in known:
                known.add(clause.args[-1])
                changed = True
    return not {v for c in query.clauses for v in c.args} <= known


def _result_variables(node: ast.expr) -> set[str] | None:
    match node:
        case ast.Name(id=identifier):
            return {identifier}
        case ast.Tuple(elts=items):
            found: set[str] = set()
            for item in items:
                inner = _result_variables(item)
                if inner is None:
                    return None
                found |= inner
            return found
        case ast.Constant():
            return set()
    return None
