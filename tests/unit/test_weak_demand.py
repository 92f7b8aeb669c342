"""keep="weak": what is garbage but for the maintained structures is released."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from both_ways import compile_in, load

from incoq.codegen.weak import Weakly

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


@contextmanager
def another_thread() -> Iterator[None]:
    """While another thread runs, which may have the turn."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


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
    assert not scope["fans"].demanded
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
    assert not scope["popular"].demanded
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


def test_code_without_frames_releases_at_the_next_question_and_not_in_the_collector() -> None:
    answers: dict[Any, int] = {Parameter(): 1}
    weakly = Weakly([answers], [(answers, 1, answers.pop)], [dict.get])
    gc.collect()
    assert len(answers) == 1
    assert weakly.is_due
    weakly.release()
    assert not answers


class Parameter:
    """What a query was asked for."""


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


@pytest.mark.parametrize("mode", MODES)
def test_threads_that_take_turns_are_not_disturbed_by_collections_outside_of_a_turn(mode: str) -> None:
    scope = load(compile_in("import threading\n" + PROGRAM, mode).code)
    users = [scope["User"]("NYC") for _ in range(10)]
    groups = [scope["Set"](users) for _ in range(4)]
    lock = threading.Lock()
    wrong: list[Any] = []

    def work(number: int) -> None:
        rng = random.Random(number)
        try:
            for turn in range(150):
                with lock:
                    celeb, fan, group = rng.choice(users), rng.choice(users), rng.choice(groups)
                    scope["move"](fan, rng.choice(("NYC", "LA")))
                    (celeb.followers.discard if fan in celeb.followers else celeb.followers.add)(fan)
                    groups[turn % 4] = scope["Set"](rng.sample(users, 5))
                    expected = {u for u in celeb.followers if u in group if u.loc == "NYC"}
                    if scope["fans"](celeb, group) != expected:
                        wrong.append(expected)
                del group
                if turn % 8 == number:
                    gc.collect()
        except Exception as error:
            wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    gc.collect()
    assert len(scope["fans"].demanded) <= len(users) * len(groups)


def test_beside_another_thread_the_next_new_question_releases() -> None:
    scope = world("filtered")
    celeb, group = scope["User"]("LA"), scope["Set"]()
    scope["fans"](scope["User"]("LA"), group)
    kept = plan_result("fans")
    with another_thread():
        gc.collect()
        assert len(scope[kept]) == 1
        scope["fans"](celeb, group)
        assert [c for c, _ in scope[kept]] == [celeb]


def test_beside_another_thread_nothing_garbage_is_seen_to_be_demanded() -> None:
    scope = world("filtered")
    scope["fans"](scope["User"]("LA"), scope["Set"]())
    with another_thread():
        gc.collect()
        assert not scope["fans"].demanded
    assert structures("filtered", scope) == {}


def plan_result(query: str) -> str:
    """The map that holds the answers of a query."""
    return compile_in(PROGRAM, "filtered").plan.result_of(query).name


def test_a_collection_that_python_makes_by_itself_releases_too() -> None:
    scope = world("filtered")
    gc.collect()
    scope["fans"](scope["User"]("LA"), scope["Set"]())
    before = gc.get_threshold()
    gc.set_threshold(50, 1, 1)
    try:
        # A full collection comes when a quarter as many objects are new as have outlived the last one.
        _stored: list[Any] = [[] for _ in range(len(gc.get_objects()))]
    finally:
        gc.set_threshold(*before)
    assert not scope["fans"].demanded


@pytest.mark.parametrize("mode", MODES)
def test_a_program_that_is_dropped_is_freed_and_the_collector_calls_nothing_of_it(mode: str) -> None:
    def used() -> weakref.ref[Any]:
        scope = world(mode)
        user, group = scope["User"]("NYC"), scope["Set"]()
        scope["fans"](user, group)
        scope["popular"](group)
        gc.collect()
        return weakref.ref(scope["User"])

    gc.collect()
    before = len(gc.callbacks)
    dropped = used()
    gc.collect()
    assert dropped() is None
    assert len(gc.callbacks) == before


def test_a_program_that_stays_until_the_process_ends_says_nothing_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "compiled.py"
    path.write_text(compile_in(PROGRAM, "filtered").code)
    ask = (
        f"scope = {{}}; exec(open({str(path)!r}).read(), scope)\n"
        "scope['fans'](scope['User']('NYC'), scope['Set']())\n"
    )
    end = "scope['itself'] = scope; del scope"  # a cycle: only the last collection frees it
    ended = subprocess.run([sys.executable, "-I", "-c", ask + end], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
