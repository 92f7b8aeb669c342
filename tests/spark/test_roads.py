"""Two roads to the same answers, and who decides which one a batch takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from incoq.spark.planner import Measures, estimate
from incoq.spark.recompute import by_joins
from incoq.spark.results import feed_rows, row_key
from incoq.spark.status import status_of, status_text
from incoq.spark.store import NoJoins, Store, StoreError
from incoq.spark.worker import Outcome
from incoq.testing.spark_streams import Shape, run_shape
from tests.spark.pipelines import WORLD, lines, pipeline, results

SEVERAL = """
from incoq import Set, query
R = Set()

class Obj:
    def __init__(self):
        self.a = Set()

@query
def q(s, t):
    return {(u, u.b) for u in s if u not in t if u.c == 1 or u.d}

@query
def r(s):
    return sum(f.c for u in s for f in u.a)
"""


def test_a_stream_may_change_roads_at_any_batch(spark: Any, tmp_path: Path) -> None:
    shape = Shape("several", SEVERAL)
    assert run_shape(shape, 4, 2, 21, tmp_path, spark=spark, by_joins=0.5) == "ok"
    roads = status_of(Store(next(tmp_path.iterdir())))["roads"]
    assert min(roads["engines"], roads["joins"]) > 0, "both were taken"


def test_both_roads_write_the_same_feed(spark: Any, tmp_path: Path) -> None:
    feeds = []
    for road in ("engines", "joins"):
        made = pipeline(tmp_path / road)
        made.roads.joins, made.roads.told = by_joins(spark, made.store), road
        made.run_batch(lines(WORLD), "a")
        moved = [("field_loc", "assign", "u2", "NYC"), ("member", "remove", "s1", "u1")]
        made.run_batch(lines(moved, 50), "b")
        assert results(made) == [(["c1", "g1"], "c@d.org")]
        feeds.append(sorted(feed_rows(made.store)))
    assert feeds[0] == feeds[1]
    assert made.store.manifest().roads["last"] == "joins"
    told = status_text(status_of(made.store))
    assert "engines 1 time, joins 2 times; last joins\n            estimated " in told
    assert max(map(len, told.splitlines()[1:])) <= 80


def test_many_changes_of_few_facts_are_for_joins_and_few_changes_for_engines() -> None:
    measures = Measures(share=1.0, change=1e-3, facts=1e5, demanded=1e4, answers=1e5)
    assert estimate(measures, 50_000, 0).road == "joins"
    assert estimate(measures, 1_000, 0).road == "engines"
    assert estimate(replace(measures, change=2e-5), 50_000, 0).road == "engines"
    assert estimate(replace(measures, demand=0.05), 10, 5_000).road == "joins"


def test_what_a_batch_showed_changes_the_next_estimate() -> None:
    before = Measures(facts=1e5, demanded=100, answers=1e4)
    after = before.after_joins(1000, 60.0, estimate(before, 1000, 0), 5, 2)
    assert estimate(after, 1000, 0).joins > 2 * estimate(before, 1000, 0).joins
    assert (after.behind, after.answers, after.demanded) == (1000, 10_005, 102)


def outcome(**known: Any) -> Outcome:
    given = dict.fromkeys(Outcome.__dataclass_fields__, 0) | {"feed": {}, "snapshot": {}} | known
    return Outcome(**given)


def test_a_small_batch_says_little_about_a_change() -> None:
    before = Measures(facts=1e5, demanded=100, answers=1e4)
    slow = [outcome(routed=50, seconds=0.1, loaded=100_000, demanded=100)]
    after = before.after_engines(100, slow)
    assert estimate(after, 50_000, 0).road == "engines"
    many = [outcome(routed=50_000, seconds=50.0, loaded=100_000, demanded=100)]
    assert estimate(after.after_engines(50_000, many), 50_000, 0).road == "joins"
    assert after.share == 0.75


def test_what_has_no_joins_goes_by_engines_and_status_says_why(tmp_path: Path) -> None:
    def refused(*_: Any) -> Any:
        raise NoJoins("q cannot be computed by joins: so")

    made = pipeline(tmp_path)
    manifest = made.store.manifest()
    dear = Measures(change=10.0, share=1.0).as_json()  # so that the joins seem cheaper
    made.store.commit(replace(manifest, measures=dear))
    made.roads.joins = refused
    made.run_batch(lines(WORLD), "a")
    assert results(made) == [(["c1", "g1"], "a@b.org")]
    assert "no joins: q cannot be computed by joins: so" in status_text(status_of(made.store))
    made.roads.joins, made.roads.told = refused, "joins"
    with pytest.raises(NoJoins):
        made.run_batch(lines([("field_loc", "assign", "u2", "NYC")], 50), "b")
    assert made.store.manifest().batch == 1


def test_a_road_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="a road is auto, engines, joins; not rail"):
        pipeline(tmp_path, road="rail")
    with pytest.raises(StoreError, match="joins need a Spark session"):
        pipeline(tmp_path / "b", road="joins")


def test_values_that_are_equal_and_spelled_otherwise_are_one(tmp_path: Path) -> None:
    query = "from incoq import query\n@query\ndef q(s):\n    return {u.n for u in s}\n"
    made = pipeline(tmp_path, query, partitions=1)
    facts = [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("member", "add", "s", "v")]
    made.run_batch(lines([*facts, ("field_n", "assign", "u", 5), ("field_n", "assign", "v", 5.0)]), "a")
    from incoq.spark import worker

    worker.ENGINES.clear()  # another engine may keep the other spelling
    made.run_batch(lines([("field_n", "unassign", "u")], 50), "b")
    assert results(made, "q") == [(["s"], 5)]
    worker.ENGINES.clear()
    made.run_batch(lines([("field_n", "unassign", "v")], 60), "c")
    assert results(made, "q") == []
    assert row_key("q", '["a", 1.0]', "true") == row_key("q", '["a", 1]', "1")


def test_building_a_few_engines_slowly_says_nothing_about_a_combination() -> None:
    cold = outcome(seconds=5.0, loaded=100, demanded=1, grown=8, built=True)
    after = Measures(behind=-1.0).after_engines(0, [cold], 60.0)
    assert replace(after, behind=-1.0).demand == Measures().demand
    assert estimate(replace(after, behind=-1.0), 4, 1).road == "engines"


def test_joins_are_estimated_by_facts_that_count_once_however_many_partitions_load_them() -> None:
    known = Measures(facts=2e6, demanded=64, answers=1e4, behind=-1.0, demand=0.4)
    assert estimate(known, 1000, 0).joins > 15
    assert estimate(replace(known, reached=2e5), 1000, 0).joins < 6
