"""A program answers the same whatever its plan: join orders, filters, counts, savings, strategies.

Random programs run the same operations under every plan, each compared with straightforward evaluation after
every operation: all legal join orders of each maintenance block, both modes, all strategies, each saving left
out singly. Metamorphic: the clauses of a query in another order, and Q = (Q and p) ∪ (Q and not p) ∪ (Q where
p raises).
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from incoq import compile_source
from incoq.compile import SAVINGS, STRATEGIES
from incoq.invariants.define_invariants import Orders
from incoq.planning.find_covers import Order, Problem, legal_orders
from incoq.testing import oracle
from incoq.testing.execution import Execution, Failure, Refused, show, unhashable
from incoq.testing.random_operations import Op, operations
from incoq.testing.random_programs import Program, only_updates, program
from incoq.testing.random_queries import QuerySpec
from trust.outcome import Outcome

CLAUSES = 5
OPERATIONS = 60
ORDERS = 120  # of one block: all those of five clauses
PERMUTATIONS = 6
SPLITS = ("{x}.{f} == {y}", "{x}.{f} > 1", "{x} in {y}", "{x} < {y}", "not {x}.{f}", "{x}.{f} in {y}")


class Planned(Execution):
    """A program under a plan of our choice."""

    def __init__(self, made: Program, mode: str, strategy: str, **options: Any) -> None:
        self.options = options
        super().__init__(made, mode, strategy)

    def compile(self, text: str, mode: str, strategy: str) -> tuple[Any, str]:
        """The compiled program and its code."""
        compiled = compile_source(text, "<program>", mode=mode, strategy=strategy, **self.options)
        return compiled, compiled.code


class OneByOne:
    """Gives each block its first legal order, then its second, and so on: `turn` says which."""

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self.most = 0

    def __call__(self, problem: Problem) -> Order | None:
        if not problem.clauses:
            return None
        found = list(itertools.islice(legal_orders(problem), ORDERS))
        self.most = max(self.most, len(found))
        return found[self.turn % len(found)]


def plans(made: Program) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every plan of a program but for join orders, by a name."""
    for strategy in STRATEGIES:
        yield f"filtered, {strategy}", {"mode": "filtered", "strategy": strategy}
    yield "incremental", {"mode": "incremental", "strategy": "tags"}
    for saving in SAVINGS:
        for mode in ("filtered", "incremental"):
            yield f"{mode} without {saving}", {"mode": mode, "strategy": "tags", "without": (saving,)}


def join_orders(made: Program, mode: str, strategy: str) -> Iterator[tuple[str, Orders]]:
    """All join orders, a block's n-th in the n-th plan."""
    first = OneByOne(0)
    compile_source(made.text, mode=mode, strategy=strategy, orders=first)
    for turn in range(first.most):
        yield f"{mode}, {strategy}, join order {turn + 1} of {first.most}", OneByOne(turn)


def small(made: Program) -> Program:
    """The program with its queries of up to five clauses, and all that updates the world."""
    queries = tuple(q for q in made.queries if len(q.clauses) <= CLAUSES)
    used = {u.name for u in made.updates if not u.use or u.use in {q.name for q in queries}}
    return only_updates(replace(made, queries=queries), used)


def permuted(made: Program, rng: random.Random) -> Program:
    """The same program with the clauses of its queries in another order."""
    return replace(
        made,
        queries=tuple(replace(q, clauses=tuple(rng.sample(q.clauses, len(q.clauses)))) for q in made.queries),
    )


class Split(Execution):
    """Q beside (Q and p) and (Q and not p), for a p that may raise."""

    def __init__(self, made: Program, mode: str, strategy: str, whole: QuerySpec, condition: str) -> None:
        super().__init__(made, mode, strategy)
        self.whole = whole
        raising = replace(whole, name="raising", clauses=(*whole.clauses, f"if raises(lambda: {condition})"))
        helpers = {k: self.plain[k] for k in ("odd", "number", "pair")}
        scope = {**self.live, **helpers, "raises": raises}
        self.raising = oracle.build(raising.text, scope)["raising"]

    def compare(self) -> None:
        """The union of the parts is the whole."""
        super().compare()
        asked = self.asked[self.whole.name]
        for args in list(asked.combinations):
            if unhashable(args):
                continue
            whole, yes, no = (self.live[n](*args) for n in (self.whole.name, "q_yes", "q_no"))
            rest = set(self.raising.bag(*args))
            if whole != yes | no | rest:
                parts = f"{show(yes)} ∪ {show(no)} ∪ {show(rest)}"
                raise Failure("split", f"{self.whole.name}{show(args)} is {show(whole)}, not {parts}")


