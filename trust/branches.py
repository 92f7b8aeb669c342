"""Branch coverage of the phases by the ordinary tests, the support code that programs embed included.

Each file of tests runs under coverage.py, each test as a context of its own: `.trust/coverage.db` then also
tells which tests run which line, and the gate `mutants` asks it. What a file was measured to run is kept
until it or the phases change, so that a run goes on with the files that are left.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from trust import file_by_file
from trust.measured import TESTS
from trust.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".trust"
PARTS = PLACE / "parts"
DATA = PLACE / "coverage.db"
SEEN, REPORT = PLACE / "tests.json", PLACE / "branches.json"
PHASES = ("frontend", "relational", "planning", "invariants", "codegen")
SUITES = (
    "tests/golden/test_*.py", "tests/unit/test_*.py", "tests/docs/test_language_page.py",
    "tests/trust/test_routes.py", "tests/trust/test_plans.py", "tests/differential/test_kept_seeds.py",
    "tests/differential/test_random_programs.py",
)  # fmt: skip
LEFT_OUT = (  # they measure time
    "test_speed_of_compiler.py", "test_native.py", "test_growth.py", "test_hand_written.py",
)  # fmt: skip
OPERATIONS = "1500"  # of each part of the random programs
LIMIT = 97.0

HEADS = ("phase", "branches", "run", "share", "lines")


def run(budget_seconds: float, seed: int) -> Outcome:
    """Run the tests under coverage, and count."""
    left = measure(budget_seconds)
    report: dict[str, Any] = json.loads(REPORT.read_text())
    rows: list[tuple[str, ...]] = []
    failures = [f"{len(left)} files of tests are left: {', '.join(left)}"] if left else []
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


def measure(budget_seconds: float) -> list[str]:
    """Run the files of tests that are not measured yet and make the report; those that are left for want of
    time."""
    phases = b"".join(p.read_bytes() for phase in PHASES for p in sorted(source(phase).glob("*.py")))
    files = [p for suite in SUITES for p in sorted(ROOT.glob(suite)) if p.name not in LEFT_OUT]
    parts, left = file_by_file.measured(PARTS, files, phases, measure_file, budget_seconds)
    combine(sorted(set(parts.values())), set(parts))
    return left


def source(phase: str) -> Path:
    """Where a phase is."""
    return ROOT / "src" / "incoq" / phase


def measure_file(path: Path) -> str:
    """Run one file of tests; the name of its data."""
    data = PARTS / f"{path.stem}.db"
    environment = {
        **os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "COVERAGE_FILE": str(data),
        TESTS: str(data.with_suffix(".json")), "INCOQ_FUZZ_OPS": OPERATIONS, "PYTHONHASHSEED": "0",
    }  # fmt: skip
    pytest = ["-m", "pytest", "-q", "-p", "trust.measured", "-p", "no:cacheprovider", str(path)]
    tool = [sys.executable, "-m", "coverage"]
    done = subprocess.run([*tool, "run", *pytest], cwd=ROOT, env=environment, capture_output=True, text=True)
    subprocess.run([*tool, "combine", "-q"], cwd=ROOT, env=environment, capture_output=True)
    data.with_suffix(".log").write_text(done.stdout + done.stderr)
    if not data.with_suffix(".json").exists():
        raise RuntimeError(f"{path.name} did not run: {(done.stdout + done.stderr)[-2000:]}")
    return data.stem


def combine(parts: list[str], files: set[str]) -> None:
    """Put what was measured together, and report."""
    seen: dict[str, Any] = {"passed": {}, "failed": []}
    for part in parts:
        one = json.loads((PARTS / f"{part}.json").read_text())
        seen["passed"].update({n: t for n, t in one["passed"].items() if n.partition("::")[0] in files})
        seen["failed"] += [n for n in one["failed"] if n.partition("::")[0] in files]
    SEEN.write_text(json.dumps(seen))
    tool = [sys.executable, "-m", "coverage"]
    environment = {**os.environ, "COVERAGE_FILE": str(DATA)}
    data = [str(PARTS / f"{part}.db") for part in parts]
    for command in (["combine", "-q", "--keep", *data], ["json", "-q", "-o", str(REPORT)]):
        subprocess.run([*tool, *command], cwd=ROOT, env=environment, check=True)


def missing(report: dict[str, Any]) -> list[str]:
    """The branches that no test takes, file by file."""
    lines = []
    for path, one in sorted(report["files"].items()):
        if one["missing_branches"]:
            arcs = ", ".join(f"{a}→{b if b > 0 else 'end'}" for a, b in one["missing_branches"])
            lines.append(f"{path}: {arcs}")
    return lines
