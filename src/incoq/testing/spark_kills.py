"""A long random stream through the pipeline, whose processes are killed again and again at random moments.

    python -m incoq.testing.spark_kills --kills 200 --master standalone
    python -m incoq.testing.spark_kills --budget 60             # no Spark: only the driver is killed

A driver takes change files as they come. At random moments SIGKILL befalls the driver, an executor, a Python
process of one, or a worker of the cluster, and what is lost is started again. Once the stream has gone on,
the answers of the last committed batch are compared with straightforward evaluation of the events up to it;
at the end all events are counted, each once. Every `--each` kills it is another query. Exit status 1 and the
seed where something was lost or doubled.

`standalone` starts a master and two workers; any master of Spark's may be named. `none` runs the tasks in the
driver. `--json FILE` notes the figures, for `python -m trust.pipeline`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incoq.spark.deployment import deploy_source
from incoq.spark.pipeline import Pipeline
from incoq.spark.results import net_results
from incoq.spark.session import PYTHON_WORKERS, in_process
from incoq.spark.store import Store
from incoq.spark.values import as_key
from incoq.testing.processes import Process, descended, processes
from incoq.testing.spark_cluster import SHORT_LIVED, Cluster
from incoq.testing.spark_streams import Stream, World, shapes

SHAPES = 30  # different queries
AHEAD = 20  # files that lie ready for the driver
END = "end"  # the file that tells a driver to stop
PATIENCE = 300.0  # seconds without a new batch


class Lost(Exception):  # noqa: N818  # what was found, not what went wrong
    """Something was lost or doubled, or the stream does not go on."""


@dataclass
class Tally:
    """What has been done so far."""

    kills: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    batches: int = 0
    rounds: int = 0

    def __str__(self) -> str:
        who = ", ".join(f"{count} of {name}" for name, count in sorted(self.kills.items()))
        return (
            f"{self.kills.total()} kills ({who or 'none'}), {self.batches} batches of {self.rounds} queries, "
            f"compared {self.compared} times: nothing lost, nothing doubled"
        )


# -- the driver --------------------------------------------------------------------------------------------


def drive(folder: Path, master: str, joins: float, seed: int) -> None:
    """What a driver process does: take all files that are new, until it is told to end."""
    place, rng = Store(folder / "store"), random.Random(seed)
    with place.locked():
        options: dict[str, Any] = {"snapshot_every": 3, "compact_every": 7}
        if master == "none":
            pipeline = Pipeline(place, in_process, **options)
        else:
            from incoq.spark.recompute import by_joins
            from incoq.spark.session import runner, session

            mark = f"-Dincoq.mark={folder.name}"
            settings = {"spark.executor.memory": "512m", "spark.executor.extraJavaOptions": mark}
            spark = session("incoq kills", master, **settings)
            pipeline = Pipeline(place, runner(spark), joins=by_joins(spark, place), **options)

            def choose(step: str) -> None:
                if step == "read":
                    pipeline.roads.told = "joins" if rng.random() < joins else "engines"

            pipeline.step = choose
        while True:
            ending = (folder / END).exists()
            taken = pipeline.run_directory(folder / "changes")
            if ending and not taken:
                return
            time.sleep(0.05)


# -- one query ---------------------------------------------------------------------------------------------


class Round:
    """One query, its stream, its store and its driver."""

    def __init__(self, seed: int, folder: Path, master: str, joins: float) -> None:
        self.seed, self.folder, self.master, self.joins = seed, folder, master, joins
        self.rng = random.Random(seed)
        self.shape = list(shapes(SHAPES, 1))[seed % SHAPES]
        self.deployment, self.world = deploy_source(self.shape.text), World(self.shape.text)
        self.stream = Stream(self.deployment, seed)
        self.expected: dict[int, dict[str, set[str]]] = {}  # the answers after each batch
        self.files = self.events = self.starts = 0
        (folder / "changes").mkdir()
        self.store = Store(folder / "store")
        self.store.path.mkdir()
        self.store.deploy(self.deployment)
        Pipeline(self.store, in_process).init(2)
        self.expected[0] = self.world.answers()
        self.driver = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        command = [
            sys.executable, "-m", "incoq.testing.spark_kills", "--drive", str(self.folder),
            "--master", self.master, "--joins", str(self.joins), "--seed", str(self.seed + self.starts),
        ]  # fmt: skip
        with (self.folder / "driver.log").open("wb") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env={**SHORT_LIVED, **os.environ})

    @property
    def batch(self) -> int:
        return self.store.manifest().batch

    def feed(self) -> None:
        """Have some files lie ready: one is one batch."""
        while self.files < self.batch + AHEAD:
            batch = self.stream.batch() if self.files else self.stream.beginning()
            for event in batch:
                self.world.apply(*event)
            text = "\n".join(self.stream.lines(batch))
            fresh = self.folder / "changes" / f".{self.files:06d}"
            fresh.write_text(text)
            self.files, self.events = self.files + 1, self.events + len(batch)
            self.expected[self.files] = self.world.answers()
            fresh.rename(self.folder / "changes" / f"{self.files:06d}.jsonl")

    def wait(self, batch: int) -> None:
        """Until that batch is committed."""
        last, since = self.batch, time.monotonic()
        while self.batch < batch:
            if self.driver.poll() is not None:
                raise Lost(f"the driver ended with {self.driver.returncode}: {self._log()}")
            if self.batch > last:
                last, since = self.batch, time.monotonic()
            if time.monotonic() - since > PATIENCE:
                raise Lost(f"no batch after {last} in {PATIENCE:.0f} s: {self._log()}")
            time.sleep(0.02)

    def compare(self) -> None:
        """The answers of the last committed batch with those that its events lead to."""
        while True:
            manifest = self.store.manifest()
            try:
                rows = net_results(self.store, manifest).to_pylist()
                break
            except FileNotFoundError:  # compacted meanwhile
                if self.store.manifest() == manifest:
                    raise
        for query in self.deployment.queries:
            own = [row for row in rows if row["query"] == query.name]
            found = {f"{as_key(json.loads(r['params']))} {as_key(json.loads(r['result']))}" for r in own}
            expected = self.expected[manifest.batch][query.name]
            if found != expected:
                differ = sorted(found ^ expected)[:5]
                raise Lost(f"{query.name} of {self.shape.name}, batch {manifest.batch}: {differ}")
        for old in [batch for batch in self.expected if batch < manifest.batch]:
            del self.expected[old]

    def end(self) -> None:
        """Let the driver take what is left; every event was counted once."""
        (self.folder / END).touch()
        self.wait(self.files)
        self.driver.wait(PATIENCE)
        self.compare()
        applied = self.store.manifest().totals["events"]
        if applied != self.events:
            raise Lost(f"{applied:.0f} events were applied, not {self.events}")

    # -- kills -----------------------------------------------------------------------------------------

    def victims(self, cluster: Cluster | None) -> dict[str, list[Process]]:
        """Who may be killed now, by what it is."""
        mark = f"-Dincoq.mark={self.folder.name}"
        executors = [
            p for p in processes() if "CoarseGrainedExecutorBackend" in (told := p.command) and mark in told
        ]
        python = [p for p in descended([p.number for p in executors]) if PYTHON_WORKERS in p.command]
        found = {"drivers": [p for p in processes() if p.number == self.driver.pid]}
        if executors:
            found["executors"] = executors
        if python:
            found["Python processes"] = python
        if cluster is not None:
            found["workers"] = [p for w in cluster.workers for p in processes() if p.number == w.pid]
        return found

    def kill(self, cluster: Cluster | None) -> str:
        """Kill one at random, and start again what nobody else does."""
        kinds = self.victims(cluster)
        kind = self.rng.choice(sorted(kinds))
        victim = self.rng.choice(kinds[kind]).number
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:  # a Python process that its executor had just ended
            return ""
        if kind == "drivers":
            self.driver.wait()
            self.driver = self._start()
        elif kind == "workers":
            assert cluster is not None
            cluster.replace_worker([w.pid for w in cluster.workers].index(victim))
        return kind

    def close(self) -> None:
        if self.driver.poll() is None:
            self.driver.kill()
            self.driver.wait()

    def _log(self) -> str:
        return (self.folder / "driver.log").read_text(errors="replace")[-2000:]


def run_round(made: Round, kills: int, deadline: float, cluster: Cluster | None, tally: Tally) -> None:
    """So many kills, or until the time is over; then the stream goes on to its end."""
    done = 0
    made.feed()
    made.wait(1)
    while done < kills and time.monotonic() < deadline:
        time.sleep(made.rng.uniform(0.0, 1.5))
        made.feed()
        before, moment = made.batch, time.monotonic()
        kind = made.kill(cluster)
        if not kind:
            continue
        tally.kills[kind] += 1
        done += 1
        if made.rng.random() < 0.9:  # else the next comes while the last is not yet mended
            made.wait(min(before + 1 + made.rng.randrange(3), made.files))
            made.compare()
            tally.compared += 1
        took = time.monotonic() - moment
        print(f"{tally.kills.total()}: {kind}, then to batch {made.batch} in {took:.1f} s", flush=True)
    made.end()
    tally.compared += 1
    tally.batches += made.files


def run(kills: int, budget: float, master: str, joins: float, seed: int, each: int) -> tuple[Tally, str]:
    """Kill until there were enough or the time is over; what was done, and what is wrong, if anything."""
    tally, deadline = Tally(), time.monotonic() + budget
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="incoq-kills-")))
        cluster: Cluster | None = None
        if master == "standalone":
            (base / "cluster").mkdir()
            cluster = stack.enter_context(Cluster(base / "cluster"))
            master = cluster.master
        while tally.kills.total() < kills and time.monotonic() < deadline:
            number = seed * 1000 + tally.rounds
            folder = base / f"{base.name}-{number}"
            folder.mkdir()
            made = Round(number, folder, master, joins)
            tally.rounds += 1
            try:
                run_round(made, min(each, kills - tally.kills.total()), deadline, cluster, tally)
            except Lost as error:
                return tally, f"seed {number}, after {tally.kills.total()} kills: {error}"
            finally:
                made.close()
    return tally, ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m incoq.testing.spark_kills", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--kills", type=int, default=200, help="end after so many")
    parser.add_argument("--budget", type=float, default=3600, metavar="SECONDS", help="or after this time")
    parser.add_argument("--each", type=int, default=25, metavar="KILLS", help="of one query")
    parser.add_argument("--joins", type=float, default=0.05, metavar="SHARE", help="of batches, by joins")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--master", default="none", help="of Spark, or standalone, or none")
    parser.add_argument("--json", type=Path, metavar="FILE", help="note the figures there")
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.drive:
        drive(chosen.drive, chosen.master, chosen.joins, chosen.seed)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    start = time.perf_counter()
    tally, wrong = run(chosen.kills, chosen.budget, chosen.master, chosen.joins, chosen.seed, chosen.each)
    print(wrong or tally)
    if chosen.json:
        told = {"seed": chosen.seed, "master": chosen.master, "seconds": time.perf_counter() - start}
        chosen.json.write_text(json.dumps({"kills": {**vars(tally), **told, "wrong": wrong}}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
