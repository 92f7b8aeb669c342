"""What may change a field or a container unseen is found, with a reason; what only reads is not."""

from __future__ import annotations

import ast

import pytest
from both_ways import same_both_ways

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
    "import json\njson.dumps(o.__dict__, cls=C)": "__dict__ gives the fields away for writing",
    "import json\njson.dumps(o.__dict__, **how)": "__dict__ gives the fields away for writing",
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
    "compile(t, 'f', 'exec')": "compile runs code that is not compiled",
    "builtins.compile(t)": "builtins are reached in a roundabout way",
    "builtins.__dict__": "builtins are reached in a roundabout way",
    "print.__self__": "builtins are reached in a roundabout way",
    "getattr(b, 'setattr')": "setattr is reached by its name",
    "f.__builtins__['delattr']": "builtins are reached in a roundabout way",
    "globals()['__builtins__']": "builtins are reached in a roundabout way",
    "sys._getframe().f_builtins['delattr']": "builtins are reached in a roundabout way",
    "C.__dict__['__dict__']": "__dict__ is reached by its name",
    "names.get('__dict__')": "__dict__ is reached by its name",
    "getattr_static(o, '__dict__')": "__dict__ is reached by its name",
    "getattr(C.n, '__set__')": "__set__ is reached by its name",
    "import gc\ngetattr(gc, 'get_objects')": "the module gc is passed on as a value",
    "setattr(o, '__dict__', d)": "__dict__ is replaced",
    "delattr(o, '__dict__')": "__dict__ is replaced",
    "object.__setattr__(o, '__class__', C)": "__class__ is replaced",
    "setattr(C, '__getattr__', f)": "__getattr__ is replaced",
    "C.__bases__ = (D,)": "__bases__ is replaced",
    "import gc\nf(gc)": "the module gc is passed on as a value",
    "from gc import *": "all of the module gc is imported",
    "__import__('builtins')": "the module builtins is imported unseen",
    "importlib.import_module('ctypes')": "the module ctypes is imported unseen",
    "sys.modules['builtins']": "the module builtins is imported unseen",
    "tools.gc.get_objects()": "gc.get_objects gives the dict of an object away",
    "functools.update_wrapper(o, f, ('n',))": "update_wrapper sets fields unseen",
    "wraps(f, updated=())(o)": "wraps sets fields unseen",
    "def f(): pass\nf.n = 1\nwraps(f)(o)": "wraps sets fields unseen",
    "def g():\n    def f(): pass\n    f.n = 1\n    return wraps(f)(o)": "wraps sets fields unseen",
    "class C:\n    def f(o): pass\nC.f.n = 1\nwraps(C.f)(o)": "wraps sets fields unseen",
    "from timeit import repeat\nrepeat(t, globals=d)": "timeit.repeat runs code that is not compiled",
    "import cProfile\ncProfile.run(t)": "cProfile.run runs code that is not compiled",
    "import doctest, m\ndoctest.testmod(m)": "doctest.testmod runs code that is not compiled",
    "import doctest\ndoctest.testfile('f')": "doctest.testfile runs code that is not compiled",
    "class C:\n    __class__ = D": "class C defines __class__",
    "class C:\n    __slots__ = ('n',)\nD.m = C.n": "the descriptor of n is taken out of its class",
    "class C:\n    __slots__ = 'n'\nclass D(C): 1\nx = D.n": "the descriptor of n is taken out of its class",
    "@dataclass(slots=True)\nclass C:\n    n: int\nx = C.n": "the descriptor of n is taken out of its class",
    "class C:\n    __slots__ = ('n',)\nx = vars(C)[k]": "a descriptor is taken out of its class",
    "o.__setstate__(x)": "__setstate__ sets the fields of an object that exists",
    "class C:\n    def __reduce__(self): return f, (), {}": (
        "a copy of a C may set the fields of an object that exists"
    ),
}
SEEN = [
    "'>>> o.n = 1'", "import doctest\n'>>> o.m = 1'", "import timeit\ntimeit.timeit('o.m = 1')",
    "import doctest\ndef f():\n    '>>> set_n(o, 1)\\n>>> o.n == 1\\nTrue'",
    "import doctest\n'>>> o.n\\n>>>x'",
    "import timeit\ntimeit.timeit(lambda: f(o), number=3)",
    "import timeit\ntimeit.timeit('f(o.n)', 's = 1', globals=globals())",
    "import cProfile\ncProfile.run('main()')", "import doctest\ndoctest.testmod(verbose=True)",
    "import runpy\nrunpy.run_module('f')",
    "import other\nother.run_path('f.py')",
    "timeit.timeit('no text of Python')",
    "print(vars(o))", "len(vars(o))", "vars(o)['n']", "vars(o) == d", "f'{vars(o)}'", "vars()",
    "for k in vars(o): pass", "[k for k in o.__dict__]", "o.__dict__.items()", "f(**vars(o))",
    "f(*o.__dict__)", "x = {**o.__dict__}", "'%s' % vars(o)", "x = o.__dict__ | {}", "not vars(o)",
    "vars = 1\nf = vars", "def __getstate__(self):\n    if x: return super().__getstate__()",
    "o.__getstate__() == d", "inspect.getmembers(o, p)", "p.parse_args()", "p.parse_args([])",
    "import json\njson.dumps(o.__dict__, default=str)", "from pprint import pprint\npprint(vars(o))",
    "def o(): pass\ndef f(o): o.n = 1\n@wraps(f)\ndef g(): pass",
    "class C:\n    def o(self): pass\n    def f(self): self.o.n = 1\n@wraps(f)\ndef g(): pass",
    "getattr(o, 'proxy')", "getattr(o, 'compile', None)", "attrgetter('get_objects')(o)",
    "d['setattr'] = d['delattr']",
    "@dataclass(slots=True)\nclass C:\n    n: ClassVar[int] = 0\nC.n",
    "@d(slots=False)\nclass C:\n    n: int\nC.n",
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


INIT_AGAIN = "__init__ is called on an object that exists already; move its body to another method"
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
    "s.__init__([1])": INIT_AGAIN,
    "def f(): s.__init__([1])": INIT_AGAIN,
    "class C(set):\n    def __init__(self, o): set.__init__(o)": (INIT_AGAIN),
    "class C(set): pass\nC.__init__(s, [1])": INIT_AGAIN,
    "class B(set): 1\nclass C(B): 1\nC.__init__()": INIT_AGAIN,
    "class C(set):\n    def g(o): super().__init__()": INIT_AGAIN,
    "class C:\n    def g(o): super(C, s).__init__()": INIT_AGAIN,
    "super(K, o).__init__()": INIT_AGAIN,
    "type(s).__init__(s)": INIT_AGAIN,
    "getattr(s, '__init__')()": "__init__ is reached by its name",
    "methodcaller('heappush', l, 1)(m)": "heappush is reached by its name",
    "vars(m)['heappop'](l)": "heappop is reached by its name",
    "class C(list):\n    def __new__(cls): return cls.one": "a C that exists already may be filled anew",
    "class C(list):\n  def __new__(k):\n    c = list.__new__(k)\n    if x: c = y\n    return c": (
        "a C that exists already may be filled anew"
    ),
    "import queue\np.queue = l": "the list of a queue changes unseen",
    "import queue\nclass C(queue.Queue):\n  def f(o): o.queue = l": "the list of a queue changes unseen",
    "import queue\nclass C:\n  def __init__(o): o.queue = l\nclass D(C, queue.Queue): 1": (
        "the list of a queue changes unseen"
    ),
    "class B:\n  def f(o): super().__init__()\nclass C(B, list): 1": (INIT_AGAIN),
    "class C:\n  def f(o): o.__init__()\nC.f([1])": INIT_AGAIN,
    "import queue\nclass Queue(list): 1\np.queue = Queue()": "the list of a queue changes unseen",
    "import queue\nclass C:\n  def f(o, l): o.queue = l\nC.f(q, l)": "the list of a queue changes unseen",
}
WITHIN_CONTAINERS = [
    "super().add(1)", "class C(K):\n    def g(self): super(K, self).add(1)",
    "s.add(1)", "l.insert(0, 1)", "x = type(s).__mro__", "vars(o)", "C.__dict__",
    "class C(set):\n    def __init__(self): set.__init__(self)", "p.queue = l",
    "import queue\no.queue = queue.PriorityQueue()", "import queue\no.queue = None",
    "import queue\nclass C(B):\n    def __init__(self, l): self.queue = l",
    "times['heappush'] = 1",
    "getattr(m, 'heappush')(l, 1)", "class C:\n    def g(self): super(C, self).__init__()",
    "class C(set):\n    def __init__(self): super().__init__()",
    "class C(K):\n    def g(self): super().__init__()",
    "class C(list):\n    def __new__(cls): return super().__new__(cls)",
    "class C(list):\n    def __new__(cls):\n        c = list.__new__(cls)\n        return c",
    "class C:\n    def __new__(cls): return cls.one",
    "class B: pass\nclass C(B):\n    def g(self): B.__init__(self)",
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), PAST_CONTAINERS.items())
def test_a_route_past_the_methods_of_containers_is_found(text: str, reason: str) -> None:
    assert [why for _, why in find_container_bypasses(ast.parse(text))] == [reason]


