"""The routes by which Python code can change what a query reads: one small program each.

`ROUTES` is read by the gate `routes`, by its tests, and by the page `docs/trust-routes.md`. An operation works
on a world `w` (below) and stands in `operation(w, show)`; `module` is what it needs at the top of the module.
"""

from __future__ import annotations

from dataclasses import dataclass

WORLD = """from incoq import Set, lru, query
{module}
{user}

@query
def fans(celeb, group):
    return {{u.email for u in celeb.followers if u in group if u.loc == "NYC"}}

@query
def rich(group):
    return {{u.email for u in group if u.points > 1}}

@query
def priced(m):
    return {{k for k, v in m.items() if v > 1}}

@query
def total(club):
    return sum(u.points for u in club.members)

class Club:
    def __init__(self):
        self.members = []

class World:
    def __init__(self):
        self.a, self.b, self.c = User("a", "NYC"), User("b", "NYC"), User("c", "LA")
        self.group = Set([self.a, self.b])
        self.a.followers.add(self.b)
        self.a.followers.add(self.c)
        self.prices = {{"x": 1, "y": 2}}
        self.club = Club()
        self.club.members.append(self.a)
        self.club.members.append(self.b)

def operation(w, show):
    {operation}

def main(show):
    w = World()
    def answers():
        show(sorted(fans(w.a, w.group)), sorted(fans(w.b, w.group)), sorted(rich(w.group)))
        show(sorted(priced(w.prices)), total(w.club))
    answers()
    for _ in range(2):
        try:
            operation(w, show)
        except Exception as error:
            if hasattr(error, "code"):
                raise
            show(type(error).__name__)
        answers()
    for u in w.a, w.b, w.c:
        u.loc, u.points = "NYC", 2
    w.group.update([w.a, w.b, w.c])
    answers()
"""

USER = """class User:
    def __init__(self, email, loc, points=0):
        self.email, self.loc, self.points = email, loc, points
        self.followers = Set()
"""


@dataclass(frozen=True)
class Route:
    """A way to change data: what is written, and what it stands for."""

    name: str
    operation: str
    module: str = ""
    user: str = USER

    @property
    def text(self) -> str:
        """The whole program."""
        indented = self.operation.replace("\n", "\n    ")
        return WORLD.format(module=self.module, user=self.user, operation=indented)


def _user(extra: str = "", bases: str = "", head: str = "") -> str:
    """The class of users with something more in it."""
    return USER.replace("class User:", f"{head}class User{bases}:") + extra


_SLOTS = USER.replace(
    "class User:\n", 'class User:\n    __slots__ = ("email", "loc", "points", "followers")\n'
)

_COMPUTED = USER.replace("self.points = email, loc, points", "_ = email, loc, points").replace(
    "        self.followers", "        if type(self) is User: self.points = points\n        self.followers"
)

