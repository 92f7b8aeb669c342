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

from incoq.spark.store import Store
from tests.spark.pipelines import pipeline, results
from tests.spark.test_never_lose_never_double import change_files, feed

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def drive(store: Store, changes: Path, master: str, *kill: str) -> subprocess.CompletedProcess[str]:
    script = Path(__file__).with_name("cluster_driver.py")
    command = [sys.executable, str(script), master, str(store.path), str(changes), *kill]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=900)


def compare(folder: Path, master: str, *kill: str) -> None:
    """Run five batches on a master and in the process: the same results, the same feed."""
    changes = change_files(folder / "changes")
    here = pipeline(folder / "here")
    here.run_directory(changes)
    there = pipeline(folder / "there").store
    ran = drive(there, changes, master, *kill)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert results(there) == results(here)
    assert feed(there) == feed(here.store)


def test_an_executor_of_a_local_cluster_killed_in_mid_task_changes_nothing(tmp_path: Path) -> None:
    compare(tmp_path, "local-cluster[2,1,1024]", "executor")


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[int]]]:
    """A master and two workers on this machine: the package has no start scripts, but it has the classes."""
    import pyspark

    from incoq.spark.java import find_java

    folder = tmp_path_factory.mktemp("cluster")
    home = Path(pyspark.__file__).parent
    environment = {**ENVIRONMENT, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    java = find_java()
    if java.home is not None:
        environment["JAVA_HOME"] = str(java.home)
    port, page = free_port(), free_port()
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, *args: str) -> Path:
        log = folder / f"{len(processes)}.log"
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *args]
        with log.open("wb") as output:
            processes.append(subprocess.Popen(command, env=environment, stdout=output, stderr=output))
        return log

    try:
        start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))
        master = f"spark://127.0.0.1:{port}"
        worker = ("-c", "1", "-m", "1500m", "--host", "127.0.0.1", "-d", str(folder / "work"), master)
        logs = [start("worker.Worker", *worker) for _ in range(2)]
        deadline = time.monotonic() + 600  # a busy machine takes minutes to start three JVMs
        while not all(b"Successfully registered" in log.read_bytes() for log in logs):
            assert time.monotonic() < deadline, b"\n".join(log.read_bytes() for log in logs).decode()
            time.sleep(0.5)
        yield master, [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.cluster
def test_an_executor_killed_in_mid_task_changes_nothing(
    tmp_path: Path, standalone: tuple[str, list[int]]
) -> None:
    compare(tmp_path, standalone[0], "executor")


@pytest.mark.cluster
def test_a_driver_killed_at_each_step_goes_on_when_it_is_started_again(
    tmp_path: Path, standalone: tuple[str, list[int]]
) -> None:
    changes = change_files(tmp_path / "changes")
    here = pipeline(tmp_path / "here")
    here.run_directory(changes)
    there = pipeline(tmp_path / "there").store
    steps = ["read", "log written", "applied", "before commit", "committed"]
    for batch, step in enumerate(steps, 1):  # each start is killed one batch later, at the next step
        ran = drive(there, changes, standalone[0], "driver", str(batch), step)
        assert ran.returncode == -signal.SIGKILL, ran.stdout + ran.stderr
        assert there.manifest().batch == (batch if step == "committed" else batch - 1)
    ran = drive(there, changes, standalone[0], "nobody")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert results(there) == results(here)
    assert feed(there) == feed(here.store)
    assert there.manifest().totals["events"] == here.store.manifest().totals["events"]


@pytest.mark.cluster
def test_a_worker_lost_in_mid_run_changes_nothing(tmp_path: Path, standalone: tuple[str, list[int]]) -> None:
    master, processes = standalone  # the last test of the module: one worker is left after it
    compare(tmp_path, master, "process", str(processes[-1]))
    state = Path(f"/proc/{processes[-1]}/stat").read_text().rsplit(")", 1)[1].split()[0]
    assert state == "Z", "it was killed while the batches ran"
