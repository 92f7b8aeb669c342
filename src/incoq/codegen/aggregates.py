"""Aggregates, embedded into compiled programs as source: one small class each.

A class says how an element is added and deleted, what that costs, and what the empty case is; where a list
holds an element several times, it comes with that number. To add an aggregate, add its class here and its
form to `frontend/read_aggregate.py`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from incoq.codegen.prelude import Set, steady, stored


class Len:
    """How many elements. Add and delete O(1); empty: 0."""

    def __init__(self) -> None:
        self.n = 0

    def add(self, x: Any, times: int = 1) -> None:
        self.n += times

    def remove(self, x: Any, times: int = 1) -> None:
        self.n -= times

    def value(self) -> Any:
        return self.n


class Exists(Len):
    """Whether there is an element. Add and delete O(1); empty: False."""

    def value(self) -> Any:
        return self.n > 0


class AnyTrue(Len):
    """Whether some element is true. Add and delete O(1); empty: False."""

    def add(self, x: Any, times: int = 1) -> None:
        if x:
            self.n += times

    def remove(self, x: Any, times: int = 1) -> None:
        if x:
            self.n -= times

    def value(self) -> Any:
        return self.n > 0


class AllTrue(Len):
    """Whether no element is false. Add and delete O(1); empty: True."""

    def add(self, x: Any, times: int = 1) -> None:
        if not x:
            self.n += times

    def remove(self, x: Any, times: int = 1) -> None:
        if not x:
            self.n -= times

    def value(self) -> Any:
        return self.n == 0


def adds_as_int(x: Any) -> bool:
    """Is `x` added as integers are, whatever its class?"""
    cls = x.__class__
    return isinstance(x, int) and cls.__add__ is int.__add__ and cls.__radd__ is int.__radd__


def place_of(values: list[Any], x: Any) -> int:
    """Where a list has a value: itself, or one that looks the same, or else one that is equal."""
    found, at = -1, -1
    try:
        while True:
            at = values.index(x, at + 1)
            y = values[at]
            is_number = y.__class__ is complex or y.__class__.__module__ == "decimal"
            if y is x or (y.__class__ is x.__class__ and not (is_number and str(y) != str(x))):
                return at
            found = at if found < 0 else found
    except ValueError:
        if found < 0:
            raise
        return found
    except Exception:  # it cannot be compared with some of the others: a signaling NaN
        looks = (x.__class__, str(x))
        return next(i for i, y in enumerate(values) if y is x or (y.__class__, str(y)) == looks)


class Sum:
    """The sum. Add and delete O(1); empty: 0. Floats are summed exactly, so that nothing drifts. What it
    starts with is one more element, which stays."""

    def __init__(self, *start: Any) -> None:
        self.whole = 0
        self.exact = Fraction(0)
        self.floats = 0
        self.others: list[Any] = []
        for x in start:
            self.add(x)

    def add(self, x: Any, times: int = 1) -> None:
        if x.__class__ is int or adds_as_int(x):
            self.whole += x * times
        elif isinstance(x, float) and x - x == 0.0:
            self.exact += Fraction(x) * times
            self.floats += times
        else:
            self.others += [x] * times

    def remove(self, x: Any, times: int = 1) -> None:
        if x.__class__ is int or adds_as_int(x):
            self.whole -= x * times
        elif isinstance(x, float) and x - x == 0.0:
            self.exact -= Fraction(x) * times
            self.floats -= times
        else:
            for _ in range(times):
                try:
                    del self.others[place_of(self.others, x)]
                except ValueError:  # what was added is equal, and of another class: 1 and Decimal(1)
                    self.others.append(-x)

    def value(self) -> Any:
        total: Any = self.whole
        if self.floats or self.exact:  # 1.0 may be taken away where 1 was added: no float, and yet a part
            exact = self.whole + self.exact
            try:
                total = float(exact)
            except OverflowError:
                float(self.whole)  # raises where `sum` does: floats become infinite, but no integer
                total = float("inf") if exact > 0 else float("-inf")
        return steady(sum(self.others, total)) if self.others else total

    def is_exact(self) -> bool:
        """Is the sum what `sum` gives in any order?"""
        return not self.floats and not self.others


class Mean(Sum):
    """The arithmetic mean. Add and delete O(1); empty: an error, as `statistics.mean` gives."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def add(self, x: Any, times: int = 1) -> None:
        super().add(x, times)
        self.n += times

    def remove(self, x: Any, times: int = 1) -> None:
        super().remove(x, times)
        self.n -= times

    def value(self) -> Any:
        if not self.n:
            from statistics import StatisticsError  # only now: it is slow to import

            raise StatisticsError("mean requires at least one data point")
        if self.others:
            from statistics import mean as mean_of

            return steady(mean_of(self.elements()))
        if self.floats or self.exact:
            return float((self.whole + self.exact) / self.n)
        mean = Fraction(self.whole, self.n)
        return mean.numerator if mean.denominator == 1 else mean.numerator / mean.denominator

    def elements(self) -> Iterator[Any]:
        """As many elements as there are, of the same types, with the same sum."""
        yield from self.others
        if ints := self.n - self.floats - len(self.others):
            yield self.whole
            yield from [0] * (ints - 1)
        if self.floats:
            yield float(self.exact) if self.floats == 1 else self.exact  # a sum may be no float
            yield from [0.0] * (self.floats - 1)


