"""Relation tables as they are: read from a directory, encoded, sorted and written as the base.

    field_loc.parquet (o, x)    member.parquet (s, x)    item.parquet (m, k, v)
    demand_nyc_fans.parquet (its demand parameters)    FOLLOWS.parquet (what its tuples hold)

Each may be Parquet, CSV (with a header) or JSON lines, a file or a directory. Columns are taken by their
place, but those of a demand table by name where they have the names of the parameters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from incoq.spark.deployment import Deployment
from incoq.spark.hosting import DEMAND, ITEM, MEMBER
from incoq.spark.mapping import Mapping, mapped_frames
from incoq.spark.parts import TRIPLES, Part, PartWriter
from incoq.spark.session import described
from incoq.spark.store import StoreError
from incoq.spark.values import as_key, as_text

SUFFIXES = (".parquet", ".csv", ".json", ".jsonl")
_ROWS_PER_FILE = 1_000_000
_SMALL = 8 * 1024 * 1024  # bytes: not worth a sample to divide it by
SCHEMA = "rel string, o string, k string, x string"


def find_tables(folder: Path, deployment: Deployment, mapping: Mapping | None = None) -> dict[str, Path]:
    """The tables of a directory by the relation, or the mapped table, that each is."""
    if not folder.is_dir():
        raise StoreError(f"{folder} is not a directory")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")) or path.suffix not in SUFFIXES:
            continue
        if path.stem in found:
            raise StoreError(f"{path.stem} is there twice: {found[path.stem].name} and {path.name}")
        found[path.stem] = path
    if mapping is not None:
        missing = sorted(mapping.columns().keys() - found.keys())
        if missing:
            raise StoreError(
                f"{folder}: there is no table {missing[0]}; there is {', '.join(found) or 'none'}"
            )
        return {name: path for name, path in found.items() if name in mapping.columns()}
    known = known_relations(deployment)
    for name, path in found.items():
        if name not in known:
            raise StoreError(
                f"{path}: no relation of the program is called {name}; it has {', '.join(known)}"
            )
    return found


def known_relations(deployment: Deployment) -> list[str]:
    """Every relation that the program has."""
    fields = [f"field_{f}" for f in (*deployment.fields, *deployment.other_fields)]
    return [*fields, MEMBER, ITEM, *deployment.globals, *(DEMAND + q.name for q in deployment.queries)]


def read_table(spark: Any, path: Path) -> Any:
    """A table as a DataFrame."""
    place = str(path.absolute())
    match path.suffix:
        case ".parquet":
            return spark.read.parquet(place)
        case ".csv":
            return spark.read.csv(place, header=True, inferSchema=True)
    return spark.read.json(place)


def encode(frame: Any, relation: str, deployment: Deployment) -> Any:
    """A relation's DataFrame as rows (rel, o, k, x) of the base."""
    from pyspark.sql import functions as f

    columns = frame.columns
    if relation.startswith(DEMAND):
        names = deployment.query(relation.removeprefix(DEMAND)).demand
        if set(names) <= set(columns):
            columns = list(names)
        _check_width(relation, columns, len(names))
        return _by_python(frame.select(*map(_quoted, columns)), relation)
    if relation in deployment.globals:
        return _by_python(frame, relation)
    _check_width(relation, columns, 3 if relation == ITEM else 2)
    owner = frame.schema[columns[0]].dataType.simpleString()
    if owner != "string":
        raise StoreError(
            f"{relation}: column {columns[0]} is {owner}; ids are strings (a mapping makes them of numbers)"
        )
    values = [frame.schema[c].dataType.simpleString() for c in columns[1:]]
    if not all(v in _TEXTS for v in values):
        return _by_python(frame, relation)
    given = [f.col(_quoted(c)) for c in columns]
    first, last = (_text(c, t) for c, t in zip((given[1], given[-1]), (values[0], values[-1]), strict=True))
    if relation == MEMBER:
        key, value = _key(given[1], values[0]), f.when(_key(given[1], values[0]) != first, first)
    elif relation == ITEM:
        key, value = _key(given[1], values[0]), last
    else:
        key, value = f.lit(""), last
    encoded = frame.select(
        f.lit(MEMBER if relation in deployment.globals else relation).alias("rel"),
        given[0].alias("o"), key.alias("k"), value.alias("x"),
    )  # fmt: skip
    return encoded.where(f.col("o").isNotNull())


_TEXTS = ("string", "boolean", "tinyint", "smallint", "int", "bigint")


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


def _text(column: Any, type_: str) -> Any:
    from pyspark.sql import functions as f

    prefix = "s" if type_ == "string" else "j"
    return f.coalesce(f.concat(f.lit(prefix), column.cast("string")), f.lit("jnull"))


def _key(column: Any, type_: str) -> Any:

    return _text(column.cast("int") if type_ == "boolean" else column, "int" if type_ == "boolean" else type_)


def _check_width(relation: str, columns: list[str], wanted: int) -> None:
    if len(columns) != wanted:
        raise StoreError(
            f"{relation}: {wanted} columns are needed, not {len(columns)} ({', '.join(columns)})"
        )


