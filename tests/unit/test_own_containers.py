"""Containers and values of the program's own classes behave as uncompiled, or are refused with a code."""

from __future__ import annotations

import pytest
from both_ways import MODES, compile_in, load, same_both_ways

from incoq.compile import compile_source
from incoq.errors import CompileError


def test_methods_of_a_set_call_no_method_that_a_class_of_the_program_overrides() -> None:
    same_both_ways("""
class Logged(Set):
    def __init__(self, *elements):
        super().__init__(*elements)
        self.log = []
    def add(self, x):
        self.log.append(("add", x))
        super().add(x)
    def discard(self, x):
        self.log.append(("discard", x))
        super().discard(x)
    def update(self, *others):
        self.log.append("update")
        super().update(*others)

@query
def large(s):
    return {x for x in s if x > 1}

def main(show):
    s = Logged([1, 2])
    show(large(s))
    s |= {9}
    s.update([11])
    s.remove(9)
    s -= {1}
    s ^= {1, 30}
    s &= {2, 11, 30}
    show(sorted(large(s)), s.log)
    s.add(40)
    s.discard(2)
    show(sorted(large(s)), s.log)
    s.pop()
    s.clear()
    show(large(s), s.log)
""")


def test_methods_of_a_dict_and_a_list_call_no_method_that_a_class_of_the_program_overrides() -> None:
    same_both_ways("""
class D(dict):
    log = []
    def __setitem__(self, k, v):
        self.log.append(("set", k))
        super().__setitem__(k, v)
    def __delitem__(self, k):
        self.log.append(("delete", k))
        super().__delitem__(k)

class L(list):
    log = []
    def __setitem__(self, k, v):
        self.log.append(("set", k))
        super().__setitem__(k, v)
    def extend(self, other):
        self.log.append("extend")
        super().extend(other)

@query
def pairs(d):
    return {(k, v) for k, v in d.items() if v > 1}

@query
def large(l):
    return {x for x in l if x > 1}

def main(show):
    d = D(a=1)
    show(pairs(d))
    d["b"] = 2
    d.update(c=3)
    d |= {"d": 4}
    d.setdefault("e", 5)
    d.pop("b")
    show(sorted(pairs(d)), d.log, type(d.copy()).__name__ in ("dict", "Dict"), isinstance(d.copy(), D))
    d.clear()
    show(pairs(d), d.log)
    l = L([1, 2])
    show(large(l))
    l += [5]
    l *= 2
    show(sorted(large(l)), l.log, isinstance(l.copy(), L))
    l[0] = 7
    l.clear()
    show(large(l), l.log)
""")


def test_what_is_made_of_a_set_of_an_own_class_is_a_plain_set() -> None:
    same_both_ways("""
class Named(Set):
    def __init__(self, name):
        super().__init__()
        self.name = name

class Mine(set):
    pass

@query
def large(s):
    return {x for x in s if x > 1}

def main(show):
    s = Named("n")
    s.add(3)
    show(large(s), large(s | {4}), large(s.copy()), large(s - {3}), large({5} | s), large(s & {3}))
    t = s.union([7])
    t.add(8)
    show(sorted(large(t)), isinstance(t, Named), isinstance(s ^ {1}, Named))
    m = Mine([1, 2])
    show(large(m), isinstance(m | {3}, Mine), isinstance(m.copy(), Mine), m)
""")


def test_what_is_made_of_a_plain_set_and_a_set_shows_as_a_set() -> None:
    same_both_ways("""
class Named(Set):
    pass

class Mine(set):
    pass

@query
def large(s):
    return {x for x in s if x > 1}

def main(show):
    s, n, m, p = Set([2]), Named([2]), Mine([2]), {1}
    for other in (s, n, large(s), {2}, frozenset([2])):
        show(*map(repr, (p | other, p & other, p - other, p ^ other, other | p, m | other, p.union(other))))
        made = p | other
        made.add(9)
        show(repr(large(made)), isinstance(made, Set if isinstance(other, Set) else set))
""")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("base", "own"),
    [
        ("Set", "def __iter__(self): return iter([1])"),
        ("Set", "def __contains__(self, x): return True"),
        ("list", "def __len__(self): return 7"),
        ("dict", "def __missing__(self, key): return 5"),
        ("dict", "def __getitem__(self, key): return 5"),
    ],
)
def test_a_container_that_gives_out_what_it_does_not_hold_is_refused(base: str, own: str, mode: str) -> None:
    program = f"""
from incoq import Set, query

class C({base}):
    {own}

@query
def held(s):
    return {{x for x in s if x > 0}}

@query
def found(s, d):
    return {{x for x in s if d[x] > 0}}

def ask():
    c = C({{1: 2, 3: 4}})
    return found(Set([1, 2]), c) if isinstance(c, dict) else held(c)
"""
    with pytest.raises(Exception, match=r"IQ301.*its own `__"):
        load(compile_in(program, mode).code)["ask"]()


