"""Statistics of programs and of their transformation: the paper's Table 3, beside the paper's own figures.

A comprehension counts as a query, and so does an aggregate of one (the paper counts them apart). An update
is a place in the text that may change what a query reads: an assignment or deletion of a field that
queries read, or a call of a method that changes a set or a dict. Lines of code leave out blank lines,
comments and docstrings.
"""

from __future__ import annotations

import ast
import io
import time
import tokenize
from dataclasses import dataclass
from pathlib import Path

from incoq.codegen.build_package import package_files
from incoq.compile import Compiled, compile_path

_MUTATORS = frozenset(
    [
        "add", "remove", "discard", "clear", "difference_update", "intersection_update",
        "symmetric_difference_update", "update",
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """One row: of the original, and of the incremental and the filtered program (lines, CPU seconds)."""

    lines: int
    queries: int
    updates: int
    incremental: tuple[int, float] | None
    filtered: tuple[int, float] | None


# The paper's table "Program and transformation statistics".
PAPER = {
    "running": Figures(40, 1, 9, (251, 10.12), (491, 21.73)),
    "jql1": Figures(41, 1, 3, (101, 2.02), (136, 3.50)),
    "jql2": Figures(43, 1, 5, (143, 4.45), (204, 7.23)),
    "jql3": Figures(46, 1, 6, (162, 5.97), (249, 10.41)),
    "wifi": Figures(28, 1, 6, (217, 10.95), (369, 19.16)),
    "auth": Figures(34, 1, 8, (232, 18.72), (468, 33.92)),
    "access": Figures(139, 3, 13, (322, 6.50), (546, 14.00)),
    "core_rbac": Figures(139, 16, 21, (1074, 39.83), (2645, 141.31)),
    "ssd": Figures(29, 3, 8, (295, 7.20), (348, 8.89)),
    "la_mutex": Figures(44, 6, 6, (403, 9.31), (480, 11.50)),
    "ra_mutex": Figures(55, 8, 4, (683, 18.03), (804, 23.11)),
    "ra_token": Figures(67, 8, 8, None, (967, 31.30)),
    "sk_token": Figures(72, 6, 11, None, (760, 22.75)),
    "cr_leader": Figures(30, 2, 1, (81, 1.34), (114, 1.69)),
    "hs_leader": Figures(51, 2, 2, (135, 1.84), (170, 2.23)),
    "two_phase_commit": Figures(82, 16, 6, (1137, 32.20), (1345, 43.11)),
    "ds_crash": Figures(52, 6, 8, None, (626, 17.53)),
    "cl_paxos": Figures(174, 22, 14, (1517, 64.97), (1624, 74.47)),
    "birthday": Figures(14, 4, 4, (173, 4.77), (201, 5.55)),
    "cite_author": Figures(13, 2, 3, (59, 1.47), (87, 1.92)),
    "cite_exist": Figures(19, 2, 3, (65, 1.81), (93, 2.12)),
}


def measure(path: Path) -> Figures:
    """Compile a program in both modes and count."""
    results: dict[str, tuple[int, float]] = {}
    compiled: Compiled | None = None
    for mode in ("incremental", "filtered"):
        start = time.process_time()
        compiled = compile_path(path, mode)
        texts = [compiled.code] if len(compiled.modules) == 1 else list(package_files(compiled).values())
        spent = time.process_time() - start
        results[mode] = (sum(map(lines_of_code, texts)), spent)
    assert compiled is not None
    queries = sum(
        1 + (q.aggregate is not None and q.aggregate.kind != "exists") for q in compiled.plan.queries
    )
    fields = set(compiled.plan.fields())
    return Figures(
        sum(lines_of_code(m.source) for m in compiled.program.modules),
        queries,
        sum(count_updates(m.tree, fields) for m in compiled.program.modules),
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


def count_updates(tree: ast.Module, fields: set[str]) -> int:
    """Places in the text that may change what queries read."""
    places = 0
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if attr in fields:
                places += 1
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in _MUTATORS:
                places += 1
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                places += 1
    return places


def table(paths: list[Path]) -> str:
    """The table as text; the paper's figures stand below ours, in parentheses."""
    heading = f"{'program':18}{'LOC':>6}{'queries':>9}{'updates':>9}{'incremental':>18}{'filtered':>18}"
    lines = [heading, f"{'':18}{'':>6}{'':>9}{'':>9}{'LOC / s':>18}{'LOC / s':>18}", "-" * len(heading)]
    for path in paths:
        name = path.stem
        lines.append(_row(name, measure(path)))
        if name in PAPER:
            lines.append(_row("  (the paper's)", PAPER[name]))
    return "\n".join(lines) + "\n"


def _row(name: str, figures: Figures) -> str:
    def shown(result: tuple[int, float] | None) -> str:
        return f"{result[0]} / {result[1]:.2f}" if result is not None else "N/A"

    return (
        f"{name:18}{figures.lines:>6}{figures.queries:>9}{figures.updates:>9}"
        f"{shown(figures.incremental):>18}{shown(figures.filtered):>18}"
    )
