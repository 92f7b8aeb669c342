"""Explanations: the paper's running example is recognisable, the text fits, the data follows its schema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import incoq
from incoq.explain import explain_json, explain_text

PROGRAM = """\
from incoq import Set, query


class User:
    def __init__(self, email, loc):
        self.email, self.loc, self.followers = email, loc, Set()


@query{options}
def fans(celeb, group):
    return {{u.email for u in celeb.followers if u in group if u.loc == "NYC"}}
"""
WIDE = """\
from incoq import query

@query
def a_query_with_quite_a_long_name(the_first_parameter_of_it, the_second_parameter_of_it):
    return {(a_long_variable_name.and_a_long_field_name, another_long_variable_name.and_a_long_field_name) for a_long_variable_name in the_first_parameter_of_it.with_a_long_field for another_long_variable_name in the_second_parameter_of_it.with_a_long_field if a_long_variable_name.and_a_long_field_name < another_long_variable_name.and_a_long_field_name}
"""  # noqa: E501
HOPS = " ".join(f"for x{i} in x{i - 1}.s if x{i} in o.t" for i in range(1, 10))
MANY = f"from incoq import query\n@query\ndef many(o):\n    return {{x0 for x0 in o.s {HOPS}}}\n"
REFUSED = """\
from incoq import query

class O:
    f = 1

@query
def q(s, k):
    return {x for x in s if x.f == k.f}
