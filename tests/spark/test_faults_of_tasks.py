"""A fault of a task on Spark that incoq knows is told by the driver, and printed by nobody before."""

from __future__ import annotations

import errno
import time
from functools import partial
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from incoq.errors import IncoqError, IncoqRuntimeError
from incoq.spark.session import _attempts, _told, runner
from incoq.spark.store import StoreError

OF_SPARK = (Py4JJavaError, PySparkException)  # by its version


def raising(kind: Any, *args: Any) -> Any:
    """A function for tasks; one of this function's own, as no worker can import this file."""

    def act(task: int) -> int:
        raise kind(*args)

    return act


NO_ROOM = raising(
    OSError, errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device"
)
DAMAGED = raising(StoreError, "log/1.parquet is damaged: its checksum is another")
REFUSED = raising(IncoqRuntimeError, "IQ301", "a membership in a 'list' object cannot be maintained")
MISTAKEN = raising(ZeroDivisionError, "division by zero")


def fails(spark: Any, function: Any) -> BaseException:
    """What comes of a job whose tasks cannot be done."""
    with pytest.raises((IncoqError, OSError, *OF_SPARK)) as caught:
        runner(spark)("incoq batch 1", function, [1, 2])
    return caught.value


def ending(tracker: Any, job: int) -> str:
    """How a job has ended, of which Spark tells its tracker a little later than who waits for it."""
    until = time.monotonic() + 60
    while (status := str(tracker.getJobInfo(job).status)) == "RUNNING" and time.monotonic() < until:
        time.sleep(0.05)
    return status


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (NO_ROOM, OSError, "No space left on device"),
        (DAMAGED, StoreError, "1.parquet is damaged"),
        (REFUSED, IncoqError, "[IQ301] a membership in a 'list' object"),
    ],
)
def test_a_fault_that_incoq_knows_fails_no_job_of_sparks(
    spark: Any, function: Any, kind: type[Exception], words: str
) -> None:
    tracker = spark.sparkContext.statusTracker()
    group = str(uuid4())
    spark.sparkContext.setJobGroup(group, words)
    error = fails(spark, function)
    assert isinstance(error, kind)
    assert words in str(error)
    (job,) = tracker.getJobIdsForGroup(group)
    assert ending(tracker, job) == "SUCCEEDED"  # so it has nothing to print


def test_any_other_error_is_left_to_spark(spark: Any) -> None:
    error = fails(spark, MISTAKEN)
    assert not isinstance(error, IncoqError | OSError)
    assert "ZeroDivisionError" in str(error)


def test_a_fault_is_left_to_spark_while_it_tries_again(spark: Any) -> None:
    first_of_two = spark.sparkContext.parallelize([1], 1).map(partial(_told, DAMAGED, 2))
    with pytest.raises(OF_SPARK, match=r"1\.parquet is damaged"):
        first_of_two.collect()


@pytest.mark.parametrize(
    ("master", "settings", "attempts"),
    [
        ("local", {}, 1),
        ("local[2]", {"spark.task.maxFailures": "7"}, 1),
        ("local[*, 3]", {}, 3),
        ("local-cluster[2,1,1024]", {}, 4),
        ("spark://127.0.0.1:7077", {"spark.task.maxFailures": "7"}, 7),
    ],
)
def test_how_often_spark_tries_is_what_its_master_and_settings_say(
    master: str, settings: dict[str, str], attempts: int
) -> None:
    assert _attempts(SimpleNamespace(master=master, getConf=lambda: settings)) == attempts
