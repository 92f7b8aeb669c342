"""Check by counting that costs grow as `explain` says: `incoq growth`.

A world of a program is a generator function of a size n. It builds data of that size up to its first `yield`,
and then makes updates, in phases that further `yield`s separate. Each world runs at several sizes, in each
mode, with every loop of the maintenance code counted (`growth_counting.py`). For every kind of update in each
phase the mean number of iterations is compared with the formula that `explain` prints for it, evaluated with
the sizes that its factors had in that phase: as n grows, the count must not outgrow the formula.
"""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from incoq.compile import MODES, SEEN, Compiled, compile_source
from incoq.errors import CompileError
from incoq.explain.costs import demand_cost, update_costs
from incoq.frontend.program import check_there
from incoq.growth_counting import HEAP, CountedCode, CountedProgram
from incoq.ir.invariants import Plan
from incoq.ir.relational import Kind

SIZES = (4, 13, 40, 126, 400)
TOLERANCE = 0.15  # of exponents: a count may grow by this power of n more than its formula
CONSTANT = 2  # and may in any case gain so many times what its formula gains
GROWN = 4  # a factor has been put to the test where it became so many times as large


@dataclass(frozen=True)
class Series:
    """One kind of update in one phase of a world: the count and the value of the formula at each size."""

    world: str
    sizes: tuple[int, ...]
    counts: tuple[float, ...]
    values: tuple[float, ...]
    grown: frozenset[str]

    @property
    def count_exponent(self) -> float:
        return exponent(self.sizes, [1 + c for c in self.counts])

    @property
    def formula_exponent(self) -> float:
        return exponent(self.sizes, self.values)

    @property
    def excess(self) -> float:
        """By what power of n the count outgrows the formula, beyond what both are at the smallest size."""
        return exponent(self.sizes[1:], self.gains[1:])

    @property
    def is_outgrown(self) -> bool:
        return self.excess > TOLERANCE and self.gains[-1] > CONSTANT

    @property
    def gains(self) -> list[float]:
        """How much the count has gained for what the formula has gained, since the smallest size."""
        counts, values = self.counts, self.values
        return [
            (1 + max(0.0, c - counts[0])) / (1 + max(0.0, v - values[0]))
            for c, v in zip(counts, values, strict=True)
        ]

    @property
    def slack(self) -> float:
        """By what power of n the formula outgrows the count."""
        return max(0.0, -round(self.excess, 2))

    @property
    def constant(self) -> float:
        return max((1 + c) / v for c, v in zip(self.counts, self.values, strict=True))


@dataclass(frozen=True)
class Row:
    """One kind of update of a program in one mode."""

    update: str
    mode: str
    formula: str
    series: tuple[Series, ...]
    fixed: frozenset[str] = frozenset()  # factors that are 1 while no global of the program is rebound

    @property
    def worst(self) -> Series:
        return max(self.series, key=lambda s: (s.is_outgrown, s.excess))

    @property
    def tightest(self) -> Series:
        """Where the count keeps up with a formula that grows, if anywhere."""
        return min(self.series, key=lambda s: (s.formula_exponent < TOLERANCE, s.slack, -s.count_exponent))

    @property
    def untested(self) -> list[str]:
        """Factors of the formula that grew in no world."""
        grown = {f for s in self.series for f in s.grown}
        return [f for f in dict.fromkeys(factors(self.formula)) if f not in grown | self.fixed]

    @property
    def verdict(self) -> str:
        if not self.series:
            return "NOT RUN"
        if self.worst.is_outgrown:
            return "OUTGROWN"
        return "ok" if self.tightest.slack <= TOLERANCE else "below"


@dataclass
class Report:
    """All kinds of updates of one program, in both modes."""

    program: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def failures(self) -> list[Row]:
        return [row for row in self.rows if row.verdict in ("NOT RUN", "OUTGROWN")]


# -- formulas --------------------------------------------------------------------------------------------


def summands(formula: str) -> list[list[str]]:
    """`O(a × b + c)` as [[a, b], [c]]."""
    inside = formula.removeprefix("O(").removesuffix(")")
    return [[] if part == "1" else part.split(" × ") for part in inside.split(" + ")]


def factors(formula: str) -> list[str]:
    return [factor for product in summands(formula) for factor in product]


def value(formula: str, sizes: dict[str, int]) -> float:
    """The formula with a size for each factor: the products of which a loop has met some factor, and 1."""
    met = [[_factor(f, sizes) for f in product if _size(f) in sizes] for product in summands(formula)]
    return 1 + sum(math.prod(product) for product in met if product)


def _size(factor: str) -> str:
    return HEAP if factor.startswith("log ") else factor


