"""Every block of the page about Spark is executed, on one session, and prints what is shown."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from incoq.cli import main
from tests.docs.blocks import ROOT, agrees, blocks_of, commands_of


def test_the_blocks_do_what_the_page_says(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(ROOT / "docs" / "spark.md")
    for block in blocks:
        place = block.option("file")
        if place is not None:
            (tmp_path / place).parent.mkdir(exist_ok=True)
            (tmp_path / place).write_text(block.text)
    names: dict[str, Any] = {}
    executed = 0
    for block in blocks:
        if block.language == "console":
            for command, shown in commands_of(block):
                words = shlex.split(command)
                assert words[:2] == ["incoq", "spark"]
                ran = CliRunner().invoke(main, words[1:])
                assert ran.exit_code == 0, f"line {block.line}: $ {command}\n{ran.output}"
                assert agrees(shown, ran.output), f"line {block.line}: $ {command}\n{ran.output}"
                executed += 1
        elif block.language == "python" and block.option("file") is None:
            text = block.text.replace('"more"', repr(str(tmp_path / "more")))  # Spark began elsewhere
            exec(compile(text, f"spark.md:{block.line}", "exec"), names)
            executed += 1
        else:
            assert block.option("file") is not None, f"line {block.line}: a block that nothing executes"
    assert executed > 10
