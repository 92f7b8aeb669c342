"""What a step of the joins does to a row by Python on Arrow batches: patterns, tuples, `m[k]`.

Each gives a function for `mapInArrow` that repeats a row for every tuple of new columns that it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from incoq.spark.facts import constant
from incoq.spark.values import as_key, as_text, from_text


def split(
    element: str, pattern: Any, bound: dict[str, str], new: list[str]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Match a column with a pattern, which binds new columns and tests bound ones."""

    def parts(row: dict[str, str], text: str) -> list[tuple[str | None, ...]]:
        found: dict[str, str] = {}

        def matches(pattern: Any, value: Any) -> bool:
            match pattern:
                case ("name", name):
                    known = row[bound[name]] if name in bound else found.get(name)
                    if known is None:
                        found[name] = as_text(_listed(value))
                        return True
                    return as_key(from_text(known)) == as_key(value)
                case ("value", text):
                    return as_key(constant(text)) == as_key(value)
            items = pattern[1]
            return (
                isinstance(value, tuple)
                and len(value) == len(items)
                and all([matches(i, v) for i, v in zip(items, value, strict=True)])
            )

        return [tuple(found[name] for name in new)] if matches(pattern, from_text(text)) else []

    needed = [element, *bound.values()]
    return _extended(needed, lambda row: parts(row, row[element]) if row[element] is not None else [], new)


def elements_of_tuples(source: str, column: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The elements of a tuple, each once."""

    def parts(row: dict[str, str]) -> list[tuple[str | None, ...]]:
        value = from_text(row[source])
        return [(as_text(_listed(v)),) for v in {as_key(v): v for v in value}.values()]

    return _extended([source], parts, [column])


def subscripts(
    source: str, key: str, entry: str, held: str, column: str
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """`m[k]`, of a dict whose entry stands in the row, of a tuple, of a plain string."""

    def parts(row: dict[str, str]) -> list[tuple[str | None, ...]]:
        if row[source] is None or row[key] is None:
            return []
        value, k = from_text(row[source]), from_text(row[key])
        if row[entry] is not None:
            return [(row[entry],)]
        if isinstance(value, str) and row[held] is not None:
            return []
        try:
            return [(as_text(_listed(value[k])),)]
        except Exception:  # no such item: the combination is skipped
            return []

    return _extended([source, key, entry, held], parts, [column])


def _extended(
    needed: list[str], parts: Callable[[dict[str, str]], list[tuple[str | None, ...]]], new: list[str]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Each row once for every tuple of new columns that it gives."""

    def batches(tables: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for table in tables:
            indices: list[int] = []
            found: list[tuple[str | None, ...]] = []
            columns = [table.column(name).to_pylist() for name in needed]
            for number, values in enumerate(zip(*columns, strict=True)):
                for part in parts(dict(zip(needed, values, strict=True))):
                    indices.append(number)
                    found.append(part)
            kept = table.take(pa.array(indices, pa.int64()))
            more = [pa.array([row[n] for row in found], pa.string()) for n in range(len(new))]
            yield pa.RecordBatch.from_arrays(
                [*kept.columns, *more], names=[*table.schema.names, *(f"n{n}" for n in range(len(new)))]
            )

    return batches


def _listed(value: Any) -> Any:
    return [_listed(v) for v in value] if isinstance(value, tuple) else value