def _factor(factor: str, sizes: dict[str, int]) -> float:
    size = sizes[_size(factor)]
    return math.log2(1 + size) if factor.startswith("log ") else size


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The slope of the least-squares line through the logarithms: e where the values grow as n ** e."""
    xs, ys = [math.log(s) for s in sizes], [math.log(v) for v in values]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return covariance / sum((x - mean_x) ** 2 for x in xs)


# -- measuring -------------------------------------------------------------------------------------------


def check_program(
    path: Path, worlds: Path, sizes: Sequence[int] = SIZES, modes: Iterable[str] = MODES
) -> Report:
    """Run all worlds of a program at all sizes in each mode."""
    program, world_text = path.read_text(encoding="utf-8"), worlds.read_text(encoding="utf-8")
    together = f"{program}\n\n{without_import_of(world_text, path.stem)}"
    names = [n.name for n in ast.parse(world_text).body if isinstance(n, ast.FunctionDef) and _is_world(n)]
    report = Report(path.stem)
    for mode in modes:
        try:
            compiled = compile_source(together, str(path), mode, "tags", without=SEEN)
        except CompileError as error:
            report.notes.append(f"{mode}: refused, {error.code}")
            continue
        formulas = printed_costs(compiled)
        if formulas != printed_costs(compile_source(program, str(path), mode, "tags")):
            raise CompileError("IQ100", f"{worlds} changes what {path} maintains")
        found: dict[str, list[Series]] = {}
        code = CountedCode(compiled)
        for world in names:
            for kind, series in _measure(code, world, sizes, formulas):
                found.setdefault(kind, []).append(series)
        for kind, formula in formulas.items():
            row = Row(kind, mode, formula, tuple(found.get(kind, ())), fixed_factors(compiled.plan))
            report.rows.append(row)
    return report


def printed_costs(compiled: Compiled) -> dict[str, str]:
    """The formula of each kind of update, and of asking, as `explain` prints it."""
    plan = compiled.plan
    costs = {row["update"]: row[plan.mode] for row in update_costs({plan.mode: plan}, {})}
    for query in plan.queries:
        if not query.nested:
            costs[f"first ask of {query.name}"] = demand_cost(plan, query)
            costs[f"asking {query.name} again"] = "O(1)"
    return costs


def fixed_factors(plan: Plan) -> frozenset[str]:
    """Demand of nothing but global relations: there is one combination, the globals as they are."""
    hidden = {name for query in plan.queries for name in query.hidden}
    return frozenset(
        step.factor.text
        for invariant in plan.invariants
        for block in invariant.blocks
        for step in block.covers.best.steps
        if step.factor is not None
        and invariant.clauses[step.clause].relation.kind is Kind.DEMAND
        and {invariant.clauses[step.clause].args[column] for column in step.new} <= hidden
    )


def _measure(
    code: CountedCode, world: str, sizes: Sequence[int], formulas: dict[str, str]
) -> Iterator[tuple[str, Series]]:
    runs = [CountedProgram(code).run(world, size) for size in sizes]
    for number, phases in enumerate(zip(*runs, strict=True), 1):
        for kind in phases[0].events:
            if kind not in formulas:
                raise AssertionError(f"{kind} is an update that explain prints no cost for")
            if any(kind not in phase.events for phase in phases):
                raise CompileError("IQ100", f"phase {number} of {world} does not do the same at every size")
            formula, first, last = formulas[kind], phases[0].sizes, phases[-1].sizes
            yield (
                kind,
                Series(
                    f"{world}, phase {number}",
                    tuple(sizes),
                    tuple(phase.mean(kind) for phase in phases),
                    tuple(value(formula, phase.sizes) for phase in phases),
                    frozenset(
                        f for f in factors(formula) if last.get(_size(f), 1) >= GROWN * first.get(_size(f), 1)
                    ),
                ),
            )


def without_import_of(text: str, module: str) -> str:
    """A world as it reads beside its program in one file."""
    lines = text.split("\n")
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            assert node.end_lineno is not None
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "\n".join(lines)


def _is_world(node: ast.FunctionDef) -> bool:
    return not node.name.startswith("_") and any(isinstance(n, ast.Yield) for n in ast.walk(node))


# -- the command -----------------------------------------------------------------------------------------


def worlds_of(path: Path) -> Path | None:
    """The worlds of a program: a file of the same name in the folder `growth` beside it, or one level up."""
    for folder in (path.parent, path.parent.parent):
        if (folder / "growth" / path.name).is_file():
            return folder / "growth" / path.name
    return None


def check(
    paths: Sequence[Path], sizes: Sequence[int], modes: Iterable[str], budget: float | None
) -> Iterator[Report]:
    """A report for each program, until the budget of seconds is spent."""
    start = time.monotonic()
    for path in paths:
        check_there(path)
        worlds = worlds_of(path)
        if worlds is None:
            yield Report(path.stem, notes=["no worlds: docs/programs.md says how to write some"])
        elif budget is not None and time.monotonic() - start > budget:
            yield Report(path.stem, notes=["not run: the budget is spent"])
        else:
            yield check_program(path, worlds, sizes, modes)


def table(report: Report) -> str:
    """A report for people, in lines of at most 80 characters."""
    lines = [f"{report.program}", "-" * len(report.program)]
    if report.rows:
        lines.append(f"{'update':<36}{'mode':<12}{'count':>7}{'formula':>9}{'const':>6}  verdict")
    for row in report.rows:
        if not row.series:
            lines.append(f"{_short(row.update):<36}{row.mode:<12}{'':>22}  {row.verdict}")
            continue
        shown = row.worst if row.verdict == "OUTGROWN" else row.tightest
        lines.append(
            f"{_short(row.update):<36}{row.mode:<12}{_power(shown.count_exponent):>7}"
            f"{_power(shown.formula_exponent):>9}{max(s.constant for s in row.series):>6.1f}  {row.verdict}"
        )
        if row.verdict == "OUTGROWN":
            lines += [f"    in {shown.world}: {row.formula}"[:80], _numbers(shown)]
        elif row.untested:
            lines.append(f"    did not grow: {', '.join(row.untested)}"[:80])
    lines += [f"  {note}" for note in report.notes]
    return "\n".join(lines) + "\n"


def _short(text: str) -> str:
    return text if len(text) < 36 else text[:34] + "…"


def _power(exponent_: float) -> str:
    return f"n^{abs(exponent_) if abs(exponent_) < 0.005 else exponent_:.2f}"


def _numbers(series: Series) -> str:
    pairs = zip(series.sizes, series.counts, series.values, strict=True)
    return "    n: count/formula  " + ", ".join(f"{n}: {c:.0f}/{v:.0f}" for n, c, v in pairs)
