"""What updates and queries cost, summed over everything that they maintain.

The cost of an event is the sum over the blocks that it runs; a block that changes a tag set costs, for each
object that enters or leaves the set, what depends on that set costs (`cascade`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incoq.ir.invariants import Block, Invariant, Plan, Store
from incoq.ir.relational import CONTENT, MEMBER, Kind, Relation, RelationalQuery, field_relation


def event_costs(plans: Mapping[str, Plan], refused: Mapping[str, str]) -> list[dict[str, Any]]:
    """The cost of every kind of update: in the original program, and in each mode."""
    fields = dict.fromkeys(f for plan in plans.values() for f in plan.fields())
    events: list[tuple[str, tuple[Relation, ...]]] = [
        (f"o.{f} = x, del o.{f}", (field_relation(f),)) for f in sorted(fields)
    ]
    events.append(("s.add(x), s.discard(x)", (MEMBER, CONTENT)))
    return [
        {
            "update": text,
            "original": "O(1)",
            **{mode: event_cost(plan, relations) for mode, plan in plans.items()},
            **refused,
        }
        for text, relations in events
    ]


def event_cost(plan: Plan, relations: tuple[Relation, ...]) -> str:
    """The cost of maintaining everything that depends on some relations."""
    dependents = [d for relation in relations for d in plan.dependents(relation)]
    return _shown(_summands(plan, dependents))


def demand_cost(plan: Plan, query: RelationalQuery) -> str:
    """The cost of asking a combination for the first time."""
    return event_cost(plan, (Relation(Kind.DEMAND, f"demand_{query.name}"),))


def original_cost(query: RelationalQuery) -> str:
    """The cost of evaluating a query straightforwardly: the sources that loops go through."""
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
        if clause.relation.kind is not Kind.FIELD and not set(clause.args) <= bound:
            source = clause.args[0] if clause.relation.kind is Kind.MEMBER else str(clause.relation)
            factors.append(f"#{texts.get(source, source)}")
        bound |= set(clause.args)
    return f"O({' × '.join(factors) or '1'})"


def _summands(plan: Plan, dependents: list[tuple[Invariant, Block]]) -> dict[str, None]:
    found: dict[str, None] = {}
    for invariant, block in dependents:
        factors = str(block.covers.best.cost)
        found.setdefault(factors)
        if invariant.store is Store.TAG:
            for inner in _summands(plan, plan.dependents(invariant.relation)):
                if inner != "1":
                    found.setdefault(inner if factors == "1" else f"{factors} × {inner}")
    return found


def _shown(summands: dict[str, None]) -> str:
    return f"O({' + '.join(s for s in summands if s != '1') or '1'})"
