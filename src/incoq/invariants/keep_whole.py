"""Keep a nested count for all values of its parameters, where that costs no more than for those in demand.

Before:    r_shared_days_len = {(d, p) : (d,) in demand_shared_days_len, (BIRTHDAYS, (p, d)) in member}
           need_shared_days_len = {d : () in demand_shared_days, (DAYS, d) in member}
After:     r_shared_days_len = {(d, p) : () in demand_shared_days_len, (BIRTHDAYS, (p, d)) in member}
           need_shared_days_len = {() : () in demand_shared_days}
Invariant: the count for values without any combination is 0, and no entry is kept for it
Cost:      a value that comes or goes in the outer query demands nothing; an update of what is counted is
           passed on at once, in place

Demand by no parameter is the paper's choice of demand parameters (section 4), made for a nested query. It
pays where the demanded values are found from the data anyway: an index of the one set that is counted would
hold all of them, or the outer query is about everything. All sets are global ones that are known by name, and
those that are counted are none that the outer query looks at itself: so an update changes the count or the
rest of the outer query, never both, and the outer query always sees counts as they are.

That a parameter equals itself (`day == d`, and NaN does not) is asked where the outer query reads the count,
or where a condition on it turns, which is less often than the count changes.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from incoq.invariants.eliminate_counts import needs_counts
from incoq.ir.relational import Kind, RelationalQuery

NESTED = (Kind.VALUE, Kind.ANSWER)
CONTAINERS = (Kind.MEMBER, Kind.CONTENT, Kind.ITEM, Kind.COUNT)


def keep_whole(queries: Sequence[RelationalQuery]) -> list[RelationalQuery]:
    """The queries, of which some nested ones are demanded by no parameter any more."""
    return [_whole(query) if _may_be_whole(query, queries) else query for query in queries]


def _whole(query: RelationalQuery) -> RelationalQuery:
    demand = replace(query.clauses[0], args=())
    asked = {test: p for test in query.tests for p in query.demand if is_of_itself(test.expr.node, p)}
    return replace(
        query,
        demand=(),
        clauses=(demand, *query.clauses[1:]),
        tests=tuple(test for test in query.tests if test not in asked),
        is_whole=True,
        reflexive=tuple(asked.values()),
    )


def is_of_itself(test: ast.expr, variable: str) -> bool:
    """Is this the condition that a variable equals itself?

    >>> [is_of_itself(ast.parse(text, mode="eval").body, "d") for text in ("d == d", "d == e", "d <= d")]
    [True, False, False]
    """
    match test:
        case ast.Compare(left=ast.Name(id=left), ops=[ast.Eq()], comparators=[ast.Name(id=right)]):
            return left == right == variable
    return False


def _may_be_whole(query: RelationalQuery, queries: Sequence[RelationalQuery]) -> bool:
    aggregate, clauses = query.aggregate, query.clauses[1:]
    if not query.nested or query.usual or aggregate is None or aggregate.kind != "len":
        return False
    if aggregate.distinct and needs_counts(query):
        return False
    if any(c.relation.kind is not Kind.MEMBER or c.watch or c.args[0] not in query.fixed for c in clauses):
        return False
    found = {v for c in clauses for v in c.args[1:]}
    if not query.demand or not found.issuperset(query.demand) or query.rest:
        return False
    [user] = [  # of what is nested, one query has one clause about it
        q for q in queries for c in q.clauses if c.relation.kind in NESTED and c.relation.name == query.name
    ]
    counted = {c.args[0] for c in clauses}
    return (
        sum(c.relation.kind in NESTED for c in user.clauses) == 1
        and all(c.args[0] in user.fixed for c in user.clauses if c.relation.kind in CONTAINERS)
        and not any(c.args[0] in counted for c in user.clauses if c.relation.kind in CONTAINERS)
        and (len(clauses) == 1 or not user.demand)
    )
