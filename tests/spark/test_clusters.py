"""Processes of their own: a local cluster, and a standalone master with two workers; some are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from incoq.spark.store import Store
from incoq.testing.spark_cluster import Cluster
from tests.spark.pipelines import pipeline, results
from tests.spark.test_never_lose_never_double import change_files, feed

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def drive(
    store: Store, changes: Path, master: str, *kill: str, how: str = "engines"
) -> subprocess.CompletedProcess[str]:
    script = Path(__file__).with_name("cluster_driver.py")
    command = [sys.executable, str(script), master, str(store.path), str(changes), how, *kill]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=900)


def compare(folder: Path, master: str, *kill: str, how: str = "engines") -> None:
    """Run five batches on a master and in the process: the same results, the same feed."""
    changes = change_files(folder / "changes")
    here = pipeline(folder / "here")
    here.run_directory(changes)
    there = pipeline(folder / "there").store
    ran = drive(there, changes, master, *kill, how=how)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert results(there) == results(here)
    assert feed(there) == feed(here.store)


def test_an_executor_of_a_local_cluster_killed_in_mid_task_changes_nothing(tmp_path: Path) -> None:
    compare(tmp_path, "local-cluster[2,1,1024]", "executor")


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers on this machine."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.mark.cluster
def test_an_executor_killed_in_mid_task_changes_nothing(tmp_path: Path, standalone: Cluster) -> None:
    compare(tmp_path, standalone.master, "executor")


@pytest.mark.cluster
def test_an_executor_killed_in_mid_task_of_joins_changes_nothing(tmp_path: Path, standalone: Cluster) -> None:
    compare(tmp_path, standalone.master, "executor", how="joins")


STEPS = ("read", "log written", "applied", "before commit", "committed")
HALF = ("log written", "half of feed", "applied", "before commit", "committed")


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("how", "steps"),
    [("engines", STEPS), ("engines-stream", STEPS), ("joins", HALF), ("joins-stream", HALF)],
)
def test_a_driver_killed_at_each_step_goes_on_when_it_is_started_again(
    tmp_path: Path, standalone: Cluster, how: str, steps: tuple[str, ...]
) -> None:
    """Of a stream, the last step lies between our commit and Spark's own."""
    changes = change_files(tmp_path / "changes")
    for number, path in enumerate(sorted(changes.iterdir())):
        os.utime(path, (1e9 + number, 1e9 + number))  # a stream takes files in the order of their times
    here = pipeline(tmp_path / "here")
    here.run_directory(changes)
    there = pipeline(tmp_path / "there").store
    for batch, step in enumerate(steps, 1):  # each start is killed one batch later, at the next step
        ran = drive(there, changes, standalone.master, "driver", str(batch), step, how=how)
        assert ran.returncode == -signal.SIGKILL, ran.stdout + ran.stderr
        assert there.manifest().batch == (batch if step == "committed" else batch - 1)
    if how.endswith("-stream"):
        commits = (tmp_path / "there" / "checkpoint" / "commits").glob("[0-9]*")
        assert len(list(commits)) == there.manifest().batch - 1, "Spark knows of all batches but the last"
    ran = drive(there, changes, standalone.master, "nobody", how=how)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert results(there) == results(here)
    assert feed(there) == feed(here.store)
    assert there.manifest().totals["events"] == here.store.manifest().totals["events"]
    assert there.manifest().totals.get("by_joins", 0) == (5 if how.startswith("joins") else 0)


@pytest.mark.cluster
def test_a_worker_lost_in_mid_run_changes_nothing(tmp_path: Path, standalone: Cluster) -> None:
    lost = standalone.workers[-1].pid  # the last test of the module: one worker is left after it
    compare(tmp_path, standalone.master, "process", str(lost))
    state = Path(f"/proc/{lost}/stat").read_text().rsplit(")", 1)[1].split()[0]
    assert state == "Z", "it was killed while the batches ran"
