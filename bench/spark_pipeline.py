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


def measure(
    pipeline: Pipeline, changes: Changes, size: int, relevant: bool, batches: int
) -> dict[str, float]:
    """The median cost of a batch."""
    wall, cpu, routed = [], [], []
    for number in range(batches + 1):
        told = changes.batch(size, relevant)
        before, started = cpu_seconds(), time.perf_counter()
        seen = pipeline.store.manifest().totals.get("routed", 0)
        pipeline.run_batch(told, "bench")
        if number:
            wall.append(time.perf_counter() - started)
            cpu.append(cpu_seconds() - before)
            routed.append(pipeline.store.manifest().totals["routed"] - seen)
    seconds = statistics.median(wall)
    return {
        "wall": seconds, "cpu": statistics.median(cpu), "routed": statistics.median(routed),
        "changes_a_second": size / seconds,
    }  # fmt: skip


def measure_joins(spark: Any, pipeline: Pipeline, push: bool, times: int) -> dict[str, float]:
    """The median cost of computing all answers anew, as joins of DataFrames."""
    wall, cpu = [], []
    for number in range(times + 1):
        before, started = cpu_seconds(), time.perf_counter()
        recomputation = Recomputation(spark, pipeline.store)
        recomputation.answers(pipeline.deployment.query("nyc_fans"), push).count()
        if number:
            wall.append(time.perf_counter() - started)
            cpu.append(cpu_seconds() - before)
    return {"wall": statistics.median(wall), "cpu": statistics.median(cpu)}


def prepare(spark: Any, folder: Path, scale: int, pairs: int) -> tuple[Pipeline, dict[str, float]]:
    tables = folder / f"tables-{scale}-{pairs}"
    tables.mkdir()
    make_tables(spark, tables, scale, pairs)
    store = Store(folder / f"store-{scale}-{pairs}")
    store.path.mkdir()
    store.deploy(deploy(PROGRAM))
    pipeline = Pipeline(store, runner(spark))
    before, started = cpu_seconds(), time.perf_counter()
    manifest = pipeline.begin(partial(write_tables, spark, tables, pipeline.deployment, None), 2)
    taken = {"wall": time.perf_counter() - started, "cpu": cpu_seconds() - before, "rows": manifest.base.rows}
    return pipeline, taken


def _print(*cells: Any) -> None:
    widths = (12, 7, 7, 10, 8, 8, 9, 10)
    print(" ".join(f"{cell!s:>{width}}" for cell, width in zip(cells, widths, strict=True)), flush=True)


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
    spark = session("incoq benchmark", "local[2]")
    figures: list[dict[str, Any]] = []
    scales, pairs = ([int(v) for v in text.split(",")] for text in (chosen.scales, chosen.pairs))
    runs = [(scale, pairs[0]) for scale in scales] + [(scales[0], count) for count in pairs[1:]]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, median of {chosen.batches} batches")
    _print("base rows", "pairs", "batch", "stream", "wall s", "CPU s", "routed", "changes/s")
    for scale, count in runs:
        with tempfile.TemporaryDirectory() as folder:
            pipeline, taken = prepare(spark, Path(folder), scale, count)
            rows = f"{int(taken['rows']):,}"
            figures.append({"scale": scale, "pairs": count, "what": "bootstrap", **taken})
            _print(rows, count, "", "bootstrap", f"{taken['wall']:.2f}", f"{taken['cpu']:.2f}", "", "")
            changes = Changes(scale, count, 1)
            for size, relevant in ((1000, False), (50_000, False), (50_000, True)):
                found = measure(pipeline, changes, size, relevant, chosen.batches)
                what = "relevant" if relevant else "mixed"
                figures.append({"scale": scale, "pairs": count, "batch": size, "what": what, **found})
                shown = [f"{found[name]:.2f}" for name in ("wall", "cpu")]
                shown += [f"{found[name]:,.0f}" for name in ("routed", "changes_a_second")]
                _print(rows, count, size, what, *shown)
            for what, push in (("joins", True), ("all joins", False)) if chosen.recompute else ():
                found = measure_joins(spark, pipeline, push, chosen.batches)
                figures.append({"scale": scale, "pairs": count, "what": what, **found})
                _print(rows, count, "", what, f"{found['wall']:.2f}", f"{found['cpu']:.2f}", "", "")
            differences = pipeline.verify()
            if differences:
                print(f"{len(differences)} rows of the results are not what the data says: {differences[:3]}")
                return 1
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2))
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
