"""The measured processes: runs of one version at one point, each forked from a process that prepared it.

    python -m incoq.evaluate.sample        # reads jobs as lines of JSON, answers each with lines of JSON

A server, which has only imported what is needed and compiles each version once, forks a process for each
job. That one reads the data, loads the version and performs the first demand; then it forks a process for
each run, which makes its memory its own before its clock starts, so that no run pays for pages that it
shares with the others. Every run is a process of its own in the same state; the clock is CPU time, and the
garbage collector is off. A loop too short for the clock is prepared and timed again until it was long enough.
A counted run puts a counter into every loop instead, and its time means nothing.
What starts threads cannot be forked: its job has one run, performed in the process of the job.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from incoq.errors import CompileError
from incoq.evaluate.drivers import DRIVERS, LIMITED, Data, Point, Prepared
from incoq.evaluate.rows import STOPPED
from incoq.evaluate.versions import COLLECTING, Version, code_of, is_program, load
from incoq.evaluate.workloads import preload, read

_POPULATE_WRITE = 23  # Linux, madvise: make the pages of an area present and writable
_TICKS = os.sysconf("SC_CLK_TCK")
_REPEATING = 0.5  # seconds that the preparation of a short loop may take in all


def serve() -> None:
    """Answer jobs until there are no more; what a library prints goes nowhere."""
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    preload()

    def say(found: dict[str, Any]) -> None:
        answers.write(json.dumps(found) + "\n")
        answers.flush()

    for line in sys.stdin:
        job = json.loads(line)
        mode = job["mode"].removesuffix(COLLECTING)
        if job["forked"] and is_program(mode):
            with contextlib.suppress(CompileError):  # the process of the job meets it again, and reports it
                code_of(Path(job["programs"]), DRIVERS[job["driver"]].program, mode, job["counted"])
        worker = os.fork()
        if worker == 0:
            _work(job, say)
            os._exit(0)
        _, status = os.waitpid(worker, 0)
        say({"end": True, "failure": f"ended with status {status}" if status else ""})


def _work(job: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> None:
    gc.disable()
    start = time.monotonic()
    try:
        data, resident = _read(job)  # the data stay, so that what the version adds can be told
        version, prepared = _ready(job, data)
        gc.collect()
    except BaseException as error:  # whatever it was, it is the result of this job
        say({"part": "", "run": 0, "failure": f"{type(error).__name__}: {error}"})
        return
    share = (time.monotonic() - start) / len(job["runs"])
    for part, run in job["runs"]:
        start = time.monotonic()
        if job["forked"]:
            found = _in_child(job, data, version, prepared, part, resident)
        else:
            found = _measured(job, data, version, prepared, part, resident)
        wall = time.monotonic() - start + share
        say({"part": part, "run": run, "wall": wall, **found})
        if found["failure"]:
            return


def _read(job: dict[str, Any]) -> tuple[Data, int]:
    """The workload, and the memory of a process that holds it."""
    data = {name: read(Path(place)) for name, place in job["data"].items()}
    for name in LIMITED & data.keys() if job["operations"] else ():
        data[name] = {column: values[: job["operations"]] for column, values in data[name].items()}
    gc.collect()
    with contextlib.suppress(AttributeError):  # of glibc only: what reading left over counts for no version
        ctypes.CDLL(None).malloc_trim(0)
    return data, _resident()


def _ready(job: dict[str, Any], data: Data) -> tuple[Version, Prepared]:
    """A fresh version before its clock starts."""
    driver = DRIVERS[job["driver"]]
    version = load(Path(job["programs"]), driver.program, job["mode"], job["counted"])
    point = Point(job["size"], job["operations"], job["options"])
    return version, driver.prepare(version.module, data, point)


def _in_child(
    job: dict[str, Any], data: Data, version: Version, prepared: Prepared, part: str, resident: int
) -> dict[str, Any]:
    """Fork a run, and stop it at the limit of its CPU time."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        try:
            _own_memory()
            found = _measured(job, data, version, prepared, part, resident)
        except BaseException as error:
            found = {"failure": f"{type(error).__name__}: {error}"}
        with os.fdopen(writable, "w") as out:
            out.write(json.dumps(found))
        os._exit(0)
    os.close(writable)
    stopped = ""
    while not select.select([readable], [], [], 0.5)[0]:
        if _cpu_seconds(child) > job["limit"]:
            os.kill(child, signal.SIGKILL)
            stopped = f"{STOPPED} of {job['limit']:g} s"
            break
    with os.fdopen(readable) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    if text:
        return dict(json.loads(text))
    return {"failure": stopped or "the run ended without an answer"}


def _measured(
    job: dict[str, Any], data: Data, version: Version, prepared: Prepared, part: str, resident: int
) -> dict[str, Any]:
    """What a run took; `iterations` only of a counted one, `seconds` only of another."""
    if version.tally is not None:
        version.tally.total = 0
    taken = _taken(job, prepared.parts[part])
    iterations = None if version.tally is None else version.tally.total
    memory, repeats, begun = _resident() - resident, 1, time.process_time()
    while taken < job["least"] * 1e9 and time.process_time() - begun < _REPEATING:
        version, prepared = _ready(job, data)
        taken += _taken(job, prepared.parts[part])
        repeats += 1
    space = version.extra_space()
    answers = hashlib.sha256(json.dumps(prepared.answers()).encode()).hexdigest()[:16]
    return {
        "seconds": None if job["counted"] else taken / 1e9,
        "iterations": iterations,
        "space": space,
        "memory": memory,
        "answers": answers,
        "failure": "",
        "repeats": repeats,
    }


def _taken(job: dict[str, Any], run: Callable[[], object]) -> int:
    """The nanoseconds of CPU time of a loop."""
    if job["mode"].endswith(COLLECTING):
        gc.enable()
    start = time.process_time_ns()
    run()
    taken = time.process_time_ns() - start
    gc.disable()
    return taken


def _own_memory() -> None:
    """Copy now what a fork leaves to be copied when it is written to; other systems copy it later."""
    areas = Path("/proc/self/smaps")
    if not areas.exists():
        return
    libc = ctypes.CDLL(None)
    first, size = 0, 0
    for line in areas.read_text().splitlines():
        name, *rest = line.split(maxsplit=2)
        if rest and rest[0] == "rw-p":
            first, last = (int(end, 16) for end in name.split("-"))
            size = last - first
        elif name == "Rss:" and size:
            if 2 * 1024 * int(rest[0]) > size:  # an area that is only reserved would become real
                libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), _POPULATE_WRITE)
            size = 0


def _resident() -> int:
    """Bytes of resident memory but for files, which a fork has not read; 0 if the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def _cpu_seconds(process: int) -> float:
    """What another process has used so far; where the system does not say, it has used nothing."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    serve()
