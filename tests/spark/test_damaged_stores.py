"""A store that somebody damaged says so: no exception of a library, and no answers that are wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

from incoq.spark import sealed
from incoq.spark.api import change_feed, result_table
from incoq.spark.compaction import fold_tasks
from incoq.spark.lookup import Lookup
from incoq.spark.parts import INDEX, TRIPLES, OpenPart, PartWriter, read_index
from incoq.spark.pipeline import Pipeline
from incoq.spark.recompute import by_joins
from incoq.spark.relations import Relations
from incoq.spark.session import in_process, runner
from incoq.spark.status import status_of
from incoq.spark.store import Store, StoreError
from incoq.spark.worker import FEED
from tests.spark.pipelines import WORLD, lines, pipeline, results
from trust.damage import answers, ending, in_use, make

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


def damaged(data: bytes) -> Iterator[bytes]:
    """Each byte with one bit flipped, in turn alone and with another one, and each beginning of it."""
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << (at * 5 + 2) % 8
        changed[at * 7919 % len(data)] ^= at % 2 << at % 8
        yield bytes(changed)
        yield data[:at]


def test_no_damage_to_a_file_is_overlooked(tmp_path: Path) -> None:
    path = tmp_path / "part-0.parquet"
    table = pa.table([["q", "q"], ["a", "b"], ["1", "2"], [1, -1]], schema=FEED)
    seal = sealed.write_table(table, path)
    assert sealed.read_table(path, seal, FEED) == table
    for changed in damaged(path.read_bytes()):
        path.write_bytes(changed)
        with pytest.raises(StoreError, match="is damaged"):
            sealed.read_table(path, seal, FEED)


def test_no_damage_to_a_part_of_a_base_is_overlooked(tmp_path: Path) -> None:
    """Every byte belongs to a row group or to the footer."""
    table = pa.table([["u1", "u2"], ["", ""], ["sa", "sb"]], schema=TRIPLES)
    writer = PartWriter(tmp_path, "field_loc")
    for _ in range(2):
        writer.write(table)
    part = writer.close()
    assert len(part.groups) == 2
    path = tmp_path / part.name
    data = path.read_bytes()
    assert len(data) - part.groups[-1].end == 8 + int.from_bytes(data[-8:-4], "little")
    assert OpenPart(tmp_path, part).read(TRIPLES.names) == pa.concat_tables([table, table])
    assert OpenPart(tmp_path, part).read(["o", "x"], [1]) == table.select(["o", "x"])
    for changed in damaged(data):
        path.write_bytes(changed)
        with pytest.raises(StoreError, match="is damaged"):
            OpenPart(tmp_path, part).read(TRIPLES.names)


def test_bounds_that_were_altered_do_not_come_into_the_index(made: Pipeline) -> None:
    """A statistic in a footer, of a relation that is only linked when the store is compacted."""
    base = made.store.path / made.store.manifest().base.path
    [path] = (base / "rel=field_email").glob("*.parquet")
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    assert b"u1" in data[start:]
    path.unlink()
    path.write_bytes(data[:start] + data[start:].replace(b"u1", b"u2"))
    with pytest.raises(StoreError, match="is damaged"):
        made.compact()


@pytest.mark.parametrize("kind", ["log", "feed", "results", "rejected", "snapshots"])
def test_a_file_that_is_whole_but_not_the_one_that_was_written_is_damaged(tmp_path: Path, kind: str) -> None:
    store = make(tmp_path)
    expected = answers(shutil.copytree(store, tmp_path / "expected"))
    damaged = shutil.copytree(store, tmp_path / "damaged")
    for path in in_use(damaged, kind):
        pq.write_table(pq.read_table(path).slice(1).replace_schema_metadata(None), path)
    assert ending(damaged, expected, kind) == "error"


def test_a_file_that_a_killed_task_left_in_the_base_is_not_there(made: Pipeline) -> None:
    before = made.store.manifest().base
    base = made.store.path / before.path
    [path] = (base / "rel=field_email").glob("*.parquet")
    path.with_name("part-left.parquet").write_bytes(b"half of it")
    made.compact()
    assert made.store.manifest().base.rows == before.rows
    assert made.verify() == []
    assert results(made) == [(["c1", "g1"], "a@b.org"), (["c1", "g1"], "c@d.org")]


def test_what_spark_reads_and_writes_is_compared_too(spark: Any, tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    made.run_batch(lines(WORLD), "world")
    made.compact(keep_feed=0)
    store = made.store
    made = Pipeline(store, runner(spark), joins=by_joins(spark, store), road="joins")
    made.run_batch(lines([("field_loc", "assign", "u2", "NYC")], 100), "move")
    [feed] = [store.path / file for entry in store.manifest().feed for file in entry.files]
    assert change_feed(store.path, spark).count() == 1
    data = feed.read_bytes()
    end = len(data) - 12
    feed.write_bytes(data[:end] + bytes([data[end] ^ 1]) + data[end + 1 :])
    readers = [
        lambda: results(store),
        lambda: result_table(store.path, "nyc_fans", spark),
        lambda: change_feed(store.path, spark),
        lambda: made.run_batch(lines([("field_loc", "assign", "u2", "Oslo")], 200), "move"),
    ]
    for read in readers:
        with pytest.raises(StoreError, match="is damaged"):
            read()
    feed.write_bytes(data)
    base = store.path / store.manifest().base.path
    [path] = (base / "rel=field_email").glob("*.parquet")
    whole = path.read_bytes()
    assert Relations(spark, store, store.manifest()).rows("field_email").count() == 2
    path.write_bytes(whole[:30] + bytes([whole[30] ^ 1]) + whole[31:])
    with pytest.raises(StoreError, match="is damaged"):  # all of it by a scan, which tasks compare before
        Relations(spark, store, store.manifest()).rows("field_email")
    with pytest.raises(StoreError, match="is damaged"):  # some of it by the index, in tasks
        made.run_batch(lines([("field_loc", "assign", "u2", "Oslo")], 200), "move")
    assert store.manifest().batch == 2