BY_FIELD = """
    def __init__(self, k, w):
        self.k, self.w = k, w
    def __hash__(self):
        return hash(self.k)
"""
BY_OWN_EQUALITY = """
    def __eq__(self, other):
        return True
    def __hash__(self):
        return 1
"""
AS_TEXT = """
    def __new__(cls, k, w):
        o = str.__new__(cls, k)
        o.w = w
        return o
"""
CLASSES_THAT_LOSE_KEYS = [
    ("the hash of `C` reads `k`", BY_FIELD),
    ("defines `__eq__`", BY_OWN_EQUALITY),
    ("equal as values of `str`", AS_TEXT),
]


@pytest.mark.parametrize(("message", "body"), CLASSES_THAT_LOSE_KEYS)
def test_objects_that_a_dict_would_lose_or_confuse_are_refused(message: str, body: str) -> None:
    base = "(str)" if body is AS_TEXT else ""
    with pytest.raises(CompileError, match=message) as refused:
        compile_source(f"""
from incoq import query

class C{base}:{body}

@query
def held(s):
    return {{x.w for x in s}}

def change(c, w):
    c.w = w
    c.k = w
""")
    assert refused.value.code == "IQ205"


def test_a_hash_of_what_is_set_when_the_object_is_made_is_taken() -> None:
    same_both_ways("""
class C:
    def __init__(self, k, w):
        self.k, self.w = k, w
    def __hash__(self):
        return hash(self.k)

@query
def held(s):
    return {x.w for x in s}

def main(show):
    c = C(1, 2)
    s = Set([c])
    show(held(s))
    c.w = 3
    show(held(s))
""")


def test_a_dataclass_that_does_not_compare_a_field_is_refused() -> None:
    with pytest.raises(CompileError, match="compare=False"):
        compile_source("""
from dataclasses import dataclass, field
from incoq import query

@dataclass(frozen=True)
class W:
    k: int
    note: str = field(compare=False)

@query
def notes(s):
    return {x.note for x in s}
""")


def test_the_element_that_a_set_or_dict_holds_is_the_one_that_goes() -> None:
    same_both_ways("""
from typing import NamedTuple

class P(NamedTuple):
    x: int
    y: int

@query
def xs(s):
    return {p.x for p in s if p.y > 1}

@query
def entries(d):
    return {(str(k), str(v)) for k, v in d.items()}

def main(show):
    s = Set([(5, 6)])
    show(xs(s))
    s.discard(P(5, 6))
    s.add(P(5, 6))
    show(xs(s))
    s.discard((5, 6))
    show(xs(s))
    d = {1: 1}
    show(entries(d))
    d[True] = True
    show(entries(d))
    d[1.0] = "x"
    del d[1]
    show(entries(d))
""")


def test_integers_too_large_for_a_float_raise_in_a_sum_with_floats() -> None:
    same_both_ways("""
@query
def total(s):
    return sum(x for x in s)

def main(show):
    s = Set([0.5, 10**400])
    for x in (10**400, -1e308, 1e308):
        try:
            show(total(s))
        except OverflowError as error:
            show("OverflowError")
        s.discard(x)
""")


def test_a_query_in_a_function_with_nonlocal_names_is_taken() -> None:
    same_both_ways("""
g = Set([1, 2])

def counter():
    least = 0
    def ask(step):
        nonlocal least
        least += step
        return query({x for x in g if x >= least})
    return ask

def main(show):
    ask = counter()
    show(ask(1), ask(1))
    g.add(5)
    show(ask(0))
    g.discard(5)
    show(ask(1))
""")


def test_the_mean_of_decimals_and_fractions_is_what_statistics_gives() -> None:
    same_both_ways("""
import statistics
from decimal import Decimal
from fractions import Fraction

@query
def mean(s):
    return statistics.mean(x for x in s)

def main(show):
    for values in (
        [Decimal("1.5"), Decimal(2)], [Decimal("1.5"), 2], [Decimal(1), 1.5], [Fraction(1, 2), 1],
        [Fraction(1, 2), 0.25], [1j, 2], [float("inf"), 1],
    ):
        s = Set(values)
        try:
            show(mean(s))
        except TypeError:
            show("TypeError")
        s.add(7)
        try:
            show(mean(s))
        except TypeError:
            show("TypeError")
""")


