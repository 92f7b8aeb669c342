"""What a batch of changes costs on Spark, as the base data, the batch and the demand grow.

The running example over generated tables: at scale 1 about a million memberships, of 50,000 users in sets
of 20. Apart from those, C celebrities with 1,000 followers and C groups with 1,000 members are demanded, in
pairs; they are the same at every scale. Two streams of changes: *mixed*, over all data, one in a hundred
of them relevant to the demand; and *relevant*, all of them of users and sets that the demand reaches.
Beside them stands what computing the answers anew costs, as joins of DataFrames: *joins* with the demand
pushed down, *all joins* plainly. Each figure is the median over the batches, after one that is not counted;
a batch includes reading the file, checking, writing the log, the job, the feed and the commit. At the end
the answers are compared with those of re-computation.

    python -m bench.spark_pipeline --scales 1,4,16 --json result.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from incoq.spark.deployment import deploy
from incoq.spark.pipeline import Pipeline
from incoq.spark.recompute import Recomputation
from incoq.spark.session import runner, session
from incoq.spark.store import Store
from incoq.spark.tables import write_tables

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "examples" / "running_example.py"
USERS, SET_SIZE = 50_000, 20  # at scale 1
FANS = 1000
PLACES = 20


def cpu_seconds() -> float:
    """CPU time of this process and all that it started: the JVM and the Python workers."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total = 0.0
    for process, seconds in used.items():
        ancestor = process
        while ancestor and ancestor != os.getpid():
            ancestor = parents.get(ancestor, 0)
        total += seconds if ancestor else 0.0
    return total


def make_tables(spark: Any, folder: Path, scale: int, pairs: int) -> None:
    """The tables of one scale, as Parquet."""
    from pyspark.sql import functions as f

    users, celebs = USERS * scale, celebs_for(pairs)
    everyone = spark.range(users).select(f.concat(f.lit("u"), "id").alias("o"), f.xxhash64("id").alias("h"))
    place = f.concat(f.lit("place"), f.abs(f.col("h")) % PLACES)
    everyone.select(
        "o", f.when(f.abs(f.col("h")) % PLACES == 0, "NYC").otherwise(place).alias("x")
    ).write.parquet(str(folder / "field_loc.parquet"))
    everyone.select("o", f.concat("o", f.lit("@example.org")).alias("x")).write.parquet(
        str(folder / "field_email.parquet")
    )
    others = spark.range(users * SET_SIZE).select(
        f.concat(f.lit("g"), (f.col("id") / SET_SIZE).cast("long")).alias("s"),
        f.concat(f.lit("u"), f.abs(f.xxhash64("id")) % users).alias("x"),
    )
    fans = spark.range(2 * celebs * FANS).select(
        f.concat(f.lit("demanded"), (f.col("id") / FANS).cast("long")).alias("s"),
        f.concat(f.lit("u"), f.abs(f.xxhash64("id", f.lit(7))) % min(users, 4 * FANS)).alias("x"),
    )
    others.union(fans).write.parquet(str(folder / "member.parquet"))
    spark.createDataFrame(
        [(f"c{i}", f"demanded{i}") for i in range(celebs)], "o string, x string"
    ).write.parquet(str(folder / "field_followers.parquet"))
    wanted = [(f"c{i % celebs}", f"demanded{celebs + (i // celebs) % celebs}") for i in range(pairs)]
    spark.createDataFrame(wanted, "celeb string, group string").write.parquet(
        str(folder / "demand_nyc_fans.parquet")
    )


def celebs_for(pairs: int) -> int:
    """As many celebrities, and groups, as make that many pairs."""
    count = 1
    while count * count < pairs:
        count += 1
    return count


