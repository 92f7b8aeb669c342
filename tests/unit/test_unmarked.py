"""`--all`: unmarked comprehensions are kept, and mean what they mean to Python, exceptions included."""

from __future__ import annotations

import ast
import copy
import functools
import pickle
import subprocess
import sys
import types
from collections import namedtuple
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from both_ways import load, outputs

import incoq

PROGRAM = """
class Member:
    def __init__(self, name, age):
        self.name, self.age = name, age
    def __repr__(self):
        return self.name

class Club:
    def __init__(self):
        self.members, self.roles, self.limit = [], {}, 18
    def adults(self): return {m.name for m in self.members if m.age >= self.limit}
    def total(self): return sum(m.age for m in self.members)
    def oldest(self): return max(m.age for m in self.members)
    def youngest(self): return min((m.age for m in self.members), default=None)
    def above(self, limit): return len([m for m in self.members if m.age > limit])
    def ages(self): return len({m.age for m in self.members})
    def chairs(self): return {m.name for m in self.members if self.roles[m] == "chair"}
    def keys(self): return {k for k, v in self.roles.items() if v > "b"}
    def grown_up(self): return all(m.age > 3 for m in self.members)
    def has(self, member): return any(m is member for m in self.members)
    def same(self, other): return {m.name for m in self.members if m.friends == other}
    def pairs(self): return {(x.name, y.name) for x in self.members for y in self.members if x.age < y.age}

QUERIES = "adults total oldest youngest ages chairs keys grown_up pairs".split()

def shown(answer):
    return sorted(map(str, answer)) if isinstance(answer, set) else answer

def names(clubs): return {m.name for c in clubs for m in c.members}

def main(show):
    club = Club()
    clubs = [club]
    ann, bob = Member("ann", 30), Member("bob", 10)
    asks = [getattr(club, q) for q in QUERIES]
    asks += [lambda: club.above(20), lambda: club.has(ann), lambda: names(clubs), lambda: club.same({1})]
    def everything():
        for ask in asks:
            try:
                show(shown(ask()))
            except Exception as error:
                show(type(error).__name__)
    everything()
    club.members.append(ann); everything()
    club.members.append(bob); everything()
    club.roles[ann] = "chair"; everything()
    club.roles[bob] = "b"; everything()
    club.members.append(ann); everything()
    bob.age = 40; everything()
    bob.age = "old"; everything()
    bob.age = 2.5; everything()
    del bob.age; everything()
    bob.age = 50; everything()
    club.members.append(3); everything()
    club.members.pop(); everything()
    club.roles[bob] = None; everything()
    del club.roles[bob]; everything()
    club.roles[bob] = "chair"; everything()
    ann.friends, bob.friends = {1}, {2}; everything()
    bob.friends = {1}; everything()
    ann.friends = frozenset([1]); everything()
    bob.friends.add(2); everything()
    ann.friends, bob.friends = bob.friends, frozenset([1, 2]); everything()
    ann.friends.add(3); everything()
    clubs.append(None); everything()
    clubs.pop(); everything()
    club.limit = "x"; everything()
    club.limit = 31; everything()
    club.members = None; everything()
    club.members = {ann}; everything()
    del club.members; everything()
    club.members = "abc"; everything()
    club.members = [ann]; everything()
"""


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_unmarked_comprehensions_mean_what_python_means(mode: str) -> None:
    compiled = incoq.compile_source(PROGRAM, mode=mode, unmarked=True)
    assert len([site for site in compiled.sites if site.faults]) == 13
    plain: dict[str, Any] = {}
    exec(PROGRAM, plain)
    expected = outputs(plain)
    assert len(expected) > 300
    assert outputs(load(compiled.code)) == expected


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_unmarked_comprehensions_mean_what_python_means_when_no_container_is_maintained(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which containers are maintained is a guess by names: a wrong one must cost time alone."""
    monkeypatch.setattr("incoq.compile.find_unreached", lambda trees, _: {*ast.walk(trees[0])})
    compiled = incoq.compile_source(PROGRAM, mode=mode, unmarked=True)
    plain: dict[str, Any] = {}
    exec(PROGRAM, plain)
    assert outputs(load(compiled.code)) == outputs(plain)


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_containers_that_do_not_come_to_a_query_are_of_pythons_own_classes(mode: str) -> None:
    text = """
class Club:
    def __init__(self, members, *, roles=()):
        self.members, self.roles, self.errors = members, dict(roles), {}
    def adults(self):
        return {m for m in self.members if m > 17 if m in self.roles}
    def check(self):
        found = {"age": [m for m in self.members if m < 0]}
        self.errors.update(found)
        return self.errors, sorted(found), "a b".split()

def join(club, *found):
    club.members |= set(found)
    return club.adults()

def main(show):
    club = Club({19, 5}, roles=[(19, "chair")])
    errors, names, words = club.check()
    show([type(x).__name__ for x in (errors, errors["age"], names, words)])
    show([type(x) in (set, list, dict) for x in (errors, errors["age"], names, words)])
    show(club.adults(), join(club, 30))
    club.roles[30] = "guest"
    show(club.adults())
"""
    compiled = incoq.compile_source(text, mode=mode, unmarked=True)
    assert [site.node.lineno for site in compiled.sites if site.faults and site.node] == [6]
    plain: dict[str, Any] = {}
    exec(text, plain)
    scope = load(compiled.code)
    assert outputs(scope) == outputs(plain)
    assert not scope["REFUSED"]  # what comes to the query is maintained


def test_the_kept_answer_is_used_where_nothing_raises() -> None:
    compiled = incoq.compile_source(PROGRAM, unmarked=True)
    scope = load(compiled.code)
    club = scope["Club"]()
    scope["add"] = None
    club.members.append(scope["Member"]("ann", 30))
    for query, function in compiled.support.usual.items():
        if query.startswith(("adults", "total", "oldest", "ages", "grown")):

            def evaluated(query: str = query) -> Any:
                raise AssertionError(f"{query} was evaluated")

            assert scope[function](club, lambda: "by its text") == "by its text"  # asked for the first time
            assert scope[function](club, evaluated) is not None


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_an_answer_is_kept_from_the_second_time_on_that_it_is_asked_for(mode: str) -> None:
    text = """
class Club:
    def __init__(self, members): self.members = members
    def adults(self, limit): return {m for m in self.members if m > limit}
def long(names): return any(len(name) > 3 for name in names)
def make():
    members, names = [10, 20, 30], ["ann"]
    long(names)
    return Club(members), names
"""
    compiled = incoq.compile_source(text, mode=mode, unmarked=True)
    scope = load(compiled.code)
    club, names = scope["make"]()
    kept, asked = scope["r_adults_comprehension"], scope["asked_adults_comprehension"]
    for limit in range(3000):
        assert club.adults(limit) == {m for m in (10, 20, 30) if m > limit}
    assert (len(kept), len(asked)) == (0, 1000)
    assert (club.adults(2999), len(kept)) == (set(), 1)
    club.members.append(5000)
    assert (club.adults(2999), club.adults(0)) == ({5000}, {10, 20, 30, 5000})
    told = [names._known_, scope["long"](names), names._known_]
    names.append("anna")
    names[:0] = ["bob"]
    assert [*told, scope["long"](names)] == [False, False, True, True]


def test_what_cannot_be_kept_is_left_as_it_is_and_said() -> None:
    text = """
def f(xs, ys):
    zs = list(xs)
    a = {z for z in zs}
    b = {x for x in xs if x.method()}
    c = {x for x, y in xs}
    d = sum(x for x in xs if any(y > x for y in ys))
    e = {x + y for x in xs for y in ys}
    return a, b, c, d, e
"""
    compiled = incoq.compile_source(text, unmarked=True)
    assert [(left.node.lineno, left.code) for left in compiled.left_out] == [
        (4, "IQ230"), (5, "IQ202"), (6, "IQ209"), (7, "IQ209"),
    ]  # fmt: skip
    assert [site.node.lineno for site in compiled.sites if site.faults and site.node] == [8]


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_memberships_that_are_conditions_mean_what_python_means(mode: str) -> None:
    text = """
class Club:
    def __init__(self): self.members, self.pairs, self.chairs = [], set(), set()
    def paid(self): return {m for m in self.members if (m, 1) in self.pairs}
    def known(self): return {m for m in self.members if (m, (m, 2)) in self.pairs}
    def unnamed(self): return {m for m in self.members if (m, _) in self.pairs}
    def next_to(self): return {m for m in self.members if m + 1 in self.chairs}
    def both(self):
        return {m for m in self.members if m in self.chairs for n in self.members if (n, m) in self.pairs}

def main(show):
    club = Club()
    def everything():
        for ask in (club.paid, club.known, club.unnamed, club.next_to, club.both):
            try:
                show(sorted(ask()))
            except Exception as error:
                show(type(error).__name__)
    everything()
    club.members += [1, 2, 3]; everything()
    club.pairs |= {(1, 1), (2, (2, 2)), (3, 1)}; everything()
    club.chairs |= {1, 3, 4}; everything()
    club.pairs.discard((1, 1)); everything()
    club.members.append("a"); everything()
    club.pairs = None; everything()
"""
    compiled = incoq.compile_source(text, mode=mode, unmarked=True)
    assert len([site for site in compiled.sites if site.faults]) >= 4
    plain: dict[str, Any] = {}
    exec(text, plain)
    assert outputs(load(compiled.code)) == outputs(plain)


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_no_name_of_a_condition_is_bound_by_it_and_none_is_a_wildcard(mode: str) -> None:
    text = """
_, y = 1, 5
def of_global(s, t): return {x for x in s if (_, x) in t}
def some(s, t): return {x for x in s if _ in t}
def unknown(s, t): return {x for x in s if (z, x) in t}
def later(s, t): return {x for x in s if y > 1 for y in t}
def source(s, t): return {x for y in t if x in s for x in y}
def other_source(s, x): return {y for y in x for x in s}
def ordered(s, t): return {x for y in t for x in s if (y, x) == (1, x)}

def main(show):
    s, t = {0, 1, 2}, {(1, 0), (2, 1)}
    def everything():
        for ask in (of_global, some, unknown, later, source, other_source, ordered):
            try:
                show(sorted(ask(s, t)))
            except Exception as error:
                show(type(error).__name__)
    everything()
    t.add((1, 2)); everything()
    t.add(1); everything()
    t.clear(); everything()
    s.clear(); everything()
"""
    compiled = incoq.compile_source(text, mode=mode, unmarked=True)
    left = {node.lineno: (left.code, left.reason) for left in compiled.left_out for node in [left.node]}
    early = {6: "y", 7: "x", 8: "x"}
    assert left == {
        3: ("IQ209", "`_` is a wildcard and cannot be read"),
        4: ("IQ209", "`_` is a wildcard and cannot be read"),
        5: ("IQ201", "the name `z` is bound by nothing"),
        **{
            line: ("IQ209", f"the variable `{name}` is read before its `for`") for line, name in early.items()
        },
    }
    plain: dict[str, Any] = {}
    exec(text, plain)
    assert outputs(load(compiled.code)) == outputs(plain)


def test_what_a_function_binds_itself_does_not_outlive_the_call() -> None:
    text = """
def f(xs):
    import json
    def helper(): pass
    class Inner: pass
    try:
        pass
    except ValueError as error:
        pass
    match xs:
        case [first, *_]:
            pass
    a = {x for x in xs if x is json}
    b = {x for x in xs if x is helper}
    c = {x for x in xs if x is Inner}
    d = {x for x in xs if x is error}
    e = {x for x in xs if x is first}
    f = {x for x in xs for x in xs}
    g = {_ for _ in xs}
    return {x for x in xs if x}
"""
    compiled = incoq.compile_source(text, unmarked=True)
    assert len(compiled.left_out) == 7
    assert {left.code for left in compiled.left_out} == {"IQ209", "IQ230"}
    assert len([site for site in compiled.sites if site.faults]) == 1


def test_only_the_option_takes_them() -> None:
    assert not incoq.compile_source(PROGRAM).sites
    assert incoq.compile_source(PROGRAM).code.endswith(PROGRAM.lstrip())


def test_the_command_takes_them(tmp_path: Path) -> None:
    program, out = tmp_path / "program.py", tmp_path / "out.py"
    program.write_text(
        "def adults(club):\n    return {m for m in club if m > 17}\n"
        "club = {1, 20}\nprint(adults(club))\nclub.add(30)\nprint(sorted(adults(club)))\n"
    )
    command = [sys.executable, "-m", "incoq", "compile", str(program), "--all", "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "1 comprehensions taken, 0 left as they are" in done.stderr
    ran = subprocess.run([sys.executable, "-I", str(out)], capture_output=True, text=True)
    assert ran.stdout == "{20}\n[20, 30]\n"


def test_unmarked_comprehensions_run_in_memory_and_in_packages(tmp_path: Path) -> None:
    text = (
        "class Box:\n    def __init__(self):\n        self.items = set()\n\nbox = Box()\n\n"
        "def large(limit):\n    return {x for x in box.items if x > limit}\n\n"
        "for n in range(9):\n    box.items.add(n)\nprint(len(large(5)))\n"
    )
    (tmp_path / "program.py").write_text(text)
    for given in ("program.py", "."):
        command = [sys.executable, "-m", "incoq.cli", "run", "--all", "--entry", "program", given]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout == "3\n", done.stderr


def test_a_comprehension_that_reads_what_cannot_be_maintained_stays_and_the_others_are_taken() -> None:
    text = """
class Lazy:
    def __init__(self, xs): self.xs, self.limit = xs, 1
    @property
    def size(self): return len(self.xs)
class Plain:
    def __init__(self, xs): self.members = xs
def sizes(all_): return {o.size for o in all_}
def large(p): return {x for x in p.members if x > 1}
"""
    compiled = incoq.compile_source(text, unmarked=True)
    assert [(left.node.lineno, left.code) for left in compiled.left_out] == [(8, "IQ206")]
    assert [site.node.lineno for site in compiled.sites if site.faults and site.node] == [9]
    scope = load(compiled.code)
    assert scope["sizes"]([scope["Lazy"]([1, 2])]) == {2}
    assert scope["large"](scope["Plain"]([1, 2])) == {2}


@pytest.mark.parametrize(
    "more",
    [
        "class Meta(type):\n    def __setattr__(cls, n, v): super().__setattr__(n, v)",
        "def last(club, all_): return [0 for club.members in all_]",
    ],
)
def test_what_the_rest_of_the_program_rules_out_leaves_the_comprehensions_as_they_are(
    more: str,
) -> None:
    text = f"""
class Club:
    def __init__(self): self.members = [1, 30]
    def adults(self): return {{m for m in self.members if m > 17}}
def large(members): return {{m for m in members if m > 20}}
{more}
def main(show):
    club = Club()
    for m in range(20, 23):
        club.members.append(m)
        show(sorted(club.adults()), sorted(large(club.members)))
"""
    compiled = incoq.compile_source(text, unmarked=True)
    assert [(left.node.lineno, left.code) for left in compiled.left_out] == [(4, "IQ220")]
    assert [site.node.lineno for site in compiled.sites if site.faults and site.node] == [5]
    plain: dict[str, Any] = {}
    exec(text, plain)
    assert outputs(load(compiled.code)) == outputs(plain)
    marked = text.replace("    def adults", "    @query\n    def adults")
    with pytest.raises(incoq.CompileError):
        incoq.compile_source("from incoq import query\n" + marked, unmarked=True)


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_looking_through_all_attributes_means_what_it_means_to_python(mode: str) -> None:
    text = """
class Field:
    def __init__(self): self.n = 1
class Club:
    name = Field()
    def __init__(self): self.members = [1, 30]
    def fields(self): return [n for n in dir(type(self)) if isinstance(getattr(type(self), n), Field)]
    def adults(self): return {m for m in self.members if m > 17}
    def set(self, n, members): getattr(self, n)["members"] = members
ASKS = ["adults", "fields", "adults"]
"""

    def use(scope: dict[str, Any]) -> list[Any]:
        club = scope["Club"]()
        told = _told(club, scope["ASKS"])
        club.members.append(40)
        told += _told(club, scope["ASKS"])
        club.set("__dict__", [50])  # goes past everything
        return told + _told(club, scope["ASKS"])

    _both(text, mode, use)


def test_a_marked_query_that_reads_it_is_still_refused() -> None:
    text = """
from incoq import query
class Lazy:
    @property
    def size(self): return 1
@query
def sizes(all_): return {o.size for o in all_}
"""
    with pytest.raises(incoq.CompileError) as caught:
        incoq.compile_source(text, unmarked=True)
    assert caught.value.code == "IQ206"


FOLLOWED = """
import dataclasses

class Plain:
    def __init__(self, n): self.n = n
class Derived(Plain):
    def __init__(self, n):
        super().__init__(n)
        self.other = 1
class Slotted:
    __slots__ = ("n", "m")
    def __init__(self, n): self.n = n
class Fault(ValueError):
    def __init__(self, n): self.n = n
@dataclasses.dataclass(eq=False)
class Data:
    n: int
@dataclasses.dataclass(eq=False, slots=True)
class Slim:
    n: int
class Own:
    def __init__(self, n): self.n, self.seen = n, []

class Group:
    def __init__(self, members): self.members = set(members)
    def above(self, limit): return {m.n for m in self.members if m.n > limit}
    def total(self): return sum(m.n for m in self.members)

def outer():
    class Inner:
        def __init__(self, n): self.n = n
    return Inner
"""


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
@pytest.mark.parametrize("kind", ["Plain", "Derived", "Slotted", "Fault", "Data", "Slim", "Own", "Inner"])
def test_fields_that_code_outside_the_program_assigns_are_seen(kind: str, mode: str) -> None:
    def told(scope: dict[str, Any]) -> list[Any]:
        cls = scope["outer"]() if kind == "Inner" else scope[kind]
        further = type("Further", (cls,), {})  # a class of whoever uses it
        one, two = cls(1), further(5)
        group = scope["Group"]([one, two])
        found: list[Any] = [sorted(group.above(2)), group.total()]
        one.n = 7
        found += [sorted(group.above(2)), group.total()]
        two.n -= 4
        setattr(one, "n", 3)  # noqa: B010
        found += [sorted(group.above(2)), group.total()]
        del two.n
        with pytest.raises(AttributeError):
            group.above(2)
        with pytest.raises(AttributeError):
            del two.n
        two.n = 9
        group.members = [two]
        found += [sorted(group.above(2)), group.total()]
        two.n = 4
        with pytest.raises(AttributeError):
            two.missing  # noqa: B018
        return [*found, sorted(group.above(2)), group.total(), two.n]

    compiled = incoq.compile_source(FOLLOWED, unmarked=True, mode=mode)
    assert sum(bool(site.faults) for site in compiled.sites) == 2
    assert told(load(compiled.code)) == told(load(FOLLOWED))


def test_classes_of_marked_queries_and_those_without_a_field_that_is_read_stay_as_they_are() -> None:
    marked = "from incoq import query\nclass A:\n    def __init__(self): self.n = 1\n"
    marked += "@query\ndef q(s): return {a.n for a in s}\n"
    assert load(incoq.compile_source(marked).code)["A"].__setattr__ is object.__setattr__
    unread = FOLLOWED + "class Other:\n    def __init__(self): self.k = 1\n"
    scope = load(incoq.compile_source(unread, unmarked=True).code)
    assert scope["Other"].__setattr__ is object.__setattr__
    assert scope["Plain"].__setattr__ is not object.__setattr__


def test_a_marked_query_beside_an_unmarked_one_keeps_nothing_that_may_not_be_raised_again() -> None:
    program = """
from incoq import Set, query
class Moody(Exception): pass
class Weight:
    raises = True
    __hash__ = object.__hash__
    def __eq__(self, other):
        if Weight.raises:
            raise Moody
        return True
class Thing: pass
@query
def marked(things):
    return {t.name for t in things if t.weight == 3}
def unmarked(things):
    return {t.name for t in things if t.weight == 5}
def main(show):
    thing = Thing()
    thing.name, thing.weight = "a", Weight()
    things = Set([thing])
    show(marked(things))
    try:
        unmarked(things)
    except Moody:
        show("as in Python")
    Weight.raises = False
    show(marked(things), unmarked(things))
"""
    found = outputs(load(incoq.compile_source(program, unmarked=True).code))
    nothing, everything = ("set", frozenset()), ("set", frozenset({"'a'"}))
    assert found == [(nothing,), ("'as in Python'",), (everything, everything)]


def test_a_method_does_not_hide_a_function_of_its_name_from_the_functions_inside() -> None:
    program = """
class Condition:
    def any(self, allowed):
        def test(values):
            return any(v in allowed for v in values)
        return test
    def all(self, allowed):
        def all(values):
            return all(v in allowed for v in values)
        return all
def main(show):
    allowed, values = [1], [2]
    test = Condition().any(allowed)
    show(test(values))
    values.append(1)
    show(test(values), test(values[:1]))
"""
    compiled = incoq.compile_source(program, unmarked=True)
    assert [(left.node.lineno, left.code) for left in compiled.left_out] == [(9, "IQ202")]  # it calls itself
    assert outputs(load(compiled.code)) == [(("bool", "False"),), (("bool", "True"), ("bool", "False"))]


GROUP = """
class Member:
    def __init__(self, name, age): self.name, self.age = name, age
class Flagged(Member):
    old = False

class Group:
    def __init__(self, members): self.members, self.limit = list(members), 18
    def adults(self): return {m.name for m in self.members if m.age >= self.limit}
    def total(self): return sum(m.age for m in self.members)
    def oldest(self): return max(m.age for m in self.members)
    def having(self): return sum(1 for m in self.members if hasattr(m, "age"))
    def given(self): return {getattr(m, "age", None) for m in self.members}
    def old(self): return {m.name for m in self.members if m.old}
    def scaled(self, by): return {m.age * by for m in self.members}
    def texts(self): return {str(m) for m in self.members}
    def sums(self): return sum(m for m in self.members)
    def set(self, m, age): m.age = age
    def drop(self, m): del m.age

ASKS = "adults total oldest having given old".split()
"""


def _told(group: Any, asks: list[str]) -> list[Any]:
    told: list[Any] = []
    for ask in asks:
        try:
            answer = getattr(group, ask)()
        except Exception as error:
            answer = type(error).__name__, str(error)
        told.append(sorted(map(repr, answer)) if isinstance(answer, set) else repr(answer))
    return told


def _both(text: str, mode: str, use: Any) -> None:
    """What code outside sees of a program, compiled or not."""
    compiled = incoq.compile_source(text, mode=mode, unmarked=True)
    plain: dict[str, Any] = {"__name__": "plain"}
    exec(text, plain)
    scope = load(compiled.code)
    scope["asked_first"] = lambda asked, params: False  # what is asked for once is kept, too
    expected, found = use(plain), use(scope)
    assert len(expected) > 3
    different = [(i, *both) for i, both in enumerate(zip(found, expected, strict=True)) if both[0] != both[1]]
    assert not different


def _outside(kind: str, scope: dict[str, Any]) -> Any:
    """An object of a class that was not compiled."""
    member = scope["Member"]

    class Computing(member):  # type: ignore[misc, valid-type]
        hidden = 30
        age = property(lambda self: self.hidden, lambda self, v: None)

    class Asked(member):  # type: ignore[misc, valid-type]
        hidden = 30

        def __getattr__(self, name: str) -> Any:
            if name == "age":
                return self.hidden
            raise AttributeError(name)

    class Intercepted(member):  # type: ignore[misc, valid-type]
        hidden = 30

        def __getattribute__(self, name: str) -> Any:
            return object.__getattribute__(self, "hidden" if name == "age" else name)

    class Direct(member):  # type: ignore[misc, valid-type]
        def __setattr__(self, name: str, value: Any) -> None:
            self.__dict__[name] = value

    class More(member):  # type: ignore[misc, valid-type]
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value + 1 if name == "age" else value)

    class Equal(member):  # type: ignore[misc, valid-type]
        def __eq__(self, other: object) -> bool:
            return isinstance(other, Equal)

        def __hash__(self) -> int:
            return 1

    if kind == "Space":
        return types.SimpleNamespace(name="space", age=20)
    if kind == "Duck":
        return type("Duck", (), {"name": "duck", "age": 25})()
    if kind == "Mock":
        mocked = mock.Mock(spec=member)
        mocked.age, mocked.name = 20, "mock"
        return mocked
    if kind == "Tuple":
        return namedtuple("Tuple", "name age")._make(("tuple", 20))
    return locals()[kind](kind, 20)


KINDS = ["Computing", "Asked", "Intercepted", "Direct", "More", "Equal", "Space", "Duck", "Mock", "Tuple"]


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
@pytest.mark.parametrize("kind", KINDS)
def test_objects_of_classes_that_were_not_compiled_are_seen_as_they_are(kind: str, mode: str) -> None:
    def use(scope: dict[str, Any]) -> list[Any]:
        one, odd = scope["Member"]("one", 40), _outside(kind, scope)
        group = scope["Group"]([one])
        told: list[Any] = []
        steps: list[Callable[[], Any]] = [
            lambda: None,
            lambda: group.members.append(odd),
            lambda: setattr(odd, "age", 50),
            lambda: setattr(odd, "hidden", 60),
            lambda: group.set(odd, 10),
            lambda: setattr(type(odd), "hidden", 7),
            lambda: group.members.append(_outside(kind, scope)),
            lambda: group.drop(odd),
            lambda: setattr(odd, "age", 2),
            lambda: group.members.remove(odd),
            lambda: setattr(odd, "age", 90),
            lambda: group.members.pop(),
            lambda: setattr(one, "age", 5),
        ]
        for step in steps:
            try:
                step()
            except (AttributeError, TypeError) as error:
                told.append(type(error))
            told += _told(group, scope["ASKS"])
        return told

    _both(GROUP, mode, use)


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_a_value_that_stands_in_a_class_is_read_as_it_is(mode: str) -> None:
    def use(scope: dict[str, Any]) -> list[Any]:
        flagged = scope["Flagged"]("a", 20)
        group = scope["Group"]([flagged])
        told: list[Any] = []
        for step in (
            lambda: None,
            lambda: setattr(scope["Flagged"], "old", True),
            lambda: setattr(flagged, "old", False),
            lambda: setattr(scope["Flagged"], "old", 3),
            lambda: delattr(flagged, "old"),
            lambda: setattr(scope["Flagged"], "old", 0),
        ):
            step()
            told += _told(group, ["old", "adults"])
        return told

    _both(GROUP, mode, use)


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_what_is_set_as_a_whole_is_seen(mode: str) -> None:
    def use(scope: dict[str, Any]) -> list[Any]:
        one = scope["Member"]("one", 40)
        told: list[Any] = []
        group = scope["Group"]([one])
        other = type("Other", (scope["Member"],), {"__slots__": ()})
        for step in (
            lambda: None,
            lambda: setattr(one, "__dict__", {"age": 3, "name": "new", "more": 1}),
            lambda: setattr(one, "__class__", other),
            lambda: setattr(one, "age", 30),
            lambda: setattr(one, "__class__", int),
            lambda: setattr(one, "__dict__", 3),
            lambda: setattr(group, "__dict__", {"members": [one, one], "limit": 1}),
        ):
            try:
                step()
            except TypeError as error:
                told.append(str(error))
            told += [*_told(group, scope["ASKS"]), list(vars(one).items())]
        return told

    _both(GROUP, mode, use)


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_fields_of_copies_that_code_outside_makes_are_seen(
    again: Any, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(scope: dict[str, Any]) -> list[Any]:
        module = types.ModuleType(scope["__name__"])
        monkeypatch.setitem(sys.modules, scope["__name__"], module)
        vars(module).update({k: v for k, v in scope.items() if k in ("Group", "Member", "List", "new_list")})
        group, told = scope["Group"]([scope["Member"]("one", 40)]), []
        told += _told(group, scope["ASKS"])
        for _ in range(2):
            group = again(group)
            told += _told(group, scope["ASKS"])
            group.members[0].age -= 30
            told += _told(group, scope["ASKS"])
            group.members.append(scope["Member"]("two", 50))
            told += _told(group, scope["ASKS"])
            group.limit = 5
            told += _told(group, scope["ASKS"])
        return told

    _both(GROUP, mode, use)


ALIKE = [1, True, 1.0, 2, 2.0, 0, False, 0.0, -0.0, Decimal(1), 0.5, (1,), (True,), (1.0,), ((1,), "a")]


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_values_that_are_equal_and_not_the_same_are_told_apart(mode: str) -> None:
    def use(scope: dict[str, Any]) -> list[Any]:
        group, told = scope["Group"]([]), []
        asks = ["texts", "sums"]
        for x in ALIKE:
            group.members.append(x)
            told += _told(group, asks)
        while group.members:
            group.members.pop(0)
            told += _told(group, asks)
        one, two = scope["Member"]("one", 1), scope["Member"]("two", True)
        for members in ([one, two], [two, one]):
            group = scope["Group"](members)
            told += _told(group, scope["ASKS"])
            for by in ALIKE:
                told += _told(types.SimpleNamespace(scaled=functools.partial(group.scaled, by)), ["scaled"])
                for member in members:
                    member.age = by
                    told += _told(group, scope["ASKS"])
        return told

    _both(GROUP, mode, use)


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_a_list_that_holds_another_equal_element_is_seen(mode: str) -> None:
    def use(scope: dict[str, Any]) -> list[Any]:
        told: list[Any] = []
        for one in ALIKE:
            for other in ALIKE:
                group = scope["Group"]([one, "a"])
                told += _told(group, ["texts"])
                group.members[:] = [other, "a"]
                told += _told(group, ["texts"])
                group.members[0] = one
                told += _told(group, ["texts"])
        return told

    _both(GROUP, mode, use)


def test_a_function_that_code_outside_may_replace_is_not_looked_into() -> None:
    text = "def large(x): return x > 10\ndef some(xs): return {x for x in xs if large(x)}"
    compiled = incoq.compile_source(text, unmarked=True)
    [left] = compiled.left_out
    assert (left.code, left.reason) == (
        "IQ202",
        "code outside may put another function in the place of `large`",
    )


def test_a_local_variable_that_stands_for_what_outlives_the_call_may_be_a_source() -> None:
    text = """
class Club:
    def __init__(self):
        self.members, self.clubs = [1, 30], {}
    def adults(self):
        members = self.members
        return {m for m in members if m > 17}
    def all_adults(self):
        found = set()
        for name, club in self.clubs.items():
            members = club.members
            found |= {m for m in members if m > 17}
        return found
    def once(self):
        members: list = self.clubs["own"].members
        def ask(limit):
            return {m for m in members if m > limit}
        return ask

    def not_these(self, given=None):
        if given:
            members = self.members
        a = {m for m in given if m in members}
        twice = self.members
        twice = self.members
        b = {m for m in twice}
        made = list(self.members)
        c = {m for m in made}
        for x in self.clubs:
            own = self.members
        return a, b, c, {m for m in given if m in own}
    def shared(self):
        global everyone
        everyone = self.members
        return {m for m in everyone}

everyone = []
def main(show):
    club = Club()
    club.clubs["own"] = club
    ask = club.once()
    for step in range(3):
        show(sorted(club.adults()), sorted(club.all_adults()), sorted(ask(5)), sorted(club.shared()))
        club.members.append(20 + step)
    for given in ([], [1]):
        try:
            show(club.not_these(given))
        except NameError as error:
            show(type(error).__name__)
"""
    compiled = incoq.compile_source(text, unmarked=True)
    assert [site.node.lineno for site in compiled.sites if site.faults and site.node] == [7, 12, 17]
    assert {left.code for left in compiled.left_out} == {"IQ230"}
    plain: dict[str, Any] = {}
    exec(text, plain)
    assert outputs(load(compiled.code)) == outputs(plain)


def test_a_field_of_a_class_with_equality_is_read_where_another_class_has_it_too() -> None:
    text = """
class Symbol:
    def __init__(self, name): self.name = name
    def __eq__(self, other): return self.name == other.name
    def __hash__(self): return hash(self.name)
class Terminal:
    def __init__(self, name): self.name = name
class Lexer:
    def __init__(self): self.terminals = []
    def names(self): return {t.name for t in self.terminals}

def main(show):
    lexer = Lexer()
    for made in (Terminal("a"), Symbol("b"), Symbol("b"), Terminal("c")):
        lexer.terminals.append(made)
        show(sorted(lexer.names()))
    lexer.terminals[1].name = "d"
    show(sorted(lexer.names()))
    del lexer.terminals[1:3]
    show(sorted(lexer.names()))
    lexer.terminals[0].name = "e"
    show(sorted(lexer.names()))
"""
    compiled = incoq.compile_source(text, unmarked=True)
    assert [site.node.lineno for site in compiled.sites if site.faults and site.node] == [10]
    plain: dict[str, Any] = {}
    exec(text, plain)
    assert outputs(load(compiled.code)) == outputs(plain)
