"""A case: one program with everything that the measurement needs to know of it.

Operations are calls of two arguments, `(function, x, y)`; all versions of a program have the functions, and
all perform the same calls. Whatever an operation puts in, a later one of its list takes out again.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Operation = tuple[Callable[[Any, Any], Any], Any, Any]


@dataclass(frozen=True)
class Workload:
    """Operations that are timed together. Updates are of what is *untagged* where the program by hand keeps
    nothing about what they change."""

    name: str
    kind: str  # query, tagged, untagged, demand, release or mixed
    operations: list[Operation]


@dataclass(frozen=True)
class Case:
    name: str
    program: str  # the path of its source, from the root of the checkout
    extra: str  # functions added to that source
    requery: str  # the query as an expert would evaluate it anew, in place of the program's
    make: Callable[[Any, int, random.Random], Any]  # (program, size, rng) -> world, asked once
    workloads: Callable[[Any, Any, random.Random, int], list[Workload]]  # (program, world, rng, count)
    answers: Callable[[Any, Any], Any]


def there_and_back(pairs: list[tuple[Any, Any, bool]], enter: Any, leave: Any) -> list[Operation]:
    """Of (x, y, whether x is in y now): take a member out and put it back, or a stranger in and out."""
    return [
        (function, x, y)
        for x, y, inside in pairs
        for function in ((leave, enter) if inside else (enter, leave))
    ]
