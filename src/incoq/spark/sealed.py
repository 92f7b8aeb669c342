"""Parquet files that tell when they are damaged, or are not the file that was asked for.

Whoever names a file keeps its *seal*, a digest of its bytes: the manifest, which is sealed itself, for all
files but those of the base, whose index has a seal for each piece (`parts`). Bytes are compared with their
seal before anything is made of them: also footers and headers of pages, of which Parquet has no checksum. So
a file that was truncated, altered or exchanged for another gives a `StoreError`, not an answer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incoq.spark.store import Missing, StoreError

_DIGITS = 16


def seal(data: Any) -> str:
    """What tells bytes from others."""
    return hashlib.sha256(data).hexdigest()[:_DIGITS]


def compare(path: Path, found: str, told: str) -> None:
    """Refuse a file of which something has another seal than it was written with."""
    if found != told:
        raise StoreError(f"{path} is damaged: it is not what was written")


@contextmanager
def intact(path: Path) -> Iterator[None]:
    """Say of what cannot be read which file it is."""
    try:
        yield
    except FileNotFoundError:
        raise Missing(f"{path} is missing") from None
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} is damaged: {str(error) or type(error).__name__}") from None


def hidden(path: Path) -> Path:
    """Where a file is written before it gets its name, so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name("." + path.name)


def write_table(table: Any, path: Path) -> str:
    """Write a table as a file; its seal."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data = sink.getvalue()
    fresh = hidden(path)
    fresh.write_bytes(data)
    keep(fresh)
    fresh.replace(path)
    return seal(data)


def keep(path: Path) -> None:
    """Have the disk hold a file before a manifest names it, so that it outlives a machine that stops."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def read_table(path: Path, told: str, schema: Any) -> Any:
    """A whole file, of which all columns of a schema are asked for."""
    with intact(path):
        data = path.read_bytes()
        compare(path, seal(data), told)
        file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)  # in memory: nothing to wait for
        return file.read(schema.names, use_threads=False).select(schema.names).cast(schema)


def check_file(path: Path, told: str) -> None:
    """Compare a file that somebody else is going to read."""
    with intact(path), path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]
    compare(path, found, told)
