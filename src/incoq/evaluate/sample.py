"""The measured process: one run of one version at one point, printed as a line of JSON.

    python -m incoq.evaluate.sample '{"driver": "birthday", "mode": "filtered", …}'

Data, compilation and first demand come before the clock, which is CPU time; the garbage collector is off. A
counted run puts a counter into every loop instead, and its time means nothing.
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from incoq.evaluate.drivers import DRIVERS, Point
from incoq.evaluate.versions import load
from incoq.evaluate.workloads import read


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """What the run took; `iterations` only of a counted one, `seconds` only of another."""
    driver = DRIVERS[job["driver"]]
    point = Point(job["size"], job["operations"], job["options"])
    data = {name: read(Path(job["data"]), name) for name in driver.tables(point)}
    version = load(Path(job["programs"]), driver.program, job["mode"], job["counted"])
    prepared = driver.prepare(version.module, data, point, job["part"])
    if version.tally is not None:
        version.tally.total = 0
    gc.collect()
    gc.disable()
    start = time.process_time_ns()
    prepared.run()
    taken = time.process_time_ns() - start
    iterations = None if version.tally is None else version.tally.total
    space = version.extra_space()
    answers = hashlib.sha256(json.dumps(prepared.answers()).encode()).hexdigest()[:16]
    return {
        "seconds": None if job["counted"] else taken / 1e9,
        "iterations": iterations,
        "space": space,
        "answers": answers,
    }


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
