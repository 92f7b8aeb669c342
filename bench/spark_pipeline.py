"""What a batch of changes costs on Spark, as the base data, the batch and the demand grow.

The running example over generated tables: at scale 1 about a million memberships, of 50,000 users in sets
of 20. Apart from those, C celebrities with 1,000 followers and C groups with 1,000 members are demanded, in
pairs; they are the same at every scale. Two streams of changes: *mixed*, over all data, one in a hundred
of them relevant to the demand; and *relevant*, all of them of users and sets that the demand reaches.
Beside them stands what computing the answers anew costs, as joins of DataFrames: *joins* with the demand
pushed down, *all joins* plainly. Each figure is the median over the batches, after two that are not counted;
a batch includes reading the file, checking, writing the log, the job, the feed and the commit. At the end
the answers are compared with those of re-computation, and the limits are: a batch costs at most 1.3 times as
much CPU on the largest base as on the smallest, and 20,000 relevant changes a second go through there.

*Routing* compares who picks the rows of a batch that concern a partition: the partitions themselves, from the
whole batch, or Spark, by a semi-join of the batch with the broadcast ids that each partition has loaded.

    python -m bench.spark_pipeline --scales 1,4,16 --pairs 30,10,1000,10000 --json result.json
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
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from incoq.spark import worker
from incoq.spark.deployment import deploy
from incoq.spark.pipeline import LOG, Pipeline
from incoq.spark.planner import ROADS
from incoq.spark.recompute import Recomputation, by_joins
from incoq.spark.relations import Relations, demand_texts
from incoq.spark.session import runner, session
from incoq.spark.store import Store
from incoq.spark.tables import write_tables
from incoq.testing.processes import descended

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "examples" / "running_example.py"
T = TypeVar("T")
USERS, SET_SIZE = 50_000, 20  # at scale 1
FANS = 1000
PLACES = 20


def cpu_seconds() -> float:
    """CPU time of this process and all that it started: the JVM and the Python workers."""
    return sum(process.cpu for process in descended([os.getpid()]))


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
        with Recomputation(spark, self.pipeline.store) as anew:
            action = partial(anew.answers, "nyc_fans") if push else partial(plainly, spark, anew.relations)
            return timed(lambda: action().count())

    def routing(self, spark: Any) -> dict[str, dict[str, float]]:
        """What it costs to find the rows of a large batch that concern the partitions, in two ways."""
        told = self.pipeline.reader.read(self.changes.batch(50_000, False), None).rows
        path = self.pipeline.store.path / "routing.parquet"
        columns = [list(column) for column in zip(*told, strict=True)]
        pq.write_table(pa.table(columns, schema=LOG), path)
        count = self.pipeline.store.manifest().partitions
        rows = [
            (p, r, o)
            for p, found in enumerate(_hosted(spark, partial(_loaded, self.place), count))
            for r, o in found
        ]
        frame = spark.createDataFrame(rows, "part int, rel string, o string").persist()
        frame.count()

        def partitions_pick() -> int:
            return sum(_hosted(spark, partial(_picked, self.place, str(path)), count))

        def spark_picks() -> int:
            from pyspark.sql import functions as f

            batch = spark.read.parquet(str(path))
            routed = batch.join(f.broadcast(frame), ["rel", "o"])
            schema = "part int, n long"
            return sum(r["n"] for r in routed.groupBy("part").applyInArrow(_counted, schema).collect())

        picked = spark_picks()
        if all(partitions_pick() != picked for _ in range(10)):  # an older engine may be on another worker
            raise AssertionError("the two ways find different rows")
        found = {}
        for name, action in (("partitions", partitions_pick), ("semi-join", spark_picks)):
            taken = [timed(action) for _ in range(5)]
            found[name] = {key: statistics.median(t[key] for t in taken) for key in taken[0]}
        return found

    @property
    def place(self) -> str:
        return str(self.pipeline.store.path)


def plainly(spark: Any, relations: Relations) -> Any:
    """The running example as a person would write it: all relations joined, the demand last."""
    from pyspark.sql import functions as f

    members = relations.members().where("x is not null")
    locations = relations.rows("field_loc").where("x = 'sNYC'").selectExpr("concat('s', o) as u")
    emails = relations.rows("field_email").selectExpr("concat('s', o) as u", "x as email")
    followers = relations.rows("field_followers").selectExpr("o as celeb", "substr(x, 2) as s")
    fans = followers.join(members.selectExpr("o as s", "x as u"), "s")
    both = fans.join(members.selectExpr("o as group", "x as u"), "u").join(locations, "u").join(emails, "u")
    pairs = [[text[1:] for text in demand_texts(params)] for params in relations.demand("nyc_fans")]
    demand = f.broadcast(spark.createDataFrame(pairs, "celeb string, group string"))
    return both.join(demand, ["celeb", "group"]).select("celeb", "group", "email").distinct()


def _hosted(spark: Any, ask: Callable[[int], T | None], count: int) -> list[T]:
    """What the engines of all partitions say; a task may come to a worker that has not got the engine."""
    for _ in range(50):
        found = spark.sparkContext.parallelize(range(count), count).map(ask).collect()
        said = [one for one in found if one is not None]
        if len(said) == count:
            return said
    raise RuntimeError("the tasks do not come to the workers that have the engines")


def _loaded(store: str, partition: int) -> list[tuple[str, str]] | None:
    """What the engine of a partition has loaded, on the worker that has it."""
    hosted = [h for key, h in worker.ENGINES.items() if key[:2] == (store, partition)]
    return hosted[0].engine.everything() if hosted else None


def _picked(store: str, path: str, partition: int) -> int | None:
    """How many rows of a batch concern a partition, found by itself."""
    hosted = [h for key, h in worker.ENGINES.items() if key[:2] == (store, partition)]
    table = pq.read_table(path, use_threads=False)
    if not hosted:
        return None
    loaded = hosted[0].engine.loaded
    columns = (table["rel"].to_pylist(), table["o"].to_pylist())
    return sum(r in loaded and o in loaded[r] for r, o in zip(*columns, strict=True))


def _counted(table: Any) -> Any:
    """What a partition is given: its rows, made Python's as an engine takes them."""
    rows = list(zip(*(table[c].to_pylist() for c in ("rel", "o", "k", "x", "p")), strict=True))
    return pa.table({"part": pa.array([table["part"][0].as_py()], pa.int32()), "n": pa.array([len(rows)])})


