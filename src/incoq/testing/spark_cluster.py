"""A standalone Spark cluster on this machine: a master and some workers, each a process of its own.

    with Cluster(folder) as cluster:
        spark = session("mine", cluster.master)
        cluster.lose_worker(0)          # SIGKILL; its executors go with it
        cluster.replace_worker(0)

Spark's package has no start scripts, but it has the classes. Everything listens on 127.0.0.1.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

from incoq.spark.java import find_java
from incoq.spark.session import spark_home

PATIENCE = 600.0  # seconds: a busy machine takes minutes to start three JVMs
# A JVM that is killed soon does not get back what it spent on optimizing: starting takes half the CPU so.
SHORT_LIVED = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}


class Cluster:
    """A master and workers, started in a `with` statement and ended with it."""

    def __init__(self, folder: Path, workers: int = 2, memory: str = "1500m") -> None:
        self.folder, self.count, self.memory = folder, workers, memory
        self.home = spark_home()
        own = {"SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1"}
        self.environment = {**SHORT_LIVED, **os.environ, **own}
        java = find_java()
        if java.home is not None:
            self.environment["JAVA_HOME"] = str(java.home)
        self.master = f"spark://127.0.0.1:{free_port()}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        try:
            port = self.master.rpartition(":")[2]
            self._start(
                "master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", str(free_port())
            )
            started = [self._start_worker() for _ in range(self.count)]
            self.workers = [process for process, _ in started]
            for _, log in started:
                self._wait(log)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def lose_worker(self, number: int) -> None:
        """Kill a worker; its executors end with it."""
        self.workers[number].kill()
        self.workers[number].wait()

    def replace_worker(self, number: int) -> None:
        """Start another worker in the place of one, and wait until the master knows it."""
        self.workers[number], log = self._start_worker()
        self._wait(log)

    def _start_worker(self) -> tuple[subprocess.Popen[bytes], Path]:
        work = str(self.folder / "work")
        return self._start(
            "worker.Worker", "-c", "1", "-m", self.memory, "--host", "127.0.0.1",
            "--webui-port", str(free_port()), "-d", work, self.master,
        )  # fmt: skip

    def _start(self, name: str, *args: str) -> tuple[subprocess.Popen[bytes], Path]:
        log = self.folder / f"{len(self.processes)}.log"
        command = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *args]
        with log.open("wb") as output:
            process = subprocess.Popen(command, env=self.environment, stdout=output, stderr=output)
        self.processes.append(process)
        return process, log

    def _wait(self, log: Path) -> None:
        deadline = time.monotonic() + PATIENCE
        while b"Successfully registered" not in log.read_bytes():
            if time.monotonic() > deadline:
                raise TimeoutError(f"no worker has registered:\n{log.read_text()}")
            time.sleep(0.2)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
