"""Branch coverage of the phases by the ordinary tests, the support code that programs embed included.

The tests run once, under coverage.py, each as a context of its own: `.trust/coverage` then also tells which
tests run which line, and the gate `mutants` asks it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from trust.measured import TESTS
from trust.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".trust"
DATA, SEEN, REPORT = PLACE / "coverage", PLACE / "tests.json", PLACE / "coverage.json"
PHASES = ("frontend", "relational", "planning", "invariants", "codegen")
SUITES = (
    "tests/unit",
    "tests/golden",
    "tests/differential",
    "tests/programs",
    "tests/trust/test_exceptions.py",
)
LEFT_OUT = (
    "test_speed_of_compiler.py",
    "test_native.py",
    "test_growth.py",
    "test_hand_written.py",
)  # they time
OPERATIONS = "6000"  # of each part of the random programs
LIMIT = 97.0

HEADS = ("phase", "branches", "run", "share", "lines")


def run(budget_seconds: float, seed: int) -> Outcome:
    """Run the tests under coverage, and count."""
    measure()
    report = read()
    rows, failures = [], []
    for phase in (*PHASES, "all"):
        files = [f["summary"] for path, f in report["files"].items() if phase in ("all", phase_of(path))]
        branches, covered = (sum(f[key] for f in files) for key in ("num_branches", "covered_branches"))
        lines, run_lines = (sum(f[key] for f in files) for key in ("num_statements", "covered_lines"))
        share = 100 * covered / branches
        rows.append(
            (phase, f"{branches:,}", f"{covered:,}", f"{share:.1f} %", f"{100 * run_lines / lines:.1f} %")
        )
        if share < LIMIT:
            failures.append(f"{phase}: {share:.1f} % of {branches:,} branches")
    failed = json.loads(SEEN.read_text())["failed"]
    figure = f"{rows[-1][2]} of {rows[-1][1]} branches of the phases ({rows[-1][3]}), {rows[-1][4]} of lines"
    details = (*missing(report), *(f"failed or left out: {name}" for name in failed))
    return Outcome(
        "branches", figure, f"{LIMIT:.0f} % in each phase", tuple(failures), details, (HEADS, *rows)
    )


def phase_of(path: str) -> str:
    """The phase of a file."""
    return Path(path).parent.name


def measure() -> None:
    """Run the tests and make the report."""
    PLACE.mkdir(exist_ok=True)
    environment = {
        **os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "COVERAGE_FILE": str(DATA),
        TESTS: str(SEEN), "INCOQ_FUZZ_OPS": OPERATIONS, "PYTHONHASHSEED": "0",
    }  # fmt: skip
    phases = ",".join(f"src/incoq/{phase}" for phase in PHASES)
    left_out = [f"--ignore=tests/unit/{name}" for name in LEFT_OUT]
    pytest = ["-m", "pytest", "-q", "-p", "trust.measured", "-p", "no:cacheprovider", *left_out, *SUITES]
    command = [sys.executable, "-m", "coverage", "run", "--branch", f"--source={phases}", *pytest]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    (PLACE / "coverage.log").write_text(done.stdout + done.stderr)
    if not SEEN.exists():
        raise RuntimeError(f"the tests did not run: {(done.stdout + done.stderr)[-2000:]}")
    report = [sys.executable, "-m", "coverage", "json", "-q", "-o", str(REPORT)]
    subprocess.run(report, cwd=ROOT, env=environment, check=True)


def read() -> dict[str, Any]:
    """The report that coverage wrote."""
    report: dict[str, Any] = json.loads(REPORT.read_text())
    return report


def missing(report: dict[str, Any]) -> list[str]:
    """The branches that no test takes, file by file."""
    lines = []
    for path, one in sorted(report["files"].items()):
        if one["missing_branches"]:
            arcs = ", ".join(f"{a}→{b if b > 0 else 'end'}" for a, b in one["missing_branches"])
            lines.append(f"{path}: {arcs}")
    return lines
