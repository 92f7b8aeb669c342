"""Which containers stay plain because no query can reach them: what merely uses one, and what hands it on."""

from __future__ import annotations

import ast

import pytest
from both_ways import same_both_ways

from incoq.codegen.find_private import find_private

USED = {
    "a method": "seen.append(x)",
    "an element": "y = seen[0]",
    "an element that is another one": "seen[0] = x",
    "a slice that is another one": "seen[:] = x",
    "a loop": "for y in seen: pass",
    "a comprehension": "y = {z for z in seen}",
    "its length": "y = len(seen)",
    "its order": "y = sorted(seen)",
    "a comparison": "y = x in seen",
    "a comparison with it": "y = seen == x",
    "the last of several comparisons": "y = x < x == seen",
    "a condition": "if seen: pass",
    "one of two conditions": "if x and seen: pass",
    "a condition inside a condition": "if x and (x or seen): pass",
    "the condition of a loop": "while seen: pass",
    "the condition of a choice": "y = 1 if seen else 2",
    "an assertion": "assert seen",
    "its absence": "y = not seen",
    "the absence of one of two": "y = not (x or seen)",
    "spread arguments": "x(*seen)",
    "spread keywords": "x(**seen)",
    "a formatted string": "y = f'{seen}'",
    "a joined string": "y = ', '.join(seen)",
    "a statement of its own": "seen",
    "a heap": "heapq.heappush(seen, x)",
    "a heap by a name of its own": "from heapq import heappush as put\n    put(seen, x)",
}
HANDED_ON = {
    "to a function": "x(seen)",
    "to another name": "y = seen",
    "to a field": "x.f = seen",
    "into another container": "x.append(seen)",
    "into a display": "y = [seen]",
    "into a heap": "heapq.heappush(x, seen)",
    "to a caller": "return seen",
    "to who asks a generator": "yield seen",
    "as the first that is true": "y = seen or x",
    "as a chosen value": "y = seen if x else 1",
    "as the other chosen value": "y = 1 if x else seen",
    "by a function of its own": "y = lambda: seen",
    "by an inner function": "def g(): return seen",
    "as a copy": "y = seen.copy()",
    "as a slice": "y = seen[:]",
    "by a keyword": "x(y=seen)",
    "as a global": "global seen",
    "by a pattern": "match seen:\n        case [y]: pass",
}


def private(text: str, *fields: str) -> set[str]:
    return {ast.unparse(node) for node in find_private([ast.parse(text)], [], fields)}


@pytest.mark.parametrize("statement", USED.values(), ids=USED)
def test_a_container_is_private_where_the_program_uses(statement: str) -> None:
    assert "['it']" in private(f"import heapq\ndef f(x):\n    seen = ['it']\n    {statement}\n")


@pytest.mark.parametrize("statement", HANDED_ON.values(), ids=HANDED_ON)
def test_a_container_is_not_private_that_is_handed_on(statement: str) -> None:
    assert "['it']" not in private(f"import heapq\ndef f(x):\n    seen = ['it']\n    {statement}\n")


def test_a_variable_of_another_function_of_the_same_name_keeps_none_from_being_private() -> None:
    assert private(
        "def f(x):\n    seen = [1]\n    seen.append(x)\ndef g(x):\n    seen = [2]\n    x(seen)\n"
    ) == {"[1]"}
    assert private("def f(x):\n    seen = [1]\ndef g(seen): return seen\n") == {"[1]"}


def test_an_inner_function_shares_the_variables_of_the_one_around_it() -> None:
    assert private("def f(x):\n    seen = [1]\n    def g(seen):\n        return seen\n") == set()


def test_a_variable_of_a_module_is_handed_on_by_any_function_and_as_an_attribute() -> None:
    assert private("seen = [1]\ndef f(x): seen.append(x)\n") == {"[1]"}
    assert private("seen = [1]\ndef f(x): return seen\n") == set()
    assert private("seen = [1]\ndef f(x): return x.seen\n") == set()
    assert private("seen = [1]\ndef f(x):\n    def g(seen): pass\n    return seen\n") == set()
    assert private("def f(x):\n    global seen\n    seen = [1]\ndef g(): return seen\n") == set()
    assert private("seen = [1]\nfrom m import seen\n") == set()
    assert private("seen = [1]\nfrom m import *\n") == set()
    assert private("def f(x):\n    seen = [1]\nfrom m import *\n") == {"[1]"}


