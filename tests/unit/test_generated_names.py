"""Generated code reads no name that nothing binds: maintenance would take the NameError for a value's own."""

from __future__ import annotations

import builtins
import symtable

import pytest
from both_ways import MODES, compile_in, source
from test_keep_whole import KEPT_APART, QUERIES

from incoq import compile_source

WAYS = {
    "fields": "{x.f for x in s if x.g == x.h}",
    "fields of fields": "{x.f.g for x in s if x.f.h > x.g}",
    "a field behind a short-circuit": "{x for x in s if x.g or x.f.h == 1}",
    "a field of a field behind one": "{x for x in s if x.g or x.f.h.i == x.f.i}",
    "a field that must equal another": "{(x, y) for x in s for y in t if x.g or x.f == y.f if x.f == y}",
    "an entry": "{x for x in s if d[x] == 1}",
    "an entry by a field": "{d[x.f] for x in s}",
    "an entry behind a short-circuit": "{x for x in s if x.g or d[x.f] == 1}",
    "an entry behind one that is compared": "{(x, y) for x in s for y in t if x.g or d[x] == y}",
    "an entry at a constant": "{x for x in s if d['k'] == x}",
    "the values of a dict": "{v for v in d.values() if v in s}",
    "the items of a dict": "{(k, v) for k, v in d.items() if k.f == v}",
    "keys": "{k for k in d if k not in s}",
    "tuples": "{(x, z) for (x, (y, z)) in s if (z, y) in t}",
    "tuples with constants": "{x for (x, _) in s if (x, 2) in t}",
    "what is not there": "{x for x in s if x not in t if x.f not in x.g}",
    "lengths and truth": "{x for x in s if len(x.f) > 2 if not x.g}",
    "sets of sets": "{y for x in s for y in x if x in y.f}",
    "a set in itself": "{x for x in s if s in x.f if x in x.f}",
    "nested counts": "{x for x in s if len({y for y in x.f if y.g == x}) > len({y for y in t if y.g == x})}",
    "nested sets": "{x for x in s if x in {y.f for y in t if y.g == x.g}}",
    "nested extremes": "{(x, max(y.g for y in x.f)) for x in s if min((y.g for y in t), default=0) > x.g}",
    "sums of lists": "sum(x.f * y for x in s for y in x.l)",
    "a sorted list": "sorted([x.f for x in s])[:3]",
    "groups": "{x.f: {y for y in s if y.f == x.f} for x in s}",
    "any and all": "any(x.f for x in s if all(y > x.g for y in x.h))",
    "chosen sources": "{x for x in s if x in (x.f or t)}",
    "calls": "{x for x in s if str(x.f) == x.g.upper() if isinstance(x, tuple)}",
    "many loops": "{e for a in s for b in a.f for c in b.f for e in c.f if e in a.g if e.h == a}",
}


def unbound(code: str) -> set[str]:
    """The names that are read in a module and bound nowhere in it."""
    scopes = [symtable.symtable(code, "<compiled>", "exec")]
    known = {
        *dir(builtins),
        *(s.get_name() for s in scopes[0].get_symbols() if s.is_assigned() or s.is_imported()),
    }
    found: set[str] = set()
    for scope in scopes:
        scopes += scope.get_children()
        for symbol in scope.get_symbols():
            if symbol.is_declared_global() and symbol.is_assigned():
                known.add(symbol.get_name())
            if symbol.is_referenced() and (symbol.is_global() or scope is scopes[0]):
                found.add(symbol.get_name())
    module = {"__name__", "__file__", "__doc__", "__spec__", "__package__", "__loader__", "__builtins__"}
    return found - known - module - {child.get_name() for child in scopes[0].get_children()}


def test_a_name_that_nothing_binds_is_found() -> None:
    assert unbound("def f(x):\n    y = x\n    return y + z + len(w)\nclass C: w = 1\n") == {"z", "w"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", WAYS.values(), ids=WAYS)
def test_code_over_parameters_binds_what_it_reads(query: str, mode: str) -> None:
    assert unbound(compile_in(source(f"@query\ndef q(s, t, d):\n    return {query}\n"), mode).code) == set()


@pytest.mark.parametrize("query", [*WAYS.values(), *QUERIES.values(), *KEPT_APART.values()])
def test_code_over_global_containers_binds_what_it_reads(query: str) -> None:
    made = "R, S, T, s, t, d = Set(), Set(), Set(), Set(), Set(), {}\n"
    assert unbound(compile_source(source(f"{made}@query\ndef q():\n    return {query}\n")).code) == set()
