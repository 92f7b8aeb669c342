"""Run a program with its maintenance measured: `incoq profile`.

The functions of the support code that perform an update, a demand or a query are wrapped, and their loops
counted. What stands for the original program is evaluation of the queries as written (`naive.py`).

Times of the compiled program include the counting, so they are a little too long; the sampled evaluations are
timed without.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from incoq.codegen.build_program import RewrittenModule
from incoq.compile import Compiled
from incoq.counting import count_loops
from incoq.explain.functions import CONTAINERS
from incoq.loading import LoadedProgram, classes_of
from incoq.profile.figures import Place, Profile, QueryFigures, Work, clock
from incoq.profile.naive import COUNTS, Naive

SIZES_KEPT = 200  # of the sizes over time; then every other is forgotten, and half as many are taken


class ProfiledRun:
    """One run of a program, measured."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.counts: list[int] = []
        self.functions: list[str] = []
        self.program = LoadedProgram(compiled, self._count)
        self._namespace = self.program.support.__dict__
        shown = [site.query.name for site in compiled.sites if site.node is not None]
        self.profile = Profile({name: QueryFigures(name) for name in shown})
        self._kept = [i for i in compiled.plan.invariants if i.name in self._namespace]  # not all are stored
        self.profile.sizes = {i.name: [] for i in self._kept}
        self.profile.largest = dict.fromkeys(self.profile.sizes, 0)
        self._stride, self._depth = 1, 0
        self._naive: dict[str, Naive] = {}
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
        loops = count_loops(tree, COUNTS)
        self.functions = [loop.function for loop in loops]
        self.counts = [0] * len(loops)
        return {COUNTS: self.counts}

    def _instrument(self) -> None:
        support, namespace = self.compiled.support, self._namespace
        for site, query in zip(self.compiled.sites, self.compiled.plan.queries, strict=True):
            if site.node is None:  # part of another query
                continue
            answers = self.compiled.plan.result_of(query.name).name
            name = support.ask[query.name]
            positions = [query.all_params.index(p) for p in query.demand]
            self._naive[query.name] = Naive(site, self.program, len(query.all_params))
            namespace[name] = self._asking(namespace[name], query.name, answers, positions)
        tables = (support.setters, support.deleters, support.demand, support.release)
        for name in [n for table in tables for n in table.values()] + [support.setattr_, support.delattr_]:
            namespace[name] = self._updating(namespace[name], name)
        for container, methods in CONTAINERS.items():
            for owner in classes_of(namespace, namespace[support.names[container]]):
                for method in methods:
                    if method in vars(owner):
                        name = f"{container}.{method}"
                        setattr(owner, method, self._updating(vars(owner)[method], name))

    def _updating(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def noted(work: Work) -> None:
            if work.outermost:
                self._place(self.profile.updated, name).add(work)
                self._event()

        return self._measured(function, noted)

    def _asking(
        self, function: Callable[..., Any], query: str, answers: str, positions: list[int]
    ) -> Callable[..., Any]:
        figures, kept = self.profile.queries[query], self._namespace[answers]
        hits: list[bool] = []  # of the calls that are running, the innermost last

        def noted(work: Work) -> None:
            hit = hits.pop()
            figures.calls += 1
            figures.hits += hit
            figures.misses += not hit
            if work.outermost:
                figures.iterations += work.iterations
                figures.nanoseconds += work.nanoseconds
                self._place(self.profile.asked, query).add(work)
                self._naive[query].sample(figures, work.args)
                self._event()

        ask = self._measured(function, noted)

        def asked(*args: Any) -> Any:
            key = tuple(args[i] for i in positions)
            try:
                hit = (key[0] if len(key) == 1 else key) in kept
            except TypeError:  # a list or dict that no query has reached, or what cannot be a key
                hit = False
            hits.append(hit)
            return ask(*args)

        return _named_like(asked, function)

    def _measured(self, function: Callable[..., Any], noted: Callable[[Work], None]) -> Callable[..., Any]:
        """The function with its time and iterations noted; what it raises passes through."""

        def measured(*args: Any) -> Any:
            outermost = not self._depth
            self._depth += 1
            before = sum(self.counts)
            start = clock()
            try:
                return function(*args)
            finally:
                spent = clock() - start
                self._depth -= 1
                noted(Work(args, outermost, spent, sum(self.counts) - before))

        return _named_like(measured, function)

    def _place(self, places: dict[tuple[str, int, str], Place], name: str) -> Place:
        """The line of the program that is being executed; for a query not its own, but that of its caller."""
        frame: Any = sys._getframe(1)
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
        for invariant in self._kept:
            size = self.compiled.space_of(invariant, self._namespace)
            profile.sizes[invariant.name].append(size)
            profile.largest[invariant.name] = max(profile.largest[invariant.name], size)
        if len(profile.moments) > SIZES_KEPT:
            self._stride *= 2
            for series in (profile.moments, *profile.sizes.values()):
                del series[1::2]


def _named_like(wrapper: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    wrapper.__name__, wrapper.__doc__ = function.__name__, function.__doc__
    return wrapper
