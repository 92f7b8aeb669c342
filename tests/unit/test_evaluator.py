"""The straightforward evaluator: what a query means, clause by clause."""

from __future__ import annotations

import ast
import collections
import gc
import heapq
import runpy
import statistics
import traceback
import weakref
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace as Obj
from typing import Any

import pytest

from incoq.errors import IncoqRuntimeError
from incoq.evaluator import compile_naive, evaluate
from incoq.objects import Set, lru, query


def ask(text: str, relations: dict[str, Any] | None = None, **params: Any) -> Any:
    """The answer of `return <text>` with these parameters, over these globals."""
    definition = ast.parse(f"def q({', '.join(params)}):\n    return {text}\n").body[0]
    assert isinstance(definition, ast.FunctionDef)
    return compile_naive(definition, relations or {})(*params.values())


def code_of(text: str, relations: dict[str, Any] | None = None, **params: Any) -> str:
    """The code of the error that the query ends in."""
    with pytest.raises(IncoqRuntimeError) as fault:
        ask(text, relations, **params)
    return fault.value.code


def user(email: str = "e", loc: Any = "NYC", *followers: Any) -> Obj:
    return Person(email=email, loc=loc, followers=Set(followers))


class Person(Obj):
    """A namespace that hashes by identity, as objects do."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


# -- the order of clauses ------------------------------------------------------------------------------------


def test_clauses_may_stand_in_any_order() -> None:
    assert ask("{y-x for x in s if y > x for y in t if x < 5}", s={1, 7}, t={3, 9}) == {2, 8}


def test_every_order_of_the_four_clauses_gives_the_same_answer() -> None:
    clauses = ("for x in s", "for y in t", "if y > x", "if x < 5")
    for order in permutations(clauses):
        if order[0].startswith("for"):
            assert ask(f"{{y-x for {' '.join(order)[4:]}}}", s={1, 4, 7}, t={3, 9}) == {2, 8, 5}


def test_a_source_may_be_bound_by_a_later_clause() -> None:
    assert ask("{x for x in y.f for y in s}", s=[Obj(f={1, 2}), Obj(f={3})]) == {1, 2, 3}


def test_a_variable_may_be_bound_by_an_if_alone() -> None:
    assert ask("{(x, y) for x in s if y in x.f if y > 1}", s=[x := Person(f={1, 2})]) == {(x, 2)}


def test_a_binding_if_may_stand_before_the_for_that_it_needs() -> None:
    assert ask("{z for y in t if z in y.f}", t=[Obj(f=(1, 2))]) == {1, 2}


def test_memberships_joined_by_and_are_clauses_too() -> None:
    assert ask("{y for x in s if x > 0 and y in t and y > x}", s={1, -1}, t={0, 1, 2}) == {2}


def test_the_running_example_answers() -> None:
    ann, bob, cid = user("a"), user("b", "LA"), user("c")
    text = "{u.email for u in celeb.followers if u in group if u.loc == 'NYC'}"
    assert ask(text, celeb=user("x", "LA", ann, bob, cid), group={ann, bob}) == {"a"}


def test_a_test_comes_before_a_loop_that_was_written_first() -> None:
    seen = []
    relations = {"note": lambda x: seen.append(x) or True}
    assert ask("{(x, y) for x in s for y in t if note(x)}", relations, s=[1], t=[1, 2]) == {(1, 1), (1, 2)}
    assert seen == [1]


def test_a_condition_without_variables_is_a_constraint_too() -> None:
    assert ask("{x for x in s if on}", s={1}, on=False) == set()
    assert ask("{x for x in s if on}", s={1}, on=True) == {1}


# -- well-formedness -----------------------------------------------------------------------------------------


def test_a_variable_that_nothing_binds_is_refused() -> None:
    assert code_of("{y for x in s}", s={1}) == "IQ201"
    assert code_of("{x for x in s if y > x}", s={1}) == "IQ201"


def test_russells_paradox_is_refused_unless_x_is_a_parameter() -> None:
    assert code_of("{x for x in x}") == "IQ201"
    assert code_of("{x for y in s if not x in x}", s={1}) == "IQ201"
    x = Set[Any]()
    assert ask("{1 for y in s if not x in x}", x=x, s={1}) == {1}
    x.add(x)
    assert ask("{1 for y in s if not x in x}", x=x, s={1}) == set()


def test_variables_that_reach_only_each_other_are_refused() -> None:
    assert code_of("{x for x in y.f for y in x.g}") == "IQ201"


def test_a_variable_of_an_inner_query_is_not_one_of_the_outer() -> None:
    assert code_of("{y for x in s if any(y > 0 for y in x)}", s={1}) == "IQ201"


def test_an_ill_formed_query_is_refused_when_first_asked() -> None:
    @query
    def wrong(s):  # type: ignore[no-untyped-def]
        return {nowhere for x in s}  # noqa: F821

    for _ in range(2):
        with pytest.raises(IncoqRuntimeError) as fault:
            wrong(Set())
        assert fault.value.code == "IQ201"
        assert "nowhere" in str(fault.value)


def test_a_name_of_the_program_is_no_variable() -> None:
    assert ask("{y for y in s if top in s}", {"top": 3}, s={1, 3}) == {1, 3}
    assert ask("{y for y in s if top in s}", {"top": 5}, s={1, 3}) == set()


def test_a_for_binds_a_name_even_where_a_global_has_it() -> None:
    assert ask("{x for x in s}", {"x": 1}, s={2}) == {2}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("x = 1\n    return {x}", "IQ200"),
        ("return", "IQ200"),
        ("return (x for x in s)", "IQ209"),
        ("return {x for x, *y in s}", "IQ209"),
        ("return {_ for _ in s}", "IQ209"),
        ("return {1 for s.f in s}", "IQ212"),
        ("return {y for x in s if (y := x)}", "IQ212"),
        ("return {(yield x) for x in s}", "IQ212"),
    ],
)
def test_what_is_no_query_is_refused_with_its_code(body: str, code: str) -> None:
    definition = ast.parse(f"def q(s):\n    {body}\n").body[0]
    assert isinstance(definition, ast.FunctionDef)
    with pytest.raises(IncoqRuntimeError) as fault:
        compile_naive(definition, {})
    assert fault.value.code == code


# -- what is skipped -----------------------------------------------------------------------------------------


def test_a_combination_whose_condition_raises_is_skipped() -> None:
    assert ask("{x for x in s if 6 / x > 1}", s={0, 2, 9}) == {2}


def test_a_combination_whose_result_raises_is_skipped() -> None:
    assert ask("{6 // x for x in s}", s={0, 2}) == {3}


def test_a_missing_field_skips_the_combination() -> None:
    assert ask("{x.f for x in s}", s=[Obj(f=1), Obj()]) == {1}
    assert ask("{y for x in s for y in x.f}", s=[Obj(f={1}), Obj()]) == {1}
    assert ask("{y for y in p.f}", p=Obj()) == set()


@pytest.mark.parametrize("value", [None, 3, 2.5, Obj()])
def test_a_membership_in_what_cannot_be_iterated_is_skipped(value: Any) -> None:
    assert ask("{y for x in s for y in x.f}", s=[Obj(f=value), Obj(f={1})]) == {1}
    assert ask("{y for y in t if y in p}", p=value, t={1}) == set()
    assert ask("{y for y in p}", p=value) == set()


def test_a_membership_of_what_cannot_be_hashed_is_skipped() -> None:
    assert ask("{1 for x in l if x in s}", l=[[1], [2]], s={1}) == set()


def test_a_result_that_cannot_be_hashed_is_skipped() -> None:
    assert ask("{x for x in l}", l=[[1], 2, {3}]) == {2}
    assert ask("{x: 1 for x in l}", l=[[1], 2]) == {2: 1}


def test_a_missing_key_skips_the_combination() -> None:
    assert ask("{m[x] for x in s}", m={1: "a"}, s={1, 2}) == {"a"}
    assert ask("{x for x in s if m[x] > 1}", m={1: 1, 2: 2}, s={1, 2, 3}) == {2}


def test_a_short_circuit_keeps_a_missing_field_from_mattering() -> None:
    here, there = Person(on=True), Person(on=False, f=1)
    assert ask("{x for x in s if x.on or x.f}", s=[here, there]) == {here, there}
    assert ask("{x for x in s if not x.on or x.f}", s=[here, there]) == {there}
    assert ask("{(0 if x.on else x.f) for x in s}", s=[here, there]) == {0, 1}


def test_a_keyboard_interrupt_is_not_skipped() -> None:
    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask("{x for x in s if f(x)}", {"f": interrupt}, s={1})


def test_a_skip_in_an_inner_query_leaves_the_outer_combination() -> None:
    assert ask("{len({y.f for y in x}) for x in s}", s=[(Obj(f=1), Obj())]) == {1}


# -- sources -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        {1, 2},
        Set({1, 2}),
        frozenset({1, 2}),
        (1, 2),
        [1, 2, 1],
        range(1, 3),
        {1: 0, 2: 0},
        {1: 0, 2: 0}.keys(),
        {"a": 1, "b": 2}.values(),
        collections.OrderedDict({1: 0, 2: 0}).keys(),
        collections.Counter([1, 2]),
    ],
)
def test_sources_that_can_be_maintained_are_enumerated_and_tested(source: Any) -> None:
    assert ask("{x for x in s}", s=source) == {1, 2}
    assert ask("{x for x in t if x in s}", s=source, t={0, 1, 2}) == {1, 2}
    assert ask("{x for x in t if not x in s}", s=source, t={0, 1, 2}) == {0}


def test_a_string_is_a_source_of_its_characters() -> None:
    assert ask("{c for c in word}", word="aba") == {"a", "b"}


def test_items_of_a_dict_are_pairs() -> None:
    assert ask("{(v, k) for k, v in m.items()}", m={1: 2, 3: 4}) == {(2, 1), (4, 3)}
    assert ask("{v for (k, v) in m.items() if k in keys}", m={1: 2, 3: 4}, keys={3}) == {4}
    assert ask("{k for k in m.keys() for v in m.values() if v == k}", m={1: 2, 2: 4}) == {2}


class Endless:
    def __iter__(self) -> Any:
        return iter(())


class Indexed:
    def __getitem__(self, index: int) -> int:
        raise IndexError


def generator() -> Any:
    yield from ()


@pytest.mark.parametrize("kind", [Endless, Indexed, collections.deque, generator, lambda: map(abs, ())])
def test_what_can_be_iterated_but_not_maintained_is_a_coded_error(kind: Any) -> None:
    assert code_of("{x for x in s}", s=kind()) == "IQ301"
    assert code_of("{x for x in t if x in s}", s=kind(), t={1}) == "IQ301"
    assert code_of("{x for x in t if x not in s}", s=kind(), t={1}) == "IQ301"
    assert code_of("{x for x in t if any(y for y in s)}", s=kind(), t={1}) == "IQ301"


def test_a_global_relation_is_a_source() -> None:
    assert ask("{y for (x, y) in R if x in s}", {"R": {(1, 2), (3, 4)}}, s={1}) == {2}


def test_a_set_made_by_an_operator_is_a_source() -> None:
    assert ask("{x for x in s | t if x not in s & t}", s={1, 2}, t={2, 3}) == {1, 3}


def test_a_constant_display_is_a_source() -> None:
    assert ask("{x for x in s if x in (1, 2)}", s={1, 3}) == {1}
    assert ask("{(x, y) for x in s if y in (1, 2)}", s={0}) == {(0, 1), (0, 2)}


# -- equality ------------------------------------------------------------------------------------------------


def test_equality_of_two_sets_is_identity() -> None:
    one, two = Set({1}), Set({1})
    assert ask("{1 for x in s if x == p}", s=[one], p=two) == set()
    assert ask("{1 for x in s if x == p}", s=[one], p=one) == {1}
    assert ask("{1 for x in s if x != p}", s=[one], p=two) == {1}
    assert ask("{1 for x in s if x != p}", s=[one], p=one) == set()
    assert ask("{1 for x in s if x.f == p.f}", s=[Obj(f={1})], p=Obj(f={1})) == set()


def test_a_set_equals_no_frozenset_since_it_is_known_by_its_identity() -> None:
    assert ask("{1 for x in s if x == p}", s=[{1}], p=frozenset({1})) == set()
    assert ask("{1 for x in s if x == p}", s=[frozenset({1})], p=frozenset({1})) == {1}


def test_sets_inside_tuples_are_compared_by_identity() -> None:
    one, two = Set({1}), Set({1})
    assert ask("{1 for x in s if (x, 0) == (p, 0)}", s=[one], p=two) == set()
    assert ask("{1 for x in s if (x, 0) == (p, 0)}", s=[one], p=one) == {1}


def test_everything_else_is_compared_as_python_does() -> None:
    assert ask("{x for x in s if x == 1}", s=[1.0, 2]) == {1.0}
    nan = float("nan")
    assert ask("{1 for x in s if x == x}", s=[nan]) == set()
    assert ask("{1 for x in s if x == p}", s=[[1]], p=[1]) == {1}


def test_a_chain_of_comparisons_evaluates_each_operand_once() -> None:
    seen = []
    relations = {"f": lambda x: seen.append(x) or x}
    assert ask("{x for x in s if p == f(x) == q}", relations, s={1, 2}, p=1, q=1) == {1}
    assert sorted(seen) == [1, 2]
    assert ask("{x for x in s if 0 < x in t}", s={0, 1, 2}, t=[0, 1]) == {1}


def test_a_set_is_found_in_a_list_by_identity() -> None:
    one, two = Set({1}), Set({1})
    assert ask("{1 for x in s if x in l}", s=[one], l=[two]) == set()
    assert ask("{1 for x in s if x in l}", s=[one], l=[two, one]) == {1}


def test_outside_the_query_equality_is_untouched() -> None:
    assert (ask("{x for x in s}", s={1}) == {1}) is True


# -- patterns ------------------------------------------------------------------------------------------------


def test_nested_tuple_patterns_bind_their_parts() -> None:
    assert ask("{(a, b, c) for (a, (b, c)) in s}", s={(1, (2, 3)), (1, 2), ((1, 2), 3)}) == {(1, 2, 3)}


@pytest.mark.parametrize("element", [1, "ab", [1, 2], (1,), (1, 2, 3), None, Obj()])
def test_an_element_that_does_not_match_the_pattern_is_skipped(element: Any) -> None:
    assert ask("{a for (a, b) in s}", s=[element, (7, 8)]) == {7}


def test_a_repeated_variable_joins_within_a_pattern() -> None:
    assert ask("{x for (x, x) in s}", s={(1, 1), (1, 2), (3, 3.0)}) == {1, 3}


def test_a_repeated_variable_joins_two_memberships() -> None:
    assert ask("{(x, z) for (x, y) in r for (y, z) in s}", r={(1, 2), (3, 4)}, s={(2, 5), (9, 9)}) == {(1, 5)}
    assert ask("{x for x in s for x in t}", s={1, 2}, t={2, 3}) == {2}


def test_a_join_compares_as_a_dict_key_would() -> None:
    nan, one, two = float("nan"), Set({1}), Set({1})
    assert ask("{1 for (x, x) in s}", s=[(nan, nan)]) == {1}
    assert ask("{1 for (x, x) in s}", s=[(one, two)]) == set()
    assert ask("{1 for (x, x) in s}", s=[(one, one)]) == {1}


def test_a_parameter_in_a_pattern_is_a_constraint() -> None:
    assert ask("{r for (u, r) in s}", u=1, s={(1, 2), (3, 4)}) == {2}
    assert ask("{1 for u in s}", u=1, s={2}) == set()


def test_constants_in_a_pattern_must_be_equal() -> None:
    log = {("ack", 1, -1), ("nak", 2, -1), ("ack", 3, 0)}
    assert ask("{x for p in s if ('ack', x, -1) in p}", s=[log]) == {1}


def test_names_of_the_program_in_a_pattern_must_be_equal() -> None:
    assert ask("{x for p in s if (ACK, x) in p}", {"ACK": "a"}, s=[{("a", 1), ("b", 2)}]) == {1}


def test_expressions_in_a_pattern_wait_for_their_variables() -> None:
    log = {(1, 2), (2, 3), (3, 9)}
    assert ask("{x for p in s if (x, x + 1) in p}", s=[log]) == {1, 2}
    assert ask("{y for p in s if (x.f, y) in p for x in t}", s=[log], t=[Obj(f=3), Obj()]) == {9}


def test_a_pattern_all_of_which_is_bound_is_a_test() -> None:
    assert ask("{x for x in s if (x, p) in r}", s={1, 2}, p=5, r={(1, 5), (2, 6)}) == {1}


def test_a_wildcard_matches_anything_each_time() -> None:
    assert ask("{x for (_, x, _) in s}", s={(1, 2, 3), (4, 5)}) == {2}
    assert ask("{x for x in s if (x, _) in r}", s={1, 2}, r={(1, 7)}) == {1}
    assert ask("{1 for _ in s}", s={1, 2}) == {1}


def test_an_empty_pattern_matches_the_empty_tuple() -> None:
    assert ask("{1 for x in s if () in x}", s=[{()}]) == {1}
    assert ask("{x for (x, ()) in s}", s=[(1, ()), (2, (3,))]) == {1}


# -- aggregates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("len({x % 2 for x in s})", 2),
        ("len(x % 2 for x in s)", 4),
        ("sum({x % 2 for x in s})", 1),
        ("sum(x % 2 for x in s)", 2),
        ("min(x for x in s)", 1),
        ("max({x for x in s if x < 4})", 3),
        ("max((x for x in s if x > 9), default=0)", 0),
        ("any(x > 3 for x in s)", True),
        ("all(x > 3 for x in s)", False),
        ("any({x > 9 for x in s})", False),
        ("statistics.mean(x for x in s)", 2.5),
        ("sorted(x for x in s if x > 1)[:2]", [2, 3]),
        ("sorted({-x for x in s})[:2]", [-4, -3]),
        ("heapq.nsmallest(2, (x for x in s))", [1, 2]),
        ("min({x for x in s}, key=lambda x: -x)", 4),
        ("len({x for x in s}) + len({x for x in s if x > 3})", 5),
        ("len(s) == 4 and not any(x > 9 for x in s)", True),
        ("[x for x in s if x > 3]", [4]),
        ("set(x // 2 for x in s)", {0, 1, 2}),
        ("frozenset(6 // (x - 1) for x in s)", frozenset({6, 3, 2})),
    ],
)
def test_an_aggregate_is_over_a_set_or_over_a_bag(text: str, expected: Any) -> None:
    modules = {"statistics": statistics, "heapq": heapq}
    answer = ask(text, modules, s={1, 2, 3, 4})
    assert answer == expected
    assert type(answer) is (Set if isinstance(expected, set) else type(expected))


def test_a_list_counts_its_duplicates_in_a_bag() -> None:
    assert ask("sum(x for x in l)", l=[2, 2, 3]) == 7
    assert ask("sum({x for x in l})", l=[2, 2, 3]) == 5
    assert ask("len(x for x in l for y in l)", l=[2, 2]) == 4


def test_an_aggregate_takes_clauses_in_any_order() -> None:
    assert ask("sum(y - x for x in s if y > x for y in t)", s=[1, 2], t=[2, 2]) == 2


def test_the_least_of_nothing_is_an_error_of_the_query() -> None:
    for aggregate in ("min", "max"):
        with pytest.raises(ValueError, match="empty"):
            ask(f"{aggregate}({{x for x in s}})", s=set())
        with pytest.raises(ValueError, match="empty"):
            ask(f"{aggregate}(x for x in s)", s=set())


def test_the_least_of_nothing_inside_a_query_skips_the_combination() -> None:
    one, none = Person(f={1}), Person(f=set())
    assert ask("{x for x in s if min(y for y in x.f) > 0}", s=[one, none]) == {one}
    assert ask("{max({y for y in x.f}) for x in s}", s=[one, none]) == {1}


def test_a_global_that_shadows_an_aggregate_is_called() -> None:
    assert ask("len(x for x in s)", {"len": list}, s=[3, 3]) == [3, 3]


def test_length_and_emptiness_of_a_selector_depend_on_its_content() -> None:
    one, none = Person(f=Set({1})), Person(f=Set())
    assert ask("{x for x in s if len(x.f) > 0}", s=[one, none, Person()]) == {one}
    assert ask("{x for x in s if not x.f}", s=[one, none, Person()]) == {none}


def test_a_dict_comprehension_groups() -> None:
    staff = [Person(team="a", pay=1), Person(team="a", pay=2), Person(team="b", pay=4), Person(pay=8)]
    text = "{x.team: sum(y.pay for y in s if y.team == x.team) for x in s}"
    assert ask(text, s=staff) == {"a": 3, "b": 4}


def test_the_sets_of_a_dict_are_sets_with_identity() -> None:
    answer = ask("{k: {v for (k2, v) in r if k2 == k} for (k, _) in r}", r={(1, 2), (1, 3), (4, 5)})
    assert answer == {1: {2, 3}, 4: {5}}
    assert type(answer[1]) is Set


# -- nesting -------------------------------------------------------------------------------------------------


def test_an_inner_query_reads_the_variables_around_it() -> None:
    text = "{x for x in s if all(any(z > y for z in x.g if z < p) for y in x.f)}"
    one, two = Person(f={1, 2}, g={3, 9}), Person(f={1, 5}, g={3, 9})
    assert ask(text, s=[one, two], p=9) == {one}


def test_an_inner_query_is_a_source() -> None:
    assert ask("{y for y in {x.f for x in s} if y > 1}", s=[Obj(f=1), Obj(f=2), Obj()]) == {2}
    assert ask("sum(y for y in (x.f for x in s))", s=[Obj(f=2), Obj(f=2), Obj()]) == 4
    assert ask("{y for x in s for y in {z for z in t if z > x}}", s={1, 2}, t={2, 3}) == {2, 3}


def test_an_inner_query_may_stand_on_the_right_of_a_test() -> None:
    assert ask("{x for x in s if x in {y + 1 for y in s}}", s={1, 2, 5}) == {2}
    assert ask("{x for x in s if x not in (y + 1 for y in s)}", s={1, 2, 5}) == {1, 5}


def test_an_inner_query_keeps_its_own_clause_order_rules() -> None:
    assert ask("{x for x in s if any(z > y for y in x if z > 1 for z in t)}", s=[(1,), (9,)], t={2}) == {(1,)}


def test_an_inner_if_binds_a_variable_of_its_own() -> None:
    text = "{x for x in s if any(z > 1 for y in t if (x, z) in y)}"
    assert ask(text, s={1, 2}, t=[{(1, 2), (2, 1)}]) == {1}


def test_an_inner_for_binds_anew_as_in_python() -> None:
    assert ask("{x for x in s if x == max(x for x in s)}", s={1, 2}) == {2}
    assert ask("{len({x for x in x}) for x in s}", s=[(1, 2), (1, 1)]) == {1, 2}


def test_a_lambda_reads_the_variables_around_it() -> None:
    assert ask("{min(t, key=lambda y: abs(y - x)) for x in s}", s={1, 9}, t=[2, 8]) == {2, 8}
    assert ask("{min(t, key=lambda x: sum(y for y in x)) for x in s}", s={1}, t=[(3,), (1, 1)]) == {(1, 1)}


def test_an_inner_set_in_a_result_is_a_set_with_identity() -> None:
    answer = ask("{(x, {y for y in t if y > x}) for x in s}", s={1, 2}, t={2, 3})
    assert {x: set(ys) for x, ys in answer} == {1: {2, 3}, 2: {3}}


@query(keep=lru(1))
def fathers(people):  # type: ignore[no-untyped-def]
    """Fathers of people."""
    return {x.father for x in people}


@query(keep=lru(1))
def youngest(people):  # type: ignore[no-untyped-def]
    return min(x.age for x in people)


class Club:
    def __init__(self, *members: Any) -> None:
        self.members = Set(members)

    @query(keep=lru(1))
    def grown(self, age):  # type: ignore[no-untyped-def]
        return {x for x in self.members if x.age >= age}

    @query(keep=lru(1))
    def has_grown(self, age):  # type: ignore[no-untyped-def]
        return len(self.grown(age)) > 0


def test_a_query_may_call_another() -> None:
    adam = Person()
    cain, abel = Person(father=adam), Person(father=adam)
    assert ask("{y for y in fathers(s)}", {"fathers": fathers}, s=[cain, abel, adam]) == {adam}
    assert ask("{x for x in s if x not in fathers(s)}", {"fathers": fathers}, s=[cain, adam]) == {cain}


def test_an_error_of_another_query_skips_the_combination() -> None:
    assert ask("{youngest(x) for x in s}", {"youngest": youngest}, s=[(), (Obj(age=3),)]) == {3}


def test_a_coded_error_of_another_query_is_not_skipped() -> None:
    assert code_of("{youngest(x) for x in s}", {"youngest": youngest}, s=[Endless()]) == "IQ301"


def test_a_query_method_may_call_another() -> None:
    club = Club(Person(age=10), old := Person(age=40))
    assert club.grown(18) == {old}
    assert club.has_grown(18) is True
    assert club.has_grown(50) is False


# -- the answer, and the function ----------------------------------------------------------------------------


def test_the_answer_of_a_set_query_is_a_set_of_its_own() -> None:
    f = Set({1})
    for text in ("{x for x in p.f}", "p.f", "p.f | p.f", "p.f if p else 0", "p.f or 0", "p.f.union(())"):
        answer = ask(text, p=Obj(f=f))
        assert type(answer) is Set
        assert answer == {1}
        assert answer is not f


def test_an_object_that_an_aggregate_chooses_is_given_as_it_is() -> None:
    small, large = Set({1}), Set({1, 2})
    assert ask("max({x for x in s}, key=lambda x: sum(x))", s={small, large}) is large


def test_evaluate_takes_functions_queries_and_methods() -> None:
    club = Club(old := Person(age=40))
    assert evaluate(fathers, [Obj(father=1)]) == {1}
    assert evaluate(fathers.__wrapped__, [Obj(father=1)]) == {1}
    assert evaluate(club.grown, 18) == {old}
    assert evaluate(Club.grown, club, age=50) == set()
    assert len(fathers.demanded & {()}) == 0


def test_evaluation_notes_no_demand() -> None:
    people = Set[Any]()
    evaluate(fathers, people)
    assert (people,) not in fathers.demanded


def test_a_closure_variable_is_read_as_it_is_now() -> None:
    limit = 1

    @query
    def above(s):  # type: ignore[no-untyped-def]
        return {x for x in s if x > limit if any(y > limit for y in s)}

    assert above({1, 2, 3}) == {2, 3}
    limit = 2
    assert above({1, 2, 3}) == {3}


def test_a_closure_variable_on_the_left_of_a_membership_is_no_variable_of_the_query() -> None:
    y = 7

    @query
    def q(s):  # type: ignore[no-untyped-def]
        return {x for x in s if y in x}

    assert q([(1, 7), (2,)]) == {(1, 7)}


def test_defaults_are_those_of_the_definition() -> None:
    definition = ast.parse("def q(s, limit=1 + 1):\n    return {x for x in s if x > limit}").body[0]
    assert isinstance(definition, ast.FunctionDef)
    evaluator = compile_naive(definition, {})
    assert evaluator({2, 3}) == {3}
    assert evaluator({2, 3}, limit=1) == {2, 3}


def test_compiling_leaves_the_definition_as_it_was() -> None:
    definition = ast.parse("def q(s):\n    return {x for x in s if x == s if len(y for y in x)}").body[0]
    assert isinstance(definition, ast.FunctionDef)
    before = ast.dump(definition)
    compile_naive(definition, {})
    assert ast.dump(definition) == before


def test_names_of_the_query_never_meet_names_of_the_evaluator() -> None:
    names = "_source, _Set, _answer, _query, _factory, _element, _value, _part"
    text = f"{{_same for ({names}, _same) in s if _same.f == _value.f if (_is_a, 1) in _part}}"
    row = (*"12345", 6, v := Person(f=1), frozenset({(0, 1)}), v)
    assert ask(text, s={row}) == {v}


def test_a_builtin_that_is_a_parameter_is_the_parameter() -> None:
    text = "{(x, y) for x in set for y in tuple if isinstance}"
    assert ask(text, set={1}, tuple={2}, isinstance=True) == {(1, 2)}


def test_a_traceback_points_at_the_line_of_the_query() -> None:
    try:
        youngest([])
    except ValueError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
    assert last.filename == __file__
    assert last.line == "return min(x.age for x in people)"


def test_a_source_of_a_constraint_is_evaluated_once_outside_the_loop() -> None:
    class Counting:
        reads = 0

        @property
        def f(self) -> set[int]:
            self.reads += 1
            return {1, 2}

    p = Counting()
    assert ask("{x for x in s if x in p.f}", s=range(100), p=p) == {1, 2}
    assert p.reads == 1


def test_a_list_counts_where_for_ranges_over_it_and_not_where_if_looks_into_it() -> None:
    box = Obj(d=(1, 2), b=[2, 2])
    assert ask("sum(1 for y in p.d if x in p.b for x in p.d)", p=box) == 2
    assert ask("sum(1 for y in p.d if x in p.d for x in p.b)", p=box) == 4


@pytest.mark.parametrize("loops", [15, 16, 17, 40])
def test_loops_nest_deeper_than_python_nests_blocks(loops: int) -> None:
    clauses = " ".join(f"for x{i} in x{i - 1}.f if x{i}.n > 0" for i in range(1, loops))
    last = Obj(n=7, f=())
    for _ in range(loops - 1):
        last = Obj(n=1, f=(last, Obj(n=0, f=()), 3))
    assert ask(f"{{x{loops - 1}.n for x0 in p {clauses}}}", p=[last]) == {7}
    assert ask(f"sum(x{loops - 1}.n for x0 in p {clauses})", p=[last, last]) == 14
    assert ask(f"{{x{loops - 1}.n: 1 for x0 in p {clauses}}}", p=[last]) == {7: 1}


def test_a_class_whose_name_is_all_underscores_mangles_no_names() -> None:
    class _:  # noqa: N801
        def __init__(self) -> None:
            self.s = Set([1, 2])

        @query
        def large(self, __least: int) -> Any:
            return {x for x in self.s if x > __least}

    assert _().large(1) == {2}


def test_a_query_that_was_evaluated_is_freed_with_its_program() -> None:
    program: dict[str, Any] = {"__name__": "program"}
    exec("def q(s):\n    return {x for x in s if x > 1}\n", program)
    assert evaluate(program["q"], [1, 2]) == {2}
    reference = weakref.ref(program["q"])
    del program
    gc.collect()
    assert reference() is None


def test_a_form_feed_before_a_query_does_not_indent_it(tmp_path: Path) -> None:
    (tmp_path / "fed.py").write_text(
        "from incoq import query\n\f@query\ndef sizes(s): return {x.size for x in s}\n"
    )
    space = runpy.run_path(str(tmp_path / "fed.py"))
    assert space["sizes"]([Obj(size=1), Obj()]) == {1}
