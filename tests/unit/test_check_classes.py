"""Classes that compute a field, or whose objects a dict confuses, are refused however they are written."""

from __future__ import annotations

import pytest
from both_ways import compile_in, load, same_both_ways

from incoq.compile import compile_source
from incoq.errors import CompileError

PERSON = """
class P:
    def __init__(self, a):
        self.a = a
"""
ASK = """
@query
def q(s):
    return {p.full for p in s}

def ask():
    return q(Set([P(1)]))
"""
REFUSED = r"IQ206|computes|defines|assigns on a class|part of a class"
UNDER_IF = """
    if True:
        @property
        def full(self):
            return self.a
"""
INTERCEPTED = """
    if True:
        def __getattr__(self, name):
            return 1
"""
SLOT = """
class B:
    __slots__ = ("a",)

class P(B):
    full = B.a
    def __init__(self, a):
        self.a = a
"""
ELSEWHERE = """
import threading

class P(threading.Thread):
    full = threading.Thread.name
    def __init__(self, a):
        pass
"""
DECORATED = """
def computes(cls):
    return type(cls.__name__, (cls,), dict(full=property(lambda self: 1)))

@computes"""
COMPUTED = {
    "set on the class": PERSON + "setattr(P, 'full', property(lambda self: self.a))",
    "made by type": "P = type('P', (), {'full': property(lambda self: 1)})",
    "made by type of a dict": "P = type('P', (), dict(full=property(lambda self: 1)))",
    "made by type of more": "P = type('P', (), {'a': 1, **{n: property(id) for n in ['full']}})",
    "made by new_class": "P = types.new_class('P', (), {}, lambda n: n.update(full=property(id)))",
    "made by a metaclass": "import abc\nP = abc.ABCMeta('P', (), {'full': property(lambda self: 1)})",
    "made by a metaclass of its own": (
        "class Meta(type): pass\nclass More(Meta): pass\nP = More('P', (), dict(full=property(id)))"
    ),
    "made as a dataclass": (
        "import dataclasses\nP = dataclasses.make_dataclass('P', [], namespace={'full': property(id)})"
    ),
    "under an if": PERSON + UNDER_IF,
    "intercepted under an if": PERSON + INTERCEPTED,
    "another name": PERSON + "    other = property(lambda self: self.a)\n    full = other",
    "in a tuple": PERSON + "    x, full = 1, property(lambda self: self.a)",
    "by a function": "def make(n):\n    return property(lambda self: 1)\n" + PERSON + "    full = make(1)",
    "another's slot": SLOT,
    "of a base elsewhere": ELSEWHERE,
    "by a decorator": DECORATED + PERSON,
}


@pytest.mark.parametrize("how", COMPUTED)
def test_a_field_that_a_class_computes_is_refused(how: str) -> None:
    with pytest.raises(Exception, match=REFUSED):
        load(
            compile_in(f"import types\nfrom incoq import Set, query\n{COMPUTED[how]}\n{ASK}", "filtered").code
        )["ask"]()


def test_an_inherited_field_that_is_computed_elsewhere_is_refused_when_the_class_is_made() -> None:
    program = """
from incoq import Set, query
import threading

class W(threading.Thread):
    pass

@query
def names(s):
    return {w.name for w in s}

def ask():
    return names(Set([W(name="a")]))
"""
    compiled = compile_in(program, "filtered")
    assert "check_fields(W, 'name')" in compiled.code
    with pytest.raises(Exception, match=r"IQ206.*`name`, which the class W computes"):
        load(compiled.code)["ask"]()


def test_a_class_of_which_the_text_shows_all_is_not_looked_at_when_the_program_runs() -> None:
    compiled = compile_source("""
from dataclasses import dataclass
from incoq import Set, query

@dataclass(eq=False)
class A:
    full: int = 0

class B(A):
    limit = 3

@query
def q(s):
    return {p.full for p in s if p.limit > 2}
""")
    assert "check_fields" not in compiled.code


CONFUSED = {
    "a lambda": "    __eq__ = lambda self, other: True\n    __hash__ = lambda self: 1",
    "under an if": "    if True:\n        def __eq__(self, other): return True\n        __hash__ = None",
    "by a decorator": "def by_key(cls):\n    cls.__eq__ = lambda self, other: True\n    return cls",
}


