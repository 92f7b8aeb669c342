"""Which road a batch takes: the engines that are kept, or everything anew by joins of DataFrames.

An engine pays for each change that concerns it, and for each fact that newly demanded combinations reach
(`reach` samples how many); the joins pay for what all demand reaches, however little of it changed. Both are
estimated in seconds. The constants are a beginning: JOB, PER_ROW and JOINS are what `dev.py spark-bench`
measured on two idle cores (0.11 to 0.15 s, 10 to 12 µs, 3.7 to 4.4 s), those for
facts and answers are rounded up from `--beginnings` on a busy machine. What they stand for is measured again
in each batch of a pipeline (`Measures`), so that after a few batches the estimates speak of this data on
this machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from incoq.spark.reach import Reach
from incoq.spark.worker import Outcome

ROADS = ("auto", "engines", "joins")
JOB = 0.15  # seconds of a batch that changes nothing
PER_ROW = 12e-6  # of reading one event and writing its row
JOINS = 4.0  # of joins over nothing
PER_FACT, PER_ANSWER = 8e-6, 8e-6  # for what they reach, and what they answer
ANSWERS = 4.0  # of a combination, where nothing is known of the answers
MARGIN = 0.8  # the joins must be cheaper by this: taking them leaves the engines behind
_WEIGHT = 0.5  # of what was measured last
_TASK, _MANY = 0.02, 10_000  # seconds of a task with no change; as many changes weigh as much as all before
_MEANT = 20_000  # facts: loading fewer says nothing about one, nor about a combination


@dataclass(frozen=True)
class Measures:
    """What was seen of a pipeline: beside counts, seconds for one change, one combination, one estimate."""

    share: float = 1.0  # of the rows of a batch, how many concern a partition (one may concern several)
    change: float = 25e-6  # seconds for one of them
    demand: float = 3e-3  # seconds to begin to maintain one combination
    load: float = 10e-6  # seconds for a fact that a partition loads, its part in the answers included
    facts: float = 0.0  # what the engines have loaded, one by one
    reached: float = 0.0  # the same, but each fact once, however many partitions load it; 0: not known
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

    def after_engines(self, rows: int, outcomes: Sequence[Outcome], seconds: float = 0.0) -> Measures:
        """What a batch that the engines applied teaches; more partitions than cores wait for each other."""
        routed, slowest = sum(o.routed for o in outcomes), max((o.seconds for o in outcomes), default=0.0)
        slowest = max(slowest, seconds - JOB)
        found = replace(
            self,
            facts=float(sum(o.loaded for o in outcomes)),
            demanded=float(sum(o.demanded for o in outcomes)),
            answers=max(0.0, self.answers + sum(o.grown for o in outcomes)),
            behind=0.0,
            waited=0.0,
        )
        if any(o.built for o in outcomes):
            built, most = found.demanded, max(outcomes, key=lambda o: o.loaded)
            if not built or most.loaded < _MEANT:
                return found  # most of the time went into starting workers
            return replace(found, demand=slowest / built, load=most.seconds / most.loaded)
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
        demanded = self.demanded + new
        return replace(
            self,
            joins=ratio,
            behind=behind,
            answers=max(0.0, self.answers + grown),
            demanded=demanded,
            demand=cost.build / demanded if demanded > 0 else self.demand,
            facts=cost.facts,
            waited=self.waited + max(0.0, cost.joins - cost.once_there),
        )


def _mixed(before: float, now: float, weight: float = _WEIGHT) -> float:
    return (1 - weight) * before + weight * now


@dataclass(frozen=True)
class Estimate:
    """What a batch would take, in seconds."""

    engines: float
    joins: float
    once_there: float = 0.0  # by the engines, if they were not behind
    build: float = 0.0  # to build engines for all that is demanded then
    facts: float = 0.0  # that is reached then

    @property
    def road(self) -> str:
        return "joins" if self.joins < MARGIN * self.engines else "engines"

    def as_json(self) -> dict[str, Any]:
        return {"engines": round(self.engines, 3), "joins": round(self.joins, 3)}


def estimate(measures: Measures, rows: int, new: int, reach: Reach | None = None) -> Estimate:
    """What a batch of so many rows would take, of which `new` begin demand, which reaches so much.

    To bring the engines back costs once, and saves in every batch after it: so what they would have saved
    in the batches since they were left is taken off, and joins are not taken for ever.
    """
    if reach is None:  # as much as those before
        each = measures.facts / measures.demanded if measures.demanded else 0.0
        reach, begin = Reach(new * each, new * each), new * measures.demand
    else:
        begin = reach.loaded * measures.load
    per_row = PER_ROW + measures.share * measures.change
    once_there = JOB + rows * per_row + begin
    build = measures.demanded * measures.demand
    # What they missed is replayed, or loaded anew where that is less.
    back = build if measures.behind < 0 else min(measures.behind * per_row, build)
    engines = once_there + max(0.0, back - measures.waited)
    facts = (measures.reached or measures.facts) + reach.total
    answers = measures.answers if measures.answers else ANSWERS * measures.demanded
    answers += new * (answers / measures.demanded if measures.demanded else ANSWERS)
    joins = JOINS + facts * PER_FACT + answers * PER_ANSWER
    seconds = JOB + rows * PER_ROW + joins * measures.joins
    return Estimate(engines, seconds, once_there, build + begin, facts)
