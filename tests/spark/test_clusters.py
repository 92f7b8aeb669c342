"""Processes of their own: a local cluster, and a standalone master with two workers; some are killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.pipelines import pipeline, results
from tests.spark.test_never_lose_never_double import change_files, feed

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def compare(folder: Path, master: str, kill: str) -> None:
    """Run five batches on a master and in the process: the same results, the same feed."""
    changes = change_files(folder / "changes")
    here = pipeline(folder / "here")
    here.run_directory(changes)
    there = pipeline(folder / "there").store
    script = Path(__file__).with_name("cluster_driver.py")
    command = [sys.executable, str(script), master, str(there.path), str(changes), kill]
    ran = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=400)
    if kill == "driver":
        assert ran.returncode == -signal.SIGKILL
        assert there.manifest().batch == 2
        command[-1] = "nobody"
        ran = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=400)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert results(there) == results(here)
    assert feed(there) == feed(here.store)


def test_an_executor_of_a_local_cluster_killed_in_mid_task_changes_nothing(tmp_path: Path) -> None:
    compare(tmp_path, "local-cluster[2,1,1024]", "executor")


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master and two workers on this machine: the package has no start scripts, but it has the classes."""
    import pyspark

    from incoq.spark.java import find_java

    home = Path(pyspark.__file__).parent
    environment = {**ENVIRONMENT, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    java = find_java()
    if java.home is not None:
        environment["JAVA_HOME"] = str(java.home)
    port, page = free_port(), free_port()
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, *args: str) -> Path:
        log = tmp_path / f"{len(processes)}.log"
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *args]
        with log.open("wb") as output:
            processes.append(subprocess.Popen(command, env=environment, stdout=output, stderr=output))
        return log

    start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))
    master = f"spark://127.0.0.1:{port}"
    worker = ("-c", "1", "-m", "1500m", "--host", "127.0.0.1", "-d", str(tmp_path / "work"), master)
    logs = [start("worker.Worker", *worker) for _ in range(2)]
    deadline = time.monotonic() + 120
    while not all(b"Successfully registered" in log.read_bytes() for log in logs):
        assert time.monotonic() < deadline, b"\n".join(log.read_bytes() for log in logs).decode()
        time.sleep(0.5)
    yield master, processes
    for process in processes:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.cluster
@pytest.mark.parametrize("kill", ["executor", "worker", "driver"])
def test_a_standalone_cluster_survives(
    tmp_path: Path, standalone: tuple[str, list[subprocess.Popen[bytes]]], kill: str
) -> None:
    master, processes = standalone
    if kill == "worker":
        os.kill(processes[-1].pid, signal.SIGKILL)
    compare(tmp_path, master, kill)
