"""What new demand reaches is estimated before a road is taken, from samples."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from incoq.spark.lookup import Lookup
from incoq.spark.pipeline import Pipeline
from incoq.spark.planner import Measures, estimate
from incoq.spark.reach import Reach, _distinct, reach_of
from incoq.spark.store import NoJoins
from tests.spark.pipelines import lines, pipeline

NESTED = """
from incoq import query

@query
def q(s):
    return {(u, sum(f.c for f in u.a)) for u in s if u.d > 0}
"""


def test_how_many_values_are_distinct_follows_from_how_often_a_sample_repeats_itself() -> None:
    rng = random.Random(1)
    for size, drawn, total in ((1_000, 3_000, 100_000), (50_000, 20_000, 60_000), (300, 150, 400)):
        seen = len({rng.randrange(size) for _ in range(drawn)})
        expected = len({rng.randrange(size) for _ in range(total)})
        assert _distinct(drawn, seen, total) == pytest.approx(expected, rel=0.4)
    assert _distinct(10, 10, 500) == 500, "a sample without repetition says nothing of a bound"
    assert _distinct(0, 0, 0) == 0


def reached(made: Any, demand: dict[str, list[str]]) -> float:
    manifest = made.store.manifest()
    lookup = Lookup(made.store.path, manifest.base, manifest.log)
    hidden = {q.name: [text for _, text in q.hidden] for q in made.deployment.queries}
    return reach_of(made.deployment.joins, lookup, demand, hidden)


def loaded(made: Any, events: list[tuple[Any, ...]]) -> float:
    made.run_batch(lines(events, 100_000), "demand")
    return float(made.store.manifest().measures["facts"])


@pytest.mark.parametrize("folded", [False, True])
def test_the_reach_of_demand_is_about_what_engines_load(tmp_path: Path, folded: bool) -> None:
    made, rng = pipeline(tmp_path, partitions=1), random.Random(2)
    users = [f"u{n}" for n in range(400)]
    events: list[tuple[Any, ...]] = [("field_loc", "assign", u, "NYC") for u in users]
    events += [("field_email", "assign", u, u) for u in users]
    events += [("field_followers", "assign", f"c{n}", f"s{n}") for n in range(40)]
    events += [
        ("member", "add", f"{kind}{n}", u) for kind in "sg" for n in range(40) for u in rng.sample(users, 60)
    ]
    made.run_batch(lines(events), "data")
    if folded:
        made.compact()
    pairs = [(f"c{n}", f"g{m}") for n in range(40) for m in range(0, 40, 4)]
    estimated = reached(made, {"nyc_fans": [f'["{c}", "{g}"]' for c, g in pairs]})
    actual = loaded(made, [("demand_nyc_fans", "add", c, g) for c, g in pairs])
    assert actual / 1.6 < estimated < 1.6 * actual


def test_what_nested_queries_reach_counts(tmp_path: Path) -> None:
    made = pipeline(tmp_path, NESTED, partitions=1)
    events: list[tuple[Any, ...]] = [("member", "add", "s", f"u{n}") for n in range(50)]
    events += [("field_a", "assign", f"u{n}", f"t{n}") for n in range(50)]
    events += [("field_d", "assign", f"u{n}", 1) for n in range(50)]
    events += [("member", "add", f"t{n}", f"f{n}-{m}") for n in range(50) for m in range(20)]
    made.run_batch(lines(events), "data")
    estimated = reached(made, {"q": ['["s"]']})
    actual = loaded(made, [("demand_q", "add", "s")])
    assert actual / 1.6 < estimated < 1.6 * actual


def test_the_joins_are_taken_where_partitions_share_what_new_demand_reaches() -> None:
    known = Measures(facts=10_000, demanded=10, answers=100)
    assert estimate(known, 1, 1, Reach(3e6, 3e6)).road == "engines", "one combination of huge sets"
    assert estimate(known, 10_000, 10_000, Reach(2e5, 2e5)).road == "engines", "many of a few small sets"
    assert estimate(known, 64, 64, Reach(8e5, 3e6)).road == "joins", "what each partition loads for itself"


def test_engines_of_a_session_before_are_not_there(tmp_path: Path) -> None:
    """So a batch after a restart is estimated with what it costs to build them."""
    tried: list[str] = []

    def refused(*_: Any) -> Any:
        tried.append("joins")
        raise NoJoins("so")

    made = pipeline(tmp_path)
    made.run_batch(lines([("demand_nyc_fans", "add", "c", "g")]), "a")
    manifest = made.store.manifest()
    large = Measures.of(manifest.measures).as_json() | {"demanded": 1e5, "demand": 1e-3}
    made.store.commit(replace(manifest, measures=large))
    made.roads.joins = refused
    made.run_batch(lines([("member", "add", "g", "u1")], 50), "b")
    assert not tried, "they are there"
    made.store.commit(replace(made.store.manifest(), measures=large))
    again = Pipeline(made.store, made.run, joins=refused)
    again.run_batch(lines([("member", "add", "g", "u2")], 60), "c")
    assert tried == ["joins"]
