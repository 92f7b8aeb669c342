"""Seeded bugs can be planted, each; one of them is seen, and the source as it is is not accused."""

from __future__ import annotations

from pathlib import Path

import pytest

import incoq
from trust.seeded_list import BUGS, Bug

SOURCE = Path(incoq.__file__).parent


def test_there_are_thirty() -> None:
    assert len({bug.name for bug in BUGS}) >= 30


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_can_be_planted(bug: Bug) -> None:
    assert (SOURCE / bug.file).read_text(encoding="utf-8").count(bug.old) == 1
    assert bug.old != bug.new
