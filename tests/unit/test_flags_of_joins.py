"""Flags that conditions ask for their truth: joins hold them, indices of joins do not."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest

import incoq
from incoq.evaluator import compile_naive
from incoq.invariants.join_stages import told
from incoq.verify import Checker

PROGRAM = """
from incoq import Set, query

class Thing:
    pass

@query
def q(users, uid):
    return {expression}

def make():
    thing = Thing()
    thing.id, thing.name, thing.active, thing.things = 0, 0, True, Set()
    return thing

def set_active(thing, value):
    thing.active = value

def del_active(thing):
    del thing.active

def set_id(thing, value):
    thing.id = value

def set_name(thing, value):
    thing.name = value

def set_things(thing, value):
    thing.things = value

def put(s, x):
    s.add(x)

def take(s, x):
    s.discard(x)

def new_set():
    return Set()
"""
QUERIES = {
    "a flag": "{p.name for u in users for g in u.things for p in g.things if u.id == uid if g.active}",
    "a flag that is false": "{p.name for g in users for p in g.things if g.id == uid if not g.active}",
    "two conditions about a flag": "{p for g in users for p in g.things if g.active if g.active != uid}",
    "a flag beside another value": "{p.name for g in users for p in g.things if g.active or p.id == uid}",
    "a flag in the answer": "{(p.name, g.id) for g in users for p in g.things if g.active if p.id == uid}",
    "a field with two meanings": "{p.name for g in users for p in g.things if g.active if p.active == uid}",
    "a flag of two objects": "{p.id for g in users for p in g.things if g.active if p.active if p.id == uid}",
    "a count": "len({p for u in users for g in u.things for p in g.things if u.id == uid if g.active})",
}


def compiled(expression: str) -> incoq.compile.Compiled:
    return incoq.compile_source(PROGRAM.replace("{expression}", expression), "program.py", strategy="join")


@pytest.mark.parametrize("expression", QUERIES.values(), ids=QUERIES)
def test_answers_and_all_that_is_kept_are_right_after_every_update(expression: str) -> None:
    made = compiled(expression)
    live: dict[str, Any] = {"__name__": "program"}
    exec(compile(made.code, "<compiled>", "exec"), live)
    checker = Checker(made, live)
    rng = random.Random(expression)
    things = [live["make"]() for _ in range(4)]
    sets = [live["new_set"]() for _ in range(2)]
    naive = _naive(expression)
    for number in range(220):
        thing, other = rng.choice(things), rng.choice(things)
        containers = [*sets, *(t.things for t in things)]
        match rng.randrange(12):
            case 0 | 1 | 2:
                flags = (True, False, 0, 2, "", "a", None, rng.choice(containers), ())
                live["set_active"](thing, rng.choice(flags))
            case 3 if "active" in vars(thing):
                live["del_active"](thing)
            case 4:
                live["set_id"](thing, rng.randrange(2))
            case 5:
                live["set_name"](thing, rng.randrange(3))
            case 6:
                live["set_things"](thing, rng.choice(containers))
            case 7 | 8:
                live["take"](rng.choice(containers), other)
            case _:
                live["put"](rng.choice(containers), other)
        asked = rng.choice(sets), rng.randrange(2)
        if number % 5 == 4:
            live["q"].release(*asked)
        elif number % 2:
            assert live["q"](*asked) == naive(*asked), number
        checker.check()


def _naive(expression: str) -> Any:
    [definition] = ast.parse(f"def q(users, uid):\n    return {expression}\n").body
    assert isinstance(definition, ast.FunctionDef)
    return compile_naive(definition, {})


def flags(made: incoq.compile.Compiled) -> set[str]:
    query = made.plan.queries[0]
    return {value for i in made.plan.invariants for value, _, _ in told(query, i.head)}


def test_an_index_holds_no_flag_that_an_object_tells() -> None:
    made = compiled(QUERIES["a flag"])
    assert flags(made) == {"g_active"}
    holding = [i.name for i in made.plan.structures() if "g_active" in i.head]
    assert holding == ["join_q_5_by_g_active"]


def test_a_field_with_two_meanings_is_held() -> None:
    assert flags(compiled(QUERIES["a field with two meanings"])) == set()
    assert flags(compiled(QUERIES["a flag of two objects"])) == set()


def test_a_flag_that_is_another_one_leaves_indices_alone() -> None:
    code = compiled(QUERIES["a flag"]).code
    body = code[code.index("def change_active(") :]
    replaced, _, first = body[: body.index("\ndef ", 5)].partition("        else:\n            # join")
    assert "join_q_5_by_p" not in replaced
    assert "join_q_5_by_p" in first
