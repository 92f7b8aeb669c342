"""A pipeline that runs for long: does it get slower, does it grow?

    python -m incoq.testing.spark_soak --minutes 30 --master 'local[2]'

The command `incoq spark run` takes a change file after the other, as a user would have it, over the running
example with a few thousand users; demand comes and goes. What it says of each batch and what its processes
hold in memory is noted. After a time for warming up, a fifth of the whole, the run is cut into three parts:
the last must not take longer for a batch, nor hold more, than the first by more than the limits.
`--json FILE` notes the figures, for `python -m trust.pipeline`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from incoq.spark.deployment import deploy_source
from incoq.spark.pipeline import Pipeline
from incoq.spark.session import in_process
from incoq.spark.store import Store
from incoq.testing.processes import descended

SLOWER, LARGER = 1.3, 1.2  # limits: the last part to the first
USERS, SETS, SIZE, EVENTS = 5_000, 40, 250, 1_000
PROGRAM = """
from incoq import Set, query

class User:
    def __init__(self, email, loc):
        self.email, self.loc, self.followers = email, loc, Set()

@query
def nyc_fans(celeb, group):
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}

@query
def fans(celeb):
    return len({u.loc for u in celeb.followers})
"""
_TOLD = re.compile(rb"^ *(\d+) .* ([0-9]+\.[0-9]+)  \S+$", re.MULTILINE)


@dataclass(frozen=True)
class Soak:
    """What was seen."""

    batches: int
    minutes: float
    latency: tuple[float, float, float]  # seconds of a batch, the median of each part
    memory: tuple[float, float, float]  # megabytes of all processes
    wrong: str = ""
    cpu: tuple[float, float, float] = (0.0, 0.0, 0.0)  # seconds of a batch, of all processes

    @property
    def slower(self) -> float:
        return self.latency[2] / self.latency[0]

    @property
    def larger(self) -> float:
        return self.memory[2] / self.memory[0]

    @property
    def is_flat(self) -> bool:
        return not self.wrong and self.slower <= SLOWER and self.larger <= LARGER

    def __str__(self) -> str:
        latency = ", ".join(f"{v:.2f}" for v in self.latency)
        memory = ", ".join(f"{v:,.0f}" for v in self.memory)
        return (
            f"{self.batches:,} batches in {self.minutes:.0f} minutes; a batch took {latency} s"
            + (f" ({', '.join(f'{v:.2f}' for v in self.cpu)} of CPU)" if any(self.cpu) else "")
            + f", all processes held {memory} MB"
            + (f"; {self.wrong}" if self.wrong else "")
        )


class Changes:
    """Change files without end."""

    def __init__(self, seed: int) -> None:
        self.rng, self.sequence = random.Random(seed), 0

    def beginning(self) -> list[str]:
        users = [f"u{n}" for n in range(USERS)]
        lines = [self._line("field_email", "assign", u, f"{u}@example.org") for u in users]
        lines += [self._line("field_loc", "assign", u, self._place()) for u in users]
        lines += [self._line("field_followers", "assign", f"c{n}", f"s{n}") for n in range(SETS)]
        for number in range(SETS):
            for user in self.rng.sample(users, SIZE):
                lines.append(self._line("member", "add", f"s{number}", user))
        return lines

    def batch(self) -> list[str]:
        return [self._event() for _ in range(EVENTS)]

    def _event(self) -> str:
        rng, kind = self.rng, self.rng.random()
        user, number = f"u{rng.randrange(USERS)}", rng.randrange(SETS)
        if kind < 0.5:
            return self._line("field_loc", "assign", user, self._place())
        if kind < 0.98:
            # As many leave as come: a set that grew would make later batches dearer for its own sake.
            return self._line(
                "member", "add" if rng.random() < SIZE / USERS else "remove", f"s{number}", user
            )
        op = rng.choice(("add", "remove"))
        if rng.random() < 0.5:
            return self._line("demand_fans", op, f"c{number}")
        return self._line("demand_nyc_fans", op, f"c{number}", f"s{rng.randrange(SETS)}")

    def _place(self) -> str:
        return "NYC" if self.rng.random() < 0.1 else f"place{self.rng.randrange(20)}"

    def _line(self, relation: str, op: str, *values: str) -> str:
        self.sequence += 1
        return json.dumps({"seq": self.sequence, "rel": relation, "op": op, "values": values})


def soak(minutes: float, master: str, seed: int = 1) -> Soak:
    """Run for so long."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        changes, made = folder / "changes", Changes(seed)
        changes.mkdir()
        store = Store(folder / "store")
        store.path.mkdir()
        store.deploy(deploy_source(PROGRAM))
        pipeline = Pipeline(store, in_process)
        pipeline.init(2)
        pipeline.run_batch(made.beginning(), "beginning")
        command = [
            sys.executable, "-m", "incoq", "spark", "run", "--store", str(store.path), "--changes",
            str(changes), "--every", "0.05", "--master", master,
        ]  # fmt: skip
        log = folder / "log"
        with log.open("wb") as output:
            running = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            held, spent, begun = _watched(running, store, changes, made, 60 * minutes)
        finally:
            running.terminate()
            running.wait()
        told = [float(seconds) for _, seconds in _TOLD.findall(log.read_bytes())]
        if begun or len(told) < 30:
            return Soak(len(told), minutes, (0, 0, 0), (0, 0, 0), f"it ended: {log.read_text()[-1000:]}")
        wrong = Pipeline(store, in_process).verify()
        return Soak(
            len(told), minutes, _parts(told), _parts(held),
            f"{len(wrong)} rows of the results are wrong: {wrong[:3]}" if wrong else "",
            _each(spent),
        )  # fmt: skip


