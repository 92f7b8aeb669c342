"""Which road a batch takes: the engines that are kept, or everything anew by joins of DataFrames.

An engine pays for each change that concerns it, and for each combination that is newly demanded; the joins
pay for what demand reaches, however little of it changed. Both are estimated in seconds. The constants are
a beginning: JOB, PER_ROW and JOINS are what `dev.py spark-bench` measured on two idle cores (0.11 to 0.15 s,
10 to 12 µs, 3.7 to 4.4 s; the tables of docs/spark.md), the others are rounded up from single runs. What they
stand for is measured again in each batch of a pipeline (`Measures`), so that after a few batches the
estimates speak of this data on this machine; `dev.py spark-bench --crossing` prints both side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from incoq.spark.worker import Outcome

ROADS = ("auto", "engines", "joins")
JOB = 0.15  # seconds of a batch that changes nothing
PER_ROW = 12e-6  # of reading one event and writing its row
JOINS = 4.0  # of joins over nothing
PER_FACT, PER_ANSWER = 8e-6, 10e-6  # for what they reach, and what they answer
MARGIN = 0.8  # the joins must be cheaper by this: taking them leaves the engines behind
_WEIGHT = 0.5  # of what was measured last
_TASK, _MANY = 0.02, 10_000  # seconds of a task with no change; as many changes weigh as much as all before


@dataclass(frozen=True)
class Measures:
    """What was seen of a pipeline: beside counts, seconds for one change, one combination, one estimate."""

    share: float = 1.0  # of the rows of a batch, how many concern a partition (one may concern several)
    change: float = 25e-6  # seconds for one of them
    demand: float = 3e-3  # seconds to begin to maintain one combination
    facts: float = 0.0  # what the engines have loaded
    demanded: float = 0.0
    answers: float = 0.0
    joins: float = 1.0  # seconds that joins took for one that was estimated
    behind: float = 0.0  # rows that the engines have not seen; -1: they do not exist
    waited: float = 0.0  # seconds that they would have saved since then, had they not been behind

    @classmethod
    def of(cls, data: Mapping[str, float]) -> Measures:
        return cls(**data)

    def as_json(self) -> dict[str, float]:
        return asdict(self)

    def after_engines(self, rows: int, outcomes: Sequence[Outcome]) -> Measures:
        """What a batch that the engines applied teaches."""
        routed, slowest = sum(o.routed for o in outcomes), max((o.seconds for o in outcomes), default=0.0)
        found = replace(
            self,
            facts=float(sum(o.loaded for o in outcomes)),
            demanded=float(sum(o.demanded for o in outcomes)),
            answers=max(0.0, self.answers + sum(o.grown for o in outcomes)),
            behind=0.0,
            waited=0.0,
        )
        if any(o.built for o in outcomes):
            built = found.demanded
            return replace(found, demand=slowest / built) if built else found
        if rows and not any(o.replayed for o in outcomes):
            found = replace(found, share=_mixed(self.share, routed / rows))
            if routed:
                seconds = max(0.0, slowest - _TASK) / routed
                found = replace(found, change=_mixed(self.change, seconds, routed / (routed + _MANY)))
        return found

    def after_joins(self, rows: int, seconds: float, cost: Estimate, grown: int, new: int) -> Measures:
        """What a batch that the joins answered teaches."""
        behind = self.behind if self.behind < 0 else self.behind + rows
        ratio = _mixed(self.joins, self.joins * seconds / max(cost.joins, 1e-9))
        return replace(
            self, joins=ratio, behind=behind, answers=max(0.0, self.answers + grown),
            demanded=self.demanded + new, waited=self.waited + max(0.0, cost.joins - cost.once_there),
        )  # fmt: skip


def _mixed(before: float, now: float, weight: float = _WEIGHT) -> float:
    return (1 - weight) * before + weight * now


@dataclass(frozen=True)
class Estimate:
    """What a batch would take, in seconds."""

    engines: float
    joins: float
    once_there: float = 0.0  # by the engines, if they were not behind

    @property
    def road(self) -> str:
        return "joins" if self.joins < MARGIN * self.engines else "engines"

    def as_json(self) -> dict[str, Any]:
        return {"engines": round(self.engines, 3), "joins": round(self.joins, 3)}


def estimate(measures: Measures, rows: int, new: int) -> Estimate:
    """What a batch of so many rows would take, of which `new` begin demand.

    To bring the engines back costs once, and saves in every batch after it: so what they would have saved
    in the batches since they were left is taken off, and joins are not taken for ever.
    """
    per_row = PER_ROW + measures.share * measures.change
    once_there = JOB + rows * per_row + new * measures.demand
    back = measures.demanded * measures.demand
    if measures.behind >= 0:  # what they missed is replayed, or loaded anew where that is less
        back = min(measures.behind * per_row, back)
    engines = once_there + max(0.0, back - measures.waited)
    reached = measures.facts + new * (measures.facts / measures.demanded if measures.demanded else 0.0)
    joins = JOINS + reached * PER_FACT + measures.answers * PER_ANSWER
    return Estimate(engines, JOB + rows * PER_ROW + joins * measures.joins, once_there)
