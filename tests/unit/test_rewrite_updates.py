"""The rewritten program does what the original does, in the same order, and every update of a field is seen."""
# ruff: noqa: E501  # a program is easier to read on one line

from __future__ import annotations

import ast
import itertools
import random
import re
import sysconfig
import tokenize
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoq.codegen.find_bypasses import find_bypasses
from incoq.codegen.rewrite_updates import (
    Edit,
    InPlace,
    Unsupported,
    UpdateNames,
    apply_edits,
    rewrite_updates,
)

FIELDS = ("f", "g", "_C__p")


def make_names(containers: bool = True, fields: tuple[str, ...] = FIELDS) -> UpdateNames:
    numbers = itertools.count(1)
    return UpdateNames(
        setters={field: f"set_{field}" for field in fields},
        deleters={field: f"del_{field}" for field in fields},
        setattr_="set_any",
        delattr_="del_any",
        set_class="SetClass" if containers else None,
        list_class="ListClass" if containers else None,
        dict_class="DictClass" if containers else None,
        fresh=lambda prefix: f"_{prefix}{next(numbers)}",
    )


def rewrite(source: str, containers: bool = True) -> str:
    return apply_edits(source, rewrite_updates(source, ast.parse(source), make_names(containers)))


class SetClass(set[Any]):
    __slots__ = ()

    def __repr__(self) -> str:
        return repr(set(self))


class ListClass(list[Any]):
    __slots__ = ()


class DictClass(dict[Any, Any]):
    __slots__ = ()


class World:
    """What a program runs in: objects that log their reads and updates, and helpers that are the only way to update."""

    def __init__(self, rewritten: bool) -> None:
        self.log: list[str] = []
        self.rewritten = rewritten
        self.maintaining = False
        world = self

        class Obj:
            def __init__(self, name: str) -> None:
                object.__setattr__(self, "name", name)

            def __repr__(self) -> str:
                return str(object.__getattribute__(self, "name"))

            def __getattribute__(self, attribute: str) -> Any:
                if not attribute.startswith("__"):
                    world.log.append(f"get {self!r}.{attribute}")
                return object.__getattribute__(self, attribute)

            def __setattr__(self, attribute: str, value: Any) -> None:
                world.updated(f"set {self!r}.{attribute} = {value!r}", attribute)
                object.__setattr__(self, attribute, value)

            def __delattr__(self, attribute: str) -> None:
                world.updated(f"del {self!r}.{attribute}", attribute)
                object.__delattr__(self, attribute)

        self.names: dict[str, Any] = {
            "Obj": Obj,
            "ev": self.ev,
            "fail": self.fail,
            "manager": self.manager,
        }
        self.names |= {name: Obj(name) for name in ("o", "p", "q")}
        for obj in (self.names[name] for name in "opq"):
            obj.f, obj.g, obj.h = 1, [1], 0
        self.log.clear()
        if rewritten:
            self.names |= {f"set_{f}": lambda v, o, f=f: self.maintain(setattr, o, f, v) for f in FIELDS}
            self.names |= {f"del_{f}": lambda o, f=f: self.maintain(delattr, o, f) for f in FIELDS}
            self.names |= {
                "set_any": lambda o, n, v: self.maintain(setattr, o, n, v),
                "del_any": lambda o, n: self.maintain(delattr, o, n),
                "SetClass": SetClass,
                "ListClass": ListClass,
                "DictClass": DictClass,
            }
        self.given = set(self.names)
        self.names["log"] = []

    def updated(self, what: str, field: str) -> None:
        if self.rewritten and field in FIELDS and not self.maintaining:
            self.log.append("MISSED")
        self.log.append(what)

    def maintain(self, action: Callable[..., None], *arguments: Any) -> None:
        self.maintaining = True
        try:
            action(*arguments)
        finally:
            self.maintaining = False

    def ev(self, tag: Any, value: Any = None) -> Any:
        self.log.append(f"ev {tag!r}")
        return tag if value is None else value

    def fail(self) -> None:
        self.log.append("fail")
        raise RuntimeError("failed")

    @contextmanager
    def manager(self, value: Any) -> Iterator[Any]:
        self.log.append(f"enter {value!r}")
        try:
            yield value
        finally:
            self.log.append(f"exit {value!r}")

    def run(self, source: str) -> tuple[list[str], dict[str, str]]:
        try:
            exec(compile(source, "program", "exec", dont_inherit=True), self.names)
        except Exception as error:
            message = re.sub("(Set|List|Dict)Class", lambda found: found[1].lower(), str(error))
            self.log.append(f"{type(error).__name__}: {message}")
        left = {
            name: value for name, value in self.names.items() if name not in self.given and name[:2] != "__"
        }
        plain = {
            name: repr(value)
            for name, value in left.items()
            if not callable(value) and not isinstance(value, type)
        }
        return self.log, plain


