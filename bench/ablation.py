"""What each saving of the generated code brings: every program compiled with it and without it.

    python -m bench.ablation --size 2000 --turns 9

A figure is the time without the saving over the time with all of them: the median over all turns of all
workloads of a kind, which the versions run in turns; 1.20 means that the saving makes them a sixth faster.
"""

import argparse
import gc
import random
import statistics
import sys

from bench.hand_written.cases import CASES, Case
from bench.hand_written.cases.case import Workload
from bench.hand_written.measure import SEED, per_operation
from bench.hand_written.versions import compiled

SAVINGS = {
    "counts": "counting elimination",
    "guards": "guard removal",
    "indices": "dead-index removal",
    "inlining": "look-up in place of an update",
    "classes": "class of a set by its tags",
    "copies": "copy avoidance",
    "globals": "global sets known by name",
    "numbers": "counts kept as numbers",
    "whole": "nested counts for all values",
    "demanded": "indices of demanded tuples",
    "fetching": "an answer fetched once in a loop",
    "walks": "one walk for another element",
    "rows": "tuples kept that loops take apart",
}
KINDS = ("query", "tagged", "untagged", "mixed")


def measure(case: Case, size: int, turns: int, count: int, strategy: str) -> dict[str, dict[str, float]]:
    """For each saving and each kind of operation: the time without it over the time with it."""
    versions = {"": (), **{saving: (saving,) for saving in SAVINGS}}
    programs = {v: compiled(case, strategy=strategy, without=w)[0] for v, w in versions.items()}
    worlds = {v: case.make(p, size, random.Random(SEED)) for v, p in programs.items()}
    ratios: dict[str, dict[str, list[float]]] = {s: {k: [] for k in KINDS} for s in SAVINGS}
    gc.disable()
    for turn in range(turns):
        made = {
            v: case.workloads(p, worlds[v], random.Random(SEED + turn), count) for v, p in programs.items()
        }
        for number, workload in enumerate(made[""]):
            if workload.operations:
                times = _times(made, number, turn)
                for saving in SAVINGS if workload.kind in KINDS else ():
                    ratios[saving][workload.kind].append(times[saving] / times[""])
        gc.collect()
    gc.enable()
    return {s: {k: statistics.median(r) for k, r in by_kind.items()} for s, by_kind in ratios.items()}


def _times(made: dict[str, list[Workload]], number: int, turn: int) -> dict[str, float]:
    """One workload in every version, in a random order and back: the one that begins finds caches cold."""
    order = list(made)
    random.Random(turn * 100 + number).shuffle(order)
    times: dict[str, float] = {}
    for version in (*order, *reversed(order)):
        spent = per_operation(made[version][number].operations)
        times[version] = min(spent, times.get(version, spent))
    return times


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.ablation", description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--strategy", default="tags")
    options = parser.parse_args()
    print("| program | without | " + " | ".join(KINDS) + " |\n|---|---|" + "--:|" * len(KINDS))
    for case in CASES.values():
        found = measure(case, options.size, options.turns, options.count, options.strategy)
        for saving, by_kind in found.items():
            cells = " | ".join(f"{by_kind[kind]:.2f}" for kind in KINDS)
            print(f"| {case.name} | {SAVINGS[saving]} | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
