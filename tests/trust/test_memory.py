"""A small share of the gate of memory."""

from __future__ import annotations

import pytest

from trust.memory import CASES, LIMIT, Case, measure


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_demand_that_comes_and_goes_leaves_nothing_behind(case: Case) -> None:
    _, grown, faults = measure(case, 0, batch=400)
    assert [f for f in faults if "bytes" not in f] == []
    assert grown < 10 * LIMIT, "a few rounds: what the interpreter itself keeps counts"
