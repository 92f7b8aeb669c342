"""What a name means where it stands: scopes of functions, classes and comprehensions, as Python has them."""

from __future__ import annotations

import ast

import pytest
from both_ways import same_both_ways

from incoq.codegen.name_scopes import Scopes

BUILTIN = {
    "in a module": "x = set()",
    "in a function": "def f(): return set()",
    "in a method beside one of the name": "class C:\n    def set(self): pass\n    def f(self): set()",
    "in a class before its own": "class C:\n    made = set()\n    def set(self): return 1",
    "in the statement that binds it in a class": "class C:\n    set = set()",
    "in the default of the class's own": "class C:\n    def f(self, x=set()): pass\n    set = 1",
    "beside a function that has one": "def f(set): return 1\nx = set()",
    "beside a variable of another function": "def f():\n    set = 1\ndef g(): return set()",
    "in a global of a function": "def f(set):\n    def g():\n        global set\n        return set()",
    "where it is imported as it is": "from builtins import set\nx = set()",
    "where it is imported under its name": "from builtins import set as set\nx = set()",
    "in the first source of a comprehension": "x = [1 for set in set()]",
    "beside a comprehension": "y = [set for set in z]\nx = set()",
    "in a default": "def f(set, x=set()): pass",
    "in a decorator": "@set()\nclass C:\n    set = 1",
    "in the base of a class": "class C(set()):\n    set = 1",
}
OTHER = {
    "of the module": "set = 1\nx = set()",
    "of the module that comes later": "x = set()\nset = 1",
    "of the module, asked in a function": "def f(): return set()\nset = 1",
    "of a global": "def f():\n    global set\n    set = 1\nx = set()",
    "that is deleted": "del set\nx = set()",
    "of a parameter": "def f(set): return set()",
    "of a parameter of a lambda": "f = lambda set: set()",
    "of a positional parameter": "def f(set, /): return set()",
    "of a keyword": "def f(*, set): return set()",
    "of the rest": "def f(*set): return set()",
    "of the keywords": "def f(**set): return set()",
    "of a variable": "def f():\n    set = 1\n    return set()",
    "of a variable that comes later": "def f():\n    x = set()\n    set = 1",
    "of the function around": "def f(set):\n    def g(): return set()",
    "of the function around a class": "def f(set):\n    class C:\n        def g(self): return set()",
    "of a class before": "class C:\n    set = 1\n    x = set()",
    "of a class, by an import": "class C:\n    from m import set\n    x = set()",
    "of a comprehension": "x = [set() for set in y]",
    "of a comprehension, in a later source": "x = [1 for set in y for z in set()]",
    "of a walrus in a comprehension": "x = [(set := 1) for y in z]\nset()",
    "of a walrus in two comprehensions": "x = [[(set := 1) for y in z] for z in z]\nset()",
    "of a loop": "for set in y: pass\nset()",
    "of a function": "def set(): pass\nset()",
    "of an asynchronous function": "async def set(): pass\nset()",
    "of a class of the name": "class set: pass\nset()",
    "of an import": "import set.inner\nset()",
    "of an import under the name": "import m as set\nset()",
    "of an import from a module": "from m import set\nset()",
    "of another builtin under the name": "from builtins import list as set\nset()",
    "of an exception": "try: pass\nexcept E as set: set()",
    "of a pattern": "match y:\n    case [set]: set()",
    "of the rest of a pattern": "match y:\n    case [1, *set]: set()",
    "of the rest of a mapping": "match y:\n    case {1: 2, **set}: set()",
    "of a nonlocal": "def f():\n    set = 1\n    def g():\n        nonlocal set\n        return set()",
}


def called(text: str) -> tuple[Scopes, ast.Name]:
    """The scopes of a module, and the one name `set` in it that is called."""
    tree = ast.parse(text)
    [name] = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    return Scopes(tree), name


@pytest.mark.parametrize("text", BUILTIN.values(), ids=BUILTIN)
def test_a_name_means_the_builtin(text: str) -> None:
    scopes, name = called(text)
    assert scopes.is_builtin(name, ["set", "list"])
    assert not scopes.is_builtin(name, ["list"])


@pytest.mark.parametrize("text", OTHER.values(), ids=OTHER)
def test_a_name_means_something_else_than_the_builtin(text: str) -> None:
    scopes, name = called(text)
    assert not scopes.is_builtin(name, ["set"])


