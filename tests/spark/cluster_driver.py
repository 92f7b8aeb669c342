"""Takes all files of a directory on a given master; meanwhile somebody is killed.

python cluster_driver.py MASTER STORE CHANGES HOW nobody
python cluster_driver.py MASTER STORE CHANGES HOW executor            one of them, during batch 3
python cluster_driver.py MASTER STORE CHANGES HOW process PID         that process, during batch 3
python cluster_driver.py MASTER STORE CHANGES HOW driver BATCH STEP   this process, at a step of a batch

HOW is a road, engines or joins, with `-stream` where Spark's own streaming reads the files. Beside the steps
of the pipeline, `half of feed` is the moment at which the tasks of the joins have begun to write.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from incoq.spark.pipeline import Pipeline
from incoq.spark.recompute import by_joins
from incoq.spark.session import runner, session
from incoq.spark.store import Store
from incoq.spark.streaming import stream


def executors() -> list[int]:
    """Executor processes of this machine that belong to this driver's store."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in command and MARK in command:
                found.append(int(entry.name))
    return sorted(found)


def kill_soon(process: int, when: Callable[[], object]) -> None:
    """While the tasks of the batch run."""
    while not when():
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)


master, place, changes, how, kill, *more = sys.argv[1:]
road, streamed = how.removesuffix("-stream"), how.endswith("-stream")
MARK = f"-Dincoq.mark={place}".encode()  # the whole path: every test calls its store `store`
spark = session(
    "incoq cluster test",
    master,
    **{
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.executor.extraJavaOptions": MARK.decode(),
    },
)
store = Store(place)


def step(name: str) -> None:
    batch = store.manifest().batch + (name != "committed")
    begins = name == "log written"
    if kill == "driver" and str(batch) == more[0]:
        if name == more[1]:
            os.kill(os.getpid(), signal.SIGKILL)
        if begins and more[1] == "half of feed":
            half = f"feed/{batch:08d}-*/_temporary/0/_temporary/*/part-*"
            threading.Thread(target=kill_soon, args=(os.getpid(), lambda: [*store.path.glob(half)])).start()
    if kill in ("executor", "process") and begins and batch == 3:
        victim = executors()[0] if kill == "executor" else int(more[0])
        later = time.monotonic() + 0.2
        threading.Thread(target=kill_soon, args=(victim, lambda: time.monotonic() > later)).start()


with store.locked():
    pipeline = Pipeline(store, runner(spark), step=step, joins=by_joins(spark, store), road=road)
    if streamed:
        files = spark.readStream.option("maxFilesPerTrigger", 1).text(changes)
        query = stream(pipeline, files, store.path.with_name("checkpoint"), availableNow=True)
        query.awaitTermination()
    else:
        pipeline.run_directory(Path(changes))
print("executors", len(executors()))
spark.stop()
