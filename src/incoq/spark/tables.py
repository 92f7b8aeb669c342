"""Relation tables as they are: read from a directory, encoded, sorted and written as the base.

    field_loc.parquet (o, x)    member.parquet (s, x)    item.parquet (m, k, v)
    demand_nyc_fans.parquet (its demand parameters)    FOLLOWS.parquet (what its tuples hold)

Each may be Parquet, CSV (with a header) or JSON lines, a file or a directory. Columns that are called
as above, or as the parameters, are taken by name, others by their place. A row that makes no sense is left
out, and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial, reduce
from operator import and_
from pathlib import Path
from typing import Any

from incoq.spark.deployment import Deployment
from incoq.spark.hosting import DEMAND, ITEM, MEMBER
from incoq.spark.mapping import Mapping, mapped_frames
from incoq.spark.parts import TRIPLES, Part, PartWriter
from incoq.spark.session import described
from incoq.spark.store import StoreError
from incoq.spark.values import NotAValue, as_text, given_key, given_text, is_unicode

SUFFIXES = (".parquet", ".csv", ".json", ".jsonl")
_ROWS_PER_FILE = 1_000_000
_SMALL = 8 * 1024 * 1024  # bytes: not worth a sample to divide it by
SCHEMA = "rel string, o string, k string, x string"
_Row = tuple[str, str, str, str | None]


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


def read_table(spark: Any, path: Path, mapped: bool = False) -> Any:
    """A table as a DataFrame; lines of JSON as they are, so that each value keeps its type."""
    from pyspark.errors import PySparkException

    place = str(path.absolute())
    try:
        match path.suffix:
            case ".parquet":
                return spark.read.parquet(place)
            case ".csv":
                return _typed(_read_csv(spark, place))
        return spark.read.json(place) if mapped else spark.read.text(place).withColumnRenamed("value", _LINE)
    except PySparkException as error:
        raise StoreError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


def _read_csv(spark: Any, place: str) -> Any:
    """A CSV of texts, which may go over several lines; rows of another width than the header say so."""
    options = {"header": True, "multiLine": True, "escape": '"'}
    frame = spark.read.csv(place, **options)
    if not frame.columns:
        return frame
    schema = ", ".join(f"{_quoted(name)} string" for name in (*frame.columns, _WIDTH))
    return spark.read.csv(place, schema, columnNameOfCorruptRecord=_WIDTH, **options)


_LINE = "_incoq_line"
_WIDTH = "_incoq_width"  # the text of a row that has another width than the header, else null
_WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_LONG = r"^-?(0|[1-9][0-9]{0,37})$"
_POINT = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_TRUTH = "^(?i)(true|false)$"


def _typed(frame: Any) -> Any:
    """A CSV of texts, with numbers where a column holds nothing else: 01234 is none, nor is a date."""
    from pyspark.sql import functions as f

    types = {_WHOLE: "bigint", _LONG: "decimal(38,0)", _POINT: "double", _TRUTH: "boolean"}
    names = [name for name in frame.columns if name != _WIDTH]
    if not names:
        return frame
    columns = [f.col(_quoted(name)) for name in names]
    fitting = [f.min(f.when(f.isnull(_WIDTH), c.rlike(pattern))) for c in columns for pattern in types]
    found = frame.agg(*(fit.alias(f"_{n}") for n, fit in enumerate(fitting))).first()
    chosen = []
    for number, column in enumerate(columns):
        fits = found[number * len(types) : (number + 1) * len(types)]
        type_ = next((t for t, fit in zip(types.values(), fits, strict=True) if fit), "string")
        chosen.append(column.cast(type_).alias(names[number]))
    whole = f.length(f.concat_ws("", *columns)) >= 0  # Spark tells no width where it reads no column
    return frame.select(*chosen, f.when(whole, f.col(_WIDTH)).alias(_WIDTH))


def _of_one_width(frame: Any, name: str) -> tuple[Any, Any]:
    """A table without the rows of another width than its header, and these as rows that are none."""
    from pyspark.sql import functions as f

    if _WIDTH not in frame.columns:
        return frame, None
    wrong = f.col(_WIDTH).isNotNull()
    columns = [f.lit(name).alias("rel"), *(f.lit(None).cast("string").alias(c) for c in "okx")]
    told = frame.where(wrong).select(*columns, f.lit(" have another width than the header").alias("fault"))
    return frame.where(~wrong).drop(_WIDTH), told


def encode(frame: Any, relation: str, deployment: Deployment) -> Any:
    """A relation's DataFrame as rows (rel, o, k, x) of the base; `fault` says what is wrong with a row."""
    from pyspark.sql import functions as f

    names = _names(relation, deployment)
    if frame.columns == [_LINE]:
        return _by_python(frame, relation, _row_of_line(relation, names or _names_of_lines(frame)))
    columns = frame.columns
    if names == ():
        return _by_python(frame, relation, lambda values: _row(relation, []))
    if names is not None:
        if set(names) <= set(columns) and (relation.startswith(DEMAND) or len(names) == len(columns)):
            columns = list(names)
        _check_width(relation, columns, len(names))
    types = {c: frame.schema[c].dataType.simpleString() for c in columns}
    for column, type_ in types.items():
        if type_.startswith(_NO_VALUES):
            raise StoreError(f"{relation}: column {column} is {type_}, which is no value: cast it to string")
    if relation.startswith(DEMAND) or relation in deployment.globals:
        return _by_python(frame.select(*map(_quoted, columns)), relation)
    owner = types[columns[0]]
    if owner not in ("string", "void") and _holds_nothing(frame, columns[0]):
        owner = "void"
    if owner not in ("string", "void"):
        raise StoreError(
            f"{relation}: column {columns[0]} is {owner}; ids are strings (a mapping makes them of numbers)"
        )
    values = [types[c] for c in columns[1:]]
    if owner == "void" or not all(v in _TEXTS for v in values):
        return _by_python(frame.select(*map(_quoted, columns)), relation)
    given = [f.col(_quoted(c)) for c in columns]
    first, last = (_text(c, t) for c, t in zip((given[1], given[-1]), (values[0], values[-1]), strict=True))
    if relation == MEMBER:
        key, value = _key(given[1], values[0]), f.when(_key(given[1], values[0]) != first, first)
    elif relation == ITEM:
        key, value = _key(given[1], values[0]), last
    else:
        key, value = f.lit(""), last
    return frame.select(
        f.lit(relation).alias("rel"), given[0].alias("o"), key.alias("k"), value.alias("x"),
        f.when(given[0].isNull(), f.lit(_OWNERLESS)).when(~_are_unicode(given, types), f.lit(_NO_TEXT))
        .alias("fault"),
    )  # fmt: skip


