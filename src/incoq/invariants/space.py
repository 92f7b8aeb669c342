"""How large a maintained structure is, as a formula: what demand leads to on the way of its definition.

Tags and indices of filtered relations follow one edge from what is tagged; a join has the combinations of all
clauses so far. So a set that many demanded combinations share counts once in a tag and each time in a join:

    tag_u_2 = {u : group in tag_group, (group, u) in member}            #demand × #member{group}, at most
    join_2  = {(celeb, group, u) : (celeb, group, fs) in join_1, ...}   #demand × #member{fs}, at most
"""

from __future__ import annotations

from incoq.ir.covers import Cost, Factor, Size
from incoq.ir.invariants import Invariant, Plan, Store
from incoq.ir.relational import Kind

DEMAND = Factor("#demand", Size.SMALL)


def space_of(plan: Plan, invariant: Invariant) -> Cost:
    """An upper bound of the number of entries."""
    first = invariant.clauses[0]
    match first.relation.kind:
        case Kind.DEMAND:
            start = Cost((DEMAND,)) if first.args else Cost()
        case Kind.TAG | Kind.JOIN:
            start = space_of(plan, plan.invariant(first.relation.name))
        case _:
            return Cost((Factor(f"#{first.relation}", Size.LARGE),))
    if invariant.store is Store.TAG and all(c.relation.kind is Kind.TAG for c in invariant.clauses):
        return start
    begins = next((b for b in invariant.blocks if b.clause == 0), None)
    factors = begins.covers.best.cost.factors if begins is not None else ()
    return Cost((*start.factors, *factors))