@pytest.mark.parametrize("how", CONFUSED)
@pytest.mark.parametrize("fields", ["def __init__(self): self.n = 1", "__slots__ = ('n',)", "pass"])
def test_objects_that_are_equal_by_value_are_refused(how: str, fields: str) -> None:
    with pytest.raises(CompileError) as refused:
        compile_source(f"""
from incoq import query

class P:
    {fields}
{CONFUSED[how]}

def setup(p):
    p.n = 0

@query
def q(s):
    return {{p.n for p in s}}
""")
    assert refused.value.code == "IQ205"


def test_a_dataclass_by_a_name_of_the_programs_own_is_known() -> None:
    with pytest.raises(CompileError) as refused:
        compile_source("""
from dataclasses import dataclass
from incoq import query
hashed = dataclass(unsafe_hash=True)

@hashed
class P:
    n: int

@query
def q(s):
    return {p.n for p in s}
""")
    assert refused.value.code == "IQ205"


def test_inequality_is_that_of_the_class() -> None:
    same_both_ways("""
class N:
    def __ne__(self, other):
        return False

@query
def differ(s, t):
    return {1 for x in s for y in t if x != y}

def main(show):
    s, t = Set([N()]), Set([N()])
    show(differ(s, t))
    t.add(1)
    show(differ(s, t))
    s.add(2)
    show(differ(s, t))
    s.add((1, 2)), t.add((1, 2))
    show(differ(s, t))
""")


def test_an_answer_says_that_it_is_a_set_also_where_the_name_is_taken() -> None:
    namespace = load(
        compile_source("""
from typing import Set
from incoq import query

@query
def q(s):
    return {x for x in s}
""").code
    )
    assert repr(namespace["q"](frozenset({1}))) == "Set({1})"
    with pytest.raises(CompileError, match="imported from typing, too"):
        compile_source(
            "from incoq import Set, query\nfrom typing import Set\n@query\ndef q(s): return {x for x in s}"
        )


SHELVES = """
from incoq import Set, query

class Book:
    def __init__(self, title):
        self.title = title

class Shelf:
    def __init__(self):
        self.books = Set()
        self.label = "s"

    HOW

    @query
    def titles(self):
        return {b.title for b in self.books}

    @query
    def books_of(self, wanted):
        return {b for b in self.books if getattr(b, "title", None) == wanted or b.title and b.title == "?"}

shelf = Shelf()

def ask():
    shelf.books.add(Book("a"))
    b = Book("b")
    shelf.books.add(b)
    shown = [set(shelf.titles()), len(shelf.books_of("c"))]
    b.title = "c"
    return [*shown, set(shelf.titles()), len(shelf.books_of("c"))]

def ask_wrongly():
    shelf.books.add(shelf)
    return shelf.titles()
"""


@pytest.mark.parametrize(
    "how",
    [
        "def title(self): return 1",
        "@property\n    def title(self): return 1",
        "@query\n    def title(self):\n        return {b.title for b in self.books}",
    ],
)
@pytest.mark.parametrize("strategy", ["auto", "tags", "join", "first-clause"])
def test_what_one_class_computes_may_be_a_field_of_another(how: str, strategy: str) -> None:
    compiled = compile_source(SHELVES.replace("HOW", how), strategy=strategy)
    program = load(compiled.code)
    assert program["ask"]() == [{"a", "b"}, 0, {"a", "c"}, 1]
    with pytest.raises(Exception, match=r"IQ206.*`title`, which the class Shelf computes"):
        program["ask_wrongly"]()


def test_a_field_that_classes_compute_is_refused_in_incremental_mode() -> None:
    with pytest.raises(CompileError, match="computes") as refused:
        compile_source(SHELVES.replace("HOW", "def title(self): return 1"), mode="incremental")
    assert refused.value.code == "IQ206"


def test_private_fields_of_a_class_are_maintained() -> None:
    same_both_ways(
        """
class Box:
    __least = 0

    def __init__(self):
        self.__items = Set()

    def put(self, x):
        self.__items.add(x)

    def limit(self, n):
        self.__least = n

    def replace(self):
        self.__items = Set([7])

    @query
    def large(self):
        return {x for x in self.__items if x > self.__least}

    @query
    def count(self):
        return len(self.__items)

class Other:
    def __init__(self):
        self.__items = [1]

def main(show):
    box, other = Box(), Other()
    show(box.large(), box.count())
    box.put(5)
    box.put(1)
    show(box.large(), box.count())
    box.limit(2)
    show(box.large())
    box.replace()
    show(box.large(), box.count())
    box._Box__least = 9
    show(box.large())
""",
        modes=("filtered",),
    )


