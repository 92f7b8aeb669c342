"""The documentation builds without a warning, holds what it must, and needs no network to be read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from incoq.errors import CODES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(needed, reason="the extra `docs` is not installed")
    place = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return place


def text_of(built: Path, page: str) -> str:
    return (built / page).read_text(encoding="utf-8")


def test_every_code_has_its_cause_and_its_way_out(built: Path) -> None:
    page = text_of(built, "errors.html")
    shown = dict(re.findall(r'<section id="(iq\d+)">(.*?)</section>', page, re.DOTALL))
    assert shown.keys() == {code.lower() for code in CODES}
    assert all("Cause:" in text and "Way out:" in text for text in shown.values())


def test_the_method_is_shown_with_what_the_compiler_prints(built: Path) -> None:
    page = re.sub(r"<[^>]+>", "", text_of(built, "method.html"))
    assert "tag_u = {u : (u,) in tag_u_1, (u,) in tag_u_2}" in page
    assert "def set_loc(value, o):" in page
    assert "def change_loc(value, o):" in page
    assert "O(#inv_member{u} × #demand.1{2=group})" in page
    assert 'class="graph"' in text_of(built, "method.html")


def test_every_command_is_shown_with_its_options(built: Path) -> None:
    from incoq.cli import main

    page = re.sub(r"<[^>]+>", "", text_of(built, "doors.html"))
    for name, command in main.commands.items():
        assert f"incoq {name}" in page
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert max(parameter.opts, key=len) in page, (name, parameter.opts)


def test_no_page_asks_for_anything_from_elsewhere(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 12
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"([^\"]*)\"", text)
        loaded += re.findall(r"<link[^>]*\srel=\"(?:stylesheet|preload|icon)\"[^>]*\shref=\"([^\"]*)\"", text)
        assert loaded
        assert [address for address in loaded if "//" in address] == [], page
    for style in built.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", style.read_text(encoding="utf-8")), style
