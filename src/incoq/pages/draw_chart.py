"""Draw several measured series over sizes as SVG: points with error bars, and the curve fitted to each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

_WIDTH, _HEIGHT = 640, 340
_LEFT, _BOTTOM, _TOP, _RIGHT = 70, 44, 12, 14


@dataclass(frozen=True)
class Mark:
    """A measured value; `error` reaches to both sides of it."""

    x: float
    y: float
    error: float = 0.0


@dataclass(frozen=True)
class Series:
    """What was measured, and what was fitted to it, if anything."""

    label: str
    marks: tuple[Mark, ...]
    fitted: Callable[[float], float] | None = None


def draw_chart(series: Sequence[Series], title: str, below: str, beside: str, logarithmic: bool) -> Markup:
    """The chart with its axes; logarithmic axes leave out what is not above zero."""
    shown = [Series(s.label, _drawable(s.marks, logarithmic), s.fitted) for s in series]
    xs = [m.x for s in shown for m in s.marks] or [1.0]
    ys = [y for s in shown for m in s.marks for y in (m.y, m.y + m.error)] or [1.0]
    across = _Axis(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT, logarithmic)
    up = _Axis(min(ys) if logarithmic else 0.0, max(ys), _HEIGHT - _BOTTOM, _TOP, logarithmic)
    parts = [
        Markup('<path class="axis" d="M{},{}V{}H{}"/>').format(
            _LEFT, _TOP, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        ),
        *(_tick_below(across(x), x) for x in across.ticks()),
        *(_tick_beside(up(y), y) for y in up.ticks()),
        Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(_WIDTH - _RIGHT, _HEIGHT - 6, below),
        Markup('<text x="{}" y="{}">{}</text>').format(_LEFT + 8, _TOP + 10, beside),
    ]  # fmt: skip
    for number, one in enumerate(shown):
        parts.append(_drawn(one, number, across, up))
    return Markup(
        '<svg class="plot chart" role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}">'
        "<title>{title}</title>{parts}</svg>"
    ).format(w=_WIDTH, h=_HEIGHT, title=title, parts=Markup("").join(parts))


class _Axis:
    """Leads values to pixels."""

    def __init__(self, low: float, high: float, first: float, last: float, logarithmic: bool) -> None:
        self.logarithmic = logarithmic
        if logarithmic:
            low, high = math.log10(low) - 0.05, math.log10(high) + 0.05
        if high <= low:
            high = low + 1
        self.low, self.high, self.first, self.last = low, high, first, last

    def __call__(self, value: float) -> float:
        place = math.log10(value) if self.logarithmic else value
        return self.first + (self.last - self.first) * (place - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """A few round values within the axis."""
        if self.logarithmic:
            powers = range(math.floor(self.low), math.ceil(self.high) + 1)
            steps = (1, 2, 5) if self.high - self.low < 2.5 else (1,)
            values = [step * 10.0**power for power in powers for step in steps]
            return [v for v in values if self.low <= math.log10(v) <= self.high]
        step = 10.0 ** math.floor(math.log10(self.high - self.low))
        if (self.high - self.low) / step < 4:
            step /= 2
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _drawable(marks: Sequence[Mark], logarithmic: bool) -> tuple[Mark, ...]:
    return tuple(m for m in marks if not logarithmic or (m.x > 0 and m.y > 0))


def _drawn(series: Series, number: int, across: _Axis, up: _Axis) -> Markup:
    """The marks of a series with their error bars, and its curve from the first mark to the last."""
    parts = []
    if series.fitted is not None and len(series.marks) > 1:
        first, last = series.marks[0].x, series.marks[-1].x
        points = [first + (last - first) * n / 40 for n in range(41)]
        curve = [(x, series.fitted(x)) for x in points]
        places = [(across(x), up(y)) for x, y in curve if y > 0 or not up.logarithmic]
        inside = [(x, min(max(y, _TOP), _HEIGHT - _BOTTOM)) for x, y in places]
        path = "L".join(f"{x:.1f},{y:.1f}" for x, y in inside)
        parts.append(Markup('<path class="fitted" d="M{}"/>').format(path))
    for mark in series.marks:
        x, y = across(mark.x), up(mark.y)
        if mark.error:
            lowest = mark.y - mark.error
            bottom = up(lowest) if lowest > 0 or not up.logarithmic else _HEIGHT - _BOTTOM
            bottom = min(bottom, _HEIGHT - _BOTTOM)
            parts.append(
                Markup('<path class="error" d="M{x:.1f},{top:.1f}V{bottom:.1f}M{l:.1f},{top:.1f}h6M{l:.1f},'
                       '{bottom:.1f}h6"/>').format(x=x, l=x - 3, top=up(mark.y + mark.error), bottom=bottom)
            )  # fmt: skip
        parts.append(Markup('<circle cx="{:.1f}" cy="{:.1f}" r="3.5"/>').format(x, y))
    return Markup('<g class="s{number}"><title>{label}</title>{parts}</g>').format(
        number=number, label=series.label, parts=Markup("").join(parts)
    )


def _tick_below(x: float, value: float) -> Markup:
    return Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
        x, _HEIGHT - _BOTTOM + 16, _short(value)
    )


def _tick_beside(y: float, value: float) -> Markup:
    return Markup(
        '<path class="axis" d="M{},{y:.1f}H{}"/><text x="{}" y="{base:.1f}" text-anchor="end">{}</text>'
    ).format(_LEFT, _WIDTH - _RIGHT, _LEFT - 6, _short(value), y=y, base=y + 4)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
