"""The report: one page that needs nothing else, the same tables as Markdown, and a summary for a README."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from markupsafe import Markup

from incoq.evaluate.checks import FAILS, HOLDS, UNDECIDED, UNMEASURED
from incoq.evaluate.claims import Verdict
from incoq.evaluate.drivers import ALL, DRIVERS
from incoq.evaluate.experiments import Experiment
from incoq.evaluate.rows import SPREAD
from incoq.evaluate.statistics import MEASURES, Fit, Statistics
from incoq.evaluate.tables import THREADED_NOTE, complexities, peers, shown, spread
from incoq.evaluate.transformation import Transformed
from incoq.evaluate.versions import LABELS
from incoq.pages import render
from incoq.pages.draw_chart import Mark, Series, draw_chart

PARTS = {
    "all": "updates with queries", "updates": "updates alone", "query": "queries alone",
    "follows": "exchanges of followers",
}  # fmt: skip
VERDICTS = (HOLDS, FAILS, UNDECIDED, UNMEASURED)
_PLURAL = {HOLDS: "hold", FAILS: "do not hold", UNDECIDED: UNDECIDED, UNMEASURED: UNMEASURED}


@dataclass(frozen=True)
class Report:
    """All that is shown; `left_out` is what this run did not do, `cut` what no run does, `facts` how."""

    experiments: tuple[Experiment, ...]
    statistics: Statistics
    verdicts: tuple[Verdict, ...]
    transformed: tuple[Transformed, ...]
    left_out: tuple[str, ...]
    cut: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    command: str

    @property
    def less(self) -> str:
        return f"Less than the published settings: {'; '.join(self.cut)}."

    def tally(self) -> str:
        """How many claims hold, and how many do not."""
        counts = {v: sum(verdict.verdict == v for verdict in self.verdicts) for v in VERDICTS}
        found = ", ".join(f"{n} {_PLURAL[v] if n > 1 else v}" for v, n in counts.items() if n)
        return f"{len(self.verdicts)} claims: {found}"


def html(report: Report) -> str:
    """The page."""
    return render(
        "evaluate.html",
        statistics=report.statistics,
        tally=report.tally(),
        left_out=report.left_out,
        cut=report.cut,
        verdicts=report.verdicts,
        complexities=complexities(report.statistics),
        transformed=[
            {"name": found.name, "cells": list(zip(*transformation_cells(found), strict=True))}
            for found in report.transformed
        ],
        peers=peers(report.experiments, report.statistics),
        threaded=THREADED_NOTE,
        experiments=[_shown(experiment, report.statistics) for experiment in report.experiments],
        spread=spread(report.statistics, SPREAD),
        allowed=f"{SPREAD:.0%}",
        facts=report.facts,
        command=report.command,
    )


def markdown(report: Report) -> str:
    """The claims, the tables, and the figures of each experiment."""
    lines = ["# The paper's evaluation, measured here", "", report.tally() + ".", ""]
    lines += [f"> {line}\n" for line in (*report.left_out, report.less)]
    lines += [f"- {name}: {value}" for name, value in report.facts]
    lines.append(f"- standard deviation below {SPREAD:.0%} of the mean: {spread(report.statistics, SPREAD)}")
    lines += ["", "## Claims", ""]
    head = ("claim", "where", "measured", "verdict", "rests on")
    rows = []
    for verdict in report.verdicts:
        measured = "<br>".join(f"{f.measured}: {f.verdict}" for f in verdict.findings)
        measured += f"<br>*{verdict.reason}*" if verdict.reason else ""
        rests = "<br>".join(dict.fromkeys(f.rests_on for f in verdict.findings))
        rows.append((verdict.claim.text, verdict.claim.source, measured, verdict.verdict, rests))
    lines += _table(head, rows)
    lines += _complexity_table(report) + _transformation_table(report)
    for variant in peers(report.experiments, report.statistics):
        lines += [f"## {variant.experiment.title}", "", variant.experiment.note, ""]
        lines += [*_peer_table(variant), THREADED_NOTE, ""]
    lines += ["## Figures", ""]
    for experiment in report.experiments:
        figures = _rows(experiment, report.statistics)
        if figures:
            columns = ("mode", "part", "µs per operation", "±", "runs", "iterations", "extra space", "MiB")
            names = ("mode", "part", "time", "deviation", "runs", "iterations", "space", "memory")
            cells = [(f"{row['size']:,}", *(str(row[name]) for name in names)) for row in figures]
            lines += [f"### {experiment.title}", "", *_table((experiment.axis, *columns), cells)]
    return "\n".join(lines)


def summary(report: Report) -> str:
    """What a README says: every claim with its verdict, and the peers at the largest size."""
    measured = dict(report.facts)
    cut = any(v.verdict == UNMEASURED for v in report.verdicts)
    sentences = (
        f"{report.tally()}. {report.statistics.samples:,} samples, {measured.get('machine', '')}, "
        f"Python {measured.get('Python', '')}.",
        f"The standard deviation of the runs is below {SPREAD:.0%} of their mean "
        f"{spread(report.statistics, SPREAD)}.",
        "The run was cut short before the rest." if cut else "",
    )
    lines = [
        " ".join(sentences).rstrip(),
        "",
        *_table(
            ("claim of the paper", "verdict"),
            [(v.claim.text, f"{v.verdict}: {v.reason}" if v.reason else v.verdict) for v in report.verdicts],
        ),
    ]
    for variant in peers(report.experiments, report.statistics):
        lines += [
            f"{variant.experiment.title}. {variant.experiment.note} µs per operation by number of users; × "
            "is the time, at the largest size, over that of the filtered program.",
            "",
        ]
        lines += _peer_table(variant)
    return "\n".join(lines).rstrip() + "\n"


BEGIN, END = "<!-- evaluation:begin -->\n", "<!-- evaluation:end -->"


def put_into(text: str, summary: str) -> str:
    """The text with the summary between its marks.

    >>> put_into(f"before\\n{BEGIN}old\\n{END}\\nafter", "new\\n").splitlines()
    ['before', '<!-- evaluation:begin -->', 'new', '<!-- evaluation:end -->', 'after']
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no place for a summary: {BEGIN.strip()} and {END}")
    return before + BEGIN + summary + END + after


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Lines of a table, with an empty one after it."""
    body = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *body, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _complexity_table(report: Report) -> list[str]:
    found = complexities(report.statistics)
    if not found:
        return []
    head = ("program", "operation", "analysed", "on this data", "exponent of iterations", "exponent of time")
    rows = [(c.program, c.operation, c.analysed, c.order, c.iterations, c.time) for c in found]
    return ["## Table 2: analysed complexities beside measured growth", "", *_table(head, rows)]


def _transformation_table(report: Report) -> list[str]:
    if not report.transformed:
        return []
    head = ("program", "LOC", "queries", "updates", "incremental LOC / s", "filtered LOC / s")
    rows = []
    for found in report.transformed:
        ours, paper = transformation_cells(found)
        rows += [(found.name, *ours), ("the paper's", *paper)]
    return ["## Table 3: programs and their transformation", "", *_table(head, rows)]


def transformation_cells(found: Transformed) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Our figures and the paper's, as text."""

    def cells(figures: Any) -> tuple[str, ...]:
        pairs = (figures.incremental, figures.filtered)
        results = ("N/A" if pair is None else f"{pair[0]:,} / {pair[1]:.2f}" for pair in pairs)
        return (str(figures.lines), str(figures.queries), str(figures.updates), *results)

    return cells(found.ours), cells(found.paper)


def _peer_table(variant: Any) -> list[str]:
    head = ("", *(f"{size:,}" for size in variant.sizes), "×", "MiB", "runs")
    return _table(head, [(p.name, *p.times, p.ratio, p.memory, str(p.runs)) for p in variant.rows])


def _shown(experiment: Experiment, statistics: Statistics) -> dict[str, Any]:
    parts = ["query", "updates"] if "updates" in experiment.parts else list(experiment.parts)
    charts = [(f"Time, {PARTS[part]}", _chart(experiment, statistics, part, "time", True)) for part in parts]
    charts.append(("Extra space", _chart(experiment, statistics, ALL, "space", True)))
    if experiment.driver == "peers":
        charts.append(("Memory", _chart(experiment, statistics, ALL, "memory", True)))
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
    if logarithmic and fit.scale > 0:
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
                "memory": f"{of['memory'].value:,.0f}" if "memory" in of else "",
            }
        )  # fmt: skip
    return rows


def _figure(value: float | None) -> str:
    return "" if value is None else shown(value)
