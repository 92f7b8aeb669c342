"""Define what is maintained for a query whose memberships are joined (`--strategy join`).

Before:    tag_u = {u : u in some tagged follower set and in some tagged group}, for the whole of both sets
After:     join_nyc_fans_2 = {(celeb, group, u) : (celeb, group, fs) in join_nyc_fans_1,
                              (fs, u) in member, (group, u) in member}
           r_nyc_fans = {(celeb, group, email) : (celeb, group, u) in join_nyc_fans_2, (u, loc) in field_loc,
                         (u, email) in field_email, loc == 'NYC'}
Invariant: a join holds each combination once; it is kept as indices, one for each object that an update
           may change, and its changes are events; a flag that conditions ask for its truth is in no index
           but the one by it, where it is a set: the object tells it
Cost:      the first demand of a pair walks the smaller of the two sets, where tags walk both whole sets
Space:     #demand × the combinations of each pair, where tags have the sum of the sets: dearer when sets
           that many pairs share are joined over and over, cheaper when they hardly overlap
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incoq.invariants.join_stages import Stages, kept_variables, told
from incoq.ir.covers import Access
from incoq.ir.invariants import Block, Guard, Invariant, Store
from incoq.ir.relational import MEMBER, Clause, Kind, Relation, RelationalQuery, Test
from incoq.planning.find_covers import Problem

if TYPE_CHECKING:
    from incoq.invariants.define_invariants import Definer

Look = dict[tuple[int, tuple[int, ...]], str]


def define_joins(definer: Definer, stages: Stages) -> list[Invariant]:
    """The joins of all stages, their indices and the result."""
    query = definer.query
    previous = query.clauses[0]
    source: Invariant | None = None
    tests = list(query.tests)
    indices: dict[tuple[str, tuple[int, ...]], Invariant] = {}
    guards: dict[tuple[str, str, bool], str] = {}

    demanded = _determined(query)
    fields = frozenset((c.args[0], c.args[1]) for c in query.clauses if c.relation.kind is Kind.FIELD)

    def index(key: tuple[int, ...], sets_only: bool) -> str:
        """The index of what the stage before has joined, by some of its columns; of sets alone where no event
        but a change of their content looks into it."""
        if source is None:
            return definer.demand_index(key).name
        if (source.name, key) not in indices:
            columns = {value for value, _, _ in source.told}
            new = tuple(i for i, v in enumerate(previous.args) if i not in key and v not in columns)
            head = tuple(previous.args[i] for i in (*key, *new))
            by = "_".join(previous.args[i] for i in key) or "nothing"
            indices[source.name, key] = definer.make(
                f"{source.name}_by_{by}", Store.INDEX, head, len(key), (previous,), False, source.depth,
                sets_only=sets_only and definer.watches_content(head[0]),
            )  # fmt: skip
        return indices[source.name, key].name

    def guard(clauses: tuple[Clause, ...], position: int, look: Look) -> tuple[Guard, ...]:
        """That the updated object is bound by the stage before: in an index by it, or in a tag set; or that a
        fixed set holds it."""
        variable = clauses[position].args[0]
        if variable in query.fixed:
            return (Guard(definer.demand_tag(variable).name, variable),)
        if variable not in previous.args:
            return tuple(
                Guard(c.args[0], variable)
                for c in clauses
                if clauses[position].relation.kind is Kind.FIELD
                and c.relation == MEMBER
                and c.args[0] in query.fixed
                and c.args[1:] == (variable,)
                and not c.watch
                and c.pattern is None
            )[:1]
        by = previous.args.index(variable)
        sets_only = clauses[position].relation.kind is Kind.CONTENT and definer.watches_content(variable)
        looked = indices.get((source.name, (by,))) if source is not None else None
        if (0, (by,)) in look and (looked is None or looked.sets_only or not sets_only):
            return (Guard(look[0, (by,)], variable),)
        if source is None or variable in query.demand:
            return (Guard(definer.demand_tag(variable).name, variable),)
        known = (source.name, variable, sets_only)
        if known not in guards:
            tag = definer.make(
                f"{source.name}_{variable}", Store.TAG, (variable,), 1, (previous,), True, source.depth,
                sets_only=sets_only,
            )  # fmt: skip
            guards[known] = tag.name
        return (Guard(guards[known], variable),)

    def blocks(clauses: tuple[Clause, ...]) -> tuple[tuple[Block, ...], Look]:
        made: list[Block] = []
        access: Look = {}
        found = [
            definer.covers(
                Problem(
                    clauses, frozenset((*clause.args, *query.fixed)), frozenset({position}), query.facts,
                    query.selectors, filtered=True, indexed=False, demanded=demanded, fields=fields,
                )
            )
            for position, clause in enumerate(clauses)
        ]  # fmt: skip
        looks = [[s for s in covers.best.steps if s.access is Access.LOOKUP] for covers in found]
        others = {
            step.key
            for clause, steps in zip(clauses, looks, strict=True)
            for step in steps
            if clause.relation.kind is not Kind.CONTENT
        }
        for position, (covers, steps) in enumerate(zip(found, looks, strict=True)):
            own: Look = {
                (s.clause, s.key): index(s.key, len(s.key) == 1 and s.key not in others) for s in steps
            }
            access |= own
            made.append(Block(position, covers, guard(clauses, position, own) if position else ()))
        return tuple(made), access

    for number, stage in enumerate(stages.stages):
        clauses = (previous, *(query.clauses[i] for i in stage))
        bound = {v for c in clauses for v in c.args} | set(query.fixed)
        ready = tuple(t for t in tests if t.names <= bound and not _reads_watched(t, definer))
        tests = [t for t in tests if t not in ready]
        head = kept_variables(query, stages, number)
        made, access = blocks(clauses)
        source = Invariant(
            definer.names.fresh(f"join_{query.name}_{number + 1}"), Store.JOIN, head, len(head), clauses,
            ready, False, query.name, made, depth=number + 1, access=tuple(access.items()),
            told=told(query, head),
        )  # fmt: skip
        definer.made.append(source)
        previous = Clause(Relation(Kind.JOIN, source.name), head)
    clauses = (previous, *(query.clauses[i] for i in stages.rest))
    made, access = blocks(clauses)
    result = Invariant(
        definer.names.fresh(f"r_{query.name}"), Store.RESULT, (*query.demand, *query.rest),
        len(query.demand), clauses, tuple(tests), definer.counted(), query.name, made,
        depth=len(stages.stages) + 1, result=query.result, access=tuple(access.items()),
    )  # fmt: skip
    return [*definer.made, result]


def _determined(query: RelationalQuery) -> frozenset[str]:
    """Demand, and whatever fields lead to from there."""
    known = {*query.demand, *query.fixed}
    for _ in query.clauses:
        known |= {c.args[1] for c in query.clauses if c.relation.kind is Kind.FIELD and c.args[0] in known}
    return frozenset(known)


def _reads_watched(test: Test, definer: Definer) -> bool:
    """Does a condition depend on what is watched? Then the result alone may evaluate it."""
    watched = {v for c in definer.query.clauses if c.watch for v in c.args}
    return bool(test.names & watched)