def assert_same(source: str, containers: bool = True) -> str:
    new = rewrite(source, containers)
    expected, variables = World(False).run(source)
    actual, new_variables = World(True).run(new)
    assert actual == expected, new
    if any("fail" in line or "Error" in line for line in [*expected, variables.get("log", "")]):
        temporaries = re.compile(r"_(value|obj|item)\d+")  # an exception may leave some
        new_variables = {name: value for name, value in new_variables.items() if not temporaries.match(name)}
    assert new_variables == variables, new
    return new


BEHAVIOUR = {
    "a simple assignment": "o.f = 1",
    "the right side before the object": "ev('o', o).f = ev(2)",
    "a right side that fails": "ev('o', o).f = fail()",
    "an object that fails": "fail().f = ev(1)",
    "an assignment of a tuple without parentheses": "o.f = 1, 2",
    "an assignment of a tuple whose elements stand in parentheses": "o.f = (1), (2)",
    "an assignment of a starred tuple": "o.f = *[1, 2], 3",
    "an assignment of an empty tuple": "o.f = ()",
    "an assignment of a lambda": "o.f = 0; k = (lambda: 3)(); o.h = k",
    "an assignment of a named expression": "o.f = (k := ev(3))",
    "an assignment of a conditional": "o.f = 1 if ev(0)else 2",
    "an assignment of a generator": "o.f = sum(x for x in (1, 2))",
    "an object that is a conditional": "(o if ev(1) else p).f = 2",
    "an object that is a call": "ev('p', p).f = ev(1)",
    "a chain of objects": "o.f = p; o.f.g = 5; o.f.h = 6",
    "a chain of targets": "ev('a', o).f = ev('b', p).g = x = ev('e')",
    "a chain with a constant": "o.f = p.f = x = 0",
    "a chain with a constant that is unpacked": "o.f = (x, p.f) = 'ab'",
    "a chain with a tuple": "o.f = x, p.g = ev('e', (1, 2))",
    "a chain that ends in other targets": "d = {}; o.f = d[ev(0)] = o.h = ev('e')",
    "a chain of which the middle fails": "o.f = fail().g = p.f = ev(1)",
    "a pair of fields": "o.f, o.g = 1, 2",
    "a swap of fields": "o.f, p.f = p.f, o.f",
    "targets that change the objects of later ones": "x = o; x.f, x, x.f = 1, p, 2",
    "a tuple with objects evaluated when their turn comes": "ev('a', o).f, k, ev('b', p).g, l = ev('e', (1, 2, 3, 4))",
    "a tuple whose first targets are plain": "d = {}; d[ev('i')], k, ev('a', o).f, d[ev('j')] = 1, 2, 3, 4",
    "a list of targets": "[o.f, x] = ev('e', (1, 2))",
    "a single target with a comma": "o.f, = ev('e', (1,))",
    "a starred field": "*o.f, x = 1, 2, 3",
    "a star between fields": "o.f, *x, o.g = 1, 2, 3, 4",
    "a starred tuple": "*(x, o.f), y = 1, 2, 3",
    "nested targets": "x, (o.f, [y, *p.g]), z = 1, (2, (3, 4, 5)), 6",
    "nested targets of which the inner do not fit": "o.f, (x, o.g), y = 1, (2, 3, 4), 5",
    "targets that do not fit": "o.f, x = ev('e', (1, 2, 3))",
    "an annotated assignment": "o.f: ev('T') = ev(1)",
    "an annotated assignment of a called object": "ev('o', o).f: ev('T') = ev(1)",
    "an annotated assignment in a function": "def k():\n    o.f: ev('T') = ev(1)\nk()",
    "an annotation without a value": "o.f: ev('T')",
    "an annotated assignment of a tuple": "o.f: int = 1, 2",
    "an augmented assignment": "o.f += ev(2)",
    "an augmented assignment with a called object": "ev('o', o).f += ev(2)",
    "an augmented assignment in place": "k = o.g; o.g += [2]; same = k is o.g",
    "an augmented assignment of a missing field": "del o.f; o.f += ev(2)",
    "an augmented assignment whose right side fails": "ev('o', o).f += fail()",
    "an augmented assignment whose right side rebinds the object": "x = o\nx.f += (x := p).f",
    "an augmented assignment whose right side rebinds a local": "def k(x):\n    x.f += (x := p).f\nk(o)",
    "an augmented assignment whose right side rebinds a closure": (
        "def k(x):\n    def l():\n        nonlocal x\n        x = p\n        return 3\n    x.f += l()\nk(o)"
    ),
    "an augmented assignment whose right side rebinds a global": (
        "x = o\ndef l():\n    global x\n    x = p\n    return 3\ndef k():\n    x.f += l()\nk()"
    ),
    "every augmented operator": "\n".join(
        f"o.f {operator}= 2" for operator in ("+", "-", "*", "/", "//", "%", "**")
    )
    + "\no.f = 6\n"
    + "\n".join(f"o.f {operator}= 2" for operator in ("<<", ">>", "&", "|", "^")),
    "an augmented assignment of a tuple": "o.f = (); o.f += 1, 2",
    "an augmented assignment in parentheses": "(o\n  .f) += (1 +\n 2)",
    "a deletion": "del o.f",
    "a deletion of a missing field": "del o.f\ndel o.f",
    "a deletion of several": "a = 1; b = [1, 2]\ndel a, ev('o', o).f, b[ev(0)], p.h, p.g",
    "a nested deletion": "a = 1; b = [1, 2]\ndel (a, [o.f, b[0]]), (p.g)",
    "a deletion that fails in the middle": "a = b = 1\ndel a, fail().f, b",
    "a for over a field": "for o.f in ev('xs', [1, 2]):\n    log.append(o.f)\nelse:\n    log.append(3)",
    "a for over a field on one line": "for ev('o', o).f in [1, 2]: x = o.f; o.g = x",
    "a for over a field without a space": "for(o.f)in(1,2):o.g=3",
    "a for over a tuple": "for x, (o.f, y), *o.g in [(1, (2, 3), 4)]:  # all\n\n    # body\n    z = y",
    "a for over a list of targets": "for[x, o.f]in[(1, 2)]: pass",
    "a for with a definition first": "for o.f in [1]:\n    @(lambda k: ev(3))\n    def k(): pass",
    "a for with continue and break": "for o.f in range(9):\n    if o.f < 3: continue\n    break",
    "a for whose body is continued": "for o.f in [1]: \\\n    x = 1",
    "a with": "with manager(1) as o.f:\n    x = o.f",
    "a with on one line": "with manager(1) as ev('o', o).f: p.f = 2; p.g = 3",
    "a with of several managers": "with manager(1) as ev('o', o).f, manager(ev(2)) as x, manager(3) as p.g: x = 1",
    "a with in parentheses": "with (\n    manager(1) as o.f,  # one: first\n    manager(2) as p.f,\n):\n    x = 1",
    "a with whose assignment fails": "with manager(1) as fail().f, manager(2): pass",
    "a with over a tuple": "with manager((1, 2)) as (x, o.f): pass",
    "a with over fields before another manager": "with manager((1, 2)) as (o.g, o.f), manager(3): pass",
    "a setattr": "setattr(ev('o', o), 'f', ev(1)); setattr(o, 'h', 2); setattr(o, ev('g'), 3)",
    "a delattr": "delattr(o, 'f'); delattr(o, 'h'); delattr(o, ev('g'))",
    "a setattr with starred arguments": "a = (o, 'f', 3); setattr(*a)",
    "a setattr passed on": "import functools; functools.partial(setattr, o, 'f')(3); k = setattr; k(o, 'g', 1)",
    "a setattr of the builtins": "import builtins; builtins.setattr(o, 'f', 1); builtins.delattr(o, 'f')",
    "a setattr in a lambda": "(lambda: setattr(o, 'f', {1}))()",
    "a setattr whose result is iterated": "for x in setattr(o, 'f', 1) or (): pass",
    "a setattr in an f-string": "x = f'a{setattr(o, \"f\", 1)!r:>6}b{ {1} | {2} }'",
    "a setattr of one's own": "def setattr(*a): log.append(a[1:])\nsetattr(o, 'f', 1)",
    "statements on one line": "x = 1; o.f = 2; y = 3; o.g += [4]; z = 5;",
    "a one-line if and else": "if ev(0): o.f = 1; x = 2\nelif ev(0): o.f += 2\nelse: o.f, x = 3, 4",
    "a one-line if with a continued line": "if ev(1): \\\n    o.f += 1",
    "a one-line while, try and finally": "n = 2\nwhile n: o.f = n; n -= 1\ntry: o.f += fail()\nexcept RuntimeError: o.g = 1\n"
    "finally: o.f += 2",
    "a one-line class": "class K: o.f = p.f = ev(1); z = 3",
    "a one-line function": "def k(a=ev([])): o.f = a; a += [1]; return a\nx = k()",
    "a match": "match [1, {'a': 2}]:\n    case [x, {'a': o.h}] if ev(1): pass\n    case [x, {'a': y}]:\n        o.f, o.g = x, y",
    "an async program": (
        "import asyncio\nasync def xs():\n    yield 1\n    yield 2\nasync def k():\n    async for o.f in xs(): pass\n"
        "    o.f = await asyncio.sleep(0, 3)\n    o.f += await asyncio.sleep(0, 3)\n"
        "    return {x async for x in xs()}\nr = asyncio.run(k())"
    ),
    "a generator": "def k():\n    o.f = yield 1\n    o.g += [(yield 2)]\n    o.f = (yield)\n    o.f, x = yield 3\n"
    "i = k(); next(i); i.send(5); i.send(6); i.send(7)\ntry: i.send((8, 9))\nexcept StopIteration: del i",
    "a private field": "class C(Obj):\n    def k(self): self.__p = 1; self.__p += 1; del self.__p\nC('c').k()",
    "sets of all kinds": "a = {1, 2}; b = {x for x in a}; c = set(a); d = set(); e = {*a, *{3}}; k = [set, frozenset][0]([1])",
    "a comprehension in a class body": "class K:\n    a = [1]\n    b = {x for x in a}\n    log.append(b)",
    "a set in a default factory": "from collections import defaultdict\nd = defaultdict(set)\nd[1].add(2)\nx = d[1]; del d",
    "unbound mutators": "s = set(); set.add(s, 1); set.update(s, [2]); x = set.union(s, {3}); list.append(o.g, 3)",
    "classes asked for": "x = isinstance({1}, set), isinstance([], (list, set)), isinstance({}, set | dict)",
    "a subclass": "class K(set): pass\nx = isinstance(K(), set)",
    "generic calls": "x = list[int]((1,)); y = dict[str, int](a=1); from typing import Dict\nz = Dict[str, set]",
    "keywords taken apart": "x = dict(**{'a': 1}); y = [*[1], *{2}]; print(*[], end='')",
    "a display right after a word": "k = lambda:[1]\nx = 1 if 0 else[2]\ny = not[]\nz = 3 in[3]",
    "a name shadowed in a function": "def k(set, list=tuple): return set((1,)), list((2,))\nx = k(frozenset)",
    "a name shadowed in a comprehension": "x = [set((1,)) for set in (frozenset, tuple)]",
    "a name shadowed by a method": "class K:\n    def set(self, a=set()): return set((1,)) | a\nx = K().set()",
}


