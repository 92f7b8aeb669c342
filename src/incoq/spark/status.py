"""Where a pipeline is, for people and for programs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from incoq.spark import sealed
from incoq.spark.store import Store

REJECTED = pa.schema([("reason", pa.string()), ("line", pa.string()), ("source", pa.string())])


def status_of(store: Store) -> dict[str, Any]:
    """The state of a store as plain data."""
    manifest, deployment = store.manifest(), store.deployment()
    reasons: Counter[str] = Counter()
    for entry in manifest.rejected:
        for file, seal in entry.files.items():
            reasons.update(sealed.read_table(store.path / file, seal, REJECTED)["reason"].to_pylist())
    totals = {name: round(value, 3) for name, value in manifest.totals.items()}
    return {
        "store": str(store.path),
        "queries": [q.name for q in deployment.queries],
        "partitions": manifest.partitions,
        "batch": manifest.batch,
        "sequence": manifest.sequence,
        "base": {
            "rows": manifest.base.rows,
            "batch": manifest.base.batch,
            "bytes": _size(store.path / manifest.base.path),
        },
        "log": {"batches": len(manifest.log), "rows": sum(e.rows for e in manifest.log)},
        "feed": {"batches": len(manifest.feed), "rows": sum(e.rows for e in manifest.feed)},
        "events": int(totals.get("events", 0)),
        "routed": int(totals.get("routed", 0)),
        "result_changes": int(totals.get("changes", 0)),
        "rejected": int(totals.get("rejected", 0)),
        "rejected_reasons": dict(reasons.most_common(10)),
        "roads": {
            "engines": int(totals.get("by_engines", 0)),
            "joins": int(totals.get("by_joins", 0)),
            **manifest.roads,
        },
        "measures": {name: float(f"{value:.4g}") for name, value in manifest.measures.items()},
        "seconds": totals.get("seconds", 0.0),
        "files_taken": sum(map(len, manifest.sources.values())),
        "streams": manifest.streams,
    }


def status_text(status: dict[str, Any]) -> str:
    """The state in a few lines."""
    base, log, feed = status["base"], status["log"], status["feed"]
    lines = [
        f"store       {status['store']}",
        f"queries     {', '.join(status['queries'])}, demand over {status['partitions']} partitions",
        f"batch       {status['batch']}, up to sequence {status['sequence']}, "
        f"{counted(status['files_taken'], 'file')} taken",
        f"base        {base['rows']:,} rows as of batch {base['batch']}, {base['bytes'] / 1e6:,.1f} MB",
        f"log         {counted(log['rows'], 'row')} in {counted(log['batches'], 'batch', 'es')} since then",
        f"feed        {feed['rows']:,} result changes in {counted(feed['batches'], 'batch', 'es')}",
        f"events      {status['events']:,} applied, {status['routed']:,} routed to a partition, "
        f"{status['rejected']:,} rejected",
    ]
    lines += [f"  {count:>8,}  {reason}" for reason, count in status["rejected_reasons"].items()]
    roads = status["roads"]
    if "last" in roads:
        cost = roads["estimate"]
        engines, joins = (counted(roads[road], "time") for road in ("engines", "joins"))
        lines.append(f"roads       engines {engines}, joins {joins}; last {roads['last']}")
        lines.append(
            f"            estimated {cost['engines']:.2f} s by engines, {cost['joins']:.2f} s by joins"
        )
        if roads["no_joins"]:
            lines.append(f"            no joins: {roads['no_joins']}")
    if status["seconds"]:
        speed = status["events"] / status["seconds"]
        shown = f"{speed:,.0f}" if speed >= 10 else f"{speed:.1f}"
        lines.append(f"speed       {shown} events a second, batch by batch")
    return "\n".join(lines) + "\n"


def counted(number: int, thing: str, more: str = "s") -> str:
    """So many of a thing, in words."""
    return f"{number:,} {thing}{'' if number == 1 else more}"


def _size(path: Path) -> int:
    return sum(p.stat().st_size for p in path.rglob("*.parquet"))
