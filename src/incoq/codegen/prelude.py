"""The support code of every compiled program, embedded as source: it imports nothing of incoq.

`Set.add` and `Set.discard` are the two events that can change a set; every other mutator is made of
them. What stands here performs no maintenance; the compiler puts the maintenance of the program's
queries into those two methods.
"""

from __future__ import annotations

from collections import OrderedDict  # noqa: F401  # keeps the answers of keep=lru(n)
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any


class IncoqRuntimeError(Exception):
    """A fault of the program that only its run shows; `code` is listed in the reference of incoq."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"[{code}] {message}")
        self.code = code


class Missing:
    """The value of a field that an object does not have."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING = Missing()

set_add, set_discard, set_pop = set.add, set.discard, set.pop


class Set(set[Any]):
    """A set that hashes by identity, so that sets can hold sets; its changes maintain the queries."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def add(self, x: Any, /) -> None:
        if x not in self:
            set_add(self, x)

    def discard(self, x: Any, /) -> None:
        if x in self:
            set_discard(self, x)

    def remove(self, x: Any, /) -> None:
        if x not in self:
            raise KeyError(x)
        self.discard(x)

    def pop(self) -> Any:
        x = set_pop(self)
        set_add(self, x)
        self.discard(x)
        return x

    def clear(self) -> None:
        for x in list(self):
            self.discard(x)

    def update(self, *others: Iterable[Any]) -> None:
        for other in others:
            if other is not self:
                for x in other:
                    self.add(x)

    def difference_update(self, *others: Iterable[Any]) -> None:
        for other in others:
            for x in list(other) if other is self else other:
                self.discard(x)

    def intersection_update(self, *others: Iterable[Any]) -> None:
        kept = set.intersection(self, *others)
        for x in [x for x in self if x not in kept]:
            self.discard(x)

    def symmetric_difference_update(self, other: Iterable[Any], /) -> None:
        for x in set(other):
            if x in self:
                self.discard(x)
            else:
                self.add(x)

    def __ior__(self, other: Any, /) -> Any:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        self.update(other)
        return self

    def __isub__(self, other: Any, /) -> Any:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        self.difference_update(other)
        return self

    def __iand__(self, other: Any, /) -> Any:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        self.intersection_update(other)
        return self

    def __ixor__(self, other: Any, /) -> Any:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        self.symmetric_difference_update(other)
        return self

    def copy(self) -> Any:
        return self.__class__(self)

    __copy__ = copy

    def union(self, *others: Iterable[Any]) -> Any:
        return self.__class__(set.union(self, *others))

    def intersection(self, *others: Iterable[Any]) -> Any:
        return self.__class__(set.intersection(self, *others))

    def difference(self, *others: Iterable[Any]) -> Any:
        return self.__class__(set.difference(self, *others))

    def symmetric_difference(self, other: Iterable[Any], /) -> Any:
        return self.__class__(set.symmetric_difference(self, other))

    def __or__(self, other: Any, /) -> Any:
        result = set.__or__(self, other)
        return result if result is NotImplemented else self.__class__(result)

    def __and__(self, other: Any, /) -> Any:
        result = set.__and__(self, other)
        return result if result is NotImplemented else self.__class__(result)

    def __sub__(self, other: Any, /) -> Any:
        result = set.__sub__(self, other)
        return result if result is NotImplemented else self.__class__(result)

    def __xor__(self, other: Any, /) -> Any:
        result = set.__xor__(self, other)
        return result if result is NotImplemented else self.__class__(result)

    def __ror__(self, other: Any, /) -> Any:
        result: Any = set.__ror__(self, other)  # type: ignore[call-arg]
        return result if result is NotImplemented else self.__class__(result)

    def __rand__(self, other: Any, /) -> Any:
        result = set.__rand__(self, other)  # type: ignore[attr-defined]
        return result if result is NotImplemented else self.__class__(result)

    def __rsub__(self, other: Any, /) -> Any:
        result = set.__rsub__(self, other)  # type: ignore[attr-defined]
        return result if result is NotImplemented else self.__class__(result)

    def __rxor__(self, other: Any, /) -> Any:
        result = set.__rxor__(self, other)  # type: ignore[attr-defined]
        return result if result is NotImplemented else self.__class__(result)

    def __reduce__(self) -> Any:
        return self.__class__, (), (list(self), getattr(self, "__dict__", None))

    def __setstate__(self, state: Any) -> None:
        self.update(state[0])
        if state[1]:
            self.__dict__.update(state[1])


class PlainSet(Set):
    """What a plain set of the program is: it shows as one, and its changes maintain the queries."""

    def __repr__(self) -> str:
        inside = set.__repr__(self).removeprefix(self.__class__.__name__)
        return inside[1:-1] if inside.startswith("({") else f"set{inside}"


dict_set, dict_delete, dict_popitem = dict.__setitem__, dict.__delitem__, dict.popitem


class Dict(dict[Any, Any]):
    """What a dict of the program is where queries look into dicts: it shows as one, hashes by identity,
    and its changes maintain the queries. `__setitem__` and `__delitem__` are all that changes it."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __setitem__(self, key: Any, value: Any, /) -> None:
        dict_set(self, key, value)

    def __delitem__(self, key: Any, /) -> None:
        dict_delete(self, key)

    def pop(self, key: Any, *default: Any) -> Any:
        if len(default) > 1:
            raise TypeError(f"pop expected at most 2 arguments, got {1 + len(default)}")
        if key not in self:
            if default:
                return default[0]
            raise KeyError(key)
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> Any:
        key, value = dict_popitem(self)
        dict_set(self, key, value)
        del self[key]
        return key, value

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    def setdefault(self, key: Any, default: Any = None, /) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **named: Any) -> None:
        for key, value in dict(*others, **named).items():
            self[key] = value

    def __ior__(self, other: Any, /) -> Any:
        self.update(other)
        return self

    def copy(self) -> Any:
        return self.__class__(self)

    __copy__ = copy

    def __or__(self, other: Any, /) -> Any:
        result = dict.__or__(self, other)
        return result if result is NotImplemented else self.__class__(result)

    def __ror__(self, other: Any, /) -> Any:
        result: Any = dict.__ror__(self, other)
        return result if result is NotImplemented else self.__class__(result)


