"""Print what `bench.hand_written --json` wrote as the tables of docs/speed.md, each figure with its limit.

python -m bench.hand_written.summary FIGURES.json...
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.hand_written.__main__ import ratio
from bench.hand_written.versions import HAND, NAIVE, NATIVE, REQUERY

AT_MOST = 2.0  # straightforward evaluations, for the first demand of a combination and for its release
SHOWN = {"filtered": "tags"}  # how the tables call a version
Figures = dict[str, Any]


def tables(found: list[Figures]) -> Iterator[str]:
    """Mixed work, updates that concern nobody, demand, space: medians with quartiles, by hand being 1."""
    for title, kinds, versions, limit in (
        ("Mixed: half queries, half random updates", {"mixed"}, (NAIVE, REQUERY, "incremental"), 1.3),
        ("Updates of what no demand reaches", {"untagged"}, (), 1.2),
        ("Demand that begins and ends", {"demand", "release"}, (REQUERY,), None),
        ("Queries that were asked before", {"query"}, (), None),
        ("Updates of what demand reaches", {"tagged"}, (), None),
    ):
        columns = [
            v
            for v in (*versions, "filtered", "join", "auto", NATIVE)
            if any(v in _versions(f) for f in found)
        ]
        yield f"### {title}\n"
        yield _table(found, kinds, columns, limit)
    yield "### Demand, beside one straightforward evaluation\n"
    yield _evaluations(found)
    for title, key, show in (
        ("Extra space (entries)", "space", lambda n: f"{n:,}"),
        ("Peak memory (MB)", "peak", lambda n: f"{n:.0f}"),
    ):
        if any(f[key] for f in found):
            yield f"### {title}\n"
            yield _amounts(found, key, show)


def _table(found: list[Figures], kinds: set[str], columns: list[str], limit: float | None) -> str:
    last = f" auto within {limit} |" if limit is not None else ""
    lines = [
        "| program | workload | by hand (µs) | " + " | ".join(SHOWN.get(c, c) for c in columns) + f" |{last}",
        "|---|---|--:|" + "--:|" * len(columns) + ("---|" if last else ""),
    ]
    for figures in found:
        for workload, times in figures["times"].items():
            if figures["kinds"][workload] not in kinds or HAND not in times:
                continue
            base = times[HAND]
            cells = [ratio(times[c], base) if c in times else "–" for c in columns]
            reached = ""
            if limit is not None and "auto" in times:
                middle = sorted(t / b for t, b in zip(times["auto"], base, strict=True))[len(base) // 2]
                reached = " yes |" if middle <= limit else " **no** |"
            shown = f"{sorted(base)[len(base) // 2]:.3g}"
            named = f"{figures['case']}, {figures['size']:,}"
            lines.append(f"| {named} | {workload} | {shown} | " + " | ".join(cells) + f" |{reached}")
    return "\n".join(lines) + "\n"


def _evaluations(found: list[Figures]) -> str:
    """First demand and release as multiples of one evaluation of the query as it is written."""
    lines = [
        f"| program | workload | one evaluation (µs) | auto | auto within {AT_MOST:.0f} |",
        "|---|---|--:|--:|---|",
    ]
    for figures in found:
        kinds, times = figures["kinds"], figures["times"]
        evaluated = [t[NAIVE] for w, t in times.items() if kinds[w] == "demand" and NAIVE in t]
        for workload, by_version in times.items():
            if kinds[workload] in ("demand", "release") and "auto" in by_version and evaluated:
                base = evaluated[0]
                middle = sorted(t / b for t, b in zip(by_version["auto"], base, strict=True))[len(base) // 2]
                named = f"{figures['case']}, {figures['size']:,}"
                lines.append(
                    f"| {named} | {workload} | {sorted(base)[len(base) // 2]:.3g} | "
                    f"{ratio(by_version['auto'], base)} | {'yes' if middle <= AT_MOST else '**no**'} |"
                )
    return "\n".join(lines) + "\n"


def _amounts(found: list[Figures], key: str, show: Callable[[Any], str]) -> str:
    columns = [
        c for c in (HAND, "incremental", "filtered", "join", "auto") if any(c in f[key] for f in found)
    ]
    lines = [
        "| program | " + " | ".join(SHOWN.get(c, c) for c in columns) + " |",
        "|---|" + "--:|" * len(columns),
    ]
    for figures in found:
        cells = [show(figures[key][c]) if c in figures[key] else "–" for c in columns]
        lines.append(f"| {figures['case']}, {figures['size']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _versions(figures: Figures) -> set[str]:
    return {version for times in figures["times"].values() for version in times}


def main() -> int:
    found = [figures for path in sys.argv[1:] for figures in json.loads(Path(path).read_text())]
    for part in tables(found):
        print(part)
    return 0


if __name__ == "__main__":
    sys.exit(main())
