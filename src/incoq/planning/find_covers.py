"""Find the order in which a maintenance block visits the other clauses (paper, section 5.1).

Before:    update (user, user_loc) in field_loc
After:     1. (user, user_email) in field_email           1
           2. (group, user) in member                     #inv_member{user}
           3. (celeb, group) in demand                    #demand.1{2=group}
           4. (celeb, celeb_followers) in field_followers 1
           5. (celeb_followers, user) in member           1
Invariant: every clause is covered, each by an access whose source columns were bound before it.

The O(1) edges are taken first; among the others the search branches over those connected with what is
bound. All covers are looked at while there are few; beyond that, the search keeps only what can still
beat the best cover found, within a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from incoq.ir.covers import Access, Cost, Cover, Covers, Factor, Size, Step
from incoq.ir.objects import Fact
from incoq.ir.relational import Clause, Kind

EXHAUSTIVE_NODES = 60
BUDGET_NODES = 600
SHOWN = 24


@dataclass(frozen=True)
class Problem:
    """One update: the clauses to cover, what the update binds, declared facts, how relations are named."""

    clauses: tuple[Clause, ...]
    bound: frozenset[str]
    skip: frozenset[int]
    facts: tuple[Fact, ...] = ()
    selectors: tuple[tuple[str, str], ...] = ()
    filtered: bool = False
    indexed: bool = True  # auxiliary values are maintained without indices of their own
    fixed: frozenset[str] = frozenset()  # global sets that never are others
    nested: bool = False  # part of another query, which demands as much as its own sets hold
    demanded: frozenset[str] = frozenset()  # variables of demand, and what fields give of them
    fields: frozenset[tuple[str, str]] = frozenset()  # (o, x) where some field of o is x


Order = tuple[int, ...]


def find_covers(problem: Problem, order: Order | None = None) -> Covers:
    """Search for the cheapest cover, or take the one that visits the clauses in a given order."""
    search = _Search(problem)
    if order is not None:
        cover = search.follow(order)
        return Covers(cover, (cover,), False)
    search.run()
    assert search.found, "a well-formed query has a cover: demand first, then forward"
    ordered = sorted(
        search.found,
        key=lambda c: (c.rank, _nested(problem, c), _scans(problem, c), _late_tests(c), -_columns_known(c)),
    )
    return Covers(ordered[0], tuple(ordered[:SHOWN]), search.cut)


def legal_orders(problem: Problem, arrange: Callable[[Order], Iterable[int]] = tuple) -> Iterator[Order]:
    """All orders in which the clauses can be visited, each by an access whose source columns are bound.

    At each place clauses are tried as `arrange` has them; what can be visited still can be after others were.
    """
    search = _Search(problem)

    def grow(order: Order, remaining: tuple[int, ...], bound: frozenset[str]) -> Iterator[Order]:
        if not remaining:
            yield order
        for index in arrange(remaining):
            if search.access(index, bound) is not None:
                rest = tuple(i for i in remaining if i != index)
                yield from grow((*order, index), rest, bound | set(problem.clauses[index].args))

    yield from grow((), search.clauses(), problem.bound)


def _columns_known(cover: Cover) -> int:
    """Of covers that cost alike: how many columns are known where it goes through several tuples. The more
    of them, the fewer tuples."""
    return sum(len(step.key) for step in cover.steps if step.factor is not None)


def _late_tests(cover: Cover) -> int:
    """Of covers that cost alike: how many loops are around its tests, which leave inner ones out."""
    loops = late = 0
    for step in cover.steps:
        loops += step.factor is not None
        late += loops if step.access is Access.TEST else 0
    return late


def _nested(problem: Problem, cover: Cover) -> int:
    """Of covers that cost alike: how many indices of nested answers, which change with them, it needs."""
    nested = (Kind.VALUE, Kind.ANSWER)
    return sum(
        s.access is Access.LOOKUP and problem.clauses[s.clause].relation.kind in nested for s in cover.steps
    )


def _scans(problem: Problem, cover: Cover) -> int:
    """Of covers that cost alike: how often it goes through the whole of a relation that a fixed set is."""
    return sum(
        s.access is Access.SCAN and problem.clauses[s.clause].args[0] in problem.fixed
        for s in cover.steps
        if problem.clauses[s.clause].args
    )


class _Search:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.found: list[Cover] = []
        self.best: tuple[int, int, int, int] | None = None
        self.nodes = 0
        self.cut = False
        self.seen: dict[frozenset[int], tuple[int, int, int, int]] = {}
        self.known: dict[tuple[int, tuple[int, ...]], Step | None] = {}
        self.users: dict[str, set[int]] = {}  # the clauses in which a variable occurs
        for index, clause in enumerate(problem.clauses):
            for variable in clause.args:
                self.users.setdefault(variable, set()).add(index)

    def clauses(self) -> tuple[int, ...]:
        """What is to be covered."""
        return tuple(i for i in range(len(self.problem.clauses)) if i not in self.problem.skip)

    def follow(self, order: Order) -> Cover:
        """The cover that visits the clauses in that order, which is legal."""
        assert sorted(order) == list(self.clauses()), order
        bound, cover = set(self.problem.bound), Cover((), Cost())
        for index in order:
            step = self.access(index, bound)
            assert step is not None, (order, index)
            cover = _extend(cover, step)
            self._bind(index, bound)
        return cover

    def run(self) -> None:
        remaining = self.clauses()
        self._grow(remaining, set(self.problem.bound), Cover((), Cost()), set(remaining))

    def _grow(self, remaining: tuple[int, ...], bound: set[str], cover: Cover, fresh: set[int]) -> None:
        """Complete a cover in all ways; `fresh` are the clauses of which a variable has just been bound."""
        remaining, cover = self._take_constant_edges(remaining, bound, cover, fresh)
        if not remaining:
            if self.best is None or cover.rank < self.best:
                self.best = cover.rank
            self.found.append(cover)
            return
        self.nodes += 1
        key = frozenset(remaining)
        if self.nodes > EXHAUSTIVE_NODES and self.best is not None:
            before = self.seen.get(key)
            if cover.rank[:3] > self.best[:3] or (before is not None and before <= cover.rank):
                return
            if self.nodes > BUDGET_NODES:
                self.cut = True
                return
        self.seen[key] = min(self.seen.get(key, cover.rank), cover.rank)
        for step in self._candidates(remaining, bound):
            after = set(bound)
            rest = tuple(i for i in remaining if i != step.clause)
            self._grow(rest, after, _extend(cover, step), self._bind(step.clause, after))

    def _bind(self, index: int, bound: set[str]) -> set[int]:
        """Bind the variables of a clause; return the clauses that this may make cheaper to visit."""
        touched: set[int] = set()
        for variable in self.problem.clauses[index].args:
            if variable not in bound:
                bound.add(variable)
                touched |= self.users[variable]
        return touched

    def _take_constant_edges(
        self, remaining: tuple[int, ...], bound: set[str], cover: Cover, fresh: set[int]
    ) -> tuple[tuple[int, ...], Cover]:
        fresh = fresh.intersection(remaining)
        while fresh:
            left = []
            for index in remaining:
                if index in fresh:
                    fresh.discard(index)
                    step = self.access(index, bound)
                    if step is not None and step.factor is None:
                        fresh |= self._bind(index, bound)
                        cover = _extend(cover, step)
                        continue
                left.append(index)
            remaining = tuple(left)
            fresh.intersection_update(remaining)
        return remaining, cover

    def _candidates(self, remaining: Sequence[int], bound: Collection[str]) -> Iterator[Step]:
        steps = [s for i in remaining if (s := self.access(i, bound)) is not None]
        connected = [s for s in steps if s.key]
        chosen = connected or steps
        yield from sorted(chosen, key=lambda s: (s.factor.size if s.factor else Size.ONE, s.clause))

    def access(self, index: int, bound: Collection[str]) -> Step | None:
        """The cheapest way to visit a clause now."""
        args = self.problem.clauses[index].args
        key = tuple([i for i, v in enumerate(args) if v in bound])
        if (index, key) not in self.known:
            self.known[index, key] = self._access_by(index, key)
        return self.known[index, key]

    def _access_by(self, index: int, key: tuple[int, ...]) -> Step | None:
        """The paper's four cost cases."""
        clause = self.problem.clauses[index]
        bound = {clause.args[i] for i in key}
        new = tuple(i for i, v in enumerate(clause.args) if v not in bound)
        if clause.watch and clause.relation.kind not in (Kind.FIELD, Kind.ITEM):
            return Step(index, Access.NOTHING, key, ()) if not new else None
        if clause.relation.kind is Kind.JOIN:
            return Step(index, Access.LOOKUP, key, new, self._join_factor(index, key, new) if new else None)
        if not new:
            return Step(index, Access.TEST, key, new)
        match clause.relation.kind:
            case Kind.FIELD:
                if 0 in key:
                    return Step(index, Access.FORWARD, key, new)
                if not key or not self.problem.indexed:
                    return None
                return Step(index, Access.LOOKUP, key, new, self._factor(index, key, new, Size.MEDIUM))
            case Kind.ITEM:
                if 0 in key and new == (len(clause.args) - 1,):
                    return Step(index, Access.FORWARD, key, new)
                if clause.watch and len(clause.args) - 1 in new:
                    return None  # there need not be an entry
                if 0 in key and (key == (0,) or not self.problem.indexed):
                    return Step(index, Access.SCAN, key, new, self._factor(index, key, new, Size.LARGE))
                if not key or not self.problem.indexed:
                    return None
                return Step(index, Access.LOOKUP, key, new, self._factor(index, key, new, Size.MEDIUM))
            case Kind.MEMBER:
                if key == (0,) or (0 in key and not self.problem.indexed):
                    return Step(index, Access.SCAN, key, new, self._factor(index, key, new, Size.LARGE))
                if not key or not self.problem.indexed:
                    return None
                return Step(index, Access.LOOKUP, key, new, self._factor(index, key, new, Size.LARGE))
            case Kind.VALUE | Kind.ANSWER:
                given = tuple(range(clause.given))
                if set(given) <= set(key) and clause.relation.kind is Kind.VALUE:
                    return Step(index, Access.FORWARD, key, new)
                if key == given:
                    return Step(index, Access.SCAN, key, new, self._factor(index, key, new, Size.LARGE))
                if not key or not self.problem.indexed:
                    return None
                return Step(index, Access.LOOKUP, key, new, self._factor(index, key, new, Size.LARGE))
        assert clause.relation.kind is Kind.DEMAND, f"{clause} is only asked about what is known"
        access = Access.LOOKUP if key else Access.SCAN
        size = Size.LARGE if self.problem.nested else Size.SMALL
        return Step(index, access, key, new, self._factor(index, key, new, size))

    def _join_factor(self, index: int, key: tuple[int, ...], new: tuple[int, ...]) -> Factor:
        """What is joined to a value: one combination where fields of it tell the rest, few where demand
        does, some more where a field has that value, but many where other sets are joined too."""
        clause, problem = self.problem.clauses[index], self.problem
        text = f"#{clause.relation.name}{{{_values(clause, key)}}}"
        known = {clause.args[i] for i in key}
        told = set(known)
        for _ in problem.fields:
            told |= {target for source, target in problem.fields if source in told}
        if {clause.args[i] for i in new} <= told:
            return Factor(text, Size.ONE)  # fields tell all of it
        others = {clause.args[i] for i in new} - problem.demanded
        if not others:
            return Factor(text, Size.SMALL)
        by_field = {source for source, target in problem.fields if target in known}
        by_field |= {target for source, target in problem.fields if source in known | by_field}
        return Factor(text, Size.MEDIUM if others <= by_field else Size.LARGE)

    def _factor(self, index: int, key: tuple[int, ...], new: tuple[int, ...], size: Size) -> Factor:
        clause = self.problem.clauses[index]
        text = "#" + image_text(self.problem, index, key, new)
        bound = {clause.args[i] for i in key}
        for fact in self.problem.facts:
            per = next((v for text_, v in self.problem.selectors if text_ == fact.per), fact.per)
            if per in bound and {clause.args[i] for i in new} == {fact.variable}:
                return Factor(text, Size.ONE)
        return Factor(text, size)


