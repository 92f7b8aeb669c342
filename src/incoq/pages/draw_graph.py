"""Draw a layered graph as SVG, laid out by grandalf (Sugiyama's method), with labelled edges.

Before:    Node("celeb"), Node("u"), Link("celeb", "u", "field_followers")
After:     <svg> with a pill for each node, a small box for each label, and smooth lines between them

A label is laid out like a node, so that no label covers another or a line that is not its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from grandalf.graphs import Edge, Graph

_CHARACTER, _SMALL = 7.8, 6.7  # widths in pixels of the two sizes of the monospaced letters
_HEIGHT, _LABEL_HEIGHT, _MARK_HEIGHT = 28.0, 20.0, 16.0
_MARGIN = 12.0


@dataclass(frozen=True)
class Node:
    """A vertex; `mark` is written below its name, `kind` is its CSS class."""

    name: str
    mark: str = ""
    kind: str = ""
    title: str = ""


@dataclass(frozen=True)
class Link:
    """An edge with its label, from all sources to all targets; `key` names it in the page."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    label: str
    kind: str = ""
    key: str = ""
    title: str = ""


class _View:
    """What grandalf wants to know of a vertex, and where it puts it."""

    def __init__(self, width: float, height: float) -> None:
        self.w, self.h = width, height
        self.xy = (0.0, 0.0)


class _Route:
    """The points that grandalf leads an edge through."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []

    def setpath(self, points: list[tuple[float, float]]) -> None:
        self.points = list(points)


def draw_graph(nodes: Sequence[Node], links: Sequence[Link], name: str) -> Markup:
    """The graph as an SVG element."""
    from grandalf.graphs import Edge, Graph, Vertex  # only a drawing needs it

    views = [_View(_node_width(n), _HEIGHT + (_MARK_HEIGHT if n.mark else 0)) for n in nodes]
    labels = [_View(len(link.label) * _SMALL + 14, _LABEL_HEIGHT) for link in links]
    vertices = [Vertex(None) for _ in (*nodes, *links)]
    for vertex, view in zip(vertices, (*views, *labels), strict=True):
        vertex.view = view
    place = {node.name: vertex for node, vertex in zip(nodes, vertices, strict=False)}
    edges: list[tuple[int, bool, Edge]] = []  # the number of the link, and whether it is a part to a target
    for number, link in enumerate(links):
        label = vertices[len(nodes) + number]
        edges += [(number, False, Edge(place[s], label)) for s in dict.fromkeys(link.sources)]
        edges += [(number, True, Edge(label, place[t])) for t in dict.fromkeys(link.targets)]
    for _, _, edge in edges:
        edge.view = _Route()
    graph = Graph(vertices, [edge for _, _, edge in edges])
    width, height = _lay_out(graph)
    parts = [_style_of_heads(name)]
    for number, link in enumerate(links):
        own = [(end, edge) for which, end, edge in edges if which == number]
        lines = [_line(edge, end, name) for end, edge in own]
        parts.append(_edge(link, labels[number], lines))
    parts += [_vertex(node, view) for node, view in zip(nodes, views, strict=True)]
    return Markup(
        '<svg class="graph" role="img" xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" '
        'viewBox="0 0 {w} {h}"><title>{title}</title>{parts}</svg>'
    ).format(w=round(width), h=round(height), title=f"query graph of {name}", parts=Markup("").join(parts))


def _node_width(node: Node) -> float:
    return max(len(node.name) * _CHARACTER, len(node.mark) * _SMALL) + 24


def _lay_out(graph: Graph) -> tuple[float, float]:
    """Give each vertex its place, the parts of an unconnected graph side by side; returns the size of all."""
    from grandalf.layouts import SugiyamaLayout

    left, bottom = _MARGIN, 0.0
    for part in graph.C:
        inside = list(part.sV)
        if len(inside) > 1:
            layout = SugiyamaLayout(part)
            layout.xspace, layout.yspace = 18, 20
            layout.init_all(roots=[v for v in inside if not v.e_in()] or inside[:1])
            layout.draw(10)
        low = min(v.view.xy[0] - v.view.w / 2 for v in inside)
        high = min(v.view.xy[1] - v.view.h / 2 for v in inside)
        for v in inside:
            v.view.xy = (v.view.xy[0] - low + left, v.view.xy[1] - high + _MARGIN)
        for edge in part.sE:
            edge.view.points = [(x - low + left, y - high + _MARGIN) for x, y in edge.view.points]
        left = max(v.view.xy[0] + v.view.w / 2 for v in inside) + 2 * _MARGIN
        bottom = max(bottom, *(v.view.xy[1] + v.view.h / 2 for v in inside))
    return left - _MARGIN, bottom + _MARGIN


def _line(edge: Edge, to_target: bool, name: str) -> Markup:
    """A smooth line from the lower border of one vertex to the upper border of the next."""
    start, end = edge.v[0].view, edge.v[1].view
    points = [*edge.view.points] or [start.xy, end.xy]
    down = start.xy[1] <= end.xy[1]
    gap = 2 if to_target else 0
    sign = 1 if down else -1
    points[0] = (start.xy[0], start.xy[1] + sign * start.h / 2)
    points[-1] = (end.xy[0], end.xy[1] - sign * (end.h / 2 + gap))
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        path += f"C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    head = Markup(' marker-end="url(#{})"').format(_head(name)) if to_target else Markup("")
    return Markup('<path d="{}"{}/>').format(path, head)


def _edge(link: Link, view: _View, lines: Sequence[Markup]) -> Markup:
    x, y = view.xy
    return Markup(
        '<g class="edge {kind}" tabindex="0" role="button" data-edge="{key}" aria-label="{title}">'
        "<title>{title}</title>{lines}"
        '<rect x="{left:.1f}" y="{top:.1f}" width="{w:.1f}" height="{h:.1f}" rx="4"/>'
        '<text x="{x:.1f}" y="{base:.1f}">{label}</text></g>'
    ).format(
        kind=link.kind, key=link.key, title=link.title or link.label, lines=Markup("").join(lines),
        left=x - view.w / 2, top=y - view.h / 2, w=view.w, h=view.h, x=x, base=y + 4, label=link.label,
    )  # fmt: skip


def _vertex(node: Node, view: _View) -> Markup:
    x, y = view.xy
    top = y - view.h / 2
    mark = Markup("")
    if node.mark:
        mark = Markup('<text class="mark" x="{:.1f}" y="{:.1f}">{}</text>').format(x, top + 36, node.mark)
    return Markup(
        '<g class="vertex {kind}"><title>{title}</title>'
        '<rect x="{left:.1f}" y="{top:.1f}" width="{w:.1f}" height="{h:.1f}" rx="14"/>'
        '<text x="{x:.1f}" y="{base:.1f}">{name}</text>{mark}</g>'
    ).format(
        kind=node.kind, title=node.title or node.name, left=x - view.w / 2, top=top, w=view.w, h=view.h,
        x=x, base=top + 19, name=node.name, mark=mark,
    )  # fmt: skip


def _head(name: str) -> str:
    return f"head-{name}"


def _style_of_heads(name: str) -> Markup:
    return Markup(
        '<defs><marker id="{}" viewBox="0 0 8 8" refX="6" refY="4" markerUnits="userSpaceOnUse" '
        'markerWidth="9" markerHeight="9" '
        'orient="auto"><path class="head" d="M0,0L8,4L0,8z"/></marker></defs>'
    ).format(escape(_head(name)))
