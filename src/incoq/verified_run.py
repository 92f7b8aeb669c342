"""Run a compiled program with everything checked after each update and query: `incoq verify`.

The functions of the support code that perform an update, a demand or a query are wrapped; the program calls
the wrapped ones. After each, every invariant is recomputed (`verify.py`), and every answer is compared with
the straightforward evaluation of the query as it was written.
"""

from __future__ import annotations

import ast
import copy
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from incoq.compile import Compiled
from incoq.errors import CompileError, IncoqRuntimeError, Position
from incoq.evaluator import compile_naive
from incoq.frontend.class_bodies import class_around
from incoq.frontend.find_queries import QuerySite
from incoq.ir.relational import RelationalQuery
from incoq.loading import LoadedProgram, classes_of
from incoq.names import mangled
from incoq.verify import Checker, Difference, show
from incoq.verify_tests import agree, is_nan, kept_value

# The methods of the containers after which everything is consistent. A list does one change in several steps,
# between which its content is not what maintenance takes it for.
WHOLE = {
    "Set": ("add", "discard"),
    "Dict": ("__setitem__", "__delitem__"),
    "List": ("append", "insert", "extend", "pop", "remove", "clear", "__setitem__", "__delitem__"),
}


class _Stop(BaseException):
    """Ends the program at the first difference; not an Exception, so that the program does not catch it."""


class VerificationError(CompileError):
    """The first difference that a verified run found."""

    def __init__(self, message: str, position: Position | None) -> None:
        super().__init__("IQ400", message, position)


