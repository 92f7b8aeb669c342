"""Checks of what was measured: growth, trends and comparisons, each with its verdict and what it rests on.

A growth order k holds when the fitted exponent is within a quarter of k and its 95% confidence interval no
wider than half to each side; it does not hold when the whole interval lies further away than a quarter.
Anything between is undecided, and is said to be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from incoq.evaluate.statistics import Estimate, Fit, Statistics, fit_power

HOLDS, FAILS, UNDECIDED, UNMEASURED = "holds", "does not hold", "undecided", "not measured"
_NEAR, _WIDE = 0.25, 0.5
QUERY = "query"
ORDERS = {0: "constant", 1: "linear", 2: "quadratic"}
_SHOWN = {
    "time": "time",
    "iterations": "iterations",
    "steps": "steps",
    "space": "extra space",
    "memory": "memory",
}
PARTS = {"all": "", "updates": "updates: ", "query": "queries: ", "follows": "exchanges: "}


@dataclass(frozen=True)
class Finding:
    """What a check found; `rests_on` names the rows."""

    measured: str
    verdict: str
    rests_on: str


@dataclass(frozen=True)
class Series:
    """One version's figures in an experiment."""

    experiment: str
    mode: str
    part: str
    measure: str

    def __str__(self) -> str:
        return f"{self.experiment}, {PARTS.get(self.part, '')}{_SHOWN[self.measure]}, {self.mode}"

    def of(self, statistics: Statistics) -> list[Estimate]:
        return statistics.series(self.experiment, self.mode, self.part, self.measure)

    def fit(self, statistics: Statistics) -> Fit | None:
        return statistics.fit(self.experiment, self.mode, self.part, self.measure)

    def rows(self, statistics: Statistics) -> str:
        sizes = ", ".join(f"{estimate.size:,}" for estimate in self.of(statistics)) or "none"
        part = "all less updates" if self.part == QUERY else self.part
        return f"{self.experiment}: {self.mode}; {part}; sizes {sizes}"


@dataclass(frozen=True)
class Growth:
    """A series grows with the size by this order."""

    series: Series
    order: int

    def check(self, statistics: Statistics) -> Finding:
        rests = self.series.rows(statistics)
        if not self.series.of(statistics):
            return Finding(f"{self.series}: no samples", UNMEASURED, rests)
        fit = self.series.fit(statistics)
        if fit is None:
            return Finding(f"{self.series}: fewer than three sizes", UNDECIDED, rests)
        if math.isnan(fit.exponent):
            return Finding(f"{self.series}: not above zero", UNDECIDED, rests)
        kind = "exponent" if fit.scale > 0 or fit.exponent == 0 else "exponent of a weighted line"
        found = f"{_rounded(fit.exponent)} ± {_number(fit.half_width)}"
        shown = f"{self.series}: {kind} {found}, claimed {self.order}"
        return Finding(shown, order_holds(self.order, fit.exponent, fit.half_width), rests)


@dataclass(frozen=True)
class Trend:
    """A series rises or falls with the axis."""

    series: Series
    rises: bool

    def check(self, statistics: Statistics) -> Finding:
        rests = self.series.rows(statistics)
        fit = self.series.fit(statistics)
        if fit is None:
            verdict = UNDECIDED if self.series.of(statistics) else UNMEASURED
            return Finding(f"{self.series}: fewer than three sizes", verdict, rests)
        claimed = "rises" if self.rises else "falls"
        shown = f"{self.series}: slope {fit.slope:+.2g} ± {_number(fit.slope_half_width)}, claimed: {claimed}"
        if abs(fit.slope) <= fit.slope_half_width or math.isnan(fit.slope):
            return Finding(shown, UNDECIDED, rests)
        return Finding(shown, HOLDS if (fit.slope > 0) is self.rises else FAILS, rests)


@dataclass(frozen=True)
class Less:
    """One version needs at most `ratio` of another: at the largest size of both, or at a share of it.

    Or in the mean, the geometric one over all sizes that both have.
    """

    series: Series
    than: str
    ratio: float
    at: float | Literal["smallest", "mean"] = 1.0

    def check(self, statistics: Statistics) -> Finding:
        other = Series(self.series.experiment, self.than, self.series.part, self.series.measure)
        mine, theirs = ({e.size: e for e in s.of(statistics)} for s in (self.series, other))
        rests = f"{self.series.rows(statistics)}; and {self.than}"
        common = sorted(mine.keys() & theirs.keys())
        if not common:
            return Finding(f"{self.series}: no samples to compare with {self.than}", UNMEASURED, rests)
        sizes = self._sizes(common)
        if any(mine[size].value <= 0 or theirs[size].value <= 0 for size in sizes):
            return Finding(f"{self.series}: nothing to compare with", UNDECIDED, rests)
        ratio, error = _mean_ratio([(mine[size], theirs[size]) for size in sizes])
        verdict = HOLDS if ratio <= self.ratio else FAILS
        if abs(ratio - self.ratio) < error:
            verdict = UNDECIDED
        spread = "unknown, one run" if math.isinf(error) else _rounded(error)
        claimed = f"claimed at most {self.ratio:g}"
        where = f"at {sizes[0]:,}" if len(sizes) == 1 else f"in the mean of {len(sizes)} sizes"
        shown = f"{self.series}: {_rounded(ratio)} ± {spread} of {self.than} {where}, {claimed}"
        return Finding(shown, verdict, rests)

    def _sizes(self, common: list[int]) -> list[int]:
        match self.at:
            case "mean":
                return common
            case "smallest":
                return common[:1]
            case share:
                return [min(common, key=lambda size: abs(size - share * common[-1]))]