def _watched(
    running: subprocess.Popen[bytes], store: Store, changes: Path, made: Changes, seconds: float
) -> tuple[list[float], list[tuple[int, float]], bool]:
    """Feed it for a time: what its processes held, every second, and after which batch how much CPU they had
    spent; did it end by itself?"""
    held: list[float] = []
    spent: list[tuple[int, float]] = []
    files, start, first = 0, time.monotonic(), store.manifest().batch
    while time.monotonic() - start < seconds:
        if running.poll() is not None:
            return held, spent, True
        batch = store.manifest().batch
        while files < batch - first + 3:
            files += 1
            fresh = changes / f".{files:08d}"
            fresh.write_text("\n".join(made.batch()))
            fresh.rename(changes / f"{files:08d}.jsonl")
        if batch > first and time.monotonic() - start > len(held):
            own = descended([running.pid])
            held.append(sum(process.resident for process in own) / 1e6)
            spent.append((batch, sum(process.cpu for process in own)))
        time.sleep(0.05)
    return held, spent, False


def _parts(found: list[float]) -> tuple[float, float, float]:
    """The medians of three parts, after a fifth for warming up."""
    counted = found[len(found) // 5 :]
    third = len(counted) // 3
    first, second, last = (statistics.median(counted[n * third : (n + 1) * third]) for n in range(3))
    return first, second, last


def _each(spent: list[tuple[int, float]]) -> tuple[float, float, float]:
    """Seconds of CPU for a batch in the same three parts: on a machine with other work, what it is slower by
    itself."""
    counted = spent[len(spent) // 5 :]
    third = len(counted) // 3
    ends = [counted[n * third] for n in range(3)] + [counted[-1]]
    first, second, last = (
        (after[1] - before[1]) / max(1, after[0] - before[0]) for before, after in pairwise(ends)
    )
    return first, second, last


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m incoq.testing.spark_soak", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--master", default=f"local[{min(2, os.cpu_count() or 1)}]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="note the figures there")
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    found = soak(chosen.minutes, chosen.master, chosen.seed)
    print(found)
    if chosen.json:
        told = {"seed": chosen.seed, "master": chosen.master}
        chosen.json.write_text(json.dumps({"soak": {**asdict(found), **told}}))
    return 0 if found.is_flat else 1


if __name__ == "__main__":
    sys.exit(main())
