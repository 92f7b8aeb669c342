"""The samples: one row each, a Parquet file for each job, so that what was measured stays after a cut."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

Key = tuple[str, str, str, int, int]
STOPPED = "stopped at the limit"  # how the failure of a run begins that took too long
SPREAD = 0.1  # of their mean: what the standard deviation of the runs of a point should stay below


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
    """How many steps the timed loop makes."""
    iterations: int | None
    """How often the body of a loop was entered, in the program and in its maintenance."""
    space: int | None
    memory: int | None
    """Bytes of resident memory that the version added to a process that holds its workload."""
    answers: str
    """A hash of what the queries answered in the end."""
    failure: str
    wall: float
    """How long the process took, with its share of the preparation."""
    machine: str
    python: str
    version: str
    started: str
    """When its preparation began; runs with the same start were forked from one prepared process."""
    repeats: int = 1
    """How often the loop was timed, prepared anew each time, because one was too short; `seconds` is all."""

    @property
    def key(self) -> Key:
        return (self.experiment, self.mode, self.part, self.size, self.run)

    @property
    def stopped(self) -> bool:
        return self.failure.startswith(STOPPED)


def append(folder: Path, rows: Sequence[Row]) -> None:
    """Write the rows of a job; they are there all, or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    first, last = rows[0], rows[-1]
    name = "-".join(map(str, (*first.key, last.part, last.run)))
    unfinished = folder / f".{name}.part"
    write_rows(unfinished, rows)
    os.replace(unfinished, folder / f"{name}.parquet")


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """All rows in one file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist([asdict(row) for row in rows], schema=_schema())
    pq.write_table(table, path, compression="zstd")


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
