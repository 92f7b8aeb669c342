"""What the embedded support code does for programs of less usual shapes, and where it refuses."""

from __future__ import annotations

import ast
import textwrap

import pytest
from both_ways import load, same_both_ways, source

import incoq
from incoq.codegen.aggregates import Min
from incoq.codegen.find_reentry import may_reenter
from incoq.codegen.find_unreached import find_unreached
from incoq.codegen.name_scopes import Scopes
from incoq.codegen.quote import quote, trailing
from incoq.frontend.program import Program, parse_module

PROGRAMS = {
    "updates are written on several lines": """
        class User:
            def __init__(self, n): self.n = n
        @query
        def q(s): return {u.n for u in s}
        def main(show):
            users = [User(1), User(2)]
            s = Set(users)
            users[
                0].n += 1
            (users
             [1]).n = users[
                0].n = 7
            show(q(s)); del users[
                0].n, users[
                1].n
            show(q(s))
            for users[
                0].n in (4,
                         5): show(q(s))
            users[0
                  ].n, [users[
                1].n] = (8,
                         [9])
            show(q(s))
    """,
    "no query looks into sets": """
        class Shelf:
            def __init__(self): self.m = {}
        @query
        def places(shelf, title): return {k for k, x in shelf.m.items() if x == title}
        def main(show):
            shelf, s = Shelf(), Set([1])
            s.add(2); s.add(2); s.discard(1); s.discard(7); s.update([4, 5], [6]); s -= {4}; s |= {8}
            s ^= {8, 9}; s &= {2, 5, 9}
            show(s, places(shelf, "a")); shelf.m[1] = "a"; show(places(shelf, "a"))
            shelf.m.update({2: "a"}, z="b"); show(places(shelf, "a"), places(shelf, "b"))
            shelf.m.pop(1); show(places(shelf, "a"))
            shelf.m |= {5: "a"}; shelf.m.setdefault(6, "a"); show(places(shelf, "a"))
            shelf.m.update([(7, "a")]); show(places(shelf, "a"))
            shelf.m.clear(); show(places(shelf, "a"))
    """,
    "an empty dict has no look at what it is asked to give": """
        @query
        def places(m, p): return {k for k, v in m.items() if v == p}
        def main(show):
            m = {}
            show(places(m, 1), m.pop([], 5)); m["a"] = 1; show(places(m, 1))
            for default in ((), (5,)):
                try:
                    m.pop([], *default)
                except TypeError as error:
                    show(str(error))
            m.clear()
            try:
                m.pop([])
            except KeyError as error:
                show(str(error))
    """,
    "lists are heaps before and after a query sees them": """
        import heapq
        from heapq import heappush, merge
        class O:
            __slots__: tuple = ("l", "words")
            def __init__(self): self.l, self.words = [], "a b".split()
        @query
        def held(s): return {y for x in s for y in x.l}
        @query
        def words(s): return {y for x in s for y in x.words}
        def main(show):
            o = O()
            s, push, least = Set([o]), getattr(heapq, "heappush"), getattr(heapq, "nsmallest")
            heappush(o.l, 3); push(o.l, 1); show(o.l); show(held(s), words(s), least(1, o.l))
            push(o.l, 2); heapq.heappop(o.l); show(held(s), list(merge(o.l, [9]))); heappush(o.l, 7)
            o.words = "x-y".split("-"); show(held(s), words(s)); o.words += "q\\nz".splitlines()
            show(words(s))
            o.l[0] = 5; del o.l[-1]; show(held(s)); o.words[:] = []; show(words(s))
    """,
    "sets of a class of the program's own are copied with their attributes": """
        from copy import deepcopy
        class Named(Set):
            label = ""
        @query
        def small(s): return {x for x in s if x < 5}
        def main(show):
            s = Named([1, 7])
            s.label = "some"
            t = deepcopy(s)
            show(small(s), small(t), t.label, type(t).__name__); t.add(2); show(small(s), small(t))
    """,
    "names of builtins are bound elsewhere": """
        @query
        def q(s): return {x for x in s}
        def make():
            global kept
            kept = set([1])
            kept |= {2}
            return [y for x in (1, 2) if [z for z in (3,) if (y := x + z) > 3]]
        class Own:
            def list(self): return [1]
            def made(self): return list("ab") + self.list()
        def main(show):
            show(make(), q(kept), Own().made()); kept.add(7); show(q(kept))
    """,
    "a batch gives and takes fields and elements": """
        from incoq import batch
        class User:
            def __init__(self, n): self.n = n
        @query
        def q(s): return {(u.n, u.loc) for u in s if u.n > 0}
        def main(show):
            a, b = User(1), User(2)
            s = Set([a]); show(q(s))
            with batch():
                a.loc = "x"; b.loc = "y"; s.add(b)
            show(q(s))
            with batch():
                del a.loc; a.loc = "z"; del a.loc; s.discard(b); s.add(b)
            show(q(s), hasattr(a, "loc"))
            with batch():
                del b.loc; a.loc = "k"
            show(q(s), hasattr(b, "loc"))
    """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_answers_are_the_same_where(program: str) -> None:
    same_both_ways(textwrap.dedent(program), ("filtered", "incremental"))


STOPPED = """
from incoq import batch
class Stop(int):
    left = 99
    def __gt__(self, other):
        Stop.left -= 1
        if not Stop.left:
            raise KeyboardInterrupt
        return True
class User:
    def __init__(self, n, other): self.n, self.other = n, other
@query
def q(s): return {(u.loc, u.other) for u in s if u.n > 0}
def place(u, loc): u.loc = loc
def leave(u): del u.loc
def changes(s, a, b, c):
    with batch():
        b.loc = "y"
        del a.loc
        s.add(c)
        s.discard(a)
        c.loc = "z"
"""


@pytest.mark.parametrize("left", range(1, 9))
@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_a_batch_whose_maintenance_is_interrupted_has_made_its_changes(left: int, mode: str) -> None:
    scope = load(incoq.compile_source(source(STOPPED), mode=mode).code)
    a, b, c = (scope["User"](scope["Stop"](1), number) for number in range(3))
    s = scope["Set"]([a, b])
    scope["place"](a, "x")
    assert scope["q"](s) == {("x", 0)}
    scope["Stop"].left = left
    interrupted = False
    try:
        scope["changes"](s, a, b, c)
    except KeyboardInterrupt:
        interrupted = True
    scope["Stop"].left = 99
    assert (hasattr(a, "loc"), b.loc, c.loc, s == {b, c}) == (False, "y", "z", True)
    assert scope["q"](s) == {("y", 1), ("z", 2)}
    scope["place"](b, "w")
    assert scope["q"](s) == {("w", 1), ("z", 2)}
    assert interrupted or left > 2


def test_a_method_whose_object_is_no_demand_parameter_shows_what_is_demanded_of_all() -> None:
    text = """
    class Club:
        def __init__(self): self.members = Set([1, 2])
        @query(demand=("of",))
        def known(self, of): return {x for x in of.members for self in of.clubs}
    def give(of, clubs): of.clubs = clubs
    """
    scope = load(incoq.compile_source(source(text)).code)
    club, of = scope["Club"](), scope["Club"]()
    scope["give"](of, scope["Set"]([club]))
    assert club.known(of) == {1, 2}
    assert [tuple(key) for key in club.known.demanded] == [(of,)]


def test_values_are_followed_through_whatever_takes_them() -> None:
    text = """
def f(xs): return {x for x in xs}
def g(): return [[1]]
h = lambda: (yield [2])
g()[0] = [3]
f(g()[0])
"""
    tree = ast.parse(text)
    [taken] = [n for n in ast.walk(tree) if isinstance(n, ast.SetComp)]
    assert {ast.unparse(n) for n in find_unreached([tree], [taken])} == {"[2]", "[3]"}


def test_a_name_declared_global_is_the_modules() -> None:
    tree = ast.parse("def f():\n    global set\n    return set()\ndef g(list):\n    return list()\n")
    scopes = Scopes(tree)
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    assert [scopes.is_builtin(func, ("set", "list")) for func in calls] == [True, False]


def test_snippets_may_hold_names_as_plain_text_and_no_statements() -> None:
    assert [ast.unparse(s) for s in quote("global counter\nF(1)", F="f")] == ["global counter", "f(1)"]
    assert trailing([], "the cost") == []


@pytest.mark.parametrize(("made", "put"), [("Set(xs)", "add"), ("[*xs]", "append")])
@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_a_removal_by_code_that_was_not_compiled_is_refused_where_the_program_has_none(
    made: str, put: str, mode: str
) -> None:
    text = f"""
    @query
    def sums(s): return {{x + y for x in s for y in s}}
    def new(*xs): return {made}
    def put(s, x): s.{put}(x)
    """
    compiled = incoq.compile_source(source(text), mode=mode)
    assert compiled.plan.only_adds
    scope = load(compiled.code)
    s = scope["new"](1, 2)
    assert scope["sums"](s) == {2, 3, 4}
    scope["put"](s, 5)
    assert scope["sums"](s) == {2, 3, 4, 6, 7, 10}
    with pytest.raises(scope["IncoqRuntimeError"], match="IQ306"):
        s.remove(1)
    assert 1 in s
    assert scope["sums"](s) == {2, 3, 4, 6, 7, 10}


@pytest.mark.parametrize(
    ("body", "acts"),
    [
        ("return self.n == other.n", False),
        ("return super().__eq__(other) and isinstance(other, C)", False),
        ("return update(self)", True),
        ("return self.same(other)", True),
        ("return (lambda: True)()", True),
        ("self.n = 1", True),
        ("del self.d[0]", True),
        ("count += 1", True),
    ],
)
def test_an_operator_that_does_more_than_read_may_update_in_the_midst_of_maintenance(
    body: str, acts: bool
) -> None:
    module = parse_module(
        f"class C:\n    x = 1\n    def f(self): f()\n    def __eq__(self, other): {body}\n", "m"
    )
    assert may_reenter(Program([module])) is acts
    for line, threads in (("import threading", True), ("from gc import collect", True), ("import os", False)):
        assert may_reenter(Program([parse_module(line, "m")])) is threads


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("class C:\n    __hash__ = f", True),
        ("class C:\n    __hash__ = lambda self: s.add(1)", True),
        ("class C:\n    __hash__: F = f", True),
        ("class C:\n    __hash__ = None", False),
        ("class C:\n    __hash__ = object.__hash__", False),
        ("class C:\n    __repr__ = __str__", False),
        ("C.__eq__ = f", True),
        ("setattr(C, '__eq__', f)", True),
        ("C = type('C', (), {'__hash__': f})", True),
        ("class C:\n    @counted\n    def __hash__(self): return 1", True),
        ("class C:\n    @abstractmethod\n    def __hash__(self): return 1", False),
        ("class C:\n    def __hash__(self):\n        with lock: return 1", True),
        ("class C:\n    def __truediv__(self, other): return f()", True),
        ("class C:\n    def __hash__(self): return self.k\n    @property\n    def k(self): return f()", True),
        (
            "class C:\n    def __hash__(self): return getattr(self, 'k')\n    @p\n    def k(self): f()",
            True,
        ),
        ("class C:\n    def __hash__(self): return self.k\n    @property\n    def k(self): return 1", False),
        (
            "class C:\n    def __hash__(self): return self.k\n    @property\n    def k(self): return self.l\n"
            "    @property\n    def l(self): return f()",
            True,
        ),
    ],
)
def test_an_operator_acts_however_it_is_defined_and_whatever_it_calls(text: str, acts: bool) -> None:
    assert may_reenter(Program([parse_module(text, "m")])) is acts


class Part:
    """Comparable with those of its own kind, and with any of kind 0."""

    def __init__(self, kind: int, n: int) -> None:
        self.kind, self.n = kind, n

    def __lt__(self, other: Part) -> bool:
        if self.kind != other.kind and 0 not in (self.kind, other.kind):
            raise TypeError("no order")
        return self.n < other.n


def test_a_heap_that_cannot_be_made_again_is_not_used() -> None:
    least = Min()
    common = [Part(0, n) for n in range(50)]
    first, second, third = Part(1, 100), Part(2, 90), Part(1, 110)
    for part in (*common, first, second):
        least.add(part)
    assert least.value() is common[0]
    for part in common:
        least.remove(part)
    least.add(third)  # far more has left than is there: the heap is made again, of what has no order
    assert len(least.heap) == 3
    with pytest.raises(TypeError, match="no order"):
        least.value()
    least.remove(second)
    assert least.value() is first
