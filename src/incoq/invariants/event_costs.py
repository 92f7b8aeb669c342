"""The cost of an update: its own blocks and everything that they cause (paper, section 5.2).

For nested loops costs multiply, for blocks one after another they add up. What a block changes may be an
event in turn: an object that becomes tagged has its edges followed, a nested query that is newly needed
is evaluated, a nested answer that changes is passed on.
"""

from __future__ import annotations

from collections.abc import Sequence

from incoq.ir.covers import Cost, total
from incoq.ir.invariants import Block, Invariant, Plan, Store
from incoq.ir.relational import CONTENT, MEMBER, Kind, Relation, field_relation

Dependent = tuple[Invariant, Block]


def event_costs(
    plan: Plan, dependents: Sequence[Dependent], seen: frozenset[str] = frozenset()
) -> list[Cost]:
    """The summands of the cost of an event with these dependents; what one causes is counted once."""
    found: dict[Cost, None] = {}
    for invariant, block in dependents:
        own = block.covers.best.cost
        found.setdefault(own)
        if invariant.name in seen:
            continue
        for caused in event_costs(plan, _caused(plan, invariant), seen | {invariant.name}):
            found.setdefault(Cost((*own.factors, *caused.factors)))
    return list(found)


def _caused(plan: Plan, invariant: Invariant) -> list[Dependent]:
    """What reacts to a change of an invariant."""
    match invariant.store:
        case Store.TAG:
            return plan.dependents(invariant.relation)
        case Store.NEED:
            return plan.dependents(demand_relation(invariant.needed))
        case Store.RESULT:
            values = plan.dependents(Relation(Kind.VALUE, invariant.query))
            return values + plan.dependents(Relation(Kind.ANSWER, invariant.query))
    return []


def demand_relation(query: str) -> Relation:
    return Relation(Kind.DEMAND, f"demand_{query}")


def field_cost(plan: Plan, field_name: str) -> str:
    """`o.f = x`, as a formula."""
    return total(event_costs(plan, plan.dependents(field_relation(field_name))))


def member_cost(plan: Plan) -> str:
    """`s.add(x)` and `s.discard(x)`."""
    return total(event_costs(plan, [*plan.dependents(MEMBER), *plan.dependents(CONTENT)]))


def demand_cost(plan: Plan, query: str) -> str:
    """The first demand of a combination."""
    return total(event_costs(plan, plan.dependents(demand_relation(query))))
