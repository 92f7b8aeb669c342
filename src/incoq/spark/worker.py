"""What runs on the workers: one engine for each partition of the demand, kept between batches.

An engine remembers the batches that it has seen. One that is behind replays what it missed, one that has
seen an attempt that was never committed is thrown away, and a new one is built of the demand and what that
demand needs, as of the batch before. So it does not matter on which worker a partition lands, or how often.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from incoq.spark import sealed
from incoq.spark.deployment import Deployment
from incoq.spark.hosting import DEMAND, Engine, Row
from incoq.spark.lookup import Lookup, files_of, log_of
from incoq.spark.snapshots import load_snapshot, trimmed, write_snapshot
from incoq.spark.store import Entry, Files, Store

REBUILD_AT = (
    2.0  # relevant changes for each loaded fact: beyond, starting anew is cheaper (bench.spark_pipeline)
)
FEED = pa.schema(
    [("query", pa.string()), ("params", pa.string()), ("result", pa.string()), ("delta", pa.int8())]
)

RESULTS = "query string, params string, result string, delta tinyint"  # the same to Spark


@dataclass(frozen=True)
class Task:
    """Bring one partition to the last of the batches in `log`, and report how its answers changed there."""

    store: str
    partition: int
    partitions: int
    program: str  # digest of the compiled program
    base: Entry
    log: tuple[Entry, ...]
    feed: str  # the directory to write to
    snapshot: Entry | None = None  # what an engine held at some batch
    snapshot_to: str = ""  # a directory to write what it holds after this batch
    from_scratch: bool = False  # report all answers, as if there had been none before


@dataclass(frozen=True)
class Outcome:
    """What a partition did."""

    partition: int
    routed: int  # rows of the batch that concerned it
    fetched: int  # rows that it had to look up
    changes: int
    feed: Files  # what it wrote
    built: bool
    replayed: int
    demanded: int
    loaded: int
    seconds: float
    snapshot: Files
    rebuilt: bool  # was starting anew cheaper than applying the batch?
    grown: int  # by how many rows the answers grew


@dataclass
class _Hosted:
    engine: Engine
    program: str
    seen: str  # the token of the last batch


ENGINES: dict[tuple[str, int, int], _Hosted] = {}  # (store, partition, partitions), the last used last
STORES = 4  # whose engines a process holds


@lru_cache(maxsize=4)
def _program(store: str, digest: str) -> tuple[Deployment, Any]:
    deployment = Store(store).deployment()
    return deployment, _code(deployment.code, digest)


@lru_cache(maxsize=4)  # stores of one program share it: compiling takes longer than all else to begin
def _code(text: str, digest: str) -> Any:
    return compile(text, f"<incoq engine {digest}>", "exec", dont_inherit=True)


def partition_of(params: str, partitions: int) -> int:
    """The partition that a demanded combination belongs to."""
    return int.from_bytes(hashlib.blake2b(params.encode(), digest_size=8).digest(), "big") % partitions


def _drop_engines() -> None:
    """Let go of the engines of stores that were not used of late."""
    stores = list(dict.fromkeys(store for store, _, _ in reversed(ENGINES)))
    for place in [place for place in ENGINES if place[0] in stores[STORES:]]:
        del ENGINES[place]


def advance(task: Task) -> Outcome:
    """Do a task; run by Spark on whatever worker is free."""
    started = time.perf_counter()
    place = task.store, task.partition, task.partitions
    wanted = [task.base.token, *(entry.token for entry in task.log)]
    hosted = ENGINES.pop(place, None)  # put back when all went well
    usable = (
        hosted is not None
        and not task.from_scratch
        and hosted.program == task.program
        and hosted.seen in wanted[:-1]
    )
    fetched = routed = 0
    rebuilt = False
    if not usable:
        before = task.log if task.from_scratch else task.log[:-1]
        hosted, fetched = _build(task, before)
        if not task.from_scratch:
            hosted.engine.report()
    assert hosted is not None
    engine = hosted.engine
    pending = task.log[wanted.index(hosted.seen) :]
    replayed = max(0, len(pending) - 1)
    for entries in filter(None, (pending[:-1], pending[-1:])):  # what was missed counts as one batch
        if replayed and entries[-1] is pending[-1]:
            engine.report()
        lookup = _lookup(task, entries[-1].batch)
        changes = Relevant.of(engine, task, entries)
        routed = len(changes.rows) + len(changes.demand)
        rebuilt = engine.outweighed(len(changes.rows) / REBUILD_AT)
        if rebuilt:
            engine = hosted.engine = _reloaded(engine, lookup, changes.demand)
        else:
            changes.apply(engine)
            fetched += _satisfy(engine, lookup)
        if engine.refused:
            engine = hosted.engine = _reloaded(engine, lookup)
    hosted.seen = wanted[-1]
    reported = engine.report()
    feed = _write_feed(task, reported)
    snapshot: Files = {}
    if task.snapshot_to:
        if engine.has_released:
            engine = hosted.engine = trimmed(engine, Lookup(Path(task.store), task.base, task.log))
        name = f"{task.snapshot_to}/part-{task.partition:05d}-{uuid.uuid4().hex[:8]}.parquet"
        snapshot[name] = write_snapshot(engine, Path(task.store) / name)
    ENGINES[place] = hosted
    if not usable:
        _drop_engines()
    return Outcome(
        task.partition, routed, fetched, len(reported), feed, not usable, replayed, len(engine.demanded),
        engine.size(), time.perf_counter() - started, snapshot,
        rebuilt, sum(row[3] for row in reported),
    )  # fmt: skip


def _lookup(task: Task, batch: int) -> Lookup:
    return Lookup(Path(task.store), task.base, [e for e in task.log if e.batch <= batch])


def _build(task: Task, log: tuple[Entry, ...]) -> tuple[_Hosted, int]:
    """An engine as of the last of these batches, or of a snapshot not after it."""
    deployment, code = _program(task.store, task.program)
    engine = Engine(deployment, code)
    known = [task.base.token, *(e.token for e in log)]
    if task.snapshot is not None and task.snapshot.token in known and not task.from_scratch:
        number = f"part-{task.partition:05d}-"
        file = next(f for f in task.snapshot.files if Path(f).name.startswith(number))
        fetched = load_snapshot(engine, Path(task.store) / file, task.snapshot.files[file])
        return _Hosted(engine, task.program, task.snapshot.token), fetched
    lookup = Lookup(Path(task.store), task.base, log)
    for query, params, spelled in lookup.demand(q.name for q in deployment.queries):
        if partition_of(params, task.partitions) == task.partition:
            engine.demand(query, params, True, spelled)
    fetched = _satisfy(engine, lookup)
    if engine.refused:
        engine = _reloaded(engine, lookup)
    return _Hosted(engine, task.program, log[-1].token if log else task.base.token), fetched


@dataclass(frozen=True)
class Relevant:
    """What of a batch concerns a partition."""

    rows: list[Row]  # changes of what is loaded
    demand: list[tuple[str, str, bool, str | None]]  # query, parameters, does it begin, how it is spelled

    @classmethod
    def of(cls, engine: Engine, task: Task, entries: Sequence[Entry]) -> Relevant:
        """What some batches leave behind, of what concerns an engine."""
        rows: list[Row] = []
        demand: list[tuple[str, str, bool, str | None]] = []
        loaded = engine.loaded
        for file in files_of(Path(task.store), entries):
            table = log_of(*file)
            for row in zip(*(table[c].to_pylist() for c in ("rel", "o", "k", "x", "p")), strict=True):
                known = loaded.get(row[0])
                if known is not None:
                    if row[1] in known:
                        rows.append(row)
                elif row[0].startswith(DEMAND) and partition_of(row[1], task.partitions) == task.partition:
                    demand.append((row[0].removeprefix(DEMAND), row[1], row[4], row[3]))
        if len(entries) > 1:  # the last change of each tuple counts
            rows = list({row[:3]: row for row in rows}.values())
            demand = list({change[:2]: change for change in demand}.values())
        return cls(rows, demand)

    def apply(self, engine: Engine) -> None:
        """Demand that ends, changes of what is loaded, demand that begins."""
        for query, params, begins, _ in self.demand:
            if not begins:
                engine.demand(query, params, False)
        engine.apply(self.rows)
        for query, params, begins, spelled in self.demand:
            if begins:
                engine.demand(query, params, True, spelled)


def _satisfy(engine: Engine, lookup: Lookup) -> int:
    """Fetch what the engine needs until it needs nothing more."""
    fetched = 0
    while needs := engine.take_needs():
        rows = lookup.fetch(needs)
        fetched += len(rows)
        engine.apply(rows)
    return fetched


def _reloaded(
    engine: Engine, lookup: Lookup, demand: Sequence[tuple[str, str, bool, str | None]] = ()
) -> Engine:
    """A new engine as of a look-up, everything loaded first, with the same demand but for some changes of it.

    Loading costs no maintenance, so that for many changes it is the cheaper way. It is also the way out where
    an engine refused something: while its data arrives, it may see what the whole data does not show; what
    is refused even so is a fault of the program.
    """
    fresh = Engine(engine.deployment, engine.code)
    needs = engine.everything()
    fresh.preload(needs, lookup.fetch(needs))
    wanted = {combination: engine.spelled(*combination) for combination in engine.demanded}
    for query, params, begins, spelled in demand:
        if not begins:
            wanted.pop((query, params), None)
        else:
            wanted[query, params] = spelled
    for (query, params), spelled in wanted.items():
        fresh.demand(query, params, True, spelled)
    fresh.has_released = engine.has_released or not all(begins for _, _, begins, _ in demand)
    _satisfy(fresh, lookup)
    fresh.succeed(engine)
    return fresh


def _write_feed(task: Task, changes: list[tuple[str, str, str, int]]) -> Files:
    if not changes:
        return {}
    name = f"{task.feed}/part-{task.partition:05d}-{uuid.uuid4().hex[:8]}.parquet"
    columns = [list(column) for column in zip(*changes, strict=True)]
    return {name: sealed.write_table(pa.table(columns, schema=FEED), Path(task.store) / name)}
