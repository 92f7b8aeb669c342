"""A small share of the gate of exceptions."""

from __future__ import annotations

import pytest

from trust.exceptions import Injector, interrupt, interrupt_batch, setting
from trust.operators import UPDATES, faults


@pytest.mark.parametrize("number", [900_001, 900_003, 900_012, 900_013, 900_019, 900_026])
def test_an_exception_at_any_statement_leaves_every_invariant_true(number: int) -> None:
    found, raised_at = interrupt(number, *setting(number), count=150, each=1)
    assert not found
    assert len(raised_at) > 40


def test_points_stand_before_every_statement_but_those_that_an_exception_leads_to() -> None:
    injector = Injector()
    code = "def f():\n    try:\n        a()\n    except E:\n        forget()\n        raise\n    return 1\n"
    injector.instrument(code)
    assert len(injector.functions) == 3


@pytest.mark.parametrize("number", [905_048, 905_101, 905_251])
def test_an_exception_that_once_left_something_wrong_does_so_no_more(number: int) -> None:
    found, _ = interrupt(number, *setting(number))
    assert not found


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_an_operator_that_raises_in_an_update_leaves_every_invariant_true(mode: str) -> None:
    tried = list(faults(mode))
    assert len(tried) > 5 * len(UPDATES)
    assert [(told, wrong) for told, wrong in tried if wrong] == []


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_an_exception_at_any_statement_of_a_batch_leaves_every_answer_right(mode: str) -> None:
    interrupted, wrong = interrupt_batch(mode)
    assert not wrong
    assert interrupted > 400
