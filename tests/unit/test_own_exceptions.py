"""A combination that raises is skipped, whatever it raises; what may not be raised again is not kept."""

from __future__ import annotations

import pytest
from both_ways import MODES, run_compiled, same_both_ways, source

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


def test_the_truth_of_a_value_may_raise() -> None:
    same_both_ways(
        """
        class Num(int):
            def __bool__(self):
                if int(self) % 2:
                    raise OSError
                return int(self) != 0

        class Thing:
            def __init__(self, n):
                self.n = Num(n)

        @query
        def q(s):
            return {int(x.n) for x in s if x.n}

        def main(show):
            a, b = Thing(2), Thing(3)
            s = Set([a, b])
            show(q(s))
            for n in (4, 5, 0, 7, 6):
                b.n = Num(n)
                show(q(s))
        """
    )


def test_an_item_that_raises_is_skipped() -> None:
    same_both_ways(
        """
        class Row(tuple):
            def __getitem__(self, i):
                if tuple.__getitem__(self, i) % 2:
                    raise OSError
                return tuple.__getitem__(self, i)

        class Thing:
            def __init__(self, *row):
                self.row = Row(row)

        @query
        def q(s):
            return {x.row[0] for x in s}

        def main(show):
            a = Thing(2, 2)
            s = Set([a, Thing(3, 3)])
            show(q(s))
            for n in (5, 4, 7):
                a.row = Row((n, n))
                show(q(s))
        """
    )


def test_a_comparison_that_raises_at_the_ask_leaves_the_smallest_right() -> None:
    same_both_ways(
        """
        class N(int):
            fails = False
            def __lt__(self, other):
                if N.fails:
                    raise OSError
                return int.__lt__(self, other)

        class Thing:
            def __init__(self, v):
                self.v = N(v)

        @query
        def small(s):
            return min((x.v for x in s), default=0)

        def main(show):
            things = [Thing(n) for n in range(8)]
            s = Set(things)
            show(int(small(s)))
            for t in things[:5]:
                s.discard(t)
                N.fails = True
                try:
                    small(s)
                except OSError:
                    pass
                N.fails = False
                show(int(small(s)))
        """
    )


def test_an_equality_that_no_text_shows_may_raise() -> None:
    same_both_ways(
        """
        R = Set()
        T = Set()
        flag = []

        def eq(self, other):
            if flag:
                raise OSError
            return int(self) == int(other)

        K = type("K", (int,), {"__eq__": eq, "__hash__": int.__hash__})

        @query
        def q():
            return {int(x) for x in R if len({y for (y, z) in T if z == x}) > 0}

        def main(show):
            k = K(1)
            R.add(k)
            show(q())
            flag.append(1)
            T.add((1, k))
            flag.clear()
            show(q())
            T.discard((1, k))
            show(q())
        """,
        modes=("filtered", "join", "first-clause"),  # incremental indices compare such keys, which may raise
    )


def test_a_list_keeps_what_a_generator_gave_before_it_raised() -> None:
    same_both_ways(
        """
        class Thing:
            def __init__(self):
                self.l = []

        def numbers():
            yield 1
            yield 2
            raise OSError

        @query
        def q(t):
            return {x for x in t.l}

        def main(show):
            t = Thing()
            show(q(t))
            for _ in range(2):
                try:
                    t.l.extend(numbers())
                except OSError:
                    show(q(t), len(t.l))
            t.l.extend(t.l)
            show(q(t), len(t.l))
        """
    )


def test_after_want_of_stack_at_whatever_depth_all_answers_are_right() -> None:
    shown = same_both_ways("""
class O:
    def __init__(self, v):
        self.v = v

@query
def total(l):
    return sum(x for x in l)

@query
def both(s, t):
    return {x.v for x in s if x in t}

@query
def entries(m):
    return {(k, v) for k, v in m.items()}

def wrong(depth):
    l, a, m = [1, 2], O(1), {1: 1}
    s, t = Set([a]), Set([a])
    found = [total(l) != 3, both(s, t) != {1}, entries(m) != {(1, 1)}]

    def forever():
        l.append(1)
        l.pop()
        l[0] += 1
        a.v += 1
        s.discard(a)
        s.add(a)
        m[1] += 1
        l[:] = [l[0], 2]
        forever()

    def deeper(n):
        if n:
            deeper(n - 1)
        else:
            forever()

    try:
        deeper(depth)
    except RecursionError:
        pass
    found += [len(l) not in (2, 3), total(l) != sum(l), both(s, t) != {x.v for x in s if x in t}]
    found += [entries(m) != {(1, m[1])}]
    l[:], a.v, m[1] = [3], 5, 0
    s.add(a)
    return any(found + [total(l) != 3, both(s, t) != {5}, entries(m) != {(1, 0)}])

def main(show):
    show([depth for depth in range(25) if wrong(depth)])
""")
    assert shown == [(("list",),)]


@pytest.mark.parametrize("options", ["", '(keep="explicit")', "(keep=lru(1))", '(keep="weak")'])
def test_an_expression_without_a_value_raises_what_keeps_it_from_having_one(options: str) -> None:
    program = f"""
    class X:
        def __init__(self, v): self.v = v

    S = Set()

    @query{options}
    def mean(s, t): return sum(x.v for x in s) / len({{x for x in t}})

    @query{options}
    def of_all(): return sum(x.v for x in S) / len(S)

    @query{options}
    def better(s, t): return {{x.v for x in s if x.v > mean(s, t)}}

    @query{options}
    def offset(o, s): return o.a + max(x.v for x in s)

    @query{options}
    def ratio(a, b): return a.v / b.v if b.flag or not a.ok else -1

    @query{options}
    def entry(m, k, s): return m[k].v + max(x.v for x in s)

    @query{options}
    def part(o): return (o.ok, o.t[0])

    @query{options}
    def written(m): return m["k"] + 1

    def main(show):
        s, t, a, b, m = Set(), Set(), X(1), X(0), dict()

        def ask():
            for asked, args in (
                (mean, (s, t)), (of_all, ()), (better, (s, t)), (offset, (a, s)), (ratio, (a, b)),
                (entry, (m, 1, s)), (part, (a,)), (written, (m,)),
            ):
                try:
                    show(asked(*args))
                except Exception as error:
                    show(type(error).__name__, str(error))

        ask()
        s.add(a)
        S.add(a)
        a.a = 3
        b.flag = 1
        ask()
        t.add(b)
        m[1] = b
        a.ok, a.t, m["k"] = 1, (), "k"
        ask()
        a.t, m["k"] = "t", 1
        ask()
        a.t = ""
        del a.a
        b.v = "b"
        S.add(b)
        ask()
        S.clear()
        b.v, b.flag, a.ok = 2, 0, 1
        ask()
    """
    same_both_ways(program)


@pytest.mark.parametrize("mode", MODES)
def test_a_name_that_is_bound_after_the_first_question_is_seen_by_the_next(mode: str) -> None:
    """Uncompiled, the first question is refused."""
    text = source("""
    class X:
        def __init__(self, v): self.v = v

    @query
    def floors(s): return {math.floor(x.v) for x in s}

    a = X(1.5)
    s = Set([a])
    early = floors(s)
    import math

    def main(show):
        show(early, floors(s))
        a.v = 2.5
        show(floors(s))
    """)
    empty, one, two = (("set", frozenset(x)) for x in ((), [("int", "1")], [("int", "2")]))
    assert run_compiled(text, mode) == [(empty, one), (two,)]
