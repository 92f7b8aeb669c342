"""Rows become elements of the answer, and elements a value, by Python on Arrow batches.

For conditions and results that Spark's expressions do not say, and for aggregates. What a condition reads of
ids stands in the row (`facts`); what raises is skipped, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from incoq.codegen import aggregates
from incoq.spark.facts import ABSENT, Env, Fact, Values, World, constant, fact_reader, id_class
from incoq.spark.values import as_text, shown, shown_text


@dataclass(frozen=True)
class Evaluation:
    """How a row becomes an element of the answer."""

    columns: tuple[tuple[str, str], ...]  # variable, column
    facts: tuple[Fact, ...]
    set_fields: frozenset[str]
    tests: tuple[str, ...]
    result: str
    fallible: frozenset[str]  # variables whose value may be missing: reading one raises
    counted: tuple[tuple[str, Any], ...]  # a source and the pattern of its elements, which it may repeat
    kept: tuple[str, ...]  # columns that go on
    hashed: bool  # must the element have a hash?
    truth: bool  # does only its truth count?
    code: str  # the program's own, for the modules that it imports
    fields: tuple[str, ...]


def evaluated(how: Evaluation) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """For `mapInArrow`: rows that pass the conditions, with their element and how often it is there."""

    def batches(tables: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        world = World()
        value = Values(id_class(world, how.fields))
        space: dict[str, Any] = {"__name__": "incoq_recompute"}
        exec(compile(how.code, "<incoq recompute>", "exec", dont_inherit=True), space)
        tests = [compile(text, "<condition>", "eval") for text in how.tests]
        result = compile(how.result, "<result>", "eval")
        names = [name for name, _ in how.columns]
        for table in tables:
            indices: list[int] = []
            found: list[str] = []
            times: list[str] = []
            facts = [fact_reader(fact, table, how.set_fields, world, value) for fact in how.facts]
            columns = [table.column(column).to_pylist() for _, column in how.columns]
            for number, row in enumerate(zip(*columns, strict=True)):
                env = Env(
                    (name, ABSENT if text is None else value(text))
                    for name, text in zip(names, row, strict=True)
                )
                if facts:
                    world.clear()
                    for read in facts:
                        read(number, env)
                try:
                    if not all(eval(test, space, env) for test in tests):
                        continue
                    element = eval(result, space, env)
                    if how.truth:
                        element = bool(element)
                    if how.hashed:
                        _fit(element)
                    often = _often(how.counted, env)
                except Exception:  # a combination that raises is skipped, as everywhere
                    continue
                indices.append(number)
                found.append(as_text(shown(element)))
                times.append(str(often))
            kept = table.select(list(how.kept)).take(pa.array(indices, pa.int64()))
            yield pa.RecordBatch.from_arrays(
                [*kept.columns, pa.array(found, pa.string()), pa.array(times, pa.string())],
                names=[*how.kept, "element", "times"],
            )

    return batches


def _often(counted: Iterable[tuple[str, Any]], env: Env) -> int:
    """How often the row is there: a tuple may hold an element several times."""
    often = 1
    for source, pattern in counted:
        held = env[source]
        if isinstance(held, tuple):
            element = _built(pattern, env)
            often *= sum(1 for other in held if other is element or other == element)
    return often


def _built(pattern: Any, env: Env) -> Any:
    match pattern:
        case ("name", name):
            return env[name]
        case ("value", text):
            return constant(text)
    return tuple(_built(part, env) for part in pattern[1])


def _fit(element: Any) -> None:
    """Raise for what no set can hold."""
    if isinstance(element, list | dict | set):
        raise TypeError("unhashable")
    for part in element if isinstance(element, tuple) else ():
        _fit(part)
    hash(element)


def aggregated(
    kind: str, distinct: bool, arguments: tuple[str, ...], keys: list[str]
) -> Callable[[Any], Any]:
    """For `applyInArrow`: the value of an aggregate, as text and as JSON; null where it has none.

    A row whose element is null is there for the sake of its keys.
    """

    def group(table: Any) -> Any:
        import pyarrow as pa

        value = Values(type("Id", (str,), {}))
        made = getattr(aggregates, aggregates.CLASSES[kind])(*map(constant, arguments))
        seen: set[Any] = set()
        for text, often in zip(table["element"].to_pylist(), table["times"].to_pylist(), strict=True):
            if text is None:
                continue
            element = value(text)
            if distinct:
                if element in seen:
                    continue
                seen.add(element)
                made.add(element)
            elif int(often) == 1:
                made.add(element)
            else:
                made.add(element, int(often))
        text, shown_value = None, "null"
        try:
            answer = made.value()
            shown_value = shown_text(answer)
            text = as_text(shown(answer)) if not isinstance(answer, dict) else None
        except Exception:  # the aggregate has no value: max of nothing
            text, shown_value = None, "null"
        columns = [table[k].slice(0, 1).combine_chunks() for k in keys]
        return pa.table(
            [*columns, pa.array([text], pa.string()), pa.array([shown_value], pa.string())],
            names=[*keys, "value", "shown"],
        )

    return group