class VerifiedRun:
    """One run of a program with checks."""

    def __init__(self, compiled: Compiled, every: int = 1) -> None:
        self.compiled, self.every = compiled, every
        self.program = LoadedProgram(compiled)
        self.events = self.checks = self.answers = self._depth = 0
        self.largest = dict.fromkeys((i.name for i in compiled.plan.structures()), 0)
        self.failure: VerificationError | None = None
        namespace = self.program.support.__dict__
        self.checker = Checker(compiled, namespace, limit=math.inf)
        self._evaluators: dict[str, tuple[int, Callable[..., Any]]] = {}
        self._instrument(namespace)

    def run(self, argv: Sequence[str], entry: str | None = None) -> None:
        """Run the program as `__main__`; raises VerificationError at the first difference."""
        try:
            self.program.run(argv, entry)
        except _Stop:
            pass
        finally:
            if self.failure is None:  # once more at the end, whatever `every` says
                self._check("the end of the program")
            if self.failure is not None:
                raise self.failure from None

    def summary(self) -> str:
        """What was run and checked."""
        outcome = "no differences" if self.failure is None else "DIFFERENCE"
        lines = [
            f"verify: {outcome}; {self.events:,} updates and queries, {self.checks:,} checks of "
            f"{len(self.largest)} invariants, {self.answers:,} answers evaluated"
        ]
        if self.program.support.__dict__[self.compiled.support.names["REFUSED"]]:
            lines.append("verify: the program reached what is refused; nothing was checked after that")
        sizes = sorted(self.largest.items(), key=lambda item: (-item[1], item[0]))[:8]
        lines += [f"  {name:<40} at most {size:>8,} entries" for name, size in sizes]
        return "\n".join(lines)

    # -- instrumentation ---------------------------------------------------------------------------

    def _instrument(self, namespace: dict[str, Any]) -> None:
        support = self.compiled.support
        tables = (
            support.setters,
            support.changers,
            support.deleters,
            support.ask,
            support.view,
            support.demand,
            support.release,
        )
        names = [n for table in tables for n in table.values()] + [support.setattr_, support.delattr_]
        for name in names:
            namespace[name] = self._wrapped(namespace[name], name)
        for container, methods in WHOLE.items():
            for owner in classes_of(namespace, namespace[support.names[container]]):
                for method in methods:
                    if method in vars(owner):
                        checked = self._wrapped(vars(owner)[method], f"{container}.{method}")
                        setattr(owner, method, checked)

    def _wrapped(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def checked(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            try:
                return function(*args, **kwargs)
            finally:
                self._depth -= 1
                if self._depth == 0 and self.failure is None:
                    self.events += 1
                    if self.events % self.every == 0:
                        self._check(f"{name}({', '.join(map(show, args))})")
                        if self.failure is not None:
                            raise _Stop

        checked.__name__, checked.__doc__ = function.__name__, function.__doc__
        return checked

    def _check(self, event: str) -> None:
        batch = self.program.support.__dict__.get(self.compiled.support.names.get("batch", ""))
        if batch is not None and batch.is_open:
            return  # what waits is maintained at its end
        self.checks += 1
        self._depth += 1
        try:
            self.checker.check()
            self._check_answers()
        except Difference as difference:
            message = f"after event {self.events}, {event}: {difference}".rstrip()
            self.failure = VerificationError(message, self._place())
        finally:
            self._depth -= 1
        namespace = self.program.support.__dict__
        for name in self.largest:
            self.largest[name] = max(self.largest[name], len(namespace[name]))

    def _place(self) -> Position | None:
        """The line of the program that is being executed."""
        frame: Any = sys._getframe()
        while frame is not None:
            rewritten = self.program.module_of(frame.f_code.co_filename)
            if rewritten is not None:
                line = rewritten.module.source.splitlines()[frame.f_lineno - 1]
                return Position(rewritten.module.filename, frame.f_lineno, 1, line)
            frame = frame.f_back
        return None

    # -- answers -----------------------------------------------------------------------------------

    def _check_answers(self) -> None:
        """Every answer that is kept against the query as it was written."""
        if self.checker.refused:
            return
        for site, query in zip(self.compiled.sites, self.compiled.plan.queries, strict=True):
            if site.node is None:  # part of another query, whose answers show it
                continue
            if query.aggregate is not None:
                self._check_aggregate(site, query)
                continue
            result = self.compiled.plan.result_of(query.name)
            for key, kept in self.program.support.__dict__[result.name].items():
                demand = (key,) if len(query.demand) == 1 else key
                rows = kept.items() if query.rest else [((), kept)]
                for rest, answer in rows:
                    others = (rest,) if len(query.rest) == 1 else rest
                    values = dict(zip((*query.demand, *query.rest), (*demand, *others), strict=True))
                    expected = self._evaluate(site, query, values)
                    if expected is not None and _plain(expected) != _plain(answer):
                        raise Difference(result, {key: set(expected)}, {key: set(answer)})

    def _check_aggregate(self, site: QuerySite, query: RelationalQuery) -> None:
        if query.rest:
            return
        missing = self.checker.values.missing
        result = self.compiled.plan.result_of(query.name)
        for key, kept in self.program.support.__dict__[result.name].items():
            demand = (key,) if len(query.demand) == 1 else key
            try:
                expected = self._evaluate(site, query, dict(zip(query.demand, demand, strict=True)))
            except Exception:  # min() of nothing, say: the program's own error
                expected = missing
            assert query.aggregate is not None
            found = kept_value(query.aggregate, kept, missing)
            if expected is not None and not agree(_without_nan(expected), _without_nan(found)):
                raise Difference(result, {key: expected}, {key: found})

    def _evaluate(self, site: QuerySite, query: RelationalQuery, values: dict[str, Any]) -> Any:
        globals_ = self.program.namespace(site.module.filename)
        size, evaluator = self._evaluators.get(query.name, (-1, None))
        if evaluator is None or size != len(globals_):  # a name that is new may be one the query reads
            evaluator = compile_naive(definition_of(site), globals_)
            self._evaluators[query.name] = len(globals_), evaluator
        self.answers += 1
        try:
            with self.checker.values.as_in_python():
                return evaluator(*(values[p] for p in query.all_params))
        except IncoqRuntimeError:
            return None


def definition_of(site: QuerySite) -> ast.FunctionDef:
    """The query as a function of all its parameters, hidden ones included."""
    if isinstance(site.node, ast.FunctionDef):
        returned = site.node.body[-1]
        assert isinstance(returned, ast.Return) and returned.value is not None
        body = returned.value
    else:
        assert site.node is not None
        body = site.node.args[0] if isinstance(site.node, ast.Call) and not site.faults else site.node
    params = [ast.arg(p) for p in site.query.all_params]
    arguments = ast.arguments([], params, None, [], [], None, [])
    made = ast.FunctionDef(site.query.name, arguments, [ast.Return(_with_private_names(site, body))], [])
    return ast.fix_missing_locations(ast.copy_location(made, site.node))


def _with_private_names(site: QuerySite, body: ast.expr) -> ast.expr:
    """The body outside of its class: `u.__x` as the field that it is."""
    own = copy.deepcopy(body)
    for written, node in zip(ast.walk(body), ast.walk(own), strict=True):
        if isinstance(node, ast.Attribute) and node.attr.startswith("__") and isinstance(written, ast.expr):
            owner = class_around(site.module, written)
            node.attr = mangled(node.attr, owner.name if owner else None)
    return own


def _plain(answer: Any) -> set[Any]:
    """Elements with one stand-in for every NaN."""
    return {_without_nan(e) for e in answer}


def _without_nan(value: Any) -> Any:
    if value.__class__ in (tuple, list):
        return value.__class__(map(_without_nan, value))
    if value.__class__ is dict:
        return {_without_nan(k): _without_nan(v) for k, v in value.items()}
    return ("NaN", str(value)) if is_nan(value) else value
