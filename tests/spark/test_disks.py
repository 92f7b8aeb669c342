"""A disk that is full, and one that may only be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoq.spark.store import Store, StoreError
from incoq.testing import spark_disk


def test_a_full_and_a_read_only_disk_stop_it_clearly_and_it_goes_on() -> None:
    try:
        assert list(spark_disk.faults("none")) == []
    except spark_disk.Unmountable as error:
        pytest.skip(f"no file system can be mounted: {error}")


def test_a_stop_that_is_not_clear_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_disk, "take", lambda *_: (0, ""))
    try:
        found = list(spark_disk.faults("none"))
    except spark_disk.Unmountable as error:
        pytest.skip(f"no file system can be mounted: {error}")
    assert found[0].startswith("No space left on device: status 0")


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StoreError, match="store cannot be written to: Not a directory"),
        Store(tmp_path / "file" / "store").locked(),
    ):
        raise AssertionError("it was locked")
