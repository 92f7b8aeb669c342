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
"""

from __future__ import annotations

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
    return replace(query, demand=(), clauses=(demand, *query.clauses[1:]), is_whole=True)


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
