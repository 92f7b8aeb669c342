"""The pipeline on Spark: kills on a cluster, a full and a read-only disk, a long run.

Four tenths of the time go to kills on a standalone cluster of processes, and what is left after the disks to
a run that must neither grow nor get slower. Each is a command of its own, with the whole volume: `python -m
incoq.testing.spark_kills`, `spark_disk`, `spark_soak`.
"""

from __future__ import annotations

import time

from trust.outcome import Outcome

KILLS = 200
SOAK = 30.0  # minutes
SHORTEST = 2.0  # minutes: what a shorter run says of growth means nothing


def run(budget_seconds: float, seed: int) -> Outcome:
    """As many kills and as long a run as the time allows."""
    from incoq.testing import spark_disk, spark_kills, spark_soak

    start = time.perf_counter()
    failures: list[str] = []
    tally, wrong = spark_kills.run(KILLS, 0.4 * budget_seconds, "standalone", 0.05, seed + 1, 25)
    failures += [f"kills: {wrong}"] if wrong else []
    try:
        faults = list(spark_disk.faults("local[2]"))
        disks = "a full and a read-only disk"
    except spark_disk.Unmountable as error:
        faults, disks = [], f"no disk tried ({error})"
    failures += [f"disk: {fault}" for fault in faults]
    left = (budget_seconds - (time.perf_counter() - start)) / 60
    soak = spark_soak.soak(min(SOAK, max(SHORTEST, left)), "local[2]", seed + 1)
    if not soak.is_flat:
        failures.append(f"soak: {soak}")
    figure = f"{tally.kills.total()} kills in {tally.batches:,} batches; {disks}; {soak}"
    limit = (
        f"nothing lost or doubled; a clear stop; at the end a batch takes {spark_soak.SLOWER} times as "
        f"long at most, with {spark_soak.LARGER} times the memory"
    )
    return Outcome("pipeline", figure, limit, tuple(failures), details=(str(tally), str(soak)))
