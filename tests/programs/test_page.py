"""The page about the programs names all of them, and its commands do what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import incoq

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.*?)(?: +#.*)?$", PAGE, re.MULTILINE)
PROGRAMS = sorted(
    p.relative_to(ROOT / "programs").as_posix()
    for p in (ROOT / "programs").rglob("*.py")
    if p.name != "simulator.py" and p.parent.name not in ("growth", "shared")
)


def test_the_page_names_every_program() -> None:
    assert [p for p in PROGRAMS if f"{Path(p).stem}`" not in PAGE] == []


@pytest.mark.parametrize("command", [c for c in COMMANDS if "*" not in c])
def test_a_short_command_runs(command: str) -> None:
    tool, *rest = command.split()
    start = [sys.executable, *(["-m", "incoq.cli"] if tool == "incoq" else [])]
    environment = {**os.environ, "PYTHONPATH": str(Path(incoq.__file__).parents[1])}
    run = subprocess.run([*start, *rest], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_the_long_commands_take_all_programs() -> None:
    long = [c for c in COMMANDS if "*" in c]
    assert [c.split()[1] for c in long] == ["stats", "growth"]
    for command in long:
        named = [
            p.relative_to(ROOT / "programs").as_posix() for w in command.split()[2:] for p in ROOT.glob(w)
        ]
        assert sorted(named) == PROGRAMS