def _are_unicode(columns: list[Any], types: dict[str, str]) -> Any:
    """Are the bytes of all texts UTF-8? Spark takes them as they are."""
    from pyspark.sql import functions as f

    texts = (
        f.is_valid_utf8(c) for c, type_ in zip(columns, types.values(), strict=True) if type_ == "string"
    )
    return reduce(and_, (f.coalesce(text, f.lit(True)) for text in texts), f.lit(True))


_TEXTS = ("string", "boolean", "tinyint", "smallint", "int", "bigint")
_NO_VALUES = ("binary", "interval", "map", "variant")
_OWNERLESS = " have no owner"
_NO_TEXT = " hold a text that is not Unicode"


def _holds_nothing(frame: Any, column: str) -> bool:
    """Is a column empty? Then it has no type in Parquet, and some other to Spark."""
    from pyspark.sql import functions as f

    return bool(frame.where(f.col(_quoted(column)).isNotNull()).isEmpty())


def _names(relation: str, deployment: Deployment) -> tuple[str, ...] | None:
    """The columns of a relation; those of a global one are called as one likes."""
    if relation.startswith(DEMAND):
        return deployment.query(relation.removeprefix(DEMAND)).demand
    if relation in deployment.globals:
        return None
    return {MEMBER: ("s", "x"), ITEM: ("m", "k", "v")}.get(relation, ("o", "x"))


