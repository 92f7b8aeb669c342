"""What the answers are: the folded results with the feed since laid over them.

A row is (parameters, result), both as JSON text; an aggregate has one row for each demanded combination.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incoq.spark import sealed
from incoq.spark.store import Entry, Manifest, Missing, Store, StoreError
from incoq.spark.values import json_key
from incoq.spark.worker import FEED

_SEVERAL = re.compile(r"\.0|true|false|e[+]")  # what may stand in a value that is spelled otherwise too


def result_lines(store: Store, query: str) -> Iterator[str]:
    """The answers of a query as of the last committed batch, as sorted JSON lines."""
    table = committed_results(store, query)
    lines = [
        f'{{"params": {params}, "result": {result}}}'
        for params, result in zip(table["params"].to_pylist(), table["result"].to_pylist(), strict=True)
    ]
    yield from sorted(lines)


def committed_results(store: Store, query: str | None = None) -> Any:
    """The answers as of the last committed batch, while others may commit and compact."""
    for _ in range(100):
        manifest = store.manifest()
        try:
            return net_results(store, manifest, query)
        except Missing:  # compacted meanwhile: the manifest is another one now
            if store.manifest() == manifest:
                raise
    raise StoreError(f"{store.path} changes too fast to be read")


def net_results(store: Store, manifest: Manifest, query: str | None = None) -> Any:
    """The rows that are there: (query, params, result), of one query or of all."""
    known = [q.name for q in store.deployment().queries]
    if query is not None and query not in known:
        raise StoreError(f"no query is called {query}; the program has {', '.join(known)}")
    tables = [_read(store, *f, query) for e in entries_of(manifest) for f in e.files.items()]
    rows = _with_one_spelling(pa.concat_tables([FEED.empty_table(), *tables]))
    counted = rows.group_by(["query", "params", "result"]).aggregate([("delta", "sum")])
    wrong = counted.filter(
        pc.not_equal(
            pc.and_(pc.greater_equal(counted["delta_sum"], 0), pc.less_equal(counted["delta_sum"], 1)), True
        )
    )
    if len(wrong):
        raise StoreError(f"the feed of {store.path} is damaged: {wrong.slice(0, 1).to_pylist()[0]}")
    return counted.filter(pc.equal(counted["delta_sum"], 1)).select(["query", "params", "result"])


def entries_of(manifest: Manifest) -> list[Entry]:
    """The folded results and the feed since."""
    folded = manifest.results.batch if manifest.results is not None else -1
    newer = [entry for entry in manifest.feed if entry.batch > folded]
    return [manifest.results, *newer] if manifest.results is not None else newer


def row_key(query: str, params: str, result: str) -> str:
    """A row as text, the same for equal values however they are spelled: 1, 1.0 and true are one."""
    return f"{query} {_spelled(params)} {_spelled(result)}"


def _spelled(text: str) -> str:
    return json_key(text) if _SEVERAL.search(text) else text


def _with_one_spelling(rows: Any) -> Any:
    """Equal values have the spelling that came last, so that what goes is what came.

    An element that is 1 to one engine may be 1.0 to another that was built later: Python's sets keep the
    first of two equal values. And where 1 becomes 1.0, that is what counts from then on.
    """
    several = pc.match_substring_regex(rows["result"], _SEVERAL.pattern)
    several = pc.or_(several, pc.match_substring_regex(rows["params"], _SEVERAL.pattern))
    if not pc.any(several).as_py():
        return rows
    spelled = {row_key(*row) for row in _tuples(rows.filter(several))}
    whole = pc.binary_join_element_wise(rows["query"], rows["params"], rows["result"], " ")
    several = pc.or_(several, pc.is_in(whole, value_set=pa.array(sorted(spelled), pa.string())))
    concerned = rows.filter(several)
    keys = [row_key(*row) for row in _tuples(concerned)]
    last: dict[str, tuple[str, str, str]] = {}
    for key, row, delta in zip(keys, _tuples(concerned), concerned["delta"].to_pylist(), strict=True):
        if delta > 0 or key not in last:
            last[key] = row
    one = [last[key] for key in keys]
    columns = [list(column) for column in zip(*one, strict=True)]
    fresh = pa.table([*columns, concerned["delta"]], schema=FEED)
    return pa.concat_tables([rows.filter(pc.invert(several)), fresh])


def _tuples(rows: Any) -> Iterator[tuple[str, str, str]]:
    return zip(*(rows[c].to_pylist() for c in ("query", "params", "result")), strict=True)


def _read(store: Store, file: str, seal: str, query: str | None) -> Any:
    table = sealed.read_table(store.path / file, seal, FEED)
    return table if query is None else table.filter(pc.equal(table["query"], query))


def feed_rows(store: Store, after: int | None = None) -> Iterator[tuple[str, str, str, int, int]]:
    """The change feed: (query, parameters, result, +1 or -1, batch), all that is kept or after a batch."""
    manifest = store.manifest()
    if after is not None and after + 1 < manifest.feed_from:
        raise StoreError(
            f"the feed before batch {manifest.feed_from} is gone: it was folded into the results"
        )
    for entry in manifest.feed:
        if after is None or entry.batch > after:
            for file, seal in entry.files.items():
                for row in _read(store, file, seal, None).to_pylist():
                    yield row["query"], row["params"], row["result"], row["delta"], entry.batch
