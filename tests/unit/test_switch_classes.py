"""A set that nothing depends on is changed by Python's own methods; no change of another is missed."""

from __future__ import annotations

import pytest
from both_ways import compile_in, load, same_both_ways

import incoq

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
    ],
)
def test_the_classes_are_left_alone_where_a_program_could_tell_them_apart(text: str) -> None:
    assert not switches(text)


@pytest.mark.parametrize("text", ["group.add(bob)", "type(ann) is int", "type(ann).__name__", "other.pop"])
def test_other_uses_do_not_matter(text: str) -> None:
    assert switches(text) is (text != "other.pop")


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
