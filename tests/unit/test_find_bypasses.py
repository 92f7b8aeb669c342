"""What may change a field or a container unseen is found, with a reason; what only reads is not."""

from __future__ import annotations

import ast

import pytest

from incoq.codegen.find_bypasses import find_bypasses, find_container_bypasses

HIDDEN = {  # of the field n
    "vars(o)['n'] = 1": "vars() gives the fields away for writing",
    "f = vars": "vars is passed on as a value",
    "getattr(o, '__dict__')": "__dict__ is reached by its name",
    "operator.attrgetter('a', '__dict__')": "__dict__ is reached by its name",
    "eval('o.n')": "eval runs code that is not compiled",
    "import timeit\ntimeit.timeit('o.n = 1', globals={})": "timeit.timeit runs code that is not compiled",
    "from timeit import repeat as r\nr(f, setup='del o.n')": "timeit.repeat runs code that is not compiled",
    "import cProfile as p\np.run(f'{o}.n = 1')": "cProfile.run runs code that is not compiled",
    "import pdb\npdb.run('setattr(o, name, 1)')": "pdb.run runs code that is not compiled",
    "import runpy\nrunpy.run_path('f.py', {'o': o})": "runpy.run_path runs code that is not compiled",
    "from code import interact\ninteract(local=vars())": "code.interact runs code that is not compiled",
    "import doctest\ndef f():\n    '>>> o.n = 1'": "doctest runs an example that assigns a field; "
    "let a function of the program assign it",
    "__builtins__": "builtins are reached in a roundabout way",
    "builtins.exec(t)": "builtins are reached in a roundabout way",
    "o.__class__ = C": "__class__ is replaced",
    "o.__dict__ = {}": "__dict__ is replaced",
    "del o.__dict__": "__dict__ is replaced",
    "o.__dict__.update(n=1)": "__dict__ gives the fields away for writing",
    "o.__dict__.get": "__dict__ gives the fields away for writing",
    "x = o.__dict__": "__dict__ gives the fields away for writing",
    "f(o.__dict__)": "__dict__ gives the fields away for writing",
    "f(k=o.__dict__)": "__dict__ gives the fields away for writing",
    "x = {o.__dict__: 1}": "__dict__ gives the fields away for writing",
    "x[o.__dict__]": "__dict__ gives the fields away for writing",
    "for x in f: return_ = o.__dict__": "__dict__ gives the fields away for writing",
    "x = o.__dict__ + y": "__dict__ gives the fields away for writing",
    "x = -o.__dict__": "__dict__ gives the fields away for writing",
    "def f(o): return o.__dict__": "__dict__ gives the fields away for writing",
    "C.__setattr__ = f": "__setattr__ of a class is changed",
    "C.n.__set__(o, 1)": "a descriptor is called by hand",
    "gc.get_referents(o)": "gc.get_referents gives the dict of an object away",
    "inspect.getmembers(o)": "inspect.getmembers gives the dict of an object away",
    "x = o.__getstate__()": "__getstate__ gives the dict of an object away",
    "def f(o): return o.__getstate__()": "__getstate__ gives the dict of an object away",
    "f = o.__getstate__": "__getstate__ is passed on as a value",
    "o.__reduce__()[2]": "__reduce__ gives the dict of an object away",
    "weakref.proxy(o)": "a proxy hides the object that is changed",
    "monkey.setattr(o, 'n', 1)": "setattr of something else than Python sets a field unseen",
    "p.parse_args([], o)": "a parser of arguments sets the fields of an object",
    "p.parse_known_args(namespace=o)": "a parser of arguments sets the fields of an object",
    "import os, ctypes.util": "ctypes reaches any memory",
    "from ctypes import py_object": "ctypes reaches any memory",
    "import unittest.mock": "mock sets fields unseen",
    "from unittest import mock": "mock sets fields unseen",
    "from unittest.mock import patch": "mock sets fields unseen",
    "from gc import get_objects": "gc.get_objects gives the dict of an object away",
    "from weakref import proxy": "a proxy hides the object that is changed",
    "from builtins import vars as v": "the builtin vars gets another name",
    "import inspect as i": "the module inspect gets another name",
    "class C:\n    __getattr__ = f": "class C defines __getattr__",
    "class C:\n    __setattr__: F = f": "class C defines __setattr__",
    "class C:\n    async def __delattr__(self, n): pass": "class C defines __delattr__",
    "class C:\n    n = property(f)": "n is a descriptor, not a field",
    "class C:\n    m = n = property(f)": "n is a descriptor, not a field",
    "class C:\n    n: D = functools.cached_property(f)": "n is a descriptor, not a field",
    "class D:\n    def __get__(self, o, c): pass\nC.n = D()": "n is a descriptor, not a field",
}
SEEN = [
    "'>>> o.n = 1'", "import doctest\n'>>> o.m = 1'", "import timeit\ntimeit.timeit('o.m = 1')",
    "import doctest\ndef f():\n    '>>> set_n(o, 1)\\n>>> o.n == 1\\nTrue'",
    "import doctest\n'>>> o.n\\n>>>x'",
    "import timeit\ntimeit.timeit(lambda: f(o), number=3)",
    "import timeit\ntimeit.timeit('f(o.n)', 's = 1', globals=globals())",
    "import cProfile\ncProfile.run('main()')",
    "import runpy\nrunpy.run_module('f')",
    "import other\nother.run_path('f.py')",
    "timeit.timeit('no text of Python')",
    "print(vars(o))", "len(vars(o))", "vars(o)['n']", "vars(o) == d", "f'{vars(o)}'", "vars()",
    "for k in vars(o): pass", "[k for k in o.__dict__]", "o.__dict__.items()", "f(**vars(o))",
    "f(*o.__dict__)", "x = {**o.__dict__}", "'%s' % vars(o)", "x = o.__dict__ | {}", "not vars(o)",
    "vars = 1\nf = vars", "def __getstate__(self):\n    if x: return super().__getstate__()",
    "o.__getstate__() == d", "inspect.getmembers(o, p)", "p.parse_args()", "p.parse_args([])",
    "builtins.setattr(o, 'n', 1)", "import os.path, gc", "import builtins as builtins",
    "from builtins import vars", "from inspect import signature", "from . import mock",
    "from weakref import ref", "getattr(o, 'n')", "def exec(t): pass\nexec(t)", "n = property(f)",
    "class C:\n    m = property(f)", "class C:\n    n = make(f)", "@cached\ndef n(): pass",
    "class C:\n    def n(self): pass", "x.y: int", "class C:\n    __getattr__: F", "class C:\n    x.n = 1",
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), HIDDEN.items())
def test_a_route_past_the_rewritten_updates_is_found(text: str, reason: str) -> None:
    assert reason in [why for _, why in find_bypasses(ast.parse(text), {"n"})]


