"""The smallest operations beside what they are made of, in the same loop: a bare assignment and a look-up.

    python -m bench.in_one_loop

The loop stands in the compiled program itself, so no call of ours is in the way; ns per round, less the
empty loop.
"""

import random
import statistics
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from bench.hand_written.versions import ROOT

LOOPS = """
def move_all(users, place):
    for user in users:
        user.loc = place


def count_all(pairs):
    for celeb, group in pairs:
        len(nyc_fans(celeb, group))


def view_all(pairs):
    for celeb, group in pairs:
        len(nyc_fans.view(celeb, group))


def join_all(users, group):
    for user in users:
        group.add(user)
        group.discard(user)
"""

BARE = """
def assign(users, place):
    for user in users:
        user.loc = place


def assign_and_look_up(users, place):
    for user in users:
        user in TAG
        user.loc = place


def look_up(pairs):
    for celeb, group in pairs:
        len(ANSWERS[celeb, group])


def add_and_discard(users, group):
    for user in users:
        group.add(user)
        group.discard(user)


def nothing(users, place):
    for user in users:
        pass


def nothing_of_pairs(pairs):
    for celeb, group in pairs:
        pass
"""

PAIRS = [
    ("o.f = x, untagged", "move_all", "assign_and_look_up", "nothing", "o.f = x and one look-up"),
    ("len(q(...))", "count_all", "look_up", "nothing_of_pairs", "len(d[a, b])"),
    ("len(q.view(...))", "view_all", "look_up", "nothing_of_pairs", "len(d[a, b])"),
    ("s.add(x), s.discard(x), untagged", "join_all", "add_and_discard", "nothing", "the same of a plain set"),
]


def main() -> int:
    from incoq import compile_source

    text = (ROOT / "examples" / "running_example.py").read_text() + LOOPS
    print("| operation | strategy | ns | beside | ns | ratio |\n|---|---|--:|---|--:|--:|")
    for strategy in ("tags", "join"):
        program = _module(compile_source(text, "running", strategy=strategy).code)
        bare = _module(BARE)
        rng = random.Random(1)
        users = [program.User(f"u{i}", "Oslo") for i in range(2000)]
        group = program.new_group()
        for user in users[:200]:
            program.follow(user, rng.choice(users[:20]))
            program.join(user, group)
        pairs = [(celeb, group) for celeb in users[:20]]
        for pair in pairs:
            program.nyc_fans(*pair)
        bare.TAG = dict.fromkeys(users[:200])
        bare.ANSWERS = {pair: program.nyc_fans(*pair) for pair in pairs}
        untagged = users[1000:] * 2
        arguments: dict[str, tuple[Any, ...]] = {
            "move_all": (untagged, "Lima"),
            "count_all": (pairs * 100,),
            "view_all": (pairs * 100,),
            "join_all": (untagged, program.new_group()),
        }
        for shown, own, other, empty, beside in PAIRS:
            given = arguments[own]
            plain = (given[0], set()) if own == "join_all" else given
            calls = [
                (getattr(program, own), given),
                (getattr(bare, other), plain),
                (getattr(bare, empty), given),
            ]
            ours, theirs, loop = _times(calls, len(given[0]))
            own_time, other_time = ours - loop, theirs - loop
            figures = f"{own_time:.0f} | {beside} | {other_time:.0f} | {own_time / other_time:.2f}"
            print(f"| `{shown}` | {strategy} | {figures} |")
    return 0


def _times(calls: list[tuple[Callable[..., Any], tuple[Any, ...]]], rounds: int) -> list[float]:
    """The median time of a round of each loop, over interleaved turns."""
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(41):
        for times, (function, given) in zip(found, calls, strict=True):
            start = time.process_time_ns()
            function(*given)
            times.append((time.process_time_ns() - start) / rounds)
    return [statistics.median(times) for times in found]


def _module(text: str) -> Any:
    module = ModuleType("loops")
    exec(compile(text, "<loops>", "exec"), vars(module))
    return module


if __name__ == "__main__":
    sys.exit(main())