# Classes whose instances hold each element once and hash it; others go through `elements` and `contains`.
SOURCES = {Set, PlainSet, Dict, frozenset, range}
REFUSED: list[IncoqRuntimeError] = []


def refuse(code: str, message: str) -> None:
    """Remember a fault found while maintaining: the next query reports it instead of a stale answer."""
    if len(REFUSED) < 100:
        REFUSED.append(IncoqRuntimeError(code, message))


def is_source(s: Any) -> bool:
    """May a query iterate `s`? What can be iterated but not maintained is refused."""
    cls = s.__class__
    if cls in SOURCES:
        return True
    if issubclass(cls, (Set, Dict, frozenset)):
        SOURCES.add(cls)
        return True
    if issubclass(cls, tuple):
        return True
    if issubclass(cls, (str, bytes, bytearray)):
        refuse("IQ302", f"a query iterates over the {cls.__name__} {s!r:.40}")
    elif hasattr(cls, "__iter__") or hasattr(cls, "__getitem__"):
        refuse("IQ301", f"a query iterates over a {cls.__name__}, which cannot be maintained")
    return False


def elements(s: Any) -> Iterable[Any]:
    """What a query iterates over, each element once: nothing where `s` is not a source."""
    if not is_source(s):
        return ()
    return dict.fromkeys(filter(keyable, s)) if isinstance(s, tuple) else s


def smaller(s: Any, t: Any) -> tuple[Any, Any]:
    """Two sources, the smaller one first where both tell their size."""
    if s.__class__ in SOURCES and t.__class__ in SOURCES and len(t) < len(s):
        return t, s
    return s, t


def items(m: Any) -> Iterable[Any]:
    """The entries of a mapping: nothing where `m` is none."""
    if isinstance(m, Dict):
        return m.items()
    if isinstance(m, (dict, list)):
        refuse("IQ301", f"a query looks into a {m.__class__.__name__}, whose changes cannot be seen")
    return ()


def entries(m: Any) -> Iterable[Any]:
    """All (k, v) for which `m[k]` is v: of a dict, or of a sequence that does not change."""
    if isinstance(m, (tuple, str, bytes, range)):
        return [(k, m[k]) for k in range(-len(m), len(m))]
    return items(m)


def dict_item(m: Any, k: Any) -> Any:
    """The value of an entry of a dict; raises where there is none."""
    if not isinstance(m, Dict):
        items(m)
        raise TypeError(f"{m.__class__.__name__} has no entries")
    return m[k]


