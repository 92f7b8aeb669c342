"""Draw a curve over time as SVG."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

_WIDTH, _HEIGHT = 640, 150
_LEFT, _BOTTOM, _TOP, _RIGHT = 64, 26, 10, 12


def draw_plot(moments: Sequence[int], values: Sequence[int], title: str, below: str) -> Markup:
    """A step curve of `values` at `moments`; what holds at a moment holds until the next."""
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    last, top = max(moments, default=0) or 1, max(values, default=0) or 1

    def x(moment: int) -> float:
        return _LEFT + (right - _LEFT) * moment / last

    def y(value: int) -> float:
        return bottom - (bottom - _TOP) * value / top

    path = ""
    for number, (moment, value) in enumerate(zip(moments, values, strict=True)):
        path += f"H{x(moment):.1f}V{y(value):.1f}" if number else f"M{x(moment):.1f},{y(value):.1f}"
    return Markup(
        '<svg class="plot" role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}">'
        "<title>{title}</title>"
        '<path class="axis" d="M{left},{top}V{bottom}H{right}"/><path class="series" d="{path}"/>'
        '<text x="{label}" y="{high}" text-anchor="end">{most}</text>'
        '<text x="{label}" y="{bottom}" text-anchor="end">0</text>'
        '<text x="{left}" y="{low}">0</text>'
        '<text x="{right}" y="{low}" text-anchor="end">{last} {below}</text></svg>'
    ).format(
        w=_WIDTH, h=_HEIGHT, title=title, left=_LEFT, top=_TOP, bottom=bottom, right=right, path=path,
        label=_LEFT - 6, high=_TOP + 10, most=f"{top:,}", low=bottom + 18, last=f"{last:,}", below=below,
    )  # fmt: skip
