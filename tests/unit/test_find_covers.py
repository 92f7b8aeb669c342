"""Join orders: the four cost cases, Table 1, declared facts, ties, and the budget."""

from __future__ import annotations

import time

import incoq
from incoq.ir.covers import Access, Cover, Covers, Size, Step
from incoq.ir.relational import MEMBER, Clause, Kind, Relation, field_relation
from incoq.planning.find_covers import Problem, find_covers

DEMAND = Relation(Kind.DEMAND, "demand_q")
RUNNING = """
from incoq import Set, query
@query{options}
def nyc_fans(celeb, group):
    return {{user.email for user in celeb.followers if user in group if user.loc == "NYC"}}
"""


def covers_of(field: str, options: str = "", mode: str = "incremental") -> tuple[Covers, list[str]]:
    plan = incoq.compile_source(RUNNING.format(options=options), mode=mode, strategy="tags").plan
    result = plan.result_of("nyc_fans")
    [block] = [b for b in result.blocks if result.clauses[b.clause].relation == field_relation(field)]
    return block.covers, [str(c) for c in result.clauses]


def shown(cover: Cover, clauses: list[str]) -> list[tuple[str, str]]:
    return [(clauses[s.clause], str(s.factor or 1)) for s in cover.steps]


TABLE_1 = [
    [
        ("(user, user_email) in field_email", "1"),
        ("(group, user) in member", "#inv_member{user}"),
        ("(celeb, group) in demand_nyc_fans", "#demand.1{2=group}"),
        ("(celeb, celeb_followers) in field_followers", "1"),
        ("(celeb_followers, user) in member", "1"),
    ],
    [
        ("(user, user_email) in field_email", "1"),
        ("(celeb_followers, user) in member", "#inv_member{user}"),
        ("(celeb, celeb_followers) in field_followers", "#inv_followers{celeb_followers}"),
        ("(celeb, group) in demand_nyc_fans", "#demand.2{1=celeb}"),
        ("(group, user) in member", "1"),
    ],
]


def test_the_loc_update_has_the_two_covers_of_table_1_the_first_of_least_cost() -> None:
    found, clauses = covers_of("loc")
    assert shown(found.best, clauses) == TABLE_1[0]
    assert [shown(c, clauses) for c in found.considered[:2]] == TABLE_1
    assert str(found.best.cost) == "#inv_member{user} × #demand.1{2=group}"


def test_filtering_replaces_the_sizes_by_those_of_filtered_relations() -> None:
    found, _ = covers_of("loc", mode="filtered")
    assert str(found.best.cost) == "#fil_inv_member_2{user} × #demand.1{2=group}"


def test_one_celeb_for_each_follower_set_flips_the_loc_update_to_its_second_order() -> None:
    found, clauses = covers_of("loc", '(assume="one celeb per celeb.followers")')
    assert shown(found.best, clauses) == TABLE_1[1]
    assert str(found.best.cost) == "#inv_member{user} × #demand.2{1=celeb}"


def test_both_facts_of_the_paper_make_the_second_order_cheaper_by_a_factor() -> None:
    facts = '(assume=("one celeb per celeb.followers", "one group per celeb"))'
    found, clauses = covers_of("loc", facts)
    assert shown(found.best, clauses) == TABLE_1[1]
    assert str(found.best.cost) == "#inv_member{user}"
    assert len(found.tied) == 1


def test_orders_of_one_cost_are_all_kept_as_tied() -> None:
    text = "from incoq import query\n@query\ndef q(s, t):\n    return {x.n for x in s if x in t}\n"
    plan = incoq.compile_source(text, mode="incremental").plan
    demand = plan.result_of("q").blocks[0]
    assert [str(c.cost) for c in demand.covers.tied] == ["#member{s}", "#member{t}"]


# The paper's four cost cases


def only_step(clause: Clause, *bound: str) -> Step:
    [step] = find_covers(Problem((clause,), frozenset(bound), frozenset())).best.steps
    return step


def test_both_ends_bound_costs_one() -> None:
    step = only_step(Clause(MEMBER, ("s", "x")), "s", "x")
    assert (step.access, step.factor) == (Access.TEST, None)


