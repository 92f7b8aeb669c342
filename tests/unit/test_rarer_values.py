"""Aggregates and conditions of values that few programs have; what cannot be watched is refused."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from both_ways import load, outputs, run_plain, same_both_ways, source

import incoq

ITEMS = """
class Item:
    def __init__(self, n): self.n, self.kind = n, type(n).__name__
def tried(show, *asks):
    for ask in asks:
        try: show(ask())
        except Exception as error: show(type(error).__name__)
"""
PROGRAMS = {
    "means are taken of numbers of all kinds": """
        import statistics
        @query
        def mean(l): return statistics.mean(x.n for x in l)
        @query
        def of_set(s): return statistics.mean({x.n for x in s})
        @query
        def total(l): return sum(x.n for x in l)
        def main(show):
            l, a = [], Item(1)
            def every(): tried(show, lambda: mean(l), lambda: of_set(l), lambda: total(l))
            every(); l.append(a); every(); l.append(a); l.append(Item(2)); every(); a.n = 2.5; every()
            a.n = 7; every(); a.n = 4; l.append(Item(0.25)); every()
            l.remove(a); every(); l.clear(); every()
            l.append(a); a.n = float("inf"); every(); a.n = float("nan"); every(); a.n = True; every()
            a.n = 2 + 1j; every(); a.n = "x"; every(); a.n = 3; every()
    """,
    "extremes and the smallest few are taken of bags": """
        @query
        def least(l): return min(x.n for x in l)
        @query
        def most(l): return max((x.n for x in l), default="none")
        @query
        def few(l): return sorted(x.n for x in l)[:2]
        @query
        def by_n(l): return {x.n: x for x in l}
        def main(show):
            items = [Item(n % 5) for n in range(10)]
            l = []
            def every():
                tried(show, lambda: least(l), lambda: most(l), lambda: few(l), lambda: sorted(by_n(l)))
            every(); l.extend(items + items[:3]); every()
            for number in range(40):
                items[number % 7].n = 50 - number
            every(); l.remove(items[0]); every(); items[1].n = "mixed"; every(); items[1].n = 0; every()
            l[:] = items[8:]; every(); l.clear(); every()
    """,
    "values of the standard library and sets are compared": """
        from datetime import date
        from decimal import Decimal
        from enum import Enum
        from fractions import Fraction
        class Colour(Enum):
            RED = 1
            BLUE = 2
        @query
        def late(s, day): return {x.n for x in s if x.n > day}
        @query
        def same(s, v): return {x.kind for x in s if x.n == v}
        @query
        def upper(s): return {x.n.upper() for x in s if x.n.startswith("a")}
        def main(show):
            inner, a = Set([1]), Item(date(2024, 5, 1))
            s = Set([a, Item(Decimal("2.5")), Item("ab"), Item((1, 2))])
            t = Set([a, Item(inner)])
            def every():
                tried(show, lambda: late(s, date(2024, 1, 1)), lambda: same(s, Fraction(5, 2)),
                      lambda: same(t, inner), lambda: same(t, Set([1])), lambda: upper(s),
                      lambda: same(s, (1, 2.0)))
            every(); a.n = date(2023, 1, 1); every(); a.n = Colour.RED; every(); a.n = "ac"; every()
            a.n = (1, 2); every(); t.add(Item(inner)); every()
    """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_answers_are_the_same_where(program: str) -> None:
    same_both_ways(ITEMS + textwrap.dedent(program), ("filtered", "incremental"))


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_quantifiers_are_the_same_without_counts_in_the_map_of_answers(mode: str) -> None:
    program = """
    @query
    def some(l): return any(x.n > 2 for x in l)
    @query
    def every_one(l): return all(x.n > 2 for x in l)
    @query
    def both(s): return {x.kind for x in s if any(y.n > 2 for y in x.n) and not all(y.n > 2 for y in x.n)}
    def main(show):
        a, b = Item(1), Item(3)
        l = [a, a]
        s = Set([Item(l)])
        def ask(): show(some(l), every_one(l), both(s))
        ask(); l.append(b); ask(); a.n = 5; ask(); b.n = 0; ask(); l.remove(a); ask(); l.clear(); ask()
    """
    text = source(ITEMS + textwrap.dedent(program))
    expected = run_plain(text)
    assert len(expected) == 6
    for without in ([], ["numbers"]):
        assert outputs(load(incoq.compile_source(text, mode=mode, without=without).code)) == expected


REFUSED = {
    "the entries of a dict that others made": (
        "{k for k, v in o.v.items()}",
        "json.loads('{\"a\": 1}')",
        "IQ301",
    ),
    "an entry of a dict that others made": (
        "{1 for x in s if o.v['a'] == x}",
        "json.loads('{\"a\": 1}')",
        "IQ301",
    ),
    "an element of a list by its position": ("{1 for x in s if o.v[0] == x}", "[1, 2]", "IQ301"),
    "the length of a list that others made": (
        "{x for x in s if len(o.v) == x}",
        "json.loads('[1]')",
        "IQ301",
    ),
    "the elements of a set that others made": ("{x for x in o.v}", "others({1})", "IQ301"),
    "a text as a set": ("{x for x in o.v}", "'text'", "IQ302"),
    "what has no hash": ("{x.n for x in o.v}", "(SimpleNamespace(n=1),)", "IQ303"),
    "an object that counts itself": ("{x for x in s if o.v > x}", "Counter()", "IQ301"),
}


@pytest.mark.parametrize(("returned", "value", "code"), REFUSED.values(), ids=REFUSED)
def test_a_query_refuses_when_it_is_asked_about(returned: str, value: str, code: str) -> None:
    text = f"""
    import json
    from types import SimpleNamespace
    class O:
        def __init__(self, v): self.v = v
    class Counter:
        n = 0
        def __gt__(self, other):
            self.n += 1
            return self.n > other
    @query
    def q(o, s): return {returned}
    def ask(others): return q(O({value}), Set([1, 2]))
    """
    scope = load(incoq.compile_source(source(text)).code)
    with pytest.raises(scope["IncoqRuntimeError"], match=code):
        scope["ask"](_copy_of)


def _copy_of(value: Any) -> Any:
    return set(value)
