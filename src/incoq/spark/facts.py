"""What a row tells of the ids in it: a condition may read what no clause binds.

A field behind a short-circuit, whether a set holds something, how long it is: joins put that into the row (a
*fact*), and an id of the row finds it there. An id that is asked for what was not joined stops the
computation (`Unattached`), so that nothing is answered by guessing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from incoq.spark.values import as_key, from_text, shown


class _Absent:
    """What is not there: the same object in every process, however it came there."""

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()
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


class World:
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
    def __init__(self, name: str, world: World) -> None:
        self.name, self.world = name, world

    def __get__(self, o: Any, owner: type | None = None) -> Any:
        if o is None:
            return self
        value = self.world.fields.get((o, self.name))
        if value is None:
            raise Unattached(f"the field {self.name}")
        if value[0] is ABSENT:
            raise AttributeError(self.name)
        return value[0]


def id_class(world: World, fields: Iterable[str]) -> type[str]:
    class Id(str):
        """A string that may have fields, elements and entries: those of the row."""

        __slots__ = ()

        def __held__(self) -> tuple[int, Any]:
            if self not in world.content:
                raise Unattached("what a set holds")
            return world.content[self]

        def __contains__(self, x: object) -> bool:
            key = as_key(shown(x))
            known = world.members.get((self, key))
            if known is not None:
                return known
            elements = self.__held__()[1]
            if elements is None:
                raise Unattached("what a set holds")
            return key in elements

        def __len__(self) -> int:
            count = self.__held__()[0]
            return count if count or self in world.containers else str.__len__(self)

        def __iter__(self) -> Iterator[Any]:
            raise Unattached("what a set holds")

        def __getitem__(self, k: Any) -> Any:
            found = ABSENT
            if not isinstance(k, slice):
                entry = world.entries.get((self, as_key(shown(k))))
                if entry is None:
                    raise Unattached("an entry of a dict")
                found = entry[0]
            if found is not ABSENT:
                return found
            if self.__held__()[0] or self in world.containers:
                raise KeyError(k)
            return str.__getitem__(self, k)

    for field in fields:
        setattr(Id, field, _Field(field, world))
    return Id


class Values:
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


class Env(dict[str, Any]):
    """The variables of a row; a nested aggregate without a value raises when it is read."""

    def __getitem__(self, name: str) -> Any:
        value = dict.__getitem__(self, name)
        if value is ABSENT:
            raise ValueError(f"{name} has no value")
        return value


def fact_reader(
    fact: Fact, table: Any, set_fields: frozenset[str], world: World, value: Values
) -> Callable[[int, Env], None]:
    """Puts what a fact says of a row of a table into the world, given the variables of the row."""
    texts = table.column(fact.column).to_pylist()
    more = table.column(fact.more).to_pylist() if fact.more else None

    def field(number: int, env: Env) -> None:
        o, text = dict.__getitem__(env, fact.owner), texts[number]
        if isinstance(o, str):
            found = ABSENT if text is None else value(text)
            world.fields[o, fact.other] = (found,)
            if fact.other in set_fields and isinstance(found, str):
                world.containers.add(found)

    def member(number: int, env: Env) -> None:
        o, x = dict.__getitem__(env, fact.owner), dict.__getitem__(env, fact.other)
        if isinstance(o, str) and x is not ABSENT:
            world.members[o, as_key(shown(x))] = texts[number] is not None

    def entry(number: int, env: Env) -> None:
        o = dict.__getitem__(env, fact.owner)
        fixed = fact.other.startswith("=")
        k = constant(fact.other[1:]) if fixed else dict.__getitem__(env, fact.other)
        if isinstance(o, str) and k is not ABSENT:
            text = texts[number]
            world.entries[o, as_key(shown(k))] = (ABSENT if text is None else value(text),)

    def content(number: int, env: Env) -> None:
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


def constant(text: str) -> Any:
    """The value of a constant of the program, from its text."""
    return eval(text, {})
