"""The running example at work: 2,000 users, 2,000 questions each followed by an update, in three versions.

Each of three celebrities has more than 1,000 followers, and the group as many members. The original evaluates
the query at each question; the compiled versions keep the answers. Beside the times stands a count that does
not depend on the machine: the Python lines run for one operation, each turn of a loop counted.
"""

import random
import sys
import time
from types import FrameType
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.versions import load
from bench.world import PLACES, make_world

USERS, STEPS, COUNTED = 2_000, 2_000, 200


class LineCounter:
    """Counts the line events of everything called in the `with` block."""

    def __init__(self) -> None:
        self.lines = 0

    def __enter__(self) -> "LineCounter":
        sys.settrace(self._trace)
        return self

    def __exit__(self, *exc: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line" and frame.f_code is not LineCounter.__exit__.__code__:
            self.lines += 1
        return self._trace


def play(version: str) -> dict[str, Any]:
    """Times in µs, lines per operation and the log of all answers."""
    loaded = load(version)
    program = loaded.module
    world = make_world(program, USERS, big=True, seed=1)
    for celeb, group in world.pairs:
        program.nyc_fans(celeb, group)
    rng = random.Random(2)
    log, query_ns, update_ns = [], 0, 0
    for _ in range(STEPS):
        celeb, group = rng.choice(world.pairs)
        user, place = rng.choice(world.users), rng.choice(PLACES)
        start = time.perf_counter_ns()
        count = program.count_fans(celeb, group)
        asked = time.perf_counter_ns()
        program.move(user, place)
        update_ns += time.perf_counter_ns() - asked
        query_ns += asked - start
        log.append((count, sorted(program.nyc_fans(celeb, group))))
    query_lines, update_lines = LineCounter(), LineCounter()
    for _ in range(COUNTED):
        celeb, group = rng.choice(world.pairs)
        user, place = rng.choice(world.users), rng.choice(PLACES)
        with query_lines:
            program.count_fans(celeb, group)
        with update_lines:
            program.move(user, place)
    return {
        "query µs": query_ns / STEPS / 1000,
        "update µs": update_ns / STEPS / 1000,
        "query lines": query_lines.lines / COUNTED,
        "update lines": update_lines.lines / COUNTED,
        "space": loaded.extra_space(),
        "log": log,
    }


def main() -> int:
    played = {version: play(version) for version in ("original", "incremental", "filtered")}
    expected = played["original"]["log"]
    table = Table(title=f"{USERS:,} users, {STEPS:,} questions and updates", title_justify="left")
    table.add_column("version")
    for heading in ("query µs", "lines", "update µs", "lines", "extra entries"):
        table.add_column(heading, justify="right")
    table.add_column("answers")
    for version, shown in played.items():
        table.add_row(
            version,
            f"{shown['query µs']:.2f}",
            f"{shown['query lines']:,.1f}",
            f"{shown['update µs']:.2f}",
            f"{shown['update lines']:,.1f}",
            f"{shown['space']:,}",
            "equal" if shown["log"] == expected else "DIFFERENT",
        )
    Console().print(table)
    print("lines: Python lines run for one query or update, each turn of a loop counted")
    print("extra entries: what the compiled program stores beside the data")
    print("next: .venv/bin/incoq explain examples/running_example.py --html explain.html")
    return 0 if all(shown["log"] == expected for shown in played.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
