"""Tables of the report that put figures of several series side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from incoq.evaluate.drivers import ALL, UPDATES
from incoq.evaluate.experiments import Experiment
from incoq.evaluate.peers import PEERS, THREADED
from incoq.evaluate.statistics import Statistics
from incoq.evaluate.versions import LABELS

QUERY = "query"


@dataclass(frozen=True)
class Complexity:
    """A row of the paper's Table 2: what it analyses, what that is on this data, and what was measured."""

    program: str
    operation: str
    analysed: str
    order: str
    iterations: str
    time: str


_LINEAR, _CONSTANT = "linear in the users", "constant"
_ANALYSED = (
    ("original", QUERY, "query", "O(#celeb.followers + #group)", _LINEAR),
    ("original", UPDATES, "update", "O(1)", _CONSTANT),
    ("incremental", QUERY, "query", "O(1)", _CONSTANT),
    ("incremental", UPDATES, "update", "O(#inv_member{user} × #U.2{1=celeb})", _LINEAR),
    ("filtered", QUERY, "query", "O(1)", _CONSTANT),
    ("filtered", UPDATES, "update", "O(#fil_inv_member_1{user} × #U.2{1=celeb})", _CONSTANT),
)


def complexities(statistics: Statistics, experiment: str = "running-size") -> list[Complexity]:
    """The paper's Table 2 beside the growth that was measured; nothing when it was not."""

    def exponent(mode: str, part: str, measure: str) -> str:
        fit = statistics.fit(experiment, mode, part, measure)
        if fit is None:
            return ""
        if math.isnan(fit.exponent) and measure == "iterations":  # a loop that hardly any operation enters
            return f"{exponent(mode, part, 'steps')} with the operation"
        if math.isnan(fit.exponent):
            return "not above zero"
        return f"{round(fit.exponent, 2) + 0.0:.2f} ± {fit.half_width:.2f}"  # no -0.00

    if not statistics.series(experiment, "original", ALL, "time"):
        return []
    return [
        Complexity(
            mode, name, analysed, order, exponent(mode, part, "iterations"), exponent(mode, part, "time")
        )
        for mode, part, name, analysed, order in _ANALYSED
    ]


@dataclass(frozen=True)
class Peer:
    """What one operation takes with a peer, and how many times that is what the filtered program takes."""

    name: str
    times: tuple[str, ...]
    ratio: str
    memory: str
    runs: int


@dataclass(frozen=True)
class Peers:
    experiment: Experiment
    sizes: tuple[int, ...]
    rows: tuple[Peer, ...]


def peers(experiments: Sequence[Experiment], statistics: Statistics) -> list[Peers]:
    """Each variant of the running example: µs per operation at each size, slowest last."""
    found = []
    for experiment in experiments:
        if experiment.driver != "peers":
            continue
        series = {mode: statistics.series(experiment.name, mode, ALL, "time") for mode in experiment.modes}
        sizes = tuple(sorted({e.size for estimates in series.values() for e in estimates}))
        if not sizes:
            continue
        base = {e.size: e.value for e in series["filtered"]}
        rows = []
        for mode, estimates in series.items():
            if estimates:
                times = {e.size: e.value for e in estimates}
                memory = {e.size: e.value for e in statistics.series(experiment.name, mode, ALL, "memory")}
                last = max(times)
                rows.append(
                    (
                        times[last],
                        Peer(
                            LABELS.get(mode, mode),
                            tuple(shown(times[n]) if n in times else "" for n in sizes),
                            f"{times[last] / base[last]:,.1f}" if base.get(last, 0) > 0 else "",
                            f"{memory[last]:,.0f}" if last in memory else "",
                            min(e.runs for e in estimates),
                        ),
                    )
                )
        found.append(
            Peers(experiment, sizes, tuple(peer for _, peer in sorted(rows, key=lambda row: row[0])))
        )
    return found


@dataclass(frozen=True)
class Spread:
    """Of the timed points, those whose runs differ by more than the protocol allows, each as a line."""

    points: int
    wide: tuple[str, ...]

    def __str__(self) -> str:
        return f"at {self.points - len(self.wide):,} of {self.points:,} timed points"


def spread(statistics: Statistics, allowed: float) -> Spread:
    """How many points have a standard deviation below the allowed part of their mean, and which have not.

    The loop with queries and the one without are points of their own; their difference is none.
    """
    timed = [e for e in statistics.estimates if e.measure == "time" and e.part != QUERY]
    wide = [e for e in timed if e.deviation is None or e.deviation >= allowed * e.value]
    lines = (
        f"{e.experiment}, {e.mode}, {e.part}, {e.size:,}: "
        + (f"{e.deviation / e.value:.0%} in {e.runs} runs" if e.deviation is not None else "one run")
        for e in wide
    )
    return Spread(len(timed), tuple(lines))


def shown(value: float) -> str:
    """A figure with three digits, or whole when it is large.

    >>> shown(0.12345), shown(1234.5), shown(12.345)
    ('0.123', '1,234', '12.3')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


_NAMES = ", ".join(sorted(PEERS[mode].partition(",")[0] for mode in THREADED))
THREADED_NOTE = f"{_NAMES} start threads, so they are not forked: each of their runs loads its data anew."
