"""What is measured, and in which order: one process at a time, until every point is known well enough.

Runs go round: the first of every point, then the second, so that a slow spell of the machine falls on all
alike and a run that is cut short has something about everything. A point has enough runs when their
standard deviation is below a tenth of their mean, between the protocol's least and most numbers of runs.
Rows that are there are not measured again.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from incoq.evaluate.drivers import DRIVERS
from incoq.evaluate.experiments import Experiment
from incoq.evaluate.rows import Key, Row, append, read_rows
from incoq.evaluate.workloads import generate

LIMIT = 300  # seconds for a process with all its preparation, after which it is given up
_STARTING = 1.2  # seconds that a process takes before it does anything


@dataclass(frozen=True)
class Protocol:
    """How often each point is measured."""

    least: int
    most: int
    spread: float = 0.1

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


QUICK, FULL = Protocol(2, 2), Protocol(10, 50)


@dataclass(frozen=True)
class Job:
    """One sample that is to be taken."""

    experiment: Experiment
    mode: str
    part: str
    size: int
    run: int

    @property
    def key(self) -> Key:
        return (self.experiment.name, self.mode, self.part, self.size, self.run)

    @property
    def counted(self) -> bool:
        return self.run == 0


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

    def data(self, experiment: Experiment, size: int) -> Path:
        return self.place / "workloads" / f"{experiment.name}-{size}"

    def points(self) -> Iterator[tuple[Experiment, str, str, int]]:
        for experiment in self.experiments:
            for mode in experiment.modes:
                for part in experiment.parts:
                    for size in experiment.sizes(mode, self.quick):
                        yield experiment, mode, part, size

    def rows(self) -> list[Row]:
        return read_rows(self.samples) if self.samples.exists() else []

    def left(self, rows: Sequence[Row]) -> list[Job]:
        """The next round: one sample for each point that has not enough; the second one counts loops."""
        known: dict[tuple[str, str, str, int], list[Row]] = {}
        for row in rows:
            known.setdefault(row.key[:4], []).append(row)
        jobs = []
        for experiment, mode, part, size in self.points():
            here = known.get((experiment.name, mode, part, size), [])
            if any(row.failure for row in here):
                continue
            runs = {row.run for row in here}
            seconds = [row.seconds for row in here if row.seconds is not None]
            if 0 not in runs and 1 in runs:
                jobs.append(Job(experiment, mode, part, size, 0))
            elif not self.protocol.is_enough(seconds):
                run = next(n for n in range(1, self.protocol.most + 1) if n not in runs)
                jobs.append(Job(experiment, mode, part, size, run))
        return jobs

    def expected(self, rows: Sequence[Row]) -> tuple[int, float]:
        """How many samples are left at least, and how many seconds they take, by what is known so far."""
        walls: dict[str, list[float]] = {}
        done: dict[tuple[str, str, str, int], int] = {}
        for row in rows:
            walls.setdefault(row.experiment, []).append(row.wall)
            done[row.key[:4]] = done.get(row.key[:4], 0) + 1
        count, total = 0, 0.0
        for experiment, mode, part, size in self.points():
            more = max(0, self.protocol.least + 1 - done.get((experiment.name, mode, part, size), 0))
            known = walls.get(experiment.name)
            each = statistics.mean(known) if known else experiment.plan(self.quick).seconds + _STARTING
            count, total = count + more, total + more * each
        return count, total


def generate_workloads(spark: Any, evaluation: Evaluation, note: Callable[[str], None]) -> None:
    """The data of every point, made by Spark unless they are there."""
    for experiment in evaluation.experiments:
        for size in experiment.plan(evaluation.quick).sizes:
            tables = DRIVERS[experiment.driver].tables(experiment.point(size, evaluation.quick))
            note(f"data of {experiment.name}, {size:,}")
            generate(spark, tables, experiment.seed(size), evaluation.data(experiment, size))


def take(evaluation: Evaluation, job: Job) -> Row:
    """Run one sample in a fresh process."""
    experiment = job.experiment
    point = experiment.point(job.size, evaluation.quick)
    asked = {
        "driver": experiment.driver, "mode": job.mode, "part": job.part, "size": job.size,
        "operations": point.operations, "options": dict(point.options), "counted": job.counted,
        "data": str(evaluation.data(experiment, job.size)), "programs": str(evaluation.programs),
    }  # fmt: skip
    started, start = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    found: dict[str, Any] = {"seconds": None, "iterations": None, "space": None, "answers": ""}
    failure = ""
    try:
        process = subprocess.run(
            [sys.executable, "-m", "incoq.evaluate.sample", json.dumps(asked)],
            capture_output=True,
            text=True,
            timeout=LIMIT,  # a limit of the system's on CPU time would make the clock of CPU time coarse
            env=os.environ | {"PYTHONHASHSEED": "0"},
        )
    except subprocess.TimeoutExpired:
        failure = f"given up after {LIMIT} s"
    else:
        if process.returncode == 0:
            found = json.loads(process.stdout.splitlines()[-1])
        else:
            failure = (process.stderr.strip().splitlines() or [f"status {process.returncode}"])[-1]
    return Row(
        experiment.name, DRIVERS[experiment.driver].program, job.mode, job.part, job.size,
        experiment.seed(job.size), job.run, found["seconds"], point.operations or job.size,
        found["iterations"], found["space"], found["answers"], failure, time.monotonic() - start, machine(),
        platform.python_version(), _version(), started,
    )  # fmt: skip


def measure(evaluation: Evaluation, progress: Callable[[Job, Row], None], until: float | None = None) -> bool:
    """Take the samples that are left, or those that begin before the moment `until`; whether that was all."""
    rows = evaluation.rows()
    while jobs := evaluation.left(rows):
        for job in jobs:
            if until is not None and time.monotonic() > until:
                return False
            row = take(evaluation, job)
            append(evaluation.samples, row)
            rows.append(row)
            progress(job, row)
    return True


def machine() -> str:
    """The processor, how many, and the system."""
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        name = names[0] if names else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


def _version() -> str:
    from importlib.metadata import version

    return version("incoq")
