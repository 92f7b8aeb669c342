"""The store: a directory that all nodes see, and one file in it that says what is committed.

    manifest.json    the last committed batch, and the files that make it up; replaced atomically
    engine.json      the compiled program; mapping.json, where tables are mapped to it
    base/            base relations, sorted, Parquet: rel=field_loc/part-....parquet (o, k, x)
    log/             one file of changes a batch, since the base was written (rel, o, k, x, p)
    feed/            how the answers changed, one directory a batch (query, params, result, delta)
    results/         the answers when the feed was last folded (query, params, result)
    snapshots/       what the engines held at some batch, one file a partition (rel, o, k, x)
    rejected/        events that were not applied (reason, line)

A file that neither the manifest names nor the index of its base does not exist for anybody. So a driver
that dies at any moment leaves the last committed batch as it was, and the next one does the batch again. Of
each file that they name they know the seal (`sealed`). Nothing stored is a pickle.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from incoq.errors import IncoqError
from incoq.spark.deployment import Deployment

FORMAT = 4
_OF_ATTEMPT = re.compile(r"\.?[0-9]{8,}-[0-9a-f]{12}(\.parquet)?")  # `place`, or what is being written there
Files = dict[str, str]  # paths of files in the store -> their seals (`sealed`)


class StoreError(IncoqError):
    """The store cannot be used as asked."""


class Missing(StoreError):  # noqa: N818  # what was found, not what went wrong
    """A file is not there: damage, or the store was compacted meanwhile."""


class NoJoins(StoreError):  # noqa: N818  # what was found, not what went wrong
    """A query cannot be computed by joins of DataFrames."""


@dataclass(frozen=True)
class Entry:
    """A file, or a directory of files, that a batch wrote."""

    batch: int
    path: str
    rows: int
    token: str = ""
    files: Files = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What is committed."""

    partitions: int
    batch: int
    token: str  # of the attempt that was committed: a cached engine is valid if it has seen just these
    base: Entry
    log: tuple[Entry, ...] = ()
    feed: tuple[Entry, ...] = ()
    feed_from: int = 0  # the first batch whose feed is kept
    results: Entry | None = None
    snapshot: Entry | None = None
    rejected: tuple[Entry, ...] = ()
    sequence: int | None = None
    sources: dict[str, list[str]] = field(default_factory=dict)  # directory -> names of files taken
    streams: dict[str, int] = field(default_factory=dict)  # checkpoint of a stream -> its last batch id
    totals: dict[str, float] = field(default_factory=dict)
    measures: dict[str, float] = field(default_factory=dict)  # what the planner has seen
    roads: dict[str, Any] = field(default_factory=dict)  # which road the last batch took, and why
    format: int = FORMAT

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Manifest:
        listed = {name: tuple(Entry(**e) for e in data[name]) for name in ("log", "feed", "rejected")}
        single = {name: data[name] and Entry(**data[name]) for name in ("base", "results", "snapshot")}
        return cls(**{**data, **listed, **single})