def test_containers_that_python_binds_names_to_are_the_programs_own() -> None:
    """`**options` of a function, `*rest` of a target or pattern: no expression of the program makes them."""
    same_both_ways(
        '''
        class A:
            def __init__(self, n, **kw): self.n = n; self.kw = kw; self.l = []
            def documented(self, *a, **kw):
                """Said first."""
                self.kw = kw
            def branching(self, **kw):
                if kw: self.kw = kw
            def decorating(self, **options):
                @staticmethod
                def f(): return options
                self.kw = options
            def nothing(self, **kw): """Said only."""
            def merging(self, **kw): self.kw.update(kw); return dict(kw, z=1)
            def passing(self, **kw): return self.merging(**kw)

        @query
        def keys(a):
            return {k for k in a.kw}

        @query
        def total(a):
            return sum(x for x in a.l)

        def main(show):
            a = A(1, x=1, y=2)
            show(keys(a), total(a))
            a.kw["q"] = 9
            show(keys(a), A.documented.__doc__)
            for make in (a.documented, a.branching, a.decorating, a.nothing, a.merging, a.passing):
                make(p=1)
                show(keys(a))
                a.kw["other"] = 2
                show(keys(a))
                a.kw.clear()
            h, *t = [1, 2, 3]
            a.l = t
            show(total(a))
            t.append(4)
            h, *a.l = (5, 6, 7) ; show(total(a)); a.l.append(8)
            show(total(a))
            (x, *y), *z = [(1, 2, 3), 4, 5]  # a comment
            a.l = y; show(total(a)); y.append(10); show(total(a)); a.l = z; z += [1]; show(total(a))
            *start, a.n = [1, 2, 3]
            a.l = start
            start.append(5)
            show(total(a))
            for h, *rest in [(1, 2, 3), (4, 5)]:
                a.l = rest
                rest.append(1)
                show(total(a))
            for h, *rest in [(1, 2, 3), (4, 5)]: a.l = rest; rest.append(7)
            show(total(a))
            match [1, 2, 3]:
                case [f, *rest] if rest: a.l = rest; rest.append(4)
            show(total(a))
            match {"k": 1, "j": 2}:
                case {"k": v, **others}:
                    a.kw = others
                    others["i"] = 3
            show(keys(a), total(a))
        '''
    )


@pytest.mark.parametrize("name", ["print", "sorted", "zip"])
def test_a_function_of_the_program_named_as_a_builtin_may_hand_on_what_it_is_given(name: str) -> None:
    same_both_ways(
        f"""
        class Team:
            pass

        @query
        def members(t): return {{m for m in t.members}}

        def {name}(given, to):
            to.members = given

        def main(show):
            queue, team = [], Team()
            {name}(queue, team)
            show(members(team))
            queue.append(3)
            show(members(team))
        """
    )


def test_a_plain_set_that_a_query_reaches_shows_as_one() -> None:
    same_both_ways(
        """
        class Team: pass
        @query
        def size(t): return len({m for m in t.members})
        def main(show):
            team = Team()
            team.members = set()
            show(size(team), repr(team.members), str(team.members), f"{team.members}")
            team.members.add(17)
            show(size(team), repr(team.members), str([team.members]), "%s" % team.members)
            team.members.add(("a", 1))
            team.members.discard(17)
            show(size(team), repr(team.members))
        """
    )


def test_containers_are_made_through_their_classes() -> None:
    same_both_ways(
        """
        class Stack(list):
            def __new__(cls, given=()):
                return list.__new__(cls)

        class Team:
            pass

        @query
        def members(t): return {m for m in t.members}

        def main(show):
            team = Team()
            team.members = made = list.__new__(list)
            show(members(team))
            made.append(1)
            show(members(team), made)
            stack = Stack([1])
            show(len(stack), [*stack])
            team.members = some = set.__new__(set)
            some.add(4)
            show(members(team))
        """
    )


def test_a_table_of_characters_is_made_of_dicts() -> None:
    same_both_ways(
        """
        class Text:
            def __init__(self, marks): self.marks = marks

        @query
        def marks(t): return {k for k in t.marks}

        def main(show):
            table = {ord(c): "-" for c in "ab"}
            table[ord("c")] = "+"
            show("abcd".translate(str.maketrans(table)), "xy".translate(str.maketrans({"x": "1", 121: "2"})))
            text = Text({"a": 1})
            show(marks(text))
            text.marks["b"] = 2
            show(marks(text))
        """
    )


def test_sets_take_no_attributes_unless_their_class_is_the_programs_own() -> None:
    same_both_ways("""
class Team(Set):
    pass

@query
def led(s):
    return {t.lead for t in s if t.lead != 2}

def lead(t, x):
    t.lead = x

def main(show):
    team, whole = Team([1]), Set([Set(), 7])
    whole.add(team)
    lead(team, 1)
    show(led(whole))
    for s in (Set(), {1}, whole):
        try:
            lead(s, 3)
        except AttributeError:
            show("no attributes")
    lead(team, 2)
    show(led(whole))
    lead(team, 4)
    show(led(whole), hasattr(whole, "lead"))
""")


