"""Threads that take turns by one lock see every answer right, as the rule says.

Eight threads update fields, sets, lists and dicts, and ask, each turn under a lock of the program's own. Each
answer is compared with what Python computes of the same data in the same turn. The switch interval is as
short as it can be, so that threads change between any two bytecodes outside the lock. Garbage is collected
outside the lock, too, where it may not touch what another thread maintains.

`INCOQ_FREE_THREADED` names a Python without the global lock; the same then runs there, too:

    INCOQ_FREE_THREADED=python3.13t python3 dev.py trust --only threads
"""

from __future__ import annotations

import gc
import json
import os
import platform
import random
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path
from typing import Any

from incoq import compile_source
from trust.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
THREADS = 8
TURNS = 200  # that a thread has at least
COLLECTED = 25  # turns of a thread from one collection to the next
PROGRAM = """
from incoq import Set, lru, query
import threading

class User:
    def __init__(self, n):
        self.n, self.points, self.friends, self.followers = n, n, [], Set()

@query
def rich(group, least):
    return {u.n for u in group if u.points > least}

@query
def followed(group):
    return {(u.n, f.n) for u in group for f in u.followers if f.points > u.points}

@query
def total(group):
    return sum(f.points for u in group for f in u.friends)

@query
def marked(m, group):
    return {u.n for u, n in m.items() if n > 1 if u in group}

@query(keep="weak")
def richest(few):
    return max((u.points for u in few), default=0)

@query(keep=lru(3))
def poor(few, most):
    return {u.n for u in few if u.points < most}

def turn(rng, users, group, m):
    u, f = rng.choice(users), rng.choice(users)
    u.points = rng.randrange(5)
    (group.add if rng.random() < 0.5 else group.discard)(f)
    (u.followers.add if rng.random() < 0.5 else u.followers.discard)(f)
    if len(u.friends) < 4:
        u.friends.append(f)
    else:
        u.friends.pop(0)
    m[u] = rng.randrange(4)
    return rng.choice([Set({u, f}), u.followers])

def asked(group, m, few, n):
    return rich(group, n), followed(group), total(group), marked(m, group), richest(few), poor(few, n)

def computed(group, m, few, n):
    return (
        {u.n for u in group if u.points > n},
        {(u.n, f.n) for u in group for f in u.followers if f.points > u.points},
        sum(f.points for u in group for f in u.friends),
        {u.n for u in group if m.get(u, 0) > 1},
        max((u.points for u in few), default=0),
        {u.n for u in few if u.points < n},
    )

def world():
    return [User(n) for n in range(8)], Set(), {}
"""


def run(budget_seconds: float, seed: int) -> Outcome:
    """On this build, and on a free-threaded one if there is one."""
    other = os.environ.get("INCOQ_FREE_THREADED")
    share = budget_seconds / 2 if other else budget_seconds
    runs = [both_modes(share, seed)]
    if other:
        command = [other, "-m", "trust.threads", str(share), str(seed)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=ENVIRONMENT)
        if done.returncode:
            raise RuntimeError(f"{other}: {done.stderr[-500:]}")
        runs.append(json.loads(done.stdout))
    turns = {"gil": 0, "free": 0}
    for of in runs:
        turns["free" if of["build"].startswith("a free") else "gil"] += of["turns"]
    wrong = tuple(f"{of['build']}: {fault}" for of in runs for fault in of["wrong"])
    figure = (
        f"{THREADS} threads, {{gil:,}} turns on builds with the GIL, {{free:,}} on free-threaded ones;"
        f" {len(wrong)} wrong"
    )
    told = tuple(f"{of['turns']:,} turns on {of['build']}" for of in runs)
    return Outcome("threads", figure, "0 wrong", wrong, told, counts=turns, next_seed=seed + 1)


def both_modes(seconds: float, seed: int) -> dict[str, Any]:
    """Both modes, half of the time each: the turns, what was wrong, and the build."""
    turns = 0
    wrong: list[str] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for mode in ("filtered", "incremental"):
            done, faults = work(mode, seconds / 2, seed)
            turns += done
            wrong += [f"{mode}: {fault}" for fault in faults[:3]]
    finally:
        sys.setswitchinterval(interval)
    free = sysconfig.get_config_var("Py_GIL_DISABLED") and not sys._is_gil_enabled()  # type: ignore[attr-defined]
    build = f"a free-threaded {platform.python_version()}" if free else "a build with the GIL"
    return {"turns": turns, "wrong": wrong, "build": build}


def work(mode: str, seconds: float, seed: int, turns: int = TURNS) -> tuple[int, list[str]]:
    """Turns that the threads had, and what was wrong."""
    names: dict[str, Any] = {"__name__": "compiled"}
    exec(compile(compile_source(PROGRAM, mode=mode).code, "<compiled>", "exec"), names)
    users, group, entries = names["world"]()
    lock, done = threading.Lock(), [0] * THREADS
    wrong: list[str] = []
    start = time.perf_counter()

    def thread(number: int) -> None:
        rng = random.Random(seed * THREADS + number)
        try:
            while not wrong and (done[number] < turns or time.perf_counter() - start < seconds):
                with lock:
                    few, n = names["turn"](rng, users, group, entries), rng.randrange(3)
                    got, expected = (names[f](group, entries, few, n) for f in ("asked", "computed"))
                    if got != expected:
                        wrong.append(f"{got} instead of {expected}")
                    del few  # garbage, but for what is maintained
                done[number] += 1
                if done[number] % COLLECTED == 0:
                    gc.collect()
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=thread, args=(n,)) for n in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return sum(done), wrong


if __name__ == "__main__":
    print(json.dumps(both_modes(float(sys.argv[1]), int(sys.argv[2]))))
