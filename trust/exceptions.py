"""An exception at any statement of the generated code leaves every invariant true.

Random programs run random updates and questions; a call that was put before each statement of the compiled
program raises, at each statement a few times, with another exception each time. After each of them the data
must be as before the update or as after it, every answer and structure as recomputed from that data.
"""

from __future__ import annotations

import ast
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from incoq import compile_source
from incoq.testing.driver import MODES, STRATEGIES, make_operations, make_program
from incoq.testing.execution import Execution, Failure, Refused, Skip, same_content, show
from incoq.testing.random_operations import Op
from incoq.testing.random_programs import Program
from incoq.testing.random_queries import QuerySpec
from incoq.verify import Checker
from trust.operators import BATCHED, compare, faults
from trust.outcome import Outcome

FORMS = ("all", "core", "lively")  # programs take turns
PROGRAMS = 20
OPERATIONS = 300
EACH = 2  # exceptions at each statement
POINT, DISARM = "trust_point", "trust_disarm"  # names that no program has
PIECEWISE = ("iadd", "extend")  # lists grow one element after the other
PASSING = ("partly",)  # what it adds it may remove again


class Flaky(Exception):  # noqa: N818  # what an operator of the program might raise now and then
    """No exception that values explain."""


KINDS: tuple[type[BaseException], ...] = (KeyboardInterrupt, MemoryError, Flaky, RecursionError, SystemExit)


class Interrupted(BaseException):
    """The exception that was put in reached the caller."""


