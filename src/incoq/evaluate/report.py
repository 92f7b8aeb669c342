"""The report: one page that needs nothing else, and the same tables as Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from markupsafe import Markup

from incoq.evaluate.claims import FAILS, HOLDS, UNDECIDED, UNMEASURED, Verdict
from incoq.evaluate.drivers import ALL, DRIVERS
from incoq.evaluate.experiments import Experiment
from incoq.evaluate.statistics import MEASURES, Fit, Statistics
from incoq.evaluate.versions import LABELS
from incoq.pages import render
from incoq.pages.draw_chart import Mark, Series, draw_chart

PARTS = {"all": "updates with queries", "updates": "updates alone", "query": "queries alone"}


@dataclass(frozen=True)
class Report:
    """All that is shown; `left_out` says what this run did not do, `facts` how it was done."""

    experiments: tuple[Experiment, ...]
    statistics: Statistics
    verdicts: tuple[Verdict, ...]
    left_out: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    command: str

    def tally(self) -> str:
        """How many claims hold, and how many do not."""
        counts = {v: sum(verdict.verdict == v for verdict in self.verdicts) for v in VERDICTS}
        return f"{len(self.verdicts)} claims: " + ", ".join(f"{n} {v}" for v, n in counts.items() if n)


VERDICTS = (HOLDS, FAILS, UNDECIDED, UNMEASURED)


def html(report: Report) -> str:
    """The page."""
    return render(
        "evaluate.html",
        statistics=report.statistics,
        tally=report.tally(),
        left_out=report.left_out,
        claims=_by_experiment(report),
        experiments=[_shown(experiment, report.statistics) for experiment in report.experiments],
        facts=report.facts,
        command=report.command,
    )


def markdown(report: Report) -> str:
    """The claims, and the figures of each experiment, as tables."""
    lines = ["# The paper's evaluation, measured here", "", report.tally() + ".", ""]
    lines += [f"> {line}\n" for line in report.left_out]
    lines += [f"- {name}: {value}" for name, value in report.facts]
    lines += ["", "## Claims", ""]
    for experiment, verdicts in _by_experiment(report):
        lines += [f"### {experiment.title}", "", "| claim | measured | verdict |", "|---|---|---|"]
        lines += [f"| {_cell(v.claim.text)} | {_cell(v.measured)} | {v.verdict} |" for v in verdicts]
        lines.append("")
    lines += ["## Figures", ""]
    for experiment in report.experiments:
        rows = _rows(experiment, report.statistics)
        if rows:
            columns = "mode | part | µs per operation | ± | runs | iterations | extra space"
            head = f"| {experiment.axis} | {columns} |"
            lines += [f"### {experiment.title}", "", head, "|--:|---|---|--:|--:|--:|--:|--:|"]
            lines += [
                f"| {r['size']:,} | {r['mode']} | {r['part']} | {r['time']} | {r['deviation']} | "
                f"{r['runs']} | {r['iterations']} | {r['space']} |"
                for r in rows
            ]
            lines.append("")
    return "\n".join(lines)


def _by_experiment(report: Report) -> list[tuple[Experiment, list[Verdict]]]:
    found = ((e, [v for v in report.verdicts if v.claim.experiment == e.name]) for e in report.experiments)
    return [(experiment, verdicts) for experiment, verdicts in found if verdicts]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _shown(experiment: Experiment, statistics: Statistics) -> dict[str, Any]:
    parts = [ALL] if len(experiment.parts) == 1 else ["query", "updates"]
    charts = [(f"Time, {PARTS[part]}", _chart(experiment, statistics, part, "time", True)) for part in parts]
    charts.append(("Extra space", _chart(experiment, statistics, ALL, "space", True)))
    if 0 in experiment.quick.sizes:  # a share: no logarithms
        charts = [("Time", _chart(experiment, statistics, ALL, "time", False))]
    return {
        "experiment": experiment,
        "program": f"{DRIVERS[experiment.driver].program}.py",
        "labels": [LABELS.get(mode, mode) for mode in experiment.modes],
        "charts": [(caption, chart) for caption, chart in charts if chart is not None],
        "rows": _rows(experiment, statistics),
    }


def _chart(
    experiment: Experiment, statistics: Statistics, part: str, measure: str, logarithmic: bool
) -> Markup | None:
    """The series of all modes; nothing when there are no figures."""
    series = []
    for mode in experiment.modes:
        marks = tuple(
            Mark(e.size, e.value, e.deviation or 0.0)
            for e in statistics.series(experiment.name, mode, part, measure)
        )
        fit = statistics.fit(experiment.name, mode, part, measure)
        series.append(Series(LABELS.get(mode, mode), marks, _curve(fit, logarithmic)))
    if not any(mark.y > 0 for s in series for mark in s.marks):
        return None
    return draw_chart(
        series, f"{experiment.title}: {MEASURES[measure]}", experiment.axis, MEASURES[measure], logarithmic
    )


def _curve(fit: Fit | None, logarithmic: bool) -> Any:
    if fit is None or math.isnan(fit.exponent):
        return None
    if logarithmic:
        return lambda x: fit.scale * x**fit.exponent
    return lambda x: fit.intercept + fit.slope * x


def _rows(experiment: Experiment, statistics: Statistics) -> list[dict[str, Any]]:
    """One row for each size, mode and part, with all measures beside each other."""
    here = [e for e in statistics.estimates if e.experiment == experiment.name]
    order = {mode: number for number, mode in enumerate(experiment.modes)}
    here.sort(key=lambda e: (e.size, order.get(e.mode, 99), e.part))
    rows = []
    for (size, mode, part), group in groupby(here, lambda e: (e.size, e.mode, e.part)):
        of = {e.measure: e for e in group}
        time = of.get("time")
        rows.append(
            {
                "size": size, "mode": mode, "part": PARTS.get(part, part),
                "time": _figure(time.value if time else None),
                "deviation": _figure(time.deviation if time else None),
                "runs": time.runs if time else 0,
                "iterations": _figure(of["iterations"].value if "iterations" in of else None),
                "space": f"{of['space'].value:,.0f}" if "space" in of else "",
            }
        )  # fmt: skip
    return rows


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3g}"


def summary(verdicts: Sequence[Verdict]) -> list[str]:
    """What does not hold, a line each."""
    return [f"{v.claim.experiment}: {v.claim.text}: {v.measured}" for v in verdicts if v.verdict == FAILS]
