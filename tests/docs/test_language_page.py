"""The page of the input language: its examples run, its costs are the printed ones, its refusals happen."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import pytest

import incoq
from incoq.errors import CODES
from incoq.explain import explain_json

PAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
MODES = ("filtered", "incremental")
OF_FILES = {"IQ100", "IQ102", "IQ103", "IQ104", "IQ105", "IQ106"}  # the page names these without an example
NOT_SHOWN = OF_FILES | {"IQ204", "IQ230", "IQ305", "IQ307", "IQ400"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its tag, its text with the prelude before it, and the heading above it."""

    tag: str
    text: str
    heading: str
    line: int


def _blocks() -> list[Block]:
    blocks: list[Block] = []
    heading, opened, tag, lines = "", 0, "", []
    for number, line in enumerate(PAGE.split("\n"), 1):
        if opened and line == "```":
            blocks.append(Block(tag, "\n".join(lines) + "\n", heading, opened))
            opened = 0
        elif opened:
            lines.append(line)
        elif line.startswith("```"):
            opened, tag, lines = number, line.removeprefix("```"), []
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    return blocks


BLOCKS = _blocks()
PRELUDE = next(b.text for b in BLOCKS if b.tag == "python prelude")
EXAMPLES = [b for b in BLOCKS if b.tag == "python example"]
UNMARKED = [b for b in BLOCKS if b.tag == "python unmarked"]
REFUSED = [b for b in BLOCKS if b.tag.startswith("python refused ")]
ROWS = [
    [cell.strip() for cell in re.split(r" \| ", line.strip("| "))]
    for line in PAGE.split("\n")
    if line.startswith("| ")
]
FORMS = [row for row in ROWS if row[0].startswith("[")]
REFUSALS = [row for row in ROWS if row[0].startswith("IQ")]


def _code(cell: str) -> str:
    return " ".join(cell.strip("`").split())


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _text(block: Block) -> str:
    return PRELUDE + "\n\n" + block.text


def _plain(text: str, folder: Path) -> str:
    path = folder / "language_example.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return printed.getvalue()


def _compiled(text: str, mode: str) -> str:
    return _run(incoq.compile_source(text, mode=mode).code)


def _run(code: str) -> str:
    module = types.ModuleType("language_example")
    sys.modules[module.__name__] = module  # `dataclass` looks its module up
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "<compiled>", "exec"), vars(module))
    finally:
        del sys.modules[module.__name__]
    return printed.getvalue()


def _outcome(text: str, mode: str) -> str:
    """The code of the fault that a program ends with, when compiled or when run."""
    try:
        _compiled(text, mode)
    except Exception as error:
        return getattr(error, "code", None) or repr(error)
    return "no fault"


@pytest.mark.parametrize("block", UNMARKED, ids=lambda b: str(b.line))
def test_unmarked_example_prints_the_same_compiled(block: Block, tmp_path: Path) -> None:
    expected = _plain(_text(block), tmp_path)
    for mode in MODES:
        compiled = incoq.compile_source(_text(block), mode=mode, unmarked=True)
        assert len(compiled.support.usual) == 2
        assert _run(compiled.code) == expected, mode


def test_every_block_has_a_meaning() -> None:
    assert len(BLOCKS) == 1 + len(EXAMPLES) + len(REFUSED) + len(UNMARKED)
    assert len(EXAMPLES) > 35
    assert len(REFUSED) > 20


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda b: f"{_anchor(b.heading)}-{b.line}")
def test_example_prints_the_same_compiled(block: Block, tmp_path: Path) -> None:
    expected = _plain(_text(block), tmp_path)
    assert expected.strip()
    for mode in MODES:
        assert _compiled(_text(block), mode) == expected, mode


@pytest.mark.parametrize("block", REFUSED, ids=lambda b: f"{b.tag.split()[2]}-{b.line}")
def test_refused_example_gives_its_code(block: Block) -> None:
    _, _, code, *only = block.tag.split()
    for mode in MODES:
        expected = code if not only or mode in only else "no fault"
        assert _outcome(_text(block), mode) == expected, mode


def test_tables_and_examples_go_together() -> None:
    """Each row shows an expression of the example that it leads to; each refusal has an example."""
    texts = {_anchor(b.heading): " ".join(b.text.split()) for b in EXAMPLES}
    for name, example, *_ in FORMS:
        assert _code(example) in texts[re.findall(r"\(#(.*)\)", name)[0]], name
    assert len(FORMS) == len({name for name, *_ in FORMS})
    shown = [(b.tag.split()[2], " ".join(b.text.split())) for b in REFUSED]
    assert [code for code, *_ in REFUSALS] == [code for code, _ in shown]
    for (code, example, why, way), (_, text) in zip(REFUSALS, shown, strict=True):
        assert _code(example) in text, (code, example)
        assert why, code
        assert way, code


def test_every_code_is_on_the_page() -> None:
    assert {code for code, *_ in REFUSALS} == CODES.keys() - NOT_SHOWN
    for code in NOT_SHOWN - {"IQ204"}:
        assert code in PAGE


@pytest.mark.parametrize("row", FORMS, ids=lambda row: re.findall(r"#(.*)\)", row[0])[0])
def test_costs_are_those_that_explain_prints(row: list[str]) -> None:
    name, example, ask, updates = row
    anchor = re.findall(r"\(#(.*)\)", name)[0]
    block = next(b for b in EXAMPLES if _anchor(b.heading) == anchor)
    data = explain_json(incoq.compile_source(_text(block)))
    showing = [q["name"] for q in data["queries"] if _code(example) in " ".join(q["source"].split())]
    costs = {q["query"]: q["first_time"]["filtered"] for q in data["query_costs"]}
    assert ask == costs[showing[0] if showing else list(costs)[-1]]
    printed = [f"`{u['update'].split(',')[0]}`: {u['filtered']}" for u in data["updates"]]
    assert updates == "<br>".join(printed)
