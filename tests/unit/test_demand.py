"""Control of demand: which combinations are kept, that asking again is right, and that nothing is left over.

Set INCOQ_DEMANDS=100000 for the full size of the memory tests.
"""

from __future__ import annotations

import gc
import os
import random
import tracemalloc
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest
from both_ways import load, same_both_ways

import incoq
from incoq.ir.invariants import Store

DEMANDS = int(os.environ.get("INCOQ_DEMANDS", "5000"))
ROUNDS = 20
KEPT = 16
SLACK = 16_384  # bytes: caches and free lists of the interpreter, whatever the number of demands

LRU = f"""
from incoq import Set, lru, query

class User:
    def __init__(self, n):
        self.n = n

@query(keep=lru({KEPT}))
def above(s, limit):
    return {{u.n for u in s if u.n > limit}}

def ask(s, limit):
    return above(s, limit)

def size(s, limit):
    return len(above(s, limit))

def demand(s, limit):
    above.demand(s, limit)

def release(s, limit):
    above.release(s, limit)

def demanded():
    return above.demanded

def make():
    users = [User(i) for i in range(6)]
    return users, [Set(users[:i]) for i in range(6)]

def add(s, u):
    s.add(u)

def discard(s, u):
    s.discard(u)

def move(u, n):
    u.n = n
"""


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_lru_evicts_the_least_recently_asked(mode: str) -> None:
    """A million random operations in each mode, against an ordered dict."""
    space = load(incoq.compile_source(LRU, mode=mode).code)
    users, sets = space["make"]()
    demanded, size, release, demand = (space[f] for f in ("demanded", "size", "release", "demand"))
    live = demanded()
    model: OrderedDict[tuple[Any, int], None] = OrderedDict()
    rng = random.Random(11)
    rand = rng.random
    combinations = [(s, limit) for s in sets for limit in range(6)]
    for step in range(1_000_000):
        combination = combinations[int(rand() * 36)]
        kind = rand()
        if kind < 0.90:
            if kind < 0.85:
                size(*combination)
            else:
                demand(*combination)
            model[combination] = None
            model.move_to_end(combination)
            if len(model) > KEPT:
                model.popitem(last=False)
        elif kind < 0.95:
            release(*combination)
            model.pop(combination, None)
        elif kind < 0.97:
            space["move"](users[int(rand() * 6)], int(rand() * 6))
        else:
            space["add" if kind < 0.985 else "discard"](sets[int(rand() * 6)], users[int(rand() * 6)])
        assert len(live) == len(model)
        if step % 64 == 0:
            assert set(live) == set(model)
            s, limit = combination
            if combination in model:
                model.move_to_end(combination)
                assert space["ask"](s, limit) == {u.n for u in s if u.n > limit}
    assert set(live) == set(model)


def test_lru_of_a_nested_query_and_of_an_aggregate() -> None:
    same_both_ways(
        """
        class Node:
            def __init__(self, n):
                self.n, self.next = n, Set()

        @query(keep=lru(2))
        def busy(s, limit):
            return {x.n for x in s if len({y for y in x.next if y.n > limit}) > 0}

        @query(keep=lru(1))
        def total(s):
            return sum(x.n for x in s)

        def main(show):
            nodes = [Node(i) for i in range(5)]
            s, t = Set(nodes), Set(nodes[:2])
            for x in nodes:
                x.next.update(nodes[: x.n])
            for step in range(30):
                show(busy((s, t)[step % 2], step % 3), total((t, s)[step % 2]))
                show(len(busy.demanded), len(total.demanded))
                nodes[step % 5].n += step % 4 - 1
                if step % 3:
                    t.add(nodes[step % 5])
                    nodes[step % 5].next.discard(nodes[step % 2])
        """
    )


def test_lru_where_nothing_is_ever_removed_from_a_set() -> None:
    same_both_ways(
        """
        @query(keep=lru(2))
        def ends(edges, start):
            return {c for (a, b) in edges if a == start for (b2, c) in edges if b == b2}

        def main(show):
            edges = Set()
            for i in range(40):
                edges.add((i % 4, i % 5))
                edges.add((i % 3, i % 7))
                show(ends(edges, i % 4), len(ends.demanded))
        """
    )


