"""What a driver is: a program's data, what comes before the clock, and what is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from incoq.evaluate.workloads import Table

Data = Mapping[str, Mapping[str, list[Any]]]
ALL, UPDATES = "all", "updates"  # the timed loop with its queries, and the same one without them
FOLLOWS = "follows"  # another loop: a follower of a demanded user makes room for another user


@dataclass(frozen=True)
class Point:
    """Where something is measured: the value on the axis, and what else the driver wants to know."""

    size: int
    operations: int
    options: Mapping[str, Any]

    def option(self, name: str, default: Any) -> Any:
        return self.options.get(name, default)


@dataclass(frozen=True)
class Prepared:
    """All that is left is to run a part; `answers` says, afterwards, what every version must agree on."""

    parts: Mapping[str, Callable[[], object]]
    answers: Callable[[], object]


def reference(query: Any) -> Any:
    """The form of a query that hands out its stored answer uncopied, as the paper's programs do.

    A call gives the caller a set of its own, which takes time in proportion to it. The original has no stored
    answer and makes a new one in either case.
    """
    return getattr(query, "view", query)


@dataclass(frozen=True)
class Driver:
    """A program with the tables of its workload and its preparation."""

    program: str
    tables: Callable[[Point], dict[str, Table]]
    prepare: Callable[[Any, Data, Point], Prepared]
