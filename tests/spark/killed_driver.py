"""A driver that takes all files of a directory and kills itself at a named step of a named batch.

python killed_driver.py STORE CHANGES BATCH STEP; with `compact: STEP` it compacts at the end
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from incoq.spark import pipeline
from incoq.spark.session import in_process
from incoq.spark.store import Store


def main(place: str, changes: str, batch: int, wanted: str) -> None:
    store = Store(place)
    compacts, wanted = wanted.startswith("compact: "), wanted.removeprefix("compact: ")

    def kill(name: str) -> None:
        if name == wanted and store.manifest().batch + (name != "committed") == batch:
            os.kill(os.getpid(), signal.SIGKILL)

    def torn(written: Path, target: Path) -> Path:
        """Give a file its name or, at the step, leave half of it."""
        kind = target.relative_to(store.path).parts[0]
        if f"half of {kind}" == wanted and store.manifest().batch + 1 == batch:
            os.truncate(written, written.stat().st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        return replace(written, target)

    replace, Path.replace = Path.replace, torn  # type: ignore[method-assign, assignment]
    with store.locked():
        made = pipeline.Pipeline(store, in_process, step=kill, snapshot_every=3)
        made.run_directory(Path(changes))
        if compacts:
            made.compact()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
