"""What an experiment is: which versions run, at which sizes, with how many operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from incoq.evaluate.drivers import ALL, Point

SEED = 20160901


@dataclass(frozen=True)
class Plan:
    """The sizes of a run, and how many operations each sample times."""

    sizes: tuple[int, ...]
    operations: int
    seconds: float
    """About what a sample takes, with its share of the preparation."""
    options: Mapping[str, Any] = field(default_factory=dict)
    fewer: Mapping[str, int] = field(default_factory=dict)
    """Operations of the versions that are too slow for as many as the others."""
    together: int = 10
    """How many runs of a part are forked from one prepared process."""


@dataclass(frozen=True)
class Experiment:
    """One figure or table: `axis` says what the sizes are, `limits` up to which size a mode runs."""

    name: str
    title: str
    driver: str
    source: str
    axis: str
    modes: tuple[str, ...]
    full: Plan
    quick: Plan
    parts: tuple[str, ...] = (ALL,)
    limits: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    in_quick: bool = True
    """Whether a quick run has it; the others would make it too long."""

    def plan(self, quick: bool) -> Plan:
        return self.quick if quick else self.full

    def point(self, size: int, quick: bool, mode: str | None = None) -> Point:
        """What a version does at this size; without one, all that any version does."""
        plan = self.plan(quick)
        return Point(size, plan.fewer.get(mode or "", plan.operations), plan.options)

    def smallest_point(self, size: int, quick: bool) -> Point:
        """So few operations that every version does them."""
        plan = self.plan(quick)
        least = min((plan.fewer[mode] for mode in self.modes if mode in plan.fewer), default=plan.operations)
        return Point(size, min(least, plan.operations), plan.options)

    def sizes(self, mode: str, quick: bool) -> list[int]:
        limit = self.limits.get(mode)
        return [size for size in self.plan(quick).sizes if limit is None or size <= limit]
