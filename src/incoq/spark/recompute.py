"""Compute a query anew as joins of DataFrames: what the results are checked against, and measured against.

    nyc_fans = demand ⋈ field_followers ⋈ member ⋈ member ⋈ field_loc ⋈ field_email

With demand pushed down, the joins begin at the demanded combinations and follow the query graph, so that
each reads only what the combinations before it reach; plainly, the base relations are joined first and
demand is joined last. A condition that compares with a constant string is a Spark expression; the others,
and the result, are evaluated by Python on Arrow batches, where what raises is skipped. Queries that are
more than joins (`QueryPlan.flat` is None) have no such form.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from incoq.spark.deployment import Deployment, Flat, QueryPlan
from incoq.spark.lookup import Lookup, log_of
from incoq.spark.results import net_results
from incoq.spark.store import Manifest, Store
from incoq.spark.values import as_key, from_text, shown_text

_OUTPUT = "params string, result string"


class Recomputation:
    """The base relations of a store as of its last batch, as DataFrames."""

    def __init__(self, spark: Any, store: Store, manifest: Manifest | None = None) -> None:
        self.spark, self.store = spark, store
        self.manifest = manifest or store.manifest()
        self.deployment: Deployment = store.deployment()

    def answers(self, query: QueryPlan, push: bool = True) -> Any:
        """The answers of a query: a DataFrame (params, result), both as JSON."""
        assert query.flat is not None, f"{query.name} is more than joins"
        flat = query.flat
        first, *rest = flat.clauses
        demand = self._demand(query, first[1])
        if push:
            joined = self._joined(demand, set(first[1]), list(rest), flat, push)
        else:
            start = rest.pop(0)
            joined = self._joined(self._relation(*start), set(start[1]), list(rest), flat, push)
            joined = joined.join(demand, [c for c in demand.columns if c in joined.columns])
        return self._evaluated(joined, query, flat).distinct()

    def differences(self) -> tuple[list[str], list[str]]:
        """The rows in which the results differ, and the queries that were compared."""
        found: list[str] = []
        compared = []
        for query in self.deployment.queries:
            if query.flat is not None:
                compared.append(query.name)
                self.spark.sparkContext.setJobDescription(f"incoq verify {query.name}")
                anew = {f"{r['params']} {r['result']}" for r in self.answers(query).collect()}
                table = net_results(self.store, self.manifest, query.name)
                kept = {f"{r['params']} {r['result']}" for r in table.to_pylist()}
                found += [f"missing: {query.name} {row}" for row in sorted(anew - kept)]
                found += [f"wrong: {query.name} {row}" for row in sorted(kept - anew)]
        return found, compared

    # -- relations -----------------------------------------------------------------------------------

    def _demand(self, query: QueryPlan, variables: tuple[str, ...]) -> Any:
        lookup = Lookup(self.store.path, self.manifest.base, self.manifest.log)
        hidden = [text for _, text in query.hidden]
        rows = [
            [*(as_key(value) for value in _listed(params)), *hidden]
            for _, params in lookup.demand([query.name])
        ]
        return self.spark.createDataFrame(rows, ", ".join(f"`{v}` string" for v in variables))

    def _relation(self, relation: str, variables: tuple[str, ...]) -> Any:
        """A base relation with the log laid over it; its columns are texts of values."""
        from pyspark.sql import functions as f

        place = self.store.path / self.manifest.base.path / f"rel={relation}"
        schema = "o string, k string, x string"
        has_base = place.is_dir() and any(place.glob("part-*.parquet"))
        frame = (
            self.spark.read.schema(schema).parquet(str(place))
            if has_base
            else self.spark.createDataFrame([], schema)
        )
        changes = _last_rows([self.store.path / e.path for e in self.manifest.log], relation)
        if changes:
            log = self.spark.createDataFrame(changes, f"{schema}, p boolean")
            gone = f.broadcast(log.select("o", "k"))
            frame = frame.join(gone, ["o", "k"], "left_anti").unionByName(log.where("p").drop("p"))
        columns = [f.concat(f.lit("s"), "o")]
        if relation.startswith("field_"):
            columns.append(_canonical(f.col("x")))
        else:
            frame = frame.where("k != ''")
            columns.append(f.col("k"))
            if relation == "item":
                columns.append(_canonical(f.col("x")))
        return frame.select(*(c.alias(v) for c, v in zip(columns, variables, strict=True)))

    # -- joins ---------------------------------------------------------------------------------------

    def _joined(self, joined: Any, bound: set[str], pending: list[Any], flat: Flat, push: bool) -> Any:
        """Join the relations, one whose owner is known after the other; filter as soon as a filter can be."""
        from pyspark.sql import functions as f

        done: set[str] = set()
        while True:
            for text, names in flat.tests:
                test = _expression(text)
                if test is not None and text not in done and set(names) <= bound:
                    joined = joined.where(test)
                    done.add(text)
            if not pending:
                return joined
            relation, variables = next(
                (c for c in pending if c[1][0] in bound),
                next((c for c in pending if set(c[1]) & bound), pending[0]),
            )
            pending.remove((relation, variables))
            shared = [v for v in variables if v in bound]
            other = self._relation(relation, variables)
            if push:
                other = other.join(f.broadcast(joined.select(*shared).distinct()), shared, "left_semi")
            joined = other.join(joined, shared)
            bound |= set(variables)

    def _evaluated(self, joined: Any, query: QueryPlan, flat: Flat) -> Any:
        """Evaluate the remaining conditions and the result; what raises is skipped."""
        tests = [text for text, _ in flat.tests if _expression(text) is None]
        result, code, shown = flat.result[0], self.deployment.code, query.params
        needed = sorted({v for _, names in (*flat.tests, flat.result) for v in names} | set(shown))

        def batches(tables: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            space: dict[str, Any] = {"__name__": "incoq_recompute"}
            exec(compile(code, "<incoq recompute>", "exec", dont_inherit=True), space)
            compiled = [compile(text, "<condition>", "eval") for text in tests]
            answer = compile(result, "<result>", "eval")
            for table in tables:
                found: list[tuple[str, str]] = []
                for row in zip(*(table.column(v).to_pylist() for v in needed), strict=True):
                    values = {v: from_text(text) for v, text in zip(needed, row, strict=True)}
                    try:
                        if all(eval(test, space, values) for test in compiled):
                            value = eval(answer, space, values)
                            hash(value)
                            found.append((shown_text([values[p] for p in shown]), shown_text(value)))
                    except Exception:  # a combination that raises is skipped, as everywhere
                        continue
                columns = [[row[n] for row in found] for n in (0, 1)]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(c, pa.string()) for c in columns], names=["params", "result"]
                )

        return joined.select(*needed).mapInArrow(batches, _OUTPUT)


def _listed(params: str) -> Any:
    return from_text("j" + params)


def _last_rows(log: list[Path], relation: str) -> list[tuple[str, str, str | None, bool]]:
    """What the log leaves behind of a relation."""
    found: dict[tuple[str, str], tuple[str, str, str | None, bool]] = {}
    for path in log:
        table = log_of(path)
        for r, o, k, x, p in zip(*(table[c].to_pylist() for c in ("rel", "o", "k", "x", "p")), strict=True):
            if r == relation:
                found[o, k] = (o, k, x, p)
    return list(found.values())


def _canonical(column: Any) -> Any:
    """The text that equal numbers share."""
    from pyspark.sql import functions as f

    whole = f.regexp_replace(column, r"^j(-?[0-9]+)\.0$", "j$1")
    return f.when(column == "jtrue", "j1").when(column == "jfalse", "j0").otherwise(whole)


def _expression(text: str) -> Any:
    """A condition as a Spark expression, where it compares a variable with a constant string."""
    from pyspark.sql import functions as f

    match ast.parse(text, mode="eval").body:
        case ast.Compare(
            left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=str(value))]
        ):
            return f.col(f"`{name}`") == f.lit("s" + value)
    return None