class Ordered:
    """Counts of the elements, and a heap of them; deleted ones leave the heap when they come up. Until then,
    an element that equals one has its place: 1 that of `True`."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}
        self.heap: list[Any] = []
        self.gone: set[Any] = set()  # deleted, and in the heap
        self.instead: dict[Any, Any] = {}  # what equals an element of the heap, and is meant by it
        self.sortable = True

    def add(self, x: Any, times: int = 1) -> None:
        count = self.counts.get(x, 0)
        self.counts[x] = count + times
        if not count:
            if x in self.gone:
                self.gone.remove(x)
                self.instead[x] = x
            elif self.sortable:
                try:
                    heapq.heappush(self.heap, self.entry(x))
                except Exception:
                    self.sortable = False  # the answer says so, as Python would; a heap half made is not used
        if len(self.heap) > 32 and len(self.heap) > 4 * len(self.counts):
            self.rebuild()

    def remove(self, x: Any, times: int = 1) -> None:
        count = self.counts[x]
        if count > times:
            self.counts[x] = count - times
        else:
            del self.counts[x]
            if self.instead:
                self.instead.pop(x, None)
            if self.sortable:
                self.gone.add(x)
            if not self.counts:
                self.heap, self.sortable = [], True
                self.gone.clear()

    def rebuild(self) -> None:
        self.gone.clear()
        self.instead.clear()
        try:
            self.heap = [self.entry(x) for x in self.counts]
            heapq.heapify(self.heap)
        except Exception:
            self.sortable = False

    def entry(self, x: Any) -> Any:
        return x

    def element(self, entry: Any) -> Any:
        return entry

    def first(self) -> Any:
        while (found := self.element(self.heap[0])) not in self.counts:
            self.sortable = False  # where a comparison raises, what is left is no heap
            heapq.heappop(self.heap)
            self.gone.discard(found)
            self.sortable = True
        return self.instead.get(found, found) if self.instead else found


NOTHING: Any = object()


class Extreme(Ordered):
    """The first element, or what is given for none. Of a `bag`, elements that are equal are compared too."""

    def __init__(self, default: Any = NOTHING, bag: bool = False) -> None:
        super().__init__()
        self.default, self.bag = default, bag

    def best(self, choose: Any) -> Any:
        found = self.first() if self.sortable else choose(self.counts)
        if self.bag and len(self.counts) == 1 and self.counts[found] > 1:
            return choose((found, found))  # raises where elements have no order
        return found


class Min(Extreme):
    """The smallest element. Add and delete O(log n); empty: the default, or an error."""

    def value(self) -> Any:
        if not self.counts:
            if self.default is NOTHING:
                raise ValueError("min() arg is an empty sequence")
            return self.default
        return self.best(min)


class Greater:
    """An element in the reverse order."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __lt__(self, other: Any) -> bool:
        return bool(other.x < self.x)


