"""The paper's claims, as data, and the judgement of each by what was measured.

A growth order k holds when the fitted exponent is within a quarter of k and its 95% confidence interval no
wider than half to each side; it does not hold when the whole interval lies further away than a quarter.
Anything between is undecided, and is said to be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from incoq.evaluate.drivers import ALL, UPDATES
from incoq.evaluate.statistics import Estimate, Statistics

HOLDS, FAILS, UNDECIDED, UNMEASURED = "holds", "does not hold", "undecided", "not measured"
_NEAR, _WIDE = 0.25, 0.5
QUERY = "query"
ORDERS = {0: "constant", 1: "linear", 2: "quadratic"}


@dataclass(frozen=True)
class Growth:
    """Something grows with the size by this order, within the range of sizes up to `limit`."""

    experiment: str
    mode: str
    part: str
    measure: str
    order: int
    what: str

    @property
    def text(self) -> str:
        return f"{self.what}: {ORDERS[self.order]}"


@dataclass(frozen=True)
class Trend:
    """Something rises or falls with the axis."""

    experiment: str
    mode: str
    part: str
    measure: str
    rises: bool
    what: str

    @property
    def text(self) -> str:
        return f"{self.what}: {'rises' if self.rises else 'falls'}"


@dataclass(frozen=True)
class Less:
    """One mode needs less than another: at most `ratio` of it, at the largest size, or at the smallest."""

    experiment: str
    mode: str
    than: str
    part: str
    measure: str
    ratio: float
    what: str
    at_smallest: bool = False

    @property
    def text(self) -> str:
        return self.what


Claim = Growth | Trend | Less


@dataclass(frozen=True)
class Verdict:
    """A claim, what was measured, and whether it holds; `rests_on` names the rows."""

    claim: Claim
    measured: str
    verdict: str
    rests_on: str


def _growths(
    experiment: str, part: str, measure: str, what: str, orders: dict[str, int]
) -> tuple[Growth, ...]:
    return tuple(
        Growth(experiment, mode, part, measure, order, f"{what}, {mode}") for mode, order in orders.items()
    )


_LINEAR_TO_CONSTANT = {"original": 1, "incremental": 0, "filtered": 0}
_SIZES = [
    claim
    for experiment in ("running-size", "running-zipf")
    for claim in (
        *_growths(experiment, QUERY, "iterations", "iterations of a query", {"original": 1}),
        *_growths(experiment, QUERY, "time", "time of a query", _LINEAR_TO_CONSTANT),
        *_growths(experiment, UPDATES, "time", "time of an update",
                  {"original": 0, "incremental": 1, "filtered": 0}),
        *_growths(experiment, UPDATES, "iterations", "iterations of an update", {"incremental": 1}),
        *_growths(experiment, UPDATES, "steps", "steps of an update", {"filtered": 0}),
        *_growths(experiment, ALL, "space", "extra space", {"incremental": 2, "filtered": 1}),
    )
]  # fmt: skip

CLAIMS: tuple[Claim, ...] = (
    *_SIZES,
    *_growths("running-big", QUERY, "time", "time of a query", _LINEAR_TO_CONSTANT),
    *_growths("running-big", UPDATES, "time", "time of an update", {"original": 0, "filtered": 0}),
    Less("running-demand", "filtered", "incremental", ALL, "time", 0.9,
         "with little demanded, filtered is faster", at_smallest=True),
    Less("running-demand", "filtered", "incremental", ALL, "space", 0.5,
         "with little demanded, filtered needs far less space", at_smallest=True),
    Trend("running-demand", "filtered", ALL, "space", True, "extra space with the demand set, filtered"),
    Trend("running-demand", "filtered", ALL, "iterations", True, "iterations with the demand set, filtered"),
    *_growths("running-osq", ALL, "iterations", "iterations", {"filtered": 0, "osq": 1}),
    *_growths("running-osq", ALL, "time", "time", {"filtered": 0, "osq": 1}),
    Trend("jql-ratio", "original", ALL, "time", True, "time with the share of queries, original"),
    Trend("jql-ratio", "incremental", ALL, "time", False, "time with the share of queries, incremental"),
    Trend("jql-ratio", "filtered", ALL, "time", False, "time with the share of queries, filtered"),
    Less("jql-size", "incremental", "filtered", ALL, "time", 1.0, "incremental is faster than filtered"),
    Less("jql-size", "filtered", "jql", ALL, "time", 1.0, "filtered is faster than JQL (emulated)"),
    *(claim for name in ("jql1-size", "jql-size", "jql3-size") for claim in
      _growths(name, ALL, "time", "time of an operation", {"incremental": 0, "filtered": 0})),
    *_growths("jql-size", ALL, "iterations", "iterations of an operation", {"jql": 1}),
    *(claim for name in ("wifi", "auth") for claim in (
        *_growths(name, ALL, "iterations", "iterations per step, so the total is one order more",
                  _LINEAR_TO_CONSTANT),
        *_growths(name, ALL, "time", "time per step, so the total is one order more", _LINEAR_TO_CONSTANT),
    )),
    Less("wifi", "filtered", "osq", ALL, "time", 1.0, "filtered is faster than OSQ (emulated)"),
    Less("auth", "filtered", "osq", ALL, "time", 0.8, "filtered is over 20% faster than OSQ (emulated)"),
    *_growths("access-roles", QUERY, "iterations", "iterations of a check", {"original": 1}),
    *_growths("access-roles", QUERY, "time", "time of the checks of a session",
              {"original": 1, "incremental": 0, "filtered": 0}),
    Less("access-roles", "filtered", "incremental", UPDATES, "time", 1.25,
         "everything demanded: filtering costs a session at most a quarter more"),
    Less("access-demand", "filtered", "incremental", UPDATES, "time", 0.33,
         "little demanded: creating and deleting sessions is about 67% cheaper", at_smallest=True),
    *_growths("ssd", ALL, "iterations", "iterations per user, so the total is one order more",
              {"incremental": 1, "filtered": 1}),
    *_growths("ssd", ALL, "time", "time per user, so the total is one order more",
              {"incremental": 1, "filtered": 1}),
    *(claim for name in ("la-mutex-rounds",) for claim in
      _growths(name, ALL, "iterations", "iterations of a simulation", {"incremental": 1, "filtered": 1})),
    *(claim for name in ("birthday", "cite-author", "cite-exist") for claim in (
        *_growths(name, ALL, "iterations", "iterations of a resampling", {"original": 1}),
        *_growths(name, ALL, "steps", "steps of a resampling", {"incremental": 0, "filtered": 0}),
        *_growths(name, ALL, "time", "time of a resampling", _LINEAR_TO_CONSTANT),
    )),
)  # fmt: skip


def judge(claims: Sequence[Claim], statistics: Statistics) -> list[Verdict]:
    """Each claim with its verdict, those of one experiment together, in the order given."""
    return [_judged(claim, statistics) for claim in claims]


def _judged(claim: Claim, statistics: Statistics) -> Verdict:
    series = statistics.series(claim.experiment, claim.mode, claim.part, claim.measure)
    rests = _rows(claim.mode, claim, series)
    if not series:
        return Verdict(claim, "no samples", UNMEASURED, rests)
    match claim:
        case Less():
            other = statistics.series(claim.experiment, claim.than, claim.part, claim.measure)
            return _less(claim, series, other, rests)
        case Growth() | Trend():
            fit = statistics.fit(claim.experiment, claim.mode, claim.part, claim.measure)
            if fit is None:
                return Verdict(claim, "fewer than three sizes", UNDECIDED, rests)
            if isinstance(claim, Trend):
                shown = f"slope {fit.slope:+.3g} ± {_number(fit.slope_half_width)}"
                return Verdict(claim, shown, _trend(claim.rises, fit.slope, fit.slope_half_width), rests)
            shown = f"exponent {fit.exponent:.2f} ± {_number(fit.half_width)}"
            return Verdict(claim, shown, order_holds(claim.order, fit.exponent, fit.half_width), rests)


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


def _trend(rises: bool, slope: float, half_width: float) -> str:
    if abs(slope) <= half_width or math.isnan(slope):
        return UNDECIDED
    return HOLDS if (slope > 0) is rises else FAILS


def _less(claim: Less, series: Sequence[Estimate], other: Sequence[Estimate], rests: str) -> Verdict:
    """Compare at the largest, or smallest, size that both have; the spread of both counts."""
    theirs = {estimate.size: estimate for estimate in other}
    common = sorted(estimate.size for estimate in series if estimate.size in theirs)
    if not common:
        return Verdict(claim, "no samples to compare", UNMEASURED, rests)
    size = common[0] if claim.at_smallest else common[-1]
    mine, than = next(e for e in series if e.size == size), theirs[size]
    if than.value <= 0:
        return Verdict(claim, "nothing to compare with", UNDECIDED, rests)
    ratio = mine.value / than.value
    error = ratio * math.hypot(_relative(mine), _relative(than))
    verdict = HOLDS if ratio <= claim.ratio else FAILS
    if abs(ratio - claim.ratio) < error:
        verdict = UNDECIDED
    spread = "unknown, one run" if math.isinf(error) else f"{error:.2f}"
    shown = f"{ratio:.2f} ± {spread} of {claim.than} at {size:,}; claimed: at most {claim.ratio:g}"
    return Verdict(claim, shown, verdict, rests)


def _relative(estimate: Estimate) -> float:
    """Twice the standard error of the mean, as a part of it."""
    if estimate.measure != "time" or not estimate.value:
        return 0.0
    if estimate.deviation is None or estimate.runs < 2:
        return math.inf
    return 2 * estimate.deviation / math.sqrt(estimate.runs) / abs(estimate.value)


def _rows(mode: str, claim: Claim, series: Sequence[Estimate]) -> str:
    sizes = ", ".join(f"{estimate.size:,}" for estimate in series) or "none"
    modes = f"{mode} and {claim.than}" if isinstance(claim, Less) else mode
    part = "all less updates" if claim.part == QUERY else claim.part
    return f"{claim.experiment}: {modes}; {part}; sizes {sizes}"


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.2g}"