class Store:
    """A store at a place; what it holds is read from the manifest each time."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).absolute()

    @property
    def exists(self) -> bool:
        return (self.path / "manifest.json").is_file()

    def manifest(self) -> Manifest:
        try:
            data = read_sealed(self.path / "manifest.json")
        except FileNotFoundError:
            raise StoreError(f"{self.path} holds no pipeline: `incoq spark bootstrap` makes one") from None
        if data.get("format") != FORMAT:
            raise StoreError(f"{self.path} has format {data.get('format')}; this incoq reads {FORMAT}")
        try:
            return Manifest.from_json(data)
        except (KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{self.path / 'manifest.json'} is damaged: {error}") from None

    def commit(self, manifest: Manifest) -> None:
        """Make this the state: from here on the batch has happened."""
        self.write_text("manifest.json", sealed_text(manifest.to_json()))

    def deployment(self) -> Deployment:
        try:
            return Deployment.from_json(read_sealed(self.path / "engine.json"))
        except (KeyError, TypeError) as error:
            raise StoreError(f"{self.path / 'engine.json'} is damaged: {error}") from None
        except FileNotFoundError:
            raise StoreError(
                f"{self.path} holds no program: `incoq spark init` or `bootstrap` makes it"
            ) from None

    def deploy(self, deployment: Deployment) -> None:
        with writing(self, "the program was not stored"):
            (self.path / "mapping.json").unlink(missing_ok=True)  # of a beginning that came to nothing
            self.write_text("engine.json", sealed_text(deployment.as_json()))

    def mapping(self) -> dict[str, Any]:
        """The declared mapping of tables; empty where relations come as they are."""
        path = self.path / "mapping.json"
        return read_sealed(path) if path.is_file() else {}

    def declare(self, mapping: dict[str, Any]) -> None:
        """Keep a mapping of tables."""
        self.write_text("mapping.json", sealed_text(mapping))

    def write_text(self, name: str, text: str) -> None:
        """Replace a file atomically and for good."""
        target = self.path / name
        fresh = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")
        with fresh.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(target)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def place(self, kind: str, batch: int, token: str, suffix: str = "") -> str:
        """A path relative to the store for what a batch writes."""
        (self.path / kind).mkdir(parents=True, exist_ok=True)
        return f"{kind}/{batch:08d}-{token}{suffix}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other drivers out while this one changes the store; the lock ends with the process."""
        with ExitStack() as stack:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context((self.path / "lock").open("a+"))
            except OSError as error:
                raise StoreError(f"{self.path} cannot be written to: {error.strerror}") from error
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                holder = file.read().strip() or "another process"
                raise StoreError(f"{self.path} is in use by {holder}; only one may change it") from None
            with suppress(OSError):  # on a full disk nobody reads who holds it, but it is held
                os.ftruncate(file.fileno(), 0)
                os.write(file.fileno(), f"process {os.getpid()} on {socket.gethostname()}".encode())
            yield

    def sweep(self, manifest: Manifest) -> int:
        """Delete files that no committed batch names: what attempts left behind, what compaction replaced.

        What else somebody keeps in the directory stays: it has no name of an attempt.
        """
        named = {manifest.base.path, *(e.path for e in (*manifest.log, *manifest.feed, *manifest.rejected))}
        named |= {e.path for e in (manifest.results, manifest.snapshot) if e is not None}
        count = 0
        for kind in ("base", "log", "feed", "results", "rejected", "snapshots"):
            folder = self.path / kind
            for found in sorted(folder.iterdir()) if folder.is_dir() else ():
                if f"{kind}/{found.name}" not in named and _OF_ATTEMPT.fullmatch(found.name):
                    _delete(found)
                    count += 1
        return count


def checksum(data: dict[str, Any]) -> str:
    """Of what a file says, whatever the order."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def read_sealed(path: Path) -> dict[str, Any]:
    """What a file says, if it is as it was written."""
    try:
        data = json.loads(path.read_text())
        if data.pop("checksum", None) != checksum(data):
            raise ValueError("its checksum is another")
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreError(f"{path} is damaged: {error}") from None
    return dict(data)


def sealed_text(data: dict[str, Any]) -> str:
    """The text of a file that tells when it was altered."""
    plain = json.loads(json.dumps(data))
    return json.dumps({**plain, "checksum": checksum(plain)})


_DENIED = "Permission denied"
_UNWRITABLE = ("No space left on device", "Read-only file system", "Disk quota exceeded", _DENIED)


def unwritable(error: Exception) -> str:
    """Why a store cannot be written to, where an error says so: the driver's own, a task's or Spark's."""
    return next((reason for reason in _UNWRITABLE if reason in str(error)), "")


@contextmanager
def writing(store: Store, undone: str) -> Iterator[None]:
    """Say plainly that a store could not be written to, by the driver or by a task, and what was not done."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        told = unwritable(error)
        if not told or (told == _DENIED and str(store.path) not in str(error)):  # a table that is read
            raise
        raise StoreError(
            f"{store.path} cannot be written to: {told}. {undone}; when there is room, go on with the same "
            "command"
        ) from error


def token() -> str:
    """A name for one attempt."""
    return uuid.uuid4().hex[:12]


def with_total(manifest: Manifest, **more: float) -> Manifest:
    """The manifest with its running totals increased."""
    totals = dict(manifest.totals)
    for name, value in more.items():
        totals[name] = totals.get(name, 0) + value
    return replace(manifest, totals=totals)


def _delete(path: Path) -> None:
    if path.is_dir():
        for inner in path.iterdir():
            _delete(inner)
        path.rmdir()
    else:
        path.unlink()