@pytest.mark.parametrize("source", BEHAVIOUR.values(), ids=BEHAVIOUR.keys())
def test_the_rewritten_program_behaves_as_the_original(source: str) -> None:
    assert_same(source)


@pytest.mark.parametrize("source", BEHAVIOUR.values(), ids=BEHAVIOUR.keys())
def test_the_rewritten_program_behaves_as_the_original_in_a_function_with_other_line_breaks(
    source: str,
) -> None:
    body = "".join(f"\t{line}\n" for line in source.splitlines())
    text = f"# é\ndef main():\n{body}main()\n"
    if "global" in source or "nonlocal" in source:
        text = source
    assert_same(text.replace("\n", "\r\n"))


TEXT = {
    "an assignment keeps its comment": ("o.f  =  x   # new", "set_f(x, o)   # new"),
    "an assignment keeps comments in parentheses": (
        "o.f = (  # why = so\n  1)",
        "set_f((  # why = so\n  1), o)",
    ),
    "a target in parentheses with a comment": ("(o  # c = d.e\n .f) = 1", "set_f(1, o)"),
    "an object in parentheses": ("(a or b).f = 1", "set_f(1, (a or b))"),
    "a continued line": ("o.f = \\\n    1 + \\\n  2", "set_f(1 + \\\n  2, o)"),
    "a yield": ("def k():\n  o.f = yield x", "def k():\n  set_f((yield x), o)"),
    "characters of several bytes": (
        "é = '日本'; ö.f = {'ü'}  # ß",
        "é = '日本'; set_f(SetClass({'ü'}), ö)  # ß",
    ),
    "an augmented assignment of a local": (
        "def k(self):\r\n\tself.f += 1 # up\r\n",
        "def k(self):\r\n\t_value1 = self.f\r\n\t_value1 += 1\r\n\tset_f(_value1, self)\r\n\tdel _value1 # up\r\n",
    ),
    "a semicolon at the end": ("a.f = b.f = 1;", "set_f(1, a); set_f(1, b);"),
    "a nested display": ("o.f = [{1}]", "set_f(ListClass([SetClass({1})]), o)"),
    "an object with a display": ("k({1}).f = 2", "set_f(2, k(SetClass({1})))"),
    "an annotation that is kept": (
        "def k(self):\n    self.f: set = set()",
        "def k(self):\n    set_f(SetClass(), self)\n    self.f: set",
    ),
    "an object.__setattr__": ("object.__setattr__(o, 'f', 1)", "set_any(o, 'f', 1)"),
    "an object.__delattr__": ("object . __delattr__(o, n)", "del_any(o, n)"),
    "a setter that is passed on": ("map(setattr, a, b, c)", "map(set_any, a, b, c)"),
    "a deletion that is split": ("del a, o.f, b, c  # d", "del a\ndel_f(o)\ndel b, c  # d"),
    "a form feed": ("\fo.f = 1\n\f\nx = 2", "\fset_f(1, o)\n\f\nx = 2"),
    "several arguments of max": ("max([1], [2])", "max(ListClass([1]), ListClass([2]))"),
    "a class through its bases": (
        "class X(set, dict[a, b]): pass",
        "class X(SetClass, DictClass[a, b]): pass",
    ),
    "a class made again through fromkeys": ("dict.fromkeys(x)", "DictClass.fromkeys(x)"),
    "a default": ("def k(a: list = []) -> list: pass", "def k(a: list = ListClass([])) -> list: pass"),
    "an import from builtins": (
        "from builtins import set\nx = set()",
        "from builtins import set\nx = SetClass()",
    ),
    "what an unobserved display holds": ("for x in [{1}]: pass", "for x in [SetClass({1})]: pass"),
    "an f-string is rendered anew as a whole": ("x = (f'{ {1} }'\n  'b')", "x = (f'{SetClass({1})}b')"),
    "a match body": (
        "match x:\n    case {'a': [y]}: o.f = [y]",
        "match x:\n    case {'a': [y]}: set_f(ListClass([y]), o)",
    ),
}


