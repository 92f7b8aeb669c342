"""Time and space of the running example as the number of users grows (the paper's "varying input size").

Each version runs in a process of its own, with the garbage collector off, and is timed in CPU time. For one
size the processes of all versions are alive together and take turns, so that a slow spell of the machine
falls on all alike; the median over the turns is reported. Data and first demand are made before the clock
starts; every version performs the same operations, and its answers are compared with the original's at the
end of each turn, over a hundred updates. A figure includes the call of the function that performs the
operation.

    python -m bench.running_example --sizes 2000,20000 --json result.json
"""

import argparse
import gc
import json
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.versions import VERSIONS, load
from bench.world import PLACES, World, answers, make_world

ROOT = Path(__file__).resolve().parent.parent
POOL = 200  # users that one turn updates
SEED = 20160901
WORLDS = ("uniform", "big")

MEASURES = {
    "query": "query, answer used in place",
    "query_copy": "query, answer handed out",
    "move_tagged": "move a tagged user",
    "move_untagged": "move an untagged user",
    "move_random": "move a random user",
    "group_demanded": "join or leave the demanded group",
    "group_other": "join or leave another group",
    "follow_demanded": "follow or unfollow a celebrity",
    "follow_other": "follow or unfollow another user",
    "space": "extra space (entries)",
}

Series = dict[int, float]
"""A figure for each size."""


# The measured process.


def measure_turn(program: Any, world: World, turn: int, updates: int) -> dict[str, float]:
    """One turn: µs for each kind of operation. What is joined is left again, so the sizes stay."""
    rng = random.Random(SEED + turn)
    users, celebs, group = world.users, world.celebs, world.group
    others = [other for other in world.groups if other is not group] or [group]
    noted = [user for user in rng.sample(users, min(len(users), 100)) if user not in celebs]
    figures = {
        "query": per_query(program.count_fans, world, rng),
        "query_copy": per_query(program.nyc_fans, world, rng),
    }
    for name, moved in (
        ("move_tagged", world.tagged),
        ("move_untagged", world.untagged),
        ("move_random", users),
    ):
        pool = some(moved, rng)
        moves = [(rng.choice(pool), rng.choice(PLACES)) for _ in range(updates)]
        figures[name] = per_call(program.move, moves)
    half = updates // 2
    users = some(users, rng)
    memberships = [(rng.choice(users), group) for _ in range(half)]
    figures["group_demanded"] = per_toggle(program.join, program.leave, memberships, lambda g: g)
    memberships = [(rng.choice(users), rng.choice(others)) for _ in range(half)]
    figures["group_other"] = per_toggle(program.join, program.leave, memberships, lambda g: g)
    follows = [(rng.choice(users), rng.choice(celebs)) for _ in range(half)]
    figures["follow_demanded"] = per_toggle(program.follow, program.unfollow, follows, lambda c: c.followers)
    follows = [(rng.choice(users), rng.choice(noted)) for _ in range(half)]
    figures["follow_other"] = per_toggle(program.follow, program.unfollow, follows, lambda c: c.followers)
    return figures


def some(users: list[Any], rng: random.Random) -> list[Any]:
    """A random pool of the same size for every n: what grows is the work, not the misses of the caches."""
    return rng.sample(users, min(len(users), POOL))