@dataclass(frozen=True)
class Outgrown:
    """How many times a series another version's is grows with the size.

    The ratio is fitted, not the two: what bends both in the same way does not bend it.
    """

    series: Series
    than: str

    def check(self, statistics: Statistics) -> Finding:
        other = Series(self.series.experiment, self.than, self.series.part, self.series.measure)
        rests = f"{self.series.rows(statistics)}; and {self.than}"
        mine, theirs = ({e.size: e.value for e in s.of(statistics)} for s in (self.series, other))
        common = sorted(size for size in mine.keys() & theirs.keys() if mine[size] > 0 and theirs[size] > 0)
        if len(common) < 3:
            measured = UNDECIDED if mine and theirs else UNMEASURED
            return Finding(f"{self.series}: fewer than three sizes beside {self.than}", measured, rests)
        exponent, width = fit_power([(size, theirs[size] / mine[size]) for size in common])
        least, most = (theirs[size] / mine[size] for size in (common[0], common[-1]))
        shown = (
            f"{self.series}: {self.than} is {least:.2g} to {most:.2g} times that, with an exponent of "
            f"{_rounded(exponent)} ± {_number(width)}"
        )
        verdict = UNDECIDED if abs(exponent) <= width else HOLDS if exponent > 0 else FAILS
        return Finding(shown, verdict, rests)


@dataclass(frozen=True)
class Advantages:
    """How many times faster a version is than another rises from experiment to experiment."""

    series: tuple[Series, ...]
    than: str

    def check(self, statistics: Statistics) -> Finding:
        rests = "; ".join(s.rows(statistics) for s in self.series)
        ratios = []
        for one in self.series:
            other = Series(one.experiment, self.than, one.part, one.measure)
            mine, theirs = ({e.size: e for e in s.of(statistics)} for s in (one, other))
            common = mine.keys() & theirs.keys()
            if not common or mine[max(common)].value <= 0:
                return Finding("no samples", UNMEASURED, rests)
            ratios.append(_ratio(theirs[max(common)], mine[max(common)]))
        pairs = zip(self.series, ratios, strict=True)
        shown = ", ".join(
            f"{s.experiment}: {self.than} {ratio:.1f} ± {_number(error)} times as long"
            for s, (ratio, error) in pairs
        )
        verdicts = [
            UNDECIDED if abs(more - less) < math.hypot(off, width) else HOLDS if more > less else FAILS
            for (less, off), (more, width) in pairwise(ratios)
        ]
        return Finding(shown, combined(verdicts), rests)


Check = Growth | Trend | Less | Outgrown | Advantages


def experiments_of(check: Check) -> tuple[str, ...]:
    """The experiments whose rows a check reads."""
    if isinstance(check, Advantages):
        return tuple(series.experiment for series in check.series)
    return (check.series.experiment,)


def combined(verdicts: Sequence[str]) -> str:
    """The verdict on a claim that asserts all of this.

    >>> combined([HOLDS, FAILS]), combined([HOLDS, UNDECIDED]), combined([HOLDS, HOLDS])
    ('does not hold', 'undecided', 'holds')
    """
    if FAILS in verdicts:
        return FAILS
    if all(verdict == HOLDS for verdict in verdicts):
        return HOLDS
    return UNMEASURED if all(verdict == UNMEASURED for verdict in verdicts) else UNDECIDED


def order_holds(order: int, exponent: float, half_width: float) -> str:
    """Whether an exponent with its interval is of this order.

    >>> order_holds(1, 0.95, 0.1), order_holds(1, 0.2, 0.1), order_holds(1, 0.7, 0.2)
    ('holds', 'does not hold', 'undecided')
    """
    if math.isnan(exponent) or math.isnan(half_width):
        return UNDECIDED
    distance = abs(exponent - order)
    if distance <= _NEAR and half_width <= _WIDE:
        return HOLDS
    return FAILS if distance - half_width > _NEAR else UNDECIDED


def _ratio(one: Estimate, other: Estimate) -> tuple[float, float]:
    """How many times one is the other, and the uncertainty of that."""
    ratio = one.value / other.value
    return ratio, abs(ratio) * math.hypot(_relative(one), _relative(other))


def _mean_ratio(pairs: Sequence[tuple[Estimate, Estimate]]) -> tuple[float, float]:
    """The geometric mean of the ratios, and its uncertainty."""
    ratios = [_ratio(one, other) for one, other in pairs]
    mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
    return mean, mean * math.hypot(*(error / ratio for ratio, error in ratios)) / len(ratios)


def _relative(estimate: Estimate) -> float:
    """Twice the standard error of the mean, as a part of it."""
    if estimate.measure != "time" or not estimate.value:
        return 0.0
    if estimate.deviation is None or estimate.runs < 2:
        return math.inf
    return 2 * estimate.deviation / math.sqrt(estimate.runs) / abs(estimate.value)


def _rounded(value: float) -> str:
    """Two decimals, or as many as show something.

    >>> [_rounded(value) for value in (1.234, 0.000123, -0.001, 0)]
    ['1.23', '0.00012', '-0.001', '0']
    """
    return f"{value:.2f}" if abs(value) >= 0.005 else f"{value:.2g}"


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.2g}"