def test_private_fields_of_objects_that_are_equal_by_value_are_refused() -> None:
    with pytest.raises(CompileError) as refused:
        compile_source("""
from incoq import query

class A:
    def __init__(self, v):
        self.__v = v

    def __eq__(self, other):
        return self.__v == other.__v

    def __hash__(self):
        return 1

    @query
    def q(self, s):
        return {x.__v for x in s}
""")
    assert refused.value.code == "IQ205"


def test_numbers_with_fields_are_refused_with_a_way_out_that_leads_out() -> None:
    text = """
from incoq import Set, query

class Priced(int):
    def __init__(self, value):
        self.price = 3

    def __hash__(self):
        return 1

@query
def q(s):
    return {x.price for x in s}
"""
    with pytest.raises(CompileError, match=r"derive the class from no `int`: hold the value in a field"):
        compile_source(text)
    compile_source(text.replace("(int)", "").replace("= 3", "= 3\n        self.value = value"))


def test_what_looks_at_a_class_follows_all_that_its_last_statement_becomes() -> None:
    same_both_ways(
        """
        def same(cls): return cls

        class Base:
            def __init__(self, n): self.n = n; self.items.append(self)

        class Last(Base):
            items = []

        @same
        class Outer:
            @same
            class Inner:
                items = [1]  # both classes end here
                def __init__(self): self.n, self.items = 5, [*self.items]

        @same
        class Asked:
            items = {}
            @query
            def keys(self): return {k for k in self.items}

        @same
        class OneLine: n = 2; items = []

        @query
        def names(o): return {x.n for x in o.items}

        def main(show):
            last, inner, asked = Last(1), Outer.Inner(), Asked()
            inner.items[:] = [last]
            asked.items["a"] = 1
            show(names(last), names(inner), asked.keys(), names(OneLine()))
            last.n = 2
            asked.items["b"] = 1
            h, *rest = [*inner.items, last][:]
            inner.items = rest
            show(names(last), names(inner), asked.keys(), names(OneLine()))
        """,
        modes=("filtered", "join"),
    )


def test_classes_that_calls_make_of_names_that_the_text_shows_are_as_others() -> None:
    same_both_ways("""
    import abc, types
    from dataclasses import make_dataclass

    def main(show):
        A = type("A", (), {"kind": 1, **{"other": 2}})
        B = abc.ABCMeta("B", (A,), {"kind": 2})
        C = types.new_class("C", (B,), {})
        D = make_dataclass("D", ["n"], eq=False)
        s = Set([A(), B(), C(), D(0)])
        for number, x in enumerate(sorted(s, key=lambda x: type(x).__name__)):
            x.n = number
        show(large(s))
        for x in s: x.n += 2
        show(large(s))

    @query
    def large(s):
        return {x.n for x in s if x.n > 1}
    """, modes=("filtered",))  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        "setattr(P, '__eq__', lambda self, other: True)",
        "setattr(P, '__hash__', lambda self: 1)",
        "del P.__hash__",
        "delattr(P, '__eq__')",
    ],
)
def test_a_class_whose_objects_are_compared_otherwise_from_some_time_on_is_refused(change: str) -> None:
    with pytest.raises(CompileError) as refused:
        compile_source(f"from incoq import Set, query\n{PERSON}\n{ASK}\ndef later():\n    {change}\n")
    assert refused.value.code == "IQ205"


@pytest.mark.parametrize(
    "kind",
    [
        "@typing.runtime_checkable\nclass K(typing.Protocol):\n    n: int",
        "class M(type):\n    def __instancecheck__(cls, x): return x in KNOWN\nclass K(metaclass=M): pass",
    ],
)
@pytest.mark.parametrize("asked", ["K", "(int, K)", "K | int", "P, K"])
def test_a_class_that_computes_what_belongs_to_it_is_refused(kind: str, asked: str) -> None:
    test = "isinstance(p, K) if isinstance(p, P)" if asked == "P, K" else f"isinstance(p, {asked})"
    program = f"import typing\nfrom incoq import Set, query\nKNOWN = []\n{kind}\n{PERSON}\n"
    program += (
        f"@query\ndef q(s):\n    return {{p.a for p in s if {test}}}\ndef ask():\n    return q(Set([P(1)]))\n"
    )
    for mode in ("filtered", "incremental"):
        with pytest.raises(Exception, match=r"IQ301.*a condition looks into a"):
            load(compile_in(program, mode).code)["ask"]()


