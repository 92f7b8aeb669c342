"""A store that somebody damaged says so: no exception of a library, and no answers that are wrong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from incoq.spark import sealed
from incoq.spark.compaction import fold_tasks
from incoq.spark.lookup import INDEX, Lookup, read_index
from incoq.spark.pipeline import Pipeline
from incoq.spark.session import in_process
from incoq.spark.status import status_of
from incoq.spark.store import Store, StoreError
from incoq.spark.worker import FEED
from tests.spark.pipelines import WORLD, lines, pipeline, results

MAPPING = {"classes": {"User": {"table": "users", "id": "id", "prefix": "u", "fields": {"email": "mail"}}}}


@pytest.fixture
def made(tmp_path: Path) -> Pipeline:
    """A pipeline with a base, and one batch since."""
    made = pipeline(tmp_path)
    made.run_batch(lines(WORLD), "world")
    made.compact()
    made.run_batch([*lines([("field_loc", "assign", "u2", "NYC")], 100), "no event"], "move")
    return made


def flip(path: Path, old: bytes, new: bytes) -> None:
    """Change a file, which must hold what is changed."""
    data = path.read_bytes()
    assert old in data
    path.unlink()
    path.write_bytes(data.replace(old, new))


def test_an_index_that_is_of_another_base_is_refused(made: Pipeline) -> None:
    store = made.store
    before = store.manifest().base
    index = (store.path / before.path / INDEX).read_bytes()
    made.compact()
    after = store.manifest().base
    assert read_index(store.path / after.path)
    (store.path / after.path / INDEX).write_bytes(index)
    with pytest.raises(StoreError, match="of another base"):
        Lookup(store.path, after, ()).rows("member", ["g1"])
    with pytest.raises(StoreError, match="of another base"):
        fold_tasks(store.path, after, (), "base/new")


@pytest.mark.parametrize("name", ["manifest.json", "engine.json", "mapping.json", INDEX])
def test_a_file_whose_checksum_is_gone_is_damaged(made: Pipeline, name: str) -> None:
    store = made.store
    store.declare(MAPPING)
    base = store.path / store.manifest().base.path
    flip(base / INDEX if name == INDEX else store.path / name, b'"checksum"', b'"checksul"')

    def read() -> None:
        Pipeline(Store(store.path), in_process).run_batch([], "nothing")
        read_index(base)  # workers have it in memory

    with pytest.raises(StoreError, match="is damaged"):
        read()


def test_a_mapping_that_was_altered_is_refused(made: Pipeline) -> None:
    made.store.declare(MAPPING)
    flip(made.store.path / "mapping.json", b'"mail"', b'"male"')
    with pytest.raises(StoreError, match="is damaged"):
        Pipeline(made.store, in_process)


def test_a_damaged_base_cannot_be_compacted(made: Pipeline) -> None:
    base = made.store.path / made.store.manifest().base.path
    for path in (base / "rel=field_loc").glob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match="is damaged"):
        made.compact()


def test_a_linked_file_of_a_damaged_base_cannot_be_compacted(made: Pipeline) -> None:
    base = made.store.path / made.store.manifest().base.path
    for path in (base / "rel=field_email").glob("*.parquet"):  # of which the log says nothing
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match="is damaged"):
        made.compact()


def test_a_feed_that_lost_a_column_does_not_lose_answers(made: Pipeline) -> None:
    [path] = [f for f in (made.store.path / "results").rglob("*.parquet") if results(made)]
    flip(path, b"query", b"qurry")
    with pytest.raises(StoreError, match="is damaged"):
        results(made)


@pytest.mark.parametrize("change", [lambda d: d[:-9], lambda d: d.replace(b"reason", b"seasor")])
def test_the_status_of_a_store_with_damaged_rejections_is_an_error(made: Pipeline, change: Any) -> None:
    [path] = (made.store.path / "rejected").rglob("*.parquet")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(StoreError, match="is damaged"):
        json.dumps(status_of(made.store))


@pytest.mark.parametrize("kind", ["log", "snapshots"])
def test_a_file_that_lost_a_column_is_damaged(tmp_path: Path, kind: str) -> None:
    made = pipeline(tmp_path, snapshot_every=1 if kind == "snapshots" else 1_000)
    made.run_batch(lines(WORLD), "world")
    made.run_batch(lines([("field_loc", "assign", "u2", "NYC")], 100), "move")
    store = made.store.path.rename(tmp_path / "elsewhere")  # nobody has read from there
    for path in (store / kind).rglob("*.parquet"):
        flip(path, b"rel", b"sel")
    again = Pipeline(Store(store), in_process)
    with pytest.raises(StoreError, match="is damaged"):
        again.run_batch(lines([("field_loc", "assign", "u2", "Oslo")], 200), "move")


def test_no_flipped_bit_of_a_file_gives_other_rows(tmp_path: Path) -> None:
    """Pages have a checksum; what the footer says is told twice."""
    path = tmp_path / "part-0.parquet"
    table = pa.table([["q", "q"], ["a", "b"], ["1", "2"], [1, -1]], schema=FEED)
    sealed.write_table(table, path, path)
    data = path.read_bytes()
    ends: Counter[str] = Counter()
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << (at * 5 + 2) % 8
        path.write_bytes(bytes(changed))
        try:
            ends["same" if sealed.read_table(path, FEED) == table else "other"] += 1
        except StoreError:
            ends["error"] += 1
    assert ends["other"] == 0
    assert ends["error"] > ends["same"]
