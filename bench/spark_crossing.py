"""Where the two roads of the pipeline cross, and whether the planner takes the cheaper one.

    python3 dev.py spark-bench --crossing [--pairs 30,10000] [--json bench/spark_crossing.json]

The running example with some demand: batches of changes that all matter go by the engines and by the joins in
turn. Each cell is a demand and a size of a batch, with what both roads took, what the planner knew then and
what it estimated. Which road is cheaper is said by the CPU seconds of all processes, so that what else runs
on the machine does not decide it. At the end are the constants that the planner begins with beside what they
are here. A recorded run is what `tests/spark/test_crossing.py` holds the planner to.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.spark_pipeline import Run, prepare
from incoq.spark import planner
from incoq.spark.planner import Measures, estimate
from incoq.spark.session import session

PLAIN = 1.3  # roads that are nearer to each other than this are as good as each other


@dataclass(frozen=True)
class Cell:
    """One demand and one size of a batch, on both roads."""

    pairs: int
    events: int
    rows: int  # that the events leave behind
    engines: tuple[float, float]  # wall, CPU seconds
    joins: tuple[float, float]
    measures: dict[str, float]  # what the planner knew
    estimated: dict[str, float]
    chosen: str

    @property
    def cheaper(self) -> str:
        """The road that is plainly cheaper; empty where they are as good as each other."""
        return plainly_cheaper(self.engines, self.joins)


def plainly_cheaper(engines: tuple[float, float], joins: tuple[float, float]) -> str:
    """Of two roads with their wall and CPU seconds; empty where they are as good as each other."""
    used = {"engines": engines[1], "joins": joins[1]}
    return min(used, key=used.__getitem__) if max(used.values()) > PLAIN * min(used.values()) else ""


class Watched:
    """A pipeline that is told a road for each batch."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.rows = 0
        run.pipeline.watch = self._see

    def _see(self, progress: Any) -> None:
        self.rows = progress.rows

    def batch(self, size: int, road: str) -> tuple[float, float]:
        self.run.pipeline.roads.told = road
        taken = self.run.batch(size, relevant=True)
        return round(taken["wall"], 3), round(taken["cpu"], 3)

    @property
    def measures(self) -> Measures:
        return Measures.of(self.run.pipeline.store.manifest().measures)

    def cell(self, size: int) -> Cell:
        """The engines first, which have seen all before; then the joins; then the engines catch up."""
        self.batch(size, "engines")
        engines = self.batch(size, "engines")
        known = self.measures
        joins = self.batch(size, "joins")
        rows = self.rows
        cost = estimate(known, rows, 0)
        self.batch(100, "engines")
        return Cell(
            self.run.pairs, size, rows, engines, joins, known.as_json(), cost.as_json(), cost.road,
        )  # fmt: skip


def constants(run: Watched, cells: list[Cell]) -> dict[str, tuple[float, float]]:
    """What the planner begins with, beside what it is here."""
    job = statistics.median(run.batch(1, "engines")[0] for _ in range(5))
    # What the joins take in excess of reading the batch, by what they reach.
    taken = [(c.measures["facts"], c.joins[0] - job - c.rows * planner.PER_ROW) for c in cells]
    least = min(taken)
    slopes = [(s - least[1]) / (f - least[0]) for f, s in taken if f > 2 * least[0]]
    most = max(c.events for c in cells)
    changes = [c.measures["change"] for c in cells if c.events == most]
    return {
        "JOB": (planner.JOB, job),
        "JOINS": (planner.JOINS, min(s for _, s in taken)),
        "PER_FACT, with its answers": (planner.PER_FACT, statistics.median(slopes) if slopes else 0.0),
        "Measures.change": (Measures.change, statistics.median(changes)),
        "Measures.demand": (Measures.demand, statistics.median(c.measures["demand"] for c in cells)),
    }


def measure(pairs: list[int], sizes: list[int], place: Path | None) -> int:
    """Print all cells; status 1 where the planner would take a road that is plainly dearer."""
    spark = session("incoq crossing", "local[2]")
    cells: list[Cell] = []
    print(f"{'pairs':>7} {'changes':>8} {'rows':>8} {'engines: s, CPU s':>18} {'joins':>14} {'planner':>8}")
    last: Watched | None = None
    with tempfile.TemporaryDirectory() as folder:
        for count in pairs:
            last = Watched(prepare(spark, Path(folder), 1, count, "engines"))
            last.batch(1_000, "joins")  # Spark's first joins take longer than all later ones
            last.batch(1_000, "engines")
            for size in sizes:
                cell = last.cell(size)
                cells.append(cell)
                cost = cell.estimated
                wrong = "" if cell.cheaper in ("", cell.chosen) else "  the dearer"
                print(
                    f"{count:>7,} {size:>8,} {cell.rows:>8,} {cell.engines[0]:>10.2f} "
                    f"{cell.engines[1]:>7.2f} {cell.joins[0]:>7.2f} {cell.joins[1]:>6.2f} "
                    f"{cell.chosen:>8}, estimated {cost['engines']:.2f} and {cost['joins']:.2f}{wrong}",
                    flush=True,
                )
        assert last is not None
        found = constants(last, cells)
        for name, (begun, here) in found.items():
            print(f"{name:<28} {begun:.2g} to begin with, {here:.2g} here")
    spark.stop()
    if place is not None:
        place.write_text(json.dumps([asdict(cell) for cell in cells], indent=1) + "\n")
    return 1 if any(cell.cheaper not in ("", cell.chosen) for cell in cells) else 0
