"""Look-ups that stand in place of an update tell that nobody asks about its values, and tell it rightly."""

from __future__ import annotations

import pytest
from both_ways import MODES, run_compiled, same_both_ways, source

from incoq import compile_source

ATTENDING = """
class A:
    def __init__(self, student, course):
        self.student, self.course = student, course

    def __repr__(self):
        return f"A({self.student!r}, {self.course!r})"

ATTENDS = Set()
STUDENTS = Set()

@query
def attending(course):
    return {(a.student, s) for a in ATTENDS if a.course == course for s in STUDENTS if a.student == s}

def enter(a):
    ATTENDS.add(a)

def leave(a):
    ATTENDS.discard(a)

def enrol(s):
    STUDENTS.add(s)

def expel(s):
    STUDENTS.discard(s)

def move(a, course):
    a.course = course
"""
PAIRS = """
WORN = Set()
OWNERS = Set()

@query
def worn(owner):
    return {thing for (o, thing) in WORN if o == owner if thing in OWNERS}

def put(owner, thing):
    WORN.add((owner, thing))

def put_one(pair):
    WORN.add(pair)

def take(owner, thing):
    WORN.discard((owner, thing))

def take_one(pair):
    WORN.discard(pair)
"""


def attending(main: str) -> str:
    return source(ATTENDING + main)


def test_an_element_that_nobody_asks_about_is_added_without_a_call() -> None:
    text = compile_source(attending("")).code
    entering = text[text.index("def enter") : text.index("def leave")]
    assert "matters = a.course in r_attending" in entering
    assert "add_ATTENDS(a)" in entering


def test_what_was_looked_up_in_the_set_is_looked_up_elsewhere_without_ado() -> None:
    text = compile_source(attending("")).code
    enrolling = text[text.index("def enrol") : text.index("def expel")]
    assert "try" not in enrolling
    assert "STUDENTS._put_(s)" in enrolling
    assert "add_STUDENTS(s)" in enrolling


def test_a_part_of_a_tuple_is_looked_up_as_it_stands_in_the_program() -> None:
    main = """
def main(show):
    OWNERS.add("hat")
    put("ann", "hat")
    show(worn("ann"))
    put("bob", "hat")
    put_one(("ann", "bag"))
    put_one(("ann", "bag", 3))
    put_one("ab")
    put_one(("ann",))
    put_one(7)
    OWNERS.add("bag")
    show(worn("ann"), worn("b"))
    take("ann", "hat")
    take_one(("ann", "bag"))
    take_one("ab")
    take_one(("ann",))
    take_one(7)
    show(worn("ann"), worn("bob"), worn("a"))
"""
    same_both_ways(source(PAIRS + main))


def test_values_that_are_missing_or_cannot_be_keys_are_looked_at_closely() -> None:
    main = """
def main(show):
    enrol(1)
    nan = float("nan")
    here = A(1, "c")
    enter(here)
    show(attending("c"), attending(nan), attending(2), attending(None))
    for course in (nan, 2.0, True, None, "c", (1, "c"), "c"):
        move(here, course)
        show(attending("c"), attending(nan), attending(2), attending(1), attending(None))
    del here.course
    show(attending("c"))
    leave(here)
    enter(here)
    move(here, "c")
    show(attending("c"))
    del here.course
    move(here, "d")
    show(attending("c"), attending("d"))
"""
    same_both_ways(attending(main))


STRANGE = """
class Sour:
    def __hash__(self):
        raise ValueError("no hash")

def main(show):
    enrol(1)
    here = A(1, "c")
    enter(here)
    show(attending("c"))
    new = VALUE
    move(here, new)
    show(here.course is new)
    show(attending("c"))
"""


@pytest.mark.parametrize("value", ["Sour()", "bytearray(b'c')", "[1]", "{1: 2}", "(1, [2])", "Set()"])
def test_a_value_that_is_no_key_is_refused_as_it_is_by_a_call(value: str) -> None:
    text = attending(STRANGE.replace("VALUE", value))
    for mode in MODES:
        assert run_compiled(text, mode) == run_compiled(text, mode, without=("inlining",))


def test_in_a_batch_every_update_is_noted() -> None:
    main = """
def main(show):
    enrol(1)
    show(attending("c"))
    a, b = A(1, "d"), A(2, "c")
    with batch():
        enter(a)
        move(a, "c")
        enrol(2)
        enter(b)
    show(attending("c"))
"""
    text = attending(main).replace("import Set", "import Set, batch")
    assert "set_add(ATTENDS" not in compile_source(text).code
    same_both_ways(text)


def test_updates_in_incremental_mode_go_through_maintenance() -> None:
    text = compile_source(attending(""), mode="incremental").code
    assert "set_add(ATTENDS" not in text
