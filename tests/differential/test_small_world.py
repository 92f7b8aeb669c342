"""Every sequence of up to three updates over two objects and two sets, for queries with self-joins."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import incoq
from incoq.testing import oracle

LENGTH = 3

PRELUDE = """
from incoq import Set, query

class Obj:
    pass

def new():
    return Obj(), Obj(), Set(), Set()

def add(s, x): s.add(x)
def discard(s, x): s.discard(x)
def assign(o, v): o.f = v
def unassign(o): del o.f

@query
def q(s, t):
    return %s
"""

QUERIES = {
    "one set on two edges": "{x for x in s if x in t}",
    "sets of sets": "{(x, y) for x in s for y in x}",
    "a set in itself": "{x for x in s if x in x}",
    "two members of one set": "{(x, y) for x in s for y in s if x != y}",
    "through a field": "{y for x in s for y in x.f if y in t}",
    "one field twice": "{(x, y) for x in s for y in t if x.f == y.f}",
    "three memberships": "{z for x in s for y in x for z in y if z in t}",
    "absence": "{x for x in s if x not in t}",
}

SETTINGS = [
    ("filtered", "tags", "before"),
    ("filtered", "tags", "in the middle"),
    ("filtered", "first-clause", "before"),
    ("incremental", "tags", "before"),
    ("incremental", "tags", "in the middle"),
]

Update = tuple[str, tuple[int, ...]]


def updates() -> Iterator[Update]:
    """The updates over the things 0, 1 (objects) and 2, 3 (sets)."""
    for target in (2, 3):
        for element in range(4):
            yield "add", (target, element)
            yield "discard", (target, element)
    for target in (0, 1):
        yield "unassign", (target,)
        for value in (2, 3):
            yield "assign", (target, value)


def sequences() -> Iterator[tuple[Update, ...]]:
    for length in range(1, LENGTH + 1):
        yield from itertools.product(updates(), repeat=length)


@pytest.mark.parametrize(("mode", "strategy", "asked"), SETTINGS)
@pytest.mark.parametrize("name", QUERIES)
def test_all_short_sequences_keep_the_answer_right(name: str, mode: str, strategy: str, asked: str) -> None:
    text = PRELUDE % QUERIES[name]
    live: dict[str, Any] = {"__name__": "small"}
    compiled = incoq.compile_source(text, mode=mode, strategy=strategy)
    exec(compile(compiled.code, "<small>", "exec"), live)
    expected = oracle.build(text, live)["q"].bag
    query = live["q"]
    functions: dict[str, Callable[..., None]] = {k: live[k] for k in ("add", "discard", "assign", "unassign")}
    for sequence in sequences():
        things = live["new"]()
        o, _, s, t = things
        functions["assign"](o, s)
        functions["add"](s, o)
        functions["add"](t, o)
        functions["add"](t, s)
        combinations = ((s, t), (s, s), (t, s))
        for index, (update, places) in enumerate(sequence):
            if index == (0 if asked == "before" else 1):
                for combination in combinations:
                    query(*combination)
            try:
                functions[update](*(things[place] for place in places))
            except AttributeError:
                assert update == "unassign"
                assert not hasattr(things[places[0]], "f")
        for combination in combinations:
            got, wanted = query(*combination), set(expected(*combination))
            assert got == wanted, (sequence, combination)
            query.release(*combination)
    assert len(query.demanded) == 0