FIELDS = (
    Route("assignment", 'w.b.loc = "LA"'),
    Route("several targets", 'w.a.loc = w.b.loc = "LA"; w.a.points, (w.b.points, *_) = 3, (4, 5)'),
    Route("augmented assignment", "w.b.points += 2"),
    Route("annotated assignment", "w.b.points: int = 2"),
    Route("target of `for` and `with`", "import contextlib\nfor w.b.points in (1, 2): pass\nwith contextlib.nullcontext(3) as w.a.points: pass"),
    Route("`del`", "del w.b.loc"),
    Route("`setattr` and `delattr`", 'setattr(w.b, "points", 2); delattr(w.a, "loc")'),
    Route("`setattr` with a computed name", 'for f in ("loc", "points"): setattr(w.b, f[:], 3)'),
    Route("`setattr` under another name", 'put = setattr; put(w.b, "points", 2)'),
    Route("`functools.partial(setattr, …)`", 'functools.partial(setattr, w.b, "points")(2)', "import functools"),
    Route("`map(setattr, …)`", 'list(map(setattr, [w.a, w.b], ["points"] * 2, [2, 3]))'),
    Route("`object.__setattr__`", 'object.__setattr__(w.b, "points", 2)'),
    Route("`object.__setattr__` in a constructor, of another object", "Other(w.b)", "class Other:\n    def __init__(self, o):\n        object.__setattr__(o, 'points', 2)"),
    Route("`object.__setattr__` in a function that a constructor makes", "w.b.put(2)", user=USER + "        self.put = lambda n: object.__setattr__(self, 'points', n)\n"),
    Route("`object.__setattr__` of a frozen class", "object.__setattr__(w.b, 'points', 2); object.__delattr__(w.a, 'loc')", "import dataclasses", "@dataclasses.dataclass(frozen=True, eq=False)\nclass User:\n    email: str\n    loc: str\n    points: int = 0\n    followers: object = None\n    def __post_init__(self):\n        object.__setattr__(self, 'followers', Set())\n"),
    Route("`setattr` of `__dict__`", 'setattr(w.b, "__dict__", {"email": "b", "loc": "LA", "points": 2, "followers": Set()})'),
    Route("`setattr` of a computed name of `__dict__`", 'setattr(w.b, "__di" + "ct__", {"email": "b", "loc": "LA", "points": 2, "followers": Set()})'),
    Route("`delattr` of `__dict__`", 'delattr(w.b, "__dict__")'),
    Route("`setattr` of `__class__`", "if hasattr(w.b, 'points'): del w.b.points\nsetattr(w.b, '__class__', Other)", user=_user("class Other(User):\n    points = 2\n")),
    Route("`object.__setattr__` of `__class__`", "if hasattr(w.b, 'points'): del w.b.points\nobject.__setattr__(w.b, '__class__', Other)", user=_user("class Other(User):\n    points = 2\n")),
    Route("`o.__setattr__`", 'w.b.__setattr__("points", 2)'),
    Route("`super().__setattr__`", "w.b.put(2)", user=_user('    def put(self, n):\n        super().__setattr__("points", n)\n')),
    Route("`type(o).__setattr__`", 'type(w.b).__setattr__(w.b, "points", 2)'),
    Route("`operator.methodcaller`", 'methodcaller("__setattr__", "points", 2)(w.b)', "from operator import methodcaller"),
    Route("a method looked up by a computed name", 'getattr(w.b, "__set" + "attr__")("points", 2)'),
    Route("`vars(o)[…]`", 'vars(w.b)["points"] = 2'),
    Route("`o.__dict__[…]`", 'w.b.__dict__["points"] = 2'),
    Route("`o.__dict__.update`", "w.b.__dict__.update(points=2)"),
    Route("`o.__dict__` under another name", 'd = w.b.__dict__; d["points"] = 2'),
    Route("`o.__dict__ = …`", 'w.b.__dict__ = {"email": "b", "loc": "LA", "points": 2, "followers": Set()}'),
    Route("`getattr(o, \"__dict__\")`", 'getattr(w.b, "__dict__")["points"] = 2'),
    Route("a computed name of `__dict__`", 'getattr(w.b, "__di" + "ct__")["points"] = 2'),
    Route("`operator.attrgetter(\"__dict__\")`", 'attrgetter("__dict__")(w.b)["points"] = 2', "from operator import attrgetter"),
    Route("the descriptor of `__dict__`", 'User.__dict__["__dict__"].__get__(w.b)["points"] = 2'),
    Route("`inspect.getattr_static`", 'inspect.getattr_static(User, "__dict__").__get__(w.b)["points"] = 2', "import inspect"),
    Route("`operator.setitem` of `vars`", 'operator.setitem(vars(w.b), "points", 2)', "import operator"),
    Route("`o.__getstate__()`", 'w.b.__getstate__()["points"] = 2'),
    Route("`o.__getstate__()` by a function", 'state(w.b)["points"] = 2', "def state(o): return o.__getstate__()"),
    Route("`o.__getstate__` as a value", 'state = w.b.__getstate__; state()["points"] = 2'),
    Route("`o.__reduce_ex__(2)`", 'w.b.__reduce_ex__(2)[2]["points"] = 2'),
    Route("`gc.get_referents`", 'gc.get_referents(w.b)[0]["points"] = 2', "import gc"),
    Route("`gc.get_referrers`", '[d for d in gc.get_referrers(w.b.followers) if isinstance(d, dict) and "points" in d][0]["points"] = 2', "import gc"),
    Route("`inspect.getmembers`", 'dict(inspect.getmembers(w.b))["__dict__"]["points"] = 2', "import inspect"),
    Route("`exec`", 'exec("w.b.points = 2")'),
    Route("`eval`", 'eval("setattr(w.b, \'points\', 2)")'),
    Route("`compile`", "types.FunctionType(compile('w.b.points = 2', 'x', 'exec'), {'w': w})()", "import types"),
    Route("`timeit` of a text", "timeit.timeit('w.b.points = 2', globals={'w': w}, number=1)", "import timeit"),
    Route("`timeit` of a function", "timeit.timeit(lambda: setattr(w.b, 'points', 2), number=1)", "import timeit"),
    Route("`code`", "code.InteractiveInterpreter({'w': w}).runsource('w.b.points = 2')", "import code"),
    Route("`doctest`", "doctest.run_docstring_examples(documented, {'w': w})", "import doctest\ndef documented():\n    '>>> w.b.points = 2'"),
    Route("`getattr(builtins, name)`", "getattr(builtins, 'setattr')(w.b, 'points', 2)", "import builtins"),
    Route("the dict of `builtins`", "vars(builtins)['setattr'](w.b, 'points', 2)", "import builtins"),
    Route("`__import__` of `builtins`", "b = __import__('builtins'); b.exec('w.b.points = 2', {'w': w})"),
    Route("the module of a builtin", "getattr(print.__self__, 'set' + 'attr')(w.b, 'points', 2)"),
    Route("`ctypes`", 'ctypes.pythonapi.PyObject_SetAttrString(ctypes.py_object(w.b), b"points", ctypes.py_object(2))', "import ctypes"),
    Route("`ctypes`, imported by a function", "c = importlib.import_module('ctypes'); c.pythonapi.PyObject_SetAttrString(c.py_object(w.b), b'points', c.py_object(2))", "import importlib"),
    Route("`o.__class__ = …`", "w.b.__class__ = Other", "class Other:\n    points = 2"),
    Route("`o.__init__` again", 'w.b.__init__("b", "LA", 2)'),
    Route("`User.__init__(o, …)`", 'b = w.b; User.__init__(b, "b", "LA", 2)'),
    Route("`__new__` that gives an old object", 'Single("x"); w.group.add(Single("x")); Single("y")', "", _user("class Single(User):\n    one = None\n    def __new__(cls, *args):\n        if cls.one is None:\n            cls.one = object.__new__(cls)\n        return cls.one\n    def __init__(self, email):\n        super().__init__(email, 'NYC', 5)\n")),
    Route("an inherited method", "w.b.rise()", "class Rising:\n    def rise(self):\n        self.points += 2", _user("", "(Rising)")),
    Route("`types.MethodType`", "types.MethodType(lambda self, n: setattr(self, 'points', n), w.b)(2)", "import types"),
    Route("`weakref.proxy`", "weakref.proxy(w.b).points = 2", "import weakref"),
    Route("`weakref.proxy` by its name", "getattr(weakref, 'proxy')(w.b).points = 2", "import weakref"),
    Route("`weakref` under another name", "m = weakref; m.proxy(w.b).points = 2", "import weakref"),
    Route("`weakref.ref`", "weakref.ref(w.b)().points = 2", "import weakref"),
    Route("a callback of `weakref.finalize`", "x = Token(); weakref.finalize(x, setattr, w.b, 'points', 2); del x", "import weakref\nclass Token: pass"),
    Route("`__del__`", "w.x = Ending(w); del w.x", "class Ending:\n    def __init__(self, w):\n        self.w = w\n    def __del__(self):\n        self.w.b.points += 2"),
    Route("`__slots__`", "w.b.points = 2; del w.a.loc", user=_SLOTS),
    Route("the descriptor of a slot", "User.points.__set__(w.b, 2)", user=_SLOTS),
    Route("the descriptor of a slot, from the class's dict", 'User.__dict__["points"].__set__(w.b, 2)', user=_SLOTS),
    Route("the descriptor of a slot, by its name", 'getattr(User.points, "__set__")(w.b, 2)', user=_SLOTS),
    Route("a slot under another name", "w.x = Kind('x', 'NYC'); w.group.add(w.x); w.x.score = 2; show(sorted(rich(w.group))); w.group.discard(w.x)", user=_SLOTS + "class Kind(User):\n    score = User.points\n"),
    Route("a class attribute, assigned on objects", "w.b.rank = 5; w.b.points = 2", user=_user("    rank = 1\n    points = 0\n")),
    Route("a class attribute, assigned on the class", "del w.b.points; User.points = 2", user=_user("    points = 0\n")),
    Route("`setattr` of a class", 'del w.b.points; setattr(User, "points", 2)', user=_user("    points = 0\n")),
    Route("a class attribute through `type(o)`", "del w.b.points; type(w.b).points = 2", user=_user("    points = 0\n")),
    Route("other bases of a class", "if hasattr(w.b, 'points'): del w.b.points\nUser.__bases__ = (Richer,)", "class Poorer: pass\nclass Richer:\n    points = 2\n", _user("", "(Poorer)")),
    Route("a class attribute through a variable", "cls = w.b.__class__; del w.b.points; cls.points = 2", user=_user("    points = 0\n")),
    Route("a class that is given to a function", "del w.b.points; put(User, 2)", "def put(kind, n):\n    kind.points = n"),
    Route("the subclasses of a class", "x = Kind('x', 'NYC'); w.group.add(x); del x.points\nfor kind in User.__subclasses__(): setattr(kind, 'points', 2)", "", _user("class Kind(User):\n    pass\n")),
    Route("a property that a loop puts into a class", "w.b._points = 2", user=_user("    for points in [property(lambda self: self._points, lambda self, n: setattr(self, '_points', n))]:\n        pass\n")),
    Route("a new attribute of a class", "del w.b.points; cls = User; cls.points = 2"),
    Route("a property with a setter", "w.b.points = 2", user=_user("    @property\n    def points(self):\n        return self._points\n    @points.setter\n    def points(self, n):\n        self._points = n\n")),
    Route("a property beside the field", "w.b.score = 2", user=_user("    @property\n    def score(self):\n        return self.points\n    @score.setter\n    def score(self, n):\n        self.points = n\n")),
    Route("a descriptor of the program", "w.b.points = 2", "class Kept:\n    def __set_name__(self, owner, name):\n        self.name = '_' + name\n    def __get__(self, o, owner=None):\n        return getattr(o, self.name)\n    def __set__(self, o, v):\n        setattr(o, self.name, v)", _user("    points = Kept()\n")),
    Route("`functools.cached_property`", "w.b.points", "import functools", _user("    @functools.cached_property\n    def points(self):\n        return 2\n")),
    Route("a class with `__setattr__`", "w.b.points = 2", user=_user("    def __setattr__(self, name, value):\n        object.__setattr__(self, name, value)\n")),
    Route("a class with `__getattr__`", "del w.b.points", user=_user("    def __getattr__(self, name):\n        return 2\n")),
    Route("`__setattr__` put into a class", "User.__setattr__ = lambda o, n, v: object.__setattr__(o, n, 9); w.b.points = 2"),
    Route("`setattr` of `__setattr__`", "setattr(User, '__setattr__', lambda o, n, v: object.__setattr__(o, n, 9)); w.b.points = 2"),
    Route("`setattr` of `__eq__`", "setattr(User, '__eq__', lambda a, b: True); setattr(User, '__hash__', lambda s: 7)"),
    Route("a property in a class that `type` makes of a dict", "x = make('x', 'NYC'); x._p = 0; w.group.add(x); show(sorted(rich(w.group))); x._p = 5; show(sorted(rich(w.group))); w.group.discard(x)", user=_COMPUTED + "make = type('X', (User,), dict(points=property(lambda s: s._p)))\n"),
    Route("a property in a class that `types.new_class` makes", "x = make('x', 'NYC'); x._p = 0; w.group.add(x); show(sorted(rich(w.group))); x._p = 5; show(sorted(rich(w.group))); w.group.discard(x)", "import types", _COMPUTED + "make = types.new_class('X', (User,), {}, lambda ns: ns.update(points=property(lambda s: s._p)))\n"),
    Route("a property in a class that a metaclass makes", "x = make('x', 'NYC'); x._p = 0; w.group.add(x); show(sorted(rich(w.group))); x._p = 5; show(sorted(rich(w.group))); w.group.discard(x)", "import abc", _COMPUTED + "make = abc.ABCMeta('X', (User,), {'points': property(lambda s: s._p)})\n"),
    Route("a metaclass that assigns", "w.group.add(Made('m', 'NYC'))", "class Meta(type):\n    def __call__(cls, *args):\n        o = super().__call__(*args)\n        o.points = 7\n        return o", _user("class Made(User, metaclass=Meta):\n    pass\n")),
    Route("`copy.copy`", "x = copy.copy(w.b); x.email, x.points = 'x', 2; w.group.add(x); w.a.followers.add(x)", "import copy"),
    Route("`copy.deepcopy`", "x = copy.deepcopy(w.b); x.email, x.points = 'x', 2; w.group.add(x)", "import copy"),
    Route("`pickle`", "x = pickle.loads(pickle.dumps(w.prices)); x['z'] = 5; w.prices = x; w.prices['q'] = 3", "import pickle"),
    Route("`__setstate__`", "w.b.__setstate__({'points': 2})", user=_user("    def __setstate__(self, state):\n        self.points = state['points']\n")),
    Route("the `__setstate__` of a dataclass", "User.__setstate__(w.b, ['b', 'LA', 2, Set()])", "import dataclasses", "@dataclasses.dataclass(frozen=True, eq=False, slots=True)\nclass User:\n    email: str\n    loc: str\n    points: int = 0\n    followers: object = dataclasses.field(default_factory=Set)\n"),
    Route("`__reduce__` to an old object", "import copy; x = copy.copy(w.b); show(x is w.b)", user=_user("    def __reduce__(self):\n        return (same, (self,), {'points': self.points + 2})\ndef same(o): return o\n")),
    Route("`functools.update_wrapper`", "def f(): pass\nf.points = 5\nfunctools.update_wrapper(w.b, f, ('points',), ())", "import functools"),
    Route("`functools.wraps` of a function with fields", "def f(): pass\ndef g(): pass\nf.points, f.email, g.points, g.email = 5, 'f', 0, 'g'; w.group.add(g); show(sorted(rich(w.group))); functools.wraps(f)(g); show(sorted(rich(w.group))); w.group.discard(g)", "import functools"),
    Route("`functools.partialmethod`", "w.b.put(2)", "import functools", _user("    put = functools.partialmethod(setattr, 'points')\n")),
    Route("`functools.singledispatch`", "put(w.b)", "import functools\n@functools.singledispatch\ndef put(o): pass\n", _user("@put.register\ndef _(o: User):\n    o.points += 2\n")),
    Route("members of an enumeration", "w.group.update(Color); Color.RED.points += 2; show(sorted(rich(w.group))); w.group.difference_update(Color)", "import enum", _user("class Color(enum.Enum):\n    RED = 1\n    BLUE = 2\n    def __init__(self, n):\n        self.points = n\n        self.email = str(n)\n")),
    Route("`dataclasses.replace`", "x = dataclasses.replace(w.b, email='x', points=2); w.group.add(x); w.b.points = 3", "import dataclasses", "@dataclasses.dataclass(eq=False)\nclass User:\n    email: str\n    loc: str\n    points: int = 0\n    followers: object = None\n    def __post_init__(self):\n        self.followers = Set()\n"),
    Route("`argparse` into an object", "argparse.ArgumentParser().parse_args([], namespace=w.b)\np = argparse.ArgumentParser(); p.add_argument('--points', type=int); p.parse_args(['--points', '2'], namespace=w.b)", "import argparse"),
    Route("`unittest.mock.patch.object`", "with mock.patch.object(w.b, 'points', 2): show(sorted(rich(w.group)))", "from unittest import mock"),
    Route("`contextlib.ExitStack.callback`", "with contextlib.ExitStack() as stack: stack.callback(setattr, w.b, 'points', 2)", "import contextlib"),
    Route("`contextlib.contextmanager`", "with risen(w.b): show(sorted(rich(w.group)))", "import contextlib\n@contextlib.contextmanager\ndef risen(o):\n    o.points += 2\n    try: yield o\n    finally: o.points -= 1\n"),
    Route("a generator that updates while it is iterated", "def rising():\n    for u in (w.a, w.b):\n        u.points += 2\n        yield u\nfor u in rising(): show(u.email, sorted(rich(w.group)))"),
    Route("a coroutine", "async def rise():\n    w.b.points = 2\nimport asyncio; asyncio.run(rise())"),
    Route("a thread", "t = threading.Thread(target=setattr, args=(w.b, 'points', 2)); t.start(); t.join()", "import threading"),
    Route("a signal handler", "signal.signal(signal.SIGUSR1, lambda *_: setattr(w.b, 'points', 2)); signal.raise_signal(signal.SIGUSR1)", "import signal"),
    Route("a comprehension's side effect", "[setattr(u, 'points', 2) for u in (w.a, w.b)]"),
    Route("a lambda", "(lambda u: u.__setattr__('points', 2))(w.b)"),
)  # fmt: skip

