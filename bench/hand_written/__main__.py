"""Measure generated code beside hand-written code: medians of interleaved turns, as ratios to hand-written.

python -m bench.hand_written --cases running,auth --sizes 2000,10000 --turns 9
"""

import argparse
import dataclasses
import json
import platform
import statistics
import sys
from pathlib import Path

from bench.hand_written.cases import CASES
from bench.hand_written.measure import Figures, measure, peak_memory
from bench.hand_written.versions import ALL, HAND, VERSIONS


def main() -> int:
    options = _options()
    found: list[Figures] = []
    for name in options.cases:
        for size in options.sizes:
            figures = measure(CASES[name], size, options.versions, options.turns, options.count)
            if options.memory:
                figures.peak = {v: peak_memory(name, size, v, options.count) for v in options.versions}
            found.append(figures)
            print(table(figures), flush=True)
            if options.json:  # as far as it has come
                text = json.dumps([dataclasses.asdict(f) for f in found], indent=1)
                Path(options.json).write_text(f"{text}\n")
    machine = f"{platform.system()} {platform.machine()}"
    print(f"Python {platform.python_version()}, {machine}; {options.turns} turns.")
    return 0


def table(figures: Figures) -> str:
    """One line for each workload: µs by hand, then each version as a ratio to it, with the spread."""
    versions = [v for v in ALL if any(v in by_version for by_version in figures.times.values())]
    others = [v for v in versions if v != HAND]
    lines = [
        f"### {figures.case}, size {figures.size:,}",
        "",
        "| workload | kind | by hand (µs) | " + " | ".join(others) + " |",
        "|---|---|--:|" + "--:|" * len(others),
    ]
    for workload, by_version in figures.times.items():
        base = by_version.get(HAND)
        shown = f"{statistics.median(base):.3g}" if base else "–"
        cells = [ratio(by_version[v], base) if v in by_version and base else "–" for v in others]
        lines.append(f"| {workload} | {figures.kinds[workload]} | {shown} | " + " | ".join(cells) + " |")
    entries = [f"{figures.space.get(v, 0):,}" for v in versions]
    lines.append(f"| extra space (entries) | | {entries[0]} | " + " | ".join(entries[1:]) + " |")
    if figures.peak:
        peaks = [f"{figures.peak[v]:.0f}" for v in versions]
        lines.append(f"| peak memory (MB) | | {peaks[0]} | " + " | ".join(peaks[1:]) + " |")
    return "\n".join(lines) + "\n"


def ratio(times: list[float], base: list[float]) -> str:
    """The median of the turns' ratios, with the quartiles: `1.12 (1.08–1.19)`."""
    ratios = sorted(t / b for t, b in zip(times, base, strict=True))
    middle = statistics.median(ratios)
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    return f"{_short(middle)} ({_short(low)}–{_short(high)})"


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.hand_written", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=_names(CASES), default=list(CASES), help="comma-separated")
    parser.add_argument(
        "--versions", type=_names(ALL), default=list(VERSIONS), help=f"comma-separated, of {', '.join(ALL)}"
    )
    parser.add_argument("--sizes", type=lambda t: [int(s) for s in t.split(",")], default=[2000, 10000])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--count", type=int, default=2000, help="operations in each turn of a workload")
    parser.add_argument("--memory", action="store_true", help="also the peak memory, each in its own process")
    parser.add_argument("--json", help="write all figures to this file")
    return parser.parse_args()


def _names(known: "dict[str, object] | tuple[str, ...]"):  # type: ignore[no-untyped-def]
    def parse(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {name!r}; there are {', '.join(known)}")
        return names

    return parse


if __name__ == "__main__":
    sys.exit(main())
