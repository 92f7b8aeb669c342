"""Which classes queries may read: what would make an answer go stale is refused, and nothing else."""

from __future__ import annotations

import pytest
from both_ways import load, same_both_ways, source

import incoq

QUERY = """
@query
def kinds(s): return {o.kind for o in s if o.kind != 0}
"""


def fault(classes: str, **options: str) -> tuple[str, str]:
    with pytest.raises(incoq.CompileError) as caught:
        incoq.compile_source(source(classes + QUERY), **options)  # type: ignore[arg-type]
    return caught.value.code, caught.value.message


@pytest.mark.parametrize("receiver", ["type(self)", "self.__class__", "O"])
def test_a_field_that_is_assigned_on_a_class_is_refused(receiver: str) -> None:
    text = f"class O:\n    kind = 1\n    def reset(self): {receiver}.kind = 2\n"
    assert fault(text) == ("IQ222", f"`{receiver}.kind` is assigned on a class")
    text = f"class O:\n    kind = 1\n    def reset(self):\n        del {receiver}.kind\n"
    assert fault(text) == ("IQ222", f"`{receiver}.kind` is assigned on a class")


def test_a_field_of_another_name_may_be_assigned_on_a_class() -> None:
    program = """
    class O:
        made = 0
        def __init__(self, kind):
            self.kind = kind
            type(self).made += 1
            self.__class__.made += 1
    @query
    def kinds(s): return {o.kind for o in s}
    def main(show):
        s = Set([O(1), O(2)])
        show(kinds(s), O.made)
        s.add(O(3)); show(kinds(s), O.made)
    """
    assert same_both_ways(program, ("filtered", "incremental"))[-1][1] == ("int", "6")


EQUAL = "    def __eq__(self, other): return True\n    def __hash__(self): return 1\n"


@pytest.mark.parametrize(
    "classes",
    [
        f"class A(Generic[T]):\n{EQUAL}class O(A[int]):\n    def __init__(self): self.kind = 1\n",
        f"class A:\n{EQUAL}class B(A): pass\nclass C(A): pass\n"
        "class O(B, C):\n    def __init__(self): self.kind = 1\n",
        f"class A:\n    class Inner:\n{EQUAL.replace('    def', '        def')}"
        "class O(A.Inner):\n    def __init__(self): self.kind = 1\n",
    ],
    ids=["generic", "by two ways", "inner"],
)
def test_equality_is_inherited_from_whatever_is_named_as_a_base(classes: str) -> None:
    code, message = fault(f"from typing import Generic, TypeVar\nT = TypeVar('T')\n{classes}")
    assert code == "IQ205"
    assert message.endswith("defines `__eq__`, so equal objects may have different fields")


def test_a_base_that_a_call_gives_has_no_name() -> None:
    program = """
    def base(): return object
    class O(base()):
        def __init__(self, kind): self.kind = kind
    @query
    def kinds(s): return {o.kind for o in s if o.kind != 0}
    def main(show):
        o = O(1)
        s = Set([o, O(0)])
        show(kinds(s)); o.kind = 5; show(kinds(s)); o.kind = 0; show(kinds(s))
    """
    same_both_ways(program, ("filtered", "incremental"))


def test_dataclasses_that_hash_are_taken_where_no_field_that_is_read_may_change() -> None:
    program = """
    from dataclasses import dataclass
    from functools import total_ordering
    @dataclass(unsafe_hash=True, frozen=True)
    class Point:
        kind: int
    @dataclass(unsafe_hash=True)
    class Other:
        n: int
    @total_ordering
    @dataclass(eq=False)
    class Ordered:
        kind: int
        def __lt__(self, other): return self.kind < other.kind
    @query
    def kinds(s): return {o.kind for o in s}
    @query
    def all_of(s): return {x for x in s if x not in {o for o in s if o.kind == 1}}
    def main(show):
        a, b, last = Point(1), Other(1), Ordered(7)
        s = Set([a, b, last])
        show(kinds(s), len(all_of(s)))
        s.add(Point(1)); s.add(Other(1)); show(kinds(s), len(s), len(all_of(s)))
        s.discard(Other(1)); last.kind = 1; show(kinds(s), len(s), len(all_of(s)))
        s.discard(Point(1)); show(kinds(s), len(s), len(all_of(s)), last < Ordered(3))
    """
    same_both_ways(program)


