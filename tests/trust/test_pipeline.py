"""The gate of the pipeline: what its commands noted is what is recorded."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from incoq.testing import spark_disk, spark_kills, spark_soak
from trust import pipeline, record

SOAK = {
    "batches": 900,
    "minutes": 30.0,
    "latency": [0.1, 0.1, 0.1],
    "memory": [800.0, 810.0, 805.0],
    "wrong": "",
}


def files(folder: Path, *told: dict[str, Any]) -> list[Path]:
    made = [folder / f"{number}.json" for number in range(len(told))]
    for path, content in zip(made, told, strict=True):
        path.write_text(json.dumps(content))
    return made


def kills(drivers: int, wrong: str = "") -> dict[str, Any]:
    counts = {"compared": 9, "batches": 1_000, "rounds": 2, "seconds": 60.0, "seed": 7}
    return {"kills": {"kills": {"drivers": drivers, "workers": 1}, "wrong": wrong, **counts}}


def test_kills_of_several_runs_add_up(tmp_path: Path) -> None:
    told = files(tmp_path, kills(3), {"disk": {"faults": []}}, kills(4), {"soak": SOAK})
    found, seconds, seed = pipeline.noted(told)
    assert found.passed
    assert found.figure == (
        "9 kills in 2,000 batches; a full and a read-only disk; 900 batches in 30 minutes; "
        "a batch took 0.10, 0.10, 0.10 s, all processes held 800, 810, 805 MB"
    )
    assert found.details[0].startswith("9 kills (7 of drivers, 2 of workers), 2000 batches of 4 queries")
    assert (seconds, seed) == (120 + 30 * 60, 7)


def test_a_disk_that_nobody_tried_is_not_claimed(tmp_path: Path) -> None:
    assert "no disk tried" in pipeline.noted(files(tmp_path, kills(3), {"soak": SOAK}))[0].figure


@pytest.mark.parametrize(
    "bad",
    [kills(1, "batch 3: something is missing"), {"disk": {"faults": ["a traceback"]}},
     {"soak": {**SOAK, "memory": [800.0, 900.0, 1000.0]}}],
)  # fmt: skip
def test_what_went_wrong_is_a_failure_and_is_not_recorded(
    tmp_path: Path, bad: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "write", lambda *_: pytest.fail("it was recorded"))
    told = files(tmp_path, kills(3), {"soak": SOAK}, bad)
    assert pipeline.main([str(path) for path in told]) == 1


def test_what_holds_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[Any] = []
    monkeypatch.setattr(record, "write", lambda *found: recorded.append(found))
    assert pipeline.main([str(path) for path in files(tmp_path, kills(3), {"soak": SOAK})]) == 0
    assert [(found.gate, seconds, seed) for found, seconds, seed in recorded] == [
        ("pipeline", 60 + 30 * 60, 7)
    ]


def test_a_part_alone_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one of them is missing"):
        pipeline.noted(files(tmp_path, {"soak": SOAK}))


def test_what_the_commands_note_is_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tally = spark_kills.Tally(Counter(drivers=3, workers=2), compared=5, batches=40, rounds=1)
    soak = spark_soak.Soak(900, 30.0, (0.1, 0.1, 0.1), (800.0, 810.0, 805.0))
    monkeypatch.setattr(spark_kills, "run", lambda *_: (tally, ""))
    monkeypatch.setattr(spark_disk, "faults", lambda _: [])
    monkeypatch.setattr(spark_soak, "soak", lambda *_: soak)
    made = [tmp_path / name for name in ("kills.json", "disk.json", "soak.json")]
    for command, path in zip((spark_kills, spark_disk, spark_soak), made, strict=True):
        with monkeypatch.context() as here:
            here.setattr("signal.signal", lambda *_: None)
            assert command.main(["--json", str(path)]) == 0
    assert pipeline.noted(made)[0] == pipeline.outcome(tally, [], pipeline.DISKS, [], soak)
