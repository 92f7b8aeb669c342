"""Show a profile in the terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from incoq.profile.data import duration

_BARS = "▁▂▃▄▅▆▇█"
_PLACES, _STRUCTURES = 12, 16  # shown; the data has all


def profile_text(data: dict[str, Any], color: bool = False, width: int = 80) -> str:
    """Tables of queries, places and structures, and the verdict."""
    from rich.console import Console

    written = io.StringIO()
    console = Console(
        file=written,
        width=width,
        force_terminal=color,
        no_color=not color,
        highlight=False,
        legacy_windows=False,
    )
    console.print(f"{', '.join(data['files'])}: {data['events']:,} updates and queries", style="bold cyan")
    console.print(_queries(data["queries"]))
    console.print(_places("updates in", data["updated"], "nothing was updated"))
    console.print(_places("asked in", data["asked"], "nothing was asked"))
    console.print(_structures(data["structures"]))
    console.print(data["verdict"], style="bold", markup=False)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines()) + "\n"


def _table(first: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    """A table whose first column gives way where the line is too short for all."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column(first, no_wrap=True, overflow="ellipsis")
    for number, column in enumerate(columns, 1):
        widest = max(len(column), *(len(row[number]) for row in rows))
        table.add_column(column, justify="right", no_wrap=True, min_width=widest)
    for row in rows:
        table.add_row(*map(Text, row))  # as `Text`, brackets in names are no markup
    return table


def _queries(queries: list[dict[str, Any]]) -> Any:
    if not queries:
        return "\nthe program has no queries\n"
    rows = [
        (
            q["name"], f"{q['calls']:,}", f"{q['hits']:,}", f"{q['misses']:,}", duration(q["nanoseconds"]),
            f"{q['iterations']:,}", f"≈ {duration(q['naive_nanoseconds'])}", f"≈ {q['naive_iterations']:,}",
        )
        for q in queries
    ]  # fmt: skip
    return _table("query", ("calls", "hits", "misses", "time", "loops", "evaluated", "loops"), rows)


def _places(title: str, places: list[dict[str, Any]], nothing: str) -> Any:
    if not places:
        return f"\n{nothing}\n"
    rows = [
        (
            f"{_short(p['file'])}:{p['line']} {p['name']}", f"{p['calls']:,}", duration(p["nanoseconds"]),
            duration(p["nanoseconds"] / p["calls"]), f"{p['iterations']:,}",
            f"{p['iterations'] / p['calls']:.2g}",
        )
        for p in places[:_PLACES]
    ]  # fmt: skip
    if len(places) > _PLACES:
        rows.append((f"and {len(places) - _PLACES} more places", "", "", "", "", ""))
    return _table(title, ("times", "time", "each", "loops", "each"), rows)


def _structures(structures: list[dict[str, Any]]) -> Any:
    used = [s for s in structures if s["largest"]]
    if not used:
        return "\nnothing was kept\n"
    largest = sorted(used, key=lambda s: -s["largest"])[:_STRUCTURES]
    rows = [
        (
            s["name"], s["kind"], f"{s['largest']:,}", f"{s['sizes'][-1] if s['sizes'] else 0:,}",
            f"{sparkline(s['sizes']):<16}",
        )
        for s in used
        if s in largest
    ]  # fmt: skip
    if len(rows) < len(structures):
        rows.append((f"and {len(structures) - len(rows)} smaller or empty ones", "", "", "", ""))
    return _table("structure", ("kind", "largest", "at the end", "over time"), rows)


def sparkline(values: list[int], width: int = 16) -> str:
    """A small curve of signs; each stands for the largest value of its stretch."""
    if not values or not max(values):
        return ""
    count = min(width, len(values))
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    top = max(values)
    heights = [max(values[a:b]) for a, b in pairwise(edges)]
    return "".join(_BARS[min(7, h * 8 // (top + 1))] if h else " " for h in heights)


def _short(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]
