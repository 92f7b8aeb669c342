"""The driver: takes changes a batch at a time, has the partitions apply them, and commits.

    1. read and check the events             what cannot be understood goes to the rejected table
    2. write what they leave behind          log/, one row for each tuple
    3. one Spark job                         each partition applies what concerns it, fetches what it newly
                                             needs, and writes how its answers changed: feed/
       or joins of DataFrames                where they are cheaper (`planner`): all answers anew, and how
                                             they differ from those before
    4. replace the manifest                  now the batch has happened

A driver that dies before step 4 leaves files that nobody reads; the same batch is done again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from incoq.spark import sealed
from incoq.spark.compaction import fold, fold_tasks
from incoq.spark.deployment import Deployment
from incoq.spark.events import Batch, Reader, Rejected
from incoq.spark.lookup import LOG
from incoq.spark.mapping import RowReader, make_mapping
from incoq.spark.parts import Part, write_index
from incoq.spark.planner import Estimate
from incoq.spark.results import net_results, row_key
from incoq.spark.roads import Applied, Joins, Roads, feed_entry
from incoq.spark.status import REJECTED
from incoq.spark.store import Entry, Manifest, Store, StoreError, token, with_total, writing
from incoq.spark.worker import FEED, Outcome, Task, advance

KEEP_FEED = 100  # batches
SNAPSHOT_EVERY = 20  # batches
COMPACT_EVERY = 50  # batches in the log
Runner = Callable[[str, Callable[[Any], Any], Sequence[Any]], list[Any]]  # a name, a function, its tasks
# Writes a base to a place; its parts, and how many rows were rejected, by the reason.
WriteBase = Callable[[Path], tuple[Sequence[Part], Mapping[str, int]]]


@dataclass(frozen=True)
class Progress:
    """What a batch did, for whoever watches."""

    batch: int
    source: str
    events: int
    rejected: int
    rows: int
    routed: int
    fetched: int
    changes: int
    built: int
    seconds: float
    rebuilt: int = 0  # partitions for which starting anew was cheaper than applying
    road: str = "engines"  # or joins
    estimate: Estimate | None = None


class Pipeline:
    """A store, the session that works on it, and the program that it maintains."""

    def __init__(
        self,
        store: Store,
        run: Runner,
        watch: Callable[[Progress], None] = lambda progress: None,
        step: Callable[[str], None] = lambda name: None,
        snapshot_every: int = SNAPSHOT_EVERY,
        compact_every: int = COMPACT_EVERY,
        joins: Joins | None = None,
        road: str = "auto",
        at_once: int | None = None,  # how many tasks run at once; as many as this machine has cores
    ) -> None:
        at_once = at_once or os.cpu_count() or 1
        self.roads = Roads(store, self._advance, snapshot_every, joins, road, at_once)
        self.compact_every = compact_every
        self.store, self.run, self.watch, self.step = store, run, watch, step
        self.deployment = store.deployment()
        self.program = digest(self.deployment)
        mapping = store.mapping()
        self.reader = Reader(self.deployment, RowReader(make_mapping(mapping)).rows if mapping else None)

    # -- batches -----------------------------------------------------------------------------------

    def run_directory(self, folder: Path | str) -> int:
        """Take each new file of a directory, in name order, as one batch; how many there were."""
        folder = Path(folder)
        if not folder.is_dir():
            raise StoreError(f"{folder} is not a directory")
        source = str(folder.resolve())
        taken = set(self.store.manifest().sources.get(source, ()))
        new = sorted(
            p for p in folder.iterdir() if p.is_file() and _is_change_file(p) and p.name not in taken
        )
        for path in new:
            with path.open(encoding="utf-8-sig", errors="surrogateescape") as lines:
                self.run_batch(lines, path.name, partial(_taken, source, path.name))
        return len(new)

    def run_batch(
        self, lines: Iterable[str], source: str, mark: Callable[[Manifest], Manifest] = lambda m: m
    ) -> Manifest:
        """Apply one batch of JSON lines and commit it; `mark` notes in the manifest where it came from."""
        manifest = self.store.manifest()
        with writing(self.store, f"batch {manifest.batch + 1} was not committed"):
            changed = self._run_batch(manifest, lines, source, mark)
        return changed if len(changed.log) < self.compact_every else self.compact()

    def _run_batch(
        self, manifest: Manifest, lines: Iterable[str], source: str, mark: Callable[[Manifest], Manifest]
    ) -> Manifest:
        started = time.perf_counter()
        batch = self.reader.read(lines, manifest.sequence)
        self.step("read")
        attempt, number = token(), manifest.batch + 1
        changed = replace(manifest, batch=number, token=attempt, sequence=batch.last)
        entry = self._write_log(batch, number, attempt)
        self.step("log written")
        changed = self._write_rejected(changed, batch, source)
        applied: Applied | None = None
        if batch.rows:
            changed = replace(changed, log=(*manifest.log, entry))
        cost = self.roads.estimate(manifest, batch, changed)
        if batch.rows:
            name = f"batch {number}: apply {source}"
            changed, applied = self.roads.take(manifest, changed, name, batch, cost)
        self.step("applied")
        outcomes = applied.outcomes if applied is not None else ()
        changes = applied.changes if applied is not None else 0
        changed = with_total(
            mark(changed), events=batch.events, rejected=len(batch.rejected),
            routed=sum(o.routed for o in outcomes), changes=changes,
            seconds=time.perf_counter() - started,
        )  # fmt: skip
        self.step("before commit")
        self.store.commit(changed)
        self.step("committed")
        self.watch(
            Progress(
                number, source, batch.events, len(batch.rejected), len(batch.rows),
                sum(o.routed for o in outcomes), sum(o.fetched for o in outcomes),
                changes, sum(o.built for o in outcomes),
                time.perf_counter() - started, sum(o.rebuilt for o in outcomes),
                applied.road if applied is not None else "engines", cost,
            )
        )  # fmt: skip
        return changed

    def _advance(
        self, manifest: Manifest, name: str, from_scratch: bool = False, snapshot: bool = False
    ) -> list[Outcome]:
        """One job: every partition to the last batch of the manifest."""
        place = self.store.place("feed", manifest.batch, manifest.token)
        snapshots = self.store.place("snapshots", manifest.batch, manifest.token) if snapshot else ""
        tasks = [
            Task(
                str(self.store.path), p, manifest.partitions, self.program, manifest.base, manifest.log,
                place, manifest.snapshot, snapshots, from_scratch,
            )
            for p in range(manifest.partitions)
        ]  # fmt: skip
        return self.run(f"incoq {name}", advance, tasks)

    def _write_log(self, batch: Batch, number: int, attempt: str) -> Entry:
        path = self.store.place("log", number, attempt, ".parquet")
        files = {}
        if batch.rows:
            columns = [list(column) for column in zip(*batch.rows, strict=True)]
            files[path] = sealed.write_table(pa.table(columns, schema=LOG), self.store.path / path)
        return Entry(number, path, len(batch.rows), attempt, files)

    def _write_rejected(self, manifest: Manifest, batch: Batch, source: str) -> Manifest:
        if not batch.rejected:
            return manifest
        path = self.store.place("rejected", manifest.batch, manifest.token, ".parquet")
        columns = [
            [r.reason for r in batch.rejected],
            [_printable(r.line.rstrip("\n")) for r in batch.rejected],
            [_printable(source)] * len(batch.rejected),
        ]
        seal = sealed.write_table(pa.table(columns, schema=REJECTED), self.store.path / path)
        entry = Entry(manifest.batch, path, len(batch.rejected), manifest.token, {path: seal})
        return replace(manifest, rejected=(*manifest.rejected, entry))

    # -- the whole ---------------------------------------------------------------------------------

    def init(self, partitions: int) -> Manifest:
        """Begin with nothing."""
        return self.begin(_nothing, partitions)

    def begin(self, write: WriteBase, partitions: int) -> Manifest:
        """Have the base written and answer all that it demands: batch 0."""
        with writing(self.store, "nothing was committed"):
            return self._begin(write, partitions)

    def _begin(self, write: WriteBase, partitions: int) -> Manifest:
        attempt = token()
        path = self.store.place("base", 0, attempt)
        parts, reasons = write(self.store.path / path)
        base = Entry(0, path, write_index(self.store.path / path, parts), attempt)
        manifest = Manifest(partitions, 0, attempt, base)
        manifest, applied = self.roads.begin(manifest, [q.name for q in self.deployment.queries])
        batch = Batch(rejected=[Rejected(reason, "") for reason in reasons])
        manifest = self._write_rejected(manifest, batch, "bootstrap")
        manifest = with_total(manifest, changes=applied.changes, rejected=sum(reasons.values()))
        self.store.commit(manifest)
        return manifest

    def compact(self, keep_feed: int = KEEP_FEED) -> Manifest:
        """Fold the log into the base and the feed into the results; no answer changes.

        The feed of the last `keep_feed` batches stays, for those who follow it. Change files that are gone
        are forgotten, so that what is noted does not grow for ever.
        """
        manifest = self.store.manifest()
        with writing(self.store, f"what folds the log after batch {manifest.batch} was not committed"):
            return self._compact(manifest, keep_feed)

    def _compact(self, manifest: Manifest, keep_feed: int) -> Manifest:
        attempt = token()
        if manifest.log:
            manifest = self._fold_log(manifest, attempt)
        manifest = self._fold_feed(manifest, attempt, keep_feed)
        manifest = replace(manifest, sources={s: _there(s, names) for s, names in manifest.sources.items()})
        self.step("before commit")
        self.store.commit(manifest)
        self.store.sweep(manifest)
        return manifest

    def verify(self) -> list[str]:
        """Answer everything anew from the base relations; the rows in which the results differ."""
        manifest = self.store.manifest()
        attempt = replace(manifest, token=token())
        with writing(self.store, f"batch {manifest.batch} was not verified"):
            outcomes = self._advance(attempt, f"batch {manifest.batch}: verify", from_scratch=True)
        anew = replace(manifest, results=None, feed=(feed_entry(attempt, outcomes),))
        found, expected = (_lines(net_results(self.store, m)) for m in (manifest, anew))
        self.store.sweep(manifest)
        return sorted(
            [f"missing: {row}" for row in expected - found] + [f"wrong: {row}" for row in found - expected]
        )

    def _fold_log(self, manifest: Manifest, attempt: str) -> Manifest:
        path = self.store.place("base", manifest.batch, attempt)
        (self.store.path / path).mkdir()
        tasks = fold_tasks(self.store.path, manifest.base, manifest.log, path)
        made = self.run(f"incoq batch {manifest.batch}: compact", fold, tasks)
        rows = write_index(self.store.path / path, [part for parts in made for part in parts])
        # It has the token of the last batch in it: an engine that has seen that batch has seen this base.
        base = Entry(manifest.batch, path, rows, manifest.log[-1].token)
        return replace(manifest, base=base, log=())

    def _fold_feed(self, manifest: Manifest, attempt: str, keep: int) -> Manifest:
        table = net_results(self.store, manifest)
        path = self.store.place("results", manifest.batch, attempt, ".parquet")
        table = table.append_column("delta", pa.array([1] * len(table), pa.int8()))
        seal = sealed.write_table(table.cast(FEED), self.store.path / path)
        results = Entry(manifest.batch, path, len(table), attempt, {path: seal})
        first = max(manifest.feed_from, manifest.batch - keep + 1)
        kept = tuple(entry for entry in manifest.feed if entry.batch >= first)
        return replace(manifest, results=results, feed=kept, feed_from=first)


def digest(deployment: Deployment) -> str:
    """A name for a compiled program."""
    return hashlib.sha256(json.dumps(deployment.as_json(), sort_keys=True).encode()).hexdigest()[:16]


def _printable(text: str) -> str:
    """A text, or a name of a file, that may hold bytes that are none."""
    return text.encode(errors="backslashreplace").decode()


def _nothing(place: Path) -> tuple[list[Part], dict[str, int]]:
    place.mkdir()
    return [], {}


def _is_change_file(path: Path) -> bool:
    return not path.name.startswith((".", "_"))


def _taken(source: str, name: str, manifest: Manifest) -> Manifest:
    return replace(manifest, sources={**manifest.sources, source: [*manifest.sources.get(source, ()), name]})


def _there(source: str, names: list[str]) -> list[str]:
    """Those of the files of a directory that are still in it; all, where it cannot be read."""
    try:
        present = set(os.listdir(source))
    except OSError:
        return names
    return [name for name in names if name in present]


def _lines(table: Any) -> set[str]:
    return {row_key(*row.values()) for row in table.to_pylist()}
