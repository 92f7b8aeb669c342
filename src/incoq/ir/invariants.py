"""Maintained invariants: results, tag sets, their projections, indices (paper, sections 5 and 5.2).

    r_nyc_fans  = {(celeb, group, u_email) : (celeb, group) in demand, ...}
    tag_group   = {group : (celeb, group) in demand}
    fil_inv_member_2 = {(u, group) : group in tag_group, (group, u) in member}

All are one form: a head over clauses of other relations. What differs is how the head is stored, and
that is a `Store`; how a change of any clause changes the head is derived alike for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from importlib import import_module

from incoq.ir.covers import Covers
from incoq.ir.relational import Clause, Kind, Relation, RelationalQuery, Test


class Store(Enum):
    """How the head is kept."""

    RESULT = "result"  # map from parameters to the answer
    TAG = "tag"  # set of values; its changes are events
    INDEX = "index"  # map from key columns to the other columns
    JOIN = "join"  # kept as its indices alone; its changes are events
    NEED = "need"  # counted combinations for which a nested query is demanded


@dataclass(frozen=True)
class Guard:
    """A test that the object of an update is in a tag set: it prunes, it never changes an answer."""

    tag: str
    variable: str


@dataclass(frozen=True)
class Block:
    """How the head changes when a tuple of clause `clause` is added or deleted."""

    clause: int
    covers: Covers
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True)
class Invariant:
    """A maintained relation: `name = {head : clauses, tests}`."""

    name: str
    store: Store
    head: tuple[str, ...]
    key: int  # how many leading head columns are the key of a map
    clauses: tuple[Clause, ...]
    tests: tuple[Test, ...]
    counted: bool
    query: str
    blocks: tuple[Block, ...]
    depth: int = 0  # distance from demand: orders maintenance
    result: Test | None = None
    needed: str = ""  # of a NEED: the nested query
    sets_only: bool = False  # a tag that only holds sets (watched content)
    access: tuple[tuple[tuple[int, tuple[int, ...]], str], ...] = ()  # (clause, key columns) -> index name
    told: tuple[tuple[str, str, str], ...] = ()  # of a JOIN: (column, object, field), see join_stages.told

    @property
    def relation(self) -> Relation:
        """The relation that a tag or a join is, for the clauses that use it."""
        assert self.store in (Store.TAG, Store.JOIN)
        return Relation(Kind.TAG if self.store is Store.TAG else Kind.JOIN, self.name)

    def index_for(self, clause: int, key: tuple[int, ...]) -> str:
        return dict(self.access)[clause, key]

    def definition(self) -> str:
        head = [*self.head, *([str(self.result)] if self.result else [])]
        shown = head[0] if len(head) == 1 else "(" + ", ".join(head) + ")"
        body = ", ".join([*map(str, self.clauses), *map(str, self.tests)])
        return f"{self.name} = {{{shown} : {body}}}"

    def __str__(self) -> str:
        return self.definition() + ("  [counted]" if self.counted else "")


def shown_in_notebook(plan: Plan, query: str | None = None) -> str:
    """HTML for a plan or one of its queries; looked up by name, since what draws stands layers above."""
    shown: str = import_module("incoq.explain.notebook").plan_html(plan, query)
    return shown


@dataclass(frozen=True)
class Choice:
    """How demand is propagated for a query, and why."""

    query: str
    strategy: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """Everything to maintain, in dependency order: what a backend renders."""

    queries: tuple[RelationalQuery, ...]
    invariants: tuple[Invariant, ...]
    mode: str
    strategy: str
    only_adds: bool = False  # the program never removes from a set, and counts were left out for it
    class_fields: frozenset[str] = frozenset()  # fields that some class has, or may get, a value for
    computed_fields: frozenset[str] = frozenset()  # fields that some class computes, and another one stores
    part_fields: frozenset[str] = frozenset()  # fields that objects may have without an assignment
    choices: tuple[Choice, ...] = ()  # of `join` and `auto`: what each query got
    without: frozenset[str] = frozenset()  # savings left out, for comparison
    fixed: frozenset[str] = frozenset()  # the global sets that never are others: no column of a head

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return shown_in_notebook(self)

    def invariant(self, name: str) -> Invariant:
        return next(i for i in self.invariants if i.name == name)

    def structures(self) -> tuple[Invariant, ...]:
        """The invariants that are kept as a structure of their own."""
        return tuple(i for i in self.invariants if i.store is not Store.JOIN)

    def strategy_of(self, query: str) -> str:
        """How demand is propagated for one query."""
        return next((c.strategy for c in self.choices if c.query == query), self.strategy)

    def why_strategy(self, query: str) -> str:
        """The reason of that."""
        return next((c.reason for c in self.choices if c.query == query), "as asked for")

    def expanded(self, invariant: Invariant) -> Invariant:
        """The same invariant with joins replaced by what they join."""
        clauses: list[Clause] = []
        tests = list(invariant.tests)
        for clause in invariant.clauses:
            if clause.relation.kind is Kind.JOIN:
                inner = self.expanded(self.invariant(clause.relation.name))
                clauses += inner.clauses
                tests += inner.tests
            else:
                clauses.append(clause)
        return replace(invariant, clauses=tuple(clauses), tests=tuple(tests))

    def result_of(self, query: str) -> Invariant:
        return next(i for i in self.invariants if i.store is Store.RESULT and i.query == query)

    def dependents(self, relation: Relation) -> list[tuple[Invariant, Block]]:
        """Blocks to run when `relation` changes, in definition order."""
        return list(self._dependents.get(relation, ()))

    @cached_property
    def _dependents(self) -> dict[Relation, list[tuple[Invariant, Block]]]:
        found: dict[Relation, list[tuple[Invariant, Block]]] = {}
        for invariant in self.invariants:
            for block in invariant.blocks:
                found.setdefault(invariant.clauses[block.clause].relation, []).append((invariant, block))
        return found

    def nested_queries(self) -> tuple[RelationalQuery, ...]:
        """Queries whose answers other queries use, innermost first."""
        used = {
            clause.relation.name
            for query in self.queries
            for clause in query.clauses
            if clause.relation.kind in (Kind.VALUE, Kind.ANSWER)
        }
        return tuple(q for q in self.queries if q.name in used)

    def needs_of(self, query: str) -> tuple[Invariant, ...]:
        """The invariants that demand a nested query."""
        return tuple(i for i in self.invariants if i.store is Store.NEED and i.needed == query)

    def fields(self) -> tuple[str, ...]:
        """Fields whose assignments matter."""
        found = dict.fromkeys(
            clause.field
            for invariant in self.invariants
            for clause in invariant.clauses
            if clause.relation.kind is Kind.FIELD
        )
        return tuple(sorted(found))

    def check(self) -> None:
        """Names are unique; every tag that a clause or guard names is defined, and defined before."""
        seen: set[str] = set()
        names = [i.name for i in self.invariants]
        assert len(set(names)) == len(names), "names are unique"
        for invariant in self.invariants:
            for clause in invariant.clauses:
                if clause.relation.kind in (Kind.TAG, Kind.JOIN):
                    assert clause.relation.name in seen, f"{invariant.name} before {clause.relation.name}"
            for block in invariant.blocks:
                for guard in block.guards:
                    assert guard.tag in names or guard.tag in self.fixed, guard
            for _, index in invariant.access:
                assert index in names, index
            seen.add(invariant.name)
