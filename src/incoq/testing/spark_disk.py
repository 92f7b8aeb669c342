"""A store on a disk that is full, and on one that may only be read: a clear stop, and then it goes on.

    python -m incoq.testing.spark_disk --master 'local[2]'

The disk is a file system of its own in memory, made small and then larger, or read-only and then not; so it
takes the right to mount one. What the pipeline answers after each stop is what the last committed batch says,
and at the end what a run without any stop says. `--json FILE` notes what was found, for `python -m
trust.pipeline`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incoq.spark import worker
from incoq.spark.deployment import deploy_source
from incoq.spark.pipeline import Pipeline
from incoq.spark.results import result_lines
from incoq.spark.session import in_process
from incoq.spark.store import Store, StoreError
from incoq.testing.spark_soak import PROGRAM

FILES = 12


class Unmountable(Exception):  # noqa: N818  # what is missing, not what went wrong
    """This user may not mount a file system here."""


class Disk:
    """A mounted file system in memory."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def remount(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.place)], check=True)


@contextmanager
def mounted(place: Path, size: str) -> Iterator[Disk]:
    """A disk of a size at a place."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise Unmountable("there is no command `mount`") from None
    if done.returncode:
        raise Unmountable(done.stderr.strip())
    try:
        yield Disk(place)
    finally:
        subprocess.run(["umount", str(place)], check=True)


def write_changes(folder: Path) -> None:
    """Files that the log takes some hundred kilobytes for."""
    folder.mkdir()
    sequence = 0
    for number in range(FILES):
        lines = []
        for user in range(2_000):
            owner = f"u{number}-{user}"
            for relation, *values in (
                ("field_loc", owner, "NYC"),
                ("field_email", owner, f"{owner}@example.org"),
                ("member", "s", owner),
            ):
                sequence += 1
                op = "add" if relation == "member" else "assign"
                lines.append(json.dumps({"seq": sequence, "rel": relation, "op": op, "values": values}))
        if not number:
            for relation, op, values in (
                ("field_followers", "assign", ["c", "s"]),
                ("demand_nyc_fans", "add", ["c", "s"]),
                ("demand_fans", "add", ["c"]),
            ):
                sequence += 1
                lines.append(json.dumps({"seq": sequence, "rel": relation, "op": op, "values": values}))
        (folder / f"{number:02d}.jsonl").write_text("\n".join(lines))


def made(place: Path) -> Store:
    """A new store."""
    store = Store(place)
    store.path.mkdir()
    store.deploy(deploy_source(PROGRAM))
    Pipeline(store, in_process).init(2)
    return store


def take(store: Store, changes: Path, master: str) -> tuple[int, str]:
    """Take all files: the exit status, and what was said."""
    if master != "none":
        command = [
            sys.executable, "-m", "incoq", "spark", "run", "--once", "--store", str(store.path), "--changes",
            str(changes), "--master", master,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr
    try:
        with store.locked():
            Pipeline(store, in_process).run_directory(changes)
    except StoreError as error:
        return 1, str(error)
    finally:
        for key in [k for k in worker.ENGINES if k[0] == str(store.path)]:
            del worker.ENGINES[key]  # as if another process came after this one
    return 0, ""


def answers(store: Store) -> list[str]:
    return [line for query in ("nyc_fans", "fans") for line in result_lines(store, query)]


def faults(master: str) -> Iterator[str]:
    """What is not as it should be on a full and on a read-only disk."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        changes = folder / "changes"
        write_changes(changes)
        undisturbed = made(folder / "undisturbed")
        after = {0: answers(undisturbed)}
        pipeline = Pipeline(undisturbed, in_process)
        pipeline.watch = lambda progress: after.update({progress.batch: answers(undisturbed)})
        pipeline.run_directory(changes)
        needed = sum(path.stat().st_blocks * 512 for path in undisturbed.path.rglob("*"))
        with mounted(folder / "disk", str(needed // 2)) as disk:
            store = made(disk.place / "store")
            yield from _stopped(store, changes, master, "No space left on device", after)
            if not 0 < store.manifest().batch < FILES:
                yield f"the disk was full at batch {store.manifest().batch}, which proves nothing"
            disk.remount("size=500m,ro")
            yield from _stopped(store, changes, master, "Read-only file system", after)
            disk.remount("rw")
            status, said = take(store, changes, master)
            if status or store.manifest().batch != FILES:
                yield f"with room it does not go on: {said[-500:]}"
            elif answers(store) != after[FILES]:
                yield "after both stops the answers are not those of a run without any"


def _stopped(
    store: Store, changes: Path, master: str, reason: str, after: dict[int, list[str]]
) -> Iterator[str]:
    """It stops, says why and nothing else, and answers as before."""
    status, said = take(store, changes, master)
    if status != 1 or f"cannot be written to: {reason}" not in said:
        yield f"{reason}: status {status}, and it says {said[-500:]}"
    if "Traceback" in said:
        yield f"{reason}: a traceback: {said[-500:]}"
    if answers(store) != after[store.manifest().batch]:
        yield f"{reason}: the answers are not those of batch {store.manifest().batch}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m incoq.testing.spark_disk", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--master", default="none", help="of Spark; none: the tasks run in this process")
    parser.add_argument("--json", type=Path, metavar="FILE", help="note what was found there")
    chosen = parser.parse_args(arguments)
    try:
        found = list(faults(chosen.master))
    except Unmountable as error:
        print(f"not tried: {error}")
        return 1
    if chosen.json:
        chosen.json.write_text(json.dumps({"disk": {"faults": found, "master": chosen.master}}))
    print("\n".join(found) or "a full and a read-only disk stop it clearly, and it goes on")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
