"""The pipeline on Spark: kills on a cluster, a full and a read-only disk, a long run.

Four tenths of the time go to kills on a standalone cluster of processes, and what is left after the disks to
a run that must neither grow nor get slower. Each is a command of its own, with the whole volume: `python -m
incoq.testing.spark_kills`, `spark_disk`, `spark_soak`. What they noted with `--json` becomes the figure of
this gate by

    python -m trust.pipeline kills.json disk.json soak.json

of which there may be several with kills: they add up. The disks and the long run are those of the last file.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from incoq.testing import spark_disk, spark_kills, spark_soak
from trust.outcome import Outcome

KILLS = 200
SOAK = 30.0  # minutes
SHORTEST = 2.0  # minutes: what a shorter run says of growth means nothing
DISKS = "a full and a read-only disk"


def run(budget_seconds: float, seed: int) -> Outcome:
    """As many kills and as long a run as the time allows."""
    start = time.perf_counter()
    tally, wrong = spark_kills.run(KILLS, 0.4 * budget_seconds, "standalone", 0.05, seed + 1, 25)
    try:
        faults, disks = list(spark_disk.faults("local[2]")), DISKS
    except spark_disk.Unmountable as error:
        faults, disks = [], f"no disk tried ({error})"
    left = (budget_seconds - (time.perf_counter() - start)) / 60
    soak = spark_soak.soak(min(SOAK, max(SHORTEST, left)), "local[2]", seed + 1)
    return outcome(tally, [wrong] if wrong else [], disks, faults, soak)


def outcome(
    tally: spark_kills.Tally, lost: Sequence[str], disks: str, faults: Sequence[str], soak: spark_soak.Soak
) -> Outcome:
    """What the three say together."""
    failures = [f"kills: {wrong}" for wrong in lost] + [f"disk: {fault}" for fault in faults]
    if not soak.is_flat:
        failures.append(f"soak: {soak}")
    figure = f"{tally.kills.total()} kills in {tally.batches:,} batches; {disks}; {soak}"
    limit = (
        f"nothing lost or doubled; a clear stop; at the end a batch takes {spark_soak.SLOWER} times as "
        f"long at most, with {spark_soak.LARGER} times the memory"
    )
    return Outcome("pipeline", figure, limit, tuple(failures), details=(str(tally), str(soak)))


def noted(files: Sequence[Path]) -> tuple[Outcome, float, int]:
    """What the commands noted, with the seconds that they took in all, and the seed of the first kills."""
    told = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    kills: list[dict[str, Any]] = [found["kills"] for found in told if "kills" in found]
    of_disk: list[dict[str, Any]] = [found["disk"] for found in told if "disk" in found]
    of_soak: list[dict[str, Any]] = [found["soak"] for found in told if "soak" in found]
    if not (kills and of_soak):
        raise ValueError("kills and a long run make a figure of this gate: one of them is missing")
    tally = spark_kills.Tally()
    for found in kills:
        tally.kills += Counter(found["kills"])
        for name in ("compared", "batches", "rounds"):
            setattr(tally, name, getattr(tally, name) + found[name])
    last = of_soak[-1]
    soak = spark_soak.Soak(
        last["batches"], last["minutes"], tuple(last["latency"]), tuple(last["memory"]), last["wrong"],
        tuple(last.get("cpu", (0.0, 0.0, 0.0))),
    )  # fmt: skip
    lost = [found["wrong"] for found in kills if found["wrong"]]
    faults = of_disk[-1]["faults"] if of_disk else []
    disks = DISKS if of_disk else "no disk tried"
    seconds = sum(found["seconds"] for found in kills) + 60 * soak.minutes
    return outcome(tally, lost, disks, faults, soak), seconds, int(kills[0]["seed"])


def main(arguments: list[str] | None = None) -> int:
    """Record what the commands noted; 1 where the gate does not hold, and then nothing is recorded."""
    from trust.record import write

    parser = argparse.ArgumentParser(prog="python -m trust.pipeline", description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="what a command noted")
    found, seconds, seed = noted(parser.parse_args(arguments).files)
    print("\n".join([*found.details, *found.failures, found.verdict]))
    if found.passed:
        write(found, seconds, seed)
    return 0 if found.passed else 1


if __name__ == "__main__":
    sys.exit(main())