"""


def explained(text: str, **options: Any) -> dict[str, Any]:
    return explain_json(incoq.compile_source(text, "program.py", **{"strategy": "tags", **options}))


def running(options: str = "", **chosen: Any) -> dict[str, Any]:
    return explained(PROGRAM.format(options=options), **chosen)


def update(data: dict[str, Any], relation: str) -> dict[str, Any]:
    found: dict[str, Any] = next(u for u in data["queries"][0]["updates"] if u["relation"] == relation)
    return found


def factors(cover: dict[str, Any]) -> list[str]:
    return [s["factor"] for s in cover["steps"] if s["factor"] != "1"]


def test_the_two_best_orders_of_the_papers_table_are_considered() -> None:
    loc = update(running(mode="incremental"), "field_loc")
    considered = [factors(c) for c in loc["covers"]]
    assert considered[0] == ["#inv_member{u}", "#demand.1{2=group}"]
    assert ["#inv_member{u}", "#inv_followers{celeb_followers}", "#demand.2{1=celeb}"] in considered
    assert [c["chosen"] for c in loc["covers"]].count(True) == 1
    assert loc["why"].startswith("fewest medium factors: 0 against 1")


def test_a_declared_fact_chooses_the_second_order_and_says_so() -> None:
    loc = update(running('(assume="one celeb per celeb.followers")', mode="incremental"), "field_loc")
    assert factors(loc["covers"][0]) == [
        "#inv_member{u}", "#inv_followers{celeb_followers}", "#demand.2{1=celeb}",
    ]  # fmt: skip
    assert "by a declared fact #inv_followers{celeb_followers} is 1" in loc["why"]


def test_tied_orders_are_marked() -> None:
    demand = update(running(), "demand_fans")
    assert demand["tied"] == 2
    assert [c["tied"] for c in demand["covers"]] == [True, True]
    assert "of 2 tied orders the one that knows most columns" in demand["why"]


def test_a_search_that_the_budget_cut_says_so() -> None:
    data = explained(MANY)
    cut = [u for u in data["queries"][0]["updates"] if u["budget_cut"]]
    assert cut
    assert all("the search budget ended" in u["why"] for u in cut)
    assert "the search budget ended" in " ".join(
        explain_text(incoq.compile_source(MANY, strategy="tags")).replace("\n", " ").split()
    )


def test_the_graph_shows_which_edges_carry_demand() -> None:
    filtered, weaker, incremental = (
        [(e["from"], e["to"]) for e in data["queries"][0]["graph"]["edges"] if e["carries_demand"]]
        for data in (running(), running(strategy="first-clause"), running(mode="incremental"))
    )
    assert (["group"], "u") in filtered
    assert (["group"], "u") not in weaker
    assert incremental == []


def test_costs_of_all_modes_stand_side_by_side_whichever_was_compiled() -> None:
    expected = {
        "update": "o.loc = x, del o.loc",
        "original": "O(1)",
        "incremental": "O(#inv_member{u} × #demand.1{2=group})",
        "filtered": "O(#fil_inv_member_2{u} × #demand.1{2=group})",
    }
    for mode in ("filtered", "incremental"):
        assert expected in running(mode=mode)["updates"]
    asked = running()["query_costs"][0]
    assert (asked["original"], asked["afterwards"]) == ("O(#celeb.followers)", "O(1)")


def test_a_mode_that_refuses_the_program_is_shown_as_refusing() -> None:
    data = explained(REFUSED)
    assert data["updates"][0]["incremental"].startswith("refused: IQ223")
    text = explain_text(incoq.compile_source(REFUSED))
    assert text.count("IQ223") == 1
    assert "  incremental mode refuses this program: IQ223" in text


ORIGINALS = {
    "{k for k, n in m.items() if n > 1}": "O(#m)",
    "{k for k in s if m[k] > 1}": "O(#s)",
    "{x for x in ALL if x in s}": "O(#ALL)",
    "{x for x in s if any(y in m for y in x.a) if all(z in m for z in x.b)}": "O(#s × #x.a + #s × #x.b)",
    "{x for x in s if x in m}": "O(#s)",
}


@pytest.mark.parametrize("query", ORIGINALS)
def test_the_original_costs_what_its_loops_go_through(query: str) -> None:
    text = f"from incoq import Set, query\nALL = Set()\n@query\ndef q(s, m):\n    return {query}\n"
    costs = {c["query"]: c["original"] for c in explained(text)["query_costs"]}
    assert costs["q"] == ORIGINALS[query]


def test_the_factors_that_occur_are_told_and_no_others() -> None:
    text = "from incoq import query\n@query\ndef q(s):\n    return {u.f for u in s}\n"
    signs = {row["sign"] for row in explained(text)["legend"]}
    assert "#member{s}" in signs
    assert signs.isdisjoint({"#item{m}", "log #q"})
    shown = explain_text(incoq.compile_source(text))
    assert "    #member{s}      elements of the set s\n" in shown


def test_a_change_of_a_dict_is_shown_as_an_assignment() -> None:
    text = "from incoq import query\n@query\ndef q(m, n):\n    return {k for k, v in m.items() if v > n}\n"
    (query,) = explained(text)["queries"]
    assert "m[k] = v" in [update["update"] for update in query["updates"]]


def test_counting_is_explained() -> None:
    why = {i["name"]: (i["counted"], i["why"]) for i in running()["invariants"]}
    assert why["r_fans"] == (True, "several values of u may give the same element")
    assert why["tag_u"][0] is False
    assert why["tag_u_1"] == (True, "several tagged sources may lead to the value")


def test_the_generated_functions_are_all_there() -> None:
    functions = {f["function"]: f["code"] for f in running()["maintenance"]}
    assert {"Set.add", "Set.discard", "set_loc", "del_loc", "demand_fans", "ask_fans"} <= functions.keys()
    assert functions["set_loc"].startswith("def set_loc(value, o):\n")
    assert "# r_fans for field_loc += (u, u_loc)" in functions["change_loc"]


@pytest.mark.parametrize("text", [PROGRAM.format(options=""), WIDE, MANY], ids=["running", "wide", "many"])
@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_the_text_fits_80_columns(text: str, mode: str) -> None:
    shown = explain_text(incoq.compile_source(text, "program.py", mode=mode, strategy="tags"))
    assert max(map(len, shown.splitlines())) <= 80
    assert not re.search(r"[ \t]$", shown, re.MULTILINE)


def test_colour_is_there_only_when_asked_for() -> None:
    compiled = incoq.compile_source(PROGRAM.format(options=""), strategy="tags")
    assert "\x1b[" not in explain_text(compiled)
    coloured = explain_text(compiled, color=True)
    assert re.sub(r"\x1b\[\d*m", "", coloured) == explain_text(compiled)


def test_a_program_without_queries_is_explained_as_such() -> None:
    assert "nothing is maintained" in explain_text(incoq.compile_source("x = 1\n"))


def test_the_data_is_json_and_every_key_is_documented() -> None:
    documented = set(re.findall(r"`(\w+)`", Path("docs/explain-schema.md").read_text()))
    compiled = incoq.compile_source(PROGRAM.format(options=""), strategy="tags")
    data = json.loads(json.dumps(explain_json(compiled, steps=True)))
    missing = {k for k in _keys(data) if k not in documented}
    assert missing == set()


def test_steps_show_each_pass_that_changed_something() -> None:
    data = explain_json(incoq.compile_source(PROGRAM.format(options=""), strategy="tags"), steps=True)
    steps = {(s["name"], s["about"]): (s["before"], s["after"]) for s in data["steps"]}
    assert steps["read_query", "fans"][1].startswith("fans(celeb, group) = {u.email : ")
    assert steps["flatten_query", "fans"][0] == steps["read_query", "fans"][1]
    assert "(u, u_loc) in field_loc" in steps["flatten_query", "fans"][1]
    assert "u.loc = u_loc: 6 4 1 2 3" in steps["find_covers", "fans"][1]
    assert "tag_u" not in steps["define_invariants", "filtered"][0]
    assert "tag_u = " in steps["define_invariants", "filtered"][1]
    assert "set_loc" in steps["rewrite_updates", "<string>"][1]
    assert all(before != after for before, after in steps.values())


def test_a_pass_that_changed_nothing_is_not_a_step() -> None:
    names = [s["name"] for s in explained_steps(PROGRAM.format(options=""))]
    assert "eliminate_counts" not in names
    assert "elide_copies" not in names
    used = PROGRAM.format(options="") + "\n\ndef several(celeb, group):\n    return len(fans(celeb, group))\n"
    assert "elide_copies" in [s["name"] for s in explained_steps(used)]
    objects = "from incoq import query\n@query\ndef q(s):\n    return {u for u in s if u.f == 1}\n"
    assert "eliminate_counts" in [s["name"] for s in explained_steps(objects)]


def explained_steps(text: str) -> list[dict[str, str]]:
    steps: list[dict[str, str]] = explain_json(incoq.compile_source(text, strategy="tags"), steps=True)[
        "steps"
    ]
    return steps


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {k for v in value.values() for k in _keys(v)}
    return {k for v in value for k in _keys(v)} if isinstance(value, list) else set()


def test_an_edge_names_the_structures_of_its_own_query_when_filtered() -> None:
    text = PROGRAM.format(options="") + PROGRAM.format(options="").split("\n\n\n")[2].replace(
        "fans", "others"
    )
    for query in explained(text)["queries"]:
        own = {i["name"] for i in explained(text)["invariants"] if i["query"] == query["name"]}
        named = {n for e in query["graph"]["edges"] for n in (*e["indices"], *e["projections"])}
        assert named
        assert named <= own


def test_unmarked_comprehensions_have_costs_in_both_modes() -> None:
    text = (
        "class Box:\n    def __init__(self):\n        self.items = set()\n\n"
        "box = Box()\n\ndef large(limit):\n    return {x for x in box.items if x > limit}\n"
    )
    data = explain_json(incoq.compile_source(text, unmarked=True))
    assert data["queries"]
    adding = next(u for u in data["updates"] if u["update"].startswith("s.add"))
    assert adding["incremental"].startswith("O(")
    assert adding["incremental"] != "O(1)"