def per_query(ask: Callable[[Any, Any], Any], world: World, rng: random.Random) -> float:
    # Fewer for more users, since the original's cost grows; the same number for every version and run, since
    # space may depend on how often a version was asked.
    pairs = [rng.choice(world.pairs) for _ in range(max(500, 4_000_000 // len(world.users)))]
    per_call(ask, pairs[:100])
    return per_call(ask, pairs)


def per_call(operation: Callable[[Any, Any], Any], arguments: list[tuple[Any, Any]]) -> float:
    start = time.process_time_ns()
    for first, second in arguments:
        operation(first, second)
    return (time.process_time_ns() - start) / len(arguments) / 1000


def per_toggle(
    enter: Callable[[Any, Any], Any],
    exit: Callable[[Any, Any], Any],
    arguments: list[tuple[Any, Any]],
    content: Callable[[Any], Any],
) -> float:
    """Take a member out and put it back, or put a stranger in and take it out: two real changes each."""
    steps = [
        (exit, enter, user, place) if user in content(place) else (enter, exit, user, place)
        for user, place in arguments
    ]
    start = time.process_time_ns()
    for there, back, user, place in steps:
        there(user, place)
        back(user, place)
    return (time.process_time_ns() - start) / (2 * len(steps)) / 1000


def log_of_answers(program: Any, world: World, turn: int) -> list[list[str]]:
    """All answers after each of a hundred untimed updates of users that answers depend on.

    In the uniform world an answer is often empty; sending every second user to New York, and taking each out
    of the group and in again, makes the comparison of versions worth something there too.
    """
    rng = random.Random(-1 - turn)
    log = answers(program, world)
    for _ in range(50):
        user = rng.choice(world.tagged)
        program.move(user, rng.choice(("NYC", rng.choice(PLACES))))
        log += answers(program, world)
        program.leave(user, world.group)
        log += answers(program, world)
        program.join(user, world.group)
    return log


def worker(version: str, world_name: str, n: int, updates: int) -> None:
    """Build, demand, then measure one turn for each line on standard input, answering with a line of JSON."""
    loaded = load(version)
    program = loaded.module
    world = make_world(program, n, big=world_name == "big", seed=SEED + n)
    answers(program, world)
    gc.collect()
    gc.disable()
    print(json.dumps({"tagged": len(world.tagged)}), flush=True)
    for line in sys.stdin:
        figures = measure_turn(program, world, int(line), updates)
        figures["space"] = loaded.extra_space()
        print(
            json.dumps({"figures": figures, "answers": log_of_answers(program, world, int(line))}), flush=True
        )


# The process that asks them.


class Worker:
    def __init__(self, version: str, world: str, n: int, updates: int) -> None:
        self.version = version
        arguments = ["--worker", version, world, str(n), str(updates)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.running_example", *arguments],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: version {self.version} failed; its message is above")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def take_turn(self, turn: int) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{turn}\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def run_size(world: str, n: int, versions: list[str], repeat: int, updates: int) -> dict[str, Any]:
    """Every version's figures at one size, by version and measure, each the list over the turns."""
    workers = [Worker(version, world, n, updates) for version in versions]
    try:
        for each in workers:  # all have built their data, side by side, before the first is timed
            each.answer()
        turns: dict[str, dict[str, list[float]]] = {v: {m: [] for m in MEASURES} for v in versions}
        for turn in range(repeat):
            expected = None
            for each in workers:
                reply = each.take_turn(turn)
                expected = reply["answers"] if expected is None else expected
                if reply["answers"] != expected:
                    raise SystemExit(f"bench: {each.version} answers otherwise than {versions[0]} at n = {n}")
                for measure, figure in reply["figures"].items():
                    turns[each.version][measure].append(figure)
        return turns
    finally:
        for each in workers:
            each.close()


@dataclass(frozen=True)
class Row:
    """One measure of one version: the median at each size, and how it grows."""

    world: str
    measure: str
    version: str
    series: Series

    @property
    def ratio(self) -> float | None:
        first, last = self.series[min(self.series)], self.series[max(self.series)]
        return last / first if first and len(self.series) > 1 else None

    @property
    def exponent(self) -> float | None:
        """The slope of the least-squares line through (log n, log figure).

        >>> round(Row("", "", "", {10: 5.0, 100: 500.0, 1000: 50000.0}).exponent, 6)
        2.0
        """
        if len(self.series) < 2 or not all(figure > 0 for figure in self.series.values()):
            return None
        sizes = [math.log(n) for n in self.series]
        return statistics.linear_regression(sizes, [math.log(f) for f in self.series.values()]).slope


def rows(results: dict[str, dict[int, Any]], versions: list[str]) -> Iterator[Row]:
    for world, by_size in results.items():
        for measure in MEASURES:
            for version in versions:
                if measure == "space" and version == "original":
                    continue
                series = {n: statistics.median(turns[version][measure]) for n, turns in by_size.items()}
                yield Row(world, measure, version, series)


def show(figure: float | None, measure: str = "") -> str:
    """
    >>> show(0.1234), show(1234.5), show(200123, "space"), show(None)
    ('0.123', '1,234', '200,123', '')
    """
    if figure is None:
        return ""
    return f"{figure:,.0f}" if measure == "space" or figure >= 100 else f"{figure:.3g}"


def print_tables(table: list[Row], sizes: list[int]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.width = max(console.width, 100)  # a pipe claims 80 columns, which would cut the figures
    for world in dict.fromkeys(row.world for row in table):
        printed = Table(title=f"{world} world: µs per operation, by number of users", title_justify="left")
        printed.add_column("operation, version", no_wrap=True)
        for heading in [f"{n:,}" for n in sizes] + ["last/first", "exponent"]:
            printed.add_column(heading, justify="right", no_wrap=True)
        for measure, title in MEASURES.items():
            printed.add_row(f"[bold]{title}")
            for row in (row for row in table if (row.world, row.measure) == (world, measure)):
                cells = [show(row.series[n], measure) for n in sizes]
                growth = [show(row.ratio), "" if row.exponent is None else f"{row.exponent:.2f}"]
                printed.add_row(f"  {row.version}", *cells, *growth)
            printed.add_section()
        console.print(printed)


def markdown(table: list[Row], sizes: list[int], command: str) -> str:
    first, last = sizes[0], sizes[-1]
    lines = [
        "CPU time per operation in µs, median of the turns; n is the number of users.",
        f"Made by `{command}`, Python {platform.python_version()}, {platform.system()} {platform.machine()}.",
    ]
    for world in dict.fromkeys(row.world for row in table):
        lines += [
            "",
            f"| {world} world | version | n = {first:,} | n = {last:,} | ratio | exponent |",
            "|---|---|--:|--:|--:|--:|",
        ]
        for row in (row for row in table if row.world == world):
            exponent = "" if row.exponent is None else f"{row.exponent:.2f}"
            ends = " | ".join(show(row.series[n], row.measure) for n in (first, last))
            lines.append(
                f"| {MEASURES[row.measure]} | {row.version} | {ends} | {show(row.ratio)} | {exponent} |"
            )
    return "\n".join(lines)


def write_readme(text: str) -> None:
    readme = ROOT / "README.md"
    begin, end = "<!-- bench:begin -->\n", "<!-- bench:end -->"
    before, mark, rest = readme.read_text().partition(begin)
    _, closing, after = rest.partition(end)
    if not mark or not closing:
        raise SystemExit("bench: README.md has no place for the table (bench:begin, bench:end)")
    readme.write_text(before + begin + text + "\n" + end + after)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="2000,6000,20000", help="numbers of users (%(default)s)")
    parser.add_argument(
        "--versions", default=",".join(VERSIONS), help="some of %(default)s; the first is compared with"
    )
    parser.add_argument("--worlds", default=",".join(WORLDS), help="some of %(default)s")
    parser.add_argument("--repeat", type=int, default=5, help="turns of each version (%(default)s)")
    parser.add_argument(
        "--updates", type=int, default=10_000, help="updates of each kind a turn (%(default)s)"
    )
    parser.add_argument("--json", metavar="FILE", help="write all figures, each turn's too")
    parser.add_argument("--write-readme", action="store_true", help="put the table into README.md")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        version, world, n, updates = options.worker
        worker(version, world, int(n), int(updates))
        return
    sizes = sorted({int(n) for n in options.sizes.split(",")})
    versions, worlds = options.versions.split(","), options.worlds.split(",")
    for name, known in [(v, VERSIONS) for v in versions] + [(w, WORLDS) for w in worlds]:
        if name not in known:
            parser.error(f"'{name}' is none of {', '.join(known)}")
    if min(sizes) < 2000 or options.repeat < 1 or options.updates < 2:
        parser.error("sizes start at 2000, --repeat at 1 and --updates at 2")

    start = time.monotonic()
    results: dict[str, dict[int, Any]] = {world: {} for world in worlds}
    for world in worlds:
        for n in sizes:
            print(f"{world} world, {n:,} users ...", file=sys.stderr, flush=True)
            results[world][n] = run_size(world, n, versions, options.repeat, options.updates)
    table = list(rows(results, versions))
    print_tables(table, sizes)
    print(f"answers equal in every turn; {time.monotonic() - start:.0f} s in all")
    if options.json:
        settings = {
            "seed": SEED,
            "sizes": sizes,
            "repeat": options.repeat,
            "updates": options.updates,
            "python": platform.python_version(),
            "machine": platform.platform(),
            "cpus": os.cpu_count(),
        }
        medians = [
            {"world": r.world, "measure": r.measure, "version": r.version, "medians": r.series}
            | {"ratio": r.ratio, "exponent": r.exponent}
            for r in table
        ]
        report = {"settings": settings, "summary": medians, "turns": results}
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    if options.write_readme:
        chosen = ("sizes", "versions", "worlds", "repeat", "updates")
        changed = [name for name in chosen if getattr(options, name) != parser.get_default(name)]
        command = ["python3 dev.py bench", *(f"--{name} {getattr(options, name)}" for name in changed)]
        write_readme(markdown(table, sizes, " ".join(command)))


if __name__ == "__main__":
    main()
