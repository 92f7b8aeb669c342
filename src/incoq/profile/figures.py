"""What is measured: places, queries, and the whole profile."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

# CPU time, so that what else the machine does is not counted; where that is too coarse, time by the clock.
clock = time.thread_time_ns if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter_ns


@dataclass(frozen=True)
class Work:
    """One call of a measured function; one that another such function made is not `outermost`."""

    args: tuple[Any, ...]
    outermost: bool
    nanoseconds: int
    iterations: int


@dataclass
class Place:
    """A line of the program; `name` is the query that it asks, or the generated function that updates."""

    file: str
    line: int
    name: str
    text: str
    calls: int = 0
    iterations: int = 0
    nanoseconds: int = 0

    def add(self, work: Work) -> None:
        self.calls += 1
        self.iterations += work.iterations
        self.nanoseconds += work.nanoseconds


@dataclass
class QueryFigures:
    """What a query was asked, and what evaluating it at each call would have cost (estimated)."""

    name: str
    calls: int = 0
    hits: int = 0
    misses: int = 0
    iterations: int = 0
    nanoseconds: int = 0
    samples: int = 0
    naive_iterations: float = 0
    naive_nanoseconds: float = 0


@dataclass
class Profile:
    """All that was measured."""

    queries: dict[str, QueryFigures]
    asked: dict[tuple[str, int, str], Place] = field(default_factory=dict)
    updated: dict[tuple[str, int, str], Place] = field(default_factory=dict)
    events: int = 0
    moments: list[int] = field(default_factory=list)  # after how many events sizes were taken
    sizes: dict[str, list[int]] = field(default_factory=dict)
    largest: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, int] = field(default_factory=dict)  # iterations by generated function

    @property
    def maintenance(self) -> int:
        """Nanoseconds of all updates, their own effect included."""
        return sum(p.nanoseconds for p in self.updated.values())

    @property
    def asking(self) -> int:
        return sum(q.nanoseconds for q in self.queries.values())

    @property
    def naive(self) -> float:
        return sum(q.naive_nanoseconds for q in self.queries.values())
