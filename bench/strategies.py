"""Where each strategy of demand propagation wins: fan-out, overlap, demand and churn of the running example.

    python -m bench.strategies

Sets of 400 followers and groups of 400 among 4,000 users; one thing varies at a time. µs per operation.
"""

import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bench.hand_written.cases import CASES
from bench.hand_written.versions import compiled, extra_space

STRATEGIES = ("tags", "first-clause", "join")
PLACES = ("NYC", *(f"place{i}" for i in range(4)))


@dataclass(frozen=True)
class Shape:
    """A world: how many users follow a celebrity or are in a group, and how many of them do both."""

    name: str
    members: int = 400
    overlap: float = 0.05  # of the followers of each celebrity that are in each group
    celebs: int = 4
    groups: int = 4


BASE = Shape("as above")
SHAPES = (
    BASE,
    replace(BASE, name="overlap 50 %", overlap=0.5),
    replace(BASE, name="overlap 100 %", overlap=1.0),
    replace(BASE, name="sets of 2,000", members=2000),
    replace(BASE, name="demand 16 × 16", celebs=16, groups=16),
    replace(BASE, name="demand 16 × 16, overlap 100 %", celebs=16, groups=16, overlap=1.0),
)


def measure(shape: Shape, strategy: str) -> list[float]:
    """Moves of tagged and untagged users, a join and leave, a first demand, a release, and the space."""
    program, made = compiled(CASES["running"], strategy=strategy)
    rng = random.Random(7)
    users = [program.User(f"u{i}", rng.choice(PLACES)) for i in range(4000)]
    common = rng.sample(users, int(shape.members * shape.overlap))
    others = [user for user in users if user not in set(common)]

    def crowd() -> list[Any]:
        return common + rng.sample(others, shape.members - len(common))

    celebs, groups = users[: shape.celebs + 1], [program.new_group() for _ in range(shape.groups + 1)]
    for celeb in celebs:
        program.replace_followers(celeb, crowd())
    for group in groups:
        for user in crowd():
            program.join(user, group)
    for celeb in celebs[:-1]:
        for group in groups[:-1]:
            program.nyc_fans(celeb, group)
    tagged = common or users
    fans = set().union(*(c.followers for c in celebs))
    untagged = [user for user in users if user not in fans][:200] or users[-200:]
    figures = [
        _per(program.move, [(rng.choice(tagged), rng.choice(PLACES)) for _ in range(1000)]),
        _per(program.move, [(rng.choice(untagged), rng.choice(PLACES)) for _ in range(1000)]),
    ]
    toggled = [(user, groups[0]) for user in rng.sample(users, 200) if user not in groups[0]]
    figures.append((_per(program.join, toggled) + _per(program.leave, toggled)) / 2)
    pair = (celebs[-1], groups[-1])
    demands, releases = [], []
    for _ in range(5):
        demands.append(_per(program.demand, [pair]))
        releases.append(_per(program.release, [pair]))
    return [*figures, statistics.median(demands), statistics.median(releases), extra_space(program, made)]


def _per(function: Callable[[Any, Any], Any], arguments: list[tuple[Any, Any]]) -> float:
    start = time.process_time_ns()
    for x, y in arguments:
        function(x, y)
    return (time.process_time_ns() - start) / len(arguments) / 1000


def main() -> int:
    print(
        "| world | strategy | move tagged | move untagged | join, leave | first demand | release | entries |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for shape in SHAPES:
        for strategy in STRATEGIES:
            *times, space = measure(shape, strategy)
            cells = " | ".join(f"{t:.3g}" for t in times)
            print(f"| {shape.name} | {strategy} | {cells} | {space:,.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
