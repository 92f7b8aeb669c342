"""How classes map to tables, declared once in TOML or JSON, and what a row of a table is in relations.

    [classes.User]
    table = "users"
    id = "user_id"
    prefix = "u"                                  # ids of this class begin with it; default: nothing
    fields = { loc = "city", boss = { column = "boss_id", class = "User" } }
    sets = { followers = { table = "follows", owner = "celeb", member = "fan", class = "User" } }

    [classes.Group]                               # an object that is itself a set: `u in group`
    table = "groups"
    id = "id"
    members = { column = "user_ids", class = "User" }      # an array column; or a junction table as above

    [relations.LIKES]                             # a global relation
    table = "likes"
    columns = [{ column = "who", class = "User" }, "what"]

    [demand.nyc_fans]
    table = "watched"
    columns = [{ column = "celeb", class = "User" }, { column = "grp", class = "Group" }]

Before:    users: user_id 7, city "NYC", boss_id 3
After:     field_loc(u7, "NYC"), field_boss(u7, u3), field_followers(u7, u7.followers)
A set of an object has the id of the object, a point and the field's name. NULL is None; of a reference too.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incoq.spark.deployment import Deployment
from incoq.spark.events import Fault, demand_row
from incoq.spark.hosting import DEMAND, MEMBER, Row
from incoq.spark.store import StoreError
from incoq.spark.values import NotAValue, as_text, given_key, given_text


@dataclass(frozen=True)
class Column:
    """A column; with a class it holds ids of that class."""

    name: str
    prefix: str | None = None  # of the class that it refers to; None: a plain value

    def value(self, row: dict[str, Any]) -> Any:
        found = row.get(self.name)
        if self.prefix is None or found is None:
            return found
        if isinstance(found, bool):
            found = str(found).lower()  # as in a table
        elif not isinstance(found, str | int | float):
            raise Fault(f"`{self.name}` is no id: {found!r:.40}")
        return f"{self.prefix}{found}"


@dataclass(frozen=True)
class SetOf:
    """Where the elements of a set are: in an array column of the owner's row, or in a junction table."""

    field: str  # empty: the object itself is the set
    member: Column
    table: str = ""  # of the junction
    owner: Column | None = None

    def id(self, owner: str) -> str:
        return f"{owner}.{self.field}" if self.field else owner


@dataclass(frozen=True)
class ClassTable:
    """A class and its table."""

    name: str
    table: str
    id: Column
    fields: tuple[tuple[str, Column], ...]
    sets: tuple[SetOf, ...]


@dataclass(frozen=True)
class TupleTable:
    """A table whose rows are tuples: a global relation, or the demand of a query."""

    relation: str
    table: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Mapping:
    """All tables of a program."""

    classes: tuple[ClassTable, ...]
    tuples: tuple[TupleTable, ...]
    source: dict[str, Any]

    def columns(self) -> dict[str, set[str]]:
        """Every table with the columns that are read of it."""
        found: dict[str, set[str]] = {}
        for c in self.classes:
            own = found.setdefault(c.table, set())
            own |= {c.id.name, *(column.name for _, column in c.fields)}
            for s in c.sets:
                if s.owner is None:
                    own.add(s.member.name)
                else:
                    found.setdefault(s.table, set()).update((s.owner.name, s.member.name))
        for t in self.tuples:
            found.setdefault(t.table, set()).update(c.name for c in t.columns)
        return found


def read_mapping(path: Path, deployment: Deployment) -> Mapping:
    """A mapping file, checked against the program."""
    try:
        text = path.read_text()
        source = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise StoreError(f"{path}: {error}") from None
    try:
        mapping = make_mapping(source)
        check_mapping(mapping, deployment)
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from None
    return mapping


