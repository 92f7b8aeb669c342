"""The report of `incoq evaluate`: sound in a browser, with its plots drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser

from incoq.evaluate.catalogue import CUT, EXPERIMENTS
from incoq.evaluate.claims import CLAIMS, judge
from incoq.evaluate.report import Report, html
from incoq.evaluate.statistics import Estimate, Fit, Statistics

SIZES = (100, 200, 400, 5000)
SERIES = [(e, mode, part) for e in EXPERIMENTS for mode in e.modes for part in (*e.parts, "query")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    estimates = [
        Estimate(e.name, mode, part, measure, size, 3.0 * size, 2.0 * size, 10)
        for e, mode, part in SERIES
        for measure in ("time", "space", "memory")
        for size in SIZES
    ]
    fits = [Fit(e.name, mode, part, "time", 4, 1.0, 0.1, 3.0, 0.0, 3.0, 0.1, 1.0) for e, mode, part in SERIES]
    found = Statistics(tuple(estimates), tuple(fits), (), (), 1000)
    facts = (("machine", "a long name of a machine, " * 5),)
    report = Report(
        EXPERIMENTS, found, tuple(judge(CLAIMS, found)), (), ("left out",), CUT, facts, "incoq evaluate"
    )
    place = tmp_path_factory.mktemp("report") / "report.html"
    place.write_text(html(report), encoding="utf-8")
    return place


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_report_is_sound_in_a_browser(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.open(page, width, dark=dark)
    assert browser.faults == []
    assert browser.requests == [page.as_uri()]
    assert browser.overflow() <= 0
    charts = browser.evaluate("document.querySelectorAll('.chart').length")
    curves = "[...document.querySelectorAll('.chart .fitted')].filter(p => p.getBBox().width > 100).length"
    bars = "[...document.querySelectorAll('.chart .error')].filter(p => p.getBBox().height > 5).length"
    assert charts >= 2 * len(EXPERIMENTS) - 1
    assert browser.evaluate(curves) > charts
    assert browser.evaluate(bars) > 4 * len(EXPERIMENTS)
