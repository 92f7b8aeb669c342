"""Python on Arrow batches, for what Spark's expressions do not say: conditions, patterns, aggregates.

A condition may read what no clause binds: a field behind a short-circuit, whether a set holds something, how
long it is. Joins put that into the row (a *fact*), and an id of the row finds it there; an id that is asked
for what was not joined stops the computation (`Unattached`), so that nothing is answered by guessing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from incoq.codegen import aggregates
from incoq.spark.values import as_key, as_text, from_text, shown, shown_text

_ABSENT: Any = object()
_CACHED = 100_000  # values that a task remembers


class Unattached(BaseException):  # not an Exception: those are what a query skips
    """A condition reads what was not joined to its row."""


@dataclass(frozen=True)
class Fact:
    """What a column of a row tells of an id: a field, an element, an entry, or how much a set holds."""

    kind: str  # "field", "member", "entry", "content"
    owner: str  # variable
    other: str  # the field, the variable of the element, the variable or `=` and the constant of the key
    column: str  # the text of the value; of a content: the number of elements, null where it is none
    more: str = ""  # of a content: the elements as JSON, if they are needed


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


class _World:
    """The facts of the row that is looked at."""

    def __init__(self) -> None:
        self.fields: dict[tuple[str, str], Any] = {}
        self.members: dict[tuple[str, str], bool] = {}
        self.entries: dict[tuple[str, str], Any] = {}
        self.content: dict[str, tuple[int, Any]] = {}
        self.containers: set[str] = set()

    def clear(self) -> None:
        for known in (self.fields, self.members, self.entries, self.content, self.containers):
            known.clear()


class _Field:
    def __init__(self, name: str, world: _World) -> None:
        self.name, self.world = name, world

    def __get__(self, o: Any, owner: type | None = None) -> Any:
        if o is None:
            return self
        value = self.world.fields.get((o, self.name))
        if value is None:
            raise Unattached(f"the field {self.name}")
        if value[0] is _ABSENT:
            raise AttributeError(self.name)
        return value[0]


def _id_class(world: _World, fields: Iterable[str]) -> type[str]:
    class Id(str):
        """A string that may have fields, elements and entries: those of the row."""

        __slots__ = ()

        def _held(self) -> tuple[int, Any]:
            if self not in world.content:
                raise Unattached("what a set holds")
            return world.content[self]

        def __contains__(self, x: object) -> bool:
            key = as_key(shown(x))
            known = world.members.get((self, key))
            if known is not None:
                return known
            elements = self._held()[1]
            if elements is None:
                raise Unattached("what a set holds")
            return key in elements

        def __len__(self) -> int:
            count = self._held()[0]
            return count if count or self in world.containers else str.__len__(self)

        def __iter__(self) -> Iterator[Any]:
            raise Unattached("what a set holds")

        def __getitem__(self, k: Any) -> Any:
            found = _ABSENT
            if not isinstance(k, slice):
                entry = world.entries.get((self, as_key(shown(k))))
                if entry is None:
                    raise Unattached("an entry of a dict")
                found = entry[0]
            if found is not _ABSENT:
                return found
            if self._held()[0] or self in world.containers:
                raise KeyError(k)
            return str.__getitem__(self, k)

    for field in fields:
        setattr(Id, field, _Field(field, world))
    return Id


class _Values:
    """Texts as values, each made once."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        self.make, self.known = make, dict[str, Any]()

    def __call__(self, text: str) -> Any:
        found = self.known.get(text)
        if found is None:
            found = from_text(text, self.make)
            if len(self.known) > _CACHED:
                self.known.clear()
            self.known[text] = found
        return found


class _Env(dict[str, Any]):
    """The variables of a row; a nested aggregate without a value raises when it is read."""

    def __getitem__(self, name: str) -> Any:
        value = dict.__getitem__(self, name)
        if value is _ABSENT:
            raise ValueError(f"{name} has no value")
        return value