class Changes:
    """Streams of changes with their own sequence numbers."""

    def __init__(self, scale: int, pairs: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.users, self.celebs, self.sequence = USERS * scale, celebs_for(pairs), 0

    def batch(self, size: int, relevant: bool) -> list[str]:
        return [self._event(relevant or self.rng.random() < 0.01) for _ in range(size)]

    def _event(self, relevant: bool) -> str:
        rng = self.rng
        self.sequence += 1
        user = f"u{rng.randrange(4 * FANS if relevant else self.users)}"
        place = "NYC" if rng.random() < 0.1 else f"place{rng.randrange(1, PLACES)}"
        if rng.random() < 0.5:
            relation, op, values = "field_loc", "assign", [user, place]
        else:
            number = rng.randrange(2 * self.celebs) if relevant else rng.randrange(self.users)
            relation, op = "member", rng.choice(("add", "remove"))
            values = [f"demanded{number}" if relevant else f"g{number}", user]
        return json.dumps({"seq": self.sequence, "rel": relation, "op": op, "values": values})


@dataclass(frozen=True)
class Run:
    """One pipeline that is measured, with its own stream of changes."""

    scale: int
    pairs: int
    pipeline: Pipeline
    changes: Changes
    bootstrap: dict[str, float]

    def batch(self, size: int, relevant: bool) -> dict[str, float]:
        """The cost of one batch."""
        told = self.changes.batch(size, relevant)
        seen = self.pipeline.store.manifest().totals.get("routed", 0)
        found = timed(lambda: self.pipeline.run_batch(told, "bench"))
        found["routed"] = self.pipeline.store.manifest().totals["routed"] - seen
        return found | {"changes_a_second": size / found["wall"]}

    def joins(self, spark: Any, push: bool) -> dict[str, float]:
        """The cost of computing all answers anew, as joins of DataFrames."""
        query = self.pipeline.deployment.query("nyc_fans")
        return timed(lambda: Recomputation(spark, self.pipeline.store).answers(query, push).count())


def timed(action: Callable[[], object]) -> dict[str, float]:
    before, started = cpu_seconds(), time.perf_counter()
    action()
    return {"wall": time.perf_counter() - started, "cpu": cpu_seconds() - before}


def medians(runs: list[Run], turns: int, action: Callable[[Run], dict[str, float]]) -> list[dict[str, float]]:
    """The runs take turns, so that a slow spell of the machine falls on all alike; the first is left out."""
    found: list[list[dict[str, float]]] = [[] for _ in runs]
    for turn in range(turns + 1):
        for number, run in enumerate(runs):
            taken = action(run)
            if turn:
                found[number].append(taken)
    return [{name: statistics.median(t[name] for t in taken) for name in taken[0]} for taken in found]


def prepare(spark: Any, folder: Path, scale: int, pairs: int) -> Run:
    tables = folder / f"tables-{scale}-{pairs}"
    tables.mkdir()
    make_tables(spark, tables, scale, pairs)
    store = Store(folder / f"store-{scale}-{pairs}")
    store.path.mkdir()
    store.deploy(deploy(PROGRAM))
    pipeline = Pipeline(store, runner(spark))
    write = partial(write_tables, spark, tables, pipeline.deployment, None)
    taken = timed(lambda: pipeline.begin(write, 2))
    return Run(scale, pairs, pipeline, Changes(scale, pairs, 1), taken)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scales", default="1,4,16")
    parser.add_argument("--batches", type=int, default=5, help="batches for each figure")
    parser.add_argument("--pairs", default="30", help="demanded pairs; several at the first scale only")
    parser.add_argument(
        "--recompute", action=argparse.BooleanOptionalAction, default=True,
        help="measure re-computation by joins too: demand pushed down, and plain",
    )  # fmt: skip
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    scales, pairs = ([int(v) for v in text.split(",")] for text in (chosen.scales, chosen.pairs))
    wanted = [(scale, pairs[0]) for scale in scales] + [(scales[0], count) for count in pairs[1:]]
    figures: list[dict[str, Any]] = []

    def show(runs: list[Run], what: str, size: int | None, found: list[dict[str, float]]) -> None:
        for run, taken in zip(runs, found, strict=True):
            rows = run.pipeline.store.manifest().base.rows
            figures.append({"rows": rows, "pairs": run.pairs, "batch": size, "what": what, **taken})
            cells = [f"{rows:,}", run.pairs, size or "", what, f"{taken['wall']:.2f}", f"{taken['cpu']:.2f}"]
            cells += [
                f"{taken[name]:,.0f}" if name in taken else "" for name in ("routed", "changes_a_second")
            ]
            _print(*cells)

    spark = session("incoq benchmark", "local[2]")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, median of {chosen.batches}")
    _print("base rows", "pairs", "batch", "what", "wall s", "CPU s", "routed", "changes/s")
    with tempfile.TemporaryDirectory() as folder:
        runs = [prepare(spark, Path(folder), scale, count) for scale, count in wanted]
        show(runs, "bootstrap", None, [run.bootstrap for run in runs])
        for size, relevant in ((1000, False), (50_000, False), (50_000, True)):
            found = medians(runs, chosen.batches, partial(Run.batch, size=size, relevant=relevant))
            show(runs, "relevant" if relevant else "mixed", size, found)
        for what, push in (("joins", True), ("all joins", False)) if chosen.recompute else ():
            show(runs, what, None, medians(runs, 1, partial(Run.joins, spark=spark, push=push)))
        for run in runs:
            differences = run.pipeline.verify()
            if differences:
                print(f"{len(differences)} rows of the results are not what the data says: {differences[:3]}")
                return 1
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2))
    spark.stop()
    return 0


def _print(*cells: Any) -> None:
    widths = (12, 7, 7, 10, 8, 8, 9, 10)
    print(" ".join(f"{cell!s:>{width}}" for cell, width in zip(cells, widths, strict=True)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
