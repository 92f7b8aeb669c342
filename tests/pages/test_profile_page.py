"""The page of `incoq profile --html`: what was measured, escaped, and sound in a browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from browser import Browser

PROGRAM = """\
from incoq import Set, query


class Box:
    pass


@query
def marked(boxes):
    return {b for b in boxes if b.mark == "<script>alert(1)</script>"}


boxes = Set()
for number in range(30):
    box = Box()
    box.mark = "<script>alert(1)</script>"
    boxes.add(box)
    assert len(marked(boxes)) == number + 1
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profile")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "incoq.cli", "profile", "--html", "profile.html", "program.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "profile.html"


def test_the_page_shows_what_was_measured_and_the_text_of_the_program_as_text(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "30: 29 hits, 1 misses" in text
    assert text.count("<svg") == text.count('class="series"') > 2
    assert "&lt;script&gt;alert(1)" in text
    assert text.count("<script>") == 1


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_is_sound_in_a_browser(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.open(page, width, dark=dark)
    assert browser.faults == []
    assert browser.requests == [page.as_uri()]
    assert browser.overflow() <= 0
    curves = browser.evaluate("document.querySelectorAll('.series').length")
    drawn = browser.evaluate(
        "[...document.querySelectorAll('.series')].filter(p => p.getBBox().width > 100).length"
    )
    assert drawn == curves > 2