@pytest.mark.parametrize(("before", "after"), TEXT.values(), ids=TEXT.keys())
def test_the_new_text_is_as_expected(before: str, after: str) -> None:
    assert rewrite(before) == after


UNCHANGED = {
    "other fields": "o.h = 1; o.h += 1; del o.h; setattr(o, 'h', 1); delattr(o, 'h'); object.__setattr__(o, 'h', 1)",
    "other fields through super": "super().__setattr__('h', 1)",
    "reads": "x = o.f; y = o.f.h; o.f[0] = 1; o.f.h = 2; getattr(o, 'f'); del o.f[0]",
    "bare annotations": "o.f: int\nx: list",
    "annotations": "def k(a: set, *b: list, c: dict) -> dict[str, list]: x: list[set]",
    "membership": "x in {1, 2}; x not in [1]; x in set(y)",
    "iteration": "for x in [1, 2]: y = (z for z in {1})",
    "readers": "len({1}), sorted([2]), min([1]), sum([1]), any([1]), all({1}), frozenset({1}), tuple([1])",
    "joins": "', '.join([a, b]); f'{x}'.join([a])",
    "classes in comparisons": "type(x) is set, type(x) in (list, dict), x.__class__ == dict, type(x) != list",
    "classes in isinstance": "isinstance(x, set), issubclass(y, (dict, list)), isinstance(x, set | None)",
    "classes in except": "try: pass\nexcept (list, set): pass",
    "classes in patterns": "match x:\n    case set() | [1, 2] | {'a': list()}: pass",
    "type expressions": "A = List[int]; B = Callable[[set], list]; C = dict[str, set[int]]; D = list | None",
    "lists of names": "__all__ = ['a']\n__all__ += ['b']\n__all__.extend(['c'])\nclass X:\n    __slots__ = ['a']",
    "decorators": "@k([1], {2})\n@k.l({'a': set})\ndef m(): pass",
    "readers of builtins": "set.issubset(a, b); list.index(a, 1); dict.get(a, 1); set.__name__",
    "f-strings without need": "x = f'{a!r:{b}} {o.f} {len({1})}'; y = f'''{\n a\n}'''",
    "an own class named set": "class set: pass\nx = set(); y = set.add",
    "an imported list": "from k import list\nx = list(y)",
    "an own setattr": "from k import setattr\nsetattr(o, 'f', 1)",
    "patterns of targets": "[a, b] = c; [x, *y] = z",
    "everything odd": "# -*- coding: utf-8 -*-\r\nfrom __future__ import annotations\r\n\f\r\nif  x :\\\r\n  y ;\r\n",
}


