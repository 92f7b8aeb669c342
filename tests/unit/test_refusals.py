"""What a query cannot be is refused when it is compiled, with a code that says why."""

from __future__ import annotations

import textwrap

import pytest

import incoq

HUGE = hex(1 << 15_000)
QUERIES = {  # what a query of the parameters s, t and m returns
    "binds a name on the way": ("{x for x in s if (y := x)}", "IQ212"),
    "has a list of its own as a value": ("{(x, [y for y in t]) for x in s}", "IQ209"),
    "makes a function": ("{x for x in s if (lambda: x)()}", "IQ202"),
    "writes a number that has too many digits": (f"{{x for x in s if x > {HUGE}}}", "IQ106"),
    "names a number that has too many digits": ("{x for x in s if x > huge}", "IQ106"),
    "holds a function": ("{(lambda: x) for x in s}", "IQ209"),
    "reads what is no field": ("{x.__dict__ for x in s}", "IQ202"),
    "reads a field of a computed value": ("{(x + 1).f for x in s}", "IQ202"),
    "spreads arguments": ("{max(*x.f) for x in s}", "IQ209"),
    "spreads keywords": ("{dict(**x.f) for x in s}", "IQ209"),
    "calls a method of the program": ("{x.f() for x in s}", "IQ202"),
    "reads a field by a computed name": ("{getattr(x, x.n) for x in s}", "IQ202"),
    "reads a field of a computed value by name": ("{getattr(x + 1, 'f') for x in s}", "IQ202"),
    "reads a field whose name is a word of Python": ("{getattr(x, 'class') for x in s}", "IQ209"),
    "reads a field whose name would be code": ("{x for x in s if hasattr(x, 'f.g() or x.h')}", "IQ209"),
    "reads a field whose name is another one in a text": ("{getattr(x, 'ﬁ', 0) for x in s}", "IQ209"),
    "reads a field whose name cannot be written": (r"{getattr(x, '\ud800', 0) for x in s}", "IQ209"),
    "orders its elements": ("{tuple(sorted(x.f)) for x in s}", "IQ202"),
    "calls what nobody knows": ("{unknown(x) for x in s}", "IQ202"),
    "calls one of its variables": ("{x(1) for x in s}", "IQ202"),
    "calls what is assigned": ("{assigned(x) for x in s}", "IQ202"),
    "calls a function that calls itself": ("{endless(x) for x in s}", "IQ202"),
    "calls a decorated function": ("{cached(x) for x in s}", "IQ202"),
    "calls a function of several statements": ("{several(x) for x in s}", "IQ202"),
    "calls a function with any number of arguments": ("{spread(x) for x in s}", "IQ209"),
    "names an argument that there is not": ("{plus(c=x) for x in s}", "IQ209"),
    "names an argument that it gives already": ("{plus(x, a=x) for x in s}", "IQ209"),
    "calls a function with too few arguments": ("{plus() for x in s}", "IQ209"),
    "calls a function with too many arguments": ("{plus(x, x, x) for x in s}", "IQ209"),
    "relies on a default that is no constant": ("{late(x) for x in s}", "IQ209"),
    "has a variable that a function takes for a global": ("{reads_world(world) for world in s}", "IQ209"),
    "has a variable named like a module": ("{math for math in s}", "IQ209"),
    "takes the rest of an element": ("{x for x, *y in s}", "IQ209"),
    "binds a field": ("{x for x.f in s}", "IQ212"),
    "reads the wildcard": ("{(_, x) for x, _ in s}", "IQ209"),
    "reads a name that nothing binds": ("{y for x in s}", "IQ201"),
    "has a variable that nothing leads to": ("{x for x in s if y in z for z in y.h}", "IQ201"),
    "has the answer of another query as a value": ("{(x, members(x)) for x in s}", "IQ209"),
    "names the arguments of another query": ("{y for x in s for y in members(of=x)}", "IQ209"),
    "asks another query about a computed value": ("{y for x in s for y in members(x + 1)}", "IQ209"),
    "asks a query that names demand parameters": ("{y for x in s for y in named(x, t)}", "IQ209"),
    "asks itself": ("{y for x in s for y in q(x, t, m)}", "IQ211"),
    "has a variable that another query takes for a global": (
        "{y for world in s for y in of_world(world)}",
        "IQ209",
    ),
    "takes entries of a dict as one": ("{x for x in m.items()}", "IQ209"),
    "goes through a computed value": ("{x for x in s | t}", "IQ203"),
    "goes through the entries of a computed value": ("{k for k, v in (m or t).items()}", "IQ203"),
    "keeps fewer than none": ("nsmallest(-1, (x for x in s))", "IQ209"),
    "has a default that is no constant": ("max((x for x in s), default=s)", "IQ209"),
    "is a computed constant by default": ("max((x for x in s), default=1 + 1)", "IQ209"),
    "sums from a variable on": ("sum((x for x in s), t)", "IQ209"),
    "sums from a text on": ("sum((x for x in s), start='')", "IQ209"),
    "sums from a truth value on": ("sum((x for x in s), True)", "IQ209"),
    "keeps so many as a variable says": ("nsmallest(t, (x for x in s))", "IQ209"),
    "has an aggregate with an unknown option": ("max((x for x in s), key=len)", "IQ209"),
    "is a list": ("[x for x in s]", "IQ209"),
}
AROUND = f"""
from functools import cache
from heapq import nsmallest
from incoq import Set, query
import math
assigned = len
huge = {HUGE}
world = Set()
def endless(x): return endless(x)
@cache
def cached(x): return x
def several(x):
    y = x
    return y
def spread(*x): return x
def plus(a, b=1): return a + b
def late(a, b=world): return a is b
def reads_world(a): return a in world
@query
def members(of): return {{x for x in of.members}}
@query(demand=("of",))
def named(of, other): return {{x for x in of.members for other in x.friends}}
@query
def of_world(of): return {{x for x in of.members if x in world}}
@query
def q(s, t, m):
    return """


@pytest.mark.parametrize(("returned", "code"), QUERIES.values(), ids=QUERIES)
def test_a_query_is_refused_that(returned: str, code: str) -> None:
    with pytest.raises(incoq.CompileError) as caught:
        incoq.compile_source(AROUND + returned + "\n")
    assert caught.value.code == code
    assert caught.value.position is not None


PROGRAMS = {
    "awaits a query": ("@query\nasync def r(s): return {x for x in s}", "IQ212"),
    "decorates a query": ("@print\n@query\ndef r(s): return {x for x in s}", "IQ208"),
    "asks with any number of sets": ("@query\ndef r(*sets): return {x for s in sets for x in s}", "IQ210"),
    "asks by name alone": ("@query\ndef r(s, *, n): return {x for x in s if x > n}", "IQ210"),
    "computes an option": ("@query(demand='s'.split())\ndef r(s): return {x for x in s}", "IQ208"),
    "imports from inside incoq": ("from incoq.objects import Set as Other", "IQ209"),
    "imports a module inside incoq": ("import incoq.objects", "IQ209"),
    "imports the compiler": ("from incoq import compile_source", "IQ209"),
    "goes through a set asynchronously": (
        "async def f(s): return query({x async for x in s})",
        "IQ212",
    ),
}


@pytest.mark.parametrize(("text", "code"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_is_refused_that(text: str, code: str) -> None:
    header = "from incoq import query\n@query\ndef q(s): return {x for x in s}\n"
    with pytest.raises(incoq.CompileError) as caught:
        incoq.compile_source(header + textwrap.dedent(text) + "\n")
    assert caught.value.code == code
