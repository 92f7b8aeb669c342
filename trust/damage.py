"""Damaged files of a pipeline's store give a clear error, or the right answers: never wrong ones.

A small store with files of every kind is made once. For each mutation it is copied, and one file is
truncated, has bits flipped, anywhere or several in its footer, which Parquet has no checksum of, or is
exchanged for another of its kind; then the answers, the feed and the status
are read, a batch is run by engines that start anew from snapshots, all is answered again from base and log,
and compacted. Only files that are read on that way are damaged: without any one of them the answers are
others, or none. Of a Parquet file no damage may be overlooked; JSON may say the same in other bytes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from trust.outcome import Outcome

SEALED = ("manifest", "engine", "mapping")  # files of JSON that there is one of
KINDS = (*SEALED, "index", "base", "log", "snapshots", "feed", "results", "rejected")
MUTATIONS = ("truncated", "flipped", "footer", "swapped")
MUCH = 1_000  # mutations of each kind and sort
ENDS = ("error", "right")
MAPPING = {"classes": {"User": {"table": "users", "id": "id", "prefix": "u", "fields": {"email": "mail"}}}}
MAPPED = {
    "seq": 900,
    "table": "users",
    "op": "update",
    "before": {"id": 1, "mail": "a@b.org"},
    "after": {"id": 1, "mail": "new@b.org"},
}


def files_of(store: Path, kind: str) -> list[Path]:
    """The files of a kind, also of those that a compaction left behind."""
    if kind in SEALED:
        return [store / f"{kind}.json"]
    found = (store / "base").rglob("*.json") if kind == "index" else (store / kind).rglob("*.parquet")
    return sorted(found)


def in_use(store: Path, kind: str) -> list[Path]:
    """Those of them that the manifest names."""
    from incoq.spark.store import Store

    manifest = Store(store).manifest()
    named = [manifest.base, *manifest.log, *manifest.feed, *manifest.rejected]
    named += [entry for entry in (manifest.results, manifest.snapshot) if entry is not None]
    paths = {name for entry in named for name in (entry.path, *entry.files)}
    return [
        file
        for file in files_of(store, kind)
        if kind in SEALED
        or any(part.relative_to(store).as_posix() in paths for part in (file, *file.parents[:2]))
    ]


def mutate(store: Path, target: Path, kind: str, mutation: str, rng: random.Random) -> None:
    """Damage one file, which may be linked to from another store."""
    data = bytearray(target.read_bytes())
    if mutation == "truncated":
        data = data[: rng.randrange(len(data))]
    elif mutation in ("flipped", "footer"):
        in_footer = mutation == "footer" and target.suffix == ".parquet"
        first = len(data) - 8 - int.from_bytes(data[-8:-4], "little") if in_footer else 0
        for _ in range(rng.choice((2, 3, 5, 8) if mutation == "footer" else (1, 1, 2, 5))):
            data[rng.randrange(first, len(data))] ^= 1 << rng.randrange(8)
    else:
        alike = [store / f"{name}.json" for name in SEALED] if kind in SEALED else files_of(store, kind)
        data = bytearray(rng.choice([o for o in map(Path.read_bytes, alike) if o != bytes(data)]))
    target.unlink()
    target.write_bytes(bytes(data))


def make(place: Path) -> Path:
    """A store with files of all kinds, two at least."""
    from tests.spark.pipelines import WORLD, lines, pipeline

    made = pipeline(place, snapshot_every=4, compact_every=10_000)
    store = made.store.path
    made.store.declare(MAPPING)
    made.run_batch(lines(WORLD), "world")
    made.compact()
    left = {path: shutil.copytree(path, place / path.name) for path in (store / "base").iterdir()}
    left |= {path: Path(shutil.copy(path, place)) for path in (store / "results").iterdir()}
    more = [
        ("field_loc", "assign", "u3", "NYC"), ("field_email", "assign", "u3", "e@f.org"),
        ("member", "add", "s1", "u3"), ("member", "add", "g1", "u3"),
        ("field_followers", "assign", "c2", "s1"), ("demand_nyc_fans", "add", "c2", "g1"),
    ]  # fmt: skip
    made.run_batch([*lines(more, 50), "no event"], "more")
    made.compact(keep_feed=1)
    for path, copy in left.items():  # as if the driver had ended before it swept
        copy.replace(path)
    for number, town in enumerate(("NYC", "Rome", "NYC")):
        wrong = ["nor this"] if number == 0 else []
        made.run_batch([*lines([("field_loc", "assign", "u2", town)], 100 + number), *wrong], f"{number}")
    return store


def answers(store: Path, kind: str = "") -> list[Any]:
    """What the store says, by engines that start anew; who reads files of a kind is asked first."""
    from incoq.spark.pipeline import Pipeline
    from incoq.spark.results import feed_rows
    from incoq.spark.session import in_process
    from incoq.spark.status import status_of
    from incoq.spark.store import Store
    from tests.spark.pipelines import results

    at = Store(store)
    again = Pipeline(at, in_process, snapshot_every=1_000, compact_every=10_000)
    told: list[Any] = [again.verify() if kind in ("index", "base", "log") else []]
    told += [status_of(at)["rejected_reasons"], results(at), sorted(feed_rows(at))]
    again.run_batch([json.dumps(MAPPED)], "more")
    told += [again.verify(), results(at)]
    again.compact()
    return [*told, results(at)]


def attempt(store: Path, copy: Path, kind: str, mutation: str, seed: int, expected: list[Any]) -> str:
    """What a mutation leads to: `error`, `right` or a fault."""
    rng = random.Random(f"{kind} {mutation} {seed}")
    target = rng.choice(in_use(store, kind)).relative_to(store)
    shutil.copytree(store, copy, copy_function=os.link)
    mutate(copy, copy / target, kind, mutation, rng)
    altered = (copy / target).read_bytes() != (store / target).read_bytes()
    end = ending(copy, expected, kind)
    if end == "right" and altered and target.suffix == ".parquet":
        end = "the damage was overlooked"
    return end if end in ENDS else f"{mutation} {target}, seed {seed}: {end}"


def ending(copy: Path, expected: list[Any], kind: str = "") -> str:
    """What comes of asking a store, which then goes: `error`, `right`, or what is wrong."""
    from incoq.errors import IncoqError
    from incoq.spark import worker

    try:
        got = answers(copy, kind)
    except IncoqError:
        return "error"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        for key in [k for k in worker.ENGINES if k[0] == str(copy)]:
            del worker.ENGINES[key]
        shutil.rmtree(copy)
    return "right" if got == expected else f"wrong answers {got}"


def unread(store: Path, place: Path, expected: list[Any]) -> list[str]:
    """The files whose absence nobody notices: to damage them would prove nothing."""
    found = []
    for kind in KINDS:
        for file in in_use(store, kind):
            copy = place / f"without-{kind}-{file.name}"
            shutil.copytree(store, copy, copy_function=os.link)
            (copy / file.relative_to(store)).unlink()
            if ending(copy, expected) == "right":
                found.append(f"nobody reads {file.relative_to(store)}")
    return found


def run(budget_seconds: float, seed: int) -> Outcome:
    """Mutations in turn, until there are enough or the time is over."""
    start = time.perf_counter()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        store = make(place)
        shutil.copytree(store, place / "expected")
        expected = answers(place / "expected")
        failures = unread(store, place, expected)
        number = seed
        while number < seed + MUCH and time.perf_counter() - start < budget_seconds and len(failures) < 20:
            for kind in KINDS:
                for mutation in MUTATIONS:
                    copy = place / f"{kind}-{mutation}-{number}"
                    end = attempt(store, copy, kind, mutation, number, expected)
                    counts.update({"all": 1, f"{kind} {mutation}": 1})
                    counts[f"{kind} {mutation} {end if end in ENDS else 'fault'}"] += 1
                    if end not in ENDS:
                        failures.append(end)
            number += 1
    figure = f"{{all:,}} damaged files of {len(KINDS)} kinds; {len(failures)} faults"
    heads = ("file", "was", "times", "a clear error", "the right answers")
    named = [(kind, mutation, f"{kind} {mutation}") for kind in KINDS for mutation in MUTATIONS]
    rows = [(k, m, f"{{{n}:,}}", *(f"{{{n} {end}:,}}" for end in ENDS)) for k, m, n in named]
    for _, _, n in named:
        counts.update({f"{n} {end}": 0 for end in ENDS})
    limit = "a clear error or the right answers"
    return Outcome(
        "damage", figure, limit, tuple(failures), rows=(heads, *rows), counts=counts, next_seed=number
    )
