"""Global sets that never are others: when they are known by name, and that nothing is different then."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from both_ways import same_both_ways

import incoq

PROGRAM = """
from incoq import Set, query

DAYS = Set()
BIRTHS = {("ann", 1), ("bob", 1)}


@query
def shared():
    return {d for d in DAYS if len({p for (p, day) in BIRTHS if day == d}) > 1}


@query
def count():
    return len({d for d in DAYS if d in {day for (p, day) in BIRTHS}})


def born(person, day):
    BIRTHS.add((person, day))


def forget(person, day):
    BIRTHS.discard((person, day))
"""


def load(text: str, **options: Any) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(incoq.compile_source(text, **options).code, "<compiled>", "exec"), namespace)
    return namespace


def fixed(text: str) -> frozenset[str]:
    return incoq.compile_source(text).plan.fixed


def test_a_set_made_once_at_the_top_is_no_parameter() -> None:
    compiled = incoq.compile_source(PROGRAM)
    assert compiled.plan.fixed == {"DAYS", "BIRTHS"}
    assert all(not query.hidden for query in compiled.plan.queries)
    assert not incoq.compile_source(PROGRAM, without=["globals"]).plan.fixed
    assert not incoq.compile_source(PROGRAM, mode="incremental").plan.fixed


@pytest.mark.parametrize(
    "change",
    [
        "def anew():\n    global DAYS\n    DAYS = Set()\n",
        "import sys\ndef anew():\n    sys.modules[__name__].DAYS = Set()\n",
        "def anew():\n    globals()['DAYS'] = Set()\n",
        "def anew(module):\n    setattr(module, 'DAYS', Set())\n",
        "@query\ndef other(x):\n    return {y for y in x.f if y is DAYS}\n",
        "@query\ndef other(DAYS):\n    return {d for d in DAYS}\n",
        "if BIRTHS:\n    DAYS = Set()\n",
    ],
)
def test_a_set_that_may_be_another_one_stays_a_parameter(change: str) -> None:
    assert "DAYS" not in fixed(PROGRAM + "\n" + change)


@pytest.mark.parametrize("strategy", ["tags", "join", "auto"])
def test_answers_follow_every_change_and_nothing_is_kept_before_or_after(strategy: str) -> None:
    program = load(PROGRAM, strategy=strategy)
    compiled = incoq.compile_source(PROGRAM, strategy=strategy)
    days, births = program["DAYS"], program["BIRTHS"]
    days.add(1)
    assert compiled.extra_space(program) == 0
    assert program["shared"]() == {1}
    program["forget"]("bob", True)  # equal to 1
    assert (program["shared"](), program["count"]()) == (set(), 1)
    program["born"]("cid", 2)
    program["born"]("dan", 2)
    days |= {2, 3}
    assert (program["shared"](), program["count"]()) == ({2}, 2)
    births.clear()
    assert (program["shared"](), program["count"]()) == (set(), 0)
    births.update({("eve", 3), ("fay", 3)})
    assert program["shared"]() == {3}
    program["shared"].release()
    program["count"].release()
    assert compiled.extra_space(program) == 0
    assert type(days) is program["Set"]
    assert days.__class__ is program["Set"]
    assert program["shared"]() == {3}


def test_a_query_that_is_asked_before_its_set_is_made_finds_no_name() -> None:
    text = PROGRAM.replace("DAYS = Set()\n", "", 1)
    early = text.replace(
        "def born",
        "try:\n    shared()\nexcept NameError as e:\n    error = str(e)\nDAYS = Set([1])\n\n\ndef born",
    )
    program = load(early)
    assert program["error"] == "name 'DAYS' is not defined"
    assert program["shared"]() == {1}


def test_a_set_in_its_own_elements_and_behind_a_field_is_still_one_set() -> None:
    text = (
        "from incoq import Set, query\nS = Set()\nclass O:\n    pass\n"
        "@query\ndef deep(o):\n    return {x for s in o.sets for x in s if x in S}\n"
    )
    program = load(text)
    o = program["O"]()
    o.sets = program["Set"]([program["S"]])
    assert program["deep"](o) == set()
    program["S"].add(program["S"])
    program["S"].add(1)
    assert program["deep"](o) == {program["S"], 1}
    program["S"].discard(program["S"])
    assert program["deep"](o) == {1}


@pytest.mark.parametrize(
    "test",
    [
        "len({y for (y, z) in T if z == x}) in S",
        "(x, len({y for (y, z) in T if z == x})) in S",
        "sum(y for (y, z) in T if z == x) in S",
        "(x, len(T)) in S if sum(y for (y, z) in T if z == x) >= 0",
        "cnt(x) in S",
    ],
)
def test_what_is_counted_may_be_looked_for_in_another_set(test: str) -> None:
    program = f"""
    R = Set()
    S = Set()
    T = Set()

    @query
    def cnt(k):
        return len({{y for (y, z) in T if z == k}})

    @query
    def q():
        return {{x for x in R if {test}}}

    def main(show):
        for n in range(3):
            R.add(n)
        S.update((0, 1, (1, 1), (1, 2)))
        for step in range(12):
            (T.add if step % 4 else T.discard)((step % 3, step % 2))
            show(q())
    """
    same_both_ways(program)


def test_fixed_sets_are_annotated_made_by_set_and_asked_in_all_ways() -> None:
    program = """
    NAMES: set = set()
    OTHERS = set([1, 2])
    element = Set([7])
    PAIRS = {(1, 2)}
    class User:
        def __init__(self, n): self.n, self.members = n, Set()
    @query
    def members(of): return {x for x in of.members}
    @query
    def either(s): return {x.n for x in s if x.n in NAMES or x.n not in OTHERS}
    @query
    def counted(s): return {x.n for x in s if abs(len({n for n in NAMES if n != x.n}) - 1) < 2}
    @query
    def with_element(s): return {x.n for x in s if len(members(x)) > 1 if x.n in element}
    @query
    def paired(s): return {x.n for x in s if (x.n, x.n + 1) in PAIRS}
    def main(show):
        users = [User(n) for n in (0, 1, 2, 7)]
        s = Set(users)
        def every(): show(either(s), counted(s), with_element(s), paired(s), sorted(vars(users[0]))[1:])
        every()
        NAMES.add(1); OTHERS.discard(2); every()
        users[3].members.update([1, 2]); PAIRS.add((0, 1)); every()
        element.add(1); NAMES.update([2, 3]); users[1].members.update([3, 4]); every()
        users[1].n = 7; element.discard(7); PAIRS.clear(); every()
    """
    same_both_ways(program, ("filtered", "incremental", "join", "auto"))
    names = incoq.compile_source("from incoq import Set, query\n" + textwrap.dedent(program)).plan.fixed
    assert names == {"NAMES", "OTHERS", "PAIRS"}  # a nested query has a variable of its own called element


IN_PLACE = """
from incoq import Set, query