def test_explicit_demand_and_release() -> None:
    shown = same_both_ways(
        """
        @query(keep="explicit")
        def above(s, limit):
            return {x for x in s if x > limit}

        def main(show):
            s = Set({1, 5})
            show(above(s, 3), len(above.demanded))
            above.demand(s, 3)
            above.demand(s, 3)
            s.add(7)
            show(above(s, 3), len(above.demanded), (s, 3) in above.demanded, (s, 4) in above.demanded)
            mine = above(s, 3)
            above.release(s, 3)
            s.add(8)
            show(mine, len(above.demanded), list(above.demanded))
            show(above(s, 3), len(above.demanded))
            above.release(s, 3)
            above.release(s, 99)
            above.demand(s, 3)
            s.discard(5)
            show(above(s, 3), len(above.demanded))
        """
    )
    counts = [row[1] for row in shown if len(row) == 2]
    assert counts == [("int", "0"), ("int", "0"), ("int", "1")]


def test_explicit_demand_of_some_parameters() -> None:
    same_both_ways(
        """
        class User:
            def __init__(self, loc):
                self.loc = loc

        @query(keep="explicit", demand=("s",))
        def at(s, loc):
            return len({u for u in s if u.loc == loc})

        def main(show):
            users = [User(i % 2) for i in range(5)]
            s = Set(users)
            for turn in range(3):
                show(at(s, 0), at(s, 1), at(s, 2), len(at.demanded))
                at.demand(s)
                users[turn].loc = 2
                show(at(s, 0), at(s, 1), at(s, 2), (s,) in at.demanded)
                at.release(s)
                users[turn].loc = 1
        """
    )


def test_what_two_queries_share_stays_for_the_other() -> None:
    same_both_ways(
        """
        class User:
            def __init__(self, n):
                self.n, self.friends = n, Set()

        @query(keep="explicit")
        def grown(u, limit):
            return {f.n for f in u.friends if f.n > limit}

        @query(keep="explicit")
        def social(s, limit):
            return {u.n for u in s if len(grown(u, limit)) > 1}

        def main(show):
            users = [User(i) for i in range(6)]
            for u in users:
                u.friends.update(users[: u.n])
            s = Set(users[2:])
            for turn in range(4):
                social.demand(s, 1)
                grown.demand(users[4], 1)
                users[turn].n += 2
                show(social(s, 1), grown(users[4], 1), len(social.demanded), len(grown.demanded))
                (social if turn % 2 else grown).release(*((s, 1) if turn % 2 else (users[4], 1)))
                users[3].friends.discard(users[turn])
                show(social(s, 1), grown(users[4], 1), len(social.demanded), len(grown.demanded))
        """
    )


def test_the_companions_of_a_method_know_its_object_and_its_defaults() -> None:
    same_both_ways(
        """
        class Club:
            def __init__(self):
                self.members = Set()
            @query
            def above(self, limit=18):
                "Docs."
                return {m for m in self.members if m > limit}
            @query(keep="explicit")
            def low(self, limit):
                return {m for m in self.members if m < limit}

        @query
        def over(s, limit=3):
            return {x for x in s if x > limit}

        def main(show):
            c, d = Club(), Club()
            c.members.update([1, 20, 30])
            show(c.above(), c.above(25), c.above(limit=0), Club.above(c, 20))
            live = c.above.view()
            c.members.add(40)
            show(set(live), len(c.above.demanded), len(d.above.demanded), len(Club.above.demanded))
            c.above.release(25)
            show(set(c.above.demanded), d.above(), c.above.__doc__, Club.above.__doc__)
            c.low.demand(5)
            d.low.demand(7)
            show(set(c.low.demanded), len(Club.low.demanded), c.low(5))
            c.low.release(5)
            show(len(c.low.demanded), len(Club.low.demanded))
            s = Set([1, 5])
            show(over(s), set(over.view(s)))
            over.release(s)
            show(len(over.demanded))
            ask = c.above
            show(ask(35))
        """
    )


RUNNING = """
from incoq import Set, query

class User:
    def __init__(self, email, loc):
        self.email, self.loc, self.followers = email, loc, Set()

@query(keep="explicit")
def asked(celeb, group):
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}

def demand(a, b):
    asked.demand(a, b)

def release(a, b):
    asked.release(a, b)

def ask(a, b):
    return asked(a, b)

def straight(a, b):
    return {u.email for u in a.followers if u in b and u.loc == "NYC"}

def demanded():
    return asked.demanded

def make(n):
    users = [User(f"u{i}", "NYC" if i % 2 else "Oslo") for i in range(n)]
    for i, u in enumerate(users):
        u.followers.update(users[(i * 7 + k * k) % n] for k in range(3))
    return users, [Set(users[(i * 5 + k) % n] for k in range(3)) for i in range(n)]

def change(users, i):
    users[i].loc = "NYC" if users[i].loc == "Oslo" else "Oslo"
    users[i].followers.discard(users[i - 1])
    users[i].followers.add(users[i - 2])
"""

