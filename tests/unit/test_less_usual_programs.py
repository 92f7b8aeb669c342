"""Forms that few programs have mean compiled what they mean uncompiled."""

from __future__ import annotations

import textwrap

import pytest
from both_ways import same_both_ways

MODES = ("filtered", "incremental")
USERS = """
class User:
    def __init__(self, n, name="", tags=()):
        self.n, self.name, self.tags, self.friends, self.others = n, name, Set(tags), Set(), []
"""

PROGRAMS = {
    "a set stands where a dict is asked for an entry": """
        @query
        def entries(m, s): return {(k, m[k]) for k in s if k in m}
        @query
        def total(s): return sum(x for x in s)
        def main(show):
            s, m = Set([1, 2]), {1: 5}
            show(total(s), entries(s, s), entries(m, s))
            s.add(4)
            m[4] = 1
            show(total(s), entries(s, s), entries(m, s))
    """,
    "a global is named like the variable that stands for the elements of a source": """
        element = User(0)
        @query
        def friends(of): return {x for x in of.friends}
        @query
        def fewer(s): return {x for x in s if len(friends(element)) > x}
        @query
        def below(s): return {x for x in s if sum(element.tags) > x if friends(element)}
        def main(show):
            s = Set(range(5))
            show(fewer(s), below(s))
            element.friends.update([1, 2]); show(fewer(s), below(s))
            element.tags.update([3, 1]); show(fewer(s), below(s))
            element.friends.discard(1); show(fewer(s), below(s))
    """,
    "a query that reads a global is asked about what a call gives": """
        limit = 3
        @query
        def above(s): return {x for x in s if x > limit}
        @query
        def how_many(s): return len({x for x in s if x > limit})
        def same(v): return v
        def main(show):
            global limit
            s = Set([1, 4, 6])
            show(6 in above(same(s)), len(above(same(s))), how_many(same(s)), how_many(s))
            limit = 5
            show(4 in above(same(s)), len(above(s)), how_many(same(s)), how_many(s))
    """,
    "lists are looked at by patterns, joined and tested": """
        class Box:
            def __init__(self):
                self.queue, self.words, self.rest, self.members = [], [], [], Set()
        @query
        def large(b): return {x for x in b.members if x > 1}
        def main(show):
            b = Box()
            match b:
                case Box(queue=found):
                    found.append(2)
            b.words.append("a")
            show("-".join(b.words), b.queue, large(b))
            while b.words and not b.rest:
                b.rest.append(b.words.pop())
            b.members.update(b.queue)
            show(large(b), b.rest, [x for x in b.rest if b.words or b.rest])
            match {"k": [1], "l": 2}:
                case {"l": two, **others}:
                    b.members.add(two + 5)
            show(large(b), others)
    """,
    "results slice, negate, format and choose": """
        @query
        def shown(s, t):
            return {(u.name[1:], -u.n, f"{u.n:3}{u.name!r}", "a" if u.n > 2 else u.name) for u in s if u in t}
        def main(show):
            a, b = User(1, "ann"), User(3, "bob")
            s, t = Set([a, b]), Set([a])
            show(shown(s, t)); t.add(b); show(shown(s, t)); a.name = "eve"; b.n = 0; show(shown(s, t))
            a.name = None; show(shown(s, t)); t.discard(a); show(shown(s, t))
    """,
    "values are compared with constants, tuples and themselves": """
        @query
        def among(s, a, b):
            return {u.n for u in s if u.n in (a, b, 7) if u.name not in {"x", "y"} if u.n in [1, 2, 7]}
        @query
        def odd(s): return {u.name for u in s if u.n != u.n}
        @query
        def usual(s): return {u.name for u in s if u.n == u.n if not u.name in ("z",)}
        @query
        def within(s, t):
            return {u.n for u in s if u.n in {v.n for v in t} if u.n not in {v.n for v in t if v.name}}
        @query
        def letters(s): return {u.n for u in s if u.name in "abc"}
        def main(show):
            users = [User(1, "x"), User(2, "a"), User(float("nan"), "n"), User(7, "z")]
            s = Set(users)
            others = [User(1), User(2, "b"), User(7)]
            t = Set(others)
            show(among(s, 1, 2), odd(s), usual(s), within(s, t), letters(s))
            for u in users:
                u.n, u.name = 7, "y" if u.name == "z" else "c"
                show(among(s, 1, 2), odd(s), usual(s), within(s, t), letters(s))
            for v in others:
                v.name = ""
                show(within(s, t))
    """,
    "functions of a query evaluate their arguments only where they need them": """
        def either(a, b): return a or b
        def chosen(p, a, b=0): return a if p else b
        def less(a, b): return a < b < 9
        @query
        def q(s): return {u.name for u in s if either(u.n > 1, u.missing.field)}
        @query
        def r(s): return {chosen(u.n, u.name, u.missing.n) for u in s}
        @query
        def p(s): return {u.name for u in s if less(u.n, u.limit)}
        def main(show):
            users = [User(0, "a"), User(1, "b"), User(2, "c")]
            s = Set(users)
            show(q(s), r(s), p(s))
            for u in users:
                u.missing = User(5); u.missing.field = True; u.limit = u.n + 1
                show(q(s), r(s), p(s))
                del u.missing
                show(q(s), r(s), p(s))
    """,
    "inner queries have variables of their own where names are in use": """
        @query
        def least(s, t):
            return {(x.n, x_2.n) for x in s for x_2 in t if all(x.n >= y for y in {x.n for x in t})}
        @query
        def some(s, t): return {x.n for x in s if {x for x in t if x.n > 2} or any(x.n == 0 for x in t)}
        @query
        def members(of): return {x for x in of.friends}
        @query
        def friends(s): return {x.n for x in s if members(x) if not members(x) or x.n < 9}
        def main(show):
            a, b, c = User(1), User(2), User(3)
            s, t = Set([a, b]), Set([c])
            show(least(s, t), some(s, t), friends(s))
            c.n = 0; show(least(s, t), some(s, t))
            a.friends.add(b); t.add(b); show(least(s, t), some(s, t), friends(s))
            a.friends.clear(); t.clear(); show(least(s, t), some(s, t), friends(s))
    """,
    "entries of a dict are taken apart by patterns": """
        @query
        def firsts(m): return {(k, a) for k, (a, b) in m.items() if b == 1}
        @query
        def seconds(m): return {(a, v) for (a, b), v in m.items() if b == 2}
        @query
        def values(m): return {a for (a, _) in m.values()}
        @query
        def keys(m): return {a for (a, _) in m.keys()}
        @query
        def same(m): return {k for k, k in m.items()}
        def main(show):
            m = {(1, 2): (5, 1), (1, 3): (6, 2), 4: 4}
            show(firsts(m), seconds(m), values(m), keys(m), same(m))
            m[7, 2] = (8, 1); m[4] = 5
            show(firsts(m), seconds(m), values(m), keys(m), same(m))
            m[1, 2] = 3; del m[1, 3]
            show(firsts(m), seconds(m), values(m), keys(m), same(m))
    """,
    "an operator of the program that acts is seen to act": """
        from threading import Lock
        class Key:
            def __init__(self, n): self.n = n
            def __hash__(self):
                self.asked = (lambda: 1)()
                return hash(self.n)
            def __eq__(self, other):
                seen[0] += 1
                return isinstance(other, Key) and self.n == other.n
        seen = [0]
        @query
        def both(s, t): return len({k for k in s if k in t})
        def main(show):
            s, t = Set([Key(1), Key(2)]), Set([Key(2)])
            show(both(s, t)); t.add(Key(1)); show(both(s, t))
            s.discard(Key(2)); show(both(s, t), seen[0] > 0)
    """,
    "classes are given other meanings in some functions": """
        def f(list, *, set=len):
            dict = list
            return dict, set("ab")
        def g():
            global tuples
            tuples = list([1])
            return tuples
        class Own:
            list = 1
            def items(self, found=()):
                return [*found, Own.list, list("ab")]
        @query
        def q(s): return {x for x in s.friends if x > 0}
        def main(show):
            u = User(1)
            show(f([3]), g(), Own().items([2]), q(u))
            u.friends = g(); show(q(u)); tuples.append(4); show(q(u))
    """,
    "methods ask one another": """
        class Group:
            def __init__(self): self.members = Set()
            @query
            def adults(self): return {u for u in self.members if u.n > 17}
            @query
            def names(self): return {u.name for u in self.adults()}
            @query(demand=("self",))
            def near(self, least=3): return {u.name for u in self.members for least in u.others}
        def main(show):
            g, a = Group(), User(20, "a")
            show(g.names()); g.members.add(a); show(g.names(), g.near())
            a.others.append(3); show(g.near(), g.near(4))
            a.n = 3; show(g.names(), len(g.adults()), a in g.adults())
    """,
    "containers that are seen raise what Python's raise": """
        @query
        def q(o, d): return {(x, k, v) for x in o.friends for k, v in d.items() if k in o.others}
        def tried(show, action):
            try:
                show(action())
            except Exception as error:
                show(type(error).__name__)
        def main(show):
            u, d = User(1), {}
            u.friends.add(1); u.others.extend([1, 2]); show(q(u, d))
            for action in (
                lambda: d.pop(1), lambda: d.pop(1, 2, 3), lambda: d.pop(1, 5), lambda: d.popitem(),
                lambda: d.update(1, 2), lambda: d.update([(1, 2)]), lambda: d.update({2: 3}, a=1),
                lambda: d.update([(1, 2, 3)]), lambda: d.setdefault(2, 9), lambda: d.setdefault(7),
                lambda: d.popitem(), lambda: d.pop(2), lambda: d.clear(), lambda: d.__ior__([(1, 4)]),
                lambda: u.friends.__ior__([1]), lambda: u.friends.__isub__([1]),
                lambda: u.friends.__iand__([1]), lambda: u.friends.__ixor__([1]),
                lambda: u.friends.pop(), lambda: u.friends.pop(),
                lambda: u.friends.symmetric_difference_update([1, 3]), lambda: u.others.insert("x", 1),
                lambda: u.others.insert(0, 1), lambda: u.others.__setitem__(9, 1),
                lambda: u.others.__delitem__(9),
                lambda: u.others.__setitem__(slice(0, 1), [2, 2]), lambda: u.others.__delitem__(slice(0, 2)),
                lambda: u.others.pop(7), lambda: u.others.clear(), lambda: u.others.extend([1, [3]]),
            ):
                tried(show, action)
                show(q(u, d))
    """,
    "of a tuple that holds sets only the length makes it true": """
        @query
        def true(s): return {u.name for u in s if u.n}
        def main(show):
            a = User((), "a")
            s = Set([a, User(2, "b")])
            for value in ((Set(), 1), frozenset(), (1,), ()):
                show(true(s)); a.n = value; show(true(s))
    """,
    "sets inside tuples are compared by identity": """
        @query
        def equals(s, v): return {u.name for u in s if u.n == v}
        def main(show):
            a, inner = User(1, "a"), Set([1])
            s = Set([a, User(2, "b")])
            for value in ((1, (2, inner)), (1, (2, Set([1]))), inner, (1, (2, 3)), (1, 2)):
                a.n = value
                show(equals(s, (1, (2, inner))), equals(s, inner), equals(s, (1, 2)))
    """,
    "values of many classes are compared, ordered and looked into": """
        from collections import namedtuple
        from dataclasses import dataclass
        from decimal import Decimal
        from enum import Enum
        @dataclass(frozen=True)
        class Point:
            x: int
            y: int
        class Colour(Enum):
            RED, BLUE = 1, 2
        class Grade(str): pass
        Pair = namedtuple("Pair", "a b")
        @query
        def equals(s, v): return {u.name for u in s if u.n == v}
        @query
        def less(s, v): return {u.name for u in s if u.n < v}
        @query
        def above(s): return {u.name for u in s if u.n > 1}
        @query
        def true(s): return {u.name for u in s if u.n}
        @query
        def inside(s, v): return {u.name for u in s if v in u.n}
        @query
        def first(s): return {u.n[0] for u in s}
        def main(show):
            a, b = User(1, "a"), User(2, "b")
            s = Set([a, b])
            values = [
                (1, 2), Pair(1, 2), Point(1, 2), Colour.RED, Decimal("1.5"), Grade("ab"), "ab", range(3),
                frozenset([1]), (float("nan"),), 2.5, True, None, 1j, b"ab",
            ]
            for value in values:
                a.n = value
                for v in (value, values[0], values[1], Point(1, 2), "a", 1, 2.5):
                    show(equals(s, v), less(s, v), inside(s, v))
                show(above(s), true(s), first(s))
    """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_in_which(program: str) -> None:
    same_both_ways(USERS + textwrap.dedent(program), MODES)
