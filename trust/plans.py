"""A program answers the same whatever its plan: join orders, filters, counts, savings, strategies.

Random programs of one query, and some of several, run the same operations under every plan, each compared
with straightforward evaluation after every operation: both modes, all strategies, each saving left out alone,
and all legal join orders of each maintenance block, where no block has more of them than five clauses have;
where one has, orders by chance.
Metamorphic: the clauses of a query in another order, and Q = (Q and p) ∪ (Q and not p) ∪ (Q where p raises).
Plans often come to the same code, which runs once.
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
from incoq.compile import SAVINGS, STRATEGIES, Compiled
from incoq.invariants.define_invariants import Orders
from incoq.planning.find_covers import Order, Problem, legal_orders
from incoq.testing import oracle
from incoq.testing.driver import make_operations, make_program
from incoq.testing.execution import Execution, Failure, Refused, refuse, show, unhashable
from incoq.testing.random_operations import Op
from incoq.testing.random_programs import Program, only_updates
from incoq.testing.random_queries import QuerySpec
from trust.outcome import Outcome

FORMS = ("core", "lively", "all", "lively")  # programs take turns
CLAUSES = 5
OPERATIONS = 120
ORDERS = 120  # of one block: all those of five clauses
CHANCES = 8  # of a program that has more
FIRST = 700_000
WHOLE = 5  # of so many programs one has all its queries
PERMUTATIONS = 6
SPLITS = ("{x}.{f} == {y}", "{x}.{f} > 1", "{x} in {y}", "{x} < {y}", "not {x}.{f}", "{x}.{f} in {y}")


Ordered = tuple[str, Orders]  # join orders, and what they are called


class Planned(Execution):
    """A program under a plan of our choice."""

    def __init__(self, made: Program, mode: str, compiled: Compiled) -> None:
        self.compiled = compiled
        super().__init__(made, mode, "")

    def compile(self, text: str, mode: str, strategy: str) -> tuple[Any, str]:
        """The compiled program and its code."""
        return self.compiled, self.compiled.code


class OneByOne:
    """Gives each block its first legal order, then its second, and so on: `turn` says which."""

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self.most = 0  # orders of any block, as far as they are looked at

    def __call__(self, problem: Problem) -> Order | None:
        if not problem.clauses:
            return None
        found = list(itertools.islice(legal_orders(problem), ORDERS + 1))
        self.most = max(self.most, len(found))
        return found[self.turn % len(found)]


class ByChance:
    """Gives each block a legal order by chance."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def __call__(self, problem: Problem) -> Order | None:
        return next(legal_orders(problem, lambda left: self.rng.sample(left, len(left))))


def plans(made: Program) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every plan of a program but for join orders, by a name."""
    for strategy in STRATEGIES:
        yield f"filtered, {strategy}", {"mode": "filtered", "strategy": strategy}
    yield "incremental", {"mode": "incremental", "strategy": "tags"}
    for saving in SAVINGS:
        for mode in ("filtered", "incremental"):
            yield f"{mode} without {saving}", {"mode": mode, "strategy": "tags", "without": (saving,)}


def join_orders(made: Program, mode: str, strategy: str, rng: random.Random) -> tuple[bool, list[Ordered]]:
    """All join orders, a block's n-th in the n-th plan; some by chance where they are too many."""
    first = OneByOne(0)
    compile_source(made.text, mode=mode, strategy=strategy, orders=first)
    if first.most > ORDERS:
        told = f"{mode}, {strategy}, join order {{}} by chance"
        return False, [(told.format(n + 1), ByChance(random.Random(rng.random()))) for n in range(CHANCES)]
    told = f"{mode}, {strategy}, join order {{}} of {first.most}"
    return True, [(told.format(turn + 1), OneByOne(turn)) for turn in range(first.most)]


def chosen(number: int) -> Program:
    """The program of a seed with one of its queries of up to five clauses, or with all of them."""
    made = make_program(number, FORMS[number % len(FORMS)])
    queries = tuple(q for q in made.queries if len(q.clauses) <= CLAUSES)
    if queries and number % WHOLE:
        queries = (random.Random(number).choice(queries),)
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
            try:
                whole, yes, no = (self.live[n](*args) for n in (self.whole.name, "q_yes", "q_no"))
            except Exception as error:
                refuse(error)
                raise
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