def occurrence(clauses: Sequence[Clause], index: int) -> str:
    """`_2` for the second occurrence of a relation that occurs more than once (joined ones only)."""
    same = [i for i, c in enumerate(clauses) if c.relation == clauses[index].relation and not c.watch]
    if clauses[index].watch:
        watched = [i for i, c in enumerate(clauses) if c.relation == clauses[index].relation and c.watch]
        return f"_w{watched.index(index) + 1}"
    return f"_{same.index(index) + 1}" if len(same) > 1 else ""


def image_text(problem: Problem, index: int, key: tuple[int, ...], new: tuple[int, ...]) -> str:
    """How the paper writes the image set that a step retrieves."""
    clause = problem.clauses[index]
    relation = clause.relation.name
    if clause.relation.kind is Kind.DEMAND:
        relation = "demand"
        if not key:
            return relation
        source, target = _columns(key), _columns(new)
        return f"{relation}.{target}{{{source}={_values(clause, key)}}}"
    if clause.relation.kind in (Kind.VALUE, Kind.ANSWER):
        if key == tuple(range(clause.given)):
            return f"{relation}{{{_values(clause, key)}}}"
        return f"{relation}.{_columns(new)}{{{_columns(key)}={_values(clause, key)}}}"
    if key == (0,) or not problem.indexed:
        return f"{relation}{{{clause.args[0]}}}"
    prefix = "fil_" if problem.filtered else ""
    suffix = occurrence(problem.clauses, index) if problem.filtered else ""
    if len(clause.args) == 2 and clause.pattern is None:
        short = relation.removeprefix("field_")
        return f"{prefix}inv_{short}{suffix}{{{clause.args[1]}}}"
    return f"{prefix}{relation}{suffix}.{_columns(new)}{{{_columns(key)}={_values(clause, key)}}}"


def _columns(positions: tuple[int, ...]) -> str:
    shown = ",".join(str(p + 1) for p in positions)
    return shown if len(positions) == 1 else f"({shown})"


def _values(clause: Clause, positions: tuple[int, ...]) -> str:
    shown = ",".join(clause.args[p] for p in positions)
    return shown if len(positions) == 1 else f"({shown})"


def _extend(cover: Cover, step: Step) -> Cover:
    used = cover.facts_used + (step.factor is not None and step.factor.size is Size.ONE)
    cost = cover.cost.times(step.factor) if step.factor is not None else cover.cost
    return Cover((*cover.steps, step), cost, used)
