"""Streams in and out: changes from any streaming DataFrame, and the change feed as a source for others.

    query = stream(pipeline, spark.readStream.text("changes/"), checkpoint="checkpoint/")
    spark.dataSource.register(feed_source())
    spark.readStream.format("incoq_feed").option("store", "store/").load()

Spark numbers the batches of a stream and may give one twice, after a failure between our commit and its
own; the manifest remembers the last number of each stream, so that the second time nothing happens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from incoq.spark.pipeline import Pipeline
from incoq.spark.results import feed_rows
from incoq.spark.store import Manifest, Store, StoreError

COLUMNS = ("seq", "rel", "op", "values")


def stream(pipeline: Pipeline, frame: Any, checkpoint: Path | str, **trigger: Any) -> Any:
    """Apply every micro-batch of a streaming DataFrame as a batch of changes; gives Spark's StreamingQuery.

    The frame has one string column of JSON lines (`value`, as text files and Kafka have it), or the columns
    seq, rel, op and values, or seq, table, op, before and after; the structured ones may be JSON texts.
    """
    place = str(Path(checkpoint).absolute())

    def apply(batch: Any, number: int) -> None:
        if number <= pipeline.store.manifest().streams.get(place, -1):
            return
        pipeline.run_batch(frame_lines(batch), f"stream batch {number}", lambda m: _noted(m, place, number))

    writer = frame.writeStream.foreachBatch(apply).option("checkpointLocation", place)
    if trigger:
        writer = writer.trigger(**trigger)
    return writer.start()


def _noted(manifest: Manifest, place: str, number: int) -> Manifest:
    return replace(manifest, streams={**manifest.streams, place: number})


def frame_lines(frame: Any) -> Iterator[str]:
    """The rows of a DataFrame of changes as JSON lines."""
    if frame.columns == ["value"] or ("value" in frame.columns and "seq" not in frame.columns):
        for row in frame.select(frame["value"].cast("string")).toLocalIterator():
            yield row[0] or ""
        return
    if not {"seq", "op"} <= set(frame.columns):
        raise StoreError(
            f"changes have a column `value`, or {', '.join(COLUMNS)}; not {', '.join(frame.columns)}"
        )
    for row in frame.toLocalIterator():
        event = row.asDict(recursive=True)
        try:
            yield _line({name: _parsed(name, value) for name, value in event.items()})
        except RecursionError:  # nested too deep: as a text it is rejected
            yield _line(event)


def _line(event: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in event.items() if value is not None}, default=str)


def _parsed(name: str, value: Any) -> Any:
    """What a JSON text says; what is none stays a text, and the event is rejected for it."""
    if name not in ("values", "before", "after") or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def feed_source() -> Any:
    """The class of the data source `incoq_feed`, for `spark.dataSource.register`.

    Its rows are (query, params, result, delta, batch); the option `store` says whose feed.
    """
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

    class FeedPartition(InputPartition):  # type: ignore[misc]  # pyspark is not typed here
        def __init__(self, after: int, upto: int) -> None:
            self.after, self.upto = after, upto

    class FeedReader(DataSourceReader):  # type: ignore[misc]
        def __init__(self, store: str) -> None:
            self.store = store

        def read(self, partition: Any) -> Iterator[tuple[Any, ...]]:
            return iter(list(feed_rows(Store(self.store))))

    class FeedStreamReader(DataSourceStreamReader):  # type: ignore[misc]
        def __init__(self, store: str) -> None:
            self.store = store

        def initialOffset(self) -> dict[str, int]:  # Spark's name
            return {"batch": -1}

        def latestOffset(self, *_: Any) -> dict[str, int]:  # Spark's name
            return {"batch": Store(self.store).manifest().batch}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Any]:
            return [FeedPartition(start["batch"], end["batch"])]

        def read(self, partition: Any) -> Iterator[tuple[Any, ...]]:
            rows = feed_rows(Store(self.store), partition.after)
            return iter([row for row in rows if row[4] <= partition.upto])

    class FeedSource(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return "incoq_feed"

        def schema(self) -> str:
            return "query string, params string, result string, delta int, batch long"

        def reader(self, schema: Any) -> Any:
            return FeedReader(self._store())

        def streamReader(self, schema: Any) -> Any:  # Spark's name
            return FeedStreamReader(self._store())

        def _store(self) -> str:
            if "store" not in self.options:
                raise StoreError("incoq_feed needs the option `store`")
            return str(self.options["store"])

    return FeedSource
