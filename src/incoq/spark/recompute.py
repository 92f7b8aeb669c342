"""Compute queries anew as joins of DataFrames: the way that needs no engines.

    nyc_fans = demand ⋈ field_followers ⋈ member ⋈ member ⋈ field_loc ⋈ field_email

It is what the results are checked against, and what the planner takes where a batch or the demand is so large
that it wins. Demand is pushed down: a first pass along the query graph finds the *tags*, the values that each
variable can have, from demand outwards; each relation is read for the owners that are tagged, by the index
of the base where they are few, and cut down to what is tagged on its other side. Then the cut relations are
joined. Nested queries are computed for the combinations that the outer query has. A condition is a Spark
expression where that means the same (`texts`), and Python on Arrow batches elsewhere (`rows`), where what
raises is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incoq.spark import sealed
from incoq.spark.deployment import Deployment
from incoq.spark.joins import Joins
from incoq.spark.relations import Relations, demand_texts
from incoq.spark.results import entries_of, net_results, row_key
from incoq.spark.session import described
from incoq.spark.steps import Steps
from incoq.spark.store import Files, Manifest, NoJoins, Store, StoreError
from incoq.spark.texts import json_key, json_list, json_text
from incoq.spark.values import as_key, from_text, shown
from incoq.spark.worker import RESULTS

_OF_STORE = re.compile(r"incoq\.spark\.store\.(?:StoreError|Missing): (.*)")


@contextmanager
def _told() -> Iterator[None]:
    """Say what a task of a DataFrame finds wrong with the store, or cannot join, as the driver would."""
    from pyspark.errors import PythonException

    try:
        yield
    except PythonException as error:
        if "Unattached" in str(error):
            raise NoJoins("a condition reads more than can be joined to its rows") from None
        if found := _OF_STORE.search(str(error)):
            raise StoreError(found[1]) from None
        raise


class Recomputation:
    """The base relations of a store as of its last batch, as DataFrames. Use it in a `with` statement."""

    def __init__(self, spark: Any, store: Store, manifest: Manifest | None = None) -> None:
        self.spark, self.store = spark, store
        self.manifest = manifest or store.manifest()
        self.deployment: Deployment = store.deployment()
        self.relations = Relations(spark, store, self.manifest)
        self.kept: list[Any] = []  # DataFrames in memory

    def __enter__(self) -> Recomputation:
        return self

    def __exit__(self, *_: object) -> None:
        for frame in self.kept:
            frame.unpersist()
        self.kept.clear()

    def answers(self, query: str) -> Any:
        """The answers of a query: a DataFrame (params, result), both as JSON."""
        from pyspark.sql import functions as f

        joins = self.joins(query)
        reason = self.reason(query)
        if reason:
            raise NoJoins(f"{query} cannot be computed by joins: {reason}")
        plan = self.deployment.query(query)
        hidden = [text for _, text in plan.hidden]
        rows = [(*demand_texts(params), *hidden) for params in self.relations.demand(query)]
        if not rows:
            return self.spark.createDataFrame([], "params string, result string")
        names = [f"d{n}" for n in range(len(joins.demand))]
        demand = self.spark.createDataFrame(rows, ", ".join(f"{n} string" for n in names))
        steps = Steps(self, joins)
        keys = [[as_key(shown(from_text(text))) for text in column] for column in zip(*rows, strict=True)]
        answers, columns = steps.answers(demand, names, keys)
        params = json_list([f.col(columns[p]) for p in joins.params])
        result = f.col("shown") if joins.aggregate else json_text(f.col("element"))
        return answers.select(params.alias("params"), result.alias("result")).distinct()

    def joins(self, query: str) -> Joins:
        return next(j for j in self.deployment.joins if j.name == query)

    def reason(self, query: str) -> str:
        """Why a query, or one that it uses, has no DataFrame form; empty where it has."""
        joins = self.joins(query)
        used = [c.relation for c in joins.clauses if c.kind in ("value", "answer")]
        return joins.reason or next(filter(None, map(self.reason, used)), "")

    def differences(self) -> tuple[list[str], dict[str, str]]:
        """The rows in which the results differ, and why queries were not compared; empty where they were."""
        found: list[str] = []
        left_out: dict[str, str] = {}
        for query in self.deployment.queries:
            try:
                with described(self.spark, f"incoq verify {query.name}"), _told():
                    anew = {row_key(query.name, *r) for r in self.answers(query.name).collect()}
            except NoJoins as error:
                left_out[query.name] = self.reason(query.name) or str(error)
                continue
            left_out[query.name] = ""
            table = net_results(self.store, self.manifest, query.name)
            kept = {row_key(*row.values()) for row in table.to_pylist()}
            found += [f"missing: {row}" for row in sorted(anew - kept)]
            found += [f"wrong: {row}" for row in sorted(kept - anew)]
        return found, left_out

    @_told()
    def write_changes(self, before: Manifest | None, place: str) -> tuple[Files, int, int]:
        """Write how all answers differ from those of a manifest: files, rows, growth of the answers."""
        from pyspark.sql import functions as f

        for query in self.deployment.queries:
            if reason := self.reason(query.name):
                raise NoJoins(f"{query.name} cannot be computed by joins: {reason}")
        keys = [json_key(f.col("params")).alias("kp"), json_key(f.col("result")).alias("kr")]
        anew = result_frame(self.spark, self.store, {}).drop("delta")
        for query in self.deployment.queries:
            anew = anew.unionByName(self.answers(query.name).withColumn("query", f.lit(query.name)))
        anew = anew.select("query", *keys, "params", "result")
        old = net_frame(self.spark, self.store, before).select(
            f.col("query"), *keys, f.col("params").alias("p"), f.col("result").alias("r")
        )
        both = anew.join(old, ["query", "kp", "kr"], "full_outer")
        both = both.where("params is null or p is null or result != r")  # 1 and true: equal, and another
        signs = "array(if(p is null, null, -1), if(params is null, null, 1))"
        delta = f.explode(f.expr(f"array_compact({signs})"))
        changed = both.select("*", delta.alias("delta")).select(
            "query",
            f.when(f.col("delta") < 0, f.col("p")).otherwise(f.col("params")).alias("params"),
            f.when(f.col("delta") < 0, f.col("r")).otherwise(f.col("result")).alias("result"),
            f.col("delta").cast("tinyint").alias("delta"),
        )  # fmt: skip
        folder = self.store.path / place
        changed.write.parquet(str(folder))
        files, deltas = {}, []
        for path in sorted(folder.glob("part-*.parquet")):
            sealed.keep(path)
            data = path.read_bytes()
            files[f"{place}/{path.name}"] = sealed.seal(data)
            deltas.append(pq.read_table(pa.BufferReader(data), columns=["delta"])["delta"])
        return files, sum(map(len, deltas)), sum(pc.sum(d).as_py() or 0 for d in deltas)


def by_joins(spark: Any, store: Store) -> Callable[[Manifest | None, Manifest, str], tuple[Files, int, int]]:
    """The road that a pipeline takes where joins are cheaper."""

    def write(before: Manifest | None, after: Manifest, place: str) -> tuple[Files, int, int]:
        name = f"incoq batch {after.batch}: answer by joins"
        with Recomputation(spark, store, after) as anew, described(spark, name):
            return anew.write_changes(before, place)

    return write


def result_frame(spark: Any, store: Store, files: Files, with_batch: bool = False) -> Any:
    """Rows of the feed or of folded results, as a DataFrame; Spark does not look whether they are damaged."""
    from pyspark.sql import functions as f

    for file, seal in files.items():
        sealed.check_file(store.path / file, seal)
    if not files:
        return spark.createDataFrame([], f"{RESULTS}, batch string" if with_batch else RESULTS)
    found = spark.read.schema(RESULTS).parquet(*(str(store.path / file) for file in files))
    if not with_batch:
        return found
    batch = f.regexp_extract("_metadata.file_path", r".*/(?:feed|results)/([0-9]+)-", 1)
    return found.withColumn("batch", batch)


def net_frame(spark: Any, store: Store, manifest: Manifest | None) -> Any:
    """The answers of a manifest: a DataFrame (query, params, result)."""
    from pyspark.sql import functions as f

    entries = entries_of(manifest) if manifest is not None else []
    rows = result_frame(spark, store, {file: seal for e in entries for file, seal in e.files.items()}, True)
    keyed = rows.withColumn("kp", json_key(f.col("params"))).withColumn("kr", json_key(f.col("result")))
    came = f.struct("batch", "params", "result")  # equal values have the spelling that came last
    last = f.max(f.when(f.col("delta") > 0, came)).alias("last")
    counted = keyed.groupBy("query", "kp", "kr").agg(f.sum("delta").alias("n"), last)
    return counted.where("n > 0").select("query", "last.params", "last.result")