def test_what_an_operator_makes_of_a_set_and_a_view_of_a_dict_is_another_set() -> None:
    same_both_ways("""
class Holder:
    def __init__(self):
        self.s = Set()

@query
def asked(s):
    return {x for x in s}

def main(show):
    d = {1: "a", 2: "b"}
    for make in (Set, set):
        for change in "|-&^":
            s = made = make([1, 5])
            h = Holder()
            h.s = s
            show(asked(s))
            if change == "|":
                s |= d.keys()
                h.s |= {7: 8}.items()
            elif change == "-":
                s -= d.keys()
                h.s -= d.keys()
            elif change == "&":
                s &= d.keys()
                h.s &= d.keys()
            else:
                s ^= d.keys()
                h.s ^= d.keys()
            show(s is made, h.s is made, asked(s), asked(made), asked(h.s))
            for one in (s, made, h.s):
                one.add(9)
            show(asked(s), asked(made), asked(h.s))
    s = Set([1, 5])
    for one in (
        s | d.keys(), s & d.keys(), s - d.keys(), s ^ d.items(), d.keys() | s, d.keys() & {1}, d.items() - s,
        d.keys() ^ [1], {1} | d.keys(), d.keys() - d.keys(),
    ):
        show(asked(one), one == set(one))
        one.add(9)
        show(asked(one))
    try:
        s |= [1]
    except TypeError as error:
        show(str(error))
""")


def test_the_class_of_a_container_is_compared_and_named_as_in_python() -> None:
    program = """
@query
def q(x): return {e for e in x}
@query
def entries(m): return {k for k, v in m.items() if v}
class Own(dict): pass
class OwnSet(set): pass
def handle(x): return {"dict": 1, "list": 2, "set": 3}.get(type(x).__name__)
def main(show):
    d, l, s, g = {1: 2}, [1], {1}, Set([1])
    show(entries(d), q(l), q(s), q(g))
    show(type(d) is dict, type(l) == list, type(s) is set, type(g) is set, type(g) is Set)
    show(d.__class__ is dict, l.__class__ in (list, tuple), type(s) not in {set, frozenset})
    show(type(d) is type({}))
    show(type(Own()) is dict, type(OwnSet()) is set, type(Own()).__name__, repr(OwnSet([1])))
    show([type(x) is not list for x in (d, l, s, g, 5)], [handle(x) for x in (d, l, s, g)])
    for f in (lambda: s + 1, lambda: d + 1, lambda: d.nothing, lambda: s < 1):
        try:
            f()
        except Exception as error:
            show(type(error).__name__, str(error))
    show(repr(s), str(set()), repr([s]), f"{s}")
"""
    same_both_ways(program)


def test_a_maintained_plain_set_shows_as_one_where_nothing_asks_for_classes() -> None:
    program = """
@query
def q(x): return {e for e in x}
def main(show):
    s = {1}
    show(q(s), repr(s), str([s]))
    s |= {2}
    s -= {1}
    show(q(s), repr(s), str([s]), repr(s - {2}))
    try:
        s + 1
    except TypeError as error:
        show(str(error))
"""
    same_both_ways(program)


def test_an_operand_that_knows_what_to_do_with_a_list_is_asked_as_python_asks_it() -> None:
    program = """
@query
def q(x): return {e for e in x}
class R:
    def __init__(self, known): self.known = known
    def __radd__(self, other): return ("radd", other) if self.known else NotImplemented
    def __rmul__(self, other): return ("rmul", other) if self.known else NotImplemented
    def __index__(self): return 2
    def __iter__(self): return iter("ab")
def plus(x, y):
    x += y
    return x
def times(x, y):
    x *= y
    return x
def main(show):
    l = [1]
    show(q(l))
    for f in (
        lambda: l + R(True), lambda: l * R(True), lambda: l + R(False), lambda: l * R(False),
        lambda: plus(l, R(True)), lambda: times(l, R(True)),
        lambda: plus(l, R(False)), lambda: times(l, R(False)),
        lambda: l + 1, lambda: l * "x", lambda: "x" * l, lambda: 2.0 * l, lambda: l * l, lambda: l + (1,),
        lambda: 2 * l, lambda: l + [5], lambda: plus(l, (8,)), lambda: times(l, 1.5), lambda: plus(l, 3),
    ):
        try:
            show(f())
        except TypeError as error:
            show(str(error))
        show(q(l), l)
"""
    same_both_ways(program)
