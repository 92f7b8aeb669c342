"""A small share of the gate of threads."""

from __future__ import annotations

import pytest

from trust.threads import THREADS, work


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_eight_threads_that_share_a_lock_see_every_answer_right(mode: str) -> None:
    turns, wrong = work(mode, 0, 0, turns=60)
    assert not wrong
    assert turns >= 60 * THREADS
