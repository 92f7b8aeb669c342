"""Fold the log into the base, file by file.

The base is sorted, so each of its files stands for a range of owners, and so does each gap between two: a
task takes one file with what the log says of its range, and writes the file anew. A file of which the log
says nothing is linked, not copied. No data moves between tasks.

Before:    base: rel=member/part-0 (g1 .. g7), part-1 (g8 ..)        log: + (g9, u3), - (g9, u4)
After:     base: rel=member/part-0 linked, part-1 written anew        log: none
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from incoq.spark import sealed
from incoq.spark.lookup import Lookup, log_of, read_index
from incoq.spark.store import Entry

ROW_GROUP = 256  # rows: what one look-up reads
COMPRESSION = "snappy"  # of pages this small, zstd takes twice as long to read
_MOST = 1_000_000  # rows of one file
BASE = pa.schema([("o", pa.string()), ("k", pa.string()), ("x", pa.string())])


@dataclass(frozen=True)
class Fold:
    """One range of owners of one relation."""

    store: str
    base: Entry
    log: tuple[Entry, ...]
    target: str
    relation: str
    files: tuple[str, ...]  # of the old base
    low: str | None  # the first owner of the range; None: from the beginning
    high: str | None  # the first owner after it; None: to the end


def fold_tasks(store: Path, base: Entry, log: Sequence[Entry], target: str) -> list[Fold]:
    """Every file of a base with its range, and the relations that only the log has."""
    index = read_index(store / base.path)
    relations = {r for e in log for r in log_of(store / e.path)["rel"].unique().to_pylist()}
    tasks = []
    for relation in sorted(index.keys() | relations):
        ranges = _ranges(index.get(relation, ())) or [("", ())]
        for number, (low, files) in enumerate(ranges):
            high = ranges[number + 1][0] if number + 1 < len(ranges) else None
            tasks.append(
                Fold(str(store), base, tuple(log), target, relation, files, low if number else None, high)
            )
    return tasks


def _ranges(groups: Iterable[tuple[str, str, str, int]]) -> list[tuple[str, tuple[str, ...]]]:
    """Files by the first owner of their range; files that share an owner stand together."""
    bounds: dict[str, tuple[str, str]] = {}
    for low, high, file, _ in groups:
        known = bounds.get(file, (low, high))
        bounds[file] = min(low, known[0]), max(high, known[1])
    found: list[tuple[str, tuple[str, ...]]] = []
    last = ""
    for (low, high), file in sorted((bound, file) for file, bound in bounds.items()):
        if found and low <= last:
            found[-1] = found[-1][0], (*found[-1][1], file)
        else:
            found.append((low, (file,)))
        last = max(last, high)
    return found


def fold(task: Fold) -> list[str]:
    """Write one range anew, or link its file: the files, within the base, that hold it now.

    What a try that was killed has left is linked already, or has a name that nobody tells.
    """
    store = Path(task.store)
    target = store / task.target / f"rel={task.relation}"
    target.mkdir(parents=True, exist_ok=True)
    lookup = Lookup(store, task.base, task.log)
    changed = lookup.changed(task.relation, task.low, task.high)
    if not changed:
        for file in task.files:
            origin = store / task.base.path / file
            with sealed.intact(origin), suppress(FileExistsError):
                os.link(origin, target / Path(file).name)
        return list(task.files)
    rows = sorted(lookup.folded(task.relation, task.files, task.low, task.high), key=lambda row: row[:2])
    written = []
    for start in range(0, len(rows), _MOST):
        part = rows[start : start + _MOST]
        table = pa.table([list(column) for column in zip(*part, strict=True)], schema=BASE)
        name = target / f"part-{uuid.uuid4().hex[:12]}.parquet"
        sealed.write_table(table, name, name, row_group_size=ROW_GROUP, compression=COMPRESSION)
        written.append(f"{target.name}/{name.name}")
    return written
