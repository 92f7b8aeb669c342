"""Statistics of programs and of their transformation: the paper's Table 3, beside the paper's own figures.

A comprehension counts as a query, and so does an aggregate of one (the paper counts them apart). An update
is a place in the text that may change what a query reads: an assignment or deletion of a field that queries
read, or a call of a method that changes a set or a dict, unless it is a global or a field that no query
reads. Lines of code leave out blank lines, comments and docstrings. Times are seconds of CPU, the better of
two transformations.
"""

from __future__ import annotations

import ast
import io
import math
import textwrap
import time
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incoq.codegen.build_package import package_files
from incoq.compile import Compiled, compile_path, compile_source
from incoq.frontend.program import Module
from incoq.ir.invariants import Plan
from incoq.ir.relational import ITEM
from incoq.stats_paper import NOTES, PAPER, Figures

_MUTATORS = frozenset(
    [
        "add", "remove", "discard", "clear", "difference_update", "intersection_update",
        "symmetric_difference_update", "update",
    ]
)  # fmt: skip


def measure(path: Path) -> Figures:
    """Compile a program in both modes and count."""
    results: dict[str, tuple[int, float]] = {}
    compiled: Compiled | None = None
    for mode in ("incremental", "filtered"):
        times: list[float] = []
        for _ in range(2):
            start = time.process_time()
            compiled = compile_path(path, mode)
            texts = [compiled.code] if len(compiled.modules) == 1 else list(package_files(compiled).values())
            times.append(time.process_time() - start)
        results[mode] = (sum(map(lines_of_code, texts)), min(times))
    assert compiled is not None
    return Figures(
        sum(lines_of_code(m.source) for m in compiled.program.modules),
        count_queries(compiled.plan),
        sum(count_updates(m, compiled.plan) for m in compiled.program.modules),
        results["incremental"],
        results["filtered"],
    )


def lines_of_code(text: str) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    skipped |= {tokenize.ENCODING, tokenize.ENDMARKER}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                found -= set(range(first, last + 1))
    return len(found)


def count_queries(plan: Plan) -> int:
    """Comprehensions and aggregates of them; an expression around other queries is none."""
    kinds = [query.aggregate.kind if query.aggregate is not None else "" for query in plan.queries]
    return sum({"": 1, "exists": 1, "value": 0}.get(kind, 2) for kind in kinds)


def count_updates(module: Module, plan: Plan) -> int:
    """Places in the text that may change what queries read."""
    fields = set(plan.fields())
    relations = {name for query in plan.queries for name in (*query.hidden, *query.fixed)}
    looks_into_dicts = bool(plan.dependents(ITEM))

    def may_be_read(receiver: ast.expr) -> bool:
        match receiver:
            case ast.Name(id=name) if name in module.bindings:
                return name in relations
            case ast.Attribute(attr=attr):
                return attr in fields
        return True

    places = 0
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()):
                places += attr in fields
            case ast.Call(func=ast.Attribute(attr=attr, value=receiver)) if attr in _MUTATORS:
                places += may_be_read(receiver)
            case ast.Subscript(value=receiver, ctx=ast.Store() | ast.Del()) if looks_into_dicts:
                places += may_be_read(receiver)
    return places


def table(paths: list[Path]) -> str:
    """The table as text; the paper's figures stand below ours, and the reasons for differences below them."""
    heading = f"{'program':18}{'LOC':>6}{'queries':>9}{'updates':>9}{'incremental':>18}{'filtered':>18}"
    lines = [heading, f"{'':18}{'':>6}{'':>9}{'':>9}{'LOC / s':>18}{'LOC / s':>18}", "-" * len(heading)]
    points: list[tuple[int, float]] = []
    for path in paths:
        name, figures = path.stem, measure(path)
        lines.append(_row(name, figures))
        points += [point for point in (figures.incremental, figures.filtered) if point is not None]
        if name in PAPER:
            lines.append(_row("  (the paper's)", PAPER[name]))
        for what, reason in NOTES.get(name, {}).items():
            lines += textwrap.wrap(f"{what}: {reason}", 78, initial_indent="    ", subsequent_indent="      ")
    lines += ["", *textwrap.wrap(LINES, 78)]
    if len(paths) >= 3:
        lines += ["", *_fits(points)]
    return "\n".join(lines) + "\n"


LINES = (
    "LOC: our programs hold their workload too; the paper's figures of the distributed ones are those of an "
    "interface of stubs. Generated programs are standalone: some 500 lines of each are the same in all."
)


def _row(name: str, figures: Figures) -> str:
    def shown(result: tuple[int, float] | None) -> str:
        return f"{result[0]} / {result[1]:.2f}" if result is not None else "N/A"

    return (
        f"{name:18}{figures.lines:>6}{figures.queries:>9}{figures.updates:>9}"
        f"{shown(figures.incremental):>18}{shown(figures.filtered):>18}"
    )


# -- how time grows with size ----------------------------------------------------------------------------


def _fits(points: list[tuple[int, float]]) -> list[str]:
    """Time against size: of the programs given, and of one program written out more and more often."""
    fit = fit_line(points)
    lines = [
        "Transformation time against lines of the generated program:",
        f"  {len(points)} transformations: {fit.slope * 1e5:.1f} ms for 100 lines, "
        f"{fit.start * 1000:+.0f} ms; R² = {fit.determination:.2f}",
    ]
    copies = [(n, _seconds(running_example(n))) for n in (2, 4, 8, 16, 32)]
    shown = ", ".join(f"{n}: {seconds:.2f} s" for n, seconds in copies)
    return [
        *lines,
        f"  n copies of the running example: n^{fit_power(copies):.2f} (1 is linear)",
        f"    {shown}",
    ]


@dataclass(frozen=True)
class Fit:
    """`start + slope * x`, and how much of the variance it accounts for."""

    start: float
    slope: float
    determination: float


def fit_line(points: Sequence[tuple[float, float]]) -> Fit:
    """The least-squares line through points."""
    mean_x, mean_y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    start = mean_y - slope * mean_x
    total = sum((y - mean_y) ** 2 for _, y in points)
    rest = sum((y - start - slope * x) ** 2 for x, y in points)
    return Fit(start, slope, 1 - rest / total if total else 1.0)


def fit_power(points: Sequence[tuple[float, float]]) -> float:
    """e where y grows as x ** e: the slope through the logarithms."""
    return fit_line([(math.log(x), math.log(y)) for x, y in points]).slope


def running_example(copies: int) -> str:
    """A program that holds the running example so many times, every time under other names."""
    return "from incoq import Set, query\n" + "".join(_EXAMPLE.replace("_N", f"_{n}") for n in range(copies))


_EXAMPLE = """
class User_N:
    def __init__(self, email, loc):
        self.email_N = email
        self.loc_N = loc
        self.followers_N = Set()

@query
def nyc_fans_N(celeb, group):
    return {u.email_N for u in celeb.followers_N if u in group if u.loc_N == "NYC"}

def follow_N(user, celeb):
    celeb.followers_N.add(user)

def move_N(user, place):
    user.loc_N = place
"""


def _seconds(text: str) -> float:
    def once() -> float:
        start = time.process_time()
        _ = compile_source(text).code
        return time.process_time() - start

    return min(once(), once())