def test_the_source_bound_costs_one_for_a_field_and_the_content_for_a_set() -> None:
    field = only_step(Clause(field_relation("f"), ("o", "x")), "o")
    assert (field.access, field.factor) == (Access.FORWARD, None)
    member = only_step(Clause(MEMBER, ("s", "x")), "s")
    assert (member.access, str(member.factor)) == (Access.SCAN, "#member{s}")


def test_the_target_bound_costs_the_inverse() -> None:
    field = only_step(Clause(field_relation("f"), ("o", "x")), "x")
    assert (field.access, str(field.factor)) == (Access.LOOKUP, "#inv_f{x}")
    member = only_step(Clause(MEMBER, ("s", "x")), "x")
    assert (member.access, str(member.factor)) == (Access.LOOKUP, "#inv_member{x}")
    assert member.factor is not None
    assert member.factor.size is Size.LARGE


def test_nothing_bound_costs_the_whole_of_demand() -> None:
    step = only_step(Clause(DEMAND, ("a", "b")))
    assert (step.access, str(step.factor)) == (Access.SCAN, "#demand")


def test_a_part_of_demand_bound_costs_its_image_which_is_small() -> None:
    step = only_step(Clause(DEMAND, ("a", "b")), "b")
    assert str(step.factor) == "#demand.1{2=b}"
    assert step.factor is not None
    assert step.factor.size is Size.SMALL


def test_a_pattern_is_looked_up_by_any_of_its_columns() -> None:
    step = only_step(Clause(MEMBER, ("s", "x", "y")), "s", "y")
    assert (step.access, step.key, step.new) == (Access.LOOKUP, (0, 2), (1,))


def test_constant_edges_are_taken_first() -> None:
    clauses = (
        Clause(DEMAND, ("s",)),
        Clause(MEMBER, ("s", "x")),
        Clause(field_relation("f"), ("x", "y")),
        Clause(MEMBER, ("t", "x")),
        Clause(field_relation("t"), ("y", "t")),
    )
    best = find_covers(Problem(clauses, frozenset({"x"}), frozenset())).best
    assert [s.clause for s in best.steps][:3] == [2, 4, 3]


def test_every_cover_covers_every_clause_and_never_reads_what_is_unbound() -> None:
    found, clauses = covers_of("email")
    for cover in found.considered:
        assert sorted([5, *(s.clause for s in cover.steps)]) == list(range(len(clauses)))


# The budget


def wide_query(clauses: int) -> str:
    sets = [f"s{i}" for i in range(clauses)]
    conditions = " ".join(f"if x in {s}" for s in sets[1:])
    return (
        "from incoq import Set, query\n@query\n"
        f"def q({', '.join(sets)}):\n    return {{x.n for x in {sets[0]} {conditions}}}\n"
    )


def chained_query(clauses: int) -> str:
    """Sets of sets, every second of them also in a set of its own: many orders, none of them trivial."""
    parts = ["for x0 in s.f"]
    for i in range(1, clauses // 2):
        parts.append(f"for x{i} in x{i - 1}.f")
    for i in range(clauses - clauses // 2):
        parts.append(f"if x{i} in t{i}" if i < clauses // 2 else "")
    params = ["s", *(f"t{i}" for i in range(clauses // 2))]
    return (
        "from incoq import Set, query\n@query\n"
        f"def q({', '.join(params)}):\n    return {{x0 {' '.join(parts)}}}\n"
    )


def test_twenty_clauses_compile_within_two_seconds_and_the_cut_is_reported() -> None:
    for text in (wide_query(20), chained_query(20)):
        for mode in ("filtered", "incremental"):
            start = time.process_time()
            plan = incoq.compile_source(text, mode=mode).plan
            spent = time.process_time() - start
            cut = [b.covers.cut for i in plan.invariants for b in i.blocks]
            print(f"20 clauses, {mode}: {spent:.2f} s of CPU, {sum(cut)} of {len(cut)} searches cut")
            assert spent < 4
    assert any(b.covers.cut for i in plan.invariants for b in i.blocks)


def test_a_small_query_is_searched_whole() -> None:
    found, _ = covers_of("loc")
    assert not found.cut
