"""Damaged stores, a few of each kind."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from trust.damage import ENDS, KINDS, MUTATIONS, answers, attempt, files_of, in_use, make, unread

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def expected(store: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    copy = tmp_path_factory.mktemp("expected") / "store"
    shutil.copytree(store, copy)
    return answers(copy)


def test_a_damaged_file_gives_a_clear_error_or_the_right_answers(
    store: Path, expected: list[Any], tmp_path: Path
) -> None:
    _, rejected, first, feed, differing, after_more, after_compaction = expected
    assert first != after_more == after_compaction
    assert rejected
    assert feed
    assert not differing
    ends = [
        attempt(store, tmp_path / f"{kind}-{mutation}-{seed}", kind, mutation, seed, expected)
        for kind in KINDS
        for mutation in MUTATIONS
        for seed in (1, 2)
    ]
    assert set(ends) <= set(ENDS), ends
    assert ends.count("error") > 3 * len(ends) // 4


def test_damage_that_is_overlooked_is_a_fault(
    store: Path, expected: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trust.damage.ending", lambda copy, *_: "right")
    assert "overlooked" in attempt(store, tmp_path / "log", "log", "footer", 1, expected)
    assert attempt(store, tmp_path / "index", "index", "footer", 1, expected) == "right"


def test_every_file_that_is_damaged_is_read_and_has_another_to_be_exchanged_for(
    store: Path, expected: list[Any], tmp_path: Path
) -> None:
    assert all(in_use(store, kind) for kind in KINDS)
    assert all(len(files_of(store, kind)) > 1 for kind in KINDS if not (store / f"{kind}.json").exists())
    assert not unread(store, tmp_path, expected)
