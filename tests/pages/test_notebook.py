"""In a notebook a compiled program, its plan and the plan of a query show themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser

import incoq

ROOT = Path(__file__).parents[2]
RUNNING = ROOT / "examples" / "running_example.py"


def test_a_compiled_program_shows_its_queries_as_graphs() -> None:
    compiled = incoq.compile_path(ROOT / "programs" / "access.py")
    shown = compiled._repr_html_()
    assert shown == compiled.plan._repr_html_()
    assert shown.count("<svg") == len(compiled.plan.queries) == 3
    assert "<html" not in shown


def test_the_plan_of_one_query_shows_that_query_alone() -> None:
    compiled = incoq.compile_path(ROOT / "programs" / "access.py")
    plan = compiled.query("assigned_roles")
    shown = plan._repr_html_()
    assert shown.count("<svg") == 1
    assert "r_assigned_roles" in shown
    assert "r_allowing_roles" not in shown
    assert "r_assigned_roles = " in str(plan)
    assert repr(plan) == "QueryPlan(name='assigned_roles')"


def test_a_query_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(KeyError, match="there are nyc_fans"):
        incoq.compile_path(RUNNING).query("fans")


def test_what_is_shown_is_escaped_and_styled_for_itself_alone() -> None:
    text = "from incoq import query\n@query\ndef q(s):\n    return {x for x in s if x.f == '<script>'}\n"
    shown = incoq.compile_source(text)._repr_html_()
    assert "<script>" not in shown
    style = shown.split("<style>")[1].split("</style>")[0]
    rules = [line.strip() for line in style.split("}") if "{" in line and "@media" not in line]
    assert all(part.strip().startswith(".incoq") for r in rules for part in r.split("{")[0].split(","))


def test_the_graph_is_drawn_in_a_page_of_another(browser: Browser, tmp_path: Path) -> None:
    place = tmp_path / "notebook.html"
    shown = incoq.compile_path(RUNNING)._repr_html_()
    place.write_text(f"<!doctype html><meta charset=utf-8><body>{shown}</body>", encoding="utf-8")
    browser.open(place, 900)
    assert browser.faults == []
    assert browser.evaluate("document.querySelector('svg.graph').getBoundingClientRect().width") > 150
    stroke = "getComputedStyle(document.querySelector('.edge.carries path')).stroke"
    assert browser.evaluate(stroke) == "rgb(23, 113, 58)"
