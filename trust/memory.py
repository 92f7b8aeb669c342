"""Demand that comes and goes leaves nothing behind, and what the program drops is freed.

Each round demands a combination over new objects, updates them, and releases it. After as many rounds as
there is time for, the structures are empty, the memory in use is what it was, and every object that was
watched is gone. Rounds with an exception in them are counted too. In a share of the time bytes are traced;
in the rest, where rounds are four times as fast, the blocks of memory are counted, of which every object has
one.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time
import tracemalloc
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from incoq import compile_source
from incoq.compile import Compiled
from trust.outcome import Outcome

LIMIT = 1.0  # bytes a round: what a leak of any object would exceed a hundred times
BLOCKS = 0.01  # a round: a leak of any object would have one
TRACED = 0.2  # of the time
BATCH, WATCHED = 2_000, 50

PROGRAM = """
from incoq import Set, lru, query

class User:
    def __init__(self, email, loc, age):
        self.email, self.loc, self.age = email, loc, age
        self.followers = Set()
        self.friends = []

@query{keep}
def fans(celeb, group):
    return {{u.email for u in celeb.followers if u in group if u.loc == "NYC"}}

@query{keep}
def oldest(group):
    return max((u.age for u in group if any(f.loc == u.loc for f in u.followers)), default=0)

@query{keep}
def counted(group):
    return sum(f.age for u in group for f in u.friends)

@query{keep}
def priced(m, limit):
    return {{k for k, v in m.items() if v > limit}}

def world(n):
    ann, bob = User("ann", "NYC", n), User("bob", "Oslo", 1.5)
    ann.followers.update((ann, bob))
    ann.friends.append(bob)
    return ann, bob, Set((ann, bob)), {{ann: 1, bob: 2}}

def update(ann, bob, group, m):
    bob.loc = "NYC"
    ann.friends.append(ann)
    group.discard(ann)
    group.add(ann)
    m[ann] = 7
    del m[bob]
    del ann.age
    ann.age = 3
    bob.followers = ann.followers

def ask(ann, bob, group, m):
    return fans(ann, group), oldest(group), counted(group), priced(m, 1)
"""

EXPLICIT = """
def demand(ann, bob, group, m):
    fans.demand(ann, group); oldest.demand(group); counted.demand(group); priced.demand(m, 1)

def release(ann, bob, group, m):
    fans.release(ann, group); oldest.release(group); counted.release(group); priced.release(m, 1)
