"""Takes all files of a directory on a given master; meanwhile somebody is killed.

python cluster_driver.py MASTER STORE CHANGES nobody
python cluster_driver.py MASTER STORE CHANGES executor            one of them, during batch 3
python cluster_driver.py MASTER STORE CHANGES process PID         that process, during batch 3
python cluster_driver.py MASTER STORE CHANGES driver BATCH STEP   this process, at a step of a batch
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from incoq.spark.pipeline import Pipeline
from incoq.spark.session import runner, session
from incoq.spark.store import Store


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


def kill_soon(process: int) -> None:
    """While the tasks of the batch run."""
    time.sleep(0.2)
    os.kill(process, signal.SIGKILL)


master, place, changes, kill, *more = sys.argv[1:]
MARK = f"-Dincoq.mark={Path(place).name}".encode()
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
    if kill == "driver" and (str(batch), name) == (more[0], more[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    if kill in ("executor", "process") and name == "log written" and batch == 3:
        victim = executors()[0] if kill == "executor" else int(more[0])
        threading.Thread(target=kill_soon, args=(victim,)).start()


with store.locked():
    Pipeline(store, runner(spark), step=step).run_directory(Path(changes))
print("executors", len(executors()))
spark.stop()
