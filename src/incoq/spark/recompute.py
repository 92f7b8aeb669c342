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

from typing import Any

from incoq.spark.deployment import Deployment
from incoq.spark.joins import Joins
from incoq.spark.relations import Relations, demand_texts
from incoq.spark.results import net_results
from incoq.spark.steps import Steps
from incoq.spark.store import Manifest, Store, StoreError
from incoq.spark.texts import json_list, json_text


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

    def answers(self, query: str, push: bool = True) -> Any:
        """The answers of a query: a DataFrame (params, result), both as JSON."""
        from pyspark.sql import functions as f

        joins = self.joins(query)
        reason = self.reason(query)
        if reason:
            raise StoreError(f"{query} cannot be computed by DataFrames: {reason}")
        plan = self.deployment.query(query)
        hidden = [text for _, text in plan.hidden]
        rows = [(*demand_texts(params), *hidden) for params in self.relations.demand(query)]
        names = [f"d{n}" for n in range(len(joins.demand))]
        demand = self.spark.createDataFrame(rows, ", ".join(f"{n} string" for n in names))
        steps = Steps(self, joins, push)
        answers, columns = steps.answers(demand, names, [list(c) for c in zip(*rows, strict=True)] or None)
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

    def differences(self) -> tuple[list[str], list[str]]:
        """The rows in which the results differ, and the queries that were compared."""
        found: list[str] = []
        compared = []
        for query in self.deployment.queries:
            if not self.reason(query.name):
                compared.append(query.name)
                self.spark.sparkContext.setJobDescription(f"incoq verify {query.name}")
                anew = {f"{r['params']} {r['result']}" for r in self.answers(query.name).collect()}
                table = net_results(self.store, self.manifest, query.name)
                kept = {f"{r['params']} {r['result']}" for r in table.to_pylist()}
                found += [f"missing: {query.name} {row}" for row in sorted(anew - kept)]
                found += [f"wrong: {query.name} {row}" for row in sorted(kept - anew)]
        return found, compared