def test_a_class_that_computes_no_more_than_its_name_says_may_be_asked_about() -> None:
    same_both_ways("""
    import abc, enum, typing
    from collections.abc import Hashable, Sized

    class Registry(type):
        made = []
        def __iter__(cls): return iter(cls.made)
        def __len__(cls): return len(cls.made)

    class Model(metaclass=Registry): pass
    class Base(abc.ABC): pass
    class Kind(enum.Enum): ONE = 1

    @typing.runtime_checkable
    class Drawn(typing.Protocol):
        def draw(self): ...

    class Own(Base):
        def draw(self): pass

    class Box:
        def __init__(self, v): self.v = v

    NUMBERS = (int, float)
    KINDS = (int, Kind)

    @query
    def asked(s, kind): return len({b for b in s if isinstance(b.v, kind)})
    @query
    def drawn(s): return len({b for b in s if isinstance(b.v, Drawn)})
    @query
    def kinds(s): return len({b for b in s if isinstance(b.v, (Kind, Model))})
    @query
    def either(s): return len({b for b in s if isinstance(b.v, KINDS)})

    def main(show):
        s = Set(Box(v) for v in (1, "a", Model(), Own(), Kind.ONE, None, ()))
        for value in (0, Own(), Kind.ONE, Model()):
            for kind in (Model, Base, Kind, Drawn, NUMBERS, KINDS, int | Base, Hashable, Sized):
                show(asked(s, kind))
            show(drawn(s), kinds(s), either(s))
            for box in s:
                if box.v == () or isinstance(box.v, Base): box.v = value
    """)


def test_a_class_that_computes_what_belongs_to_it_is_refused_after_a_tuple_of_others() -> None:
    text = f"""
from incoq import Set, query
class M(type):
    def __instancecheck__(cls, x): return True
class K(metaclass=M): pass
{PERSON}
@query
def q(s, kind): return {{p.a for p in s if isinstance(p, kind)}}
def ask():
    q(Set([P(1)]), (P, int))
    q(Set([P(1)]), (P, K))
    q(Set([P(1)]), (int, K))
"""
    with pytest.raises(Exception, match=r"IQ301.*a condition looks into a M"):
        load(compile_in(text, "filtered").code)["ask"]()


@pytest.mark.parametrize("name", ["'__dict__'", "'__di' + 'ct__'", "Name('__dict__')", "Name('__class__')"])
@pytest.mark.parametrize("how", ["setattr", "object.__setattr__"])
def test_a_name_that_stands_for_all_fields_is_refused_wherever_it_comes_from(name: str, how: str) -> None:
    program = f"""
from incoq import Set, query
class Name(str): pass
{PERSON}
@query
def q(s):
    return {{p.a for p in s}}

def put(p, name, value):
    {how}(p, name, value)

def ask():
    p = P(1)
    put(p, "b", 2)
    q(Set([p]))
    put(p, {name}, {{"a": 2}})
"""
    with pytest.raises(Exception, match=r"IQ220.*set by a computed name"):
        load(compile_in(program, "filtered").code)["ask"]()


def test_classes_that_compute_nothing_may_be_asked_for() -> None:
    same_both_ways("""
    import abc, enum, numbers

    class P:
        def __init__(self, n, a): self.n, self.a = n, a
    class A(abc.ABC): pass
    class Q(P, A): pass
    class Color(enum.Enum):
        RED = 1

    @query
    def some(s, kind):
        return {p.n for p in s if isinstance(p, (Q, A)) or isinstance(p, kind)}
    @query
    def valued(s):
        return {p.n for p in s if isinstance(p.a, numbers.Number) or isinstance(p.a, Color | str)}

    def main(show):
        s = Set([P(1, 0.5), P(2, None), Q(3, Color.RED), Q(4, "x")])
        show(some(s, P), some(s, Q), some(s, (int, A)), valued(s))
        for p in s: p.a = p.n if p.a is None else None
        show(some(s, P), some(s, A), valued(s))
    """)  # fmt: skip