SETS = (
    Route("methods of a set", "w.group.add(w.c); w.group.discard(w.a); w.group.discard(w.b); w.group.pop(); w.group.update([w.a])"),
    Route("operators of a set", "g = w.group; g |= {w.c}; g -= {w.a}; g ^= {w.b}; g &= {w.c}"),
    Route("a bound method kept", "add = w.group.add; add(w.c); drop = w.group.discard; drop(w.a)"),
    Route("a bound method kept before the first question", "s = Set(); add = s.add; show(fans(w.a, s)); add(w.b); show(fans(w.a, s))"),
    Route("`map(s.add, xs)`", "list(map(w.group.add, [w.c]))"),
    Route("`functools.partial(s.add, x)`", "functools.partial(w.group.add, w.c)()", "import functools"),
    Route("`functools.reduce` over operators", "functools.reduce(operator.ior, [{w.c}], w.group)", "import functools, operator"),
    Route("`operator.ior` and its kin", "operator.ior(w.group, {w.c}); operator.isub(w.group, {w.a})", "import operator"),
    Route("`operator.methodcaller` of a set", "operator.methodcaller('add', w.c)(w.group)", "import operator"),
    Route("`getattr(s, name)`", "getattr(w.group, 'a' + 'dd')(w.c)"),
    Route("`set.add(s, x)`", "set.add(w.group, w.c); set.discard(w.group, w.a)"),
    Route("`Set.add(s, x)`", "Set.add(w.group, w.c)"),
    Route("the class of sets under another name", "kind = Set; kind.add(w.group, w.c)"),
    Route("`s.__class__.add(s, x)`", "w.group.__class__.add(w.group, w.c)"),
    Route("`getattr` under another name", "s = Set(); read = getattr; add = read(s, 'add'); show(fans(w.a, s)); add(w.b); show(fans(w.a, s))"),
    Route("`s.__getattribute__`", "s = Set(); add = s.__getattribute__('add'); show(fans(w.a, s)); add(w.b); show(fans(w.a, s))"),
    Route("a method that a pattern captures", "s = Set()\nmatch s:\n    case Set(add=add): show(fans(w.a, s)); add(w.b); show(fans(w.a, s))"),
    Route("`type(s).add(s, x)`", "type(w.group).add(w.group, w.c)"),
    Route("`getattr(set, name)`", "getattr(set, 'add')(w.group, w.c)"),
    Route("`vars(set)[…]`", "vars(set)['add'](w.group, w.c)"),
    Route("`set.__dict__[…]`", "set.__dict__['add'](w.group, w.c)"),
    Route("`super(Set, s).add`", "super(Set, w.group).add(w.c)"),
    Route("`super(s.__class__, s).add`", "super(w.group.__class__, w.group).add(w.c)"),
    Route("`__mro__`", "[c for c in type(w.group).__mro__ if c.__name__ == 'set'][0].add(w.group, w.c)"),
    Route("`__base__`", "Set.__base__.add(w.group, w.c)"),
    Route("`s.__init__` again", "w.group.__init__([w.c])"),
    Route("`Set.__init__(s, …)`", "g = w.group; Set.__init__(g, [w.c])"),
    Route("`s.__ior__`", "w.group.__ior__({w.c}); w.group.__isub__({w.a})"),
    Route("a subclass of `Set`", "s = Mine([w.b]); show(fans(w.a, s)); s.add(w.c); s.put(w.a); show(fans(w.a, s), rich(s))", "class Mine(Set):\n    def add(self, x):\n        super().add(x)\n    def put(self, x):\n        set.add(self, x)"),
    Route("a subclass of `set`", "s = Mine([w.b]); show(fans(w.a, s)); s.add(w.c); s.put(w.a); show(fans(w.a, s), rich(s))", "class Mine(set):\n    __hash__ = object.__hash__\n    def put(self, x):\n        set.add(self, x)"),
    Route("`super().__init__` in a method of a subclass of `Set`", "s = Mine([w.b]); show(fans(w.a, s)); s.reset([w.a, w.c]); show(fans(w.a, s), rich(s))", "class Mine(Set):\n    def reset(self, xs):\n        super().__init__(xs)"),
    Route("`__new__` of a subclass of `Set` that gives an old one", "s = Mine([w.b]); show(fans(w.a, s)); t = Mine([w.a, w.c]); show(fans(w.a, s), rich(s))", "class Mine(Set):\n    one = None\n    def __new__(cls, *a):\n        if cls.one is None: cls.one = super().__new__(cls)\n        return cls.one\n"),
    Route("an object that says it is a `Set`", "s = Fake(); s.xs.append(w.b); show(len(fans(w.a, s))); s.xs.clear(); show(len(fans(w.a, s)))", "class Fake:\n    __class__ = property(lambda self: Set)\n    def __init__(self): self.xs = []\n    def __iter__(self): return iter(self.xs)\n    def __contains__(self, x): return x in self.xs\n    def __len__(self): return len(self.xs)\n"),
    Route("`collections.abc.MutableSet.register`", "collections.abc.MutableSet.__ior__(w.group, {w.c})", "import collections.abc"),
    Route("a set that is a `defaultdict`'s", "d = collections.defaultdict(set); d['k'].add(w.b); show(fans(w.a, d['k'])); d['k'].add(w.c); show(fans(w.a, d['k']))", "import collections"),
    Route("an update by an iterator that updates", "def more():\n    w.group.discard(w.a)\n    yield w.c\nw.group.update(more())"),
    Route("an update by an iterator that asks", "s = Set()\ndef more():\n    yield w.c\n    show(len(s), sorted(rich(s)))\n    yield w.b\ns.update(more()); s.add(w.a); w.b.points = 5; show(sorted(rich(s)))"),
    Route("an update while the set is iterated", "for u in w.group: w.group.discard(w.a); w.group.discard(w.b)"),
    Route("an alias in a tuple or closure", "pair = (w.group,); (lambda: pair[0].add(w.c))()"),
    Route("`copy.copy` of a set", "s = copy.copy(w.group); show(fans(w.a, s)); s.add(w.c); s.discard(w.b); show(fans(w.a, s))", "import copy"),
    Route("`pickle` of a set", "s = pickle.loads(pickle.dumps({1, 2})); w.a.followers = s; w.a.followers.add(w.b)", "import pickle"),
    Route("a set from `frozenset` operators", "s = frozenset([w.b]) | w.group; show(fans(w.a, s))\ntry: s.add(w.c)\nexcept AttributeError: show('frozen')\nshow(fans(w.a, s))"),
    Route("a set made by other code", "s = importlib.import_module('ast').literal_eval('{1}'); show(fans(w.a, s)); s.add(w.b); show(fans(w.a, s))", "import importlib"),
    Route("`weakref.WeakSet`", "s = weakref.WeakSet([w.b]); show(fans(w.a, s)); s.add(w.c); show(fans(w.a, s))", "import weakref"),
    Route("the view of a dict's keys", "d = {w.b: 1}; show(rich(d.keys())); d[w.c] = 1; show(rich(d.keys()))"),
)  # fmt: skip