"""


@dataclass(frozen=True)
class Case:
    """A policy and what a round of it does."""

    name: str
    keep: str
    round: Callable[[dict[str, Any], Any], None]
    mode: str = "filtered"
    strategy: str = "tags"


def explicit(namespace: dict[str, Any], things: Any) -> None:
    """Demand, update, ask, release."""
    namespace["demand"](*things)
    namespace["update"](*things)
    namespace["ask"](*things)
    namespace["release"](*things)


def asked(namespace: dict[str, Any], things: Any) -> None:
    """Ask and release: each question is a demand of its own."""
    namespace["ask"](*things)
    namespace["update"](*things)
    namespace["release"](*things)


def evicted(namespace: dict[str, Any], things: Any) -> None:
    """Ask; what was asked before goes."""
    namespace["ask"](*things)
    namespace["update"](*things)


def interrupted(namespace: dict[str, Any], things: Any) -> None:
    """An exception ends an update half-way."""
    namespace["ask"](*things)
    bad = Unhashable()
    bad.armed = True
    with contextlib.suppress(Interrupted):
        things[2].add(bad)
    namespace["ask"](*things)
    namespace["release"](*things)


class Interrupted(Exception):  # noqa: N818  # what is put in
    """Raised in the midst of an update."""


class Unhashable:
    """An element whose hash raises once, after it entered the set, while that is maintained."""

    armed = False
    loc, age, email, followers = "NYC", 4, "bad", ()
    friends: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.asked = 0

    def __hash__(self) -> int:
        self.asked += 1
        if self.armed and self.asked == 4:
            raise Interrupted
        return 7

    def __eq__(self, other: object) -> bool:
        return self is other


CASES = (
    Case("explicit", '(keep="explicit")', explicit),
    Case("asked and released", "", asked),
    Case("asked and released, joins", "", asked, strategy="auto"),
    Case("asked and released, first clause", "", asked, strategy="first-clause"),
    Case("lru", "(keep=lru(3))", evicted),
    Case("interrupted", "", interrupted),
)


def run(budget_seconds: float, seed: int) -> Outcome:
    """All cases, each for its share of the time."""
    failures: list[str] = []
    counts: Counter[str] = Counter()
    most = {"bytes": 0.0, "blocks": 0.0}
    for case in CASES:
        found = measure(case, budget_seconds / len(CASES))
        counts.update(rounds=found.rounds, traced=found.traced)
        most = {"bytes": max(most["bytes"], found.bytes), "blocks": max(most["blocks"], found.blocks)}
        failures += [f"{case.name}: {fault}" for fault in found.faults]
    figure = (
        "{rounds:,} rounds of demand and release, {traced:,} of them traced; at most {bytes:.3f} bytes and"
        " {blocks:.5f} blocks a round"
    )
    limit = f"{LIMIT} byte and {BLOCKS} blocks a round, nothing kept alive"
    return Outcome("memory", figure, limit, tuple(failures), counts=counts, most=most)


@dataclass(frozen=True)
class Measured:
    """Rounds done and what they left behind, a round."""

    rounds: int
    traced: int
    bytes: float
    blocks: float
    faults: list[str]


def measure(case: Case, seconds: float, batch: int = BATCH) -> Measured:
    """Rounds of a case until the time is over, two batches at least."""
    compiled = compile_source(
        PROGRAM.format(keep=case.keep) + EXPLICIT, mode=case.mode, strategy=case.strategy
    )
    namespace: dict[str, Any] = {"__name__": "compiled"}
    exec(compile(compiled.code, "<compiled>", "exec"), namespace)
    faults = [] if case.name == "lru" else freed(case, compiled, namespace)

    def rounds(count: int) -> None:
        for n in range(count):
            case.round(namespace, namespace["world"](n % 7))
        gc.collect()

    def grown(used: Callable[[], int], until: float) -> tuple[int, float]:
        """Rounds until some time, and by how much what is used grew in each."""
        rounds(batch)  # what the interpreter itself keeps is taken now
        before, done = used(), 0
        while done < batch or time.perf_counter() < until:
            rounds(batch)
            done += batch
        return done, (used() - before) / done

    start = time.perf_counter()
    tracemalloc.start()
    traced, size = grown(lambda: tracemalloc.get_traced_memory()[0], start + TRACED * seconds)
    tracemalloc.stop()
    counted, blocks = grown(sys.getallocatedblocks, start + seconds)
    if size > LIMIT:
        faults.append(f"{size:.1f} bytes a round over {traced:,} rounds")
    if blocks > BLOCKS:
        faults.append(f"{blocks:.3f} blocks a round over {counted:,} rounds")
    space = compiled.extra_space(namespace)
    if space and case.name != "lru":
        faults.append(f"{space} elements are left in the structures")
    return Measured(traced + counted, traced, size, blocks, faults)


def freed(case: Case, compiled: Compiled, namespace: dict[str, Any]) -> list[str]:
    """What the program drops is freed: at once where there is no cycle, or by the collector."""
    watched: list[weakref.ref[Any]] = []
    for n in range(WATCHED):
        things = namespace["world"](n)
        case.round(namespace, things)
        watched += [weakref.ref(thing) for thing in things[:3]]
        del things
    gc.collect()
    alive = sum(reference() is not None for reference in watched)
    return [f"{alive} of {len(watched)} objects that the program dropped are alive"] if alive else []
