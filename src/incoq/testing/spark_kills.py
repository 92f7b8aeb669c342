"""A long random stream through the pipeline, whose driver is killed again and again at random moments.

    python -m incoq.testing.spark_kills --budget 300 --master 'local[2]'

A driver process takes change files; after a random time it gets SIGKILL and another one is started, until all
files are taken. The answers are then those of straightforward evaluation of the same events, the feed sums up
to them, and no event was counted twice. Each round is another query and another stream, until the budget is
used up. Exit status 1 and the round's seed where something was lost or doubled.
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
from pathlib import Path

from incoq.spark.deployment import deploy_source
from incoq.spark.pipeline import Pipeline
from incoq.spark.results import result_lines
from incoq.spark.session import in_process
from incoq.spark.store import Store
from incoq.spark.values import as_key
from incoq.testing.spark_streams import Stream, World, shapes

ROUNDS = 30  # different queries


def drive(store: Path, changes: Path, master: str) -> None:
    """What a driver process does: take all files that are new."""
    place = Store(store)
    with place.locked():
        if master == "none":
            Pipeline(place, in_process, snapshot_every=3, compact_every=7).run_directory(changes)
            return
        from incoq.spark.session import runner, session

        spark = session("incoq kills", master)
        Pipeline(place, runner(spark), snapshot_every=3, compact_every=7).run_directory(changes)
        spark.stop()


def one_round(seed: int, batches: int, master: str, folder: Path, longest: float) -> tuple[int, str]:
    """Stream with kills; how many there were, and what is wrong, if anything."""
    rng = random.Random(seed)
    shape = list(shapes(ROUNDS, 1))[seed % ROUNDS]
    deployment, world = deploy_source(shape.text), World(shape.text)
    stream = Stream(deployment, seed)
    changes, events = folder / "changes", 0
    changes.mkdir()
    for number in range(batches):
        batch = stream.batch() if number else stream.beginning()
        events += len(batch)
        for event in batch:
            world.apply(*event)
        (changes / f"{number:05d}.jsonl").write_text("\n".join(stream.lines(batch)))
    store = Store(folder / "store")
    store.path.mkdir()
    store.deploy(deployment)
    Pipeline(store, in_process).init(2)
    kills = 0
    command = [sys.executable, "-m", "incoq.testing.spark_kills", "--drive", str(folder), "--master", master]
    while True:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, told = process.communicate(timeout=rng.uniform(0.2, longest) if kills < 2 * batches else None)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
            longest *= 1.05  # so that even a slow machine gets on
            continue
        if process.returncode != 0:
            return kills, f"the driver failed: {told.decode()[-2000:]}"
        break
    manifest = store.manifest()
    if manifest.totals["events"] != events:
        return kills, f"{manifest.totals['events']:.0f} events were applied, not {events}"
    expected = world.answers()
    for query in deployment.queries:
        lines = map(json.loads, result_lines(store, query.name))
        found = {f"{as_key(line['params'])} {as_key(line['result'])}" for line in lines}
        if found != expected[query.name]:
            return kills, f"{query.name} of {shape.name}: {sorted(found ^ expected[query.name])[:5]}"
    return kills, ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="incoq.testing.spark_kills", description=__doc__.split("\n")[0])
    parser.add_argument("--budget", type=float, default=60, metavar="SECONDS", help="begin no round after it")
    parser.add_argument("--batches", type=int, default=40, help="of one round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--master", default="none", help="of Spark; none: the tasks run in the driver")
    parser.add_argument(
        "--longest", type=float, default=4.0, help="seconds that a driver lives at most at first"
    )
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.drive:
        drive(chosen.drive / "store", chosen.drive / "changes", chosen.master)
        return 0
    started, rounds, kills = time.monotonic(), 0, 0
    while not rounds or time.monotonic() - started < chosen.budget:
        seed = chosen.seed * 1000 + rounds
        with tempfile.TemporaryDirectory() as folder:
            times, wrong = one_round(seed, chosen.batches, chosen.master, Path(folder), chosen.longest)
        rounds, kills = rounds + 1, kills + times
        if wrong:
            print(f"seed {seed}, after {times} kills: {wrong}")
            return 1
    print(f"{rounds} rounds of {chosen.batches} batches, {kills} kills: nothing lost, nothing doubled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
