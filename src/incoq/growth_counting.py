"""Run the maintenance code of a program with every loop counted, for `incoq growth`.

The support code is instrumented as a tree, before it is compiled:

Before:    for celeb in demand_nyc_fans_2_1.get(group, ()):  # #demand.1{2=group}
               ...
After:     for celeb in visited(demand_nyc_fans_2_1.get(group, ()), '#demand.1{2=group}'):
               tally[7] += 1
               ...

An iteration of a loop or of a comprehension counts one, `list(s)` and its like count the size of `s`, and an
operation on a heap the logarithm of its size. The largest image set that a loop over a factor has met is the
value of that factor, with which formulas are evaluated. No clock is read.
"""

from __future__ import annotations

import ast
import heapq
import io
import sys
import tokenize
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incoq.codegen.build_package import names_needed, provide, standalone_support
from incoq.codegen.render_demand import ADOPTS
from incoq.compile import Compiled
from incoq.counting import count_loops
from incoq.invariants.event_costs import ADOPTED

TALLY, VISITED, BULK = (f"_growth_{word}" for word in ("tally", "visited", "bulk"))
_LINEAR = frozenset(
    {"list", "tuple", "set", "frozenset", "sorted", "dict", "sum", "min", "max", "any", "all"}
)

HEAP = "heap"  # what the elements of a minimum or maximum are kept in
SETS, DICTS = "s.add(x), s.discard(x)", "d[k] = v, del d[k]"


def field_update(name: str) -> str:
    """What `explain` calls the updates of a field."""
    return f"o.{name} = x, del o.{name}"


@dataclass
class Phase:
    """What one stretch of a world did: how many updates of each kind, and all iterations that they took.

    `sizes` gives for each factor the size of the largest image set that a loop has met.
    """

    events: dict[str, int] = field(default_factory=dict)
    iterations: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def mean(self, kind: str) -> float:
        return self.iterations[kind] / self.events[kind]


class Tally:
    """Takes the counters of all loops, `tally[n] += 1`, as one."""

    def __init__(self) -> None:
        self.total = 0

    def __getitem__(self, loop: int) -> int:
        return 0

    def __setitem__(self, loop: int, more: int) -> None:
        self.total += more


class CountedCode:
    """The code of a compiled program of one module, the support code instrumented."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        (self.module,) = compiled.modules
        text = standalone_support(compiled.program, compiled.support)
        tree = ast.parse(text)
        _Counting(_factors(text)).visit(tree)
        count_loops(tree, TALLY)
        self.support = compile(tree, "<counted support>", "exec")
        self.program = compile(self.module.text, self.module.module.filename, "exec")


class CountedProgram:
    """A program in memory whose updates and queries are counted."""

    def __init__(self, code: CountedCode) -> None:
        self.compiled = code.compiled
        self.tally = Tally()
        self.phase = Phase()
        self._depth = 0
        support = self._support(code)
        filename = code.module.module.filename
        self.namespace: dict[str, Any] = {"__name__": "program", "__file__": filename}
        names = names_needed(code.module, self.compiled.support)
        provide(self.namespace, names, self.compiled.support, support)
        with _beside(Path(filename)):
            exec(code.program, self.namespace)

    def run(self, world: str, size: int) -> list[Phase]:
        """Build a world, and return what each phase of it took after that; a `yield` ends a phase."""
        phases: list[Phase] = []
        for _ in self.namespace[world](size):
            phases.append(self.phase)
            self.phase = Phase()
        phases.append(self.phase)
        return phases[1:]

    # -- instrumentation ---------------------------------------------------------------------------

    def _support(self, code: CountedCode) -> dict[str, Any]:
        support = self.compiled.support
        namespace: dict[str, Any] = {
            "__name__": "support",
            TALLY: self.tally,
            VISITED: self._visited,
            BULK: self._bulk,
        }
        exec(code.support, namespace)
        for functions in (support.setters, support.deleters):
            for name, function in functions.items():
                namespace[function] = self._counted(namespace[function], _always(field_update(name)))
        for query, function in support.ask.items():
            namespace[function] = self._counted(namespace[function], self._asking(query, namespace))
        for cls, methods, kind in (
            (support.maintained, ("add", "discard"), SETS),
            (support.names["Dict"], ("__setitem__", "__delitem__"), DICTS),
        ):
            made = namespace[cls]
            for method in methods:
                setattr(made, method, self._counted(getattr(made, method), _always(kind)))
        return namespace

    def _asking(self, query: str, namespace: dict[str, Any]) -> Callable[[bool], str]:
        """Tells a first ask, which changes how much is demanded, from the others."""
        answers = namespace[self.compiled.plan.result_of(query).name]
        before = [0]

        def kind(begins: bool) -> str:
            if begins:
                before[0] = len(answers)
                return ""
            return f"first ask of {query}" if len(answers) > before[0] else f"asking {query} again"

        return kind

    def _counted(self, function: Callable[..., Any], kind: Callable[[bool], str]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            if self._depth:
                return function(*args)
            kind(True)
            before = self.tally.total
            self._depth += 1
            try:
                return function(*args)
            finally:
                self._depth -= 1
                event, phase = kind(False), self.phase
                phase.events[event] = phase.events.get(event, 0) + 1
                spent = self.tally.total - before
                phase.iterations[event] = phase.iterations.get(event, 0) + spent

        return counted

    def _visited(self, iterable: Any, factor: str) -> Any:
        if factor:
            self._met(factor, len(iterable) if hasattr(iterable, "__len__") else 0)
        return iterable

    def _met(self, factor: str, size: int) -> None:
        self.phase.sizes[factor] = max(self.phase.sizes.get(factor, 1), size)

    def _bulk(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        if args and hasattr(args[0], "__len__"):
            size = len(args[0])
            if function in (heapq.heappush, heapq.heappop):
                self._met(HEAP, size)
                size = size.bit_length()
            self.tally.total += size
        return function(*args, **named)


class _Counting(ast.NodeTransformer):
    def __init__(self, factors: dict[int, str]) -> None:
        self.factors = factors

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if ast.get_docstring(node) == ADOPTS:
            for inner in ast.walk(node):
                if isinstance(inner, ast.For):
                    self.factors[inner.lineno] = ADOPTED.text
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = _call(VISITED, node.iter, ast.Constant(self.factors.get(node.lineno, "")))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id=name) if name in _LINEAR:
                return ast.Call(ast.Name(BULK, ast.Load()), [node.func, *node.args], node.keywords)
            case ast.Attribute(value=ast.Name(id="heapq")):
                return ast.Call(ast.Name(BULK, ast.Load()), [node.func, *node.args], node.keywords)
        return node


def _always(kind: str) -> Callable[[bool], str]:
    return lambda begins: kind


def _call(function: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(function, ast.Load()), list(args), [])


def _factors(text: str) -> dict[int, str]:
    """The factor that a loop goes through, by line: the generator writes it at the end of the line."""
    found: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.string.startswith("# #"):
            found[token.start[0]] = token.string.removeprefix("# ")
    return found


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Imports of the program find what lies beside it."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
