"""The two roads of a batch, engines and joins: what each writes to the feed, and what is learned on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from incoq.spark.events import Batch
from incoq.spark.hosting import DEMAND
from incoq.spark.lookup import Lookup
from incoq.spark.planner import JOINS, ROADS, Estimate, Measures, estimate
from incoq.spark.reach import Reach, reach_of
from incoq.spark.store import Entry, Files, Manifest, NoJoins, Store, StoreError, with_total
from incoq.spark.worker import Outcome, partition_of

# Writes how the answers of a manifest differ from those of one before to a place; None before: from none.
# Gives the files, how many rows they have, and by how many the answers grew.
Joins = Callable[[Manifest | None, Manifest, str], tuple[Files, int, int]]
Advance = Callable[[Manifest, str, bool, bool], list[Outcome]]  # name, from scratch, with a snapshot


@dataclass(frozen=True)
class Applied:
    """How the answers changed, by whichever road."""

    feed: Entry
    outcomes: tuple[Outcome, ...]
    changes: int
    grown: int  # by how many rows the answers grew
    road: str


class Roads:
    """Takes one of the roads for each batch."""

    def __init__(
        self,
        store: Store,
        advance: Advance,
        snapshot_every: int,
        joins: Joins | None,
        told: str,
        at_once: int,
    ) -> None:
        if told not in ROADS:
            raise StoreError(f"a road is {', '.join(ROADS)}; not {told}")
        if told == "joins" and joins is None:
            raise StoreError("joins need a Spark session")
        self.store, self.advance, self.snapshot_every = store, advance, snapshot_every
        self.joins, self.told, self.at_once = joins, told, at_once
        self.no_joins = ""  # why the joins cannot be taken
        self.are_built = False  # did engines work for this object? those of a session before are gone

    def estimate(self, manifest: Manifest, batch: Batch, changed: Manifest) -> Estimate:
        """What a batch would take that leads from one manifest to another."""
        new: dict[str, list[str]] = {}
        for relation, owner, _, _, begins in batch.rows:
            if begins and relation.startswith(DEMAND):
                new.setdefault(relation.removeprefix(DEMAND), []).append(owner)
        measures = Measures.of(manifest.measures)
        if not self.are_built:
            measures = replace(measures, behind=-1.0)
        reach = self.reach(changed, new) if new else None
        return estimate(measures, len(batch.rows), sum(map(len, new.values())), reach)

    def reach(self, manifest: Manifest, demand: Mapping[str, Sequence[str]]) -> Reach | None:
        """What some demand reaches; None where all that there is could not make the joins cheaper."""
        most = self.bound(manifest).loaded * Measures.of(manifest.measures).load
        if self.joins is None or most < JOINS:
            return None
        deployment = self.store.deployment()
        hidden = {q.name: [text for _, text in q.hidden] for q in deployment.queries}
        lookup = Lookup(self.store.path, manifest.base, manifest.log)
        parts: dict[int, dict[str, list[str]]] = {}
        for query, combinations in demand.items():
            for params in combinations:
                part = parts.setdefault(partition_of(params, manifest.partitions), {})
                part.setdefault(query, []).append(params)
        fullest = max(parts.values(), key=lambda part: sum(map(len, part.values())), default={})
        total, most = (reach_of(deployment.joins, lookup, some, hidden) for some in (demand, fullest))
        return Reach(total, most * max(1.0, len(parts) / self.at_once))

    def bound(self, manifest: Manifest) -> Reach:
        """As if all that there is were reached, in every partition."""
        rows = manifest.base.rows + sum(entry.rows for entry in manifest.log)
        return Reach(rows, rows * max(1.0, manifest.partitions / self.at_once))

    def take(
        self, before: Manifest, changed: Manifest, name: str, batch: Batch, cost: Estimate
    ) -> tuple[Manifest, Applied]:
        """Find how a batch changes the answers; the manifest with that, and with what was learned."""
        started = time.perf_counter()
        applied = self._taken(before, changed, name, cost, False)
        return self._learned(changed, batch, applied, cost, time.perf_counter() - started), applied

    def begin(self, manifest: Manifest, queries: Sequence[str]) -> tuple[Manifest, Applied]:
        """Answer the demand of a new base."""
        demand: dict[str, list[str]] = {}
        if manifest.base.rows:
            for query, params, _ in Lookup(self.store.path, manifest.base, ()).demand(queries):
                demand.setdefault(query, []).append(params)
        demanded = sum(map(len, demand.values()))
        reach = self.reach(manifest, demand) or self.bound(manifest)
        cost, started = estimate(Measures(), 0, demanded, reach), time.perf_counter()
        manifest = replace(manifest, measures=Measures(demanded=float(demanded), behind=-1.0).as_json())
        applied = self._taken(None, manifest, "bootstrap: answer the demand", cost, True)
        return self._learned(manifest, Batch(), applied, cost, time.perf_counter() - started), applied

    def _taken(
        self, before: Manifest | None, changed: Manifest, name: str, cost: Estimate, from_scratch: bool
    ) -> Applied:
        """By the road that is told, or that is cheaper."""
        road = cost.road if self.told == "auto" and self.joins is not None else self.told
        if road == "joins":
            try:
                return self._by_joins(before, changed)
            except NoJoins as error:
                if self.told == "joins":
                    raise
                self.joins, self.no_joins = None, str(error)
        return self._by_engines(changed, name, from_scratch)

    def _by_engines(self, changed: Manifest, name: str, from_scratch: bool) -> Applied:
        last = changed.snapshot.batch if changed.snapshot is not None else 0
        snapshot = changed.batch // self.snapshot_every > last // self.snapshot_every
        outcomes = self.advance(changed, name, from_scratch, snapshot)
        self.are_built = True
        changes, grown = sum(o.changes for o in outcomes), sum(o.grown for o in outcomes)
        return Applied(feed_entry(changed, outcomes), tuple(outcomes), changes, grown, "engines")

    def _by_joins(self, before: Manifest | None, changed: Manifest) -> Applied:
        assert self.joins is not None
        place = self.store.place("feed", changed.batch, changed.token)
        files, changes, grown = self.joins(before, changed, place)
        feed = Entry(changed.batch, place, changes, changed.token, files)
        return Applied(feed, (), changes, grown, "joins")

    def _learned(
        self, changed: Manifest, batch: Batch, applied: Applied, cost: Estimate, seconds: float
    ) -> Manifest:
        measures, rows = Measures.of(changed.measures), len(batch.rows)
        if applied.road == "engines":
            measures = measures.after_engines(rows, applied.outcomes, seconds)
        else:
            new = sum((1 if row[4] else -1) for row in batch.rows if row[0].startswith(DEMAND))
            measures = measures.after_joins(rows, seconds, cost, applied.grown, new)
        measures = replace(measures, reached=min(cost.facts, measures.facts))
        changed = replace(
            changed, feed=(*changed.feed, applied.feed), measures=measures.as_json(),
            roads={"last": applied.road, "told": self.told, "estimate": cost.as_json(),
                   "no_joins": self.no_joins},
        )  # fmt: skip
        changed = with_total(changed, **{f"by_{applied.road}": 1})
        files = _in_order(o.snapshot for o in applied.outcomes)
        if not files:
            return changed
        place = self.store.place("snapshots", changed.batch, changed.token)
        loaded = sum(o.loaded for o in applied.outcomes)
        return replace(changed, snapshot=Entry(changed.batch, place, loaded, changed.token, files))


def feed_entry(manifest: Manifest, outcomes: Sequence[Outcome]) -> Entry:
    """What the partitions wrote to the feed."""
    files = _in_order(o.feed for o in outcomes)
    path = f"feed/{manifest.batch:08d}-{manifest.token}"
    return Entry(manifest.batch, path, sum(o.changes for o in outcomes), manifest.token, files)


def _in_order(written: Iterable[Files]) -> Files:
    """What several tasks wrote, by name."""
    return dict(sorted(file for files in written for file in files.items()))
