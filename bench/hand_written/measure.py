"""Time the versions of a case in turns, so that whatever slows the machine slows all of them alike."""

import gc
import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.hand_written.cases import CASES, Case
from bench.hand_written.cases.case import Operation, Workload
from bench.hand_written.versions import NAIVE, REQUERY, ROOT, extra_space, load

SEED = 20160901
BUDGET = 200_000_000  # ns


@dataclass
class Figures:
    """What was measured of a case at a size: µs per operation in each turn, by workload and version."""

    case: str
    size: int
    kinds: dict[str, str] = field(default_factory=dict)
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    space: dict[str, int] = field(default_factory=dict)
    peak: dict[str, float] = field(default_factory=dict)  # MB of the whole process


def measure(case: Case, size: int, versions: Sequence[str], turns: int, count: int) -> Figures:
    """Build the same world in every version, then time each workload in each version, turn after turn."""
    loaded = {version: load(case, version) for version in versions}
    programs = {version: program for version, (program, _) in loaded.items()}
    worlds = {v: case.make(p, size, random.Random(SEED)) for v, p in programs.items()}
    figures = Figures(case.name, size)
    gc.collect()
    gc.disable()
    try:
        for turn in range(turns):
            _turn(case, programs, worlds, figures, turn, count)
            gc.collect()
    finally:
        gc.enable()
    figures.space = {version: extra_space(*loaded[version]) for version in versions}
    return figures


def _turn(
    case: Case, programs: dict[str, Any], worlds: dict[str, Any], figures: Figures, turn: int, count: int
) -> None:
    order = list(programs)
    random.Random(turn).shuffle(order)  # what is made last is in the cache yet
    made = {
        version: case.workloads(programs[version], worlds[version], random.Random(SEED + turn), count)
        for version in order
    }
    for number, workload in enumerate(made[order[0]]):
        figures.kinds[workload.name] = workload.kind
        random.Random(turn * 100 + number).shuffle(order)
        for version in order:
            operations = made[version][number].operations
            if operations:
                times = figures.times.setdefault(workload.name, {}).setdefault(version, [])
                slow = questions(made[version]) if version in (NAIVE, REQUERY) else None
                times.append(per_operation(operations) if slow is None else sampled(operations, slow))
    answers = {v: case.answers(p, worlds[v]) for v, p in programs.items()}
    first = next(iter(answers.values()))
    for version, answer in answers.items():
        if answer != first:
            raise AssertionError(f"{case.name}: {version} answers otherwise in turn {turn}")


def per_operation(operations: list[Operation]) -> float:
    """µs for an operation; all versions find their operations in the cache."""
    for _function, _x, _y in operations:
        pass
    start = time.process_time_ns()
    for function, x, y in operations:
        function(x, y)
    return (time.process_time_ns() - start) / len(operations) / 1000


def questions(workloads: list[Workload]) -> Any:
    """The function that asks the query."""
    return next(w.operations[0][0] for w in workloads if w.kind == "query")


def sampled(operations: list[Operation], question: Any) -> float:
    """Like `per_operation`, for a version that evaluates its query at each call, which may take very long:
    when a fifth of a second has gone into questions the others are taken to last as long, and left out."""
    asked = skipped = spent = 0
    begin = time.process_time_ns()
    for function, x, y in operations:
        if function is question:
            if spent > BUDGET:
                skipped += 1
                continue
            start = time.process_time_ns()
            function(x, y)
            spent += time.process_time_ns() - start
            asked += 1
        else:
            function(x, y)
    total = time.process_time_ns() - begin + (spent / asked * skipped if asked else 0)
    return total / len(operations) / 1000


def peak_memory(case: str, size: int, version: str, count: int) -> float:
    """MB that a process of its own needs at most to build the world and run the mixed workload once."""
    command = [sys.executable, "-m", "bench.hand_written.measure", case, str(size), version, str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def _measured_alone(case: Case, size: int, version: str, count: int) -> float:
    program, _ = load(case, version)
    world = case.make(program, size, random.Random(SEED))
    workloads = case.workloads(program, world, random.Random(SEED), count)
    sampled(workloads[-1].operations, questions(workloads) if version in (NAIVE, REQUERY) else None)
    return _peak()


def _peak() -> float:
    """The most memory that this process has had, in MB. (What `resource` tells includes the parent's.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


if __name__ == "__main__":
    print(_measured_alone(CASES[sys.argv[1]], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
