"""The report: every claim with its verdict, text as text, and a page that stands alone."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from incoq.cli import main
from incoq.evaluate.catalogue import EXPERIMENTS
from incoq.evaluate.checks import (
    FAILS,
    HOLDS,
    UNDECIDED,
    UNMEASURED,
    Advantages,
    Outgrown,
    Series,
    combined,
    order_holds,
)
from incoq.evaluate.claims import CLAIMS, Claim, judge
from incoq.evaluate.drivers import ALL
from incoq.evaluate.report import Report, html, markdown, summary
from incoq.evaluate.statistics import Estimate, Fit, Problem, Statistics
from incoq.evaluate.transformation import Transformed, verdicts
from incoq.stats_paper import Figures

SIZES = (100, 200, 400)
OURS = Figures(50, 1, 9, (700, 0.1), None)
TRANSFORMED = (Transformed("running", OURS, Figures(40, 1, 9, (251, 10.12), (491, 21.73))),)


def statistics() -> Statistics:
    estimates, fits = [], []
    for mode, exponent in (("original", 1.0), ("incremental", 0.0), ("filtered", 1.4)):
        estimates += [Estimate("birthday", mode, ALL, "time", n, 2.0 * n**exponent, 0.5, 10) for n in SIZES]
        fits.append(Fit("birthday", mode, ALL, "time", 3, exponent, 0.1, 2.0, 0.0, 2.0, 0.1, 1.0))
    problem = Problem("birthday", 100, "<script>alert(1)</script>")
    return Statistics(tuple(estimates), tuple(fits), (problem,), (), 90)


def report() -> Report:
    found = statistics()
    facts = (("machine", "<i>one</i>"),)
    verdicts = tuple(judge(CLAIMS, found))
    return Report(EXPERIMENTS, found, verdicts, TRANSFORMED, ("left <b>out</b>",), ("cut",), facts, "again")


def claim(text: str) -> Claim:
    return next(claim for claim in CLAIMS if claim.text.startswith(text))


def test_a_claim_holds_fails_or_is_undecided_by_what_was_measured() -> None:
    (probabilistic,) = judge([claim("Probabilistic")], statistics())
    found = {
        f.measured.partition(":")[0]: f.verdict for f in probabilistic.findings if "birthday" in f.rests_on
    }
    assert found == {
        "birthday, iterations, original": UNMEASURED,
        "birthday, time, original": HOLDS,
        "birthday, time, incremental": HOLDS,
        "birthday, time, filtered": FAILS,
    }
    assert probabilistic.verdict == FAILS
    (collector,) = judge([claim("The garbage collector")], statistics())
    assert collector.verdict == UNMEASURED


def test_a_claim_holds_when_all_it_asserts_does() -> None:
    assert combined([HOLDS, HOLDS]) == HOLDS
    assert combined([HOLDS, UNDECIDED]) == combined([HOLDS, UNMEASURED]) == UNDECIDED
    assert combined([UNDECIDED, FAILS]) == FAILS
    assert combined([UNMEASURED, UNMEASURED]) == UNMEASURED


def test_a_version_outgrows_another_when_their_ratio_grows() -> None:
    found = statistics()
    outgrown = Outgrown(Series("birthday", "incremental", ALL, "time"), "original").check(found)
    assert outgrown.verdict == HOLDS
    assert "an exponent of 1.00 ± 0" in outgrown.measured
    assert Outgrown(Series("birthday", "original", ALL, "time"), "incremental").check(found).verdict == FAILS


def test_a_reason_stands_with_a_claim_that_is_not_found_to_hold() -> None:
    failing = replace(claim("Probabilistic queries"), reason="because <of> it")
    found = replace(report(), verdicts=tuple(judge([failing], statistics())))
    assert found.verdicts[0].verdict == FAILS
    assert "because &lt;of&gt; it" in html(found)
    assert "| does not hold: because <of> it |" in summary(found)
    holding = replace(failing, checks=(Outgrown(Series("birthday", "incremental", ALL, "time"), "original"),))
    assert "because" not in summary(replace(found, verdicts=tuple(judge([holding], statistics()))))


def test_transformation_is_judged_by_the_slowest_and_by_its_growth() -> None:
    made = {f"p{n}": Figures(n, 2, 3, (n, n / 100), (2 * n, n / 50)) for n in (100, 200, 400, 800)}
    quick, linear = verdicts(made)
    assert (quick.verdict, linear.verdict) == (HOLDS, HOLDS)
    slow = verdicts(made | {"slow": Figures(9, 3, 1, None, (900, 31.0))})[0]
    assert slow.verdict == FAILS
    assert "31.00 s" in slow.findings[0].measured


def test_an_order_needs_a_near_exponent_and_a_narrow_interval() -> None:
    assert order_holds(1, 1.1, 0.2) == HOLDS
    assert order_holds(1, 1.1, 0.9) == UNDECIDED
    assert order_holds(1, 0.6, 0.2) == UNDECIDED
    assert order_holds(1, 0.6, 0.1) == FAILS
    assert order_holds(0, float("nan"), float("nan")) == UNDECIDED


def test_every_claim_is_about_what_an_experiment_measures() -> None:
    by_name = {experiment.name: experiment for experiment in EXPERIMENTS}
    for check in (check for claim in CLAIMS for check in claim.checks):
        for series in check.series if isinstance(check, Advantages) else [check.series]:
            experiment = by_name[series.experiment]
            assert series.mode in experiment.modes
            assert getattr(check, "than", series.mode) in experiment.modes
            assert series.part in experiment.parts or len(experiment.parts) == 2
    assert len({claim.text for claim in CLAIMS}) == len(CLAIMS)


def test_the_page_and_the_tables_have_every_claim_and_escape_text() -> None:
    page, tables, short = html(report()), markdown(report()), summary(report())
    assert page.count('data-label="verdict"') == len(CLAIMS)
    for verdict in (FAILS, UNMEASURED):
        assert f">{verdict}</td>" in page
    for one in CLAIMS:
        assert f"| {one.text} |" in tables
        assert f"| {one.text} |" in short
    for text in (page, tables):
        assert "700 / 0.10" in text
        assert "251 / 10.12" in text
    assert "<b>out</b>" not in page
    assert "<i>one" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert page.count("<script>") == 1
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_page_draws_marks_with_error_bars_and_fitted_curves() -> None:
    page = html(replace(report(), experiments=tuple(e for e in EXPERIMENTS if e.name == "birthday")))
    assert page.count("<svg") == 1
    assert page.count("<circle") == page.count('class="error"') == 9
    assert page.count('class="fitted"') == 3


def test_the_command_says_what_it_does() -> None:
    result = CliRunner().invoke(main, ["evaluate", "--help"])
    assert result.exit_code == 0
    for option in ("--quick", "--only", "--budget", "--report-only", "--programs"):
        assert option in result.output
    listed = CliRunner().invoke(main, ["evaluate", "--list"])
    assert all(experiment.name in listed.output for experiment in EXPERIMENTS)
    assert CliRunner().invoke(main, ["evaluate", "--only", "nothing"]).exit_code == 2


def test_a_quick_run_and_a_full_one_do_not_share_a_directory(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"quick": true}\n', encoding="utf-8")
    result = CliRunner().invoke(main, ["evaluate", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert "holds a quick run" in result.output


@pytest.mark.parametrize("command", [["--help"], ["compile", "--help"]])
def test_the_other_commands_stay_light(command: list[str]) -> None:
    code = f"import sys; from incoq.cli import main; main({command!r}, standalone_mode=False)"
    check = f"{code}; assert not {{'incoq.evaluate.experiments', 'pyspark'}} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)
