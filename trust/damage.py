"""Damaged files of a pipeline's store give a clear error, or the right answers: never wrong ones.

A small store with a base, a log, snapshots and a feed is made once; for every mutation it is copied, one file
is truncated, has bits flipped or is exchanged for another of its kind, and then the answers are read, a batch
is run, and the answers are read again.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from trust.outcome import Outcome

KINDS = ("manifest.json", "engine.json", "index", "base", "log", "snapshots", "feed")
MUTATIONS = ("truncated", "flipped", "swapped")
MUCH = 1_000  # mutations of each kind and sort


def files_of(store: Path, kind: str) -> list[Path]:
    """The files of a kind."""
    if kind.endswith(".json"):
        return [store / kind]
    if kind == "index":
        return sorted((store / "base").rglob("*.json"))
    return sorted((store / kind).rglob("*.parquet"))


def mutate(store: Path, kind: str, mutation: str, rng: random.Random) -> str:
    """Damage one file; its name, or nothing where there is none to exchange it for."""
    found = files_of(store, kind)
    target = rng.choice(found)
    data = bytearray(target.read_bytes())
    if mutation == "truncated":
        data = data[: rng.randrange(len(data))]
    elif mutation == "flipped":
        for _ in range(rng.choice((1, 1, 2, 5))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    else:
        others = [f for f in found if f.read_bytes() != bytes(data)]
        if kind.endswith(".json"):
            others = [store / other for other in KINDS[:2] if other != kind]
        if not others:
            return ""
        data = bytearray(rng.choice(others).read_bytes())
    target.unlink()  # a file of the base may be linked to twice
    target.write_bytes(bytes(data))
    return target.relative_to(store).as_posix()


def make(place: Path) -> Path:
    """A store with files of all kinds."""
    from tests.spark.pipelines import WORLD, lines, pipeline

    made = pipeline(place, snapshot_every=2, compact_every=10_000)
    made.run_batch(lines(WORLD), "world")
    made.compact()
    for number, town in enumerate(("NYC", "Rome", "NYC", "Lima", "NYC")):
        made.run_batch(lines([("field_loc", "assign", "u2", town)], 100 + number), f"move {number}")
    return made.store.path


def answers(store: Path) -> list[Any]:
    """What the store answers, before and after one more batch, by engines that start anew."""
    from incoq.spark.pipeline import Pipeline
    from incoq.spark.session import in_process
    from incoq.spark.store import Store
    from tests.spark.pipelines import lines, results

    at = Store(store)
    before = results(at)
    again = Pipeline(at, in_process, snapshot_every=2, compact_every=10_000)
    again.run_batch(lines([("field_email", "assign", "u1", "new@b.org")], 900), "more")
    return [before, results(at)]


def attempt(store: Path, place: Path, kind: str, mutation: str, seed: int, expected: list[Any]) -> str:
    """What a mutation leads to: `error`, `right`, `none` or a fault."""
    from incoq.errors import IncoqError
    from incoq.spark import worker

    copy = place / f"{kind}-{mutation}-{seed}"
    shutil.copytree(store, copy)
    try:
        name = mutate(copy, kind, mutation, random.Random(seed))
        if not name:
            return "none"
        got = answers(copy)
    except IncoqError:
        return "error"
    except Exception as error:
        return f"{mutation} {name}, seed {seed}: {type(error).__name__}: {str(error)[:200]}"
    finally:
        for key in [k for k in worker.ENGINES if k[0] == str(copy)]:
            del worker.ENGINES[key]
        shutil.rmtree(copy)
    return "right" if got == expected else f"{mutation} {name}, seed {seed}: wrong answers {got}"


def run(budget_seconds: float, seed: int) -> Outcome:
    """Mutations in turn, until there are enough or the time is over."""
    start = time.perf_counter()
    ends: dict[tuple[str, str], Counter[str]] = {(k, m): Counter() for k in KINDS for m in MUTATIONS}
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        store = make(place)
        shutil.copytree(store, place / "expected")
        expected = answers(place / "expected")
        number = 0
        while number < MUCH and time.perf_counter() - start < budget_seconds and len(failures) < 20:
            for (kind, mutation), counted in ends.items():
                end = attempt(store, place, kind, mutation, seed * MUCH + number, expected)
                counted[end if end in ("error", "right", "none") else "fault"] += 1
                if end not in ("error", "right", "none"):
                    failures.append(end)
            number += 1
    rows = [
        (kind, mutation, f"{counted.total() - counted['none']}", f"{counted['error']}", f"{counted['right']}")
        for (kind, mutation), counted in ends.items()
    ]
    total = sum(c.total() - c["none"] for c in ends.values())
    figure = f"{total:,} damaged files of {len(KINDS)} kinds, {number:,} of each; {len(failures)} faults"
    heads = ("file", "was", "times", "a clear error", "the right answers")
    return Outcome(
        "damage", figure, "a clear error or the right answers", tuple(failures), rows=(heads, *rows)
    )
