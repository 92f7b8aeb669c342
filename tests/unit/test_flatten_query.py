"""Phase 1: object queries become clauses over field, member and demand relations."""

from __future__ import annotations

from incoq.frontend.find_queries import find_queries
from incoq.frontend.program import Program, parse_module
from incoq.ir.relational import RelationalQuery
from incoq.relational.flatten_query import flatten_query


def flatten(body: str, params: str, joins: bool = True, options: str = "") -> RelationalQuery:
    text = f"from incoq import Set, query\n@query{options}\ndef q({params}):\n    return {body}\n"
    [site], _ = find_queries(Program([parse_module(text, "p.py")]))
    flat = flatten_query(site.query, joins)
    flat.check()
    return flat


def clauses(body: str, params: str, joins: bool = True) -> list[str]:
    return [str(c) for c in flatten(body, params, joins).clauses]


def conditions(body: str, params: str, joins: bool = True) -> list[str]:
    return [str(t) for t in flatten(body, params, joins).tests]


def test_the_running_example_is_section_4s() -> None:
    body = '{user.email for user in celeb.followers if user in group if user.loc == "NYC"}'
    assert clauses(body, "celeb, group") == [
        "(celeb, group) in demand_q",
        "(celeb, celeb_followers) in field_followers",
        "(celeb_followers, user) in member",
        "(group, user) in member",
        "(user, user_loc) in field_loc",
        "(user, user_email) in field_email",
    ]
    assert conditions(body, "celeb, group") == ["user_loc == 'NYC'"]


def test_a_chain_of_selectors_is_flattened_from_the_left() -> None:
    assert clauses("{x for x in a.b.c}", "a")[1:] == [
        "(a, a_b) in field_b",
        "(a_b, a_b_c) in field_c",
        "(a_b_c, x) in member",
    ]


def test_a_selector_that_occurs_twice_is_one_clause() -> None:
    assert clauses("{x.n for x in s if x.n > 1 if x.n < 9}", "s").count("(x, x_n) in field_n") == 1


def test_demand_comes_first_and_holds_the_demand_parameters_only() -> None:
    query = flatten("{x for x in s for s in t.f}", "s, t", options='(demand=("t",))')
    assert str(query.clauses[0]) == "(t,) in demand_q"
    assert query.rest == ("s",)


def test_an_equality_of_two_selectors_joins_them_and_keeps_the_test_for_nan() -> None:
    body = "{(a, s) for a in attends for s in students if a.student == s}"
    assert "(a, s) in field_student" in clauses(body, "attends, students")
    assert conditions(body, "attends, students") == ["s == s"]


def test_equalities_stay_tests_where_the_program_defines_its_own() -> None:
    body = "{a for a in s if a.f == k}"
    assert conditions(body, "s, k", joins=False) == ["a_f == k"]
    assert "(a, a_f) in field_f" in clauses(body, "s, k", joins=False)


def test_two_parameters_are_never_made_one() -> None:
    query = flatten("{x for x in s if s == t}", "s, t")
    assert str(query.clauses[0]) == "(s, t) in demand_q"
    assert [str(t) for t in query.tests] == ["s == t"]


def test_a_negated_membership_is_watched() -> None:
    assert "(t, x) in member [watched]" in clauses("{x for x in s if x not in t}", "s, t")


def test_a_field_behind_a_short_circuit_is_watched_and_the_one_before_it_joined() -> None:
    found = clauses("{x for x in s if x.a or x.b > 1}", "s")
    assert "(x, x_a) in field_a" in found
    assert "(x, x_b) in field_b [watched]" in found


def test_a_field_that_is_joined_elsewhere_is_not_watched_too() -> None:
    found = clauses("{x.b for x in s if x.a or x.b > 1}", "s")
    assert "(x, x_b) in field_b" in found
    assert not any("field_b [watched]" in c for c in found)


def test_the_truth_and_the_length_of_a_set_watch_its_content() -> None:
    assert "(x_f,) in content [watched]" in clauses("{x for x in s if not x.f}", "s")
    assert "(x_f,) in content [watched]" in clauses("{x for x in s if len(x.f) > 1}", "s")


def test_a_tuple_pattern_keeps_its_shape_and_names_its_wildcards() -> None:
    assert clauses("{x for x in t if (x, (y, _), 1) in s}", "s, t")[2] == "(s, (x, (y, any_1), 1)) in member"


def test_fresh_variables_avoid_those_of_the_query() -> None:
    found = clauses("{x.f for x in s for x_f in t if x_f > 1}", "s, t")
    assert "(x, x_f_2) in field_f" in found
