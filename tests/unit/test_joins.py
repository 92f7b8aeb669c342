"""Joins instead of tag sets: how a query is split into stages, what is kept, and when joins are chosen."""

from __future__ import annotations

import pytest
from both_ways import compile_in, load, same_both_ways

import incoq
from incoq.invariants.join_stages import join_stages
from incoq.ir.invariants import Guard, Store

HEAD = "from incoq import Set, query\n@query\n"
RUNNING = (
    "def q(celeb, group):\n    return {u.email for u in celeb.followers if u in group if u.loc == 'NYC'}\n"
)


def stages(text: str) -> list[list[str]] | str:
    (query,) = incoq.compile_source(HEAD + text).plan.queries
    found = join_stages(query)
    if isinstance(found, str):
        return found
    return [[str(query.clauses[i]) for i in stage] for stage in (*found.stages, found.rest)]


def test_fields_are_followed_first_then_all_sets_that_tell_the_same_elements() -> None:
    assert stages(RUNNING) == [
        ["(celeb, celeb_followers) in field_followers"],
        ["(celeb_followers, u) in member", "(group, u) in member"],
        ["(u, u_loc) in field_loc", "(u, u_email) in field_email"],
    ]


def test_a_field_that_must_equal_a_parameter_is_joined_with_the_set_of_its_objects() -> None:
    assert stages("def q(users, uid):\n    return {u.name for u in users if u.id == uid}\n") == [
        ["(users, u) in member", "(u, uid) in field_id"],
        ["(u, u_name) in field_name"],
    ]


def test_what_joins_do_not_hold_is_said() -> None:
    nested = "def q(s):\n    return {x for x in s if len({y for y in x.f}) > 1}\n"
    compiled = incoq.compile_source(HEAD + nested, strategy="join")
    assert [c.strategy for c in compiled.plan.choices] == ["join", "tags"]
    assert "value relations" in compiled.plan.choices[1].reason


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        (RUNNING, "join"),
        ("def q(s, t):\n    return {x for x in s for y in t if x.f == y.f}\n", "tags"),
    ],
)
def test_joins_are_chosen_where_no_update_gets_dearer(text: str, chosen: str) -> None:
    (choice,) = incoq.compile_source(HEAD + text, strategy="auto").plan.choices
    assert choice.strategy == chosen
    assert choice.reason


def test_a_first_demand_walks_the_smaller_of_two_sets_and_a_release_leaves_nothing() -> None:
    compiled = compile_in(HEAD + RUNNING + "class User: pass\n", "join")
    space = load(compiled.code)
    celeb, group, user = space["User"](), space["Set"](), space["User"]()
    user.email, user.loc, celeb.followers = "x", "NYC", space["Set"]([user])
    seen: list[object] = []

    class Watched(space["User"]):  # type: ignore[misc]
        def __hash__(self) -> int:
            seen.append(self)
            return 1

    for _ in range(50):
        set.add(group, Watched())
    set.add(group, user)
    del seen[:]
    assert space["q"](celeb, group) == {"x"}
    assert not seen, "the larger set is looked up in, not walked"
    assert compiled.extra_space(space) > 0
    space["q"].release(celeb, group)
    assert compiled.extra_space(space) == 0


def test_a_join_is_kept_as_its_indices_alone() -> None:
    plan = incoq.compile_source(HEAD + RUNNING, strategy="join").plan
    joins = {i.name for i in plan.invariants if i.store is Store.JOIN}
    assert joins
    assert not joins & {i.name for i in plan.structures()}


