"""The order of maintenance inside an event: the paper's four rules, and the same care between auxiliaries."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable

import pytest
from both_ways import MODES, compile_in, load, same_both_ways

import incoq

ADDED, DISCARDED = r"\bset_add\(\w+, \w+\)", r"\bset_discard\(\w+, \w+\)"
RUNNING = """
from incoq import Set, query
@query
def nyc_fans(celeb, group):
    return {user.email for user in celeb.followers if user in group if user.loc == "NYC"}
"""


def body_of(function: str, mode: str = "filtered", text: str = RUNNING) -> str:
    compiled = incoq.compile_source(text, mode=mode, strategy="tags")
    code = compiled.support.text
    function = function.replace("Set.", f"{compiled.support.maintained}.")
    nodes: list[ast.stmt] = ast.parse(code).body
    for part in function.split("."):
        node = next(n for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == part)
        nodes = node.body
    return "\n".join(code.splitlines()[node.lineno - 1 : node.end_lineno])


def maintained(body: str) -> list[str]:
    """The invariants that a body maintains, in order, each with its sign."""
    return [f"{name} {sign}" for name, sign in re.findall(r"# (\w+) for \w+ ([+-])= ", body)]


def update_at(body: str, update: str) -> tuple[list[str], list[str]]:
    """What is maintained before and after the update itself."""
    before, after = re.split(update, body, maxsplit=1)
    return maintained(before), maintained(after)


def test_an_addition_is_maintained_after_the_update_auxiliaries_first_and_the_result_last() -> None:
    before, after = update_at(body_of("Set.add"), ADDED)
    assert before == []
    assert [a.split()[0] for a in after[-2:]] == ["r_nyc_fans", "r_nyc_fans"]
    assert {a.split()[0] for a in after[:-2]} == {"tag_user_1", "tag_user_2", "fil_inv_member_2"}
    assert all(a.endswith("+") for a in after)


def test_a_deletion_is_maintained_before_the_update_the_result_first() -> None:
    before, after = update_at(body_of("Set.discard"), DISCARDED)
    assert after == []
    assert [b.split()[0] for b in before[:2]] == ["r_nyc_fans", "r_nyc_fans"]
    assert all(b.endswith("-") for b in before)


def test_a_deletion_goes_the_way_of_the_addition_backwards() -> None:
    _, after = update_at(body_of("Set.add"), ADDED)
    before, _ = update_at(body_of("Set.discard"), DISCARDED)
    assert [b.split()[0] for b in before] == [a.split()[0] for a in reversed(after)]


def test_an_addition_goes_downstream_first_between_auxiliaries() -> None:
    text = RUNNING + "\n@query\ndef deep(s):\n    return {z.n for x in s for y in x for z in y}\n"
    _, after = update_at(body_of("Set.add", text=text), ADDED)
    tags = [a.split()[0] for a in after if a.startswith("tag_") and not a.startswith("tag_user")]
    assert tags == ["tag_z", "tag_y", "tag_x"]


def test_an_assignment_takes_the_old_away_and_puts_the_new_in() -> None:
    before, after = update_at(body_of("change_loc"), r"\n {8}o\.loc = value\n(?= {8}#)")
    assert (before, after) == (["r_nyc_fans -"], ["r_nyc_fans +"])


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_the_second_occurrence_of_member_excludes_the_tuple_of_the_first(mode: str) -> None:
    for method in ("Set.add", "Set.discard"):
        body = body_of(method, mode)
        [excluded] = re.findall(r"(\w+) is not \w+", body.replace("is not None", ""))
        assert excluded == "celeb_followers", "only the second of two occurrences excludes the first"


def test_a_watched_clause_is_handled_before_and_after_whatever_the_update() -> None:
    text = "from incoq import Set, query\n@query\ndef q(s, t):\n    return {x for x in s if x not in t}\n"
    before, after = update_at(body_of("Set.add", text=text), ADDED)
    assert "r_q -" in before
    assert after.count("r_q +") == 2, "once for the membership, once for the negated one"


def test_an_object_outside_the_demand_leaves_at_once() -> None:
    text = (
        RUNNING
        + """
class User:
    def __init__(self):
        self.loc, self.email, self.followers = "NYC", 1, Set()
def update(user):
    user.loc = "LA"
    user.email = 2
    user.followers = Set()
    user.followers.add(user)
"""
    )
    namespace = load(compile_in(text, "filtered").code)
    make, update, fans = namespace["User"], namespace["update"], namespace["nyc_fans"]
    inside, outside = make(), make()
    fans(inside, namespace["Set"]([inside]))
    assert lines_executed(lambda: update(outside)) < 40 < lines_executed(lambda: update(inside))


def lines_executed(action: Callable[[], None]) -> int:
    count = 0

    def trace(frame: object, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


SELF_JOINS = """
class O:
    def __init__(self, name):
        self.name, self.f, self.g = name, Set(), Set()
    def __repr__(self):
        return self.name

@query
def both(s, t):
    return {x for x in s if x in t}

@query
def chain(s):
    return {(x, y) for x in s for y in x}

@query
def selves(s):
    return {x for x in s if x in x if s in x}

@query
def fields(o):
    return {y for x in o.f for y in x.f if y in o.g}

def main(show):
    s, t = Set(), Set()
    def everything():
        show([len(q) for q in (both(s, s), both(s, t), both(t, s), chain(s), selves(s), selves(t))])
    everything()
    for a, b in [(s, s), (s, t), (t, s), (t, t), (s, 1)]:
        a.add(b)
        everything()
    for a, b in [(s, s), (t, s), (s, t), (t, t)]:
        a.remove(b)
        everything()
    for a, b in [(t, t), (s, t), (s, s)]:
        a.add(b)
    everything()
    s.clear()
    everything()
    o = O("o")
    o.f.add(o)
    o.g.add(o)
    show(fields(o))
    o.g = o.f
    show(fields(o))
    o.f.remove(o)
    show(fields(o))
    o.f.add(o)
    show(fields(o))
    o.f = Set([o])
    show(fields(o))
"""


def test_one_event_on_many_edges_counts_once() -> None:
    same_both_ways(SELF_JOINS, MODES)