def item(m: Any, k: Any) -> Any:
    """`m[k]` inside a query; raises where Python would, so that the combination is skipped."""
    if isinstance(m, (dict, list)) and not isinstance(m, Dict):
        refuse("IQ301", f"a query looks into a {m.__class__.__name__}, whose changes cannot be seen")
        raise TypeError(f"cannot look into {m.__class__.__name__}")
    return plain(m)[k] if not isinstance(m, Dict) else m[k]


def item_or_missing(m: Any, k: Any) -> Any:
    """`m[k]`, or MISSING where there is none."""
    try:
        return item(m, k)
    except Exception:
        return MISSING


def watchable(v: Any) -> bool:
    """Is `v` a set whose content is watched? One that changes unseen is refused."""
    if isinstance(v, (Set, Dict)):
        return True
    if isinstance(v, (set, list, dict)):
        refuse("IQ301", f"a condition depends on the content of a {v.__class__.__name__}")
    return False


HASHABLE = {int, float, str, bytes, bool, type(None)}  # classes of which every value can be a key


def keyable(v: Any) -> bool:
    """Can `v` be a key? What cannot is refused."""
    try:
        hash(v)
        if v.__class__.__hash__ is object.__hash__:
            HASHABLE.add(v.__class__)
    except TypeError:
        if isinstance(v, (set, list, dict)):
            refuse("IQ301", f"a query reached a {v.__class__.__name__}, whose changes cannot be seen")
            return False
        refuse("IQ303", f"a query reached a {v.__class__.__name__}, which cannot be a key")
        return False
    return True


def contains(s: Any, x: Any) -> bool:
    """`x in s`, false where that raises."""
    try:
        return holds(s, x)
    except TypeError:
        return False


def holds(s: Any, x: Any) -> bool:
    """`x in s` inside a condition; raises where Python would, so that the combination is skipped."""
    if isinstance(s, tuple):
        return any(same(x, y) for y in s)
    if s.__class__ in SOURCES or isinstance(s, (str, bytes)) or is_source(s):
        return x in s
    raise TypeError(f"{s.__class__.__name__} holds nothing")


def same(a: Any, b: Any) -> bool:
    """Equality of values inside a query: as dict keys are compared, sets by identity, in tuples too."""
    if a is b:
        return True
    if a.__class__ in DISTINCT and b.__class__ in DISTINCT:
        return False
    if isinstance(a, (set, dict)) or isinstance(b, (set, dict)):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, list) and isinstance(b, list):
        refuse("IQ301", "a query compares lists, whose changes cannot be seen")
    for cls in (a.__class__, b.__class__):
        if cls.__eq__ is object.__eq__:
            DISTINCT.add(cls)
    try:
        return bool(a == b)
    except Exception:
        return False


DISTINCT: set[type] = set()  # classes whose objects equal nothing but themselves