R = Set()
CALLS = []


@query
def q(n):
    return {x for x in R if x[0] == n}


def element(x):
    CALLS.append(x)
    return x


def put(x):
    R.add(x)


def put_pair(x, y):
    R.add((x, y))


def put_called(x):
    R.add(element(x))


def take(x):
    R.discard(x)  # out


def take_if(x):
    if x: R.discard(x)


def put_into(s, x):
    s.add(x)
"""


def test_the_look_up_stands_in_place_of_an_update_of_a_set_known_by_name() -> None:
    code = incoq.compile_source(IN_PLACE).code
    assert "def put(x):\n    if x not in R:\n        R._put_(x)\n" in code
    assert "def take(x):\n    if x in R:\n        R._take_(x)  # out\n" in code
    assert "    if x: R.discard(x)\n" in code, "it needs lines of its own"
    assert "def put_into(s, x):\n    s.add(x)\n" in code, "any set"
    assert "_put_" not in incoq.compile_source(IN_PLACE, without=["inlining"]).code


def test_an_update_in_place_does_what_the_method_does() -> None:
    same_both_ways(
        IN_PLACE.replace("from incoq import Set, query\n", "")
        + """
class Unhashable:
    __hash__ = None

def main(show):
    other = Set()
    for asked in (False, True):
        put((1, 2))
        put((1, 2))
        put_pair(1, 3)
        put_pair(2, 3)
        put_called((1, 4))
        put_called((1, 4))
        take((1, 2))
        take((1, 2))
        take_if((5, 5))
        put_into(other, (1, 7))
        put_into(R, (1, 8))
        show(sorted(R), len(CALLS), sorted(other))
        for update in (put, take, put_called):
            try:
                update(Unhashable())
            except TypeError as error:
                show(str(error))
        show(sorted(q(1)), sorted(q(2)))
        take((1, 3))
        put((1.0, 9))
        take((True, 9))
        show(sorted(q(1)))
    q.release(1)
    q.release(2)
    put((1, 5))
    take((1, 4))
    show(sorted(R), sorted(q(1)))
"""
    )


@pytest.mark.parametrize("strategy", ["first-clause", "tags", "join"])
def test_a_set_that_binds_nothing_first_has_its_place_among_the_tags(strategy: str) -> None:
    program = """
    from incoq import Set, query
    class O: pass
    T = Set()
    @query
    def q(p, x): return {v.a for v in p.a if (x, v.a) in T}
    def main(show):
        o, v = O(), O()
        o.a, v.a = Set([v]), 1
        show(q(o, 5)); T.add((5, 1)); show(q(o, 5)); v.a = 2; show(q(o, 5)); T.add((5, 2)); show(q(o, 5))
        T.clear(); show(q(o, 5))
    """
    same_both_ways(program, (strategy,), header="")
