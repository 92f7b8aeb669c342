"""Define what is maintained for a query (paper, steps 2-INC and 2-FIL).

Incremental: the result, and an inverse relation for every look-up against the direction of an edge.
Filtered:    the same, with tag sets that follow demand along the query graph, inverse relations that
             hold tagged tuples only, and tests that leave maintenance at once for an untagged object.

Before:    for group in inv_member{user}
After:     if user in tag_user:
               for group in fil_inv_member_2{user}
Invariant: fil_inv_member_2 = {(user, group) : group in tag_group, (group, user) in member}
Cost:      #inv_member{user} becomes #fil_inv_member_2{user}

A tag set of a vertex with several incoming edges is where all their counted projections are positive, so
that a change of one edge costs O(1). Only tags and inverses that some block reads are defined: what
would be dead is never made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy
from dataclasses import dataclass, field, replace

from incoq.invariants.choose_strategy import choose_strategy
from incoq.invariants.define_joins import define_joins
from incoq.invariants.eliminate_counts import needs_counts
from incoq.invariants.index_demanded import demanded_blocks, index_of_demanded
from incoq.invariants.keep_whole import keep_whole
from incoq.invariants.query_graph import DemandGraph, Edge, demand_graph
from incoq.ir.covers import Access, Cover, Covers
from incoq.ir.invariants import Block, Choice, Guard, Invariant, Plan, Store
from incoq.ir.objects import Pattern, TuplePattern, Variable
from incoq.ir.relational import Clause, Kind, Relation, RelationalQuery
from incoq.names import NameSupply
from incoq.planning.find_covers import Order, Problem, find_covers, occurrence

NESTED = (Kind.VALUE, Kind.ANSWER)

WHOLE = "it is counted for all values: they are found in global sets anyway"

Orders = Callable[[Problem], Order | None]


def define_invariants(
    queries: list[RelationalQuery],
    mode: str,
    strategy: str,
    names: NameSupply,
    without: frozenset[str] = frozenset(),
    only_adds: bool = False,
    fixed: Collection[str] = (),
    orders: Orders | None = None,
    no_joins: str = "",
) -> Plan:
    """All invariants of all queries, each after those it depends on; `orders` says in which order a block is
    to visit its clauses, where the cheapest is not wanted, `no_joins` why `auto` takes no joins, if so."""
    counting = "counts" not in without
    shared: dict[object, Invariant] = {}
    invariants: list[Invariant] = []
    choices: list[Choice] = []

    def definer(names: NameSupply, shared: dict[object, Invariant]) -> Definer:
        return Definer(query, mode == "filtered", strategy, names, shared, without, only_adds, orders, whole)

    if mode == "filtered" and strategy == "auto" and not without & {"whole", "numbers"}:
        queries = keep_whole(queries)
    whole = {query.name for query in queries if query.is_whole}
    for query in queries:
        if query.is_whole:
            choices.append(Choice(query.name, "tags", WHOLE))
        elif mode == "filtered" and strategy == "auto" and no_joins:
            choices.append(Choice(query.name, "tags", no_joins))
        elif mode == "filtered" and strategy in ("join", "auto"):
            choice, stages = choose_strategy(query, strategy, lambda: definer(copy(names), dict(shared)))
            choices.append(choice)
            if stages is not None:
                invariants.extend(define_joins(definer(names, shared), stages))
                continue
        invariants.extend(definer(names, shared).define())
    plan = Plan(
        tuple(queries), tuple(invariants), mode, strategy, only_adds and counting, choices=tuple(choices),
        without=without, fixed=frozenset(fixed),
    )  # fmt: skip
    plan.check()
    return plan


@dataclass
class Definer:
    query: RelationalQuery
    filtered: bool
    strategy: str
    names: NameSupply
    shared: dict[object, Invariant]
    without: frozenset[str]
    only_adds: bool = False
    orders: Orders | None = None
    whole: Collection[str] = ()  # the nested queries that are demanded by no parameter
    made: list[Invariant] = field(default_factory=list)
    tags: dict[str, Invariant] = field(default_factory=dict)
    demanded: dict[str, Invariant] = field(default_factory=dict)  # what a tag has of demand, with other edges
    indices: dict[tuple[int, tuple[int, ...]], Invariant] = field(default_factory=dict)
    graph: DemandGraph = field(init=False)

    def __post_init__(self) -> None:
        self.graph = demand_graph(self.query, self.strategy == "first-clause")

    def define(self) -> list[Invariant]:
        query = self.query
        needs = [self._need(i) for i, c in enumerate(query.clauses) if c.relation.kind in NESTED]
        blocks, access = self._blocks(tuple(range(len(query.clauses))))
        if "indices" in self.without:  # an inverse of every relation, read or not
            for index, clause in enumerate(query.clauses):
                if clause.relation.kind in (Kind.FIELD, Kind.MEMBER) and len(clause.args) == 2:
                    self._index(index, (1,))
        head = (*query.demand, *query.rest)
        result = Invariant(
            self.names.fresh(f"r_{query.name}"), Store.RESULT, head, len(query.demand), query.clauses,
            query.tests, self.counted(), query.name, tuple(blocks),
            depth=1 + max(self.graph.depth.values(), default=0), result=query.result,
            access=tuple(access.items()),
        )  # fmt: skip
        return [*self.made, *needs, result]

    def covers(self, problem: Problem) -> Covers:
        """The order in which a block visits its clauses: the cheapest, if none is given."""
        return find_covers(problem, self.orders(problem) if self.orders is not None else None)

    def counted(self) -> bool:
        """Does the answer count how many combinations give an element?"""
        query = self.query
        return query.aggregate is None and (needs_counts(query, self.only_adds) or "counts" in self.without)

    def demand_index(self, key: tuple[int, ...]) -> Invariant:
        """Demand by some of its columns."""
        return self._index(0, key)

    def demand_tag(self, variable: str) -> Invariant:
        """The values that a demand parameter has."""
        if variable not in self.tags:
            self.tags[variable] = self._demand_projection(variable, False, self._tag_name(variable))
        return self.tags[variable]

    def _blocks(self, chosen: tuple[int, ...]) -> tuple[list[Block], dict[tuple[int, tuple[int, ...]], str]]:
        """Maintenance of a head over some clauses of the query, with the indices that it looks up."""
        blocks = []
        access: dict[tuple[int, tuple[int, ...]], str] = {}
        clauses = tuple(self.query.clauses[i] for i in chosen)
        for position, index in enumerate(chosen):
            problem = Problem(
                clauses, self.bound_by(clauses[position]), frozenset({position}), self.query.facts,
                self.query.selectors, self.filtered, nested=self.query.nested,
                fixed=frozenset(self.query.fixed),
            )  # fmt: skip
            covers = self.covers(problem)
            blocks.append(Block(position, covers, self._guards(index, chosen, covers.best)))
            for step in covers.best.steps:
                if step.access is Access.LOOKUP:
                    access[step.clause, step.key] = self._index(chosen[step.clause], step.key).name
        return blocks, access

    def bound_by(self, clause: Clause) -> frozenset[str]:
        """What an update of a clause binds; fixed sets are known at all times."""
        return frozenset((*clause.args, *self.query.fixed))

    def _need(self, index: int) -> Invariant:
        """Demand of a nested query: its parameters, wherever the clauses that bind them are satisfied, and as
        much of what these read as does not wait for the nested query itself: `v in q(x), (v, x) in s` must
        not demand q of x only once there is a v."""
        clause = self.query.clauses[index]
        needed = () if clause.relation.name in self.whole else clause.source
        chosen = self._ancestors(needed)
        if index in chosen:
            chosen = self._ancestors(needed, sources_only=True)
        blocks, access = self._blocks(chosen)
        return Invariant(
            self.names.fresh(f"need_{clause.relation.name}"), Store.NEED, needed, len(needed),
            tuple(self.query.clauses[i] for i in chosen), (), True, self.query.name, tuple(blocks),
            depth=max((self.graph.depth[v] for v in needed), default=0), access=tuple(access.items()),
            needed=clause.relation.name,
        )  # fmt: skip

    def _ancestors(self, variables: tuple[str, ...], sources_only: bool = False) -> tuple[int, ...]:
        """Demand and the clauses that lead from it to the variables, and to what else they bind. Of sources
        only, nothing goes round in a circle, since the graph has none."""
        chosen = {0}
        pending, seen = list(variables), set()
        while pending:
            variable = pending.pop()
            if variable not in seen:
                seen.add(variable)
                for edge in self.graph.incoming(variable):
                    chosen.add(edge.clause)
                    pending.extend(edge.sources if sources_only else self.query.clauses[edge.clause].args)
        return tuple(sorted(chosen))

    # -- tags -------------------------------------------------------------------------------------

    def _guards(self, index: int, chosen: tuple[int, ...], cover: Cover) -> tuple[Guard, ...]:
        """Tests that the update's objects are tagged; left out are implied ones, those that save less than
        the tag costs (where there is no loop to leave out, or where it looks the object up at once), and
        those that ask for more than the clauses which are chosen."""
        clause = self.query.clauses[index]
        clauses = tuple(self.query.clauses[i] for i in chosen)
        if not self.filtered or clause.relation.kind in (Kind.DEMAND, *NESTED):
            return ()
        source = clause.args[0]
        guards = [Guard(self._tag(source).name, source)]
        for variable in dict.fromkeys(clause.args):
            incoming = self.graph.incoming(variable)
            implied = len(incoming) == 1 and incoming[0].clause == index and variable not in self.query.demand
            if any(edge.clause not in chosen for edge in incoming):
                continue
            if self.watches_content(variable):
                continue  # such a tag holds sets only, and tells nothing of other values
            if "guards" in self.without:
                implied = False
            elif self.query.fixed and _saves_nothing(clauses, cover, variable, self.query.fixed):
                continue
            if variable != source and not implied and not clause.watch and incoming:
                guards.append(Guard(self._guarding_tag(variable, index).name, variable))
        return tuple(guards)

    def _guarding_tag(self, variable: str, index: int) -> Invariant:
        """The tag of a value that an update of a clause tells: that the clause itself leads to it is known,
        so demand alone decides where nothing else leads there."""
        others = [edge for edge in self.graph.incoming(variable) if edge.clause != index]
        if self.query.fixed and variable in self.query.demand and not others and "guards" not in self.without:
            if variable not in self.demanded:
                self.demanded[variable] = self._demand_projection(variable, True, self._tag_name(variable))
            return self.demanded[variable]
        return self._tag(variable)

    def _tag(self, variable: str) -> Invariant:
        """The tag set of a vertex: where the projections of all its incoming edges are positive."""
        if variable in self.tags:
            return self.tags[variable]
        sources: list[Invariant] = []
        edges = self.graph.incoming(variable)
        plain = self._tag_name(variable)
        several = len(edges) + (variable in self.query.demand) > 1
        if variable in self.demanded:
            sources.append(self.demanded[variable])
        elif variable in self.query.demand or variable in self.query.fixed:
            sources.append(self._demand_projection(variable, several, plain))
        for edge in edges:
            sources.append(self._edge_projection(edge, several, plain))
        assert sources, f"{variable} is reachable"
        if several:
            clauses = tuple(Clause(s.relation, (variable,)) for s in sources)
            tag = self.make(
                plain, Store.TAG, (variable,), 1, clauses, False, depth=self.graph.depth[variable] + 1
            )
        else:
            tag = sources[0]
        self.tags[variable] = tag
        return tag

    def _tag_name(self, variable: str) -> str:
        return f"tag_{variable}"

    def _demand_projection(self, variable: str, several: bool, plain: str) -> Invariant:
        name = f"{plain}_demand" if several else plain
        clause = self.query.clauses[0]
        # Several combinations may have the value; a fixed set has them all, and is tagged while there is any.
        counted = clause.args != (variable,) and variable not in self.query.fixed
        return self.make(name, Store.TAG, (variable,), 1, (clause,), counted, depth=0)

    def _edge_projection(self, edge: Edge, several: bool, plain: str) -> Invariant:
        clause = self.query.clauses[edge.clause]
        clauses: tuple[Clause, ...] = (_joined(clause),)
        if clause.relation.kind not in NESTED:
            source = self._tag(edge.sources[0])
            clauses = (Clause(source.relation, edge.sources), _joined(clause))
        number = occurrence(self.query.clauses, edge.clause) or f"_{clause.relation.name}"
        return self.make(
            plain + number if several else plain, Store.TAG, (edge.target,), 1,
            clauses, True, depth=self.graph.depth[edge.target],
            sets_only=self.watches_content(edge.target),
        )  # fmt: skip

    def watches_content(self, variable: str) -> bool:
        """Is a variable only of interest where its value is a set?"""
        uses = [c for c in self.query.clauses if variable in c.source or (c.watch and variable in c.args[:1])]
        return bool(uses) and all(c.relation.kind is Kind.CONTENT for c in uses)

    # -- indices ----------------------------------------------------------------------------------

    def _index(self, clause_index: int, key: tuple[int, ...]) -> Invariant:
        """The map from the bound columns of a clause to the others."""
        known = self.indices.get((clause_index, key))
        if known is not None:
            return known
        clause = self.query.clauses[clause_index]
        new = tuple(i for i in range(len(clause.args)) if i not in key)
        by = tuple(clause.args[i] for i in key if clause.args[i] not in self.query.fixed)
        head = (*by, *(clause.args[i] for i in new))
        clauses: tuple[Clause, ...] = (clause,)
        depth = 0
        name = self._index_name(clause_index, key, new)
        bound_by = [c for c in self.query.clauses if head[0] in c.args and not c.watch]
        sets_only = len(by) == 1 and len(bound_by) == 1 and self.watches_content(head[0])
        if clause.relation.kind is Kind.DEMAND:
            identity: object = (self.query.name, "demand", key)
        elif clause.relation.kind in NESTED:
            identity = (clause.relation, _shape(clause), key, sets_only)
        elif self.filtered:
            source = self._tag(clause.args[0])
            clauses = (Clause(source.relation, clause.args[:1]), clause)
            depth = self.graph.depth[clause.args[0]] + 1
            identity = (self.query.name, clause_index, key)
        else:
            identity = (clause.relation, _shape(clause), key, sets_only)
        if identity not in self.shared:
            by_demand = index_of_demanded(self, clause_index, key)
            demanded = (self.query.clauses[0],) if by_demand is not None else ()
            clauses = (*clauses[:-1], *demanded, _joined(clauses[-1]))
            self.shared[identity] = self.make(
                name, Store.INDEX, head, len(by), clauses, False, depth=depth, sets_only=sets_only,
                blocks=demanded_blocks(self, clause_index, clauses, by_demand) if by_demand else None,
            )  # fmt: skip
        self.indices[clause_index, key] = self.shared[identity]
        return self.shared[identity]

    def _index_name(self, clause_index: int, key: tuple[int, ...], new: tuple[int, ...]) -> str:
        clause = self.query.clauses[clause_index]
        if clause.relation.kind is Kind.DEMAND:
            columns = "".join(str(i + 1) for i in key) + "_" + "".join(str(i + 1) for i in new)
            return f"{clause.relation.name}_{columns}"
        prefix = "fil_" if self.filtered else ""
        suffix = occurrence(self.query.clauses, clause_index) if self.filtered else ""
        short = clause.relation.name.removeprefix("field_")
        if len(clause.args) == 2 and clause.pattern is None:
            return f"{prefix}inv_{short}{suffix}"
        columns = "".join(str(i + 1) for i in key) + "_" + "".join(str(i + 1) for i in new)
        return f"{prefix}{short}{suffix}_{columns}"

    def make(
        self,
        name: str,
        store: Store,
        head: tuple[str, ...],
        key: int,
        clauses: tuple[Clause, ...],
        counted: bool,
        depth: int,
        sets_only: bool = False,
        blocks: tuple[tuple[Block, ...], dict[tuple[int, tuple[int, ...]], str]] | None = None,
    ) -> Invariant:
        made, access = blocks or (self._without_indices(clauses), {})
        invariant = Invariant(
            self.names.fresh(name), store, head, key, clauses, (), counted, self.query.name, made,
            depth=depth, sets_only=sets_only, access=tuple(access.items()),
        )  # fmt: skip
        self.made.append(invariant)
        return invariant

    def _without_indices(self, clauses: tuple[Clause, ...]) -> tuple[Block, ...]:
        """The maintenance of an auxiliary value, which has no indices of its own."""
        return tuple(
            Block(
                index,
                self.covers(
                    Problem(
                        clauses, self.bound_by(clause), frozenset({index}), filtered=self.filtered,
                        indexed=False,
                    )
                ),
            )
            for index, clause in enumerate(clauses)
        )  # fmt: skip


def _saves_nothing(clauses: tuple[Clause, ...], cover: Cover, variable: str, fixed: Collection[str]) -> bool:
    """Does a block do next to nothing for a value that is not tagged, without asking the tag?"""
    loop = next((s for s in cover.steps if s.factor is not None), None)
    if loop is None:
        return True
    asked, first = clauses[cover.steps[0].clause], cover.steps[0]
    if first.access is Access.TEST and asked.relation.kind is Kind.DEMAND and asked.args == (variable,):
        return True
    if loop.access is not Access.LOOKUP:
        return False
    keys = {clauses[loop.clause].args[i] for i in loop.key} - set(fixed)
    return keys == {variable}


def _joined(clause: Clause) -> Clause:
    """A watched clause as one that binds: auxiliary values follow it only where it has a value."""
    return replace(clause, watch=False)


def _shape(clause: Clause) -> object:
    """What makes two clauses of one relation the same for an index: where columns repeat, the pattern."""
    first = {v: clause.args.index(v) for v in clause.args}
    return tuple(first[v] for v in clause.args), _pattern_shape(clause.pattern, first), clause.arity


def _pattern_shape(pattern: Pattern | None, first: dict[str, int]) -> object:
    match pattern:
        case Variable(name):
            return first[name]
        case TuplePattern(items):
            return tuple(_pattern_shape(i, first) for i in items)
        case None:
            return None
        case _:
            return str(pattern)


__all__ = ["Relation", "define_invariants"]
