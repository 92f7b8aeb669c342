"""Run the gates: `python3 dev.py trust [--budget MINUTES] [--only GATE] [--seed N]`.

Ends with status 1 if a gate failed. The figures go to `docs/trust.json` and to the table of `docs/trust.md`.
A run goes on with the seeds after those of the last one, and what gates count adds up.
"""

from __future__ import annotations

import argparse
import sys
import time

from rich.console import Console
from rich.table import Table

from trust.outcome import Outcome
from trust.record import read, with_totals, write
from trust.registry import GATES

Ran = tuple[Outcome, float, int]


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 when every gate holds."""
    parser = argparse.ArgumentParser(prog="python3 dev.py trust", description="Run the gates of a release.")
    parser.add_argument("--budget", type=float, default=20.0, metavar="MINUTES", help="of all gates together")
    parser.add_argument(
        "--only", action="append", default=[], metavar="GATE", choices=[g.name for g in GATES]
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="where random choices begin; recorded if no run came so far"
    )
    parser.add_argument("--dry", action="store_true", help="leave the recorded figures as they are")
    parser.add_argument("--details", action="store_true", help="print all that the gates have to tell")
    parser.add_argument("--list", action="store_true", help="only list the gates")
    options = parser.parse_args(arguments)
    if options.list:
        for gate in GATES:
            print(f"{gate.name:<12} {gate.subject}")
        return 0
    chosen = [gate for gate in GATES if not options.only or gate.name in options.only]
    shares = sum(gate.share for gate in chosen)
    console = Console(width=None if sys.stdout.isatty() else 80)
    ran: list[Ran] = []
    for gate in chosen:
        console.print(f"{gate.name}: {gate.subject}", style="dim", highlight=False)
        start = time.perf_counter()
        reached = read().get(gate.name, {}).get("next_seed", 0)
        seed = reached if options.seed is None else options.seed
        goes_on = seed >= reached
        outcome = gate.run(60 * options.budget * gate.share / shares, seed)
        outcome = with_totals(outcome) if goes_on else outcome.with_totals({}, {})
        ran.append((outcome, time.perf_counter() - start, seed))
        if goes_on and not options.dry:
            write(*ran[-1])
        for line in (*(outcome.details if options.details else ()), *outcome.failures):
            console.print(line, markup=False, highlight=False)
    console.print(shown(ran))
    return 0 if all(outcome.passed for outcome, _, _ in ran) else 1


def shown(ran: list[Ran]) -> Table:
    """The table of a run."""
    table = Table(box=None, pad_edge=False)
    table.add_column("gate", no_wrap=True)
    table.add_column("figure", ratio=3)
    table.add_column("limit", ratio=2)
    table.add_column("s", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for outcome, seconds, _ in ran:
        verdict = f"[green]{outcome.verdict}[/]" if outcome.passed else f"[bold red]{outcome.verdict}[/]"
        table.add_row(outcome.gate, outcome.figure, outcome.limit, f"{seconds:.0f}", verdict)
    return table


if __name__ == "__main__":
    sys.exit(main())
