"""Split a query into stages, each of which joins a few clauses to what the stage before has joined.

Before:    (celeb, group) in demand, (celeb, fs) in field_followers, (fs, u) in member, (group, u) in member,
           (u, loc) in field_loc, (u, email) in field_email
After:     stage 1: (celeb, fs) in field_followers
           stage 2: (fs, u) in member, (group, u) in member
           the rest: loc and email, which nothing leads on from
Invariant: the object that an update of a stage's clause changes is bound by an earlier stage, or another of
           the updated values is; so what the stages before have joined, indexed by it, is all that the
           update needs

A stage follows fields, each of which gives one value; or it binds the elements of sets, by all clauses that
tell the same elements at once, since their intersection is what is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass

from incoq.ir.relational import Clause, Kind, RelationalQuery

_JOINED = (Kind.FIELD, Kind.MEMBER)
_WATCHED = (Kind.FIELD, Kind.MEMBER, Kind.CONTENT)


@dataclass(frozen=True)
class Stages:
    """The clauses of each stage, by number, and those that are left for the result."""

    stages: tuple[tuple[int, ...], ...]
    rest: tuple[int, ...]


def join_stages(query: RelationalQuery) -> Stages | str:
    """The stages of a query, or the reason why it has none."""
    clauses = query.clauses
    for clause in clauses[1:]:
        if clause.relation.kind not in (_WATCHED if clause.watch else _JOINED):
            return f"it reads {clause.relation.kind.value} relations, which joins do not hold"
    pending = [i for i, c in enumerate(clauses) if i and not c.watch and not _is_leaf(clauses, i)]
    rest = tuple(i for i in range(1, len(clauses)) if i not in pending)
    bound = {*clauses[0].args, *query.fixed}
    stages: list[tuple[int, ...]] = []
    while pending:
        stage = [i for i in pending if _follows_field(clauses[i], bound)]
        if not stage:
            stage = _elements(clauses, pending, bound)
        if not stage:
            return "no order of its clauses leads from demand along sets and fields alone"
        stages.append(tuple(stage))
        for index in stage:
            bound.update(clauses[index].args)
        pending = [i for i in pending if i not in stage]
    if not stages:
        return "it follows no set"
    missing = {c.args[0] for c in clauses[1:]} - bound
    if missing:
        return f"{', '.join(sorted(missing))} is bound by no clause that holds for certain"
    return Stages(tuple(stages), rest)


def _is_leaf(clauses: tuple[Clause, ...], index: int) -> bool:
    """Does a field only give a value to conditions and results?"""
    clause = clauses[index]
    if clause.relation.kind is not Kind.FIELD:
        return False
    return not any(clause.args[-1] in other.args for i, other in enumerate(clauses) if i != index)


def _follows_field(clause: Clause, bound: set[str]) -> bool:
    return clause.relation.kind is Kind.FIELD and clause.args[0] in bound


def _elements(clauses: tuple[Clause, ...], pending: list[int], bound: set[str]) -> list[int]:
    """The clauses that tell the elements of one set, where most clauses can tell."""
    found: list[list[int]] = []
    for base in pending:
        if clauses[base].relation.kind is not Kind.MEMBER or clauses[base].args[0] not in bound:
            continue
        new = set(clauses[base].args) - bound
        told = [i for i in pending if _tells(clauses[i], bound, new)]
        found.append([base, *(i for i in told if i != base)])
    return max(found, key=lambda stage: (len(stage), -stage[0]), default=[])


def _tells(clause: Clause, bound: set[str], new: set[str]) -> bool:
    """Does a clause say something about elements just bound, and is one of its values bound before them?"""
    if clause.relation.kind is Kind.MEMBER:
        return clause.args[0] in bound and set(clause.args) <= bound | new
    return clause.args[0] in new and clause.args[1] in bound


def told(query: RelationalQuery, columns: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    """The columns of a join that indices need not hold, since a field of another column tells them, each with
    that object and the field: flags, of which conditions ask the truth and nothing else reads anything.

    So a flag that is another one changes no index, as long as the field has one meaning in the query."""
    found = []
    for index, clause in enumerate(query.clauses):
        if clause.relation.kind is not Kind.FIELD or clause.watch or not set(clause.args) <= set(columns):
            continue
        owner, value = clause.args
        others = [c for i, c in enumerate(query.clauses) if i != index]
        uses = [c for c in others if value in c.args]
        if (
            value not in (*query.demand, *query.rest)
            and all(c.relation.kind is Kind.CONTENT for c in uses)
            and not any(c.relation == clause.relation for c in others)
        ):
            found.append((value, owner, clause.field))
    return tuple(found)


def kept_variables(query: RelationalQuery, stages: Stages, upto: int) -> tuple[str, ...]:
    """The variables that the join up to a stage must tell: demand, what is read later, and all that
    only a set determines, so that each combination is there once."""
    clauses = query.clauses
    inside = {0, *(i for stage in stages.stages[: upto + 1] for i in stage)}
    bound = list(dict.fromkeys(v for i in sorted(inside) for v in clauses[i].args if v not in query.fixed))
    later = {v for i, c in enumerate(clauses) if i not in inside for v in c.args}
    for test in (*query.tests, query.result):
        later |= test.names
    # A value that a field gives is told by the object. Where fields lead in a circle, an equality has closed
    # it, which is among the tests: so one of its values is kept, and tells the others.
    given = {clauses[i].args[1] for i in inside if clauses[i].relation.kind is Kind.FIELD}
    kept = {*later, *query.demand, *query.rest}
    return tuple(v for v in bound if v in kept or v not in given)
