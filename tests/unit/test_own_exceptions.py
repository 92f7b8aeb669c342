"""A combination that raises is skipped, whatever it raises; what may not be raised again is not kept."""

from __future__ import annotations

from both_ways import same_both_ways

PROGRAM = """
from incoq import Set, lru, query


class Odd(Exception):
    pass


class Num(int):
    def __gt__(self, other):
        if int(self) % 2:
            raise Odd(int(self))
        return int.__gt__(self, other)


class Thing:
    def __init__(self, n):
        self.n = Num(n)
        self.others = []
        self.more = {}


@query
def good(s):
    return {x.n for x in s if x.n > 0}


@query(keep=lru(2))
def few(s):
    return {x.n for x in s if x.n > 0}


@query(keep="explicit")
def kept(s):
    return len({x for x in s if x.n > 0})


@query
def outer(s):
    return {x for x in s if len({y for y in s if y.n > 0 if y.n > x.n}) > 0}


@query
def others(thing):
    return {o.n for o in thing.others if o.n > 1}


@query
def more(thing):
    return {t.n for (k, t) in thing.more.items() if t.n > 1}


def answers(s, thing):
    of_sets = sorted(good(s)), sorted(few(s)), kept(s), len(outer(s))
    return of_sets, sorted(others(thing)), sorted(more(thing))


def main(show):
    s = Set()
    things = [Thing(i) for i in range(6)]
    first = things[0]
    show(answers(s, first))
    kept.demand(s)
    for t in things:
        s.add(t)
        first.others.append(t)
        first.more[t.n] = t
        show(answers(s, first), len(kept.demanded))
    for t in things:
        t.n = Num(t.n + 1)
        show(answers(s, first), len(kept.demanded))
    for t in things[:3]:
        s.discard(t)
        first.others.remove(t)
        del first.more[Num(t.n - 1)]
        show(answers(s, first), len(kept.demanded))
    del things[3].n
    show(answers(s, first))
    for t in things[3:]:
        t.n = Num(4)
        show(answers(s, first), len(kept.demanded))
    kept.release(s)
    s.add(Thing(7))
    show(answers(s, first), len(kept.demanded))
"""


def test_an_exception_of_the_programs_own_skips_a_combination() -> None:
    shown = same_both_ways(PROGRAM, header="")
    assert len(shown) > 15
