"""Queries as joins of DataFrames: the same answers, by another road."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from incoq.spark.deployment import deploy_source
from incoq.spark.recompute import Recomputation
from tests.spark.pipelines import lines, pipeline

QUERIES = """
from incoq import Set, query
R = Set()

@query
def fans(celeb, group):
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}

@query
def older(s, limit):
    return {(u, u.age + 1) for u in s if u.age > limit}

@query
def related(s):
    return {u for u in s if u in R}

@query
def many(s):
    return len({u.loc for u in s})
"""


def events(rng: random.Random, count: int) -> list[tuple[Any, ...]]:
    def one() -> tuple[Any, ...]:
        user, group = f"u{rng.randrange(8)}", f"g{rng.randrange(4)}"
        return rng.choice(
            [
                ("field_loc", "assign", user, rng.choice(["NYC", "Oslo", 1, 1.0])),
                ("field_email", "assign", user, f"{user}@x"),
                ("field_age", "assign", user, rng.choice([20, 30.5, None, "old"])),
                ("field_followers", "assign", user, group),
                ("member", rng.choice(["add", "add", "remove"]), group, user),
                ("item", "assign", "m", user, rng.randrange(3)),
                ("R", "add", user),
            ]
        )

    return [one() for _ in range(count)]


def test_joins_of_dataframes_agree_with_the_engines(spark: Any, tmp_path: Path) -> None:
    made = pipeline(tmp_path, QUERIES)
    rng = random.Random(4)
    demand: list[tuple[Any, ...]] = [("demand_fans", "add", f"u{n}", f"g{n % 4}") for n in range(8)]
    demand += [
        ("demand_older", "add", "g1", 25),
        ("demand_alike", "add", "g1", "g2"),
        ("demand_entries", "add", "m"),
    ]
    demand += [("demand_related", "add", "g3"), ("demand_many", "add", "g0")]
    made.run_batch(lines([*demand, *events(rng, 120)]), "a")
    made.compact()
    certain = [("field_followers", "assign", "u0", "g0"), ("member", "add", "g0", "u1")]
    certain += [("field_loc", "assign", "u1", "NYC"), ("field_email", "assign", "u1", "u1@x")]
    made.run_batch(lines([*events(rng, 60), *certain], 1000), "b")
    recomputed = Recomputation(spark, made.store)
    differences, compared = recomputed.differences()
    assert differences == []
    assert compared == ["fans", "older", "related"]
    fans = made.deployment.query("fans")
    plain = {tuple(r) for r in recomputed.answers(fans, push=False).collect()}
    assert plain == {tuple(r) for r in recomputed.answers(fans).collect()}
    assert plain


def test_a_wrong_result_is_found(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from incoq.spark.hosting import Engine

    made = pipeline(tmp_path, QUERIES)
    report = Engine.report
    monkeypatch.setattr(Engine, "report", lambda self: [r for r in report(self) if "u1" not in r[2]])
    told = [
        ("member", "add", "g", "u1"),
        ("member", "add", "g", "u2"),
        ("R", "add", "u1"),
        ("R", "add", "u2"),
    ]
    made.run_batch(lines([*told, ("demand_related", "add", "g")]), "a")
    differences, _ = Recomputation(spark, made.store).differences()
    assert differences == ['missing: related ["g"] "u1"']


def test_what_is_more_than_joins_has_no_such_form() -> None:
    deployment = deploy_source(QUERIES)
    assert deployment.query("many").flat is None
    assert deployment.query("fans").flat is not None
    again = type(deployment).from_json(json.loads(json.dumps(deployment.as_json())))
    assert again == deployment
