"""A leak check over the whole suite: what each test leaves in memory, time after time.

Every test that does not take long runs again and again in one process (`trust.repeated`), and the blocks of
memory in use are counted after each. What the command line or Spark's processes hold is not seen: see
`memory` and `pipeline`. A file is measured until it or the code changes, so a run goes on with the files that
are left.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from trust import file_by_file
from trust.outcome import Outcome
from trust.repeated import LONG, NOTED, WAITS

ROOT = file_by_file.ROOT
PARTS = ROOT / ".trust" / "leaks"
OPERATIONS = "300"  # of each part of the random programs


def run(budget_seconds: float, seed: int) -> Outcome:
    """The files of tests that are not measured yet, then what all of them left."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    code = b"".join(path.read_bytes() for path in sorted((ROOT / "src").rglob("*.py")))
    parts, waiting = file_by_file.measured(PARTS, files, code, measure_file, budget_seconds)
    left = {name: blocks for part in parts.values() for name, blocks in part["left"].items()}
    leaking = {name: blocks for name, blocks in left.items() if min(blocks) > 0}
    long, failed = ([name for part in parts.values() for name in part[end]] for end in ("long", "failed"))
    failures = [f"{name} leaves {min(blocks)} blocks each time at least" for name, blocks in leaking.items()]
    failures += [f"{name} fails when it is repeated" for name in failed]
    failures += [f"{len(waiting)} files of tests are left: {', '.join(waiting)}"] if waiting else []
    figure = (
        f"{len(left):,} tests repeated, {len(leaking)} leave something each time; {len(long)} not repeated, "
        f"since they take over {LONG:.0f} s of CPU, or {WAITS:.0f} s by the clock"
    )
    details = [f"not repeated: {name}" for name in long]
    return Outcome("leaks", figure, "none", tuple(failures), tuple(details))


def measure_file(path: Path) -> dict[str, Any]:
    """Repeat the tests of one file; what each left."""
    with tempfile.TemporaryDirectory() as place:
        noted = Path(place) / "noted.json"
        environment = {
            **os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", NOTED: str(noted),
            "INCOQ_FUZZ_OPS": OPERATIONS, "PYTHONHASHSEED": "0",
        }  # fmt: skip
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "trust.repeated", "-p", "no:cacheprovider"]
        done = subprocess.run([*pytest, str(path)], cwd=ROOT, env=environment, capture_output=True, text=True)
        if not noted.exists():
            raise RuntimeError(f"{path.name} did not run: {(done.stdout + done.stderr)[-2000:]}")
        found: dict[str, Any] = json.loads(noted.read_text())
        return found
