"""Random streams against straightforward evaluation, after every batch."""

from __future__ import annotations

import pytest

from incoq.testing import spark_streams


def test_random_streams_agree_with_straightforward_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    assert spark_streams.main(["--shapes", "44", "--each", "8", "--seed", "11"]) == 0, capsys.readouterr().out
    told = capsys.readouterr().out
    assert "44 shapes with 8 batches each agree, 0 were refused" in told


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from incoq.spark.hosting import Engine

    apply = Engine.apply
    monkeypatch.setattr(Engine, "apply", lambda self, rows: apply(self, [r for r in rows if r[4]]))
    assert spark_streams.main(["--shapes", "2", "--each", "40", "--seed", "1"]) == 1
    assert "unexpected" in capsys.readouterr().out
