"""Fold the log into the base, file by file.

The base is sorted, so each of its files stands for a range of owners, and so does each gap between two: a
task takes one file with what the log says of its range, and writes the file anew. A file of which the log
says nothing is linked, not copied. No data moves between tasks.

Before:    base: rel=member/part-0 (g1 .. g7), part-1 (g8 ..)        log: + (g9, u3), - (g9, u4)
After:     base: rel=member/part-0 linked, part-1 written anew        log: none
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from incoq.spark import sealed
from incoq.spark.lookup import Lookup, files_of, log_of
from incoq.spark.parts import TRIPLES, OpenPart, Part, PartWriter, read_index
from incoq.spark.store import Entry

_MOST = 1_000_000  # rows of one file


@dataclass(frozen=True)
class Fold:
    """One range of owners of one relation."""

    store: str
    base: Entry
    log: tuple[Entry, ...]
    target: str
    relation: str
    parts: tuple[str, ...]  # names in the old base
    low: str | None  # the first owner of the range; None: from the beginning
    high: str | None  # the first owner after it; None: to the end


def fold_tasks(store: Path, base: Entry, log: Sequence[Entry], target: str) -> list[Fold]:
    """Every file of a base with its range, and the relations that only the log has."""
    index = read_index(store / base.path)
    relations = {r for file in files_of(store, log) for r in log_of(*file)["rel"].unique().to_pylist()}
    tasks = []
    for relation in sorted(index.keys() | relations):
        ranges = _ranges(index.get(relation, ())) or [("", ())]
        for number, (low, parts) in enumerate(ranges):
            high = ranges[number + 1][0] if number + 1 < len(ranges) else None
            tasks.append(
                Fold(str(store), base, tuple(log), target, relation, parts, low if number else None, high)
            )
    return tasks


def _ranges(parts: Iterable[Part]) -> list[tuple[str, tuple[str, ...]]]:
    """Parts by the first owner of their range; parts that share an owner stand together."""
    bounds = [
        (min(g.low for g in part.groups), max(g.high for g in part.groups), part.name) for part in parts
    ]
    found: list[tuple[str, tuple[str, ...]]] = []
    last = ""
    for low, high, name in sorted(bounds):
        if found and low <= last:
            found[-1] = found[-1][0], (*found[-1][1], name)
        else:
            found.append((low, (name,)))
        last = max(last, high)
    return found


def fold(task: Fold) -> list[Part]:
    """Write one range anew, or link its file: the parts that hold it now.

    What a try that was killed has left is linked already, or has a name that nobody tells.
    """
    store, lookup = Path(task.store), Lookup(Path(task.store), task.base, task.log)
    target = store / task.target
    if not lookup.changed(task.relation, task.low, task.high):
        (target / f"rel={task.relation}").mkdir(parents=True, exist_ok=True)
        for name in task.parts:
            origin = OpenPart(store / task.base.path, lookup.base.parts[name]).path  # its footer is compared
            with sealed.intact(origin), suppress(FileExistsError):
                os.link(origin, target / name)
        return [lookup.base.parts[name] for name in task.parts]
    rows = sorted(lookup.folded(task.relation, task.parts, task.low, task.high), key=lambda row: row[:2])
    written = []
    for start in range(0, len(rows), _MOST):
        part = rows[start : start + _MOST]
        writer = PartWriter(target, task.relation)
        writer.write(pa.table([list(column) for column in zip(*part, strict=True)], schema=TRIPLES))
        written.append(writer.close())
    return written