@pytest.mark.parametrize("text", SEEN)
def test_what_only_reads_or_is_rewritten_is_no_route(text: str) -> None:
    assert find_bypasses(ast.parse(text), {"n"}) == []


PAST_CONTAINERS = {
    "super(Set, s).add(1)": "super() leads past the container's own methods",
    "super(s.__class__, s).add(1)": "super() leads past the container's own methods",
    "super(K, l).append(1)": "super() leads past the container's own methods",
    "f(super(K, s))": "super() leads past the container's own methods",
    "class C:\n    def g(self, s): super(C, s).update(1)": "super() leads past the container's own methods",
    "set.__dict__['add'](s, 1)": "the methods of set are taken out of its dict",
    "vars(list)['append'](l, 1)": "the methods of list are taken out of its dict",
    "type(s).__mro__[1].add(s, 1)": "add of a class that is looked up among the ancestors of another",
    "a = type(s).__base__\na.add(s, 1)": "add is called of a class, in a module that looks for ancestors",
    "s.__init__([1])": "__init__ is called on an object that exists already",
    "def f(): s.__init__([1])": "__init__ is called on an object that exists already",
    "class C(set):\n    def __init__(self, o): set.__init__(o)": (
        "__init__ is called on an object that exists already"
    ),
    "class C(set): pass\nC.__init__(s, [1])": "__init__ is called on an object that exists already",
}
WITHIN_CONTAINERS = [
    "super().add(1)", "super(K, o).__init__()", "class C(K):\n    def g(self): super(K, self).add(1)",
    "s.add(1)", "l.insert(0, 1)", "x = type(s).__mro__", "vars(o)", "C.__dict__",
    "class C(set):\n    def __init__(self): set.__init__(self)", "f().__init__()",
    "class B: pass\nclass C(B):\n    def g(self): B.__init__(self)",
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), PAST_CONTAINERS.items())
def test_a_route_past_the_methods_of_containers_is_found(text: str, reason: str) -> None:
    assert [why for _, why in find_container_bypasses(ast.parse(text))] == [reason]


@pytest.mark.parametrize("text", WITHIN_CONTAINERS)
def test_the_own_methods_of_containers_are_no_route(text: str) -> None:
    assert find_container_bypasses(ast.parse(text)) == []
