"""What is maintained for a query: steps 2-INC and 2-FIL."""

from __future__ import annotations

import pytest

import incoq
from incoq.ir.invariants import Plan, Store
from incoq.ir.relational import Kind

HEADER = "from incoq import Set, query\n"
RUNNING = """
@query
def nyc_fans(celeb, group):
    return {user.email for user in celeb.followers if user in group if user.loc == "NYC"}
"""
BIG = """
@query
def q(s, t):
    return {(x, y.n) for x in s for y in x.f if y in t if y not in x.g if x.a or y.b}
"""


def plan_of(text: str, mode: str = "filtered", strategy: str = "tags") -> Plan:
    return incoq.compile_source(HEADER + text, mode=mode, strategy=strategy).plan


def definitions(plan: Plan) -> dict[str, str]:
    return {i.name: i.definition().partition(" = ")[2] for i in plan.invariants}


def test_tags_and_filters_are_those_of_section_5_2() -> None:
    found = definitions(plan_of(RUNNING))
    assert found["tag_group"] == "{group : (celeb, group) in demand_nyc_fans}"
    assert found["tag_celeb"] == "{celeb : (celeb, group) in demand_nyc_fans}"
    assert found["fil_inv_member_2"] == "{(user, group) : (group,) in tag_group, (group, user) in member}"
    assert (
        found["fil_inv_followers"]
        == "{(celeb_followers, celeb) : (celeb,) in tag_celeb, (celeb, celeb_followers) in field_followers}"
    )


def test_a_tag_of_two_edges_is_where_both_counted_projections_are_positive() -> None:
    plan = plan_of(RUNNING)
    assert definitions(plan)["tag_user"] == "{user : (user,) in tag_user_1, (user,) in tag_user_2}"
    assert [plan.invariant(n).counted for n in ("tag_user_1", "tag_user_2", "tag_user")] == [
        True,
        True,
        False,
    ]


def test_incremental_mode_keeps_plain_inverses_and_no_tags() -> None:
    plan = plan_of(RUNNING, "incremental")
    assert {i.name for i in plan.invariants if i.store is Store.INDEX} == {
        "inv_member", "inv_followers", "demand_nyc_fans_1_2", "demand_nyc_fans_2_1",
    }  # fmt: skip
    assert not [i for i in plan.invariants if i.store is Store.TAG]


def test_first_clause_has_weaker_tags() -> None:
    found = definitions(plan_of(RUNNING, strategy="first-clause"))
    assert (
        found["tag_user"]
        == "{user : (celeb_followers,) in tag_celeb_followers, (celeb_followers, user) in member}"
    )
    assert "tag_user_1" not in found


def test_filtered_relations_that_go_forward_are_left_out() -> None:
    assert not [n for n in definitions(plan_of(RUNNING)) if n.startswith(("fil_member", "fil_field"))]


@pytest.mark.parametrize("text", [RUNNING, BIG])
@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_nothing_is_maintained_that_nothing_reads(text: str, mode: str) -> None:
    plan = plan_of(text, mode)
    read = {name for i in plan.invariants for _, name in i.access}
    read |= {g.tag for i in plan.invariants for b in i.blocks for g in b.guards}
    read |= {c.relation.name for i in plan.invariants for c in i.clauses if c.relation.kind is Kind.TAG}
    assert [i.name for i in plan.invariants if i.store is not Store.RESULT and i.name not in read] == []


def test_the_update_of_loc_is_guarded_by_the_tag_of_user_alone() -> None:
    plan = plan_of(RUNNING)
    result = plan.result_of("nyc_fans")
    [loc] = [b for b in result.blocks if result.clauses[b.clause].relation.name == "field_loc"]
    assert [(g.variable, g.tag) for g in loc.guards] == [("user", "tag_user")]


def test_every_clause_of_every_invariant_has_a_block() -> None:
    for invariant in plan_of(BIG).invariants:
        assert [b.clause for b in invariant.blocks] == list(range(len(invariant.clauses)))


def test_queries_of_one_program_share_plain_inverses() -> None:
    text = RUNNING + "\n@query\ndef all_fans(celeb):\n    return {u.email for u in celeb.followers}\n"
    names = [i.name for i in plan_of(text, "incremental").invariants]
    assert names.count("inv_member") == 1
    assert "inv_member_2" not in names


def test_invariants_are_defined_before_they_are_used() -> None:
    for mode in ("filtered", "incremental"):
        plan_of(RUNNING + BIG, mode).check()


def test_what_follows_from_a_relation_lies_deeper_than_what_causes_it() -> None:
    """So that one event of the relation is handled by the one before it happens to the other."""
    plan = plan_of(RUNNING + BIG)
    for invariant in plan.invariants:
        for clause in invariant.clauses:
            if clause.relation.kind is Kind.TAG:
                tag = plan.invariant(clause.relation.name)
                if any(c.relation.kind is not Kind.TAG for c in tag.clauses):
                    assert tag.depth < invariant.depth
                else:
                    assert tag.depth <= invariant.depth


@pytest.mark.parametrize("strategy", ["tags", "first-clause", "join"])
@pytest.mark.parametrize(
    "body",
    [
        "{u.email for u in a.followers if u in b if u.loc == 'NYC'}",
        "{x for x in a if x in x.f for y in x.f if y in b}",
        "{(x, y) for x in a for y in b if x.f == y if y.g == x}",
        "{x for (x, y) in a if (y, x) in b}",
    ],
)
def test_nothing_guards_a_block_twice(body: str, strategy: str) -> None:
    text = f"from incoq import Set, query\n@query\ndef q(a, b):\n    return {body}\n"
    for invariant in incoq.compile_source(text, strategy=strategy).plan.invariants:
        for block in invariant.blocks:
            assert len(set(block.guards)) == len(block.guards), invariant.name
