"""The fenced blocks of a Markdown page, and how each kind is executed.

```python file=NAME     written to NAME in the directory of the page; prints the same plain and compiled
```json file=NAME       written to NAME
```python               executed in one namespace for the page, in order
```console              `$ command` lines are run in that directory; the lines below each are its output,
                        where a line `...` stands for any lines and `...` within a line for any text
```console spark        the same, where Spark is installed
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
INCOQ = [sys.executable, "-m", "incoq.cli"]


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after the fence, its text, and the line of the page that it starts on."""

    words: tuple[str, ...]
    text: str
    line: int

    @property
    def language(self) -> str:
        return self.words[0] if self.words else ""

    def option(self, name: str) -> str | None:
        return next((w.split("=", 1)[1] for w in self.words if w.startswith(f"{name}=")), None)


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    found: list[Block] = []
    lines: list[str] = []
    words: tuple[str, ...] = ()
    opened = 0
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        if opened and line == "```":
            found.append(Block(words, "\n".join(lines) + "\n", opened))
            opened = 0
        elif opened:
            lines.append(line)
        elif line.startswith("```"):
            opened, words, lines = number, tuple(line[3:].split()), []
    assert not opened, f"{page}:{opened}: a block that does not end"
    return found


def run(command: str, folder: Path) -> str:
    """What a command prints: standard output first, then standard error; its failure is one of the page."""
    words = shlex.split(command, comments=True)
    program = {"incoq": INCOQ, "python": [sys.executable], "python3": [sys.executable]}[words[0]]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"}
    isolated = words[1:2] == ["-I"]
    if not isolated:
        inherited = os.environ.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), *([inherited] if inherited else [])])
    done = subprocess.run(
        [*program, *words[1:]], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def commands_of(block: Block) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown."""
    found: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            assert found, f"line {block.line}: output without a command"
            command, output = found[-1]
            found[-1] = command, output + line + "\n"
    return found


def agrees(shown: str, printed: str) -> bool:
    """Does what is shown describe what is printed? Nothing shown describes anything."""
    if not shown:
        return True
    pattern = ""
    for line in shown.splitlines():
        if line == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r".*?".join(map(re.escape, line.split("..."))) + r"[ ]*\n"
    return re.fullmatch(pattern, printed) is not None
