"""Large programs, as far as they are cheap."""

from __future__ import annotations

import pytest

from trust.size import CASES, Case, measure


@pytest.mark.parametrize("case", [case for case in CASES if case.quick], ids=str)
def test_a_large_program_ends_in_an_answer_or_a_coded_refusal(case: Case) -> None:
    assert not measure(case, "filtered").fault
