"""Random streams against straightforward evaluation, after every batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from incoq.spark import worker
from incoq.spark.session import runner
from incoq.testing import spark_streams
from incoq.testing.spark_streams import Disturbed, run_shape, shapes


def test_random_streams_agree_with_straightforward_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    assert spark_streams.main(["--shapes", "44", "--each", "8", "--seed", "11"]) == 0, capsys.readouterr().out
    told = capsys.readouterr().out
    assert "44 shapes with 8 batches each agree, 0 were refused" in told
    assert "\n0 engines were dropped" not in told


def test_engines_are_dropped_on_the_workers_of_spark(spark: Any, tmp_path: Path) -> None:
    """A worker keeps its engines between jobs, and loses just those that it is told to lose."""
    shape = next(shapes(1, 1))
    kept, lost = Disturbed(runner(spark), 3, drop=0.0), Disturbed(runner(spark), 3, drop=0.5)
    assert run_shape(shape, 6, 2, 3, tmp_path / "kept", kept) == "ok"
    assert run_shape(shape, 6, 2, 3, tmp_path / "lost", lost) == "ok"
    assert kept.dropped == 0
    assert lost.dropped > 0
    assert not [k for k in worker.ENGINES if k[0].startswith(str(tmp_path))], "none was in this process"


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from incoq.spark.hosting import Engine

    apply = Engine.apply
    monkeypatch.setattr(Engine, "apply", lambda self, rows: apply(self, [r for r in rows if r[4]]))
    assert spark_streams.main(["--shapes", "2", "--each", "40", "--seed", "1"]) == 1
    assert "unexpected" in capsys.readouterr().out