def test_only_a_name_that_is_read_means_a_builtin() -> None:
    tree = ast.parse("m.set\ndel set")
    scopes = Scopes(tree)
    assert not any(scopes.is_builtin(node, ["set"]) for node in ast.walk(tree))


STABLE = {
    "a parameter": "def f(it): it.g = y",
    "a variable": "def f():\n    it = 1\n    it.g = y",
    "beside another's walrus": "def f(it): it.g = (other := y)",
    "beside an inner function that has its own": "def f(it):\n    def g(it): it = 1\n    it.g = y",
}
UNSTABLE = {
    "a variable of the module": "it = 1\nit.g = y",
    "a variable of the module, in a function": "def f(): it.g = y",
    "a global": "def f():\n    global it\n    it = 1\n    it.g = y",
    "a nonlocal": "def f(it):\n    def h():\n        nonlocal it\n        it = 2\n        it.g = y",
    "what an inner function may bind": "def f(it):\n    def h():\n        nonlocal it\n    it.g = y",
    "what a function in a function may bind": "def f(it):\n    def h():\n        def i():\n"
    "            nonlocal it\n    it.g = y",
    "a variable of a class": "class C:\n    it = 1\n    it.g = y",
    "what the value binds": "def f(it): it.g = (it := y)",
    "an attribute": "def f(it): it.h.g = y",
}


@pytest.mark.parametrize("text", STABLE.values(), ids=STABLE)
def test_a_local_keeps_its_value(text: str) -> None:
    assert _stable(text)


@pytest.mark.parametrize("text", UNSTABLE.values(), ids=UNSTABLE)
def test_a_name_may_be_bound_again(text: str) -> None:
    assert not _stable(text)


def _stable(text: str) -> bool:
    tree = ast.parse(text)
    [assigned] = [
        n for n in ast.walk(tree) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Attribute)
    ]
    assert isinstance(assigned.targets[0], ast.Attribute)
    return Scopes(tree).is_stable_local(assigned.targets[0].value, assigned.value)


@pytest.mark.parametrize(
    ("text", "is_global"),
    [
        ("def f(): it()", True),
        ("it()", True),
        ("def f(it): it()", False),
        ("def f(it):\n    def g(): it()", False),
        ("def f(it):\n    def g():\n        global it\n        it()", True),
        ("def f(it):\n    def g():\n        nonlocal it\n        it()", False),
        ("def f():\n    it = 1\n    it()", False),
        ("def f(): [it() for it in y]", False),
        ("class C:\n    def f(self): it()", True),
        ("class C:\n    it = 1\n    def f(self): it()", True),
        ("class C:\n    it = 1\n    it()", False),
    ],
)
def test_a_name_in_a_function_is_that_of_the_module(text: str, is_global: bool) -> None:
    scopes, name = called(text)
    assert scopes.is_global(name) is is_global


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("x.__y", "__y"),
        ("class C:\n    def f(self): self.__y", "_C__y"),
        ("class C:\n    def f(self): self.y", "y"),
        ("class C:\n    def f(self): self.__y__", "__y__"),
        ("class C:\n    def f(self): [x.__y for x in z]", "_C__y"),
        ("class C:\n    def f(self): return lambda x: x.__y", "_C__y"),
        ("class C:\n    class _D:\n        def f(self): self.__y", "_D__y"),
        ("class C(x.__y): pass", "__y"),
    ],
)
def test_a_private_attribute_has_the_name_of_its_class(text: str, meant: str) -> None:
    tree = ast.parse(text)
    [node] = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    assert Scopes(tree).attribute(node) == meant


@pytest.mark.parametrize(
    ("text", "postponed"),
    [
        ("from __future__ import annotations", True),
        ("from __future__ import division, annotations", True),
        ("from __future__ import division", False),
        ("from m import annotations", False),
        ("import annotations", False),
    ],
)
def test_annotations_are_postponed_by_the_future_alone(text: str, postponed: bool) -> None:
    assert Scopes(ast.parse(text)).postponed_annotations is postponed


def test_a_comprehension_whose_variable_is_named_as_a_builtin_leaves_the_builtin_alone() -> None:
    same_both_ways(
        """
        class Team: pass
        @query
        def everybody(t): return {m for m in t.members}
        def main(show):
            show([set + 1 for set in (1, 2)], [list for list in set([3])])
            team = Team()
            team.members = set()
            show(everybody(team))
            team.members.add(3)
            show(everybody(team))
        """
    )
