"""Means, spreads and fits, computed by Spark from the rows of samples alone.

Before:    ("running-size", "original", "all", 2000, run 3, 0.041 s, …), …
After:     Estimate("running-size", "original", "query", "time", 2000, 1.7 µs ± 0.1, 10 runs), …
           Fit("running-size", "original", "query", "time", exponent 0.97 ± 0.05, 10 sizes), …

The time of queries alone is that of the loop with queries less that of the same loop without, run by run: the
two of a run are neighbours in time. Space is that after the counted run, where all versions are in the same
state. The exponent
is the slope of the logarithm of the means over the logarithm of the size, by least squares, with its 95%
confidence interval by Student's distribution, whose degrees of freedom are the number of sizes less two.
A difference of times may be below zero at some size, by chance, and has no logarithm there. Then the exponent
is that of a straight line through all differences, each weighted by its certainty, at their weighted mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incoq.evaluate.rows import STOPPED

MEASURES = {
    "time": "µs per operation, CPU time",
    "iterations": "iterations of loops per operation",
    "steps": "operations and iterations of loops, per operation",
    "space": "extra space, in entries",
    "memory": "resident memory added, in MiB",
}

# The 97.5% quantiles of Student's distribution for 1, 2, … degrees of freedom.
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL = 1.960


@dataclass(frozen=True)
class Estimate:
    """What was measured at one point: the mean of all runs and their standard deviation."""

    experiment: str
    mode: str
    part: str
    measure: str
    size: int
    value: float
    deviation: float | None
    runs: int


@dataclass(frozen=True)
class Fit:
    """How a measure grows: value ~ scale × size^exponent, and value ~ intercept + slope × size."""

    experiment: str
    mode: str
    part: str
    measure: str
    sizes: int
    exponent: float
    half_width: float
    """Of the 95% confidence interval of the exponent."""
    scale: float
    """Zero when the exponent is that of a weighted straight line."""
    intercept: float
    slope: float
    slope_half_width: float
    r2: float
    """Of the straight line."""

    @property
    def low(self) -> float:
        return self.exponent - self.half_width

    @property
    def high(self) -> float:
        return self.exponent + self.half_width


@dataclass(frozen=True)
class Problem:
    """A point whose samples failed or were stopped, or whose versions answered differently."""

    experiment: str
    size: int
    what: str


@dataclass(frozen=True)
class Statistics:
    estimates: tuple[Estimate, ...]
    fits: tuple[Fit, ...]
    problems: tuple[Problem, ...]
    stopped: tuple[Problem, ...]
    """Where a version took longer than the limit; it was not measured at larger sizes."""
    samples: int

    def series(self, experiment: str, mode: str, part: str, measure: str) -> list[Estimate]:
        wanted = (experiment, mode, part, measure)
        return [e for e in self.estimates if (e.experiment, e.mode, e.part, e.measure) == wanted]

    def fit(self, experiment: str, mode: str, part: str, measure: str) -> Fit | None:
        wanted = (experiment, mode, part, measure)
        return next((f for f in self.fits if (f.experiment, f.mode, f.part, f.measure) == wanted), None)


_POINTS = """
SELECT experiment, mode, part, size,
       avg(seconds / operations / repeats) * 1e6 AS time,
       stddev_samp(seconds / operations / repeats) * 1e6 AS deviation,
       count(seconds) AS runs,
       max(iterations / operations) AS iterations,
       coalesce(max(CASE WHEN run = 0 THEN space END), max(space)) AS space,
       avg(CASE WHEN run > 0 THEN memory END) / 1048576 AS memory
FROM evaluated_samples WHERE failure = '' GROUP BY experiment, mode, part, size
"""

_WITH_QUERIES_ALONE = """
SELECT * FROM evaluated_points UNION ALL
SELECT experiment, mode, 'query' AS part, size, avg(time) AS time, stddev_samp(time) AS deviation,
       count(time) AS runs, max(iterations) AS iterations, NULL AS space, NULL AS memory
