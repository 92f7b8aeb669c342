"""The base relations of a store as DataFrames, as of some batch: columns o, k and x, with the log laid over.

Where few owners are wanted, tasks look them up by the index of the base, so that what is read does not grow
with it; where many are, the relation is scanned and the log is joined to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incoq.spark.hosting import DEMAND, ITEM, MEMBER
from incoq.spark.lookup import Lookup, log_of
from incoq.spark.parts import TRIPLES, OpenPart, Part, check_part
from incoq.spark.session import runner
from incoq.spark.store import Manifest, Store
from incoq.spark.values import as_text, from_text, shown

SCHEMA = "o string, k string, x string"
LOOKED_UP = 50_000  # owners; more of them are found by a scan


class Relations:
    """What a manifest names, for DataFrames."""

    def __init__(self, spark: Any, store: Store, manifest: Manifest) -> None:
        self.spark, self.store, self.manifest = spark, store, manifest
        self.lookup = Lookup(store.path, manifest.base, manifest.log)
        self.compared: set[str] = set()  # relations whose files are as they were written

    def demand(self, query: str) -> list[str]:
        """The demanded combinations of a query as they were given: JSON of lists."""
        return [spelled for _, _, spelled in self.lookup.demand([query])]

    def has(self, relation: str) -> bool:
        """May the relation hold anything?"""
        return bool(self._parts(relation)) or any(_has(*file, relation) for file in self.lookup.log)

    def may_hold_tuples(self, relation: str, column: str) -> bool:
        """May a column of a relation hold a tuple? False is certain."""
        return any(_tuples_in_part(self._base, part, column) for part in self._parts(relation)) or any(
            _tuples_in_log(*file, relation, column) for file in self.lookup.log
        )

    def rows(self, relation: str, owners: Sequence[str] | None = None) -> Any:
        """A relation, or what it says of some owners."""
        if owners is None:
            return self._scanned(relation)
        slices = max(1, min(self.spark.sparkContext.defaultParallelism, len(owners)))
        place, base, log = self.store.path, self.manifest.base, self.manifest.log
        wanted = sorted(owners)
        size = -(-len(wanted) // slices)

        def look_up(tables: Iterator[Any]) -> Iterator[Any]:
            for table in tables:
                for number in table.column(0).to_pylist():
                    found = Lookup(place, base, log).table(
                        relation, wanted[number * size : (number + 1) * size]
                    )
                    yield from found.to_batches()

        return self.spark.range(0, slices, 1, slices).mapInArrow(look_up, SCHEMA)

    def members(self, owners: Sequence[str] | None = None) -> Any:
        """Elements of sets and keys of dicts: o and the text x; what only says that o is a set has no x."""
        from pyspark.sql import functions as f

        rows = self.rows(MEMBER, owners)
        text = f.when(f.col("k") != "", f.coalesce("x", "k"))
        found = rows.select("o", "k", text.alias("x"))
        if self.has(ITEM):
            keys = self.rows(ITEM, owners).select("o", "k", f.when(f.col("k") != "", f.col("k")).alias("x"))
            found = found.unionByName(keys).groupBy("o", "k").agg(f.min("x").alias("x"))
        return found

    @property
    def _base(self) -> Path:
        return self.store.path / self.manifest.base.path

    def _parts(self, relation: str) -> list[Part]:
        return self.lookup.base.by_relation.get(relation, [])

    def _compared(self, relation: str) -> list[str]:
        """The files of a relation; Spark does not look whether they are damaged, so tasks do before."""
        parts = self._parts(relation)
        if relation not in self.compared:
            tasks = [(str(self._base), part) for part in parts]
            runner(self.spark)(f"incoq: compare the files of {relation} with their seals", check_part, tasks)
            self.compared.add(relation)
        return [str(self._base / part.name) for part in parts]

    def _scanned(self, relation: str) -> Any:
        from pyspark.sql import functions as f

        files = self._compared(relation)
        frame = (
            self.spark.read.schema(SCHEMA).parquet(*files)
            if files
            else self.spark.createDataFrame([], SCHEMA)
        )
        changes = _last_rows(self.lookup.log, relation)
        if changes is not None:
            log = self.spark.createDataFrame(changes)
            gone = f.broadcast(log.select("o", "k"))
            frame = frame.join(gone, ["o", "k"], "left_anti").unionByName(log.where("p").drop("p"))
        return frame


def demand_texts(params: str) -> list[str]:
    """The values of a demanded combination as texts."""
    return [as_text(shown(value)) for value in from_text("j" + params)]


def _last_rows(log: Sequence[tuple[Path, str]], relation: str) -> Any:
    """What the log leaves behind of a relation, as an Arrow table (o, k, x, p); None: nothing."""
    found: dict[tuple[str, str], tuple[str | None, bool]] = {}
    for file in log:
        if _has(*file, relation):
            table = log_of(*file)
            table = table.filter(pc.equal(table["rel"], relation))
            for o, k, x, p in zip(*(table[c].to_pylist() for c in ("o", "k", "x", "p")), strict=True):
                found[o, k] = (x, p)
    if not found:
        return None
    columns = [[o for o, _ in found], [k for _, k in found], *map(list, zip(*found.values(), strict=True))]
    schema = pa.schema([*TRIPLES, ("p", pa.bool_())])
    return pa.table(columns, schema=schema)


@lru_cache(maxsize=4096)
def _has(path: Path, seal: str, relation: str) -> bool:
    return bool(pc.any(pc.equal(log_of(path, seal)["rel"], relation)).as_py())


@lru_cache(maxsize=4096)
def _tuples_in_log(path: Path, seal: str, relation: str, column: str) -> bool:
    table = log_of(path, seal)
    of_it = table.filter(pc.equal(table["rel"], relation))
    return bool(pc.any(pc.starts_with(of_it[column], "j[")).as_py())


@lru_cache(maxsize=4096)
def _tuples_in_part(base: Path, part: Part, column: str) -> bool:
    """By the bounds of its row groups: a text of a tuple begins with `j[`."""
    metadata = OpenPart(base, part).metadata
    names = [metadata.schema.column(n).name for n in range(metadata.num_columns)]
    for group in range(metadata.num_row_groups):
        bounds = metadata.row_group(group).column(names.index(column)).statistics
        if bounds is None or not bounds.has_min_max:
            if bounds is None or bounds.null_count != metadata.row_group(group).num_rows:
                return True
            continue
        if bounds.min < "j\\" and bounds.max >= "j[":
            return True
    return False


__all__ = ["DEMAND", "LOOKED_UP", "Relations", "demand_texts"]
