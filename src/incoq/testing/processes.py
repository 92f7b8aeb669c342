"""Other processes of this machine, as Linux tells of them: who started whom, what they run, what they use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_TICK, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Process:
    """A process at the moment of looking."""

    number: int
    parent: int
    state: str
    cpu: float  # seconds, with those of children that ended
    resident: int  # bytes

    @property
    def command(self) -> str:
        """Its command line; empty where it has ended."""
        try:
            told = Path(f"/proc/{self.number}/cmdline").read_bytes()
        except OSError:
            return ""
        return told.replace(b"\0", b" ").decode(errors="replace")


def processes() -> Iterator[Process]:
    """All that run now."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):  # it ended meanwhile
                continue
            cpu = sum(map(int, fields[11:15])) / _TICK
            yield Process(int(entry.name), int(fields[1]), fields[0], cpu, int(fields[21]) * _PAGE)


def descended(ancestors: Iterable[int]) -> list[Process]:
    """Some processes and all that they started, directly or not."""
    found = {process.number: process for process in processes()}
    wanted = set(ancestors)

    def belongs(process: Process | None) -> bool:
        seen = set[int]()
        while process is not None and process.number not in seen:
            if process.number in wanted:
                return True
            seen.add(process.number)
            process = found.get(process.parent)
        return False

    return [process for process in found.values() if belongs(process)]
