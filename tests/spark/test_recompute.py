"""Queries as joins of DataFrames: the same answers, by another road."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from incoq.spark.deployment import deploy_source
from incoq.spark.recompute import Recomputation
from incoq.spark.store import NoJoins
from tests.spark.pipelines import lines, pipeline, results

QUERIES = """
from incoq import Set, query
R = Set()

@query
def fans(celeb, group):
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}

@query
def related(s):
    return {u for u in s if u in R}

@query
def many(s):
    return len({u.loc for u in s})

@query
def alike(s, t):
    return {(x, y) for (x, y) in s if x not in t if x.age or not hasattr(y, "age")}

@query
def unrelated(s):
    return {u for u in s if u not in related(u.followers) if u.age == 20 or any(u.followers)}

@query
def lonely(s):
    return {u for u in s if all(v.loc != u.loc for v in s if v != u)}
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
                ("member", "add", group, [user, f"u{rng.randrange(8)}"]),
                ("R", "add", user),
            ]
        )

    return [one() for _ in range(count)]


def test_joins_of_dataframes_agree_with_the_engines(spark: Any, tmp_path: Path) -> None:
    made = pipeline(tmp_path, QUERIES)
    rng = random.Random(4)
    demand: list[tuple[Any, ...]] = [("demand_fans", "add", f"u{n}", f"g{n % 4}") for n in range(8)]
    demand += [
        ("demand_alike", "add", "g1", "g2"),
        ("demand_lonely", "add", "g2"),
        ("demand_unrelated", "add", "g1"),
    ]
    made.run_batch(lines([*demand, *events(rng, 120)]), "a")
    made.compact()
    certain = [("field_followers", "assign", "u0", "g0"), ("member", "add", "g0", "u1")]
    certain += [("field_loc", "assign", "u1", "NYC"), ("field_email", "assign", "u1", "u1@x")]
    certain += [("member", "add", "g2", "u9"), ("field_loc", "assign", "u9", "Rome")]
    certain += [("member", "add", "g1", ["u11", "u10"]), ("field_age", "assign", "u11", 5)]
    certain += [("member", "add", "g3", "u9"), ("R", "add", "u9"), ("item", "assign", "m", "u9", 1)]
    certain += [("member", "add", "g1", "u11")]
    made.run_batch(lines([*events(rng, 60), *certain], 1000), "b")
    with Recomputation(spark, made.store) as recomputed:
        differences, left_out = recomputed.differences()
        assert differences == []
        compared = list(left_out)
        assert not any(left_out.values())
        assert compared == ["fans", "related", "many", "alike", "unrelated", "lonely"]
        assert [query for query in compared if not results(made, query)] == [
            "related",
            "many",
        ]  # nobody asks them


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
    with Recomputation(spark, made.store) as recomputed:
        answers = {(f"{r[0]}", r[1]) for r in recomputed.answers("related").collect()}
    assert answers == {('["g"]', '"u1"'), ('["g"]', '"u2"')}
    assert results(made, "related") == [(["g"], "u2")]


def test_a_nested_value_that_holds_values_has_no_such_form(spark: Any, tmp_path: Path) -> None:
    query = "@query\ndef q(s):\n    return {(u, tuple(sorted(v.age for v in u.a)[:2])) for u in s}\n"
    made = pipeline(tmp_path, "from incoq import query\n" + query)
    with Recomputation(spark, made.store) as recomputed:
        assert "holds values" in recomputed.reason("q")
        with pytest.raises(NoJoins, match="q cannot be computed by joins: the value of"):
            recomputed.answers("q")


def test_a_condition_may_ask_for_a_field_that_a_clause_binds(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from incoq.spark import steps

    query = '@query\ndef q(s):\n    return {u for u in s if hasattr(u, "b") and u.b is not None}\n'
    made = pipeline(tmp_path, "from incoq import query\n" + query + "@query\ndef p(s):\n    return len(s)\n")
    events = [("demand_q", "add", "s"), ("demand_p", "add", "s"), ("field_b", "assign", "u", 1)]
    made.run_batch(lines([*events, ("member", "add", "s", "u"), ("member", "add", "s", 2)]), "a")
    assert results(made, "q") == [(["s"], "u")]
    with Recomputation(spark, made.store) as anew:
        assert anew.differences() == ([], {"q": "", "p": ""})
    monkeypatch.setattr(
        steps, "_asks_for_fields", lambda text: False
    )  # what is not joined is told, not guessed
    with Recomputation(spark, made.store) as anew:
        assert anew.differences() == (
            [],
            {"q": "a condition reads more than can be joined to its rows", "p": ""},
        )


def test_a_deployment_is_kept_as_json() -> None:
    deployment = deploy_source(QUERIES)
    again = type(deployment).from_json(json.loads(json.dumps(deployment.as_json())))
    assert again == deployment


def test_the_key_of_a_text_is_the_same_to_spark(spark: Any) -> None:
    from incoq.spark.texts import json_key, key
    from incoq.spark.values import as_key, as_text, shown_text

    values: list[Any] = [True, False, None, 0, -0.0, 1, 1.0, -1.0, 10.0, 2.5, 1e-07, "true", "1.0", "j", ""]
    values += [[True, "true", [1.0, -0.0, False]], ["a, true", "1.0]", '"', 1.0], [[]], [10.05, -20.0]]
    frame = spark.createDataFrame([(as_text(v), shown_text(v)) for v in values], "t string, r string")
    rows = frame.select(key(frame["t"]), json_key(frame["r"])).collect()
    assert [row[0] for row in rows] == [as_key(v) for v in values]
    shown = [(row[1], v) for row, v in zip(rows, values, strict=True) if not isinstance(v, str)]
    assert [json.loads(text) for text, _ in shown] == [json.loads(as_key(v)[1:]) for _, v in shown]
