"""Find what belongs to some ids, as of some batch, without reading everything.

The base is sorted by owner within each relation, in small row groups whose bounds are in an index (`parts`);
so a look-up reads only the groups in which an owner may stand, whatever the size of the base. The log since
then is small and laid over it: the last row of each key wins.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incoq.spark import sealed
from incoq.spark.hosting import DEMAND, Row
from incoq.spark.parts import TRIPLES, OpenPart, read_index
from incoq.spark.store import Entry

LOG = pa.schema(
    [("rel", pa.string()), ("o", pa.string()), ("k", pa.string()), ("x", pa.string()), ("p", pa.bool_())]
)


class _Base:
    """The base relations that one path holds."""

    def __init__(self, path: Path) -> None:
        self.path, self.by_relation = path, read_index(path)
        self.parts = {part.name: part for parts in self.by_relation.values() for part in parts}
        self.groups: dict[str, list[tuple[str, int]]] = {}
        self.least: dict[str, list[str]] = {}
        self.most: dict[str, list[str]] = {}
        for relation, parts in self.by_relation.items():
            found = sorted((g.low, g.high, p.name, n) for p in parts for n, g in enumerate(p.groups))
            self.groups[relation] = [(name, number) for _, _, name, number in found]
            self.least[relation] = [low for low, *_ in found]
            self.most[relation] = [high for _, high, *_ in found]
        self.opened: dict[str, OpenPart] = {}

    def rows(self, relation: str, owners: list[str] | None) -> Any:
        """The rows of these owners, or of all, as a table; None where there are none."""
        groups = self.groups.get(relation)
        if not groups:
            return None
        if owners is None:
            wanted: Iterable[int] = range(len(groups))
        else:
            least, most = self.least[relation], self.most[relation]
            found: set[int] = set()
            for owner in owners:
                found.update(range(bisect_left(most, owner), bisect_right(least, owner)))
            wanted = sorted(found)
        by_part: dict[str, list[int]] = {}
        for number in wanted:
            name, group = groups[number]
            by_part.setdefault(name, []).append(group)
        keyless = relation.startswith(("field_", DEMAND))  # their keys are all empty
        columns = ["o", "x"] if keyless else ["o", "k", "x"]
        tables = [self.open(name).read(columns, numbers) for name, numbers in by_part.items()]
        if not tables:
            return None
        table = pa.concat_tables(tables)
        table = table if owners is None else _of(table, owners)
        return table.append_column("k", pa.repeat("", len(table))) if keyless else table

    def open(self, name: str) -> OpenPart:
        if name not in self.opened:
            self.opened[name] = OpenPart(self.path, self.parts[name])
        return self.opened[name]


@lru_cache(
    maxsize=16
)  # its index grows with the base: pipelines that share workers must not take turns in it
def _base(path: Path) -> _Base:
    return _Base(path)


@lru_cache(maxsize=512)
def log_of(path: Path, seal: str) -> Any:
    """The rows of a batch as a table."""
    return sealed.read_table(path, seal, LOG)


def files_of(store: Path, entries: Iterable[Entry]) -> tuple[tuple[Path, str], ...]:
    """The files of some entries, and their seals."""
    return tuple((store / file, seal) for entry in entries for file, seal in entry.files.items())


@lru_cache(maxsize=64)
def _log(files: tuple[tuple[Path, str], ...], relation: str) -> Any:
    """What a sequence of batches says of a relation."""
    tables = [_of_relation(*file, relation) for file in files]
    return pa.concat_tables(tables) if tables else None


@lru_cache(maxsize=2048)
def _of_relation(path: Path, seal: str, relation: str) -> Any:
    table = log_of(path, seal)
    return table.filter(pc.equal(table["rel"], relation))


def _of(table: Any, owners: list[str]) -> Any:
    return table.filter(pc.is_in(table["o"], value_set=pa.array(owners, pa.string())))


def _between(table: Any, low: str | None, high: str | None) -> Any:
    if low is not None:
        table = table.filter(pc.greater_equal(table["o"], low))
    return table if high is None else table.filter(pc.less(table["o"], high))


def _overlaid(table: Any, changes: Any) -> dict[tuple[str, str], str | None]:
    """The rows of a base with later ones laid over them: the last of each key counts."""
    found: dict[tuple[str, str], str | None] = {}
    if table is not None:
        keys = zip(table["o"].to_pylist(), table["k"].to_pylist(), strict=True)
        found = dict(zip(keys, table["x"].to_pylist(), strict=True))
    if changes is not None and len(changes):
        for o, k, x, p in zip(*(changes[c].to_pylist() for c in ("o", "k", "x", "p")), strict=True):
            if p:
                found[o, k] = x
            else:
                found.pop((o, k), None)
    return found


class Lookup:
    """The base relations as of the last of some batches."""

    def __init__(self, store: Path, base: Entry, log: Sequence[Entry]) -> None:
        self._place = store / base.path
        self.log = files_of(store, log)

    @property
    def base(self) -> _Base:
        """Read where something is looked up: most batches need nothing new."""
        return _base(self._place)

    def fetch(self, needs: Iterable[tuple[str, str]]) -> list[Row]:
        """Everything that these (relation, owner) have."""
        by_relation: dict[str, list[str]] = {}
        for relation, owner in needs:
            by_relation.setdefault(relation, []).append(owner)
        return [row for relation, owners in by_relation.items() for row in self.rows(relation, owners)]

    def rows(self, relation: str, owners: list[str] | None) -> list[Row]:
        """The rows of some owners, or of all, that are there."""
        table = self.base.rows(relation, owners)
        changes = _log(self.log, relation)
        if owners is not None and changes is not None:
            changes = _of(changes, owners)
        return [(relation, o, k, x, True) for (o, k), x in _overlaid(table, changes).items()]

    def table(self, relation: str, owners: list[str]) -> Any:
        """The same as a table (o, k, x): what the log does not speak of stays in Arrow."""
        table, changes = self.base.rows(relation, owners), _log(self.log, relation)
        plain = TRIPLES.empty_table() if table is None else table.select(TRIPLES.names).cast(TRIPLES)
        changes = _of(changes, owners) if changes is not None else None
        if changes is None or not len(changes):
            return plain
        told = pc.is_in(plain["o"], value_set=pc.unique(changes["o"]))
        laid = _overlaid(plain.filter(told), changes)
        columns = [[o for o, _ in laid], [k for _, k in laid], list(laid.values())]
        return pa.concat_tables([plain.filter(pc.invert(told)), pa.table(columns, schema=TRIPLES)])

    def changed(self, relation: str, low: str | None, high: str | None) -> bool:
        """Does the log say anything of a range of owners?"""
        changes = _log(self.log, relation)
        return changes is not None and len(_between(changes, low, high)) > 0

    def folded(
        self, relation: str, parts: Iterable[str], low: str | None, high: str | None
    ) -> list[tuple[str, str, str | None]]:
        """What a range of owners holds, of which some parts are the base: (owner, key, value)."""
        tables = [self.base.open(name).read(TRIPLES.names) for name in parts]
        table = pa.concat_tables(tables) if tables else None
        changes = _between(_log(self.log, relation), low, high)
        return [(o, k, x) for (o, k), x in _overlaid(table, changes).items()]

    def demand(self, queries: Iterable[str]) -> list[tuple[str, str, str]]:
        """All demanded combinations: (query, parameters, how these were spelled)."""
        rows = [(query, row) for query in queries for row in self.rows(DEMAND + query, None)]
        return [(query, params, spelled or params) for query, (_, params, _, spelled, _) in rows]
