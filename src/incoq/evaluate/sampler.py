"""The other end of `sample`: gives jobs to a server of measured processes, and reads what they found."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 600  # seconds in which a job has to say something


class Sampler:
    """A running server; a job that hangs ends it, and the next job starts another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pending = b""

    def take(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The results of a job's runs, as they come; the last one may be a failure."""
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()
        failed = False
        while True:
            found = self._answer()
            if not found.get("end"):
                failed = failed or bool(found["failure"])
                yield found
                continue
            if found["failure"] and not failed:
                yield {"part": "", "run": 0, "failure": found["failure"]}
            return

    def close(self) -> None:
        """End the server with all its processes."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process, self._pending = None, b""

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "incoq.evaluate.sample"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                # The pool of pyarrow would reserve a gigabyte, which every fork would have to make its own.
                env=os.environ | {"PYTHONHASHSEED": "0", "ARROW_DEFAULT_MEMORY_POOL": "system"},
            )
        return self._process

    def _answer(self) -> dict[str, Any]:
        """The next line; silence, or the end of the server, ends the job."""
        assert self._process is not None
        assert self._process.stdout is not None
        until = time.monotonic() + PATIENCE
        while b"\n" not in self._pending:
            left = until - time.monotonic()
            ready = left > 0 and select.select([self._process.stdout], [], [], left)[0]
            more = os.read(self._process.stdout.fileno(), 1 << 16) if ready else b""
            if not more:
                self.close()
                why = "the server of samples ended" if ready else f"given up after {PATIENCE} s"
                return {"end": True, "failure": why}
            self._pending += more
        line, _, self._pending = self._pending.partition(b"\n")
        return dict(json.loads(line))


@contextmanager
def sampler() -> Iterator[Sampler]:
    """A server for as long as it is needed."""
    made = Sampler()
    try:
        yield made
    finally:
        made.close()