NESTED = RUNNING.replace(
    '{u.email for u in celeb.followers if u in group if u.loc == "NYC"}',
    "{u.email for u in celeb.followers if u in group if len({f.loc for f in u.followers}) > 1}",
).replace('and u.loc == "NYC"', "and len({f.loc for f in u.followers}) > 1")


def _combinations(number: int) -> Iterator[tuple[int, int]]:
    side = int(number**0.5) + 1
    return ((i // side, i % side) for i in range(number))


def _sizes(compiled: incoq.Compiled, space: dict[str, Any]) -> dict[str, int]:
    return {i.name: len(space[i.name]) for i in compiled.plan.structures()}


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
@pytest.mark.parametrize("program", [RUNNING, NESTED], ids=["running_example", "nested_aggregate"])
def test_space_goes_back_to_what_it_was(program: str, mode: str) -> None:
    """After each round every structure is as before the first demand, and no memory is lost."""
    compiled = incoq.compile_source(program, mode=mode)
    space = load(compiled.code)
    side = int(DEMANDS**0.5) + 1
    users, groups = space["make"](side)
    before = _sizes(compiled, space)
    if mode == "filtered":
        assert not any(before.values()), before
    memory: list[int] = []
    tracemalloc.start()
    try:
        for turn in range(ROUNDS):
            for i, j in _combinations(DEMANDS):
                space["demand"](users[i], groups[j])
            assert len(space["demanded"]()) == DEMANDS
            space["change"](users, turn % side)
            for i, j in ((0, 0), (turn % side, 1)):
                assert space["ask"](users[i], groups[j]) == space["straight"](users[i], groups[j])
            space["change"](users, turn % side)
            for i, j in _combinations(DEMANDS):
                space["release"](users[i], groups[j])
            assert len(space["demanded"]()) == 0
            after = _sizes(compiled, space)
            if mode == "filtered":
                assert not any(after.values()), {k: v for k, v in after.items() if v}
            else:  # its indices hold all objects, demanded or not
                kept = {i.name for i in compiled.plan.invariants if i.store is Store.INDEX}
                assert not any(n for k, n in after.items() if k not in kept), after
            gc.collect()
            memory.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    for turn, used in enumerate(memory):
        assert abs(used - memory[0]) <= 0.01 * memory[0] + SLACK, (turn, memory)


def test_only_a_set_query_has_a_view() -> None:
    same_both_ways(
        """
        @query
        def total(s): return sum(x for x in s)

        @query
        def entries(s): return {x: x + 1 for x in s}

        def main(show):
            for asked in (total, entries):
                try:
                    show(1 in asked.view(Set([1, 2])))
                except TypeError as error:
                    show(str(error))
        """
    )


def test_a_value_without_a_hash_is_asked_for_where_its_parameter_is_not_demanded() -> None:
    text = """
class User:
    def __init__(self, n): self.n = n
@query(demand=("s",))
def having(s, k): return {u.n for u in s if u.n == k}
@query(demand=("s",))
def total(s, k): return sum(u.n for u in s if u.n == k)
def main(show):
    s = Set([User(1), User(2)])
    for k in (1, [1], {1: 2}):
        show(having(s, k), total(s, k), len(having.view(s, k)))
"""
    same_both_ways(text)
    program = load(incoq.compile_source("from incoq import Set, query\n" + text).code)
    for query in (program["having"], program["total"]):
        with pytest.raises(Exception, match="IQ303"):
            query(program["Set"](), bytearray(b"1"))


def test_what_is_demanded_is_shown_once_whatever_values_a_global_had() -> None:
    same_both_ways("""
        LIMIT = 1
        @query
        def above(s): return {x for x in s if x > LIMIT}
        @query(keep="explicit")
        def largest(s, k): return max((x for x in s if x > LIMIT if x != k), default=None)
        def main(show):
            global LIMIT
            s, t = Set([1, 2, 3]), Set([2])
            largest.demand(s, 3)
            for LIMIT in (0, 1, 2, 1):
                show(above(s), above(t), len(above.demanded), set(above.demanded) == {(s,), (t,)})
                show(largest(s, 3), len(largest.demanded), list(largest.demanded) == [(s, 3)])
                s.add(LIMIT + 3)
    """)