def _by_python(frame: Any, relation: str) -> Any:
    """Encode what has no simple type: numbers with a point, arrays, structs."""

    def batches(tables: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        schema = pa.schema([(c, pa.string()) for c in ("rel", "o", "k", "x")])
        for batch in tables:
            rows = [
                _row(relation, [_plain(v.as_py()) for v in row]) for row in zip(*batch.columns, strict=True)
            ]
            found = [row for row in rows if row is not None]
            yield pa.RecordBatch.from_arrays(
                [pa.array([row[i] for row in found], pa.string()) for i in range(4)], schema=schema
            )

    return frame.mapInArrow(batches, SCHEMA)


def _row(relation: str, values: list[Any]) -> tuple[str, str, str, str | None] | None:
    if relation.startswith(DEMAND):
        return relation, as_key(values)[1:], "", None
    if not (relation.startswith("field_") or relation in (MEMBER, ITEM)):
        values, relation = [relation, values if len(values) > 1 else values[0]], MEMBER
    if values[0] is None:
        return None
    if relation == MEMBER:
        key, text = as_key(values[1]), as_text(values[1])
        return MEMBER, values[0], key, text if text != key else None
    if relation == ITEM:
        return ITEM, values[0], as_key(values[1]), as_text(values[2])
    return relation, values[0], "", as_text(values[1])


def _plain(value: Any) -> Any:
    """A value of Arrow as JSON has it: a struct is the tuple of its fields."""
    if isinstance(value, dict):
        return [_plain(v) for v in value.values()]
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, str | int | float):
        return value
    try:
        json.dumps(value)
    except TypeError:
        return str(value)
    return value


def write_tables(
    spark: Any, folder: Path, deployment: Deployment, mapping: Mapping | None, place: Path
) -> tuple[list[Part], dict[str, int]]:
    """Write the tables of a directory as a base, as `write_frames` does."""
    tables = find_tables(folder, deployment, mapping)
    frames = {name: read_table(spark, path) for name, path in tables.items()}
    return write_frames(
        spark, frames, deployment, mapping, place, small=sum(map(_size, tables.values())) < _SMALL
    )


def write_frames(
    spark: Any,
    frames: dict[str, Any],
    deployment: Deployment,
    mapping: Mapping | None,
    place: Path,
    small: bool = False,
) -> tuple[list[Part], dict[str, int]]:
    """Write DataFrames as a base: relations by their names, or mapped tables by theirs.

    Gives the parts of the base, and how many rows of which relation were left out, having no owner.
    """
    from pyspark.sql import functions as f

    relations = mapped_frames(mapping, frames) if mapping else frames.items()
    rows = spark.createDataFrame([], SCHEMA)
    owners = spark.createDataFrame([], "rel string, owner string")
    for relation, frame in relations:
        rows = rows.unionByName(encode(frame, relation, deployment))
        if not relation.startswith(DEMAND) and relation not in deployment.globals:
            first = frame.toDF(*(f"_{n}" for n in range(len(frame.columns))))  # names may hold dots
            owners = owners.union(first.select(f.lit(relation), "_0"))
    with described(spark, "incoq bootstrap: look for rows without an owner"):
        missing = owners.where("owner is null").groupBy("rel").count().collect()
    with described(spark, "incoq bootstrap: write the base"):
        parts = write_base(rows, place, small)
    return parts, {row["rel"]: row["count"] for row in missing}


def _size(path: Path) -> int:
    return sum(map(_size, path.iterdir())) if path.is_dir() else path.stat().st_size


def write_base(rows: Any, place: Path, small: bool = False) -> list[Part]:
    """Sort rows by relation and owner, and write them so that look-ups read little."""
    if small:
        spread = rows.coalesce(1)
    else:
        wanted = max(rows.sparkSession.sparkContext.defaultParallelism, 1 + rows.count() // _ROWS_PER_FILE)
        spread = rows.repartitionByRange(wanted, "rel", "o")
    ordered = spread.sortWithinPartitions("rel", "o", "k")
    written = ordered.mapInArrow(_writer(str(place)), "part string").collect()
    place.mkdir(exist_ok=True)
    return [Part.from_json(json.loads(row["part"])) for row in written]


def _writer(place: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Writes sorted rows, one part for each relation, and tells the parts."""

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        writers: dict[str, PartWriter] = {}
        for batch in batches:
            for relation in pc.unique(batch.column("rel")).to_pylist():
                of_it = batch.filter(pc.equal(batch.column("rel"), relation))
                rows = pa.table([of_it.column(c).cast(pa.string()) for c in TRIPLES.names], schema=TRIPLES)
                if relation not in writers:
                    writers[relation] = PartWriter(Path(place), relation)
                writers[relation].write(rows)
        told = [json.dumps(writer.close().to_json()) for writer in writers.values()]
        yield pa.RecordBatch.from_arrays([pa.array(told, pa.string())], names=["part"])

    return write
