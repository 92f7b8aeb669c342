"""The programs written by hand answer what the others do: else the benchmark would compare with nothing."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.hand_written.cases import CASES
from bench.hand_written.measure import measure
from bench.hand_written.versions import VERSIONS


@pytest.mark.parametrize("name", CASES)
def test_all_versions_answer_alike_after_every_workload(name: str) -> None:
    figures = measure(CASES[name], 200, VERSIONS, turns=2, count=60)
    assert figures.times
    assert figures.space["by hand"] > 0
