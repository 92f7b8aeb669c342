"""The gates, in the order in which they run."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from trust.outcome import Outcome


@dataclass(frozen=True)
class Gate:
    """A gate by the name of its module, and its share of the time that a whole run may take."""

    name: str
    subject: str
    share: float = 1.0

    def run(self, budget_seconds: float, seed: int) -> Outcome:
        """Run it; an exception of the gate itself is a failure like any other."""
        try:
            function: Callable[[float, int], Outcome] = importlib.import_module(f"trust.{self.name}").run
            return function(budget_seconds, seed)
        except Exception as error:
            return Outcome(self.name, "it broke off", "-", (f"{type(error).__name__}: {error}",))


GATES = (
    Gate("volume", "random programs against straightforward evaluation", 4),
    Gate("plans", "the same answers under every join order, mode, strategy and saving", 2),
    Gate("routes", "every route of mutation is maintained or refused", 0.5),
    Gate("exceptions", "an exception before any statement leaves every invariant true", 2),
    Gate("threads", "eight threads that share a lock", 0.5),
    Gate("memory", "demand that comes and goes leaves nothing behind", 1),
    Gate("leaks", "each test of the suite, again and again in one process", 2),
    Gate("packages", "popular packages compiled with `--all` pass their own tests", 3),
    Gate("size", "large programs end in an answer or a coded refusal", 2),
    Gate("names", "fuzzed identifiers and strings, a canary, hash seeds", 2),
    Gate("branches", "the ordinary tests take the branches of the phases", 2),
    Gate("mutants", "small changes of the compiler make an ordinary test fail", 4),
    Gate("seeded", "bugs put into the compiler are seen by the ordinary tests", 3),
    Gate("damage", "stored files of a pipeline that were truncated, flipped or swapped", 2),
    Gate("pipeline", "kills on a cluster, a full disk, a read-only one, a long run", 4),
)