def _names_of_lines(frame: Any) -> tuple[str, ...]:
    """The names in the first line of JSON that is a row, in their order."""
    for row in frame.limit(1000).toLocalIterator():
        try:
            found = json.loads(row[0])
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return tuple(found)
    return ()


def _row_of_line(relation: str, names: tuple[str, ...]) -> Callable[[list[Any]], _Row | None]:
    """Makes a row of a line of JSON; nothing of a blank one."""

    def row(values: list[Any]) -> _Row | None:
        if values[0] is None or not values[0].strip():
            return None
        try:
            found = json.loads(values[0])
        except (ValueError, RecursionError):
            raise NotAValue(" are not a line of JSON") from None
        if not is_unicode(values[0], found):
            raise NotAValue(_NO_TEXT)
        if not isinstance(found, dict) or not found.keys() <= set(names):
            raise NotAValue(f" do not only have the columns {', '.join(names)}")
        return _row(relation, [found.get(name) for name in names])

    return row


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


def _by_python(frame: Any, relation: str, make: Callable[[list[Any]], _Row | None] | None = None) -> Any:
    """Encode what has no simple type: numbers with a point, arrays, structs, lines of JSON."""
    encode_row = make or partial(_row, relation)

    def batches(tables: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in tables:
            found: list[tuple[str | None, ...]] = []
            for values in zip(*batch.columns, strict=True):
                try:
                    row = encode_row([_plain(v.as_py()) for v in values])
                except UnicodeDecodeError:
                    found.append((relation, None, None, None, _NO_TEXT))
                except NotAValue as fault:
                    told = str(fault) if str(fault).startswith(" ") else f": {fault}"
                    found.append((relation, None, None, None, told))
                else:
                    found += [(*row, None)] if row is not None else []
            columns = [pa.array([row[i] for row in found], pa.string()) for i in range(5)]
            yield pa.RecordBatch.from_arrays(columns, names=["rel", "o", "k", "x", "fault"])

    return frame.mapInArrow(batches, f"{SCHEMA}, fault string")


def _row(relation: str, values: list[Any]) -> _Row:
    if relation.startswith(DEMAND):
        if None in values:
            raise NotAValue(" have a parameter that is null")
        key, text = given_key(values)[1:], as_text(values)[1:]
        return relation, key, "", text if text != key else None
    if not (relation.startswith("field_") or relation in (MEMBER, ITEM)):
        values, relation = [relation, values if len(values) > 1 else values[0]], MEMBER
    if values[0] is None:
        raise NotAValue(_OWNERLESS)
    if not isinstance(values[0], str):
        raise NotAValue(" have an owner that is no string")
    if relation == MEMBER:
        key, text = given_key(values[1]), as_text(values[1])
        return MEMBER, values[0], key, text if text != key else None
    if relation == ITEM:
        return ITEM, values[0], given_key(values[1]), given_text(values[2])
    return relation, values[0], "", given_text(values[1])


def _plain(value: Any) -> Any:
    """A value of Arrow as JSON has it: a struct is the tuple of its fields, a decimal a number."""
    if isinstance(value, dict):
        return [_plain(v) for v in value.values()]
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Decimal):
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    return str(value)


