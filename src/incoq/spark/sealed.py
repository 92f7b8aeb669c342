"""Parquet files that tell when they are damaged, or are not the file that was asked for.

Every page has a checksum, which is verified when the page is read, and the file knows its own name: a file
that was truncated, altered or exchanged for another gives a `StoreError`, not an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incoq.spark.store import Missing, StoreError

_NAME, _ROWS = b"incoq.file", b"incoq.rows"
_OPTIONS = {"compression": "zstd", "write_page_checksum": True}


def _name_of(path: Path) -> bytes:
    """What tells a file from all others, wherever the store is: in the base its relation, too."""
    own = path.parent.name.startswith("rel=")
    return (f"{path.parent.name}/{path.name}" if own else path.name).encode()


def write_table(table: Any, place: Path, named: Path, **options: Any) -> None:
    """Write a table to a place for the file that it will be."""
    told = {_NAME: _name_of(named), _ROWS: _counted(table)}
    pq.write_table(table.replace_schema_metadata(told), place, **{**_OPTIONS, **options})


def writer(schema: Any, place: Path, named: Path, **options: Any) -> Any:
    """The same, for tables that come one after another."""
    return pq.ParquetWriter(place, schema.with_metadata({_NAME: _name_of(named)}), **{**_OPTIONS, **options})


@contextmanager
def intact(path: Path) -> Iterator[None]:
    """Say of what cannot be read which file it is."""
    try:
        yield
    except FileNotFoundError:
        raise Missing(f"{path} is missing") from None
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} is damaged: {str(error) or type(error).__name__}") from None


def open_file(path: Path, ahead: bool = True) -> Any:
    """A file to read row groups from, each inside `intact`; `ahead` has threads fetch what is read next."""
    with intact(path):
        file = pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=ahead)
        metadata = file.schema_arrow.metadata or {}
        told, rows = metadata.get(_NAME), metadata.get(_ROWS)
        groups = sum(file.metadata.row_group(n).num_rows for n in range(file.num_row_groups))
    if rows is not None and rows.partition(b" ")[0] != str(groups).encode():
        raise StoreError(f"{path} is damaged: it was written with other rows")
    if told is not None and told != _name_of(path):
        raise StoreError(f"{path} is damaged: it holds what was written as {told.decode(errors='replace')}")
    return file


def read_table(path: Path, schema: Any) -> Any:
    """A whole file, of which all columns of a schema are asked for."""
    file = open_file(path, ahead=False)  # small: to wait for a thread takes longer than to read
    with intact(path):
        table = file.read(schema.names, use_threads=False).select(schema.names).cast(schema)
        told = (file.schema_arrow.metadata or {}).get(_ROWS)
    if told is not None and told != _counted(table):  # the footer has no checksum
        raise StoreError(f"{path} is damaged: it was written with other rows")
    return table


def _counted(table: Any) -> bytes:
    """How many rows a table has, and how many values are null."""
    return f"{len(table)} {sum(column.null_count for column in table.columns)}".encode()
