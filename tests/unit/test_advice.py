"""Advice is given where it helps, is true, and falls silent once it is followed."""

from __future__ import annotations

import pytest
from test_explain import PROGRAM as FANS

import incoq
from incoq.explain import explain_json

OLDER = """\
from incoq import query


@query{options}
def older(group, age):
    return {{u for u in group if u.age > age}}
"""
UNUSED = "from incoq import query\n@query\ndef all_of(group, unused):\n    return {u.name for u in group}\n"
NAMED = """\
from incoq import query


@query{options}
def named(group, name):
    return {{u for u in group if u.name == name}}
"""


def notices(text: str, **options: str) -> list[str]:
    found: list[str] = explain_json(
        incoq.compile_source(text.format(options="", **options), strategy="tags")
    )["notices"]
    return found


def test_a_fact_that_lowers_a_cost_is_named_with_both_costs() -> None:
    (notice,) = notices(FANS)
    assert '`assume="one celeb per celeb.followers"`' in notice
    assert "`celeb_followers.add(u)`" in notice
    assert notice.endswith("to `O(#demand.2{1=celeb})`")


def test_a_fact_that_is_declared_is_not_advised_again_and_does_lower_the_cost() -> None:
    text = FANS.format(options='(assume="one celeb per celeb.followers")')
    data = explain_json(incoq.compile_source(text, strategy="tags"))
    assert not [n for n in data["notices"] if "assume" in n]
    update = next(u for u in data["queries"][0]["updates"] if u["update"] == "celeb_followers.add(u)")
    assert update["cost"] == "O(#demand.2{1=celeb})"


def test_a_parameter_that_is_only_compared_is_named() -> None:
    (notice,) = notices(OLDER)
    assert notice.startswith("nothing constrains the parameter `age` of `older`")


def test_a_parameter_that_nothing_reads_is_named() -> None:
    assert any(
        "nothing constrains the parameter `unused` of all_of" in n
        for n in explain_json(incoq.compile_source(UNUSED))["notices"]
    )


def test_demand_parameters_that_suffice_are_named_and_do_suffice() -> None:
    advised = [n for n in notices(NAMED) if "would also work" in n]
    assert len(advised) == 1
    assert '`demand="group"`' in advised[0]
    followed = explain_json(incoq.compile_source(NAMED.format(options='(demand="group")')))
    assert not [n for n in followed["notices"] if "would also work" in n]


def test_demand_parameters_that_do_not_suffice_are_not_advised() -> None:
    assert not [n for n in notices(FANS) if "would also work" in n]
    with pytest.raises(incoq.CompileError) as refused:
        incoq.compile_source(FANS.format(options='(demand="group")'))
    assert refused.value.code == "IQ207"


def test_a_parameter_that_only_a_condition_equates_with_a_pattern_is_not_left_out_of_demand() -> None:
    text = (
        "from incoq import query\n@query{}\ndef of(received, n):\n"
        "    return {{p for (kind, m, p) in received if m == n}}\n"
    )
    assert not [n for n in notices(text.replace("{}", "")) if "would also work" in n]
    with pytest.raises(incoq.CompileError):
        incoq.compile_source(text.format('(demand="received")'))
