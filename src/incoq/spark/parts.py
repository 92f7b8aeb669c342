"""The files of a base, and the index that says what they hold.

A file is a *part* of one relation, sorted by owner, in small row groups. The index tells of each row group
which owners it may hold, where it ends and its seal, and of each file the seal of what follows its last
group, which is the footer. So every byte of a base belongs to a piece that has a seal, and a look-up reads
and checks only the pieces that it needs.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from incoq.spark import sealed
from incoq.spark.store import StoreError, read_sealed, sealed_text

INDEX = "index.json"
TRIPLES = pa.schema([("o", pa.string()), ("k", pa.string()), ("x", pa.string())])
_ROW_GROUP = 256  # rows: what one look-up reads
_COMPRESSION = "snappy"  # of pages this small, zstd takes twice as long to read


class Group(NamedTuple):
    """A row group: its least and greatest owner, where it ends in the file, its seal."""

    low: str
    high: str
    end: int
    seal: str


@dataclass(frozen=True)
class Part:
    """A file of a base."""

    name: str  # rel=field_loc/part-....parquet
    rows: int
    groups: tuple[Group, ...] = field(hash=False)
    seal: str  # of what follows the last group

    @property
    def relation(self) -> str:
        return self.name.partition("/")[0].removeprefix("rel=")

    def to_json(self) -> list[Any]:
        return [self.name, self.rows, self.groups, self.seal]

    @classmethod
    def from_json(cls, data: list[Any]) -> Part:
        name, rows, groups, seal = data
        return cls(name, rows, tuple(map(Group._make, groups)), seal)


class PartWriter:
    """Writes sorted rows of a relation as a part."""

    def __init__(self, base: Path, relation: str) -> None:
        self.base, self.path = base, base / f"rel={relation}" / f"part-{uuid.uuid4().hex[:12]}.parquet"
        self.fresh = sealed.hidden(self.path)
        self.writer = pq.ParquetWriter(self.fresh, TRIPLES, compression=_COMPRESSION)
        self.bounds: list[tuple[str, str]] = []  # of each row group: Parquet keeps none of long ids

    def write(self, table: Any) -> None:
        if not len(table):
            return
        self.writer.write_table(table, row_group_size=_ROW_GROUP)
        owners, last = table["o"], len(table) - 1
        for start in range(0, len(table), _ROW_GROUP):
            end = min(start + _ROW_GROUP - 1, last)
            self.bounds.append((owners[start].as_py(), owners[end].as_py()))

    def close(self) -> Part:
        """Give the file its name."""
        self.writer.close()
        metadata = pq.read_metadata(self.fresh)
        with self.fresh.open("rb") as file:
            groups = [_group(bounds, metadata.row_group(n), file) for n, bounds in enumerate(self.bounds)]
            name = self.path.relative_to(self.base).as_posix()
            part = Part(name, metadata.num_rows, tuple(groups), sealed.seal(file.read()))
        sealed.keep(self.fresh)
        self.fresh.replace(self.path)
        return part


def _group(bounds: tuple[str, str], metadata: Any, file: Any) -> Group:
    """The row group that begins where a file is read next."""
    columns = [metadata.column(number) for number in range(metadata.num_columns)]
    end = max(
        (c.dictionary_page_offset if c.has_dictionary_page else c.data_page_offset) + c.total_compressed_size
        for c in columns
    )
    return Group(*bounds, end, sealed.seal(file.read(end - file.tell())))


class OpenPart:
    """A part to read row groups from; what is read is as it was written."""

    def __init__(self, base: Path, part: Part) -> None:
        self.path, self.groups = base / part.name, part.groups
        with sealed.intact(self.path):
            self.file = pa.OSFile(str(self.path))
            last = self.groups[-1].end if self.groups else 0
            tail = self.file.read_at(max(0, self.file.size() - last), last)
            sealed.compare(self.path, sealed.seal(tail), part.seal)
            self.metadata = pq.read_metadata(pa.BufferReader(tail))
            # What is compared was just read: it is not worth a thread to fetch it again.
            self.rows = pq.ParquetFile(self.file, metadata=self.metadata, pre_buffer=False)

    def read(self, columns: Sequence[str], numbers: Sequence[int] | None = None) -> Any:
        """Some columns of some row groups, or of all."""
        wanted = range(len(self.groups)) if numbers is None else numbers
        with sealed.intact(self.path):
            self.check(wanted)
            return self.rows.read_row_groups(wanted, columns, use_threads=False)

    def check(self, numbers: Iterable[int]) -> None:
        """Compare some row groups."""
        groups, read = self.groups, self.file.read_at
        for number in numbers:
            start, (_, _, end, told) = groups[number - 1].end if number else 0, groups[number]
            sealed.compare(self.path, sealed.seal(read(end - start, start)), told)


def check_part(task: tuple[str, Part]) -> None:
    """Compare all of a part that somebody else is going to read."""
    base, part = task
    opened = OpenPart(Path(base), part)
    with sealed.intact(opened.path):
        opened.check(range(len(part.groups)))


def write_index(base: Path, parts: Iterable[Part]) -> int:
    """Say what a new base consists of; the number of its rows."""
    found = sorted(parts, key=lambda part: part.name)
    told = {"base": base.name, "parts": [part.to_json() for part in found]}
    (base / INDEX).write_text(sealed_text(told))
    sealed.keep(base / INDEX)
    return sum(part.rows for part in found)


def read_index(base: Path) -> dict[str, list[Part]]:
    """The parts of a base by relation."""
    with sealed.intact(base / INDEX):
        found = read_sealed(base / INDEX)
    if found.get("base") != base.name:
        raise StoreError(f"{base / INDEX} is damaged: it is of another base")
    parts: dict[str, list[Part]] = {}
    for part in map(Part.from_json, found["parts"]):
        parts.setdefault(part.relation, []).append(part)
    return parts
