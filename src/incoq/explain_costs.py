"""What updates and queries cost, summed over everything that they maintain.

The cost of an event is the sum over the blocks that it runs. A block that changes a tag set, a nested answer
or the demand of a nested query costs what depends on that, for each change. An answer that begins to be kept
is no event for the queries that use it: they are about to look at it.
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
    return _shown(_summands(plan, dependents, any(r.kind is Kind.DEMAND for r in relations)))


def demand_cost(plan: Plan, query: RelationalQuery) -> str:
    """The cost of asking a combination for the first time."""
    return event_cost(plan, (Relation(Kind.DEMAND, f"demand_{query.name}"),))


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


def _summands(plan: Plan, dependents: list[tuple[Invariant, Block]], begins: bool) -> dict[str, None]:
    found: dict[str, None] = {}
    for invariant, block in dependents:
        factors = str(block.covers.best.cost)
        found.setdefault(factors)
        caused = _caused(plan, invariant)
        if begins and invariant.store is Store.RESULT:
            caused = [d for d in caused if d[0].store in (Store.TAG, Store.INDEX)]
        for inner in _summands(plan, caused, begins or invariant.store is Store.NEED):
            if inner != "1":
                found.setdefault(inner if factors == "1" else f"{factors} × {inner}")
    return found


def _caused(plan: Plan, invariant: Invariant) -> list[tuple[Invariant, Block]]:
    """What one change of an invariant sets off: tags are relations, and so are nested answers and demand."""
    match invariant.store:
        case Store.TAG:
            return plan.dependents(invariant.relation)
        case Store.NEED:
            return plan.dependents(Relation(Kind.DEMAND, f"demand_{invariant.needed}"))
        case Store.RESULT:
            kinds = (Kind.VALUE, Kind.ANSWER)
            return [d for kind in kinds for d in plan.dependents(Relation(kind, invariant.query))]
    return []


def _shown(summands: dict[str, None]) -> str:
    return f"O({' + '.join(s for s in summands if s != '1') or '1'})"