def evaluated(how: Evaluation) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """For `mapInArrow`: rows that pass the conditions, with their element and how often it is there."""

    def batches(tables: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        world = _World()
        value = _Values(_id_class(world, how.fields))
        space: dict[str, Any] = {"__name__": "incoq_recompute"}
        exec(compile(how.code, "<incoq recompute>", "exec", dont_inherit=True), space)
        tests = [compile(text, "<condition>", "eval") for text in how.tests]
        result = compile(how.result, "<result>", "eval")
        names = [name for name, _ in how.columns]
        for table in tables:
            indices: list[int] = []
            found: list[str] = []
            times: list[str] = []
            facts = [_fact_reader(fact, table, how, world, value) for fact in how.facts]
            columns = [table.column(column).to_pylist() for _, column in how.columns]
            for number, row in enumerate(zip(*columns, strict=True)):
                env = _Env(
                    (name, _ABSENT if text is None else value(text))
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


def _fact_reader(
    fact: Fact, table: Any, how: Evaluation, world: _World, value: _Values
) -> Callable[[int, _Env], None]:
    texts = table.column(fact.column).to_pylist()
    more = table.column(fact.more).to_pylist() if fact.more else None

    def field(number: int, env: _Env) -> None:
        o, text = dict.__getitem__(env, fact.owner), texts[number]
        if isinstance(o, str):
            found = _ABSENT if text is None else value(text)
            world.fields[o, fact.other] = (found,)
            if fact.other in how.set_fields and isinstance(found, str):
                world.containers.add(found)

    def member(number: int, env: _Env) -> None:
        o, x = dict.__getitem__(env, fact.owner), dict.__getitem__(env, fact.other)
        if isinstance(o, str) and x is not _ABSENT:
            world.members[o, as_key(shown(x))] = texts[number] is not None

    def entry(number: int, env: _Env) -> None:
        o = dict.__getitem__(env, fact.owner)
        constant = fact.other.startswith("=")
        k = _constant(fact.other[1:]) if constant else dict.__getitem__(env, fact.other)
        if isinstance(o, str) and k is not _ABSENT:
            text = texts[number]
            world.entries[o, as_key(shown(k))] = (_ABSENT if text is None else value(text),)

    def content(number: int, env: _Env) -> None:
        o = dict.__getitem__(env, fact.owner)
        if isinstance(o, str):
            count = texts[number]
            if count is not None:
                world.containers.add(o)
            elements = None
            if more is not None:
                elements = frozenset(json.loads(more[number])) if more[number] is not None else frozenset()
            world.content[o] = (int(count or 0), elements)

    return {"field": field, "member": member, "entry": entry, "content": content}[fact.kind]


def _often(counted: Iterable[tuple[str, Any]], env: _Env) -> int:
    """How often the row is there: a tuple may hold an element several times."""
    often = 1
    for source, pattern in counted:
        held = env[source]
        if isinstance(held, tuple):
            element = _built(pattern, env)
            often *= sum(1 for other in held if other is element or other == element)
    return often


def _built(pattern: Any, env: _Env) -> Any:
    match pattern:
        case ("name", name):
            return env[name]
        case ("value", text):
            return _constant(text)
    return tuple(_built(part, env) for part in pattern[1])


def _constant(text: str) -> Any:
    return eval(text, {})


def _fit(element: Any) -> None:
    """Raise for what no set can hold."""
    if isinstance(element, list | dict | set):
        raise TypeError("unhashable")
    for part in element if isinstance(element, tuple) else ():
        _fit(part)
    hash(element)


# -- steps ------------------------------------------------------------------------------------------------


def split(
    element: str, pattern: Any, bound: dict[str, str], new: list[str]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """For `mapInArrow`: match a column with a pattern, which binds new columns and tests bound ones."""

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
                case ("value", constant):
                    return as_key(_constant(constant)) == as_key(value)
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
    """For `mapInArrow`: the elements of a tuple, each once."""

    def parts(row: dict[str, str]) -> list[tuple[str | None, ...]]:
        value = from_text(row[source])
        return [(as_text(_listed(v)),) for v in {as_key(v): v for v in value}.values()]

    return _extended([source], parts, [column])


def subscripts(
    source: str, key: str, entry: str, held: str, column: str
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """For `mapInArrow`: `m[k]`, of a dict whose entry stands in the row, of a tuple, of a plain string."""

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


# -- aggregates ---------------------------------------------------------------------------------------------


def aggregated(
    kind: str, distinct: bool, arguments: tuple[str, ...], keys: list[str]
) -> Callable[[Any], Any]:
    """For `applyInArrow`: the value of an aggregate, as text and as JSON; null where it has none.

    A row whose element is null is there for the sake of its keys.
    """

    def group(table: Any) -> Any:
        import pyarrow as pa

        value = _Values(type("Id", (str,), {}))
        made = getattr(aggregates, aggregates.CLASSES[kind])(*map(_constant, arguments))
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
