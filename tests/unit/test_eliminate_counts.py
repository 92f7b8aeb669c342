"""Counts are kept only where two combinations of variables can give one element (paper, section 6)."""

from __future__ import annotations

import pytest
from both_ways import MODES, run_compiled, run_plain, source
from test_flatten_query import flatten

import incoq
from incoq.invariants.eliminate_counts import needs_counts


@pytest.mark.parametrize(
    ("body", "params"),
    [
        ("{x for x in s}", "s"),
        ("{x for x in s if x.n > 1}", "s"),
        ("{(x, y) for x in s for y in t}", "s, t"),
        ("{(x, (y, 1)) for x in s for y in t}", "s, t"),
        ("{x for x in s if x.f.g > 1}", "s"),
        (
            "{(a, s) for a in attends for s in students if a.course == c if a.student == s}",
            "attends, students, c",
        ),
        ("{a for a in attends for s in students if a.student == s}", "attends, students"),
        ("{x for x in s if x in t if (k, x) in u}", "s, t, u, k"),
        ("{x for x in o.f}", "o"),
        ("{a for a in s for b in t for c in u if b.g == c if a.f == b}", "s, t, u"),
    ],
)
def test_no_counts_where_one_combination_gives_each_element(body: str, params: str) -> None:
    assert not needs_counts(flatten(body, params))


@pytest.mark.parametrize(
    ("body", "params"),
    [
        ("{u.email for u in celeb.followers if u in group}", "celeb, group"),
        ("{x for x in s for y in x.f}", "s"),
        ("{y for x in s for y in x.f}", "s"),
        ("{x + 1 for x in s}", "s"),
        ("{(x, x.n + 1) for x in s}", "s"),
        ("{1 for x in s}", "s"),
        ("{x for x in s if (x, y) in t}", "s, t"),
        ("{x for x in s if (x, _) in t}", "s, t"),
        ("{z for z in u for x in s for y in t if x.f == y if y.g == x}", "u, s, t"),
    ],
)
def test_counts_where_two_combinations_may_give_one_element(body: str, params: str) -> None:
    assert needs_counts(flatten(body, params))


def test_the_value_of_a_nested_query_is_told_by_what_it_is_asked_about() -> None:
    def nested(result: str) -> bool:
        text = f"{{{result} for x in s for y in t if len({{z for z in u if (z, x, y) in u}}) > 1}}"
        compiled = incoq.compile_source(source(f"@query\ndef q(s, t, u):\n    return {text}\n"))
        return needs_counts(next(q for q in compiled.plan.queries if q.name == "q"))

    assert not nested("(x, y)")
    assert nested("x")
    assert nested("y")


@pytest.mark.parametrize(
    ("body", "params", "counts"),
    [
        ("{x + 1 for x in s}", "s", False),
        ("{x + 1 for x in s if x in t}", "s, t", False),
        ("{x + 1 for x in s if x not in t}", "s, t", True),
        ("{x + 1 for x in s if x.n > 1}", "s", True),
        ("{x for x in s if x.n > 1}", "s", False),
    ],
)
def test_no_counts_over_sets_that_only_grow(body: str, params: str, counts: bool) -> None:
    assert needs_counts(flatten(body, params), only_adds=True) is counts


PROGRAM = """
class O:
    def __init__(self, n):
        self.n, self.f = n, Set()

@query
def joined(s, t):
    return {(x, y) for x in s for y in t if x.n == y.n}

@query
def numbers(s):
    return {x.n for x in s}

@query
def inner(s):
    return {y for x in s for y in x.f}

def main(show):
    objects = [O(i % 3) for i in range(6)]
    s, t = Set(objects[:4]), Set(objects[2:])
    for step in range(40):
        x, y = objects[step * 7 % 6], objects[step * 5 % 6]
        if step % 4 == 0:
            x.f.add(y.n)
        elif step % 4 == 1:
            (s if step % 8 == 1 else t).symmetric_difference_update({x, y})
        elif step % 4 == 2:
            x.n = (x.n + 1) % 3
        else:
            y.f.discard(x.n)
        show({(objects.index(a), objects.index(b)) for a, b in joined(s, t)}, numbers(s), inner(t))
"""


@pytest.mark.parametrize("mode", MODES)
def test_answers_are_the_same_with_and_without_elimination(mode: str) -> None:
    text = source(PROGRAM)
    expected = run_plain(text)
    assert len(expected) == 40
    assert run_compiled(text, mode) == expected
    assert run_compiled(text, mode, without=["counts"]) == expected
