"""Compare compiled programs with straightforward evaluation, over many random programs.

    python -m incoq.testing.driver --operations 200000 --shapes 1000 --seed 0
    python -m incoq.testing.driver --replay 17 --forms all

A failure is printed as one seed, the command that replays it, and the program and the operations that show
it, both shrunk.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from incoq.testing.execution import Counters, Execution, Failure, Refused
from incoq.testing.lively_programs import lively_operations, lively_program
from incoq.testing.random_operations import Op, operations
from incoq.testing.random_programs import Program, only_updates, program, without_clause, without_query

MODES = ("filtered", "incremental")
FORMS = ("core", "all", "more", "lively")
STRATEGIES = ("tags", "first-clause", "join", "auto")
SECONDS_A_PROGRAM = 60  # with 600 operations: some queries are products of four sets
SHRINK_SECONDS = 20.0


@dataclass(frozen=True)
class Settings:
    """What to run."""

    operations: int = 200_000
    shapes: int = 1_000
    seed: int = 0
    budget_seconds: float = 0.0
    mode: str = ""
    strategy: str = ""
    forms: str = "core"
    max_failures: int = 1
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    each: int = 0
    every: int = 1

    @property
    def per_program(self) -> int:
        """Operations a program: about one program and a half for every three shapes, unless told."""
        return self.each or max(40, min(600, round(1.6 * self.operations / max(1, self.shapes))))


@dataclass(frozen=True)
class Found:
    """A failure with what reproduces it."""

    seed: int
    mode: str
    strategy: str
    failure: Failure
    program: Program
    operations: list[Op]
    command: str

    def render(self) -> str:
        """The whole report of one failure."""
        lines = [
            f"FAILED seed {self.seed} ({self.mode}, {self.strategy}): {self.failure.kind}",
            f"replay: {self.command}",
            self.failure.message,
            "---- program",
            self.program.text,
            "---- operations",
            *map(str, self.operations),
        ]
        return "\n".join(lines)


@dataclass
class Report:
    """What a run of the driver saw."""

    counters: Counters = field(default_factory=Counters)
    programs: int = 0
    shapes: set[str] = field(default_factory=set)
    forms: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    refused_forms: dict[str, Counter[str]] = field(default_factory=dict)
    refused_seeds: dict[str, list[int]] = field(default_factory=dict)
    refused_messages: dict[str, str] = field(default_factory=dict)
    failures: list[Found] = field(default_factory=list)
    seconds: float = 0.0
    next_seed: int = 0

    def render(self, with_forms: bool = False) -> str:
        """A summary; `with_forms` adds the share of programs that hold each form."""
        c = self.counters
        lines = [
            f"{c.operations} operations, {self.programs} programs, {len(self.shapes)} query shapes,"
            f" {self.seconds:.0f} s",
            f"{c.checks} answers compared, {100 * c.nonempty // max(1, c.checks)} % not empty,"
            f" {c.changed} changes, {c.raised} updates that raise,"
            f" {c.evaluated} cross-checks of the evaluator, {c.verified} of the invariants",
            "modes: " + ", ".join(f"{name} {count}" for name, count in sorted(self.modes.items())),
        ]
        for code, count in sorted(self.refused.items()):
            seeds = ", ".join(map(str, self.refused_seeds[code][:4]))
            example = self.refused_messages[code]
            lines.append(f"refused {code}: {count} programs (seeds {seeds}), e.g. {example}")
        if with_forms:
            for form, count in sorted(self.forms.items()):
                lines.append(f"{100 * count / max(1, self.programs):6.1f} %  {form}")
        lines.append(f"{len(self.failures)} failures" if self.failures else "no failure")
        return "\n".join(lines)


def setting_of(seed: int, settings: Settings) -> tuple[str, str]:
    """Mode and strategy of a seed, where the command does not say."""
    rng = random.Random(seed ^ 0x5EED)
    mode = settings.mode or rng.choice(("filtered", "filtered", "filtered", "incremental"))
    strategy = rng.choice(("tags", "first-clause", "join", "auto")) if mode == "filtered" else "tags"
    return mode, settings.strategy or strategy


def run(settings: Settings) -> Report:
    """Run programs until there are enough operations and shapes, or time or patience is out."""
    report = Report()
    start = time.perf_counter()
    seed = settings.seed
    while report.counters.operations < settings.operations or len(report.shapes) < settings.shapes:
        if settings.budget_seconds and time.perf_counter() - start > settings.budget_seconds:
            break
        found = run_seed(seed, settings, report)
        if found is not None:
            report.failures.append(found)
            if len(report.failures) >= settings.max_failures:
                seed += 1
                break
        seed += 1
    report.seconds = time.perf_counter() - start
    report.next_seed = seed
    return report


def make_program(seed: int, forms: str) -> Program:
    """The random program of a seed, of one of `FORMS`."""
    return lively_program(seed) if forms == "lively" else program(seed, forms)


def make_operations(made: Program, count: int) -> list[Op]:
    """The first `count` operations of a program."""
    return (operations if made.schema is None else lively_operations)(made, count)


def run_seed(seed: int, settings: Settings, report: Report) -> Found | None:
    """Run one seed; the shrunk failure if there is one."""
    made = make_program(seed, settings.forms)
    if any(word in form for word in settings.without for form in made.forms):
        return None
    if not all(any(word in form for form in made.forms) for word in settings.only):
        return None
    mode, strategy = setting_of(seed, settings)
    sequence = make_operations(made, settings.per_program)
    report.programs += 1
    report.forms.update(made.forms)
    report.modes[f"{mode}/{strategy}"] += 1
    try:
        with time_limit(SECONDS_A_PROGRAM * max(1.0, settings.per_program / 600)):
            Execution(made, mode, strategy, report.counters, settings.every).run(sequence)
    except Refused as refusal:
        report.refused[refusal.code] += 1
        report.refused_seeds.setdefault(refusal.code, []).append(seed)
        report.refused_messages.setdefault(refusal.code, str(refusal).replace("\n", " | ")[:200])
        report.refused_forms.setdefault(refusal.code, Counter()).update(made.forms)
        return None
    except TimedOut as hang:
        failure = Failure("hang", str(hang))
        return Found(seed, mode, strategy, failure, made, sequence, command(seed, settings))
    except Failure as failure:
        return shrink(seed, mode, strategy, failure, made, sequence, settings)
    except Exception as error:
        crash = Failure("driver crash", "".join(traceback.format_exception(error)))
        return Found(seed, mode, strategy, crash, made, sequence, command(seed, settings))
    report.shapes.update(q.shape for q in made.queries)
    return None


def command(seed: int, settings: Settings) -> str:
    """The command that replays a seed."""
    mode, strategy = setting_of(seed, settings)
    return (
        f"python -m incoq.testing.driver --replay {seed} --forms {settings.forms} --mode {mode}"
        f" --strategy {strategy} --each {settings.per_program}"
        + (f" --every {settings.every}" if settings.every > 1 else "")
    )


class TimedOut(BaseException):
    """A program that does not end; no handler of exceptions in between may take it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Fail what takes too many seconds of CPU (in the main thread of systems that have alarms)."""

    def stop(*_: Any) -> None:
        raise TimedOut(f"not done after {seconds} seconds")

    try:
        previous = signal.signal(signal.SIGPROF, stop)
    except (AttributeError, ValueError):
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # again: a finalizer swallows what is raised in it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


class Shrinker:
    """Makes a failing program and its operations smaller while the same kind of failure remains."""

    def __init__(self, mode: str, strategy: str, failure: Failure, every: int) -> None:
        self.mode, self.strategy, self.every = mode, strategy, every
        self.failure = failure
        self.deadline = time.perf_counter() + SHRINK_SECONDS

    def fails(self, made: Program, sequence: list[Op]) -> bool:
        """Whether the failure is still there."""
        if time.perf_counter() > self.deadline:
            return False
        try:
            with time_limit(5):
                Execution(made, self.mode, self.strategy, None, self.every).run(sequence)
        except Failure as failure:
            if failure.kind == self.failure.kind:
                self.failure = failure
                return True
        except (Exception, TimedOut):
            return False
        return False

    def operations(self, made: Program, sequence: list[Op]) -> list[Op]:
        """Drop operations, in chunks that get smaller."""
        size = max(1, len(sequence) // 2)
        while True:
            index = 0
            while index < len(sequence):
                shorter = sequence[:index] + sequence[index + size :]
                if self.fails(made, shorter):
                    sequence = shorter
                else:
                    index += size
            if size == 1:
                return sequence
            size //= 2

    def program(self, made: Program, sequence: list[Op]) -> Program:
        """Drop queries, options, clauses and update functions."""
        for q in made.queries:
            smaller = without_query(made, q.name)
            if smaller.queries and self.fails(smaller, sequence):
                made = smaller
        for q in made.queries:
            # Demands and releases name the demand parameters: without them they would mean something else.
            named = any(op.kind in ("demand", "release") and op.name == q.name for op in sequence)
            for change in ({"keep": ""}, {} if named else {"demand": ()}):
                smaller = replace(
                    made,
                    queries=tuple(replace(x, **change) if x.name == q.name else x for x in made.queries),
                )
                if smaller != made and self.fails(smaller, sequence):
                    made = smaller
        for q in made.queries:
            for index in reversed(range(len(q.clauses))):
                smaller = without_clause(made, q.name, index)
                present = next(x for x in smaller.queries if x.name == q.name)
                if any(c.startswith("for ") for c in present.clauses) and self.fails(smaller, sequence):
                    made = smaller
        smaller = only_updates(made, {op.name for op in sequence})
        if self.fails(smaller, sequence):
            made = smaller
        for index in reversed(range(len(made.constructor))):
            smaller = replace(made, constructor=made.constructor[:index] + made.constructor[index + 1 :])
            if self.fails(smaller, sequence):
                made = smaller
        return made


def shrink(
    seed: int,
    mode: str,
    strategy: str,
    failure: Failure,
    made: Program,
    sequence: list[Op],
    settings: Settings,
) -> Found:
    """The failure in a smaller program with fewer operations."""
    if failure.step >= 0:
        sequence = sequence[: failure.step + 1]
    # Comparing asks, which may mend what is wrong; but it shrinks best after each operation.
    for every in dict.fromkeys((1, settings.every)):
        shrinker = Shrinker(mode, strategy, failure, every)
        if shrinker.fails(made, sequence):
            break
    if shrinker.fails(made, sequence):
        sequence = shrinker.operations(made, sequence)
        made = shrinker.program(made, sequence)
        sequence = shrinker.operations(made, sequence)
    return Found(seed, mode, strategy, shrinker.failure, made, sequence, command(seed, settings))


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 when nothing failed."""
    parser = argparse.ArgumentParser(
        prog="python -m incoq.testing.driver",
        description="Compare random programs with straightforward evaluation.",
    )
    parser.add_argument("--operations", type=int, default=200_000)
    parser.add_argument("--shapes", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget-seconds", type=float, default=0.0)
    parser.add_argument("--mode", choices=(*MODES, "uncompiled"), default="")
    parser.add_argument("--strategy", choices=STRATEGIES, default="")
    parser.add_argument("--forms", choices=FORMS, default="core")
    parser.add_argument("--each", type=int, default=0, metavar="N", help="operations a program")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="compare after so many operations")
    parser.add_argument("--max-failures", type=int, default=1)
    parser.add_argument("--without", action="append", default=[], metavar="FORM", help="leave out a form")
    parser.add_argument("--only", action="append", default=[], metavar="FORM", help="programs with a form")
    parser.add_argument("--show-forms", action="store_true", help="print the share of each form")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one seed alone")
    options = parser.parse_args(arguments)
    settings = Settings(
        options.operations, options.shapes, options.seed, options.budget_seconds, options.mode,
        options.strategy, options.forms, options.max_failures, tuple(options.without),
        tuple(options.only), options.each, options.every,
    )  # fmt: skip
    if options.replay is not None:
        report = Report()
        found = run_seed(options.replay, settings, report)
        report.failures += [found] if found else []
    else:
        report = run(settings)
    for found in report.failures:
        print(found.render(), end="\n\n")
    print(report.render(options.show_forms))
    return 1 if report.failures else 0


__all__ = [
    "Found",
    "Report",
    "Settings",
    "main",
    "make_operations",
    "make_program",
    "run",
    "run_seed",
    "shrink",
]

if __name__ == "__main__":
    sys.exit(main())
