"""The samples: one row each, one Parquet file each, so that whatever was measured stays when a run is cut."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

Key = tuple[str, str, str, int, int]


@dataclass(frozen=True)
class Row:
    """One sample. Run 0 is the one whose loops are counted: it has `iterations` and no `seconds`."""

    experiment: str
    program: str
    mode: str
    part: str
    size: int
    seed: int
    run: int
    seconds: float | None
    """CPU time of the timed loop."""
    operations: int
    """How many steps the timed loop made."""
    iterations: int | None
    """How often the body of a loop was entered, in the program and in its maintenance."""
    space: int | None
    answers: str
    """A hash of what the queries answered in the end."""
    failure: str
    wall: float
    """How long the whole process took."""
    machine: str
    python: str
    version: str
    started: str

    @property
    def key(self) -> Key:
        return (self.experiment, self.mode, self.part, self.size, self.run)


def append(folder: Path, row: Row) -> None:
    """Write a row; it is there whole, or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    name = "-".join(map(str, row.key))
    unfinished = folder / f".{name}.part"
    pq.write_table(pa.Table.from_pylist([asdict(row)], schema=_schema()), unfinished)
    os.replace(unfinished, folder / f"{name}.parquet")


def append_all(folder: Path, rows: Iterable[Row]) -> None:
    for row in rows:
        append(folder, row)


def read_rows(folder: Path) -> list[Row]:
    """All rows, in the order of their keys."""
    import pyarrow.parquet as pq

    paths = sorted(folder.glob("[!.]*.parquet"))
    rows = [Row(**line) for path in paths for line in pq.ParquetFile(path).read().to_pylist()]
    return sorted(rows, key=lambda row: row.key)


def _schema() -> object:
    """Types that do not depend on the values: a column of nothing but nulls has one too."""
    import pyarrow as pa

    types = {"int": pa.int64(), "int | None": pa.int64(), "float": pa.float64(), "float | None": pa.float64()}
    return pa.schema(
        [(name, types.get(str(kind), pa.string())) for name, kind in Row.__annotations__.items()]
    )