class Injector:
    """Raises at a statement of the compiled program at which it has not yet raised often enough."""

    def __init__(self, each: int = EACH) -> None:
        self.each = each
        self.raised_at: Counter[int] = Counter()
        self.functions: list[str] = []  # by statement, the function that it is in
        self.kinds = itertools.cycle(KINDS)
        self.raised: BaseException | None = None
        self.place = ""
        self.armed = False

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function; `Interrupted` if the exception came out of it."""
        self.raised, self.armed = None, True
        try:
            return function(*args)
        except BaseException as error:
            if error is not self.raised:
                raise
            raise Interrupted(self.place) from None
        finally:
            self.armed = False

    def point(self, number: int) -> None:
        """What stands before each statement of the compiled program."""
        if self.armed and self.raised_at[number] < self.each:
            self.raised_at[number] += 1
            self.armed = False
            self.raised = next(self.kinds)("put in")
            self.place = (
                f"{type(self.raised).__name__} before statement {number}, in {self.functions[number]}"
            )
            raise self.raised

    def disarm(self) -> None:
        """One exception at a time: none comes while an earlier one is dealt with."""
        self.armed = False

    def instrument(self, code: str) -> ast.Module:
        """The code with a call of `point` before each statement of its functions."""
        tree = ast.parse(code)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and function.name == "forget":
                function.body.insert(0, _call(DISARM))
            elif isinstance(function, ast.FunctionDef):
                self._instrument(function, function.name)
        return ast.fix_missing_locations(tree)

    def _instrument(self, node: ast.AST, function: str) -> None:
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if not isinstance(block, list) or not block:
                continue
            new: list[ast.stmt] = []
            for statement in block:
                at_once = field == "finalbody" and not new and not _calls(statement)  # nothing comes between
                if not at_once and not isinstance(statement, ast.Nonlocal | ast.Global):
                    new.append(_call(POINT, len(self.functions)))
                    self.functions.append(function)
                new.append(statement)
                if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                    self._instrument(statement, function)
            block[:] = new
        for handler in getattr(node, "handlers", ()):
            if not _reraises(handler):
                self._instrument(handler, function)


def _call(name: str, *arguments: int) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name(name, ast.Load()), [ast.Constant(a) for a in arguments], []))


def _calls(statement: ast.stmt) -> bool:
    """May a statement run anything else than itself?"""
    return any(isinstance(node, ast.Call | ast.stmt) for node in ast.walk(statement) if node is not statement)


def _reraises(handler: ast.ExceptHandler) -> bool:
    """Is a handler one that an exception has already come to?"""
    return isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None


class Interruptions(Execution):
    """A random program whose updates and questions are interrupted."""

    def __init__(self, made: Program, mode: str, strategy: str, injector: Injector) -> None:
        self.injector = injector
        self.interrupted = 0
        super().__init__(made, mode, strategy)
        self.functions = {u.name: self.live[u.name] for u in made.updates if u.name in self.live}

    def load_code(self, code: str) -> dict[str, Any]:
        """Execute the compiled code with the points in it."""
        live = {"__name__": "compiled", POINT: self.injector.point, DISARM: self.injector.disarm}
        exec(compile(self.injector.instrument(code), "<compiled program>", "exec"), live)
        return live

    def step(self, op: Op) -> None:
        """One operation, interrupted or not; then everything is compared."""
        self.copies = {}
        try:
            with self.interruptible(op):
                self.apply(op)
        except Skip:
            return
        except Interrupted as interrupted:
            self.interrupted += 1
            try:
                self.compare()
                self.verify()
            except Failure as failure:
                failure.message = f"after {interrupted}, {op}: {failure.message}"
                raise
            return
        self.compare()

    @contextmanager
    def interruptible(self, op: Op) -> Iterator[None]:
        """Let the injector look at what an operation runs."""
        if op.kind in ("demand", "release") or op.name not in self.functions:
            yield
            return
        function = self.functions[op.name]
        before: list[tuple[Any, Any]] = []
        given: list[Any] = []

        def interrupted(*args: Any) -> Any:
            given.extend(args)
            before.extend((real, copied(real)) for real, _ in self.copies.values())
            return self.injector.call(function, *args)

        self.live[op.name] = interrupted
        try:
            yield
        except Interrupted:
            self.whole(op, before, given)
            raise
        finally:
            self.live[op.name] = function

    def whole(self, op: Op, before: list[tuple[Any, Any]], given: list[Any]) -> None:
        """What the update changes is as it was, or as plain Python would have left it; where a function of
        the program makes several updates, each element and entry is."""
        for real, old in before:
            new = self.copies[id(real)][1]
            match old:
                case list():
                    options = [old, new]
                    if op.name in PIECEWISE:
                        options = [new[:size] for size in range(len(old), len(new) + 1)]
                    whole = any(len(real) == len(o) and same_content(real, o) for o in options)
                case set():
                    passing = set(given[1:]) if op.name in PASSING else set()
                    whole = old & new <= set(real) <= old | new | passing
                case dict():
                    kept = {k for k in old if k in new and old[k] is new[k]}
                    whole = kept <= set(real) and all(
                        any(o.get(k) is v for o in (old, new)) for k, v in real.items()
                    )
                case _:
                    continue
            if not whole:
                raise Failure("state", f"{op} left {show(real)}: neither {show(old)} nor {show(new)}")

    def call_query(self, spec: QuerySpec, args: tuple[Any, ...]) -> tuple[Any, type[BaseException] | None]:
        """Ask, and after an interruption once more."""
        receiver, rest = (args[0], args[1:]) if spec.method else (None, args)
        query = getattr(receiver, spec.name) if spec.method else self.live[spec.name]
        try:
            return self.injector.call(query, *rest), None
        except Interrupted:
            self.interrupted += 1
            self.verify()
        except Exception:
            pass  # which the next line raises again
        return super().call_query(spec, args)


def copied(real: Any) -> Any:
    """A plain copy of a container."""
    for kind in (set, list, dict):
        if isinstance(real, kind):
            return kind(real)
    return real


def run(budget_seconds: float, seed: int) -> Outcome:
    """Programs until the time is over, twenty at least."""
    start = time.perf_counter()
    failures: list[str] = []
    programs = refused = raised = lines = 0
    size = (OPERATIONS, EACH) if budget_seconds > 120 else (OPERATIONS // 3, 1)
    for number in itertools.count(900_000 + seed * 1_000):
        late = time.perf_counter() - start > budget_seconds
        if len(failures) >= 5 or (late and programs >= PROGRAMS):
            break
        mode, strategy = setting(number)
        try:
            found, injected = interrupt(number, mode, strategy, *size)
        except Refused:
            refused += 1
            continue
        programs += 1
        raised += injected.total()
        lines += len(injected)
        failures += [found] if found else []
    operators = 0
    for mode in MODES:
        for told, wrong in faults(mode):
            operators += 1
            failures += [f"{told}: {wrong}"] if wrong else []
        interrupted, wrong = interrupt_batch(mode)
        raised, lines = raised + interrupted, lines + interrupted
        failures += [wrong] if wrong else []
    figure = (
        f"{programs} programs, {lines:,} statements, {raised:,} exceptions put in, {operators:,} raised by"
        f" operators; {len(failures)} differ"
    )
    return Outcome("exceptions", figure, "0 differences", tuple(failures), (f"{refused} programs refused",))


def setting(number: int) -> tuple[str, str]:
    """Mode and strategy take turns."""
    settings = [(MODES[0], s) for s in STRATEGIES] + [(MODES[1], "tags")]
    return settings[number % len(settings)]


def interrupt(
    number: int, mode: str, strategy: str, count: int = OPERATIONS, each: int = EACH
) -> tuple[str, Counter[int]]:
    """One program: what went wrong, if something did, and where exceptions were put in."""
    made = make_program(number, FORMS[number % len(FORMS)])
    injector = Injector(each)
    execution = Interruptions(made, mode, strategy, injector)
    sequence = make_operations(made, count)
    quiet = sys.unraisablehook
    sys.unraisablehook = lambda _: None  # what is raised within the collector
    try:
        execution.run(sequence)
    except Failure as failure:
        step = max(0, failure.step)
        shown = "\n".join(map(str, sequence[: step + 1][-12:]))
        text = (
            f"seed {number} ({mode}, {strategy}), step {step}: {failure.kind}: {failure.message}\n{made.text}"
        )
        return f"{text}\n{shown}", injector.raised_at
    finally:
        sys.unraisablehook = quiet
    return "", injector.raised_at


def interrupt_batch(mode: str) -> tuple[int, str]:
    """An exception before each statement that a batch runs: how many there were, and what one left wrong."""
    compiled = compile_source(BATCHED, mode=mode)
    injector = Injector(each=1)
    code = compile(injector.instrument(compiled.code), "<compiled program>", "exec")
    for times in itertools.count():
        names: dict[str, Any] = {"__name__": "compiled", POINT: injector.point, DISARM: injector.disarm}
        exec(code, names)
        things = names["world"]()
        names["ask"](*things)
        try:
            injector.call(names["batched"], *things)
            if injector.raised is None:
                return times, ""
        except Interrupted:
            pass
        try:
            wrong = compare(names, things)
            Checker(compiled, names).check()
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            return times, f"a batch ({mode}), {injector.place}: {wrong}"
    raise AssertionError