def make_mapping(source: dict[str, Any]) -> Mapping:
    """A mapping of its declaration."""
    _known(source, "the mapping", "classes", "relations", "demand")
    declared = source.get("classes", {})
    prefixes = {name: str(c.get("prefix", "")) for name, c in declared.items() if isinstance(c, dict)}

    def column(given: Any, where: str) -> Column:
        if isinstance(given, str):
            return Column(given)
        if not isinstance(given, dict) or not isinstance(given.get("column"), str):
            raise StoreError(f"{where}: a column is a name, or {{ column = ..., class = ... }}")
        _known(given, where, "column", "class")
        return Column(given["column"], _prefix(prefixes, given.get("class"), where))

    def set_of(field: str, given: dict[str, Any], where: str, owner: str) -> SetOf:
        _known(given, where, "column", "table", "owner", "member", "class")
        prefix = _prefix(prefixes, given.get("class"), where)
        if "column" in given:
            return SetOf(field, Column(str(given["column"]), prefix))
        missing = [k for k in ("table", "owner", "member") if k not in given]
        if missing:
            raise StoreError(
                f"{where}: a set has `column`, or `table`, `owner` and `member`; no {missing[0]}"
            )
        return SetOf(
            field, Column(str(given["member"]), prefix), given["table"], Column(given["owner"], owner)
        )

    classes = []
    for name, given in declared.items():
        where = f"classes.{name}"
        _known(given, where, "table", "id", "prefix", "fields", "sets", "members")
        for key in ("table", "id"):
            if not isinstance(given.get(key), str):
                raise StoreError(f"{where}: no `{key}`")
        fields = tuple((f, column(c, f"{where}.fields.{f}")) for f, c in given.get("fields", {}).items())
        sets = [set_of(f, s, f"{where}.sets.{f}", prefixes[name]) for f, s in given.get("sets", {}).items()]
        if "members" in given:
            sets.append(set_of("", given["members"], f"{where}.members", prefixes[name]))
        classes.append(
            ClassTable(name, given["table"], Column(given["id"], prefixes[name]), fields, tuple(sets))
        )
    tuples = []
    for kind in ("relations", "demand"):
        for name, given in source.get(kind, {}).items():
            where = f"{kind}.{name}"
            _known(given, where, "table", "columns")
            if "table" not in given or not given.get("columns"):
                raise StoreError(f"{where}: `table` and `columns` are needed")
            columns = tuple(column(c, f"{where}.columns") for c in given["columns"])
            tuples.append(TupleTable(DEMAND + name if kind == "demand" else name, given["table"], columns))
    return Mapping(tuple(classes), tuple(tuples), source)


def _known(given: Any, where: str, *keys: str) -> None:
    if not isinstance(given, dict):
        raise StoreError(f"{where}: a table is needed, with {', '.join(keys)}")
    for key in given:
        if key not in keys:
            raise StoreError(f"{where}: `{key}` is not known; there is {', '.join(keys)}")


def _prefix(prefixes: dict[str, str], name: Any, where: str) -> str | None:
    if name is None:
        return None
    if name not in prefixes:
        raise StoreError(f"{where}: no class {name} is mapped; there is {', '.join(prefixes) or 'none'}")
    return prefixes[name]


def check_mapping(mapping: Mapping, deployment: Deployment) -> None:
    """Every field that a query reads has a column; what is mapped is something that the program has."""
    known = {*deployment.fields, *deployment.other_fields}
    mapped: set[str] = set()
    for c in mapping.classes:
        for field in (*(f for f, _ in c.fields), *(s.field for s in c.sets if s.field)):
            mapped.add(field)
            if field not in known:
                raise StoreError(
                    f"classes.{c.name}: the program has no field {field}; it has {', '.join(sorted(known))}"
                )
    missing = sorted(set(deployment.fields) - mapped)
    if missing:
        raise StoreError(f"the queries read {', '.join(missing)}, which no class maps")
    arity = {DEMAND + q.name: len(q.demand) for q in deployment.queries}
    for t in mapping.tuples:
        if t.relation in arity and len(t.columns) != arity[t.relation]:
            raise StoreError(
                f"demand.{t.relation.removeprefix(DEMAND)}: {arity[t.relation]} columns are needed, "
                f"not {len(t.columns)}"
            )
        if t.relation not in arity and t.relation not in deployment.globals:
            raise StoreError(
                f"{t.relation.removeprefix(DEMAND)} is no query and no global set of the program"
            )


# -- rows that change --------------------------------------------------------------------------------------


