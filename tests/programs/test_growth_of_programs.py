"""The costs of the cheap programs grow as explain prints them; `incoq growth` checks all programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoq.growth import SIZES, check_program, table, worlds_of

PROGRAMS = Path(__file__).parents[2] / "programs"
ALL = sorted(
    p
    for p in PROGRAMS.rglob("*.py")
    if p.name != "simulator.py" and p.parent.name not in ("growth", "shared")
)
DEAR = {
    "rbac_instances",
    "core_rbac",
    "access",
    "auth",
    "cl_paxos",
    "la_paxos",
    "vr_paxos",
    "two_phase_commit",
}


def test_every_program_has_worlds() -> None:
    assert [p.stem for p in ALL if worlds_of(p) is None] == []


@pytest.mark.parametrize("path", [p for p in ALL if p.stem not in DEAR], ids=lambda p: p.stem)
def test_the_costs_of_every_update_grow_as_printed(path: Path) -> None:
    assert SIZES[-1] >= 100 * SIZES[0]
    assert len(SIZES) == 5
    worlds = worlds_of(path)
    assert worlds is not None
    report = check_program(path, worlds)
    assert {row.mode for row in report.rows} == {"filtered", "incremental"}
    assert report.failures == [], table(report)
