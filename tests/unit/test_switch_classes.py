"""A set that nothing depends on is changed by Python's own methods; no change of another is missed."""

from __future__ import annotations

import pytest
from both_ways import compile_in, load, same_both_ways

import incoq
from incoq.codegen.switch_classes import may_switch_classes
from incoq.frontend.program import Program, parse_module

PROGRAM = """
@query
def fans(celeb, group):
    return {u.name for u in celeb.followers if u in group}

class User:
    def __init__(self, name):
        self.name, self.followers = name, Set()

ann, bob, cid = User("ann"), User("bob"), User("cid")
group, other = Set([ann]), Set()
"""
HEAD = "from incoq import Set, query\n"


def switches(text: str) -> bool:
    compiled = incoq.compile_source(HEAD + PROGRAM + text)
    return compiled.support.maintained != compiled.support.names["Set"]


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_a_set_has_the_maintained_class_just_while_a_query_depends_on_it(mode: str) -> None:
    space = load(compile_in(HEAD + PROGRAM, mode).code)
    group, bob = space["group"], space["bob"]
    kind = type(group)
    assert kind.add is set.add
    space["fans"](bob, group)
    assert type(group) is not kind
    assert type(bob.followers) is not kind
    assert type(space["other"]) is kind
    assert group.__class__ is kind
    assert repr(group).startswith("Set({")
    if mode == "filtered":
        space["fans"].release(bob, group)
        assert type(group) is kind
        assert type(bob.followers) is kind


@pytest.mark.parametrize(
    "text",
    [
        "keep = group.add",
        "list(map(group.discard, [ann]))",
        "set.add(group, bob)",
        "Set.add(group, bob)",
        "getattr(group, 'add')(bob)",
        "name = 'add'\ngetattr(group, name)(bob)",
        "class Crowd(Set): pass",
        "print(type(group) is Set)",
        "from operator import attrgetter",
        "import inspect",
        "from inspect import signature",
        "read = getattr",
        "import builtins\nbuiltins.getattr(group, 'add')(bob)",
        "group.__getattribute__('add')(bob)",
        "object.__getattribute__(group, 'add')(bob)",
        "match group:\n    case Set(add=join): join(bob)",
        "Crowd = Set",
        "kinds = {'crowd': set}",
        "for kind in (Set, list): print(kind)",
        "print(Set)",
        "def f(kind=Set): pass",
        "group.__class__.add(group, bob)",
        "group.__class__.__dict__['add'](group, bob)",
        "kind = group.__class__",
        "print(group.__class__)",
    ],
)
def test_the_classes_are_left_alone_where_a_program_could_tell_them_apart(text: str) -> None:
    assert not switches(text)


@pytest.mark.parametrize(
    "text",
    [
        "group.add(bob)",
        "type(ann) is int",
        "type(ann).__name__",
        "getattr(ann, 'name')",
        "print(isinstance(group, Set), issubclass(User, (Set, list)), isinstance(group, set | list))",
        "sets: dict[str, Set] = {}",
        "def f(a: Set, *b: 'Set', c: Set | None = None) -> tuple[Set, set]: return a, set()",
        "from collections import defaultdict\ngroups = defaultdict(Set)",
        "from dataclasses import field\nfield(default_factory=Set)",
        "list(map(set, [[1]]))",
        "match group:\n    case Set(): group.add(bob)",
        "ann.__class__.__name__, ann.__class__ is User, ann.__class__('dan')",
    ],
)
def test_other_uses_do_not_matter(text: str) -> None:
    assert switches(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kind = Set", "kind.add(group, cid)"),
        ("kind = group.__class__", "kind.discard(group, ann)"),
        ("kinds = {'s': set}", "kinds['s'].pop(group)"),
        ("", "group.__class__.clear(group)"),
        ("read = getattr; join = read(group, 'add')", "join(cid)"),
        ("join = group.__getattribute__('add')", "join(cid)"),
        ("import functools; join = functools.reduce(getattr, ['add'], group)", "join(cid)"),
        ("match group:\n        case Set(add=join): pass", "join(cid)"),
    ],
)
def test_an_update_by_a_method_of_the_class_or_one_taken_before_is_seen(before: str, after: str) -> None:
    same_both_ways(
        PROGRAM
        + f"""
def main(show):
    {before or "pass"}
    bob.followers.update([ann, cid])
    show(sorted(fans(bob, group)))
    {after}
    show(sorted(fans(bob, group)))
"""
    )


def test_a_method_taken_before_the_set_is_asked_about_is_seen() -> None:
    same_both_ways(
        PROGRAM
        + """
def main(show):
    join = group.add
    bob.followers.update([ann, bob, cid])
    show(sorted(fans(bob, group)))
    join(cid)
    show(sorted(fans(bob, group)))
"""
    )


def test_a_set_that_becomes_asked_about_while_it_is_updated_is_seen() -> None:
    same_both_ways(
        PROGRAM
        + """
def main(show):
    bob.followers.update([ann, bob, cid])
    def later():
        yield bob
        show(sorted(fans(bob, group)))
        yield cid
    group.update(later())
    show(sorted(fans(bob, group)))
    group.update(x for x in [ann, bob] if fans(bob, group))
    group.clear()
    show(sorted(fans(bob, group)))
"""
    )


def test_a_set_in_two_roles_is_maintained_until_the_last_of_them_ends() -> None:
    same_both_ways(
        PROGRAM
        + """
def main(show):
    bob.followers = group
    show(sorted(fans(bob, group)), sorted(fans(ann, group)))
    group.add(cid)
    bob.followers = other
    show(sorted(fans(bob, group)), sorted(fans(ann, group)))
    ann.followers = group
    group.discard(ann)
    show(sorted(fans(bob, group)), sorted(fans(ann, group)))
    fans.release(ann, group)
    group.add(ann)
    other.add(ann)
    show(sorted(fans(bob, group)), sorted(fans(ann, group)))
"""
    )


def test_copies_and_pickles_of_a_maintained_set_are_sets_of_the_program() -> None:
    same_both_ways(
        PROGRAM
        + """
def main(show):
    import copy
    bob.followers.add(ann)
    show(sorted(fans(bob, group)))
    for twin in (copy.copy(group), group.copy(), group | other, copy.deepcopy(Set([1]))):
        twin.add(bob)
        show(len(twin), isinstance(twin, Set))
    show(sorted(fans(bob, group)))
""",
        modes=("filtered",),
    )


@pytest.mark.parametrize(("text", "switched"), [("base.Bag.add(s, 1)", False), ("s = base.Bag([1])", True)])
def test_a_module_may_know_the_class_by_the_name_that_another_has_for_it(text: str, switched: bool) -> None:
    modules = [
        parse_module("from incoq import Set as Bag", "base.py"),
        parse_module(f"import base\n{text}", "m.py"),
    ]
    assert may_switch_classes(Program(modules)) is switched