class Max(Extreme):
    """The largest element. Add and delete O(log n); empty: the default, or an error."""

    def entry(self, x: Any) -> Any:
        return Greater(x)

    def element(self, entry: Any) -> Any:
        return entry.x

    def value(self) -> Any:
        if not self.counts:
            if self.default is NOTHING:
                raise ValueError("max() arg is an empty sequence")
            return self.default
        return self.best(max)


class Smallest(Ordered):
    """The k smallest elements as a list. Add and delete O(log n), asking O(n log k), for tuples O(n log n);
    empty: []. Where it `sorts`, all elements are compared, large and equal ones, too."""

    def __init__(self, k: int, sorts: bool = False) -> None:
        super().__init__()
        self.k, self.sorts = k, sorts

    def value(self) -> Any:
        some = next(iter(self.counts), None)
        if self.sorts and (len(self.counts) == 1 or not self.k or isinstance(some, tuple)):
            return sorted(self.all())[: self.k]  # raises where elements have no order, be they large
        return heapq.nsmallest(self.k, self.all())

    def all(self) -> Iterable[Any]:
        return (x for x, count in self.counts.items() for _ in range(count))


class SetOf:
    """A set as a value of a dict: one object for as long as it is maintained. Add and delete O(1)."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}

    def add(self, x: Any) -> None:
        self.counts[x] = self.counts.get(x, 0) + 1

    def remove(self, x: Any) -> None:
        count = self.counts[x]
        if count == 1:
            del self.counts[x]
        else:
            self.counts[x] = count - 1

    def value(self) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(self.counts)


class DictOf(SetOf):
    """A dict of (key, value) pairs. Add and delete O(1), asking O(#dict) and its sets; empty: {}."""

    def value(self) -> Any:
        return {key: Set(value) if isinstance(value, SetOf) else value for key, value in self.counts}


class Value:
    """The value of an expression; it is missing where evaluating it raised: who asks evaluates it again."""

    error: Exception | None = None  # what that raised, where it cannot be done again

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, x: Any) -> None:
        self.values.append(x)

    def remove(self, x: Any) -> None:
        self.values.pop()

    def value(self) -> Any:
        if not self.values:
            raise KeyError("the expression has no value")
        return self.values[0]


class Distinct:
    """Gives an aggregate each element once, however many combinations have it. Of equal ones it takes
    back the one that it gave: 1, not 1.0."""

    def __init__(self, aggregate: Any) -> None:
        self.aggregate = aggregate
        self.counts: dict[Any, int] = {}
        self.kind: Any = None  # the class of all elements; `NOTHING` where there were several

    def add(self, x: Any) -> None:
        if x.__class__ is not self.kind:
            self.kind = x.__class__ if self.kind is None else NOTHING
        count = self.counts.get(x, 0)
        self.counts[x] = count + 1
        if not count:
            self.aggregate.add(x)

    def remove(self, x: Any) -> None:
        count = self.counts[x]
        if count == 1:
            if self.kind is NOTHING:
                x = stored(self.counts, x)
            del self.counts[x]
            self.aggregate.remove(x)
        else:
            self.counts[x] = count - 1

    def value(self) -> Any:
        return self.aggregate.value()

    def is_exact(self) -> bool:
        return bool(self.aggregate.is_exact())


CLASSES = {
    "len": "Len",
    "sum": "Sum",
    "any": "AnyTrue",
    "all": "AllTrue",
    "min": "Min",
    "max": "Max",
    "mean": "Mean",
    "smallest": "Smallest",
    "exists": "Exists",
    "value": "Value",
    "set": "SetOf",
    "dict": "DictOf",
}
