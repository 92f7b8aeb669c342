"""Takes all files of a directory on a given master; while the third runs, an executor is killed.

python cluster_driver.py MASTER STORE CHANGES KILL
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


def kill_one() -> None:
    time.sleep(0.2)
    os.kill(executors()[0], signal.SIGKILL)


master, place, changes, kill = sys.argv[1:5]
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
    if kill == "driver" and name == "applied" and store.manifest().batch == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if kill == "executor" and name == "log written" and store.manifest().batch == 2:
        threading.Thread(target=kill_one).start()


with store.locked():
    Pipeline(store, runner(spark), step=step).run_directory(Path(changes))
print("executors", len(executors()))
spark.stop()
