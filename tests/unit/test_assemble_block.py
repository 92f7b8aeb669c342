"""Operations of blocks: what is looked up first, which look-up decides about an update, what may raise."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest

from incoq.codegen.assemble_block import (
    Assign,
    For,
    Found,
    If,
    Keyable,
    Op,
    Plain,
    Turn,
    Unpack,
    ask_first,
)  # fmt: skip
from incoq.codegen.find_entry import Entry, common_entry, find_entry
from incoq.codegen.lower_tests import can_raise, is_safe

SUPPORT: Any = SimpleNamespace(REFLEXIVE="REFLEXIVE", keyable="keyable", is_reflexive="is_reflexive")


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def condition(text: str) -> If:
    return If(parsed(text))


def plain(text: str) -> Plain:
    return Plain(ast.parse(text).body[0])


def said(ops: list[Op]) -> list[str]:
    """Operations as text."""
    found = []
    for op in ops:
        match op:
            case If(asked):
                found.append(ast.unparse(asked))
            case Found(value, container, kept):
                found.append(f"{kept or '?'}: {ast.unparse(value)} of {ast.unparse(container)}")
            case Keyable(value):
                found.append(f"keyable {ast.unparse(value)}")
            case Plain(statement):
                found.append(ast.unparse(statement))
    return found


REFLEXIVE = "x.__class__ in REFLEXIVE or is_reflexive(x)"


def test_a_value_is_looked_up_at_once_where_its_class_tells_that_it_can_be() -> None:
    ops = [condition(REFLEXIVE), Keyable(parsed("x")), condition("x in r"), condition("y")]
    assert said(ask_first(ops, SUPPORT)) == [
        "x in r if x.__class__ in REFLEXIVE else is_reflexive(x) and keyable(x) and (x in r)", "y",
    ]  # fmt: skip
    assert said(ask_first(ops[1:], SUPPORT)) == ["?: x of r", "y"]
    assert said(ask_first([*ops[:2], ops[3]], SUPPORT)) == [
        "x.__class__ in REFLEXIVE or (is_reflexive(x) and keyable(x))", "y",
    ]  # fmt: skip


def test_what_a_map_has_for_a_value_is_got_at_once() -> None:
    ops = [Keyable(parsed("x")), plain("a = m.get(x)"), condition("a is not None"), condition("y")]
    assert said(ask_first(ops, SUPPORT)) == ["a: x of m", "y"]


@pytest.mark.parametrize(
    "ops",
    [
        [Keyable(parsed("x")), condition("y in r")],
        [Keyable(parsed("x")), condition("x not in r")],
        [Keyable(parsed("x")), If(parsed("x in r"), safe=False)],
        [Keyable(parsed("x")), plain("a = m.get(y)"), condition("a is not None")],
        [Keyable(parsed("x")), plain("a = m.get(x)"), condition("b is not None")],
        [Keyable(parsed("x")), plain("a = m.get(x)"), condition("a is None")],
        [Keyable(parsed("x")), plain("a = m.pop(x)"), condition("a is not None")],
        [condition(REFLEXIVE), Keyable(parsed("y")), condition("z in r")],
        [condition(REFLEXIVE.replace("REFLEXIVE", "OTHERS")), Keyable(parsed("x"))],
        [condition(REFLEXIVE), condition("x in r")],
        [condition("x in r"), condition("y in r")],
    ],
)
def test_operations_about_different_values_stay_as_they_are(ops: list[Op]) -> None:
    assert ask_first(ops, SUPPORT) == ops


def entry(*ops: Op, names: str = "x") -> str | None:
    found = find_entry(ops, names.split(), {"r", "q"})
    return None if found is None else ast.unparse(found)


def test_the_look_up_that_decides_is_over_what_the_update_has() -> None:
    assert entry(condition("x in r")) == "x in r"
    assert entry(Assign("y", parsed("x.f")), condition("y in r")) == "x.f in r"
    assert entry(plain("y = x[0]"), condition("y in r")) == "x[0] in r"
    assert entry(Unpack(ast.parse("y, z = x").body[0]), condition("z in r")) == "x[1] in r"
    assert entry(Assign("y", parsed("x.f")), Assign("z", parsed("y.g")), condition("z in r")) == "x.f.g in r"
    assert entry(plain("a = r.get(x)"), condition("a is not None")) == "x in r"
    assert entry(Found(parsed("x"), parsed("r"))) == "x in r"
    assert entry(condition("x == 1 and (y and x in r)")) == "x in r"
    assert entry(condition("x in r if y else z in q")) == "x in r"
    assert entry(condition("x in r"), condition("x in q")) == "x in r"
    assert entry(condition("o in r"), condition("old in r"), names="o old new") == "old in r"
    assert entry(condition("(o, new) in r"), names="o old new") == "(o, new) in r"
    assert entry(condition("(o, x) in r"), names="o x") == "(o, x) in r"


def test_nothing_decides_where_a_block_looks_nothing_up_that_the_update_has() -> None:
    assert entry(condition("x in other")) is None
    assert entry(condition("y in r")) is None
    assert entry(condition("x not in r")) is None
    assert entry(condition("1 in r")) is None
    assert entry(condition("x in r or x in q")) is None
    assert entry(condition("o in r"), names="o old new") is None
    assert entry(For(parsed("y"), parsed("s"), ""), condition("x in r")) is None
    assert entry(Turn(parsed("x"), parsed("y"), True), condition("x in r")) is None
    assert entry(Assign("y", parsed("f(x)")), condition("y in r")) is None
    assert entry(plain("a = r.get(x)"), condition("a is None")) is None
    assert entry(plain("a = r.get(x)"), condition("y")) is None
    assert entry(plain("a = r.pop(x)"), condition("a is not None")) is None


def test_an_update_that_several_blocks_depend_on_has_few_entries_or_none() -> None:
    tests = [parsed(f"x in {name}") for name in "abcd"]
    assert common_entry([], ("x",)) is None
    assert common_entry([None], ("x",)) is None
    assert common_entry([tests[0], None], ("x",)) is None
    assert common_entry(tests, ("x",)) is None
    three = common_entry([*tests[:3], parsed("x in a")], ("x",))
    assert three is not None
    assert three.structures() == {"a", "b", "c"}
    assert not three.reads_fields()


def test_the_condition_of_an_update_is_about_its_parts() -> None:
    one = Entry((parsed("x.f in r"),), ("o", "x"))
    assert ast.unparse(one.of(parsed("a"), parsed("b"))) == "b.f in r"
    assert one.reads_fields()
    both = Entry((parsed("x[0] in r"), parsed("x[2] in r")), ("x",))
    assert ast.unparse(both.of(parsed("t"))) == "t[0] in r or t[2] in r"
    items = [parsed("a"), parsed("b")]
    assert ast.unparse(both.of(parsed("t"), items=items)) == "a in r or t[2] in r"
    second = Entry((parsed("x[1] in r"),), ("o", "x"))
    assert ast.unparse(second.of(parsed("o"), parsed("t"), items=items)) == "b in r"
    own = second.of(parsed("o"), parsed("t"))
    assert isinstance(own, ast.Compare)
    different = Entry((parsed("x in a"), parsed("x in b")), ("x",))
    assert ast.unparse(different.of(parsed("t"))) == "a and t in a or (b and t in b)"


@pytest.mark.parametrize(
    ("text", "raises"),
    [
        ("x", False), ("1", False), ("x is y", False), ("x is not None", False), ("x is y is z", False),
        ("not x", True), ("not x is y", False), ("not 1", False), ("not (x == y)", True), ("x == y", True),
        ("x is y == z", True), ("f(x) is y", True), ("x is f(y)", True), ("(x, y)", False),
        ("(x, f(y))", True),
        ("x.f", True), ("x and y", True), ("x in s", True),
    ],
)  # fmt: skip
def test_only_names_constants_and_identity_cannot_raise(text: str, raises: bool) -> None:
    assert can_raise(parsed(text)) is raises


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("n < m", True), ("n == 1", True), ("1 < n", True), ("n < x", False), ("x < n", False),
        ("n in m", False),
        ("n not in m", False), ("n < 'a'", False), ("n < m < n", False), ("x is n", True),
    ],
)  # fmt: skip
def test_numbers_are_compared_without_care(text: str, safe: bool) -> None:
    assert is_safe(parsed(text), parsed(text), SUPPORT, {"n", "m"}) is safe


def test_a_value_is_compared_with_itself_without_care() -> None:
    lowered = parsed("x.__class__ in REFLEXIVE or is_reflexive(x)")
    assert is_safe(parsed("x == x"), lowered, SUPPORT, ())
    assert not is_safe(parsed("x == x"), parsed("x.__class__ in REFLEXIVE or f(x)"), SUPPORT, ())
