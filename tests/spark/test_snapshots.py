"""Snapshots: a new engine starts from one, and what released demand reached is shed."""

from __future__ import annotations

from pathlib import Path

from incoq.spark import worker
from incoq.spark.lookup import Lookup
from tests.spark.pipelines import WORLD, lines, pipeline, results

MOVES = [[("field_loc", "assign", "u2", place)] for place in ("NYC", "Rome", "NYC", "Lima", "NYC")]


def test_an_engine_that_was_lost_starts_from_the_snapshot(tmp_path: Path, monkeypatch: object) -> None:
    made = pipeline(tmp_path, snapshot_every=2)
    made.run_batch(lines(WORLD), "world")
    for number, events in enumerate(MOVES):
        made.run_batch(lines(events, 100 + number), "move")
    snapshot = made.store.manifest().snapshot
    assert snapshot is not None
    assert snapshot.batch == 6
    assert len(snapshot.files) == 2
    for key in [k for k in worker.ENGINES if k[0] == str(made.store.path)]:
        del worker.ENGINES[key]
    looked_up: list[object] = []
    fetch = Lookup.fetch
    try:
        Lookup.fetch = lambda self, needs: looked_up.extend(needs) or fetch(self, needs)  # type: ignore
        made.run_batch(lines([("field_loc", "assign", "u1", "Oslo")], 200), "after")
    finally:
        Lookup.fetch = fetch  # type: ignore[method-assign]
    assert looked_up == []
    assert results(made) == [(["c1", "g1"], "c@d.org")]
    assert made.verify() == []


def test_what_released_demand_reached_is_shed(tmp_path: Path) -> None:
    made = pipeline(tmp_path, partitions=1, snapshot_every=2)
    made.run_batch(lines(WORLD), "world")
    engine = worker.ENGINES[str(made.store.path), 0, 1].engine
    assert {r: len(known) for r, known in engine.loaded.items() if known} == {
        "field_email": 1, "field_followers": 1, "field_loc": 2, "item": 2, "member": 2,
    }  # fmt: skip
    made.run_batch(lines([("demand_nyc_fans", "remove", "c1", "g1")], 50), "release")
    assert results(made) == []
    assert not any(worker.ENGINES[str(made.store.path), 0, 1].engine.loaded.values())
    made.run_batch(lines([("demand_nyc_fans", "add", "c1", "g1")], 60), "again")
    assert results(made) == [(["c1", "g1"], "a@b.org")]


def test_an_engine_that_shed_something_knows_what_the_one_before_never_had_to_know(tmp_path: Path) -> None:
    """A group is loaded, and then followed: where its members live was not read. A new engine, to which it is
    both from the beginning, reads that."""
    made = pipeline(tmp_path, partitions=1, snapshot_every=4)
    facts = [
        ("field_followers", "assign", "c1", "s1"),
        ("field_followers", "assign", "c2", "s2"),
        ("field_loc", "assign", "u1", "NYC"),
        ("field_email", "assign", "u1", "a@b.org"),
        ("member", "add", "s1", "u1"),
    ]
    made.run_batch(lines([*facts, ("demand_nyc_fans", "add", "c2", "s1")]), "a group")
    made.run_batch(lines([("demand_nyc_fans", "add", "c1", "g1")], 50), "followed")
    made.run_batch(lines([("demand_nyc_fans", "remove", "c2", "s1")], 60), "no group")
    assert "u1" not in worker.ENGINES[str(made.store.path), 0, 1].engine.loaded["field_loc"]
    made.run_batch(lines([("demand_nyc_fans", "add", "c2", "s1")], 70), "a group again, and a snapshot")
    assert "u1" in worker.ENGINES[str(made.store.path), 0, 1].engine.loaded["field_loc"]
    made.run_batch(lines([("member", "add", "g1", "u1")], 80), "into the other group")
    assert results(made) == [(["c1", "g1"], "a@b.org")]
    assert made.verify() == []


def test_engines_of_stores_that_were_not_used_of_late_are_let_go(tmp_path: Path) -> None:
    made = [pipeline(tmp_path / str(number)) for number in range(worker.STORES + 1)]
    for one in made:
        one.run_batch(lines(WORLD), "world")
    first, *others = (str(one.store.path) for one in made)
    held = {store for store, _, _ in worker.ENGINES}
    assert first not in held
    assert held.issuperset(others)
    made[0].run_batch(lines([("field_loc", "assign", "u2", "NYC")], 50), "goes on")
    assert len(results(made[0])) == 2
    assert first in {store for store, _, _ in worker.ENGINES}
