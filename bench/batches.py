"""What a batch saves: the running example, with each user's place changed several times over.

python -m bench.batches

Each row makes the same updates twice in one process, turn by turn: one by one, and inside `with batch():`.
"""

import gc
import itertools
import statistics
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from incoq import compile_source

ROOT = Path(__file__).resolve().parents[1]
IMPORT = "from incoq import Set, query\n"
EXTRA = """
def at_once(users, places):
    for place in places:
        for user in users:
            user.loc = place


def in_a_batch(users, places):
    with batch():
        at_once(users, places)


def in_and_out(users, group, times):
    for _ in range(times):
        for user in users:
            group.add(user)
        for user in users:
            group.discard(user)


def in_and_out_in_a_batch(users, group, times):
    with batch():
        in_and_out(users, group, times)
"""
TURNS = 15


def load() -> Any:
    """The running example with batches."""
    text = (ROOT / "programs/running.py").read_text()
    assert text.count(IMPORT) == 1
    made = compile_source(text.replace(IMPORT, "from incoq import Set, batch, query\n") + EXTRA)
    module = ModuleType("running")
    exec(compile(made.code, "<running>", "exec"), vars(module))
    return module


def median_us(functions: list[Any], count: int) -> list[float]:
    """Microseconds for one update, by each function, in turns."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(TURNS):
        for found, function in zip(times, functions, strict=True):
            start = time.process_time_ns()
            function()
            found.append((time.process_time_ns() - start) / count / 1000)
    return [statistics.median(found) for found in times]


def main() -> None:
    """Print the table."""
    program = load()
    celeb, group = program.User("c@x", "NYC"), program.Set()
    users = [program.User(f"{i}@x", "NYC") for i in range(1000)]
    celeb.followers |= set(users)
    group |= set(users)
    program.nyc_fans(celeb, group)
    gc.disable()
    print("| updates of one thing | one by one (µs each) | in a batch (µs each) | ratio |\n|---|--:|--:|--:|")
    for times in (1, 3, 9):
        turn = itertools.cycle(("Rome", "NYC"))  # every update changes something
        one, batched = median_us(
            [
                lambda n=times, t=turn: program.at_once(users, list(itertools.islice(t, n))),
                lambda n=times, t=turn: program.in_a_batch(users, list(itertools.islice(t, n))),
            ],
            len(users) * times,
        )
        print(f"| a place, changed {times}× | {one:.2f} | {batched:.2f} | {batched / one:.2f} |")
    for times in (1, 4):
        one, batched = median_us(
            [
                lambda t=times: program.in_and_out(users, group, t),
                lambda t=times: program.in_and_out_in_a_batch(users, group, t),
            ],
            2 * len(users) * times,
        )
        print(f"| a member, in and out {times}× | {one:.2f} | {batched:.2f} | {batched / one:.2f} |")


if __name__ == "__main__":
    main()
