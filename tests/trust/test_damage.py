"""Damaged stores, a few of each kind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from trust.damage import KINDS, MUTATIONS, answers, attempt, make

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("made"))


def test_a_damaged_file_gives_a_clear_error_or_the_right_answers(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "expected")
    expected = answers(tmp_path / "expected")
    assert expected[0] != expected[1]
    ends = [
        attempt(store, tmp_path, kind, mutation, seed, expected)
        for kind in KINDS
        for mutation in MUTATIONS
        for seed in (1, 2)
    ]
    assert set(ends) <= {"error", "right", "none"}, ends
    assert ends.count("error") > len(ends) // 3
