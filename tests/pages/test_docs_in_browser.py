"""The documentation in a browser: no fault, nothing from the network, nothing wider than the window."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from browser import Browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(needed, reason="the extra `docs` is not installed")
    place = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "docs", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return place


@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_is_sound(browser: Browser, built: Path, width: int) -> None:
    made = {"search.html", "genindex.html"}  # by the builder, without a text of ours
    pages = sorted(p for p in built.rglob("*.html") if "_static" not in p.parts and p.name not in made)
    assert len(pages) > 12
    for page in pages:
        browser.open(page, width)
        assert browser.faults == [], page.name
        assert browser.overflow() <= 0, page.name
        assert [r for r in browser.requests if not r.startswith(("file:", "data:"))] == [], page.name
        assert browser.evaluate("document.querySelector('h1').innerText.length") > 3


def test_search_finds_without_a_server(browser: Browser, built: Path) -> None:
    browser.open(built / "search.html", 1280, query="?q=demand")
    browser.wait_for("document.querySelectorAll('#search-results li a').length > 3")
    assert browser.faults == []