def timed(action: Callable[[], object]) -> dict[str, float]:
    before, started = cpu_seconds(), time.perf_counter()
    action()
    return {"wall": time.perf_counter() - started, "cpu": cpu_seconds() - before}


def medians(
    runs: list[Run], turns: int, action: Callable[[Run], dict[str, float]], uncounted: int = 2
) -> list[dict[str, float]]:
    """The runs take turns, so that a slow spell of the machine falls on all alike; the first do not count."""
    found: list[list[dict[str, float]]] = [[] for _ in runs]
    for turn in range(turns + uncounted):
        for number, run in enumerate(runs):
            taken = action(run)
            if turn >= uncounted:
                found[number].append(taken)
    return [{name: statistics.median(t[name] for t in taken) for name in taken[0]} for taken in found]


def prepare(spark: Any, folder: Path, scale: int, pairs: int, road: str = "auto") -> Run:
    tables = folder / f"tables-{scale}-{pairs}"
    tables.mkdir()
    make_tables(spark, tables, scale, pairs)
    store = Store(folder / f"store-{scale}-{pairs}")
    store.path.mkdir()
    store.deploy(deploy(PROGRAM))
    pipeline = Pipeline(store, runner(spark), joins=by_joins(spark, store), road=road)
    write = partial(write_tables, spark, tables, pipeline.deployment, None)
    taken = timed(lambda: pipeline.begin(write, 2))
    return Run(scale, pairs, pipeline, Changes(scale, pairs, 1), taken)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scales", default="1,4,16")
    parser.add_argument("--batches", type=int, default=5, help="batches for each figure")
    parser.add_argument(
        "--pairs",
        default="30,10,1000,10000",
        help="demanded pairs; all but the first at the first scale only",
    )
    parser.add_argument("--check", action="store_true", help="end with status 1 where a limit is not kept")
    parser.add_argument(
        "--recompute", action=argparse.BooleanOptionalAction, default=True,
        help="measure re-computation by joins too: demand pushed down, and plain",
    )  # fmt: skip
    parser.add_argument("--road", choices=ROADS, default="engines", help="what the pipelines do with a batch")
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--crossing", metavar="SIZES", nargs="?", const="1000,50000,200000",
        help="instead, measure both roads with batches of these sizes: where they cross",
    )  # fmt: skip
    parser.add_argument(
        "--beginnings", metavar="PAIRSxSIZE,...", nargs="?", const="",
        help="instead, measure both roads where there are no engines yet, for so many pairs of such sets",
    )  # fmt: skip
    parser.add_argument("--partitions", type=int, default=2, help="of the demand, with --beginnings")
    chosen = parser.parse_args()
    scales, pairs = ([int(v) for v in text.split(",")] for text in (chosen.scales, chosen.pairs))
    if chosen.crossing:
        from bench import spark_crossing

        return spark_crossing.measure(pairs, [int(v) for v in chosen.crossing.split(",")], chosen.json)
    if chosen.beginnings is not None:
        from bench import spark_beginnings

        cases = chosen.beginnings or spark_beginnings.DEFAULT
        return spark_beginnings.measure(cases, chosen.partitions, chosen.json)
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
    # What differs in scale comes first: engines that hold 10,000 pairs would slow their neighbours down.
    of_scales = [(scale, pairs[0]) for scale in scales]
    of_demand = [(scales[0], count) for count in pairs[1:]]
    for wanted in filter(None, (of_scales, of_demand)):
        with tempfile.TemporaryDirectory() as folder:
            runs = [prepare(spark, Path(folder), scale, count, chosen.road) for scale, count in wanted]
            measure(spark, runs, chosen.batches, chosen.recompute, show)
            for run in runs:
                _print_roads(run)
                differences = run.pipeline.verify()
                if differences:
                    print(f"{len(differences)} rows of the results are wrong: {differences[:3]}")
                    return 1
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2))
    spark.stop()
    kept = limits(figures, pairs[0])
    return 1 if chosen.check and not kept else 0


