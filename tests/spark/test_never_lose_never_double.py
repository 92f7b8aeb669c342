"""Kills at every step: after a restart the results are those of an undisturbed run."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from incoq.spark import sealed
from incoq.spark.pipeline import Pipeline
from incoq.spark.results import feed_rows
from incoq.spark.session import in_process
from incoq.spark.store import Store, StoreError
from tests.spark.pipelines import WORLD, lines, pipeline, results

STEPS = [
    "read", "half of log", "log written", "half of feed", "half of snapshots", "applied", "before commit",
    "committed",
]  # fmt: skip


def change_files(folder: Path) -> Path:
    """Five batches over a few ids."""
    rng, first = random.Random(5), 1
    folder.mkdir()
    for number in range(5):
        events: list[tuple[Any, ...]] = []
        for _ in range(20):
            user = f"u{rng.randrange(6)}"
            events.append(
                rng.choice(
                    [
                        ("field_loc", "assign", user, rng.choice(["NYC", "Oslo"])),
                        ("field_email", "assign", user, f"{user}@{rng.randrange(3)}"),
                        ("member", rng.choice(["add", "remove"]), rng.choice(["s1", "g1"]), user),
                        ("demand_nyc_fans", rng.choice(["add", "remove"]), "c1", rng.choice(["g1", "s1"])),
                    ]
                )
            )
        events += [*WORLD, ("field_email", "assign", "u1", f"u1@{number}")]  # every batch changes an answer
        told = lines(events, first)
        first += len(told)
        (folder / f"{number}.jsonl").write_text("\n".join([*told, "nonsense"]))
    return folder


def drive(store: Store, changes: Path, batch: int, step: str) -> int:
    script = Path(__file__).with_name("killed_driver.py")
    command = [sys.executable, str(script), str(store.path), str(changes), str(batch), step]
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "src"), str(root)])
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}).returncode


def feed(store: Store) -> list[tuple[Any, ...]]:
    return sorted(feed_rows(store))


@pytest.mark.parametrize("step", STEPS)
def test_a_driver_killed_at_any_step_loses_and_doubles_nothing(tmp_path: Path, step: str) -> None:
    changes = change_files(tmp_path / "changes")
    undisturbed = pipeline(tmp_path / "undisturbed")
    undisturbed.run_directory(changes)
    killed = pipeline(tmp_path / "killed").store
    assert drive(killed, changes, 3, step) == -signal.SIGKILL
    assert killed.manifest().batch == (3 if step == "committed" else 2)
    assert drive(killed, changes, 0, "") == 0
    assert results(killed) == results(undisturbed)
    assert feed(killed) == feed(undisturbed.store)
    assert killed.manifest().totals["events"] == undisturbed.store.manifest().totals["events"]
    assert killed.manifest().totals["rejected"] == 5


@pytest.mark.parametrize("step", ["half of base", "half of results", "before commit"])
def test_a_driver_killed_while_it_compacts_loses_nothing(tmp_path: Path, step: str) -> None:
    changes = change_files(tmp_path / "changes")
    undisturbed = pipeline(tmp_path / "undisturbed")
    undisturbed.run_directory(changes)
    killed = pipeline(tmp_path / "killed").store
    assert drive(killed, changes, 0, "") == 0
    assert drive(killed, changes, 6, f"compact: {step}") == -signal.SIGKILL
    assert len(killed.manifest().log) == 5, "nothing was committed"
    assert results(killed) == results(undisturbed)
    assert drive(killed, changes, 0, "compact: ") == 0
    assert killed.manifest().log == ()
    assert results(killed) == results(undisturbed)
    assert Pipeline(killed, in_process).verify() == []


def test_killed_while_compacting_nothing_is_lost(tmp_path: Path) -> None:
    changes = change_files(tmp_path / "changes")
    made = pipeline(tmp_path)
    made.run_directory(changes)
    before = results(made)
    again = Pipeline(made.store, in_process, step=lambda name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        again.compact()
    assert results(made) == before
    made.compact()
    assert results(made) == before
    assert made.verify() == []
    assert made.store.manifest().log == ()
    assert sorted(p.name for p in (made.store.path / "base").iterdir()) == [
        Path(made.store.manifest().base.path).name
    ]


def test_the_feed_is_kept_for_some_batches_and_its_end_is_told(tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    made.run_directory(change_files(tmp_path / "changes"))
    whole = feed(made.store)
    made.compact(keep_feed=2)
    assert feed(made.store) == [row for row in whole if row[4] > 3]
    assert list(feed_rows(made.store, after=4)) == [row for row in feed_rows(made.store) if row[4] == 5]
    with pytest.raises(StoreError, match="the feed before batch 4 is gone"):
        list(feed_rows(made.store, after=2))


def test_a_second_driver_is_refused(tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    with (
        made.store.locked(),
        pytest.raises(StoreError, match=rf"is in use by process {os.getpid()} on "),
        made.store.locked(),
    ):
        raise AssertionError("two drivers on one store")
    with made.store.locked():
        pass


def test_a_file_is_taken_once_and_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    folder = tmp_path / "changes"
    folder.mkdir()
    (folder / "b.jsonl").write_text("\n".join(lines([("field_loc", "assign", "u1", "Oslo")], 100)))
    (folder / "a.jsonl").write_text("\n".join(lines(WORLD)))
    (folder / ".hidden").write_text("nonsense")
    assert made.run_directory(folder) == 2
    assert results(made) == []
    assert made.run_directory(folder) == 0
    (folder / "c.jsonl").write_text("\n".join(lines([("field_loc", "assign", "u1", "NYC")], 200)))
    assert made.run_directory(folder) == 1
    assert results(made) == [(["c1", "g1"], "a@b.org")]


def test_a_file_that_was_taken_and_is_gone_is_forgotten_when_the_store_is_compacted(tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    changes = change_files(tmp_path / "changes")
    made.run_directory(changes)
    for name in ("0.jsonl", "1.jsonl"):
        (changes / name).unlink()
    made.compact()
    assert made.store.manifest().sources == {str(changes): ["2.jsonl", "3.jsonl", "4.jsonl"]}
    assert made.run_directory(changes) == 0
    for path in changes.iterdir():
        path.unlink()
    changes.rmdir()  # as if the disk of the files were away for a while
    made.compact()
    assert made.store.manifest().sources == {str(changes): ["2.jsonl", "3.jsonl", "4.jsonl"]}


def test_nothing_stored_is_a_pickle(tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    made.run_batch([*lines(WORLD), "nonsense"], "a")
    made.compact()
    kinds = {p.suffix for p in made.store.path.rglob("*") if p.is_file()}
    assert kinds <= {".parquet", ".json", ""}
    for path in made.store.path.rglob("*.parquet"):
        assert path.read_bytes()[:4] == b"PAR1"


def test_results_can_be_read_while_the_store_is_compacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pipeline(tmp_path)
    made.run_batch(lines(WORLD), "a")
    old = made.store.manifest()
    made.compact(keep_feed=0)
    assert not list((made.store.path / "feed").iterdir())
    manifests = iter([old])
    now = made.store.manifest()
    monkeypatch.setattr(Store, "manifest", lambda self: next(manifests, now))
    assert results(made) == [(["c1", "g1"], "a@b.org")]


@pytest.mark.parametrize("kind", ["log", "feed", "snapshots", "manifest.json"])
def test_a_store_without_room_stops_clearly_and_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    made = pipeline(tmp_path, snapshot_every=1)
    made.run_batch(lines(WORLD), "a")
    moved = lines([("field_loc", "assign", "u2", "NYC")], 50)

    def full(path: Any) -> None:
        if kind in str(path):
            raise OSError(
                errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device"
            )

    write_table, write_text = sealed.write_table, Store.write_text
    with monkeypatch.context() as patch:
        patch.setattr(sealed, "write_table", lambda t, p: full(p) or write_table(t, p))
        patch.setattr(Store, "write_text", lambda self, n, text: (full(n), write_text(self, n, text)))
        with pytest.raises(
            StoreError, match=r"cannot be written to: No space left on device. batch 2 was not"
        ):
            made.run_batch(moved, "b")
    assert made.store.manifest().batch == 1
    assert results(made) == [(["c1", "g1"], "a@b.org")]
    made.run_batch(moved, "b")
    assert results(made) == [(["c1", "g1"], "a@b.org"), (["c1", "g1"], "c@d.org")]


@pytest.mark.parametrize(
    ("act", "undone"),
    [
        (lambda made: made.compact(), "what folds the log after batch 1 was not committed"),
        (lambda made: made.verify(), "batch 1 was not verified"),
        (lambda made: made.init(2), "nothing was committed"),
        (lambda made: made.store.deploy(made.deployment), "the program was not stored"),
    ],
)
def test_whatever_writes_to_a_store_without_room_says_what_was_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Any, undone: str
) -> None:
    made = pipeline(tmp_path)
    made.run_batch(lines(WORLD), "a")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sealed, "write_table", full)
        patch.setattr(Store, "write_text", full)
        with pytest.raises(
            StoreError, match=f"cannot be written to: No space left on device. {undone}; when"
        ):
            act(made)
    assert results(made) == [(["c1", "g1"], "a@b.org")]


def test_a_table_that_may_not_be_read_is_not_taken_for_a_store_that_may_not_be_written_to(
    tmp_path: Path,
) -> None:
    made = pipeline(tmp_path)

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with pytest.raises(PermissionError, match=r"loc\.parquet"):
        made.begin(lambda _: refuse(tmp_path / "tables" / "loc.parquet"), 2)
    with pytest.raises(StoreError, match=r"store cannot be written to: Permission denied\. nothing was"):
        made.begin(refuse, 2)


def test_a_task_of_compaction_that_is_tried_again_finds_what_the_first_try_left(tmp_path: Path) -> None:
    made, once = pipeline(tmp_path / "again"), pipeline(tmp_path / "once")

    def again(name: str, function: Any, tasks: Any) -> list[Any]:
        found = []
        for task in tasks:
            function(task)  # the executor is killed before it can tell, and may be killed as it writes
            for part in (made.store.path / task.target / f"rel={task.relation}").iterdir():
                if os.stat(part).st_nlink == 1:
                    part.write_bytes(part.read_bytes()[:20])
            found.append(function(task))
        return found

    for number, events in enumerate([WORLD, [("field_loc", "assign", "u2", "NYC")]]):
        for one in (made, once):
            one.run_batch(lines(events, 50 * number + 1), "a")
        made.run, run = again, made.run
        bases = [one.compact().base.rows for one in (made, once)]
        made.run = run
        assert bases[0] == bases[1]
    assert results(made) == results(once)
    assert made.verify() == []


@pytest.mark.parametrize("name", ["u", "g"])
def test_an_id_may_be_long(tmp_path: Path, name: str) -> None:
    """Parquet keeps no bounds of texts of more than 4,096 bytes."""
    from incoq.spark import worker

    long = name * 5000
    events = [
        ("field_followers", "assign", "c", "s"),
        ("member", "add", "s", "u"),
        ("member", "add", "g", "u"),
    ]
    events += [("field_loc", "assign", "u", "NYC"), ("field_email", "assign", "u", "a@b.org")]
    events += [("demand_nyc_fans", "add", "c", "g")]
    made = pipeline(tmp_path)
    made.run_batch(lines([tuple(long if v == name else v for v in event) for event in events]), "a")
    answer = results(made)
    assert [result for _, result in answer] == ["a@b.org"]
    made.compact()
    worker.ENGINES.clear()
    assert made.verify() == []
    assert results(made) == answer


def test_what_somebody_else_keeps_in_the_directory_of_a_store_stays(tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    made.run_batch(lines(WORLD), "a")
    kept = [made.store.path / kind / "mine.csv" for kind in ("base", "log", "feed", "results", "rejected")]
    for path in kept:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    left = made.store.path / "log" / "00000001-0123456789ab.parquet"
    left.write_text("what an attempt left behind")
    made.compact()
    assert [path.read_text() for path in kept] == ["mine"] * len(kept)
    assert not left.exists()


def test_a_change_file_may_have_a_name_that_is_no_text(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    made = pipeline(tmp_path)
    folder = tmp_path / "changes"
    folder.mkdir()
    (folder / os.fsdecode(b"a\xff.jsonl")).write_text("\n".join([*lines(WORLD), "nonsense"]))
    assert made.run_directory(folder) == 1
    assert made.run_directory(folder) == 0
    assert results(made) == [(["c1", "g1"], "a@b.org")]
    (entry,) = made.store.manifest().rejected
    assert pq.read_table(made.store.path / entry.path)["source"].to_pylist() == ["a\\udcff.jsonl"]
