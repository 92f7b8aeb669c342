"""Changes from a stream, and the change feed as a stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from incoq.spark.results import feed_rows
from incoq.spark.session import runner
from incoq.spark.streaming import feed_source, frame_lines, stream
from tests.spark.pipelines import WORLD, lines, pipeline, results

MOVE = [("field_loc", "assign", "u2", "NYC"), ("field_loc", "unassign", "u1")]


def test_a_stream_of_files_is_applied_batch_by_batch_and_none_twice(spark: Any, tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    made.run = runner(spark)
    changes = tmp_path / "changes"
    changes.mkdir()

    def run() -> None:
        source = spark.readStream.text(str(changes))
        query = stream(made, source, tmp_path / "checkpoint", availableNow=True)
        query.awaitTermination()
        assert query.exception() is None

    (changes / "1.jsonl").write_text("\n".join(lines(WORLD)) + "\n")
    run()
    assert results(made) == [(["c1", "g1"], "a@b.org")]
    (changes / "2.jsonl").write_text("\n".join([*lines(MOVE, 50), "nonsense"]) + "\n")
    run()
    assert results(made) == [(["c1", "g1"], "c@d.org")]
    committed = made.store.manifest()
    assert committed.totals["rejected"] == 1
    # Spark's own note of the last batch is lost, as if it died just before it: the batch comes again.
    last = max((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda p: int(p.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()
    run()
    assert made.store.manifest().batch == committed.batch
    assert made.store.manifest().totals["rejected"] == 1


def test_changes_may_have_columns_of_their_own(spark: Any) -> None:
    rows = [(1, "member", "add", ["s", "u"]), (2, "field_loc", "unassign", ["u"])]
    frame = spark.createDataFrame(rows, "seq long, rel string, op string, `values` array<string>")
    found = [json.loads(line) for line in frame_lines(frame)]
    assert found[0] == {"seq": 1, "rel": "member", "op": "add", "values": ["s", "u"]}
    texts = spark.createDataFrame(
        [(1, "member", "add", '["s", 5]')], "seq long, rel string, op string, `values` string"
    )
    assert [json.loads(line)["values"] for line in frame_lines(texts)] == [["s", 5]]


def test_a_column_that_is_no_json_makes_its_event_rejected_and_not_the_batch_fail(
    spark: Any, tmp_path: Path
) -> None:
    rows = [(1, "field_loc", "assign", '["u1", "NYC"'), (2, "field_loc", "assign", '["u1", "Oslo"]')]
    rows.append((3, "field_loc", "assign", "[" * 100_000 + "]" * 100_000))
    frame = spark.createDataFrame(rows, "seq long, rel string, op string, `values` string")
    made = pipeline(tmp_path)
    made.run_batch(frame_lines(frame), "a")
    assert made.store.manifest().totals["rejected"] == 2
    assert made.store.manifest().totals["events"] == 1


def test_what_a_user_runs_after_a_batch_does_not_bear_its_name(spark: Any) -> None:
    spark.sparkContext.setJobDescription("mine")
    assert runner(spark)("incoq batch 1", abs, [-1, 2]) == [1, 2]
    assert spark.sparkContext.getLocalProperty("spark.job.description") == "mine"
    spark.sparkContext.setJobDescription(None)


def test_the_change_feed_is_a_table_and_a_stream(spark: Any, tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    spark.dataSource.register(feed_source())
    made.run_batch(lines(WORLD), "a")

    def follow() -> None:
        source = spark.readStream.format("incoq_feed").option("store", str(made.store.path)).load()
        query = (
            source.writeStream.format("parquet").option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "followed")).trigger(once=True).start()
        )  # fmt: skip
        query.awaitTermination()
        assert query.exception() is None

    follow()
    made.run_batch(lines(MOVE, 50), "b")
    follow()
    expected = sorted(feed_rows(made.store))
    assert expected == [
        ("nyc_fans", '["c1", "g1"]', '"a@b.org"', -1, 2),
        ("nyc_fans", '["c1", "g1"]', '"a@b.org"', 1, 1),
        ("nyc_fans", '["c1", "g1"]', '"c@d.org"', 1, 2),
    ]
    table = spark.read.format("incoq_feed").option("store", str(made.store.path)).load()
    assert sorted(map(tuple, table.collect())) == expected
    assert sorted(map(tuple, spark.read.parquet(str(tmp_path / "out")).collect())) == expected
