"""Random programs × random updates, compared with straightforward evaluation.

The ordinary tests compare all answers after every operation. Here every other round has long sequences, and
compares after every fifth operation, and all invariants after every fortieth, so that the same time tries
almost twice as many updates; the rounds between have short ones, so that it tries many programs.

Kept seeds come first, then new ones; a seed that fails is written into the kept ones.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

from incoq.testing import driver
from incoq.testing.driver import Found, Report, Settings, run_seed
from trust.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "differential" / "kept_seeds.json"
FIRST = 20_000_000  # beyond the seeds of the ordinary tests
FORMS = ("all", "core", "lively", "more")  # each run takes turns
ROUNDS = ((60.0, 2_000, 5), (20.0, 100, 1))  # seconds, operations a program, operations between comparisons
FAILURES = 5


def run(budget_seconds: float, seed: int) -> Outcome:
    """Kept seeds, then new programs until the time is over."""
    start = time.perf_counter()
    failures, replayed = replay()
    at = seed or FIRST
    counts = Counter(operations=0, answers=0, invariants=0)
    shapes: set[str] = set()
    refused = 0
    turn = 0
    while time.perf_counter() - start < budget_seconds and len(failures) < FAILURES:
        longest, each, every = ROUNDS[turn // len(FORMS) % len(ROUNDS)]
        seconds = max(1.0, min(longest, budget_seconds - (time.perf_counter() - start)))
        settings = Settings(
            10**9, 10**9, at, seconds, forms=FORMS[turn % len(FORMS)], each=each, every=every,
            max_failures=FAILURES,
        )  # fmt: skip
        report = driver.run(settings)
        failures += [found.render() for found in report.failures]
        keep(report.failures, settings)
        refused += sum(report.refused.values())
        done = report.counters
        counts.update(operations=done.operations, answers=done.checks, invariants=done.verified)
        shapes |= report.shapes
        at = report.next_seed
        turn += 1
    figure = (
        "{operations:,} operations, at least {shapes:,} query shapes, {answers:,} answers,"
        f" {{invariants:,}} checks of all invariants; {len(failures)} differ"
    )
    details = (f"{counts['operations']:,} operations in this run; {replayed} kept seeds; {refused} refused",)
    return Outcome(
        "volume", figure, "0 differences", tuple(failures), details,
        counts=counts, most={"shapes": len(shapes)}, next_seed=at,
    )  # fmt: skip


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