def write_tables(
    spark: Any, folder: Path, deployment: Deployment, mapping: Mapping | None, place: Path
) -> tuple[list[Part], dict[str, int]]:
    """Write the tables of a directory as a base, as `write_frames` does."""
    tables = find_tables(folder, deployment, mapping)
    frames = {name: read_table(spark, path, mapping is not None) for name, path in tables.items()}
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

    Gives the parts of the base, and how many rows were left out, by the reason.
    """
    rows = spark.createDataFrame([], f"{SCHEMA}, fault string")
    tables = {}
    for name, frame in frames.items():
        tables[name], wrong = _of_one_width(frame, name)
        rows = rows if wrong is None else rows.unionByName(wrong)
    for relation, frame in mapped_frames(mapping, tables) if mapping else tables.items():
        rows = rows.unionByName(encode(frame, relation, deployment))
    with described(spark, "incoq bootstrap: look for rows that are none"):
        faulty = rows.where("fault is not null").groupBy("rel", "fault").count().collect()
    with described(spark, "incoq bootstrap: write the base"):
        parts, contradicted = write_base(rows.where("fault is null").drop("fault"), place, small)
    reasons = {f"{row['count']} rows of {row['rel']}{row['fault']}": row["count"] for row in faulty}
    for relation, count in contradicted.items():
        reasons[f"{count} rows of {relation} say something else than another of the same key"] = count
    return parts, reasons


def _size(path: Path) -> int:
    return sum(map(_size, path.iterdir())) if path.is_dir() else path.stat().st_size


def write_base(rows: Any, place: Path, small: bool = False) -> tuple[list[Part], dict[str, int]]:
    """Sort rows by relation and owner, and write them so that look-ups read little, each key once.

    Gives the parts, and of which relation how many rows had another value than one of the same key.
    """
    if small:
        spread = rows.coalesce(1)
    else:
        wanted = max(rows.sparkSession.sparkContext.defaultParallelism, 1 + rows.count() // _ROWS_PER_FILE)
        spread = rows.repartitionByRange(wanted, "rel", "o")
    ordered = spread.sortWithinPartitions("rel", "o", "k", "x")
    written = ordered.mapInArrow(_writer(str(place)), "part string, contradicted long").collect()
    place.mkdir(exist_ok=True)
    parts = [Part.from_json(json.loads(row["part"])) for row in written]
    contradicted: Counter[str] = Counter()
    for row, part in zip(written, parts, strict=True):
        contradicted[part.relation] += row["contradicted"]
    return parts, {relation: count for relation, count in contradicted.items() if count}


def _writer(place: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Writes sorted rows, one part for each relation, and tells the parts."""

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        writers: dict[str, PartWriter] = {}
        contradicted: Counter[str] = Counter()
        waiting: tuple[str, Any] | None = None  # the next row may have the key of its last one

        def put(relation: str, rows: Any) -> None:
            if relation not in writers:
                writers[relation] = PartWriter(Path(place), relation)
            writers[relation].write(rows)

        for batch in batches:
            for relation in pc.unique(batch.column("rel")).to_pylist():
                of_it = batch.filter(pc.equal(batch.column("rel"), relation))
                rows = pa.table([of_it.column(c).cast(pa.string()) for c in TRIPLES.names], schema=TRIPLES)
                rows, others = _last_of_each_key(rows)
                if waiting is not None:
                    before = waiting[1]
                    last = before.slice(len(before) - 1)
                    if waiting[0] == relation:
                        seam, more = _last_of_each_key(pa.concat_tables([last, rows.slice(0, 1)]))
                        before = before.slice(0, len(before) - (len(seam) == 1))
                        others += more
                    put(waiting[0], before)
                waiting = relation, rows
                contradicted[relation] += others
        if waiting is not None:
            put(*waiting)
        told = [json.dumps(writer.close().to_json()) for writer in writers.values()]
        counts = [contradicted[relation] for relation in writers]
        columns = [pa.array(told, pa.string()), pa.array(counts, pa.int64())]
        yield pa.RecordBatch.from_arrays(columns, names=["part", "contradicted"])

    return write


def _last_of_each_key(rows: Any) -> tuple[Any, int]:
    """Sorted rows with the last of each key, and how many others said something else."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(rows) < 2:
        return rows, 0
    here, there = rows.slice(0, len(rows) - 1), rows.slice(1)
    again = pc.and_(pc.equal(here["o"], there["o"]), pc.equal(here["k"], there["k"]))
    if not pc.any(again).as_py():
        return rows, 0
    told = [column.combine_chunks().fill_null("") for column in (here["x"], there["x"])]
    other = pc.and_(again, pc.not_equal(*told))
    kept = pa.concat_arrays([pc.invert(again).combine_chunks(), pa.array([True])])
    return rows.filter(kept), pc.sum(other).as_py() or 0
