"""The pipeline from Python.

spark = session("fans")
create("store", "program.py", spark, {"field_loc": spark.table("loc"), ...})
with opened("store", spark) as pipeline:
    pipeline.run_directory("changes")
results("store", "nyc_fans", spark).show()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from incoq.spark.deployment import deploy
from incoq.spark.mapping import read_mapping
from incoq.spark.pipeline import Pipeline, Progress
from incoq.spark.recompute import by_joins, net_frame, result_frame
from incoq.spark.session import runner
from incoq.spark.store import Store, StoreError
from incoq.spark.tables import write_frames, write_tables
from incoq.spark.worker import RESULTS


def create(
    store: Path | str,
    program: Path | str,
    spark: Any,
    tables: Mapping[str, Any] | Path | str | None = None,
    mapping: Path | str | None = None,
    partitions: int | None = None,
    road: str = "auto",
) -> None:
    """Make a pipeline: a program over relation tables, or over tables that a mapping declares.

    `tables` is a directory, or DataFrames by the names of relations or mapped tables; without it the pipeline
    begins with nothing. `road` is how the demand is answered: by engines, by joins, or as the planner thinks.
    """
    place, deployment = Store(store), deploy(Path(program))
    with place.locked():
        if place.exists:
            raise StoreError(f"{store} holds a pipeline already; choose another place")
        place.deploy(deployment)
        declared = read_mapping(Path(mapping), deployment) if mapping is not None else None
        if declared is not None:
            place.declare(declared.source)
        at_once = spark.sparkContext.defaultParallelism
        pipeline = Pipeline(place, runner(spark), joins=by_joins(spark, place), road=road, at_once=at_once)
        count = partitions or spark.sparkContext.defaultParallelism
        if tables is None:
            pipeline.init(count)
        elif isinstance(tables, Mapping):
            frames = dict(tables)
            pipeline.begin(partial(write_frames, spark, frames, deployment, declared), count)
        else:
            pipeline.begin(partial(write_tables, spark, Path(tables), deployment, declared), count)


@contextmanager
def opened(store: Path | str, spark: Any, watch: Any = None, **options: Any) -> Iterator[Pipeline]:
    """The pipeline of a store, which nobody else may change meanwhile; `watch` is told of every batch.

    With `road="engines"` or `road="joins"` every batch takes that road.
    """
    place = Store(store)
    place.manifest()
    with place.locked():
        options = {"at_once": spark.sparkContext.defaultParallelism} | options
        yield Pipeline(place, runner(spark), watch or _unwatched, joins=by_joins(spark, place), **options)


def _unwatched(progress: Progress) -> None:
    del progress


def result_table(store: Path | str, query: str, spark: Any) -> Any:
    """The answers of a query as of the last committed batch: a DataFrame (params, result), both as JSON."""
    place = Store(store)
    if query not in [q.name for q in place.deployment().queries]:
        raise StoreError(f"no query is called {query}")
    found = net_frame(spark, place, place.manifest())
    return found.where(found["query"] == query).select("params", "result")


def change_feed(store: Path | str, spark: Any) -> Any:
    """How the answers changed: a DataFrame (query, params, result, delta, batch)."""
    from pyspark.sql import functions as f

    place = Store(store)
    frame = spark.createDataFrame([], f"{RESULTS}, batch long")
    for entry in place.manifest().feed:
        if entry.files:
            read = result_frame(spark, place, entry.files)
            frame = frame.unionByName(read.withColumn("batch", f.lit(entry.batch).cast("long")))
    return frame