FROM (SELECT a.experiment, a.mode, a.size,
             (a.seconds / a.operations / a.repeats - u.seconds / u.operations / u.repeats) * 1e6 AS time,
             a.iterations / a.operations - u.iterations / u.operations AS iterations
      FROM evaluated_samples a JOIN evaluated_samples u
      ON a.experiment = u.experiment AND a.mode = u.mode AND a.size = u.size AND a.run = u.run
      WHERE a.part = 'all' AND u.part = 'updates' AND a.failure = '' AND u.failure = '')
GROUP BY experiment, mode, size
"""

_ESTIMATES = """
SELECT experiment, mode, part, measure, size, value,
       CASE WHEN measure = 'time' THEN deviation END AS deviation, runs
FROM (SELECT *, stack(5, 'time', time, 'iterations', cast(iterations AS DOUBLE),
                         'steps', 1D + iterations, 'space', cast(space AS DOUBLE),
                         'memory', memory) AS (measure, value)
      FROM evaluated_parts)
WHERE value IS NOT NULL ORDER BY experiment, mode, part, measure, size
"""

# Logarithms need what is above nothing; to leave out a difference of times that is not would bend the fit. A
# loop that is never entered has no growth to fit.
_FITS = """
SELECT l.*, p.n, p.exponent, p.level, p.sxx, p.syy, p.sxy, w.weights, w.mean_x, w.mean_y, w.wxx, w.wyy, w.wxy
FROM
 (SELECT experiment, mode, part, measure, count(*) AS sizes,
         count_if(size > 0) AS positive, regr_slope(value, size) AS slope,
         regr_intercept(value, size) AS intercept, regr_r2(value, size) AS r2,
         regr_sxx(value, size) AS lxx, regr_syy(value, size) AS lyy, regr_sxy(value, size) AS lxy
  FROM evaluated_estimates GROUP BY experiment, mode, part, measure) l
LEFT JOIN
 (SELECT experiment, mode, part, measure, count(*) AS n, regr_slope(ln(value), ln(size)) AS exponent,
         regr_intercept(ln(value), ln(size)) AS level, regr_sxx(ln(value), ln(size)) AS sxx,
         regr_syy(ln(value), ln(size)) AS syy, regr_sxy(ln(value), ln(size)) AS sxy
  FROM evaluated_estimates WHERE value > 0 AND size > 0 GROUP BY experiment, mode, part, measure) p
USING (experiment, mode, part, measure)
LEFT JOIN
 (SELECT experiment, mode, part, measure, sum(w) AS weights,
         sum(w * size) / sum(w) AS mean_x, sum(w * value) / sum(w) AS mean_y,
         sum(w * size * size) - sum(w * size) * sum(w * size) / sum(w) AS wxx,
         sum(w * value * value) - sum(w * value) * sum(w * value) / sum(w) AS wyy,
         sum(w * size * value) - sum(w * size) * sum(w * value) / sum(w) AS wxy
  FROM (SELECT *, runs / (deviation * deviation) AS w FROM evaluated_estimates WHERE deviation > 0)
  WHERE part = 'query' GROUP BY experiment, mode, part, measure) w
USING (experiment, mode, part, measure) ORDER BY experiment, mode, part, measure
"""

_PROBLEMS = """
SELECT experiment, size, concat(mode, ', ', part, ': ', failure) AS what
FROM evaluated_samples WHERE failure <> '' AND NOT startswith(failure, '{stopped}')
UNION ALL
SELECT experiment, size, concat('the versions answer differently: ',
       array_join(array_sort(collect_set(concat(mode, ' ', answers))), ', ')) AS what
