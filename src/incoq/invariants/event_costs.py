"""The cost of an update: its own blocks and everything that they cause (paper, section 5.2).

For nested loops costs multiply, for blocks one after another they add up. What a block changes may be an
event in turn: an object that becomes tagged has its edges followed, a nested query that is newly needed
is evaluated, a nested answer that changes is passed on.
"""

from __future__ import annotations

from collections.abc import Sequence

from incoq.ir.covers import Cost, Factor, Size, total
from incoq.ir.invariants import Block, Invariant, Plan, Store
from incoq.ir.relational import Clause, Kind, Relation

Dependent = tuple[Invariant, Block]

ORDERED = frozenset({"min", "max", "smallest"})  # aggregates that keep their elements in order
ADOPTED = Factor("#adopted", Size.LARGE)  # the elements of sets that come within reach, each set once


def event_costs(
    plan: Plan, dependents: Sequence[Dependent], begins: bool = False, seen: frozenset[str] = frozenset()
) -> list[Cost]:
    """The summands of the cost of an event with these dependents; what one causes is counted once.

    Where an answer `begins` to be kept it is no event for the queries that use it: they are about to look.
    """
    found: dict[Cost, None] = {}
    for invariant, block in dependents:
        own = _own_cost(plan, invariant, block)
        found.setdefault(own)
        if invariant.name in seen:
            continue
        reactions = caused(plan, invariant)
        if begins and invariant.store is Store.RESULT:
            reactions = [d for d in reactions if d[0].store in (Store.TAG, Store.INDEX)]
        starts = begins or invariant.store is Store.NEED
        for inner in event_costs(plan, reactions, starts, seen | {invariant.name}):
            found.setdefault(Cost((*own.factors, *inner.factors)))
    return list(found)


def event_cost(plan: Plan, *relations: Relation) -> str:
    """The cost of maintaining everything that depends on some relations, as a formula."""
    dependents = [d for relation in relations for d in plan.dependents(relation)]
    costs = event_costs(plan, dependents, any(r.kind is Kind.DEMAND for r in relations))
    if plan.mode == "incremental" and any(_brings_sets(plan, relation) for relation in relations):
        costs.append(Cost((ADOPTED,)))
    return total(costs)


def _own_cost(plan: Plan, invariant: Invariant, block: Block) -> Cost:
    """The steps of a block, and for a result that is kept in order the logarithm of its size."""
    cost = block.covers.best.cost
    if invariant.store is Store.RESULT:
        query = next(q for q in plan.queries if q.name == invariant.query)
        if query.aggregate is not None and query.aggregate.kind in ORDERED:
            return cost.times(Factor(f"log #{query.name}", Size.SMALL))
    return cost


def _brings_sets(plan: Plan, relation: Relation) -> bool:
    """May a new tuple of the relation hold a set that queries go through, and that no index knows yet?"""
    for query in plan.queries:
        sources = {c.args[0] for c in query.clauses if c.relation.kind in (Kind.MEMBER, Kind.ITEM)}
        if any(sources.intersection(_values(c)) for c in query.clauses if c.relation == relation):
            return True
    return False


def _values(clause: Clause) -> tuple[str, ...]:
    """The columns that a new tuple brings along: all of demand, of the rest what is not the source."""
    return clause.args if clause.relation.kind is Kind.DEMAND else clause.args[clause.given :]


def caused(plan: Plan, invariant: Invariant) -> list[Dependent]:
    """What reacts to a change of an invariant."""
    match invariant.store:
        case Store.TAG | Store.JOIN:
            return plan.dependents(invariant.relation)
        case Store.NEED:
            return plan.dependents(demand_relation(invariant.needed))
        case Store.RESULT:
            values = plan.dependents(Relation(Kind.VALUE, invariant.query))
            return values + plan.dependents(Relation(Kind.ANSWER, invariant.query))
    return []


def demand_relation(query: str) -> Relation:
    return Relation(Kind.DEMAND, f"demand_{query}")
