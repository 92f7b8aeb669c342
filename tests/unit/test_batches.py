"""`with batch():` maintains what the updates inside come to, and no answer is out of date meanwhile."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from incoq import batch as uncompiled_batch
from incoq import compile_source

PROGRAM = """
from incoq import Set, batch, query

class User:
    def __init__(self, name, loc):
        self.name, self.loc = name, loc

@query
def names(group):
    return {u.name for u in group if u.loc == "NYC"}

def place(user, *places):
    for user.loc in places:
        pass

def in_a_batch(user, *places):
    with batch():
        place(user, *places)

def forget_place(user):
    with batch():
        user.loc = "NYC"
        del user.loc

def in_and_out(group, user):
    with batch():
        group.discard(user)
        group.add(user)

def nested(group, a, b):
    with batch():
        group.discard(a)
        with batch():
            b.loc = "Rome"
        group.add(b)

def asked_inside(group, user):
    with batch():
        user.loc = "Rome"
        before = set(names(group))
        user.loc = "NYC"
    return before

def asked_amid(group, user):
    with batch():
        user.loc = "Rome"
        names(group)
        for user.loc in ("NYC", "Lima", "Oslo"):
            pass

def left_by_an_exception(user):
    with batch():
        user.loc = "Rome"
        raise LookupError

def replaced(group, user, other):
    with batch():
        group.discard(user)
        group.add(other)
"""


@pytest.fixture(params=["filtered", "incremental"])
def program(request: pytest.FixtureRequest) -> Any:
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile_source(PROGRAM, mode=request.param).code, namespace)
    module = type("Program", (), {k: staticmethod(v) if callable(v) else v for k, v in namespace.items()})
    module.count = counted(namespace)  # type: ignore[attr-defined]
    return module


def counted(namespace: dict[str, Any]) -> list[str]:
    """What settling a batch maintains, as the names of fields."""
    seen: list[str] = []
    settling = next(v for v in namespace.values() if type(v).__name__ == "Batch")
    for field, setter in settling.setters.items():
        settling.setters[field] = lambda value, o, f=field, s=setter: (seen.append(f), s(value, o))
    return seen


def world(program: Any) -> tuple[Any, Any, Any]:
    a, b = program.User("a", "NYC"), program.User("b", "NYC")
    group = program.Set([a, b])
    assert program.names(group) == {"a", "b"}
    return group, a, b


def test_a_field_changed_often_is_maintained_once(program: Any) -> None:
    group, a, _ = world(program)
    program.in_a_batch(a, "Rome", "NYC", "Lima", "Oslo")
    assert program.names(group) == {"b"}
    assert program.count == ["loc"]


def test_a_field_changed_back_is_not_maintained(program: Any) -> None:
    group, a, _ = world(program)
    program.in_a_batch(a, "Rome", "NYC")
    assert program.names(group) == {"a", "b"}
    assert program.count == []


def test_a_field_that_is_deleted_in_the_end_is_gone(program: Any) -> None:
    group, a, _ = world(program)
    program.forget_place(a)
    assert program.names(group) == {"b"}
    assert not hasattr(a, "loc")


def test_an_element_that_comes_back_is_as_it_was(program: Any) -> None:
    group, a, _ = world(program)
    program.in_and_out(group, a)
    assert program.names(group) == {"a", "b"}


def test_an_inner_batch_ends_with_the_outer_one(program: Any) -> None:
    group, a, b = world(program)
    program.nested(group, a, b)
    assert program.names(group) == set()
    assert group == {b}


def test_a_query_asked_inside_is_up_to_date(program: Any) -> None:
    group, a, _ = world(program)
    assert program.asked_inside(group, a) == {"b"}
    assert program.names(group) == {"a", "b"}


def test_after_a_query_asked_inside_updates_wait_again(program: Any) -> None:
    group, a, _ = world(program)
    program.asked_amid(group, a)
    assert program.count == ["loc", "loc"]
    assert program.names(group) == {"b"}


def test_an_exception_leaves_the_batch_settled(program: Any) -> None:
    group, a, _ = world(program)
    with pytest.raises(LookupError):
        program.left_by_an_exception(a)
    assert program.names(group) == {"b"}


def test_an_element_replaced_by_another_changes_the_answer(program: Any) -> None:
    group, a, _ = world(program)
    program.replaced(group, a, program.User("c", "NYC"))
    assert program.names(group) == {"b", "c"}


def with_an_odd_location(raised: str) -> tuple[dict[str, Any], Any, Any, Any]:
    """The program, a user, a group that holds it, and a location whose comparison raises when it is armed."""
    text = PROGRAM + (
        "class Odd:\n    armed = False\n    def __eq__(self, other):\n        if Odd.armed:\n"
        f"            raise {raised}\n        return NotImplemented\n    __hash__ = object.__hash__\n"
    )
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile_source(text).code, namespace)
    user, odd = namespace["User"]("a", "NYC"), namespace["Odd"]()
    group = namespace["Set"]([user])
    assert namespace["names"](group) == {"a"}
    namespace["Odd"].armed = True
    return namespace, user, group, odd


def test_an_update_that_raises_while_a_batch_settles_leaves_the_data_changed_and_answers_right() -> None:
    namespace, user, group, odd = with_an_odd_location("KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        namespace["in_a_batch"](user, "Lima", odd)
    namespace["Odd"].armed = False
    assert user.loc is odd
    assert namespace["names"](group) == set()


def test_a_comparison_that_raises_while_a_batch_settles_skips_the_combination() -> None:
    namespace, user, group, odd = with_an_odd_location("RuntimeError")
    namespace["in_a_batch"](user, "Lima", odd)
    assert user.loc is odd
    assert namespace["names"](group) == set()


def test_a_program_without_batches_pays_nothing_for_them() -> None:
    code = compile_source(PROGRAM.replace("with batch():", "if True:").replace("Set, batch,", "Set,")).code
    assert "is_open" not in code


def test_uncompiled_a_batch_does_nothing() -> None:
    with uncompiled_batch():
        pass


def test_a_hash_that_raises_from_some_moment_on_leaves_answers_right_when_a_batch_has_ended() -> None:
    text = """
from incoq import Set, batch, query

class Key:
    left = -9
    def __hash__(self):
        Key.left -= 1
        if -9 < Key.left <= 0:
            raise OSError
        return 7
    def __eq__(self, other):
        return self is other

@query
def held(s, t):
    return {x for x in s if x in t}

def change(s, keys):
    with batch():
        s.discard(keys[0])
        s.add(keys[1])
        s.add(keys[2])
"""
    code = compile(compile_source(text).code, "<compiled>", "exec")
    for call in range(1, 40):
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(code, namespace)
        keys = [namespace["Key"]() for _ in range(3)]
        s, t = namespace["Set"](keys[:1]), namespace["Set"](keys)
        assert namespace["held"](s, t) == {keys[0]}
        namespace["Key"].left = call
        with contextlib.suppress(OSError):
            namespace["change"](s, keys)
        namespace["Key"].left = -9
        assert set(s) <= set(keys)
        assert namespace["held"](s, t) == set(s)
