"""The planner takes the cheaper road on both sides of where they cross; what they cost it must learn."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest

from incoq.spark.planner import JOB, PER_ROW, Measures, estimate
from incoq.spark.worker import Outcome

PLAIN = 1.5  # roads that are nearer to each other than this are as good as each other
SIZES = (100, 1_000, 10_000, 50_000, 200_000)


@dataclass
class Machine:
    """What the roads really take here, in seconds, and what a planner has learned of it."""

    change: float  # for a row, by the engines
    joins: float  # for all answers, by the joins
    measures: Measures

    def seconds(self, rows: int) -> dict[str, float]:
        """Of a batch of so many rows, by engines that are not behind, and by joins."""
        reading = JOB + rows * PER_ROW
        return {"engines": reading + rows * self.change, "joins": reading + self.joins}

    def run(self, rows: int) -> str:
        """Take the road that the planner takes, and have it learn."""
        cost, taken = estimate(self.measures, rows, 0), self.seconds(rows)
        if cost.road == "joins":
            self.measures = self.measures.after_joins(rows, taken["joins"], cost, 0, 0)
        else:
            known: dict[str, Any] = dict.fromkeys(Outcome.__dataclass_fields__, 0) | {
                "feed": {},
                "snapshot": {},
            }
            known |= {
                "routed": rows,
                "seconds": 0.02 + rows * self.change,
                "loaded": 100_000,
                "demanded": 100,
            }
            known["replayed"] = int(self.measures.behind > 0)
            self.measures = self.measures.after_engines(rows, [Outcome(**known)])
        return cost.road


@pytest.mark.parametrize("change", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("joins", [4.0, 15.0, 40.0])
def test_the_planner_takes_the_cheaper_road_on_both_sides_of_the_crossing(
    change: float, joins: float
) -> None:
    """A few batches after the size of the batches has changed, and not only where it is the same for ever."""
    machine = Machine(change, joins, Measures(facts=1e5, demanded=100, demand=0.1, answers=1e4))
    rng = random.Random(1)
    sides = set()
    for rows in [rng.choice(SIZES) for _ in range(20)]:
        taken = machine.seconds(rows)
        cheaper = min(taken, key=taken.__getitem__)
        roads = [machine.run(rows) for _ in range(12)]
        if max(taken.values()) > PLAIN * min(taken.values()):
            sides.add(cheaper)
            assert set(roads[-4:]) == {cheaper}, (rows, roads, taken)
    crosses = SIZES[0] * change < joins / PLAIN and SIZES[-1] * change > PLAIN * joins
    assert not crosses or sides == {"engines", "joins"}
