"""Seeded bugs: each is put into a copy of the source, and the ordinary tests must see it within a minute.

The tests are the random programs and those of the phases, in an order that finds most at once; golden cases
are left out, since any other text would end them.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trust.outcome import Outcome
from trust.seeded_list import BUGS, Bug

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 60.0  # of CPU
FUZZ = ("-m", "incoq.testing.driver", "--each", "160", "--shapes", "100000", "--budget-seconds")
STAGES = (
    (*FUZZ, "15", "--forms", "core", "--seed", "1"),
    (*FUZZ, "20", "--forms", "all", "--seed", "1"),
    (
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "tests/unit/test_traps.py",
        "tests/unit/test_joins.py",
    ),
    ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/unit/test_update_forms.py"),
)


def plant(bug: Bug, place: Path) -> None:
    """Put a bug into a copy of the source."""
    path = place / "src" / "incoq" / bug.file
    text = path.read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        raise ValueError(f"{bug.name}: the text to replace stands {text.count(bug.old)} times in {bug.file}")
    path.write_text(text.replace(bug.old, bug.new), encoding="utf-8")


def caught(bug: Bug | None) -> tuple[str, float]:
    """What saw the bug, and after how many seconds of CPU; an empty word where nothing did."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, place / part, ignore=shutil.ignore_patterns("__pycache__"))
        if bug is not None:
            plant(bug, place)
        environment = {**os.environ, "PYTHONPATH": str(place / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        before = _used()
        for stage in STAGES:
            done = subprocess.run(
                [sys.executable, *stage], cwd=place, env=environment, capture_output=True, text=True
            )
            if done.returncode:
                return stage[1].split(".")[-1], _used() - before
        return "", _used() - before


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


HEADS = ("bug", "seen by", "CPU seconds")


def run(budget_seconds: float, seed: int) -> Outcome:
    """One bug after another, until the time is over; which come first is the seed's choice."""
    start = time.perf_counter()
    rows: list[tuple[str, ...]] = []
    failures: list[str] = []
    at = seed % len(BUGS)
    for bug in (*BUGS[at:], *BUGS[:at]):
        if time.perf_counter() - start > budget_seconds:
            break
        by, seconds = caught(bug)
        rows.append((bug.name, by or "nothing", f"{seconds:.0f}"))
        if not by or seconds > SECONDS:
            failures.append(f"{bug.name}: " + (f"seen after {seconds:.0f} s" if by else "not seen"))
    figure = f"{len(rows) - len(failures)} of {len(rows)} bugs seen (of {len(BUGS)} in the list)"
    limit = f"all, in {SECONDS:.0f} s of CPU each"
    return Outcome("seeded", figure, limit, tuple(failures), rows=(HEADS, *rows))
