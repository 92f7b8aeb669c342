"""A comprehension is read as clauses in any order, and refused with a code where it cannot be maintained."""

from __future__ import annotations

import pytest

from incoq import CompileError
from incoq.frontend.find_queries import find_queries
from incoq.frontend.program import Program, parse_module
from incoq.ir.objects import Condition, Membership, ObjectQuery

RUNNING = '{u.email for u in celeb.followers if u in group if u.loc == "NYC"}'


def read(body: str, params: str = "celeb, group", before: str = "", options: str = "") -> ObjectQuery:
    text = (
        f"from incoq import Set, query, lru\n{before}\n@query{options}\ndef q({params}):\n    return {body}\n"
    )
    [site], _ = find_queries(Program([parse_module(text, "program.py")]))
    return site.query


def refusal(body: str, params: str = "s", before: str = "", options: str = "") -> CompileError:
    with pytest.raises(CompileError) as caught:
        read(body, params, before, options)
    assert caught.value.position is not None, "a fault has a place"
    return caught.value


def test_the_running_example_reads_as_in_the_paper() -> None:
    assert (
        str(read(RUNNING)) == "q(celeb, group) = {u.email : u in celeb.followers, u in group, u.loc == 'NYC'}"
    )


def test_memberships_and_conditions_are_told_apart_whatever_their_spelling() -> None:
    query = read("{x for x in s if x in t if x not in u if x > 1}", "s, t, u")
    assert [type(c) for c in query.clauses] == [Membership, Membership, Condition, Condition]


def test_clauses_may_stand_in_any_order() -> None:
    query = read("{y - x for x in s if y > x for y in t if x < 5}", "s, t")
    assert query.variables == ("x", "y")


def test_a_variable_may_be_bound_by_an_if_alone() -> None:
    assert read("{y for x in s if y in x.f}", "s").variables == ("x", "y")


def test_conjunctions_become_clauses_of_their_own() -> None:
    assert len(read("{x for x in s if x in t and x.a > 1 and x.b > 2}", "s, t").clauses) == 4


def test_a_pure_function_is_read_as_its_body() -> None:
    query = read("{x for x in s if near(x.loc)}", "s", 'def near(loc):\n    return loc == "NYC"')
    assert str(query.clauses[1]) == "x.loc == 'NYC'"


def test_a_global_relation_is_a_hidden_parameter() -> None:
    query = read("{x for x in R if x in s}", "s", "R = Set()")
    assert (query.params, query.hidden, query.demand) == (("s",), ("R",), ("s", "R"))


def test_tuple_patterns_may_nest_repeat_and_hold_constants() -> None:
    query = read("{x for (x, (y, _), x) in s if (y, (x, 1)) in t}", "s, t")
    assert [str(c) for c in query.clauses] == ["(x, (y, _), x) in s", "(y, (x, 1)) in t"]
    assert query.variables == ("x", "y")


def test_an_inline_query_takes_its_free_locals_as_parameters() -> None:
    text = "from incoq import query\ndef f(s, k):\n    return query({x for x in s if x.n == k})\n"
    [site], _ = find_queries(Program([parse_module(text, "p.py")]))
    assert set(site.query.all_params) == {"s", "k"}


def test_queries_of_one_name_get_names_of_their_own() -> None:
    text = (
        "from incoq import query\n"
        "class A:\n    @query\n    def q(self):\n        return {x for x in self.s}\n"
        "class B:\n    @query\n    def q(self):\n        return {x for x in self.t}\n"
    )
    names = [s.query.name for s in find_queries(Program([parse_module(text, "p.py")]))[0]]
    assert names == ["q", "q_2"]


def test_options_are_read() -> None:
    query = read(
        "{x for x in s for s in t.f}", "s, t", options='(demand=("t",), keep=lru(7), assume="one x per s")'
    )
    assert (query.demand, str(query.keep), str(query.facts[0])) == (("t",), "lru(7)", "one x per s")


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("IQ201", "{y for x in s if x.f in y}"),
        ("IQ201", "{x for x in s if nothing}"),
        ("IQ202", "{x for x in s if x.area()}"),
        ("IQ202", "{x for x in s if unknown(x)}"),
        ("IQ203", "{x for x in s.f()}"),
        ("IQ209", "[x for x in s]"),
        ("IQ209", "{x for (x, *y) in s}"),
        ("IQ209", "{_ for _ in s}"),
        ("IQ212", "{(y := x) for x in s}"),
    ],
)
def test_what_cannot_be_maintained_is_refused_with_a_code(code: str, body: str) -> None:
    assert refusal(body, before="def unknown(x):\n    print(x)\n    return x").code == code


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("IQ207", '(demand=("k",))'),
        ("IQ208", '(demand=("z",))'),
        ("IQ208", "(keep=3)"),
        ("IQ208", '(assume="celebs are few")'),
        ("IQ208", "(speed=9)"),
    ],
)
def test_options_that_are_not_understood_are_refused(code: str, options: str) -> None:
    assert refusal("{x for x in s if x.k == k}", "s, k", options=options).code == code


def test_a_refusal_names_the_place() -> None:
    fault = refusal("{y for x in s if x.f in y}")
    assert fault.position is not None
    assert fault.position.line == 5
    assert fault.position.text[fault.position.column - 1] == "y"


def test_a_rebound_global_is_a_hidden_parameter() -> None:
    assert read("{x for x in s if x > LIMIT}", "s", "LIMIT = 1\nLIMIT = 2").hidden == ("LIMIT",)


def test_a_constant_global_is_its_value() -> None:
    assert str(read("{x for x in s if x > LIMIT}", "s", "LIMIT = 1").clauses[1]) == "x > 1"
