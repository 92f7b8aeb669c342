"""Random programs × random updates, compared with straightforward evaluation.

The ordinary tests compare all answers after every operation; here they are compared after every fifth, and
all invariants after every fortieth, so that the same time tries almost twice as many updates.

Kept seeds come first. What earlier runs did is remembered in `.trust/volume.json`, so that a run goes on with
new seeds where the last one ended, and the figures add up; a seed that fails is written into the kept ones.
"""

from __future__ import annotations

import json
import time
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path

from incoq.testing import driver
from incoq.testing.driver import Found, Report, Settings, run_seed
from trust.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "differential" / "kept_seeds.json"
LEDGER = ROOT / ".trust" / "volume.json"

FORMS = ("all", "core", "more")  # each run takes turns
EACH = 2_000  # operations a program: compiling one costs as much as some hundreds of them
EVERY = 5  # operations between comparisons
CHUNK = 60.0  # seconds
FAILURES = 5


@dataclass
class Ledger:
    """What all runs of this checkout did."""

    operations: int = 0
    programs: int = 0
    answers: int = 0
    invariants: int = 0
    next_seed: int = 20_000_000
    shapes: list[int] = field(default_factory=list)  # their checksums

    @classmethod
    def read(cls) -> Ledger:
        """The ledger of the checkout, or a new one."""
        return cls(**json.loads(LEDGER.read_text())) if LEDGER.exists() else cls()

    def write(self) -> None:
        """Keep it."""
        LEDGER.parent.mkdir(exist_ok=True)
        LEDGER.write_text(json.dumps(asdict(self)))

    def add(self, report: Report) -> None:
        """Put in what a run of the driver did."""
        self.operations += report.counters.operations
        self.programs += report.programs
        self.answers += report.counters.checks
        self.invariants += report.counters.verified
        checksums = {zlib.crc32(shape.encode()) for shape in report.shapes}
        self.shapes = sorted(checksums.union(self.shapes))


def run(budget_seconds: float, seed: int) -> Outcome:
    """Kept seeds, then new programs until the time is over."""
    start = time.perf_counter()
    failures, replayed = replay()
    ledger = Ledger.read()
    begun = ledger.operations
    at = seed or ledger.next_seed
    refused = 0
    turn = 0
    while time.perf_counter() - start < budget_seconds and len(failures) < FAILURES:
        seconds = max(1.0, min(CHUNK, budget_seconds - (time.perf_counter() - start)))
        settings = Settings(
            10**9, 10**9, at, seconds, forms=FORMS[turn % len(FORMS)], each=EACH, every=EVERY,
            max_failures=FAILURES,
        )  # fmt: skip
        report = driver.run(settings)
        failures += [found.render() for found in report.failures]
        keep(report.failures, settings)
        refused += sum(report.refused.values())
        ledger.add(report)
        at = report.next_seed
        if not seed:
            ledger.next_seed = at
        ledger.write()
        turn += 1
    figure = (
        f"{ledger.operations:,} operations, {len(ledger.shapes):,} query shapes,"
        f" {ledger.answers:,} answers, {ledger.invariants:,} checks of all invariants; {len(failures)} differ"
    )
    details = (
        f"{ledger.operations - begun:,} operations in this run; {replayed} kept seeds; {refused} refused",
    )
    return Outcome("volume", figure, "0 differences", tuple(failures), details)


def replay() -> tuple[list[str], int]:
    """Run the seeds that once found a fault."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    failures = []
    for row in kept:
        settings = Settings(
            each=row.get("each", 320), every=row.get("every", 1), mode=row["mode"], strategy=row["strategy"],
            forms=row["forms"],
        )  # fmt: skip
        found = run_seed(row["seed"], settings, Report())
        if found is not None:
            failures.append(found.render())
    return failures, len(kept)


def keep(found: list[Found], settings: Settings) -> None:
    """Write seeds that failed into the kept ones."""
    if not found:
        return
    rows = json.loads(KEPT.read_text(encoding="utf-8"))
    for one in found:
        row = {"seed": one.seed, "forms": settings.forms, "mode": one.mode, "strategy": one.strategy}
        rows.append(
            {
                **row,
                "each": settings.each,
                "every": settings.every,
                "was": f"{one.failure.kind}: to be mended",
            }
        )
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    KEPT.write_text(f"[\n  {lines}\n]\n", encoding="utf-8")
