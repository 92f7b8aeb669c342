"""An exception at any statement of the generated code leaves every invariant true.

Random programs run random updates and questions while a hook raises at a line of the compiled program: each
line is chosen a few times, with another exception each time. After each of them the data must be as before
the update or as after it, every answer and every structure as recomputed from that data.
"""

from __future__ import annotations

import dis
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from incoq.testing.driver import MODES, STRATEGIES
from incoq.testing.execution import Execution, Failure, Refused, Skip, same_content, show
from incoq.testing.random_operations import Op, operations
from incoq.testing.random_programs import Program, program
from incoq.testing.random_queries import QuerySpec
from trust.outcome import Outcome

PROGRAMS = 20
OPERATIONS = 700
EACH = 3  # exceptions at each line
COMPILED = "<compiled program>"
NOP = dis.opmap["NOP"]  # `try:` alone does nothing: no exception can come there, nor is one looked for
PIECEWISE = ("iadd", "extend")  # lists grow one element after the other


class Flaky(Exception):  # noqa: N818  # what an operator of the program might raise now and then
    """No exception that values explain."""


KINDS: tuple[type[BaseException], ...] = (KeyboardInterrupt, MemoryError, Flaky, RecursionError, SystemExit)


class Interrupted(BaseException):
    """The exception that was put in reached the caller."""


class Injector:
    """Raises at a line of the compiled program at which it has not yet raised often enough."""

    def __init__(self, each: int = EACH) -> None:
        self.each = each
        self.lines: Counter[tuple[CodeType, int]] = Counter()
        self.kinds = itertools.cycle(KINDS)
        self.raised: BaseException | None = None
        self.place = ""
        self.recovering = False

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function; `Interrupted` if the exception came out of it."""
        self.raised, self.recovering = None, False
        before = sys.gettrace()
        sys.settrace(self._frame)
        try:
            return function(*args)
        except BaseException as error:
            if error is not self.raised:
                raise
            raise Interrupted(self.place) from None
        finally:
            sys.settrace(before)

    def _frame(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_name == "forget":
            self.recovering = True  # one exception at a time
        return self._line if frame.f_code.co_filename == COMPILED and not self.recovering else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self.recovering:
            return None
        if event == "line" and self.raised is None and frame.f_code.co_code[frame.f_lasti] != NOP:
            line = (frame.f_code, frame.f_lineno)
            if self.lines[line] < self.each:
                self.lines[line] += 1
                self.raised = next(self.kinds)("put in")
                self.place = f"{type(self.raised).__name__} in {frame.f_code.co_name}, line {frame.f_lineno}"
                raise self.raised
        return self._line


class Interruptions(Execution):
    """A random program whose updates and questions are interrupted."""

    def __init__(self, made: Program, mode: str, strategy: str, injector: Injector) -> None:
        super().__init__(made, mode, strategy)
        self.injector = injector
        self.interrupted = 0
        self.functions = {u.name: self.live[u.name] for u in made.updates if u.name in self.live}

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

        def interrupted(*args: Any) -> Any:
            before.extend((real, copied(real)) for real, _ in self.copies.values())
            return self.injector.call(function, *args)

        self.live[op.name] = interrupted
        try:
            yield
        except Interrupted:
            self.whole(op, before)
            raise
        finally:
            self.live[op.name] = function

    def whole(self, op: Op, before: list[tuple[Any, Any]]) -> None:
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
                    whole = old & new <= set(real) <= old | new
                case dict():
                    kept = {k for k in old if k in new and old[k] is new[k]}
                    whole = kept <= set(real) and all(any(o.get(k) is v for o in (old, new)) for k, v in real.items())
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
    for number in itertools.count(900_000 + seed * 1_000):
        late = time.perf_counter() - start > budget_seconds
        if len(failures) >= 5 or (late and programs >= PROGRAMS):
            break
        mode, strategy = setting(number)
        try:
            found, injected = interrupt(number, mode, strategy)
        except Refused:
            refused += 1
            continue
        programs += 1
        raised += injected.total()
        lines += len(injected)
        failures += [found] if found else []
    figure = f"{programs} programs, {lines:,} statements, {raised:,} exceptions put in; {len(failures)} differ"
    return Outcome("exceptions", figure, "0 differences", tuple(failures), (f"{refused} programs refused",))


def setting(number: int) -> tuple[str, str]:
    """Mode and strategy take turns."""
    settings = [(MODES[0], s) for s in STRATEGIES if s != "join"] + [(MODES[1], "tags")]
    return settings[number % len(settings)]


def interrupt(
    number: int, mode: str, strategy: str, count: int = OPERATIONS, each: int = EACH
) -> tuple[str, Counter[tuple[CodeType, int]]]:
    """One program: what went wrong, if something did, and where exceptions were put in."""
    made = program(number, ("all", "core")[number % 2])
    injector = Injector(each)
    execution = Interruptions(made, mode, strategy, injector)
    sequence = operations(made, count)
    quiet = sys.unraisablehook
    sys.unraisablehook = lambda _: None  # what is raised within the collector
    try:
        execution.run(sequence)
    except Failure as failure:
        step = max(0, failure.step)
        shown = "\n".join(map(str, sequence[: step + 1][-12:]))
        text = f"seed {number} ({mode}, {strategy}), step {step}: {failure.kind}: {failure.message}\n{made.text}"
        return f"{text}\n{shown}", injector.lines
    finally:
        sys.unraisablehook = quiet
    return "", injector.lines