class Alike(Exception):  # noqa: N818  # what was found, not what went wrong
    """A plan comes to code that has run."""


class Tally:
    """What was run, and what failed."""

    def __init__(self, until: float = math.inf) -> None:
        kinds = ("programs", "plan", "order", "ordered", "permutation", "split", "alike", "refused")
        self.counts: Counter[str] = Counter(dict.fromkeys(kinds, 0))
        self.failures: list[str] = []
        self.until, self.cut = until, False  # when to leave the rest of a program's plans
        self.codes: set[str] = set()  # of the plans of a program

    def attempt(self, kind: str, told: str, execution: Callable[[], Execution], sequence: list[Op]) -> None:
        """Run a program under a plan."""
        if time.perf_counter() > self.until:
            self.cut = True
            return
        try:
            execution().run(sequence)
        except Refused:
            self.counts["refused"] += 1
        except Alike:
            self.counts["alike"] += 1
        except Failure as failure:
            self.failures.append(f"{told}: {failure.kind}: {failure.message}")
        self.counts[kind] += 1

    def planned(
        self, kind: str, told: str, made: Program, sequence: list[Op], mode: str = "filtered", **options: Any
    ) -> None:
        """Compile a program by a plan, and run it unless the same code has run."""

        def execution() -> Execution:
            try:
                compiled = compile_source(made.text, "<program>", mode=mode, **options)
                code = compiled.code
            except Exception as error:
                refuse(error)
                raise Failure("compiler crash", f"{type(error).__name__}: {error}") from error
            if code in self.codes:
                raise Alike
            self.codes.add(code)
            return Planned(made, mode, compiled)

        self.attempt(kind, told, execution, sequence)


def run(budget_seconds: float, seed: int) -> Outcome:
    """Programs until the time is over, one at least."""
    tally = Tally(time.perf_counter() + budget_seconds)
    number = seed or FIRST
    while not (tally.cut or time.perf_counter() > tally.until or len(tally.failures) >= 5):
        try_all(number, tally)
        number += 1
    figure = (
        "{programs:,} programs: {plan:,} plans, {order:,} join orders (all that {ordered:,} of them have,"
        " some that the others have), {permutation:,} permutations, {split:,} splits; {alike:,} gave code"
        " that had run;"
        f" {len(tally.failures)} differ"
    )
    details = (f"{tally.counts['refused']} refused", "the last not to the end" if tally.cut else "")
    return Outcome(
        "plans", figure, "0 differences", tuple(tally.failures), details,
        counts=tally.counts, next_seed=number,
    )  # fmt: skip


def try_all(number: int, tally: Tally) -> None:
    """All plans of the program of a seed, unless the compiler refuses it."""
    made = chosen(number)
    if not made.queries:
        return
    sequence = make_operations(made, OPERATIONS)
    try:
        Execution(made, "filtered", "tags")
    except Refused:
        return
    rng = random.Random(number)
    tally.codes.clear()
    for told, options in plans(made):
        tally.planned("plan", f"seed {number}, {told}", made, sequence, **options)
    ordered = True  # by all its join orders
    for mode, strategy in (("filtered", "tags"), ("incremental", "tags"), ("filtered", "first-clause")):
        try:
            all_of_them, orders = join_orders(made, mode, strategy, rng)
        except Exception as error:
            refuse_or_raise(error)
            continue
        ordered &= all_of_them
        for told, order in orders:
            options = {"mode": mode, "strategy": strategy, "orders": order}
            tally.planned("order", f"seed {number}, {told}", made, sequence, **options)
    for _ in range(PERMUTATIONS):
        other = permuted(made, rng)
        tally.planned("permutation", f"seed {number}: {other.text}", other, sequence, strategy="tags")
    parts = split(made, rng)
    if parts is not None:
        smaller, whole, condition = parts
        told = f"seed {number}, split by {condition}"
        tally.attempt(
            "split",
            told,
            lambda: Split(smaller, "filtered", "tags", whole, condition),
            make_operations(smaller, OPERATIONS),
        )
    tally.counts["programs"] += not tally.cut
    tally.counts["ordered"] += ordered and not tally.cut


def refuse_or_raise(error: Exception) -> None:
    """Pass over a refusal of the compiler."""
    try:
        refuse(error)
    except Refused:
        return
    raise error