def measure(spark: Any, runs: list[Run], batches: int, recompute: bool, show: Callable[..., None]) -> None:
    """Everything that is measured of some pipelines, which take turns."""
    show(runs, "bootstrap", None, [run.bootstrap for run in runs])
    for size, relevant in ((1000, False), (1000, True), (50_000, False), (50_000, True)):
        found = medians(runs, batches, partial(Run.batch, size=size, relevant=relevant))
        show(runs, "relevant" if relevant else "mixed", size, found)
    for what, push in (("joins", True), ("all joins", False)) if recompute else ():
        show(runs, what, None, medians(runs, 1, partial(Run.joins, spark=spark, push=push), uncounted=1))
    for name, taken in runs[0].routing(spark).items():
        show(runs[:1], f"by {name}", 50_000, [taken])


def _print_roads(run: Run) -> None:
    manifest = run.pipeline.store.manifest()
    cost, taken = manifest.roads["estimate"], manifest.totals.get("by_joins", 0)
    print(
        f"{manifest.base.rows:,} rows, {run.pairs} pairs: estimated {cost['engines']:.2f} s by engines, "
        f"{cost['joins']:.2f} s by joins; took the joins {taken:.0f} times"
    )


def limits(figures: list[dict[str, Any]], pairs: int) -> bool:
    """Say whether the limits are kept: cost flat in the base, and changes a second on the largest."""
    of_scales = [f for f in figures if f["pairs"] == pairs and f["what"] in ("mixed", "relevant")]
    kept = True
    for what, size in dict.fromkeys((f["what"], f["batch"]) for f in of_scales):
        found = sorted(
            (f["rows"], f["cpu"], f["wall"]) for f in of_scales if (f["what"], f["batch"]) == (what, size)
        )
        ratio = found[-1][1] / found[0][1]
        kept = kept and ratio <= 1.3
        print(f"{what} {size:,}: {ratio:.2f} times the CPU on the largest base (limit 1.3)")
    speed = max(of_scales, key=lambda f: (f["what"] == "relevant", f["batch"], f["rows"]))["changes_a_second"]
    print(f"relevant 50,000 on the largest base: {speed:,.0f} changes a second (limit 20,000)")
    return kept and speed >= 20_000


def _print(*cells: Any) -> None:
    widths = (12, 7, 7, 10, 8, 8, 9, 10)
    print(" ".join(f"{cell!s:>{width}}" for cell, width in zip(cells, widths, strict=True)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