def test_a_field_is_private_unless_a_query_reads_it_or_a_text_names_it() -> None:
    text = "class C:\n    def __init__(self): self.seen = [1]\n"
    assert private(text) == {"[1]"}
    assert private(text, "other") == {"[1]"}
    assert private(text, "seen") == set()
    assert private(text + "def f(o): return getattr(o, 'seen')\n") == set()
    assert private(text + "def f(o):\n    match o:\n        case C(seen=x): return x\n") == set()


def test_the_variable_of_a_class_is_never_private() -> None:
    assert private("class C:\n    seen = [1]\n    other: object = [2]\n") == set()
    assert private("class C:\n    __slots__ = ['seen']\n    def f(self): self.seen = [1]\n") == {"[1]"}


def test_what_a_query_names_is_not_private() -> None:
    tree = ast.parse("seen = [1]\nother = [2]\ndef q(): return {x for x in seen if x in seen}\n")
    assert {ast.unparse(node) for node in find_private([tree], [tree.body[2]], [])} == {"[2]"}


def test_a_container_with_two_names_is_private_where_both_are() -> None:
    assert private("def f(x):\n    a = b = [1]\n    a.append(x)\n") == {"[1]"}
    assert private("def f(x):\n    a = b = [1]\n    a.append(x)\n    return b\n") == set()
    assert private("def f(x):\n    a = x[0] = [1]\n    a.append(x)\n") == set()
    assert private("def f(x):\n    a: object = [1]\n    a.append(x)\n") == {"[1]"}


@pytest.mark.parametrize(
    "made",
    ["{1}", "[1]", "{1: 2}", "{x for x in y}", "[x for x in y]", "{x: x for x in y}", "set(y)", "dict()"],
)
def test_every_container_that_is_made_may_be_private(made: str) -> None:
    assert private(f"def f(y):\n    a = {made}\n    b = frozenset(y), y.made()\n    c = y.made()\n") == {made}


def test_what_syntax_binds_is_private_where_it_is_not_handed_on() -> None:
    assert private("def f(x):\n    a, *rest = x\n    for b, *more in x: more.append(b)\n") == {
        "*rest",
        "*more",
    }
    assert private("def f(x):\n    a, *rest = x\n    return rest\n") == set()
    assert private("def f(**options): options.pop('x')\n") == {"options"}
    assert private("def f(x):\n    def g(**options): options.pop('x')\n") == {"options"}
    assert private("def f(x):\n    def g(**options): return options\n") == set()
    case = "def f(x):\n    match x:\n        case [1, *first]: first.append(1)\n        case {1: 2, **rest}: "
    assert len(private(case + "rest.pop(3)\n")) == 2
    assert len(private(case + "return rest\n")) == 1


def test_a_function_of_the_program_that_is_named_as_a_builtin_is_handed_what_it_gets() -> None:
    assert private("def f(x):\n    seen = [1]\n    zip(seen)\n") == {"[1]"}
    assert private("def zip(y): KEPT.append(y)\ndef f(x):\n    seen = [1]\n    zip(seen)\n") == set()
    assert private("from m import zip\ndef f(x):\n    seen = [1]\n    zip(seen)\n") == set()
    assert private("class zip(Base): pass\ndef f(x):\n    seen = [1]\n    zip(seen)\n") == set()
    assert (
        private("def g(y):\n    global zip\n    zip = y\ndef f(x):\n    seen = [1]\n    zip(seen)\n") == set()
    )
    same_both_ways(
        """
        class Team: pass
        TEAMS = Set()
        def reversed(members):
            team = Team()
            team.members = members
            TEAMS.add(team)
        @query
        def everybody(): return {m for t in TEAMS for m in t.members}
        def main(show):
            mine = {1, 2}
            reversed(mine)
            show(everybody())
            mine.add(3)
            show(everybody())
        """
    )


def test_a_builtin_that_a_function_binds_as_a_global_is_handed_what_it_gets() -> None:
    same_both_ways(
        """
        class Team: pass
        TEAMS = Set()
        def put(members):
            team = Team()
            team.members = members
            TEAMS.add(team)
        def choose():
            global reversed
            reversed = put
        @query
        def everybody(): return {m for t in TEAMS for m in t.members}
        def main(show):
            choose()
            mine = {1, 2}
            reversed(mine)
            show(everybody())
            mine.add(3)
            show(everybody())
        """
    )