DICTS = (
    Route("methods of a dict", "w.prices['x'] = 3; w.prices.pop('y'); w.prices.update(z=4); w.prices.setdefault('q', 5); w.prices.popitem()"),
    Route("`del d[k]`", "del w.prices['y']"),
    Route("operators of a dict", "d = w.prices; d |= {'z': 4}"),
    Route("`operator.setitem`", "operator.setitem(w.prices, 'x', 3); operator.delitem(w.prices, 'y')", "import operator"),
    Route("`dict.__setitem__(d, …)`", "dict.__setitem__(w.prices, 'x', 3); dict.update(w.prices, z=3)"),
    Route("`getattr(dict, name)`", "getattr(dict, 'update')(w.prices, z=3)"),
    Route("`d.__class__.update(d, …)`", "w.prices.__class__.update(w.prices, z=3)"),
    Route("a bound method of a dict", "put = w.prices.__setitem__; put('x', 3)"),
    Route("target of `for` in a dict", "for w.prices['x'] in (1, 5): pass"),
    Route("augmented entry", "w.prices['x'] += 5"),
    Route("`collections.defaultdict`", "d = collections.defaultdict(int); show(priced(d)); d['k'] += 3; show(priced(d))", "import collections"),
    Route("`collections.Counter`", "d = collections.Counter('aab'); show(priced(d)); d['a'] = 0; show(priced(d))", "import collections"),
    Route("`collections.OrderedDict`", "d = collections.OrderedDict(a=3); show(priced(d)); d['b'] = 4; d.move_to_end('a'); show(priced(d))", "import collections"),
    Route("`types.MappingProxyType`", "d = types.MappingProxyType(w.prices); show(priced(d)); w.prices['x'] = 4; show(priced(d))", "import types"),
    Route("a subclass of `dict`", "d = Mine(a=3); show(priced(d)); d['b'] = 4; d.put('c', 5); show(priced(d))", "class Mine(dict):\n    def put(self, k, v):\n        super().__setitem__(k, v)"),
    Route("`super().__init__` in a method of a subclass of `dict`", "d = Mine(a=3); show(priced(d)); d.reset(b=5); show(priced(d))", "class Mine(dict):\n    def reset(self, **xs):\n        super().__init__(xs)"),
    Route("`collections.ChainMap`", "m = collections.ChainMap(w.prices); m['x'] = 5; m.pop('y', None)", "import collections"),
    Route("`d.__init__` again", "w.prices.__init__(z=5)"),
    Route("`exec` with a dict of names", "exec('z = 5', w.prices)"),
    Route("keyword arguments", "def f(**d): d['x'] = 9; return d\nd = f(**w.prices); show(priced(d)); d['y'] = 0; show(priced(d))"),
)  # fmt: skip

