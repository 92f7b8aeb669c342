"""Choose how demand is propagated for a query: by tag sets or by joins (`--strategy auto`).

Both ways are defined, and the cost of every update compared. Joins are taken where no update and no demand
gets dearer by them: then they save the walk over whole sets that tagging needs. Tags are taken elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from incoq.invariants.define_joins import define_joins
from incoq.invariants.event_costs import event_costs
from incoq.invariants.join_stages import Stages, join_stages
from incoq.ir.covers import Cost
from incoq.ir.invariants import Choice, Invariant, Plan
from incoq.ir.relational import Kind, Relation, RelationalQuery

if TYPE_CHECKING:
    from incoq.invariants.define_invariants import Definer


def choose_strategy(
    query: RelationalQuery, strategy: str, definer: Callable[[], Definer]
) -> tuple[Choice, Stages | None]:
    """The choice and, for joins, their stages; `definer` gives definers whose work is thrown away."""
    stages = join_stages(query)
    if isinstance(stages, str):
        return Choice(query.name, "tags", stages), None
    if strategy == "join":
        return Choice(query.name, "join", "as asked for"), stages
    if query.nested:
        return Choice(query.name, "tags", "it is part of another query, which demands it anew and anew"), None
    tags, joins = definer().define(), define_joins(definer(), stages)
    for relation in _relations(tags):
        by_tags, by_joins = _dearest(query, tags, relation), _dearest(query, joins, relation)
        if _measure(query, by_joins) > _measure(query, by_tags):
            update = f"an update of {relation} would cost O({by_joins}) by joins, not O({by_tags})"
            return Choice(query.name, "tags", update), None
    return Choice(query.name, "join", "no update costs more than by tags, and no whole set is tagged"), stages


def _measure(query: RelationalQuery, cost: Cost) -> tuple[tuple[int, int, int], int]:
    """What costs are compared by: where the sizes are alike, by how often a whole global set is gone through,
    which holds more than any part of it that an index gives."""
    whole = {f"#member{{{variable}}}" for variable in query.fixed}
    return cost.rank, sum(factor.text in whole for factor in cost.factors)


def _relations(invariants: list[Invariant]) -> list[Relation]:
    """Demand and all relations that updates change."""
    own = (Kind.TAG, Kind.JOIN)
    found = (c.relation for i in invariants for c in i.clauses if c.relation.kind not in own)
    return list(dict.fromkeys(found))


def _dearest(query: RelationalQuery, invariants: list[Invariant], relation: Relation) -> Cost:
    """The dearest of what an event of a relation costs."""
    plan = Plan((query,), tuple(invariants), "filtered", "auto")
    costs = event_costs(plan, plan.dependents(relation), relation.kind is Kind.DEMAND)
    return max(costs, key=lambda c: c.rank, default=Cost())
