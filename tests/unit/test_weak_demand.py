"""keep="weak": what is garbage but for the maintained structures is released."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from both_ways import compile_in, load

MODES = ["filtered", "incremental"]

PROGRAM = """
from incoq import Set, query

class User:
    def __init__(self, loc):
        self.loc, self.followers, self.follows = loc, Set(), Set()

@query(keep="weak")
def fans(celeb, group):
    return {u for u in celeb.followers if u in group if u.loc == "NYC"}

def move(user, loc):
    user.loc = loc

@query
def everyone(group):
    return {u.loc for u in group}

@query(keep="weak")
def popular(group):
    return {u for u in group if len(fans(u, group)) > 1}
"""


def world(mode: str) -> dict[str, Any]:
    return load(compile_in(PROGRAM, mode).code)


def structures(mode: str, scope: dict[str, Any]) -> dict[str, int]:
    plan = compile_in(PROGRAM, mode).plan
    return {i.name: len(scope[i.name]) for i in plan.structures() if scope[i.name]}


@pytest.mark.parametrize("mode", MODES)
def test_a_combination_goes_with_a_parameter_object(mode: str) -> None:
    scope = world(mode)
    group = scope["Set"]()
    celebs = [scope["User"]("LA") for _ in range(10)]
    for celeb in celebs:
        scope["fans"](celeb, group)
    assert len(scope["fans"].demanded) == 10
    celebs.pop()
    del celeb
    gc.collect()
    assert len(scope["fans"].demanded) == 9
    assert {c for c, _ in scope["fans"].demanded} == set(celebs)


@pytest.mark.parametrize("mode", MODES)
def test_a_parameter_that_the_program_still_reaches_stays(mode: str) -> None:
    scope = world(mode)
    celeb, group = scope["User"]("LA"), scope["Set"]()
    fan = scope["User"]("NYC")
    fan.follows.add(celeb)
    scope["fans"](celeb, group)
    del celeb
    gc.collect()
    assert len(scope["fans"].demanded) == 1
    fan.follows.clear()
    gc.collect()
    assert not scope["fans"].demanded
    assert group is not None


def test_after_the_objects_everything_kept_for_them_is_gone() -> None:
    scope = world("filtered")
    celeb, fan = scope["User"]("LA"), scope["User"]("NYC")
    celeb.followers.add(fan)
    fan.follows.add(celeb)  # a cycle, which also the tag sets lead to
    group = scope["Set"]([fan, celeb])
    assert scope["fans"](celeb, group) == {fan}
    assert structures("filtered", scope)
    del celeb, fan, group
    gc.collect()
    assert structures("filtered", scope) == {}


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_that_was_released_is_right_when_it_is_asked_again(mode: str) -> None:
    scope = world(mode)
    celeb, fan = scope["User"]("LA"), scope["User"]("NYC")
    group = scope["Set"]([fan])
    scope["fans"](celeb, group)
    gc.collect()
    celeb.followers.add(fan)
    assert scope["fans"](celeb, group) == {fan}
    scope["fans"].release(celeb, group)
    scope["move"](fan, "LA")
    assert scope["fans"](celeb, group) == set()


def test_demand_of_other_policies_stays() -> None:
    scope = world("filtered")
    scope["everyone"](scope["Set"]())
    gc.collect()
    assert len(scope["everyone"].demanded) == 1


def test_an_inner_query_that_an_outer_one_needs_stays() -> None:
    scope = world("filtered")
    celeb, fan, other = (scope["User"]("NYC") for _ in range(3))
    group = scope["Set"]([celeb, fan, other])
    celeb.followers.update([fan, other])
    assert scope["popular"](group) == {celeb}
    gc.collect()
    scope["move"](other, "LA")
    assert scope["popular"](group) == set()
    del celeb, fan, other, group
    gc.collect()
    assert structures("filtered", scope) == {}


def test_a_collection_in_the_middle_of_an_update_releases_nothing() -> None:
    scope = world("filtered")
    group, fan = scope["Set"](), scope["User"]("NYC")
    group.add(fan)
    celeb = scope["User"]("LA")
    celeb.followers.add(fan)
    scope["fans"](celeb, group)

    class Location(str):
        def __eq__(self, other: object) -> bool:
            gc.collect()
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    scope["fans"](scope["User"]("LA"), group)  # garbage at once
    scope["move"](fan, Location("NYC"))
    assert scope["fans"](celeb, group) == {fan}
    gc.collect()
    assert len(scope["fans"].demanded) == 1


def test_parameters_that_take_no_weak_references_stay() -> None:
    text = """
from incoq import query
@query(keep="weak")
def above(pair, limit): return {x for x in pair if x > limit}
"""
    scope = load(compile_in(text, "filtered").code)
    assert scope["above"]((1, 2), 1) == {2}
    gc.collect()
    assert len(scope["above"].demanded) == 1


@pytest.fixture(autouse=True)
def _forget_programs() -> Any:
    """Programs of a test end with it; their callbacks too."""
    before = list(gc.callbacks)
    yield
    gc.callbacks[:] = before