def test_a_set_in_two_roles_of_a_join_counts_once() -> None:
    same_both_ways(
        """
class User:
    def __init__(self, name):
        self.name, self.f, self.g = name, Set(), Set()
@query
def both(a, b):
    return {(u.name, v.name) for u in a.f if u in b.g for v in u.f if v in a.f}
def main(show):
    users = [User(f"u{i}") for i in range(3)]
    a, b, c = users
    b.g = a.f
    c.f = a.f
    for user in (a, b, c, a):
        (a.f.discard if user in a.f else a.f.add)(user)
        show(sorted(both(a, b)), sorted(both(c, b)), sorted(both(b, c)))
        c.f = b.f if user is b else a.f
        show(sorted(both(a, b)), sorted(both(c, b)), sorted(both(b, c)))
"""
    )


def test_a_walk_inside_a_walk_leaves_the_larger_set_of_the_outer_one_alone() -> None:
    same_both_ways(
        """
class Box:
    pass
@query(demand=("box", "s"))
def found(box, x, s):
    return {(x, y) for y in box.a if y in s if x in s if x in box.a}
def main(show):
    box, s, t = Box(), Set([1, 2, 3]), Set([2, 3, 4])
    box.a = t
    for x in (1, 2, 3, 4):
        show(sorted(found(box, x, s)))
    box.a = s
    show(sorted(found(box, 2, s)))
    box.a = t
    t.add(1)
    show(sorted(found(box, 1, s)), sorted(found(box, 2, s)))
"""
    )


def test_a_condition_is_not_evaluated_for_what_only_another_query_demands() -> None:
    same_both_ways(
        """
class Price:
    def __init__(self, n): self.n = n
    def __lt__(self, other): return self.n < other.n
class Item:
    def __init__(self, low, high): self.low, self.high = low, high
@query
def cheap(s): return {x.low for x in s if x.low < x.high}
@query
def lows(s): return {x.low.n for x in s}
def main(show):
    item = Item(Price(1), Price(2))
    items = Set([item])
    show(lows(items))
    item.low = Price(3)  # which `cheap` would refuse, if it were asked
    show(lows(items))
""",
        ("filtered", "first-clause", "join", "auto"),
    )


def test_an_update_of_an_object_asks_first_whether_the_global_set_holds_it() -> None:
    text = "def q(loc):\n    return {u.name for u in USERS if u.loc == loc}\n"
    plan = incoq.compile_source(
        f"from incoq import Set, query\nUSERS = Set()\n@query\n{text}", strategy="join"
    ).plan
    [join] = [i for i in plan.invariants if i.store is Store.JOIN]
    guards = {str(join.clauses[b.clause]): b.guards for b in join.blocks}
    assert guards["(u, loc) in field_loc"] == (Guard("USERS", "u"),)
    assert guards["(USERS, u) in member"] == (Guard("tag_USERS", "USERS"),)


def test_no_global_set_is_asked_about_an_object_that_is_not_its_element() -> None:
    text = (
        "def q(loc):\n    return {u.name for (u, v) in PAIRS for w in USERS if w.boss == u if v.loc == loc}\n"
    )
    head = "from incoq import Set, query\nUSERS, PAIRS = Set(), Set()\n@query\n"
    for invariant in incoq.compile_source(head + text, strategy="join").plan.invariants:
        for block in invariant.blocks:
            for guard in block.guards:
                assert guard.tag != "PAIRS"
                assert guard.tag != "USERS" or guard.variable == "w"


def test_a_join_holds_no_combination_that_a_condition_on_its_variables_excludes() -> None:
    plan = incoq.compile_source(
        HEAD + "def q(s):\n    return {x for x in s if x != s}\n", strategy="join"
    ).plan
    [join] = [i for i in plan.invariants if i.store is Store.JOIN]
    assert [test.expr.text for test in join.tests] == ["x != s"]
    assert not plan.result_of("q").tests


def test_what_is_watched_decides_in_the_result_alone() -> None:
    text = "def q(s, t):\n    return {x for x in s if x != t if x not in t}\n"
    plan = incoq.compile_source(HEAD + text, strategy="join").plan
    assert not any(
        test.expr.text == "x not in t" for i in plan.invariants if i.store is Store.JOIN for test in i.tests
    )
