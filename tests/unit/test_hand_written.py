"""The programs written by hand answer what the others do: else the benchmark would compare with nothing."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.hand_written.cases import CASES
from bench.hand_written.measure import measure
from bench.hand_written.versions import VERSIONS, load


@pytest.mark.parametrize("name", CASES)
def test_all_versions_answer_alike_after_every_workload(name: str) -> None:
    figures = measure(CASES[name], 200, VERSIONS, turns=2, count=60)
    assert figures.times
    assert figures.space["by hand"] > 0


def test_all_versions_of_check_access_answer_the_two_queries_that_the_benchmark_does_not_ask() -> None:
    programs = [load(CASES["check access"], version)[0] for version in VERSIONS]
    rng = random.Random(7)
    for step in range(600):
        kind = rng.choice(("add_role", "remove_role", "activate", "deactivate", "assign", "unassign"))
        first, second = rng.choice("abcd"), rng.choice("rstu")
        arguments = (second, None) if kind.endswith("role") else (first, second)
        for program in programs:
            getattr(program, kind)(*arguments)
        asked = "abcd"[: 1 + step // 200]  # more and more of them
        for query in ("pairs", "assigned"):
            answers = [[set(getattr(p, query)(one, None)) for one in asked] for p in programs]
            assert answers == [answers[0]] * len(programs)