def equal(a: Any, b: Any) -> bool:
    """`==` inside a query: Python's own, but sets by identity, in tuples too."""
    if isinstance(a, (set, dict)) and isinstance(b, (set, dict)):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        plain(a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


NAN = float("nan")


def steady(v: Any) -> Any:
    """A computed value that equals itself: every NaN is one, so that deletion finds what addition put."""
    if v.__class__ is float:
        return v if v == v else NAN
    if v.__class__ is tuple:
        return tuple(map(steady, v))
    return v


OPERATORS = [
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__add__",
    "__radd__",
    "__sub__",
    "__rsub__",
    "__mul__",
    "__rmul__",
    "__truediv__",
    "__floordiv__",
    "__mod__",
    "__pow__",
    "__and__",
    "__or__",
    "__xor__",
    "__neg__",
    "__pos__",
    "__abs__",
    "__invert__",
    "__str__",
    "__repr__",
    "__format__",
    "__len__",
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
    "__getitem__",
    "__contains__",
    "__iter__",
    "__round__",
    "__bytes__",
]
PLAIN = {int, float, str, bytes, bool, complex, type(None), range}


def plain(v: Any) -> Any:
    """Let `v` through if it cannot change unseen; refuse it otherwise."""
    cls = v.__class__
    if cls in PLAIN:
        return v
    if issubclass(cls, (tuple, frozenset)):
        for part in v:
            plain(part)
        return v
    if issubclass(cls, (int, float, str, bytes, complex)) or is_value_class(cls):
        PLAIN.add(cls)
        return v
    if not issubclass(cls, (set, list, dict)) and not any(
        base is not object and any(operator in base.__dict__ for operator in OPERATORS)
        for base in cls.__mro__
    ):
        PLAIN.add(cls)  # nothing to look into: Python's own error, or its own text, is the answer
        return v
    refuse("IQ301", f"a condition looks into a {cls.__name__}, whose content may change unseen")
    raise TypeError(f"cannot look into {cls.__name__}")


def scalar(v: Any) -> Any:
    """Like `plain`, for a comparison with a constant, which no collection has an order with."""
    return v if isinstance(v, (set, frozenset, list, tuple, dict)) else plain(v)


def truth(v: Any) -> Any:
    """A value of which only the truth counts; one that an object computes from what may change is refused."""
    cls = v.__class__
    if cls not in PLAIN and not isinstance(v, (Set, Dict)):
        for base in cls.__mro__:
            if base is not object and ("__bool__" in base.__dict__ or "__len__" in base.__dict__):
                return plain(v)
    return v


def is_value_class(cls: type) -> bool:
    """Immutable classes of the standard library, enumerations and frozen dataclasses."""
    if cls.__module__ in ("datetime", "decimal", "fractions", "uuid", "ipaddress", "enum", "zoneinfo"):
        return True
    if any(base.__module__ == "enum" for base in cls.__mro__):
        return True
    params = getattr(cls, "__dataclass_params__", None)
    return bool(params is not None and params.frozen)


class Stored:
    """Finds the very element that a set holds for an equal one: `Stored(x) in s`, then `.found`."""

    def __init__(self, x: Any) -> None:
        self.x = self.found = x

    def __hash__(self) -> int:
        return hash(self.x)

    def __eq__(self, other: object) -> bool:
        if self.x == other:
            self.found = other
            return True
        return False


LOOK_ALIKE = {int, bool, float, complex, tuple, frozenset}


def stored(s: Any, x: Any) -> Any:
    """The element of `s` that equals `x`: 1, 1.0 and True are equal, and not the same."""
    if x.__class__ in LOOK_ALIKE:
        probe = Stored(x)
        if probe in s:
            return probe.found
    return x


class View(AbstractSet[Any]):
    """A read-only live view of an answer; iterating across an update that changes it is an error."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Any) -> None:
        self._ask = ask

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return Set(it)

    def __contains__(self, x: object) -> bool:
        try:
            return x in self._ask()
        except TypeError:
            return False

    def __len__(self) -> int:
        return len(self._ask())

    def __iter__(self) -> Iterator[Any]:
        answer = self._ask()
        try:
            yield from answer
        except RuntimeError:
            raise IncoqRuntimeError("IQ304", "a live view was iterated across an update") from None

    def __repr__(self) -> str:
        return f"View({set(self._ask())!r})" if self._ask() else "View(set())"


class Demanded(AbstractSet[Any]):
    """The demanded combinations of a query, live and read-only: a set of tuples."""

    __slots__ = ("_answers", "_shown", "_width")

    def __init__(self, answers: Any, shown: int, width: int) -> None:
        self._answers, self._shown, self._width = answers, shown, width

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return Set(it)

    def __contains__(self, combination: object) -> bool:
        return any(same(combination, known) for known in self)

    def __iter__(self) -> Iterator[Any]:
        for key in list(self._answers):
            yield ((key,) if self._width == 1 else key)[: self._shown]

    def __len__(self) -> int:
        return len(self._answers)

    def __repr__(self) -> str:
        return f"Demanded({list(self)})"


def current(aggregate: Any) -> Any:
    """The value of an aggregate, or MISSING where it has none."""
    try:
        return aggregate.value()
    except Exception:
        return MISSING


def present(v: Any) -> Any:
    """The value of a nested aggregate inside a condition; where there is none the combination is skipped."""
    if v is MISSING:
        raise ValueError("a nested aggregate has no value")
    return v


def changed(old: Any, new: Any) -> bool:
    """Is a new value another one? Equal values of another type are; so is another object."""
    if new is old:
        return False
    return new.__class__ is not old.__class__ or new.__class__ not in PLAIN or new != old


def on_class(field: str) -> IncoqRuntimeError:
    """The error for a class attribute that is assigned on the class and that queries read of its objects."""
    return IncoqRuntimeError("IQ222", f"`{field}` is assigned on a class; assign it on the objects")


def only_adds() -> IncoqRuntimeError:
    """The error for a removal in a program whose text has none."""
    return IncoqRuntimeError("IQ306", "a set was changed by code that was not compiled: it never removes")


def unkeyed(query: str) -> IncoqRuntimeError:
    """The error for a parameter value that cannot be a key."""
    return IncoqRuntimeError("IQ303", f"{query} was asked for a value that cannot be a dict key")
