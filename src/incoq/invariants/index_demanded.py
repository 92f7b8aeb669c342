"""Leave out of an index what belongs to no demanded combination.

Before:    fil_member_3_14_23 = {(r, op, obj) : (PR,) in tag_PR, (PR, (op, obj, r)) in member}
           for (op, obj) in fil_member_3_14_23{r}:
               if (obj,) in demand: ...
After:     fil_member_3_14_23 = {(r, op, obj) : (PR,) in tag_PR, (obj,) in demand,
                                 (PR, (op, obj, r)) in member}
           for (op, obj) in fil_member_3_14_23{r}: ...
Invariant: the index holds the tuples of the relation that name a demanded combination
Cost:      an update goes through demanded tuples alone; a combination that begins or ceases to be demanded
           has its tuples entered or taken out, as many as its answer looks at anyway

The relation is filtered by the demand of its columns, where the paper filters it by the tag of its source
(section 5.2). It pays where demand finds those tuples by an index of the same relation, by the demanded
columns, which the evaluation of a new combination goes through itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from incoq.ir.covers import Access, Cost, Covers, Factor, Step
from incoq.ir.invariants import Block, Invariant, Store
from incoq.ir.relational import Clause, Kind
from incoq.planning.find_covers import Problem, image_text

if TYPE_CHECKING:
    from incoq.invariants.define_invariants import Definer

STRATEGIES = ("auto", "join")  # `tags` is the paper's, as it is there


def index_of_demanded(definer: Definer, clause_index: int, key: tuple[int, ...]) -> Invariant | None:
    """The index by demand that tells which tuples an index of the same clause by `key` is to hold, where
    demanded ones are all that it has to hold."""
    query = definer.query
    clause = query.clauses[clause_index]
    if definer.strategy not in STRATEGIES or not definer.filtered or "demanded" in definer.without:
        return None
    if clause.relation.kind is not Kind.MEMBER or clause.watch or not query.demand:
        return None
    if clause.args[0] not in query.fixed:
        return None  # demand alone does not tell where to look
    if not set(query.demand) <= set(clause.args[1:]) or set(query.demand) <= {clause.args[i] for i in key}:
        return None
    by_demand = tuple(i for i, v in enumerate(clause.args) if i == 0 or v in query.demand)
    return definer.indices.get((clause_index, by_demand))


def demanded_blocks(
    definer: Definer, clause_index: int, clauses: tuple[Clause, ...], by_demand: Invariant
) -> tuple[tuple[Block, ...], dict[tuple[int, tuple[int, ...]], str]]:
    """How the index is maintained: what is newly demanded is looked up, not looked for in the whole set."""
    blocks = []
    access: dict[tuple[int, tuple[int, ...]], str] = {}
    for position, clause in enumerate(clauses):
        is_demand = clause.relation.kind is Kind.DEMAND
        problem = Problem(
            clauses, definer.bound_by(clause), frozenset({position}), filtered=True, indexed=is_demand
        )
        cover = definer.covers(problem).best
        steps = tuple(_named(definer, clause_index, step) for step in cover.steps)
        cost = Cost(tuple(step.factor for step in steps if step.factor is not None))
        cover = replace(cover, steps=steps, cost=cost)
        looked = (step for step in steps if step.access is Access.LOOKUP)
        access |= {(step.clause, step.key): by_demand.name for step in looked}
        blocks.append(Block(position, Covers(cover, (cover,), False)))
    return tuple(blocks), access


def _named(definer: Definer, clause_index: int, step: Step) -> Step:
    """A look-up, which is one of a clause of the query, with the name that it has there."""
    if step.access is not Access.LOOKUP or step.factor is None:
        return step
    whole = Problem(definer.query.clauses, frozenset(), frozenset(), filtered=True)
    text = "#" + image_text(whole, clause_index, step.key, step.new)
    return replace(step, factor=Factor(text, step.factor.size))


def holds_demanded(invariant: Invariant) -> bool:
    """Is everything that an index holds demanded?"""
    return (
        invariant.store is Store.INDEX
        and len(invariant.clauses) > 1
        and any(c.relation.kind is Kind.DEMAND for c in invariant.clauses)
    )
