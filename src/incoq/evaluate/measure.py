"""What is measured, and in which order: one process at a time, until every point is known well enough.

Runs go round: the first ones of every point, then, where they differ too much, more of them. A point has
enough runs when their standard deviation is below a tenth of their mean, between the protocol's least and
most numbers of runs. A version that takes longer than the limit at one size is not measured at larger ones.
Rows that are there are not measured again.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from incoq.evaluate.drivers import DRIVERS
from incoq.evaluate.experiments import SEED, Experiment
from incoq.evaluate.peers import THREADED, is_installed
from incoq.evaluate.rows import SPREAD, Key, Row, append, read_rows
from incoq.evaluate.sampler import Sampler, sampler
from incoq.evaluate.workloads import generate, place_of

LIMIT = 60.0  # seconds of CPU time of one run, after which it is stopped
LEAST = 0.02  # seconds that a loop is timed at least, if need be by preparing and timing it again


@dataclass(frozen=True)
class Protocol:
    """How often each point is measured."""

    least: int
    most: int
    spread: float = SPREAD

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.least} of each point"
        runs = f"{self.least} to {self.most} of each point"
        return f"{runs}, until their standard deviation is below {self.spread:.0%} of their mean"

    def is_enough(self, seconds: Sequence[float]) -> bool:
        """Whether these samples of one point suffice."""
        if len(seconds) < self.least:
            return False
        if len(seconds) >= self.most:
            return True
        return statistics.stdev(seconds) < self.spread * statistics.mean(seconds)


QUICK, FULL = Protocol(2, 2), Protocol(10, 30)
MORE = 10  # runs at a time, of a point whose runs differ too much


@dataclass(frozen=True)
class Job:
    """Runs of one version at one point, forked from one process that prepares them: (part, number) each."""

    experiment: Experiment
    mode: str
    size: int
    runs: tuple[tuple[str, int], ...]

    @property
    def keys(self) -> list[Key]:
        return [(self.experiment.name, self.mode, part, self.size, run) for part, run in self.runs]

    @property
    def counted(self) -> bool:
        return self.runs[0][1] == 0


@dataclass(frozen=True)
class Evaluation:
    """Where everything lies, and how thoroughly it is done."""

    place: Path
    programs: Path
    experiments: tuple[Experiment, ...]
    quick: bool

    @property
    def protocol(self) -> Protocol:
        return QUICK if self.quick else FULL

    @property
    def samples(self) -> Path:
        return self.place / "samples"

    @property
    def settings(self) -> Path:
        return self.place / "settings.json"

    @property
    def transformations(self) -> Path:
        return self.place / "transformations.json"

    def data(self, experiment: Experiment, size: int) -> dict[str, Path]:
        """Where the tables of a point lie."""
        tables = DRIVERS[experiment.driver].tables(experiment.point(size, self.quick))
        return {name: place_of(self.place / "workloads", name, table) for name, table in tables.items()}

    def points(self) -> Iterator[tuple[Experiment, str, int]]:
        """All points; the versions that are compared at a size come one after another."""
        for experiment in self.experiments:
            for size in experiment.plan(self.quick).sizes:
                for mode in experiment.modes:
                    if is_installed(mode) and size in experiment.sizes(mode, self.quick):
                        yield experiment, mode, size

    def rows(self) -> list[Row]:
        return read_rows(self.samples) if self.samples.exists() else []

    def left(self, rows: Sequence[Row]) -> list[Job]:
        """The next round: for each point a counted run and as many timed ones as go together.

        Experiments that take least come first, so that a run that is cut short has most of them.
        """
        known = _by_point(rows)
        jobs = []
        for experiment, mode, size in self.points():
            here = known.get((experiment.name, mode, size), [])
            if any(row.failure for row in here) or is_beyond_limit(rows, experiment.name, mode, size):
                continue
            if mode not in THREADED and not any(
                row.run == 0 for row in here
            ):  # no loops of Python's in those
                jobs.append(Job(experiment, mode, size, tuple((part, 0) for part in experiment.parts)))
            runs = tuple(
                (part, number)
                for number in self._missing(here, experiment)
                for part in experiment.parts  # in turns: their difference is that of neighbours
            )
            if mode in THREADED:
                jobs += [Job(experiment, mode, size, (run,)) for run in runs]
            elif runs:
                jobs.append(Job(experiment, mode, size, runs))
        # Further runs of what has enough of them but for their spread come last; a stable sort.
        return sorted(
            jobs,
            key=lambda job: (job.runs[-1][1] > self.protocol.least, job.experiment.plan(self.quick).seconds),
        )

    def _missing(self, here: Sequence[Row], experiment: Experiment) -> Iterator[int]:
        """The numbers of the next runs: all parts are run when one of them needs it."""
        protocol = self.protocol
        parts = [
            [row.seconds / row.repeats for row in here if row.part == part and row.seconds is not None]
            for part in experiment.parts
        ]
        if all(protocol.is_enough(seconds) for seconds in parts):
            return
        more = protocol.least - min(map(len, parts))
        together = min(more, experiment.plan(self.quick).together) if more > 0 else MORE
        free = (n for n in range(1, protocol.most + 1) if n not in {row.run for row in here})
        yield from (number for number, _ in zip(free, range(together), strict=False))

    def expected(self, rows: Sequence[Row]) -> tuple[int, float]:
        """How many samples are left at least, and how many seconds they take, by what is known so far."""
        known = _by_point(rows)
        walls: dict[tuple[str, str], list[float]] = {}
        for row in rows:
            walls.setdefault((row.experiment, row.mode), []).append(row.wall)
        count, total = 0, 0.0
        for experiment, mode, size in self.points():
            here = known.get((experiment.name, mode, size), [])
            if any(row.failure for row in here) or is_beyond_limit(rows, experiment.name, mode, size):
                continue
            each_part = self.protocol.least + (mode not in THREADED)  # and a counted one
            more = max(0, each_part * len(experiment.parts) - len(here))
            times = walls.get((experiment.name, mode))
            each = statistics.mean(times) if times else experiment.plan(self.quick).seconds
            count, total = count + more, total + more * each
        return count, total


def _by_point(rows: Sequence[Row]) -> dict[tuple[str, str, int], list[Row]]:
    known: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        known.setdefault((row.experiment, row.mode, row.size), []).append(row)
    return known


def is_beyond_limit(rows: Sequence[Row], experiment: str, mode: str, size: int) -> bool:
    """Whether this version was stopped at a smaller size of the experiment."""
    return any(
        row.stopped and (row.experiment, row.mode) == (experiment, mode) and row.size < size for row in rows
    )


def lacks_data(evaluation: Evaluation) -> bool:
    """Whether Spark has anything to do."""
    return any(
        not (place / "_SUCCESS").exists()
        for experiment in evaluation.experiments
        for size in experiment.plan(evaluation.quick).sizes
        for place in evaluation.data(experiment, size).values()
    )


def generate_workloads(spark: Any, evaluation: Evaluation, note: Callable[[str], None]) -> None:
    """The data of every point, made by Spark unless they are there."""
    made: set[Path] = set()
    # Every table is an expression of its own, whose compilation would take longer than its few rows.
    for setting, value in (("wholeStage", "false"), ("factoryMode", "NO_CODEGEN")):
        spark.conf.set(f"spark.sql.codegen.{setting}", value)
    for experiment in evaluation.experiments:
        for size in experiment.plan(evaluation.quick).sizes:
            tables = DRIVERS[experiment.driver].tables(experiment.point(size, evaluation.quick))
            places = evaluation.data(experiment, size)
            for name, table in tables.items():
                if places[name] not in made:
                    note(f"data of {experiment.name}, {size:,}")
                    generate(spark, name, table, SEED + table.rows, places[name])
                    made.add(places[name])


def take(evaluation: Evaluation, job: Job, server: Sampler) -> list[Row]:
    """Perform the runs of a job; where one fails, those after it are not performed."""
    experiment = job.experiment
    point = experiment.point(job.size, evaluation.quick, None if job.counted else job.mode)
    if job.counted:  # so few that all versions can do them, and be compared
        point = experiment.smallest_point(job.size, evaluation.quick)
    asked = {
        "driver": experiment.driver, "mode": job.mode, "size": job.size, "operations": point.operations,
        "options": dict(point.options), "counted": job.counted, "runs": job.runs, "limit": LIMIT,
        "data": {name: str(place) for name, place in evaluation.data(experiment, job.size).items()},
        "programs": str(evaluation.programs), "forked": job.mode not in THREADED,
        "least": 0.0 if job.counted or job.mode in THREADED else LEAST,
    }  # fmt: skip
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    rows = []
    for number, found in enumerate(server.take(asked)):
        part, run = job.runs[min(number, len(job.runs) - 1)]
        rows.append(
            Row(
                experiment.name,
                DRIVERS[experiment.driver].program,
                job.mode,
                part,
                job.size,
                SEED,
                run,
                found.get("seconds"),
                point.operations or job.size,
                found.get("iterations"),
                found.get("space"),
                found.get("memory"),
                found.get("answers", ""),
                found["failure"],
                found.get("wall", 0.0),
                machine(),
                platform.python_version(),
                _version(),
                started,
                found.get("repeats", 1),
            )
        )
    return rows


def measure(
    evaluation: Evaluation, progress: Callable[[Job, list[Row]], None], until: float | None = None
) -> bool:
    """Take the samples that are left, or those that begin before the moment `until`; whether that was all."""
    rows = evaluation.rows()
    while jobs := evaluation.left(rows):
        with sampler() as server:  # another one for each round: its memory lies elsewhere
            for job in jobs:
                if until is not None and time.monotonic() > until:
                    return False
                if is_beyond_limit(rows, job.experiment.name, job.mode, job.size):
                    continue
                taken = take(evaluation, job, server)
                append(evaluation.samples, taken)
                rows += taken
                progress(job, taken)
    return True


@cache
def machine() -> str:
    """The processor, how many, and the system."""
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        name = names[0] if names else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


@cache
def _version() -> str:
    from importlib.metadata import version

    return version("incoq")