FROM evaluated_samples WHERE failure = ''
GROUP BY experiment, size, part, operations HAVING count(DISTINCT answers) > 1
ORDER BY experiment, size, what
"""

_STOPPED = """
SELECT DISTINCT experiment, size, concat(mode, ' ', failure) AS what
FROM evaluated_samples WHERE startswith(failure, '{stopped}') ORDER BY experiment, size, what
"""


def compute(spark: Any, samples: Path) -> Statistics:
    """All statistics of the rows in a folder."""
    rows = spark.read.parquet(str(samples / "*.parquet"))
    rows.createOrReplaceTempView("evaluated_samples")
    for view, text in (
        ("evaluated_points", _POINTS),
        ("evaluated_parts", _WITH_QUERIES_ALONE),
        ("evaluated_estimates", _ESTIMATES),
    ):
        spark.sql(text).cache().createOrReplaceTempView(view)
    estimates = [Estimate(**row.asDict()) for row in spark.sql("SELECT * FROM evaluated_estimates").collect()]
    estimates.sort(key=lambda e: (e.experiment, e.mode, e.part, e.measure, e.size))
    fits = [_fit(row.asDict()) for row in spark.sql(_FITS).collect()]
    problems, stopped = (
        tuple(Problem(**row.asDict()) for row in spark.sql(text.replace("{stopped}", STOPPED)).collect())
        for text in (_PROBLEMS, _STOPPED)
    )
    found = tuple(fit for fit in fits if fit is not None)
    return Statistics(tuple(estimates), found, problems, stopped, rows.count())


def _fit(row: dict[str, Any]) -> Fit | None:
    """A fit needs three sizes, or there is nothing to tell its uncertainty by."""
    if row["sizes"] < 3:
        return None
    powers = row["n"] if row["n"] is not None else 0
    fitted = powers == row["positive"] and powers >= 3
    counted = row["measure"] != "time"
    constant_nothing = counted and powers == 0  # never anything: it does not grow
    if fitted:
        exponent, half = row["exponent"], half_width(powers, row["sxx"], row["syy"], row["sxy"])
    else:
        exponent, half = (0.0, 0.0) if constant_nothing else _at_the_mean(row)
    return Fit(
        row["experiment"], row["mode"], row["part"], row["measure"], row["sizes"], exponent, half,
        math.exp(row["level"]) if fitted else 0.0, row["intercept"], row["slope"],
        half_width(row["sizes"], row["lxx"], row["lyy"], row["lxy"]),
        row["r2"] if row["r2"] is not None else 1.0,  # all values are the same
    )  # fmt: skip


def _at_the_mean(row: dict[str, Any]) -> tuple[float, float]:
    """The exponent of a weighted straight line at the means, slope × x / y, and half of its interval."""
    if row["weights"] is None or row["wxx"] <= 0 or row["mean_y"] <= 0:
        return math.nan, math.nan
    slope, degrees = row["wxy"] / row["wxx"], row["sizes"] - 2
    # The weights say how uncertain each value is; where the values differ more than that, they are scaled.
    scaled = max(1.0, (row["wyy"] - slope * row["wxy"]) / degrees)
    ratio = row["mean_x"] / row["mean_y"]
    exponent = slope * ratio
    off = math.sqrt(scaled * (ratio**2 / row["wxx"] + (exponent / row["mean_y"]) ** 2 / row["weights"]))
    return exponent, _quantile(degrees) * off


def fit_power(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The exponent of the second over the first, all above zero, and half of its interval."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs, strict=True))
    sxx = sum((x - mean_x) ** 2 for x, _ in logs)
    syy = sum((y - mean_y) ** 2 for _, y in logs)
    sxy = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return sxy / sxx, half_width(len(logs), sxx, syy, sxy)


def half_width(points: int, sxx: float, syy: float, sxy: float) -> float:
    """Half of the 95% confidence interval of a slope, from the sums of squares about the means."""
    degrees = points - 2
    if degrees < 1 or sxx <= 0:
        return math.inf
    left = max(0.0, syy - sxy * sxy / sxx)
    return _quantile(degrees) * math.sqrt(left / degrees / sxx)


def _quantile(degrees: int) -> float:
    return _STUDENT[degrees - 1] if degrees <= len(_STUDENT) else _NORMAL
