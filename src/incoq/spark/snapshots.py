"""What an engine holds, as a file: so that a new one need not look everything up again.

A row with a key is a fact; a row without says that something was looked up, and had nothing. A snapshot is
read before the demand is put in, so that loading it costs no maintenance.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from incoq.spark import sealed
from incoq.spark.hosting import DEMAND, Engine, Row
from incoq.spark.lookup import Lookup

SNAPSHOT = pa.schema([("rel", pa.string()), ("o", pa.string()), ("k", pa.string()), ("x", pa.string())])


def write_snapshot(engine: Engine, path: Path) -> str:
    """Write what an engine holds; the seal of the file."""
    rows = [(relation, o, k, x) for relation, o, k, x, _ in engine.facts()]
    rows += [(relation, o, None, None) for relation, o in engine.everything()]  # type: ignore[misc]
    rows += [(DEMAND + q, params, "", engine.spelled(q, params)) for q, params in engine.demanded]
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], [], []]
    return sealed.write_table(pa.table(columns, schema=SNAPSHOT), path)


def load_snapshot(engine: Engine, path: Path, seal: str) -> int:
    """Give an engine what another held; how many rows that were."""
    table = sealed.read_table(path, seal, SNAPSHOT)
    facts: list[Row] = []
    needs: list[tuple[str, str]] = []
    demand: list[tuple[str, str, str | None]] = []
    for relation, o, k, x in zip(*(table[c].to_pylist() for c in ("rel", "o", "k", "x")), strict=True):
        if relation.startswith(DEMAND):
            demand.append((relation.removeprefix(DEMAND), o, x))
        elif k is None:
            needs.append((relation, o))
        else:
            facts.append((relation, o, k, x, True))
    engine.preload(needs, facts)
    for query, params, spelled in demand:
        engine.demand(query, params, True, spelled)
    return len(facts)


def trimmed(engine: Engine, lookup: Lookup) -> Engine:
    """A new engine for the same demand, with what that demand reaches now and nothing else.

    It comes to the same answers in another order, so that it may ask for what the old one never had to know:
    that is looked up.
    """
    known: dict[tuple[str, str], list[Row]] = {}
    for row in engine.facts():
        known.setdefault(row[:2], []).append(row)
    fresh = Engine(engine.deployment, engine.code)
    for query, params in engine.demanded:
        fresh.demand(query, params, True, engine.spelled(query, params))
    while needs := fresh.take_needs():
        fresh.apply([row for need in needs for row in known.get(need, ())])
        fresh.apply(lookup.fetch(need for need in needs if need[1] not in engine.loaded[need[0]]))
    if fresh.refused:  # seen while its data arrived
        return engine
    fresh.succeed(engine)
    fresh.report()
    return fresh
