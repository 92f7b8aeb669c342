"""Every code block of the README and of the documentation is executed, and prints what is shown."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
from blocks import ROOT, Block, agrees, blocks_of, commands_of, run

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
APART = {"language.md", "programs.md", "spark.md"}  # pages with tests of their own
EXECUTED = [p for p in PAGES if p.name not in APART and "_build" not in p.parts]
OF_THE_PAGE = ("{toctree}", "{show}", "{include}")  # what the builder fills in, and `test_build.py` checks


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", EXECUTED, ids=name_of)
def test_the_blocks_do_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.name == "README.md":  # its commands are run in the checkout
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks_of(page):
        match block.language:
            case "python" if (place := block.option("file")) is not None:
                (tmp_path / place).write_text(block.text, encoding="utf-8")
                if "incoq" in block.text:
                    prints_the_same_compiled(tmp_path, place)
            case "json" if (place := block.option("file")) is not None:
                (tmp_path / place).parent.mkdir(exist_ok=True)
                (tmp_path / place).write_text(block.text, encoding="utf-8")
            case "python":
                execute(block, page, names)
            case "console" if "spark" in block.words and not has_spark():
                warnings.warn("Spark is not installed: its commands were not run", stacklevel=1)
            case "console":
                for command, shown in commands_of(block):
                    if not command.startswith("python3 dev.py"):
                        printed = run(command, tmp_path)
                        assert agrees(shown, printed), f"line {block.line}: $ {command}\n{printed}"
            case language:
                assert language.startswith(OF_THE_PAGE), f"line {block.line}: a block that nothing executes"


def has_spark() -> bool:
    return all(importlib.util.find_spec(name) for name in ("pyspark", "pyarrow"))


def prints_the_same_compiled(folder: Path, place: str) -> None:
    plain = run(f"python {place}", folder)
    assert plain
    for mode in ("filtered", "incremental"):
        assert run(f"incoq run --mode {mode} {place}", folder) == plain, mode


def execute(block: Block, page: Path, names: dict[str, Any]) -> None:
    """Run a block in the page's namespace; a query needs its source, so the text is a file."""
    place = Path(f"block_{block.line}.py")
    place.write_text(block.text, encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block.text, str(place.resolve()), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_code_hides_from_the_tests_by_being_indented(page: Path) -> None:
    inside = False
    before = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside and line.startswith("    ") and not before.strip():
            pytest.fail(f"{name_of(page)}:{number}: an indented block; fence it")
        before = line


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target


def test_tasks_that_pages_name_exist() -> None:
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    dev = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dev)
    named = {task for page in PAGES for task in re.findall(r"dev\.py (\w[\w-]*)", page.read_text())}
    assert named <= set(dev.TASKS)
    assert {"demo", "test", "docs"} <= named


def test_programs_that_pages_name_exist() -> None:
    named = {
        path for page in PAGES for path in re.findall(r"`((?:programs|examples)/[\w./]*)`", page.read_text())
    }
    assert len(named) > 5
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_options_of_queries_are_all_documented() -> None:
    page = (DOCS / "options.md").read_text()
    for option in ("demand=", "keep=", "assume=", "lru(n)", '"explicit"', ".view(", ".release(", ".demanded"):
        assert option in page
