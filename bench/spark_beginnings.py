"""Which road is cheaper where engines are not there yet, and whether the planner takes it by itself.

    python3 dev.py spark-bench --beginnings [30x1000,64x50000] [--partitions 8]

The running example with PAIRSxSIZE: so many demanded pairs of sets with so many elements each. Three
beginnings: *bootstrap*, all demanded in the tables; *demanded*, the same demand in one batch after a
bootstrap without any; *restart*, a batch of 1,000 changes in a new process, with no snapshot. Each is done by
the engines, by the joins, and by whatever the planner takes, on copies of one store; the first joins
of the session do not count. Status 1 where the planner takes a road that is plainly dearer.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.spark_crossing import plainly_cheaper
from bench.spark_pipeline import PLACES, PROGRAM, Changes, celebs_for, timed
from incoq.spark.deployment import deploy
from incoq.spark.parts import Part
from incoq.spark.pipeline import Pipeline
from incoq.spark.recompute import by_joins
from incoq.spark.session import runner, session
from incoq.spark.store import Store
from incoq.spark.tables import write_tables

DEFAULT = "30x1000,10000x1000,64x50000"
OVERLAP = 2.5  # users for each element of a set: two sets share some of theirs


@dataclass(frozen=True)
class Beginning:
    """One of them, by both roads: wall and CPU seconds, and what the planner thought."""

    pairs: int
    size: int
    what: str
    engines: tuple[float, float]
    joins: tuple[float, float]
    facts: float  # that the engines hold afterwards
    answers: float
    estimated: dict[str, float]
    chosen: str

    @property
    def is_right(self) -> bool:
        return plainly_cheaper(self.engines, self.joins) in ("", self.chosen)


def make_tables(spark: Any, folder: Path, pairs: int, size: int) -> None:
    """Sets of that size, of which so many pairs are demanded, and the users in them."""
    from pyspark.sql import functions as f

    users, celebs = int(OVERLAP * size), celebs_for(pairs)
    everyone = spark.range(users).select(f.concat(f.lit("u"), "id").alias("o"), "id")
    place = f.concat(f.lit("place"), f.col("id") % PLACES)
    tables = {
        "field_loc": everyone.select(
            "o", f.when(f.col("id") % PLACES == 0, "NYC").otherwise(place).alias("x")
        ),
        "field_email": everyone.select("o", f.concat("o", f.lit("@example.org")).alias("x")),
        "member": spark.range(2 * celebs * size).select(
            f.concat(f.lit("demanded"), (f.col("id") / size).cast("long")).alias("s"),
            f.concat(f.lit("u"), f.abs(f.xxhash64("id")) % users).alias("x"),
        ),
        "field_followers": spark.createDataFrame(
            [(f"c{i}", f"demanded{i}") for i in range(celebs)], "o string, x string"
        ),
        "demand_nyc_fans": spark.createDataFrame(wanted(pairs), "celeb string, group string"),
    }
    for name, table in tables.items():
        table.write.parquet(str(folder / f"{name}.parquet"))


def wanted(pairs: int) -> list[tuple[str, str]]:
    """The pairs: every celebrity with every group."""
    celebs = celebs_for(pairs)
    return [(f"c{i % celebs}", f"demanded{celebs + i // celebs}") for i in range(pairs)]


class Place:
    """The base of one demand, from which stores are begun as often as they are needed."""

    def __init__(self, spark: Any, folder: Path, pairs: int, size: int, partitions: int) -> None:
        self.spark, self.folder, self.pairs, self.size = spark, folder, pairs, size
        self.partitions = partitions
        self.count = 0
        tables = folder / "tables"
        tables.mkdir(parents=True)
        make_tables(spark, tables, pairs, size)
        self.base = folder / "base"
        self.parts, _ = write_tables(spark, tables, deploy(PROGRAM), None, self.base)

    def store(self) -> Store:
        self.count += 1
        store = Store(self.folder / f"store{self.count}")
        store.path.mkdir()
        store.deploy(deploy(PROGRAM))
        return store

    def pipeline(self, store: Store, road: str) -> Pipeline:
        return Pipeline(store, runner(self.spark), joins=by_joins(self.spark, store), road=road)

    def write(self, place: Path, without: str = "") -> tuple[list[Part], dict[str, int]]:
        shutil.copytree(self.base, place, ignore=shutil.ignore_patterns(without))
        return [part for part in self.parts if (place / part.name).exists()], {}

    def bootstrap(self, road: str) -> tuple[Pipeline, tuple[float, float]]:
        """Begin with the demand; writing the base, which is the same for all, does not count."""
        pipeline = self.pipeline(self.store(), road)
        taken: dict[str, float] = {}
        begin = pipeline.roads.begin

        def watched(*given: Any) -> Any:
            made: list[Any] = []
            taken.update(timed(lambda: made.append(begin(*given))))
            return made[0]

        pipeline.roads.begin = watched  # type: ignore[method-assign]
        pipeline.begin(self.write, self.partitions)
        return pipeline, _pair(taken)

    def demanded(self, road: str) -> tuple[Pipeline, tuple[float, float]]:
        """Begin without demand, and have it all in one batch."""
        pipeline = self.pipeline(self.store(), road)
        pipeline.begin(partial(self.write, without="rel=demand_*"), self.partitions)
        lines = [
            json.dumps({"seq": n, "rel": "demand_nyc_fans", "op": "add", "values": pair})
            for n, pair in enumerate(wanted(self.pairs), 1)
        ]
        return pipeline, _pair(timed(lambda: pipeline.run_batch(lines, "demand")))

    def restarted(self, before: Store, road: str) -> tuple[Pipeline, tuple[float, float]]:
        """A batch on a copy of a store, for which there are no engines."""
        self.count += 1
        store = Store(self.folder / f"store{self.count}")
        shutil.copytree(before.path, store.path)
        pipeline = self.pipeline(store, road)
        lines = Changes(1, self.pairs, 1).batch(1000, relevant=True)
        return pipeline, _pair(timed(lambda: pipeline.run_batch(lines, "changes")))


def _pair(taken: dict[str, float]) -> tuple[float, float]:
    return round(taken["wall"], 2), round(taken["cpu"], 2)


def beginnings(place: Place) -> list[Beginning]:
    """All three, each on both roads and on that of the planner."""
    begun = place.bootstrap("engines")[0].store
    found = []
    for what, action in (
        ("bootstrap", place.bootstrap),
        ("demanded", place.demanded),
        ("restart", partial(place.restarted, begun)),
    ):
        held, engines = action("engines")
        _, joins = action("joins")
        roads = action("auto")[0].store.manifest().roads
        measures = held.store.manifest().measures
        costs = engines, joins, measures["facts"], measures["answers"]
        found.append(Beginning(place.pairs, place.size, what, *costs, roads["estimate"], roads["last"]))
        show(found[-1])
    return found


def show(b: Beginning) -> None:
    wrong = "" if b.is_right else "  the dearer"
    print(
        f"{b.pairs:>7,} {b.size:>8,} {b.what:<10} {b.facts:>10,.0f} {b.answers:>10,.0f} {b.engines[0]:>8.2f} "
        f"{b.engines[1]:>7.2f} {b.joins[0]:>8.2f} {b.joins[1]:>7.2f}  {b.chosen}, estimated "
        f"{b.estimated['engines']:.1f} and {b.estimated['joins']:.1f}{wrong}",
        flush=True,
    )


def measure(cases: str, partitions: int, place: Path | None) -> int:
    """Print all beginnings of all cases."""
    spark = session("incoq beginnings", "local[2]")
    found: list[Beginning] = []
    print(
        f"{'pairs':>7} {'elements':>8} {'beginning':<10} {'facts':>10} {'answers':>10} "
        f"{'engines: s, CPU s':>16} {'joins: s, CPU s':>16}  planner"
    )
    for number, case in enumerate(cases.split(",")):
        pairs, _, size = case.partition("x")
        with tempfile.TemporaryDirectory() as folder:
            made = Place(spark, Path(folder), int(pairs), int(size or 1000), partitions)
            if number == 0:
                made.bootstrap("joins")  # Spark's first joins take longer than all later ones
            found += beginnings(made)
    spark.stop()
    if place is not None:
        place.write_text(json.dumps([asdict(b) for b in found], indent=1) + "\n")
    return 0 if all(b.is_right for b in found) else 1