@pytest.mark.parametrize("text", WITHIN_CONTAINERS)
def test_the_own_methods_of_containers_are_no_route(text: str) -> None:
    assert find_container_bypasses(ast.parse(text)) == []


def test_names_that_only_sound_like_routes_are_those_of_the_program() -> None:
    same_both_ways("""
    import functools
    import json
    import queue

    class Task:
        def __init__(self, name, cost):
            self.name, self.cost, self.after = name, cost, []

    class Tool:
        proxy = None

        def __init__(self):
            self.queue = queue.PriorityQueue()
            self.times = {"heappush": 0}

        def compile(self, task):
            self.times["heappush"] = task.cost
            self.queue.put(task.cost)
            return self.type(task, 1, 2)

        def type(self, task, low, high):
            task.cost += low + high
            return json.dumps(task.__dict__, default=str)

        def clear(self):
            self.queue = queue.Queue()

    @query
    def costly(tasks, least):
        return {t.name for t in tasks if t.cost >= least if not t.after}

    def logged(f):
        @functools.wraps(f)
        def inner(*given):
            return f(*given)
        return inner

    @logged
    def task(task, name):
        task.name = name

    def main(show):
        tool, tasks = Tool(), [Task("a", 1), Task("b", 5)]
        show(sorted(costly(tasks, 4)), getattr(tool, "proxy", None))
        for name in ("com" + "pile", "clear"):
            show(getattr(tool, name)(*tasks[:name != "clear"]), sorted(costly(tasks, 4)))
        task(tasks[0], "c")
        show(sorted(costly(tasks, 4)), tool.queue.qsize())
    """)