class RowReader:
    """Row-level change data.

    {"seq": 5, "table": "users", "op": "update", "before": {...}, "after": {...}}
    """

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.columns = mapping.columns()

    def rows(self, event: dict[str, Any]) -> list[Row]:
        """What is no longer there, then what is."""
        table, op = event.get("table"), event.get("op")
        if not isinstance(table, str) or table not in self.columns:
            raise Fault(f"unknown table {table!r:.80}")
        if op not in ("insert", "update", "delete"):
            raise Fault(f"`op` is insert or update or delete here, not {op!r:.40}")
        before = self._image(event, "before", op != "insert")
        after = self._image(event, "after", op != "delete")
        new = list(self.relations(table, after)) if after is not None else []
        old: list[Row] = []
        try:
            old = list(self.relations(table, before)) if before is not None else []
        except (Fault, NotAValue):
            if after is None:
                raise  # otherwise it was rejected when it came: nothing of it is there
        kept = {row[:3] for row in new}
        gone: list[Row] = [(r, o, k, None, False) for r, o, k, _, _ in old if (r, o, k) not in kept]
        return gone + new

    def _image(self, event: dict[str, Any], name: str, needed: bool) -> dict[str, Any] | None:
        image = event.get(name)
        if not needed:
            return None
        if not isinstance(image, dict):
            raise Fault(f"`{name}` is a row, a JSON object")
        missing = sorted(self.columns[event["table"]] - image.keys())
        if missing:
            raise Fault(f"`{name}` has no column {missing[0]}")
        return image

    def relations(self, table: str, row: dict[str, Any]) -> Iterator[Row]:
        """What one row of a table is in relations."""
        for c in self.mapping.classes:
            if c.table == table:
                yield from self._object(c, row)
            for s in c.sets:
                if s.table == table and s.owner is not None:
                    yield _element(s.id(_owner(s.owner.value(row))), s.member.value(row))
        for t in self.mapping.tuples:
            if t.table == table:
                values = [column.value(row) for column in t.columns]
                if t.relation.startswith(DEMAND):
                    yield demand_row(t.relation, values, True)
                else:
                    yield _element(t.relation, values if len(values) > 1 else values[0])

    def _object(self, c: ClassTable, row: dict[str, Any]) -> Iterator[Row]:
        owner = _owner(c.id.value(row))
        for field, column in c.fields:
            yield f"field_{field}", owner, "", given_text(column.value(row)), True
        for s in c.sets:
            if s.field:
                yield f"field_{s.field}", owner, "", "s" + s.id(owner), True
            if s.owner is None:
                elements = row.get(s.member.name)
                if not isinstance(elements, list | None):
                    raise Fault(f"`{s.member.name}` is a list, not {elements!r:.40}")
                for element in elements or ():
                    yield _element(s.id(owner), s.member.value({s.member.name: element}))


def _owner(value: Any) -> str:
    if value is None:
        raise Fault("the id is null")
    return str(value)


def _element(owner: str, value: Any) -> Row:
    key, text = given_key(value), as_text(value)
    return MEMBER, owner, key, text if text != key else None, True


# -- whole tables ------------------------------------------------------------------------------------------


def mapped_frames(mapping: Mapping, frames: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The relations of mapped tables, as DataFrames: (relation, its columns)."""
    from pyspark.sql import functions as f

    _check_columns(mapping, frames)

    def value(column: Column) -> Any:
        found = f.col(f"`{column.name}`")
        return found if column.prefix is None else f.concat(f.lit(column.prefix), found.cast("string"))

    for c in mapping.classes:
        table = frames[c.table].withColumn("_incoq_id", value(c.id))
        for field, column in c.fields:
            yield f"field_{field}", table.select("_incoq_id", value(column))
        for s in c.sets:
            if s.field:
                yield (
                    f"field_{s.field}",
                    table.select("_incoq_id", f.concat("_incoq_id", f.lit(f".{s.field}"))),
                )
            suffix = f.lit(f".{s.field}" if s.field else "")
            if s.owner is None:
                inner = table.select("_incoq_id", f.explode(f"`{s.member.name}`").alias("_incoq_member"))
                member = value(Column("_incoq_member", s.member.prefix))
                yield MEMBER, inner.select(f.concat("_incoq_id", suffix), member)
            else:
                owner = f.concat(value(s.owner), suffix)
                yield MEMBER, frames[s.table].select(owner, value(s.member))
    for t in mapping.tuples:
        yield t.relation, frames[t.table].select(*(value(c).alias(f"_{n}") for n, c in enumerate(t.columns)))


def _check_columns(mapping: Mapping, frames: dict[str, Any]) -> None:
    for table, columns in mapping.columns().items():
        if table not in frames:
            raise StoreError(f"there is no table {table}; there is {', '.join(sorted(frames)) or 'none'}")
        missing = sorted(columns - set(frames[table].columns))
        if missing:
            raise StoreError(
                f"table {table} has no column {missing[0]}; it has {', '.join(frames[table].columns)}"
            )
    unprefixed = [
        c for c in mapping.classes
        if not c.id.prefix and frames[c.table].schema[c.id.name].dataType.simpleString() != "string"
    ]  # fmt: skip
    if len(unprefixed) > 1:
        names = " and ".join(c.name for c in unprefixed)
        raise StoreError(f"{names} number their rows alike: give them a `prefix` each")
    for c in mapping.classes:
        for s in c.sets:
            if s.owner is None and not frames[c.table].schema[
                s.member.name
            ].dataType.simpleString().startswith("array"):
                raise StoreError(f"classes.{c.name}: column {s.member.name} of {c.table} is no array")