def raises(condition: Callable[[], Any]) -> bool:
    """Does a condition raise?"""
    try:
        bool(condition())
    except Exception:
        return True
    return False


def split(made: Program, rng: random.Random) -> tuple[Program, QuerySpec, str] | None:
    """A program with the parts of one of its queries."""
    candidates = [q for q in made.queries if q.wrap == "{%s}" and not (q.demand or q.keep or q.method)]
    if not candidates:
        return None
    whole = rng.choice(candidates)
    bound = [c.split()[1] for c in whole.clauses if c.startswith("for ") and c.split()[1].isidentifier()]
    if not bound:
        return None
    x, y = rng.choice(bound), rng.choice([*bound, *whole.params])
    condition = rng.choice(SPLITS).format(x=x, y=y, f=rng.choice(made.fields))
    parts = (
        replace(whole, name="q_yes", clauses=(*whole.clauses, f"if ({condition})")),
        replace(whole, name="q_no", clauses=(*whole.clauses, f"if not ({condition})")),
    )
    queries = (whole, *parts)
    used = {u.name for u in made.updates if not u.use or u.use == whole.name}
    return only_updates(replace(made, queries=queries), used), whole, condition


class Tally:
    """What was run, and what failed."""

    def __init__(self, until: float = math.inf) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.until, self.cut = until, False  # when to leave the rest of a program's plans

    def attempt(self, kind: str, told: str, execution: Callable[[], Execution], sequence: list[Op]) -> None:
        """Run a program under a plan."""
        if time.perf_counter() > self.until:
            self.cut = True
            return
        try:
            execution().run(sequence)
        except Refused:
            self.counts["refused"] += 1
        except Failure as failure:
            self.failures.append(f"{told}: {failure.kind}: {failure.message}")
        self.counts[kind] += 1


def run(budget_seconds: float, seed: int) -> Outcome:
    """Programs until the time is over, one at least."""
    start = time.perf_counter()
    tally = Tally(start + budget_seconds)
    programs = 0
    for number in itertools.count(700_000 + 1_000 * seed):
        if tally.cut or time.perf_counter() > tally.until or len(tally.failures) >= 5:
            break
        programs += try_all(number, tally)
    counts = tally.counts
    figure = (
        f"{programs} programs{', the last not to the end' if tally.cut else ''}: {counts['plan']:,} plans,"
        f" {counts['order']:,} join orders,"
        f" {counts['permutation']:,} permutations, {counts['split']:,} splits; {len(tally.failures)} differ"
    )
    return Outcome("plans", figure, "0 differences", tuple(tally.failures), (f"{counts['refused']} refused",))


def try_all(number: int, tally: Tally, orders: int = ORDERS) -> bool:
    """All plans of one program; false where the compiler refuses it."""
    made = small(program(number, ("core", "all")[number % 2]))
    if not made.queries:
        return False
    sequence = operations(made, OPERATIONS)
    try:
        Execution(made, "filtered", "tags")
    except Refused:
        return False
    rng = random.Random(number)

    def planned(chosen: Program, options: dict[str, Any]) -> Callable[[], Execution]:
        return lambda: Planned(chosen, **options)

    for told, options in plans(made):
        tally.attempt("plan", f"seed {number}, {told}", planned(made, options), sequence)
    for mode, strategy in (("filtered", "tags"), ("incremental", "tags"), ("filtered", "first-clause")):
        try:
            chosen = list(join_orders(made, mode, strategy))
        except Exception as error:
            if not getattr(error, "code", ""):
                raise
            continue
        for told, choice in chosen[:: max(1, math.ceil(len(chosen) / orders))]:
            options = {"mode": mode, "strategy": strategy, "orders": choice}
            tally.attempt("order", f"seed {number}, {told}", planned(made, options), sequence)
    for _ in range(PERMUTATIONS):
        other = permuted(made, rng)
        options = {"mode": "filtered", "strategy": "tags"}
        tally.attempt("permutation", f"seed {number}: {other.text}", planned(other, options), sequence)
    parts = split(made, rng)
    if parts is not None:
        smaller, whole, condition = parts
        told = f"seed {number}, split by {condition}"
        tally.attempt(
            "split",
            told,
            lambda: Split(smaller, "filtered", "tags", whole, condition),
            operations(smaller, 60),
        )
    return True
