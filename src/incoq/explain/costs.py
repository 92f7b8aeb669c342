"""What updates and queries cost, in the original program and in each mode, for `explain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incoq.invariants.event_costs import demand_relation, event_cost
from incoq.ir.invariants import Plan
from incoq.ir.relational import (
    CONTENT,
    ITEM,
    MEMBER,
    Clause,
    Kind,
    Relation,
    RelationalQuery,
    field_relation,
)


def update_costs(plans: Mapping[str, Plan], refused: Mapping[str, str]) -> list[dict[str, Any]]:
    """The cost of every kind of update: in the original program, and in each mode."""
    fields = dict.fromkeys(f for plan in plans.values() for f in plan.fields())
    events: list[tuple[str, tuple[Relation, ...]]] = [
        (f"o.{f} = x, del o.{f}", (field_relation(f),)) for f in sorted(fields)
    ]
    events.append(("s.add(x), s.discard(x)", (MEMBER, CONTENT)))
    if any(plan.dependents(ITEM) for plan in plans.values()):
        events.append(("d[k] = v, del d[k]", (MEMBER, CONTENT, ITEM)))
    return [
        {
            "update": text,
            "original": "O(1)",
            **{mode: event_cost(plan, *relations) for mode, plan in plans.items()},
            **refused,
        }
        for text, relations in events
    ]


def demand_cost(plan: Plan, query: RelationalQuery) -> str:
    """The cost of asking a combination for the first time."""
    return event_cost(plan, demand_relation(query.name))


def original_cost(plan: Plan, query: RelationalQuery) -> str:
    """The cost of evaluating a query straightforwardly: the sources that loops go through."""
    return f"O({' × '.join(_loops(plan, query)) or '1'})"


def _loops(plan: Plan, query: RelationalQuery) -> list[str]:
    texts = {variable: text for text, variable in query.selectors}
    bound = set(query.all_params)
    factors: list[str] = []
    remaining = [c for c in query.clauses if c.relation.kind is not Kind.DEMAND and not c.watch]
    while remaining:
        ready = [c for c in remaining if set(c.source) <= bound]
        if not ready:
            break
        clause = next((c for c in ready if c.relation.kind is Kind.FIELD or set(c.args) <= bound), ready[0])
        remaining.remove(clause)
        if clause.relation.kind in (Kind.VALUE, Kind.ANSWER):
            factors += _loops(plan, next(q for q in plan.queries if q.name == clause.relation.name))
        elif clause.relation.kind is Kind.MEMBER and not set(clause.args) <= bound:
            factors.append(f"#{texts.get(clause.args[0], clause.args[0])}")
        bound |= set(clause.args)
    return factors


def update_of(clause: Clause) -> str:
    """The update of the program that a clause stands for."""
    match clause.relation.kind:
        case Kind.DEMAND:
            return f"demand of ({', '.join(clause.args)})"
        case Kind.FIELD:
            return f"{clause.args[0]}.{clause.field} = {clause.args[1]}"
        case Kind.MEMBER:
            return f"{clause.args[0]}.add({clause.pattern or clause.args[1]})"
        case Kind.CONTENT:
            return f"any change of {clause.args[0]}"
    return f"change of {clause.relation}"


def clause_numbers(query: RelationalQuery, clauses: tuple[Clause, ...]) -> list[int]:
    """The numbers that clauses have in the relational form of their query; 0 for one that is none of it."""
    return [query.clauses.index(c) + 1 if c in query.clauses else 0 for c in clauses]
