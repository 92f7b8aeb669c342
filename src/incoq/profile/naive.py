"""What evaluating a query at each call would have cost: measured for a sample of the calls.

The first calls are all evaluated, later ones more and more rarely, each standing for those between it and the
next. The query is evaluated as it was written, on the live objects; time is taken without counting.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from typing import Any

from incoq.counting import count_loops
from incoq.evaluator import compile_naive
from incoq.frontend.find_queries import QuerySite
from incoq.loading import LoadedProgram
from incoq.profile.figures import QueryFigures, clock
from incoq.verified_run import definition_of

COUNTS = "incoq_loop_counts"  # the name of the counters in the code that is counted
SAMPLED = 32  # evaluations of each query before they become rarer, and between doublings of the distance


class Naive:
    """The evaluation of one query as it was written, timed and counted for a sample of its calls."""

    def __init__(self, site: QuerySite, program: LoadedProgram, width: int) -> None:
        self.site, self.program, self.width = site, program, width
        self.counts: list[int] = []
        self.waiting, self.distance, self.taken = 0, 1, 0
        self.evaluators: tuple[int, Callable[..., Any], Callable[..., Any]] | None = None
        self.last = (0, 0)  # nanoseconds and iterations of the last sample

    def sample(self, figures: QueryFigures, args: tuple[Any, ...]) -> None:
        """Count one call; evaluate it if its turn has come."""
        if self.waiting == 0 and len(args) == self.width:
            self.last = self._evaluate(args)
            figures.samples += 1
            self.taken += 1
            self.waiting = self.distance
            if self.taken % SAMPLED == 0:
                self.distance *= 2
        self.waiting -= self.waiting > 0
        figures.naive_nanoseconds += self.last[0]
        figures.naive_iterations += self.last[1]

    def _evaluate(self, args: tuple[Any, ...]) -> tuple[int, int]:
        globals_ = self.program.namespace(self.site.module.filename)
        if self.evaluators is None or self.evaluators[0] != len(globals_):
            globals_[COUNTS] = self.counts
            definition = definition_of(self.site)
            plain = compile_naive(definition, globals_)
            counted = compile_naive(definition, globals_, prepare=self._count)
            self.evaluators = len(globals_), plain, counted
        _, plain, counted = self.evaluators
        globals_[COUNTS] = self.counts
        start = clock()
        _finish(plain, args)
        spent = clock() - start
        self.counts[:] = [0] * len(self.counts)
        _finish(counted, args)
        return spent, sum(self.counts)

    def _count(self, tree: ast.Module) -> None:
        self.counts[:] = [0] * len(count_loops(tree, COUNTS))


def _finish(evaluator: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Evaluate; what the query raises (`min` of nothing) the program sees from its own call."""
    with contextlib.suppress(Exception):
        evaluator(*args)
