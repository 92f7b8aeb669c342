"""The page of `incoq explain --html`: complete, escaped, self-contained, and sound in a browser."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import Browser

import incoq
from incoq.explain import explain_html, explain_json

ROOT = Path(__file__).parents[2]
RUNNING = ROOT / "examples" / "running_example.py"
HOSTILE = """\
from incoq import Set, query

BAD = "</script><script>alert(1)</script>"


@query
def risky(group, word):
    '''<img src=x onerror=alert(2)> & "quoted"'''
    return {u.name for u in group if u.word == "</script><script>alert(3)</script>" if u.loc == word}
"""
SOME = ("running", "auth", "access", "birthday", "jql3", "distributed/la_mutex", "distributed/simulator")
PROGRAMS = [RUNNING, *(ROOT / "programs" / f"{name}.py" for name in SOME)]


class _Reader(HTMLParser):
    """Elements, ids, links and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), f"an event handler in the text: {name}={value}"
            if name == "id":
                self.ids.append(value or "")
            elif name == "href" and (value or "").startswith("#"):
                self.links.append((value or "")[1:])
            elif name in ("src", "href", "action", "data"):
                self.outside.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(path: Path) -> str:
    return explain_html(incoq.compile_path(path, strategy="tags"))


def test_everything_that_the_data_says_is_on_the_page() -> None:
    compiled = incoq.compile_path(RUNNING, strategy="tags")
    data, shown = explain_json(compiled), _Reader(explain_html(compiled))
    words = " ".join(shown.text.split())
    query = data["queries"][0]
    expected = [
        *query["relational"]["clauses"],
        *(i["definition"] for i in data["invariants"]),
        *(u["why"] for u in query["updates"]),
        *(c["cost"] for u in query["updates"] for c in u["covers"]),
        *(e["filtered"] for e in query["graph"]["edges"]),
        *(v["tag"] for v in query["graph"]["vertices"] if v["tag"]),
        *(u[mode] for u in data["updates"] for mode in ("original", "incremental", "filtered")),
        *(b["change"] for f in data["maintenance"] for b in f["blocks"]),
        *(loop["cost"] for f in data["maintenance"] for loop in f["loops"]),
        *(n.replace("`", "") for n in data["notices"]),
    ]
    assert [e for e in expected if " ".join(e.split()) not in words] == []
    assert len(expected) > 150


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_every_link_of_the_page_leads_somewhere(path: Path) -> None:
    shown = _Reader(page_of(path))
    assert len(shown.ids) == len(set(shown.ids))
    assert set(shown.links) <= set(shown.ids)
    assert set(shown.outside) == {"data:,"}


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    text = page_of(RUNNING)
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+", text)) - {"http://www.w3.org"}
    assert addresses == set()
    assert "@import" not in text
    assert "url(" not in re.sub(r"url\(#", "", text)


def test_what_the_program_says_is_text_and_never_markup() -> None:
    text = explain_html(incoq.compile_source(HOSTILE, "<b>program</b>.py"))
    shown = _Reader(text)
    assert shown.tags.count("script") == 1
    assert "img" not in shown.tags
    assert "b" not in shown.tags
    assert "</script><script>alert(3)</script>" in shown.text
    assert "<b>program</b>.py" in shown.text


def test_the_page_is_the_same_whatever_the_hash_seed() -> None:
    program = (
        "import hashlib, incoq, incoq.explain as e;"
        f"print(hashlib.sha256(e.explain_html(incoq.compile_path({str(RUNNING)!r})).encode()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_pages_need_no_import_until_one_is_made() -> None:
    program = (
        "import sys, incoq.cli; print([m for m in ('jinja2', 'grandalf', 'pygments') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_is_sound_in_a_browser(browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    for number, text in enumerate((page_of(RUNNING), explain_html(incoq.compile_source(HOSTILE)))):
        place = tmp_path / f"page{number}.html"
        place.write_text(text, encoding="utf-8")
        browser.open(place, width, dark=dark)
        assert browser.faults == []
        assert browser.requests == [place.as_uri()]
        assert browser.overflow() <= 0


def test_an_edge_shows_its_filtered_relation_when_pointed_at_or_tapped(
    browser: Browser, tmp_path: Path
) -> None:
    place = tmp_path / "page.html"
    place.write_text(page_of(RUNNING), encoding="utf-8")
    browser.open(place, 1280)
    for event in ("pointerenter", "click", "focus"):
        for key, shown in (("nyc_fans-3", "fil_member_1 = "), ("nyc_fans-4", "fil_member_2 = ")):
            browser.evaluate(
                f"document.querySelector('[data-edge=\"{key}\"]').dispatchEvent(new Event('{event}'))"
            )
            text = browser.evaluate("document.querySelector('.edge-info').innerText")
            assert shown in text


def test_no_label_of_the_graph_covers_another(browser: Browser, tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    for path in (RUNNING, ROOT / "programs" / "auth.py", ROOT / "programs" / "access.py"):
        place.write_text(page_of(path), encoding="utf-8")
        browser.open(place, 1280)
        overlaps = browser.evaluate(
            "[...document.querySelectorAll('svg.graph')].flatMap(svg => {"
            " const boxes = [...svg.querySelectorAll('rect')].map(r => r.getBoundingClientRect());"
            " return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => a.left < b.right"
            " && b.left < a.right && a.top < b.bottom && b.top < a.bottom)); }).length"
        )
        assert overlaps == 0, path
        outside = browser.evaluate(
            "[...document.querySelectorAll('svg.graph g')].filter(g => { const t = g.querySelector('text'),"
            " r = g.querySelector('rect'); return t && t.getBBox().width > r.getBBox().width; }).length"
        )
        assert outside == 0, path


def test_steps_are_on_the_page_when_asked_for() -> None:
    compiled = incoq.compile_path(RUNNING, strategy="tags")
    assert 'id="steps"' not in explain_html(compiled)
    shown = _Reader(explain_html(compiled, steps=True))
    assert "steps" in shown.ids
    assert "tag sets follow demand" in shown.text


def test_a_pattern_is_one_edge_to_all_its_variables() -> None:
    text = "from incoq import query\n@query\ndef q(s):\n    return {(a, c) for (a, (b, c)) in s if b > 1}\n"
    page = explain_html(incoq.compile_source(text))
    edges = re.findall(r'<g class="edge [^"]*"[^>]*data-edge="q-2".*?</g>', page, re.DOTALL)
    assert len(edges) == 1
    assert edges[0].count("marker-end") == 3
    assert "<code>s → a, b, c</code>" in page


def test_a_directory_is_named_by_itself(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("x = 1\n", encoding="utf-8")
    assert f"<h1>{tmp_path} (2 modules)</h1>" in explain_html(incoq.compile_path(tmp_path))