LISTS = (
    Route("methods of a list", "l = w.club.members; l.append(w.c); l.insert(0, w.c); l.remove(w.a); l.pop(); l.extend([w.a]); l.reverse(); l.sort(key=id)"),
    Route("items and slices", "l = w.club.members; l[0] = w.c; l[1:1] = [w.a, w.a]; del l[0]; l[:] = [w.c]"),
    Route("`+=` and `*=`", "w.club.members += [w.c]; w.club.members *= 2"),
    Route("`list.append(l, x)`", "list.append(w.club.members, w.c); list.sort(w.club.members, key=id)"),
    Route("`getattr(list, name)`", "getattr(list, 'append')(w.club.members, w.c)"),
    Route("`l.__class__.append(l, x)`", "w.club.members.__class__.append(w.club.members, w.c)"),
    Route("`super(l.__class__, l).append`", "super(w.club.members.__class__, w.club.members).append(w.c)"),
    Route("a bound method of a list", "list(map(w.club.members.append, [w.c]))"),
    Route("`bisect.insort`", "l = [1, 5]; show(sorted(q(l))); bisect.insort(l, 3); show(sorted(q(l)))", "import bisect\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("`heapq`", "l = [1, 5]; show(sorted(q(l))); heapq.heappush(l, 0); heapq.heappop(l); show(sorted(q(l)))", "import heapq\n@query\ndef q(l):\n    return {x for x in l if x > 0}\n"),
    Route("`heapq` under another name", "l = [1, 5]; show(sorted(q(l))); push(l, 0); push(l, 7); show(sorted(q(l)))", "from heapq import heappush as push\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("`heapq` imported as another name", "l = [1, 5]; show(sorted(q(l))); h.heappush(l, 0); h.heappush(l, 7); show(sorted(q(l)))", "import heapq as h\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("`heapq` as a value", "l = [1, 5]; show(sorted(q(l))); m = heapq; m.heappush(l, 0); show(sorted(q(l)))", "import heapq\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("all of `heapq`", "l = [1, 5]; show(sorted(q(l))); heappush(l, 0); heappop(l); heappush(l, 3); show(sorted(q(l)))", "from heapq import *\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("`heapq`, imported by a function", "l = [1, 5]; show(sorted(q(l))); __import__('heapq').heappush(l, 0); show(sorted(q(l)))", "@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("the largest first of `heapq`", "l = [5, 1]; show(sorted(q(l))); heapq._heapify_max(l); heapq._heappop_max(l); show(sorted(q(l)))", "import heapq\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("`operator.methodcaller` of `heapq`", "l = [1, 5]; show(sorted(q(l))); operator.methodcaller('heappush', l, 0)(heapq); show(sorted(q(l)))", "import heapq, operator\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("the list of a `queue.PriorityQueue`", "l = [1, 5]; show(sorted(q(l))); p = queue.PriorityQueue(); p.queue = l; p.put(0); show(sorted(q(l)))", "import queue\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("`getattr(heapq, name)`", "l = [1, 5]; show(sorted(q(l))); getattr(heapq, 'heappush')(l, 0); show(sorted(q(l)))", "import heapq\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("`random.shuffle`", "random.Random(1).shuffle(w.club.members)", "import random"),
    Route("`operator.iconcat` and `setitem`", "operator.iconcat(w.club.members, [w.c]); operator.setitem(w.club.members, 0, w.c)", "import operator"),
    Route("`l.__init__` again", "w.club.members.__init__([w.c])"),
    Route("a starred target", "first, *w.club.members = w.c, w.b"),
    Route("a list that is changed while it is sorted", "try: w.club.members.sort(key=lambda u: w.club.members.append(w.c) or u.email)\nexcept ValueError: show('changed')"),
    Route("a list that a query is asked for while it is sorted", "l = [3, 1]; l.sort(key=lambda x: len(q(l)) * 0 + x); show(sorted(q(l))); l.append(5); show(sorted(q(l)))", "@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("a list that a query is asked for while it is extended", "l = [3, 1]; l.extend(x for x in (5, 6) if q(l)); show(sorted(q(l))); k = [1]; k[1:] = (x for x in (5, 6) if q(k)); show(sorted(q(k)))", "@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("`extend` by what raises", "try: w.club.members.extend(Ends(w.c))\nexcept ValueError: show('ends')", "class Ends:\n    def __init__(self, x): self.x = x\n    def __iter__(self):\n        yield self.x\n        raise ValueError\n"),
    Route("a list from `json`", "l = json.loads('[1, 2]'); show(sorted(q(l))); l.append(3); show(sorted(q(l)))", "import json\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("a list from `str.split` or `sorted`", "l = 'a b'.split(); show(sorted(q(l))); l.append('c'); show(sorted(q(l)))", "@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("`collections.deque`", "l = collections.deque([1]); show(sorted(q(l))); l.append(3); show(sorted(q(l)))", "import collections\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("`array.array`", "l = array.array('i', [1]); show(sorted(q(l))); l.append(3); show(sorted(q(l)))", "import array\n@query\ndef q(l):\n    return {x for x in l}\n"),
    Route("a subclass of `list`", "l = Mine([1]); show(sorted(q(l))); l.append(3); l.put(4); show(sorted(q(l)))", "@query\ndef q(l):\n    return {x for x in l}\nclass Mine(list):\n    def put(self, x):\n        super().append(x)"),
    Route("`super().__init__` in a method of a subclass of `list`", "l = Mine([1]); show(sorted(q(l))); l.reset([3]); show(sorted(q(l)))", "@query\ndef q(l):\n    return {x for x in l}\nclass Mine(list):\n    def reset(self, xs):\n        super().__init__(xs)"),
    Route("`collections.UserList`", "l = collections.UserList([1]); show(sorted(q(l))); l.append(3); show(sorted(q(l)))", "import collections\n@query\ndef q(l):\n    return {x for x in l}\n"),
)  # fmt: skip

ROUTES = {"fields": FIELDS, "sets": SETS, "dicts": DICTS, "lists": LISTS}
