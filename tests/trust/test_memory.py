"""A small share of the gate of memory."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from trust.memory import CASES, LIMIT, Case, asked, measure


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_demand_that_comes_and_goes_leaves_nothing_behind(case: Case) -> None:
    found = measure(case, 0, batch=400)
    assert [f for f in found.faults if " a round over " not in f] == []
    assert found.bytes < 10 * LIMIT, "a few rounds: what the interpreter itself keeps counts"
    assert found.blocks < 0.2


def test_an_object_that_is_kept_by_every_tenth_round_is_seen() -> None:
    kept: list[Any] = []
    turns = itertools.count()

    def leaking(namespace: dict[str, Any], things: Any) -> None:
        asked(namespace, things)
        if next(turns) % 10 == 0:
            kept.append(object())

    found = measure(dataclasses.replace(CASES[1], round=leaking), 0, batch=400)
    assert found.bytes > LIMIT
    assert found.blocks > 0.05
