"""Mutation testing of planning, invariants and codegen: a small change makes an ordinary test fail.

A sample: all mutants stand in an order that the seed decides, and a run goes on where the last one ended,
until the time is over. For each mutant those tests run that run its line (`trust.branches` measured them),
first the ones that see much in little time. The reviewed texts of `tests/golden` come after the others, since
they see any change of the output, and are counted apart. What is seen by none is written to
`docs/trust-mutants.md`, with what is to be said about it.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import os
import py_compile
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from threading import Lock

from trust import branches
from trust.mutations import PHASES, ROOT, SOURCE, Mutant, mutants
from trust.outcome import Outcome

LEDGER = branches.PLACE / "mutants.json"
PAGE = ROOT / "docs" / "trust-mutants.md"
SAID = ROOT / "trust" / "mutants_said.json"  # what is to be said about each survivor
PARTS = (
    "src",
    "tests",
    "trust",
    "programs",
    "examples",
    "bench",
    "docs",
    "pyproject.toml",
    "README.md",
    "dev.py",
)
LIMIT = 85.0
LEAST = 100  # mutants that a figure needs
FIRST, MOST = 12.0, 300.0  # seconds of CPU of tests, as measured under coverage
HANGS = 90.0
MEMORY = 4 << 30
GOLDEN = "tests/golden/"
OPERATIONS = "1500"
WORKERS = 2

KILLED, TEXT, SURVIVED = "a test", "a reviewed text", "nothing"


@dataclass
class Ledger:
    """What became of mutants, by key, and how often each test saw one."""

    seen: dict[str, str]
    kills: Counter[str]
    tests: str = ""  # a checksum of the tests that survivors were run against

    @classmethod
    def read(cls) -> Ledger:
        """The ledger of the checkout, or a new one."""
        data = json.loads(LEDGER.read_text()) if LEDGER.exists() else {}
        return cls(data.get("seen", {}), Counter(data.get("kills", {})), data.get("tests", ""))

    def write(self) -> None:
        """Keep it."""
        LEDGER.write_text(json.dumps({"seen": self.seen, "kills": self.kills, "tests": self.tests}))


class Covering:
    """Which tests run a line, and how long each takes."""

    def __init__(self) -> None:
        from coverage import CoverageData

        self.seconds: dict[str, float] = json.loads(branches.SEEN.read_text())["passed"]
        self.data = CoverageData(str(branches.DATA))
        self.data.read()

    def of(self, mutant: Mutant) -> list[str]:
        """The tests of its line or, for what only runs when a module is loaded, all of its file."""
        by_line = self.data.contexts_by_lineno(str(SOURCE / mutant.file))
        found = {name for name in by_line.get(mutant.line, ()) if name in self.seconds}
        if not found and mutant.line in by_line:
            found = {name for names in by_line.values() for name in names if name in self.seconds}
        return sorted(found)


def stages(tests: list[str], seconds: dict[str, float], kills: Counter[str]) -> Iterator[list[str]]:
    """Tests in the order of what they saw before in their time, then reviewed texts, then tests of all files
    in turn, so that what is looked at differs."""
    ordered = sorted(tests, key=lambda name: (seconds[name] + 0.02) / (1 + kills[name]))
    texts = [name for name in ordered if name.startswith(GOLDEN)]
    others = [name for name in ordered if not name.startswith(GOLDEN)]
    spent = list(accumulate(seconds[name] for name in others))
    first = others[: bisect_right(spent, FIRST)]
    turns: Counter[str] = Counter()
    turn: dict[str, int] = {}
    for name in others[len(first) :]:
        file = name.partition("::")[0]
        turn[name] = turns[file]
        turns[file] += 1
    rest = sorted(turn, key=turn.__getitem__)
    more = rest[: bisect_right(list(accumulate(seconds[name] for name in rest)), MOST)]
    yield from filter(None, (first, texts, more))


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the checkout, compiled so that only what is changed is compiled anew."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part in PARTS:
            origin = ROOT / part
            if origin.is_dir():
                shutil.copytree(origin, place / part, ignore=shutil.ignore_patterns("__pycache__", "_build"))
            else:
                shutil.copy(origin, place / part)
        for path in (place / "src").rglob("*.py"):
            py_compile.compile(str(path))
        yield place


def fails(tests: list[str], place: Path, limit: float) -> str:
    """The test that failed, or a word for what happened; empty where all passed."""
    environment = {
        **os.environ, "PYTHONPATH": f"{place / 'src'}{os.pathsep}{place}", "PYTHONDONTWRITEBYTECODE": "1",
        "INCOQ_FUZZ_OPS": OPERATIONS, "PYTHONHASHSEED": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command,
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit,
            preexec_fn=_limited,
        )
    except subprocess.TimeoutExpired:
        return "it hangs"
    if not done.returncode:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].partition(" ")[2].partition(" - ")[0] if failed else "it does not run"


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def attempt(mutant: Mutant, place: Path, covering: Covering, ledger: Ledger) -> str:
    """What saw a mutant."""
    path = place / "src" / "incoq" / mutant.file
    original = path.read_text(encoding="utf-8")
    cached = [*path.parent.glob(f"__pycache__/{path.stem}.*")]
    path.write_text(mutant.source(), encoding="utf-8")
    for one in cached:
        one.unlink()
    try:
        for tests in stages(covering.of(mutant), covering.seconds, ledger.kills):
            limit = HANGS + 2 * sum(covering.seconds[name] for name in tests)
            by = fails(tests, place, limit)
            if by:
                ledger.kills[by] += 1
                return TEXT if by.startswith(GOLDEN) else KILLED
        return SURVIVED
    finally:
        path.write_text(original, encoding="utf-8")
        py_compile.compile(str(path))


def run(budget_seconds: float, seed: int) -> Outcome:
    """Survivors of earlier runs if tests have changed, then new mutants until the time is over."""
    start = time.perf_counter()
    if not branches.DATA.exists():
        branches.measure(budget_seconds)
    covering, ledger = Covering(), Ledger.read()
    order = sorted(mutants(), key=lambda mutant: mutant.place(seed))
    suite = tests_now()
    again = {key for key, by in ledger.seen.items() if by == SURVIVED} if suite != ledger.tests else set()
    waiting = [m for m in order if m.key in again] + [m for m in order if m.key not in ledger.seen]
    with copied() as place:
        sound = order[0]
        for tests in stages(covering.of(sound), covering.seconds, ledger.kills):
            if by := fails(tests, place, 10 * HANGS):
                raise RuntimeError(f"the source as it is fails: {by}")

    noting = Lock()

    def work() -> None:
        """Mutants, one after another, in a copy of its own."""
        with copied() as place:
            while waiting and time.perf_counter() - start < budget_seconds:
                mutant = waiting.pop(0)
                by = attempt(mutant, place, covering, ledger)
                with noting:
                    ledger.seen[mutant.key] = by
                    again.discard(mutant.key)
                    ledger.tests = ledger.tests if again else suite
                    ledger.write()

    with ThreadPoolExecutor(WORKERS) as pool:
        for done_by in [pool.submit(work) for _ in range(WORKERS)]:
            done_by.result()
    done = [m for m in order if m.key in ledger.seen]
    return outcome(done, len(order), ledger, seed)


def tests_now() -> str:
    """A checksum of the tests."""
    paths = sorted((ROOT / "tests").rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def outcome(done: list[Mutant], population: int, ledger: Ledger, seed: int) -> Outcome:
    """The figures of a sample, in all and of each phase; survivors go to their page."""
    rows: list[tuple[str, ...]] = []
    for phase in (*PHASES, "all"):
        of_phase = [m for m in done if phase in ("all", Path(m.file).parent.name)]
        by = Counter(ledger.seen[m.key] for m in of_phase)
        killed = by[KILLED] + by[TEXT]
        low, high = interval(killed, len(of_phase))
        share = f"{100 * killed / max(1, len(of_phase)):.1f} %"
        rows.append(
            (phase, f"{len(of_phase):,}", f"{by[KILLED]:,}", f"{by[TEXT]:,}", f"{by[SURVIVED]:,}", share,
             f"{low:.1f} to {high:.1f} %")
        )  # fmt: skip
    survivors = [m for m in done if ledger.seen[m.key] == SURVIVED]
    said: dict[str, str] = json.loads(SAID.read_text(encoding="utf-8")) if SAID.exists() else {}
    if len(done) >= LEAST:
        write_page(survivors, said)
    share_of_all = 100 * (1 - len(survivors) / max(1, len(done)))
    low, high = interval(len(done) - len(survivors), len(done))
    figure = (
        f"a sample of {len(done):,} of {population:,} mutants (seed {seed}): {share_of_all:.1f} % killed"
        f" (95 % interval {low:.1f} to {high:.1f} %), {len(survivors)} survived"
    )
    failures = []
    if share_of_all < LIMIT:
        failures.append(f"{share_of_all:.1f} % killed, not {LIMIT:.0f} %")
    if len(done) < LEAST:
        failures.append(f"a sample of {len(done)} says little: {LEAST} are wanted")
    details = tuple(f"{m.file}:{m.line} {m.operator}: {m.text}" for m in survivors if m.key not in said)
    heads = (
        "phase",
        "mutants",
        "killed by tests",
        "by reviewed texts alone",
        "survived",
        "killed",
        "95 % interval",
    )
    return Outcome("mutants", figure, f"{LIMIT:.0f} % killed", tuple(failures), details, (heads, *rows))


def interval(hits: int, of: int) -> tuple[float, float]:
    """Wilson's interval of a share, in per cent."""
    if not of:
        return 0.0, 100.0
    z, p = 1.96, hits / of
    middle = p + z * z / (2 * of)
    width = z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return 100 * (middle - width) / (1 + z * z / of), 100 * (middle + width) / (1 + z * z / of)


def write_page(survivors: list[Mutant], said: dict[str, str]) -> None:
    """The survivors, each with what is to be said about it."""
    lines = [
        "---", "orphan: true", "---", "", "# Mutants that no test sees", "",
        "`python3 dev.py trust --only mutants` changes the compiler in one small place at a time, and runs",
        "the tests that run that place. What follows was seen by none; each was looked at.", "",
        "| file | change | what it comes to |", "|---|---|---|",
    ]  # fmt: skip
    for mutant in sorted(survivors, key=lambda m: (m.file, m.line)):
        lines.append(f"| `{mutant.file}` | {changed(mutant)} | {said.get(mutant.key, 'to be looked at')} |")
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def changed(mutant: Mutant) -> str:
    """What a mutant changes, as one cell of a table."""
    before = (SOURCE / mutant.file).read_text(encoding="utf-8").splitlines()
    after = mutant.source().splitlines()
    parts: dict[str, list[str]] = {"-": [], "+": []}
    for line in difflib.unified_diff(before, after, n=0, lineterm=""):
        if line[:1] in parts and line[:3] not in ("---", "+++"):
            parts[line[0]].append(line[1:].strip())
    return " becomes ".join(f"`{' '.join(found)}`" for found in parts.values()).replace("|", "\\|")
