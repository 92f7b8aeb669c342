"""Run a program with its maintenance measured: `incoq profile`.

The functions of the support code that perform an update, a demand or a query are wrapped, and their loops
counted. What stands for the original program is evaluation of the query as it was written, on the live
objects, timed for a sample of the calls: the first ones all, later ones more and more rarely, each standing
for those between it and the next.

Times of the compiled program include the counting, so they are a little too long; the sampled evaluations are
timed without.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from incoq.codegen.build_program import RewrittenModule
from incoq.compile import Compiled
from incoq.counting import count_loops
from incoq.evaluator import compile_naive
from incoq.frontend.find_queries import QuerySite
from incoq.loading import LoadedProgram
from incoq.verified_run import definition_of

SIZES_KEPT = 200  # of the sizes over time; then every other is forgotten, and half as many are taken
SAMPLED = 32  # evaluations of each query before they become rarer, and between doublings of the distance
_COUNTS = "incoq_loop_counts"


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


class ProfiledRun:
    """One run of a program, measured."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.counts: list[int] = []
        self.functions: list[str] = []
        self.program = LoadedProgram(compiled, self._count)
        self._namespace = self.program.support.__dict__
        shown = [q.name for q in compiled.plan.queries if not q.nested]
        self.profile = Profile({name: QueryFigures(name) for name in shown})
        self.profile.sizes = {i.name: [] for i in compiled.plan.invariants}
        self.profile.largest = dict.fromkeys(self.profile.sizes, 0)
        self._stride, self._depth = 1, 0
        self._naive: dict[str, _Naive] = {}
        self._modules: dict[str, RewrittenModule | None] = {}
        self._definitions = {
            s.query.name: {s.node.name} for s in compiled.sites if isinstance(s.node, ast.FunctionDef)
        }
        self._instrument()

    def run(self, argv: Sequence[str], entry: str | None = None) -> None:
        """Run the program as `__main__`; its exceptions pass through, and what was measured stays."""
        self._take_sizes()
        try:
            self.program.run(argv, entry)
        finally:
            self._take_sizes()
            for function, count in zip(self.functions, self.counts, strict=False):
                if count:
                    self.profile.blocks[function] = self.profile.blocks.get(function, 0) + count

    # -- instrumentation ---------------------------------------------------------------------------

    def _count(self, tree: ast.Module) -> Mapping[str, Any]:
        loops = count_loops(tree, _COUNTS)
        self.functions = [loop.function for loop in loops]
        self.counts = [0] * len(loops)
        return {_COUNTS: self.counts}

    def _instrument(self) -> None:
        support, namespace = self.compiled.support, self._namespace
        for site, query in zip(self.compiled.sites, self.compiled.plan.queries, strict=True):
            if query.nested:
                continue
            answers = self.compiled.plan.result_of(query.name).name
            name = support.ask[query.name]
            positions = [query.all_params.index(p) for p in query.demand]
            self._naive[query.name] = _Naive(site, self.program, len(query.all_params))
            namespace[name] = self._asking(namespace[name], query.name, answers, positions)
        tables = (support.setters, support.deleters, support.demand, support.release)
        for name in [n for table in tables for n in table.values()] + [support.setattr_, support.delattr_]:
            namespace[name] = self._updating(namespace[name], name)
        for container, methods in (("Set", ("add", "discard")), ("Dict", ("__setitem__", "__delitem__"))):
            owner = namespace[support.names[container]]
            for method in methods:
                name = f"{container}.{method}"
                setattr(owner, method, self._updating(getattr(owner, method), name))

    def _updating(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def measured(*args: Any) -> Any:
            if self._depth:
                return function(*args)
            self._depth += 1
            before = sum(self.counts)
            start = perf_counter_ns()
            try:
                return function(*args)
            finally:
                spent = perf_counter_ns() - start
                self._depth -= 1
                place = self._place(self.profile.updated, name)
                place.calls += 1
                place.nanoseconds += spent
                place.iterations += sum(self.counts) - before
                self._event()

        measured.__name__, measured.__doc__ = function.__name__, function.__doc__
        return measured

    def _asking(
        self, function: Callable[..., Any], query: str, answers: str, positions: list[int]
    ) -> Callable[..., Any]:
        figures, kept = self.profile.queries[query], self._namespace[answers]

        def measured(*args: Any) -> Any:
            key = tuple(args[i] for i in positions)
            try:
                hit = (key[0] if len(key) == 1 else key) in kept
            except TypeError:  # not a key: the query itself says so
                return function(*args)
            outermost = not self._depth
            self._depth += 1
            before = sum(self.counts)
            start = perf_counter_ns()
            try:
                return function(*args)
            finally:
                spent = perf_counter_ns() - start
                self._depth -= 1
                figures.calls += 1
                figures.hits += hit
                figures.misses += not hit
                if outermost:
                    work = sum(self.counts) - before
                    place = self._place(self.profile.asked, query)
                    for counted in (figures, place):
                        counted.iterations += work
                        counted.nanoseconds += spent
                    place.calls += 1
                    self._naive[query].sample(figures, args)
                    self._event()

        measured.__name__, measured.__doc__ = function.__name__, function.__doc__
        return measured

    def _place(self, places: dict[tuple[str, int, str], Place], name: str) -> Place:
        """The line of the program that is being executed; for a query not its own, but that of its caller."""
        frame: Any = sys._getframe(2)
        while frame is not None:
            filename = frame.f_code.co_filename
            if filename not in self._modules:
                self._modules[filename] = self.program.module_of(filename)
            rewritten = self._modules[filename]
            if rewritten is not None and frame.f_code.co_name not in self._definitions.get(name, ()):
                file, line = rewritten.module.filename, frame.f_lineno
                key = (file, line, name)
                if key not in places:
                    text = rewritten.module.source.splitlines()[line - 1].strip()
                    places[key] = Place(file, line, name, text)
                return places[key]
            frame = frame.f_back
        return places.setdefault(("", 0, name), Place("", 0, name, "outside the program"))

    # -- sizes -------------------------------------------------------------------------------------

    def _event(self) -> None:
        self.profile.events += 1
        if self.profile.events % self._stride == 0:
            self._take_sizes()

    def _take_sizes(self) -> None:
        profile = self.profile
        if profile.moments and profile.moments[-1] == profile.events:
            return
        profile.moments.append(profile.events)
        for invariant in self.compiled.plan.invariants:
            size = self.compiled.space_of(invariant, self._namespace)
            profile.sizes[invariant.name].append(size)
            profile.largest[invariant.name] = max(profile.largest[invariant.name], size)
        if len(profile.moments) > SIZES_KEPT:
            self._stride *= 2
            for series in (profile.moments, *profile.sizes.values()):
                del series[1::2]


class _Naive:
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
            globals_[_COUNTS] = self.counts
            definition = definition_of(self.site)
            plain = compile_naive(definition, globals_)
            counted = compile_naive(definition, globals_, prepare=self._count)
            self.evaluators = len(globals_), plain, counted
        _, plain, counted = self.evaluators
        globals_[_COUNTS] = self.counts
        start = perf_counter_ns()
        _finish(plain, args)
        spent = perf_counter_ns() - start
        self.counts[:] = [0] * len(self.counts)
        _finish(counted, args)
        return spent, sum(self.counts)

    def _count(self, tree: ast.Module) -> None:
        self.counts[:] = [0] * len(count_loops(tree, _COUNTS))


def _finish(evaluator: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Evaluate; what the query raises (`min` of nothing) the program sees from its own call."""
    with contextlib.suppress(Exception):
        evaluator(*args)