@pytest.mark.parametrize("source", UNCHANGED.values(), ids=UNCHANGED.keys())
def test_text_that_is_no_update_stays_byte_for_byte(source: str) -> None:
    assert rewrite_updates(source, ast.parse(source), make_names()) == []


@pytest.mark.parametrize("source", ["x = {1}", "x = [set(), list(), dict(), {}]", "class X(set): pass"])
def test_containers_stay_plain_when_no_class_is_given(source: str) -> None:
    assert rewrite(source, containers=False) == source


@pytest.mark.parametrize("source", ["setattr(o, n, 1)", "super().__setattr__(n, 1)", "o.f = 1"])
def test_nothing_is_an_update_when_no_field_matters(source: str) -> None:
    assert rewrite_updates(source, ast.parse(source), make_names(False, ())) == []


REFUSED = {
    "a comprehension over a field": "[0 for o.f in x]",
    "a comprehension over a tuple with a field": "{0 for a in x for b, *o.g in y}",
    "a generator over a field": "(0 for o.f in x)",
    "super's setattr": "super().__setattr__('f', 1)",
    "super's setattr with a computed name": "super().__setattr__(n, 1)",
    "type's setattr": "type.__setattr__(o, 'f', 1)",
    "an object's own setattr": "o.__setattr__('f', 1)",
    "a class's setattr": "X.__delattr__(o, 'f')",
    "a setattr of an object passed on": "k = o.__setattr__",
    "a manager after mixed targets": "with a as (o.f, x), b: pass",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_rewritten_is_refused_with_its_node(source: str) -> None:
    with pytest.raises(Unsupported) as caught:
        rewrite(source)
    assert isinstance(caught.value.node, ast.AST)
    assert caught.value.reason


def test_a_field_that_is_private_elsewhere_is_refused() -> None:
    source = "class D:\n    def k(self): self.__f = 1"
    with pytest.raises(Unsupported, match="private"):
        rewrite_updates(source, ast.parse(source), make_names(fields=("__f",)))


def test_a_helper_whose_name_a_class_would_mangle_is_refused() -> None:
    with pytest.raises(ValueError, match="mangled"):
        UpdateNames({"f": "__set_f"}, {}, "a", "b", None, None, None, str)


def test_a_field_without_a_deleter_is_deleted_by_the_general_helper() -> None:
    names = UpdateNames({"f": "set_f"}, {}, "set_any", "del_any", None, None, None, str)
    assert (
        apply_edits("del o.f", rewrite_updates("del o.f", ast.parse("del o.f"), names)) == "del_any(o, 'f')"
    )


def test_the_inside_of_skipped_nodes_is_not_touched() -> None:
    source = "@query\ndef k(): return {1}\no.f = query({x for x in y})\nz = {2}"
    tree = ast.parse(source)
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    new = apply_edits(source, rewrite_updates(source, tree, make_names(), [tree.body[0], call]))
    assert new == "@query\ndef k(): return {1}\nset_f(query({x for x in y}), o)\nz = SetClass({2})"


def test_a_text_that_replaces_a_node_moves_with_the_update_around_it() -> None:
    source = "o.f = 1 + query({x})\ny = f'{query({x})}'"
    tree = ast.parse(source)
    calls: dict[ast.AST, str] = {node: "answer(x)" for node in ast.walk(tree) if isinstance(node, ast.Call)}
    new = apply_edits(source, rewrite_updates(source, tree, make_names(), replaced=calls))
    assert new == "set_f(1 + answer(x), o)\ny = f'{answer(x)}'"


def test_the_syntax_tree_is_left_as_it_was() -> None:
    source = "\n".join(
        BEHAVIOUR[name] for name in ("a swap of fields", "a setattr in an f-string", "sets of all kinds")
    )
    tree = ast.parse(source)
    before = ast.dump(tree, include_attributes=True)
    rewrite_updates(source, tree, make_names())
    assert ast.dump(tree, include_attributes=True) == before


def test_a_long_chain_of_operators_and_deep_displays_are_no_problem() -> None:
    source = f"x = {' + '.join(['o.f'] * 600)}\ny = {'[' * 90}{']' * 90}"
    assert rewrite(source).count("ListClass(") == 90


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        apply_edits("abcd", [Edit(0, 2, "x"), Edit(1, 3, "y")])


def test_an_insertion_goes_before_a_replacement_at_the_same_place() -> None:
    assert apply_edits("abcd", [Edit(1, 2, "X"), Edit(1, 1, "<")]) == "a<Xcd"


BYPASSES = {
    "vars for writing": ("vars(o)['f'] = 1", 1),
    "vars updated": ("vars(o).update(f=1)", 1),
    "vars kept": ("d = vars(o)", 1),
    "vars passed on": ("map(vars, x)", 1),
    "vars deleted from": ("del vars(o)['f']", 1),
    "dict kept": ("self.__dict__ = self", 1),
    "dict updated": ("self.__dict__.update(a)", 1),
    "dict passed on": ("k(o.__dict__)", 1),
    "dict by name": ("getattr(o, '__dict__')", 1),
    "reads of vars": (
        "vars(o)['f']; 'f' in vars(o); [k for k in vars(o)]; len(vars(o)); k(**vars(o)); {**vars(o)}",
        0,
    ),
    "reads of the dict": (
        "o.__dict__.get('f'); print(o.__dict__); dict(o.__dict__); f'{o.__dict__}'; '%s' % o.__dict__",
        0,
    ),
    "own names": ("vars()['a'] = 1; globals()['b'] = 2", 0),
    "an own vars": ("def vars(o): pass\nx = vars(o)", 0),
    "exec and eval": ("exec(a); eval(b); x = eval", 3),
    "hooks of a class": ("class K:\n    def __setattr__(self, n, v): pass\n    __getattr__ = k", 2),
    "a hook set from outside": ("K.__setattr__ = k", 1),
    "a property of another name": (
        "class K:\n    @property\n    def h(self): pass\n    def f(self): pass",
        0,
    ),
    "a property by call": ("class K:\n    f = property(a)\nK.g = property(b)", 2),
    "a descriptor": ("class D:\n    def __set__(self, o, v): pass\nclass K:\n    f = D()", 1),
    "a descriptor by hand": ("K.f.__set__(o, 1)", 1),
    "ctypes": ("import ctypes.util\nfrom ctypes import c_int", 2),
    "referents": ("import gc\ngc.get_referents(o)\nfrom gc import get_referents", 2),
    "a renamed builtin": ("from builtins import setattr as s", 1),
    "reads by name": (
        "from operator import attrgetter\nattrgetter('f'); hasattr(o, '__dict__'); getattr(o, 'f')",
        0,
    ),
    "what rewriting sees": (
        "functools.partial(setattr, o); setattr(o, n, v); object.__setattr__(o, n, v)",
        0,
    ),
}


@pytest.mark.parametrize(("source", "count"), BYPASSES.values(), ids=BYPASSES.keys())
def test_routes_that_no_rewrite_sees_are_found(source: str, count: int) -> None:
    found = find_bypasses(ast.parse(source), {"f", "g"})
    assert len(found) == count
    assert all(reason for _, reason in found)


# Random programs.

OBJECTS = ("o", "p", "ev('o', o)", "(o if ev(1) else p)", "x")
VALUES = (
    "1",
    "ev(2)",
    "(ev(1),\n        2)",
    "{1, 2}",
    "[ev(3)]",
    "set()",
    "o.f",
    "x.h",
    "{'a': {1}}",
    "fail()",
    "(y := 3)",
)


def random_target(rng: random.Random, depth: int = 0) -> str:
    kind = rng.randrange(8 if depth < 2 else 6)
    if kind < 4:
        return f"{rng.choice(OBJECTS)}.{rng.choice('ffgh')}"
    if kind < 6:
        return rng.choice(("x", "y", "d[ev(0)]"))
    inner = ", ".join(random_target(rng, depth + 1) for _ in range(2))
    return f"({inner})" if kind == 6 else f"[{inner}]"


def random_value(rng: random.Random, target: str) -> str:
    """A value that usually fits its target."""
    if target[0] in "[(" and "," in target and rng.random() < 0.9:
        parts = ast.parse(target, mode="eval").body
        if isinstance(parts, ast.Tuple | ast.List):
            return (
                "ev('t', ("
                + "".join(random_value(rng, ast.unparse(part)) + ", " for part in parts.elts)
                + "))"
            )
    return rng.choice(VALUES)


def random_simple(rng: random.Random) -> str:
    target = random_target(rng)
    value = random_value(rng, target)
    field = f"{rng.choice(OBJECTS)}.{rng.choice('fgh')}"
    return rng.choice(
        (
            f"{target} = {value}",
            f"{target} = {value}",
            f"{field} = {target} = {value}",
            f"{field} += ev(1)",
            f"{field}: int = {value}",
            f"{field} = o, *ev('s', (1, 2))",
            f"del {field}",
            f"setattr({rng.choice(OBJECTS)}, {rng.choice(('ev(chr(102))', repr('g'), repr('h')))}, {rng.choice(VALUES)})",
            f"d[ev('k')] = {rng.choice(VALUES)}",
            "x = p if x is o else o",
        )
    )


def random_block(rng: random.Random, depth: int, indent: str) -> list[str]:
    lines: list[str] = []
    for _ in range(rng.randrange(1, 4)):
        line = "; ".join(random_simple(rng) for _ in range(rng.choice((1, 1, 2))))
        target = random_target(rng)
        values = random_value(rng, target)
        header = rng.choice(
            (
                f"for {target} in [{values}]:",
                f"with manager({values}) as {target}:",
                "if ev(1):",
                "try:",
                f"with manager(1) as o.f, manager({values}) as {target}:",
            )
        )
        if depth < 2 and rng.random() < 0.4:
            if rng.random() < 0.3:
                lines.append(f"{indent}{header} {line}  # one line")
            else:
                lines += [f"{indent}{header}  # header: = .", *random_block(rng, depth + 1, indent + "  ")]
            if header == "try:":
                lines.append(f"{indent}except Exception as e: log.append(type(e)); o.f = 1; o.g, x = [2], o")
        else:
            lines.append(f"{indent}{line}{rng.choice(('', ';', '  # = .f'))}")
    return lines


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 10**9), st.booleans(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_random_programs_behave_as_before(seed: int, in_function: bool, newline: str) -> None:
    rng = random.Random(seed)
    lines = ["x = o; y = 0; d = {}", *random_block(rng, 0, "")]
    source = "\n".join(lines) + "\n"
    if in_function:
        source = "def main():\n" + "".join(f"    {line}\n" for line in source.splitlines()) + "main()\n"
    assert_same(source.replace("\n", newline))


# The standard library.

COMMON = ("name", "value", "data", "_lock", "args", "_name", "state", "path", "_value", "size", "items", "x")
MARK = re.compile(r"_(value|obj|item)\d+\Z|set_any|del_any|(set|del)_(" + "|".join(COMMON) + r")\Z")

DISPLAYS: dict[str, tuple[type[ast.expr], ...]] = {
    "SetClass": (ast.Set, ast.SetComp),
    "ListClass": (ast.List, ast.ListComp),
    "DictClass": (ast.Dict, ast.DictComp),
}
DISPLAYS |= {name.removesuffix("Class").lower(): kinds for name, kinds in DISPLAYS.items()}  # `list([1])`


class _Undo(ast.NodeTransformer):
    """Takes updates out of a tree and undoes the rest, so that what remains must be the same before and after."""

    def visit(self, node: ast.AST) -> Any:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in DISPLAYS:
                if isinstance(argument, DISPLAYS[name]):
                    return self.generic_visit(argument)
            case ast.Assign(
                targets=[ast.Name(id=bound)],
                value=ast.Call(func=ast.Name(id="DictClass"), args=[ast.Name(id=read)]),
            ) if bound == read:  # `**options` of a function, a dict that is seen from here on
                return None
            case ast.Name(id="SetClass" | "ListClass" | "DictClass" as name):
                return ast.Name(name.removesuffix("Class").lower(), node.ctx)
            case ast.Name(id="set_any" | "del_any" as name):
                return ast.Name(name.replace("_any", "attr"), node.ctx)
            case ast.Attribute(value=ast.Name(id="object"), attr="__setattr__" | "__delattr__" as name):
                return ast.Name(name.strip("_"), node.ctx)
            case ast.Assign(targets=[_, _, *_], value=ast.Constant()):
                single = (self.visit(ast.Assign([target], node.value)) for target in node.targets)
                return [stmt for stmt in single if stmt is not None]
            case ast.For() | ast.With() | ast.AsyncFor() | ast.AsyncWith():
                pass
            case ast.stmt() if not hasattr(node, "body") and (
                _is_update(node) or isinstance(node, ast.Delete)
            ):
                return None
        return self.generic_visit(node)


def _is_update(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Attribute):
        return stmt.target.attr in COMMON
    for node in ast.walk(stmt):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in COMMON:
            return True
        if isinstance(node, ast.Name) and MARK.match(node.id) and not node.id.endswith("_any"):
            return True
    return False


def test_two_hundred_files_of_the_standard_library_parse_and_change_only_where_updates_are() -> None:
    files = [
        file for file in Path(sysconfig.get_path("stdlib")).rglob("*.py") if "site-packages" not in file.parts
    ]
    usual = sorted(
        file for file in files if 2_000 < file.stat().st_size < 15_000 and "lib2to3" not in file.parts
    )
    refused: list[str] = []
    for file in random.Random(7).sample(usual, min(200, len(usual))):
        try:
            with tokenize.open(file) as opened:
                source = file.read_bytes().decode(opened.encoding)
            tree = ast.parse(source)
        except (SyntaxError, UnicodeError):
            continue  # a test of the parser
        try:
            new = apply_edits(source, rewrite_updates(source, tree, make_names(fields=COMMON)))
        except Unsupported as reason:
            refused.append(reason.reason)
            continue
        assert ast.dump(_Undo().visit(ast.parse(new))) == ast.dump(_Undo().visit(tree)), file
    assert all("attr__" in reason for reason in refused)
    assert len(refused) < 10


def in_place(text: str, guards: dict[str, tuple[str, ...]] | None = None) -> str:
    names = UpdateNames({"f": "set_f"}, {"f": "del_f"}, "set_any", "del_any", None, None, None, str)
    return apply_edits(
        text, rewrite_updates(text, ast.parse(text), names, in_place=InPlace(guards or {"f": ("tag",)}))
    )


def test_the_look_up_that_decides_stands_in_place_of_an_update_in_a_function() -> None:
    assert in_place("def g(o, x):\n    o.f = x  # new\n") == (
        "def g(o, x):\n    try:\n        if o in tag:\n            set_f(x, o)\n        else:\n            o.f = x\n"
        "    except (TypeError, AttributeError):\n        if is_key(o, tag):\n            raise\n        o.f = x  # new\n"
    )


def test_the_right_side_is_evaluated_once_before_the_look_up() -> None:
    text = in_place("def g(o, x):\n    o.f = h(x)\n")
    assert text.startswith("def g(o, x):\n    value = h(x)\n    try:\n")
    assert text.endswith("        o.f = value\n    del value\n")


@pytest.mark.parametrize(
    "text",
    [
        "o.f = x\n",
        "class C:\n    o.f = x\n",
        "def g(o, x):\n    if x: o.f = x\n",
        "def g(o, x):\n    o.f = x; pass\n",
        "def g(o, x):\n    o().f = x\n",
        "def g(o, x):\n    o.f = x\n    return locals()\n",
    ],
)
def test_an_update_that_cannot_have_lines_and_a_temporary_of_its_own_is_a_call(text: str) -> None:
    assert "is_key" not in in_place(text)
    assert "set_f(x, o" in in_place(text)


def test_many_look_ups_are_a_call() -> None:
    assert "is_key" not in in_place("def g(o, x):\n    o.f = x\n", {"f": ("a", "b", "c", "d")})