def test_fields_that_no_assignment_shows_are_refused_where_indices_hold_them() -> None:
    join = """
    @query
    def same(s, t): return {(x, y) for x in s for y in t if x.kind == y.kind}
    """
    for classes in ("class O:\n    kind = 1\n", "@dataclass(eq=False)\nclass O:\n    kind: int\n"):
        text = source(join) + f"from dataclasses import dataclass\n{classes}"
        with pytest.raises(incoq.CompileError) as caught:
            incoq.compile_source(text, mode="incremental")
        assert caught.value.code == "IQ223"
        assert caught.value.message == "`kind` of `O` is set where no assignment shows it"
        assert incoq.compile_source(text).plan.queries
    for line in ("import os, pickle", "from copy import deepcopy"):
        with pytest.raises(incoq.CompileError) as caught:
            incoq.compile_source(source(join) + line, mode="incremental")
        assert caught.value.code == "IQ223"
    assert incoq.compile_source(source(join) + "from . import copy\nimport os", mode="incremental").code


def test_a_frozen_dataclass_that_compares_less_than_it_has_is_refused() -> None:
    text = (
        "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass O:\n"
        "    n: int\n    kind: int = field(compare=False)\n"
    )
    assert fault(text) == (
        "IQ205", "objects of `O` may be equal and have different fields (`compare=False`)"
    )  # fmt: skip


HASHED = (
    "class O:\n    def __init__(self, n): self.n, self.kind = n, 1\n    def __hash__(self): return self.n\n"
)


@pytest.mark.parametrize(
    "change",
    ["def f(o): o.n = 1", "def f(o): del o.n", "setattr(o, 'n', 2)", "def f(o, x): setattr(o, x, 2)"],
)
def test_a_hash_must_not_read_what_changes_later(change: str) -> None:
    message = "the hash of `O` reads `n`, which the program changes later"
    assert fault(f"{HASHED}{change}\n") == ("IQ205", message)


def test_a_hash_may_read_what_only_the_constructor_sets() -> None:
    program = """
    class O:
        def __init__(self, n): self.n, self.kind = n, 1
        def __hash__(self): return self.n
    class Text(str):
        def __init__(self, text): self.length = len(text)
    Made = type("Made", (), {"other": 1, **{}})
    @query
    def kinds(s): return {o.kind for o in s if o.kind != 0}
    @query
    def texts(s): return {x for x in s if x > "a"}
    def main(show):
        o, t = O(1), Text("b")
        s, u = Set([o, O(2)]), Set([t, "c"])
        show(kinds(s), texts(u)); o.kind = 5; u.discard(t); show(kinds(s), texts(u), t.length, Made.other)
        setattr(o, "kind", 0); show(kinds(s))
    """
    same_both_ways(program, ("filtered", "incremental"))


def test_a_class_attribute_that_turns_out_to_compute_is_refused_by_the_next_question() -> None:
    text = source(
        "def make(): return property(lambda self: 1)\nclass O:\n    kind: object = make()\n" + QUERY
    )
    scope = load(incoq.compile_source(text).code)
    with pytest.raises(scope["IncoqRuntimeError"], match="IQ206"):
        scope["kinds"](scope["Set"]([scope["O"]()]))
    scope = load(incoq.compile_source(text.replace("property(lambda self: 1)", "7")).code)
    assert scope["kinds"](scope["Set"]([scope["O"]()])) == {7}
