"""The planner takes the cheaper road on both sides of where they cross: both are measured here."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from incoq.spark.pipeline import Pipeline, Progress
from incoq.spark.recompute import by_joins
from incoq.spark.session import runner
from tests.spark.pipelines import lines, pipeline

# A pair is in the answer where a price lies in a range, so one price is compared with every buyer: to the
# engines a change costs as much as there are buyers, to the joins the first costs as much as all.
MARKET = """
from incoq import query

@query
def deals(buyers, sellers):
    return {(b, s) for b in buyers for s in sellers if b.low < s.price if s.price < b.high}
"""
PEOPLE = 2_000
FEW, MANY = 20, 2_000
MARGIN = 1.3  # how far apart the roads must be for a choice to be right or wrong


class Market:
    """A pipeline that is told what to do, or decides for itself, with what it took."""

    def __init__(self, made: Pipeline) -> None:
        self.made, self.rng, self.sequence = made, random.Random(1), 1
        self.last: Progress | None = None
        made.watch = self.see
        facts: list[tuple[Any, ...]] = [("demand_deals", "add", "B", "S")]
        for number in range(PEOPLE):
            low = self.rng.randrange(1_000_000)
            buyer, seller = f"b{number}", f"s{number}"
            facts += [("member", "add", "B", buyer), ("member", "add", "S", seller)]
            facts += [("field_low", "assign", buyer, low), ("field_high", "assign", buyer, low + 100)]
            facts.append(("field_price", "assign", seller, self.rng.randrange(1_000_000)))
        self.run(facts, "engines")

    def see(self, progress: Progress) -> None:
        self.last = progress

    def run(self, events: list[tuple[Any, ...]], road: str) -> Progress:
        self.made.roads.told = road
        self.made.run_batch(lines(events, self.sequence), "market")
        self.sequence += len(events)
        assert self.last is not None
        return self.last

    def prices(self, count: int, road: str) -> Progress:
        """So many prices change."""
        sellers = self.rng.sample(range(PEOPLE), count)
        events = [("field_price", "assign", f"s{n}", self.rng.randrange(1_000_000)) for n in sellers]
        return self.run(events, road)


def test_the_planner_takes_the_cheaper_road_on_both_sides_of_the_crossing(spark: Any, tmp_path: Path) -> None:
    made = pipeline(tmp_path, MARKET)
    made.run, made.roads.joins = runner(spark), by_joins(spark, made.store)
    market = Market(made)
    market.prices(FEW, "joins")  # Spark's first joins take longer than all later ones
    seconds = {}
    for count in (FEW, MANY):
        for road in ("joins", "engines"):
            market.prices(FEW, "engines")  # which were left behind, so that they begin at the same batch
            seconds[count, road] = market.prices(count, road).seconds
    assert seconds[FEW, "engines"] * MARGIN < seconds[FEW, "joins"], seconds
    assert seconds[MANY, "joins"] * MARGIN < seconds[MANY, "engines"], seconds
    taken = [market.prices(MANY, "auto") for _ in range(3)]
    assert [t.road for t in taken][-1] == "joins", (seconds, taken)
    taken = [market.prices(FEW, "auto") for _ in range(3)]
    assert [t.road for t in taken] == ["engines"] * 3, (seconds, taken)
    assert made.verify() == []
