"""The compiler as a function: source text or a path in, a `Compiled` program out.

Nothing of the user's program is imported or executed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from incoq.codegen.build_program import RewrittenModule, bound_companions, merge, rewrite_module
from incoq.codegen.build_support import SupportCode, build_support
from incoq.codegen.find_bypasses import find_bypasses, find_container_bypasses
from incoq.codegen.find_private import find_private
from incoq.codegen.find_reentry import may_reenter
from incoq.codegen.switch_classes import may_switch_classes
from incoq.errors import CompileError, Notice
from incoq.frontend.check_classes import check_classes, class_fields, defines_equality
from incoq.frontend.find_fixed import find_fixed, without_fixed
from incoq.frontend.find_queries import LeftOut, QuerySite, find_queries
from incoq.frontend.find_removals import makes_lists, only_adds
from incoq.frontend.find_slips import find_slips
from incoq.frontend.program import Program, parse_module, read_program
from incoq.invariants.define_invariants import Orders, define_invariants
from incoq.ir.invariants import Invariant, Plan, Store, shown_in_notebook
from incoq.ir.relational import Kind
from incoq.names import NameSupply
from incoq.relational.flatten_query import flatten_query

MODES = ("filtered", "incremental")
STRATEGIES = ("tags", "first-clause", "join", "auto")
# What may be left out to see what it brings; answers and costs stay as they are.
SAVINGS = ("counts", "guards", "indices", "inlining", "copies", "classes", "globals", "numbers")
SEEN = ("inlining", "classes")  # without these every update is a call, which a measurement can see


@dataclass(frozen=True)
class QueryPlan:
    """The plan of one query, which a notebook draws: `compiled.query("nyc_fans")`."""

    plan: Plan = field(repr=False)
    name: str

    def __str__(self) -> str:
        kept = "\n".join(str(i) for i in self.plan.invariants if i.query == self.name)
        return f"{next(q for q in self.plan.queries if q.name == self.name)}\n{kept}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return shown_in_notebook(self.plan, self.name)


@dataclass(frozen=True)
class Compiled:
    """A compiled program: its code, the plan behind it, and advice."""

    program: Program
    sites: tuple[QuerySite, ...]
    plan: Plan
    support: SupportCode
    modules: tuple[RewrittenModule, ...]
    notices: tuple[Notice, ...]
    left_out: tuple[LeftOut, ...] = ()  # by `--all`: the comprehensions that stay as they are

    def query(self, name: str) -> QueryPlan:
        """The plan of one query."""
        if name not in {q.name for q in self.plan.queries}:
            raise KeyError(f"no query {name!r}; there are {', '.join(q.name for q in self.plan.queries)}")
        return QueryPlan(self.plan, name)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return shown_in_notebook(self.plan)

    @property
    def code(self) -> str:
        """The standalone text of a program of one module."""
        assert len(self.modules) == 1, "a package has one text per module"
        return merge(self.modules[0], self.support)

    def extra_space(self, namespace: Mapping[str, Any]) -> int:
        """Additional space as the paper counts it: elements of sets, keys and image sets of maps."""
        return sum(self.space_of(i, namespace) for i in self.plan.structures())

    def space_of(self, invariant: Invariant, namespace: Mapping[str, Any]) -> int:
        """The part of it that one structure takes."""
        return _space(namespace[invariant.name], invariant.store is Store.TAG)


def compile_source(
    text: str,
    filename: str = "<string>",
    mode: str = "filtered",
    strategy: str = "tags",
    without: Collection[str] = (),
    unmarked: bool = False,
    orders: Orders | None = None,
) -> Compiled:
    """Compile the text of one module; `without` names savings to do without, for comparison; `unmarked` takes
    comprehensions that are not marked as queries, too; `orders` gives join orders other than the cheapest."""
    program = Program([parse_module(text, filename)])
    return compile_program(program, mode, strategy, without, unmarked, orders)


def compile_path(
    path: Path | str,
    mode: str = "filtered",
    strategy: str = "tags",
    unmarked: bool = False,
    without: Collection[str] = (),
) -> Compiled:
    """Compile a file, or all modules of a directory together."""
    return compile_program(read_program(Path(path)), mode, strategy, without, unmarked)


def compile_program(
    program: Program,
    mode: str = "filtered",
    strategy: str = "tags",
    without: Collection[str] = (),
    unmarked: bool = False,
    orders: Orders | None = None,
) -> Compiled:
    """Run all passes in order."""
    if mode not in MODES or strategy not in STRATEGIES or not set(without) <= set(SAVINGS):
        raise ValueError(f"mode is one of {MODES}, strategy one of {STRATEGIES}, without of {SAVINGS}")
    limit, collecting = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, 20_000))
    gc.disable()  # the trees stay until the end: looking through them for garbage took a fifth of the time
    try:
        return _compile(program, mode, strategy, frozenset(without), unmarked, orders)
    except RecursionError:
        raise CompileError("IQ104", "an expression is nested too deep") from None
    finally:
        sys.setrecursionlimit(limit)
        if collecting:
            gc.enable()


def _compile(
    program: Program,
    mode: str,
    strategy: str,
    without: frozenset[str],
    unmarked: bool,
    orders: Orders | None,
) -> Compiled:
    sites, left_out = find_queries(program, unmarked)
    fixed = find_fixed(program, sites) if mode == "filtered" and "globals" not in without else {}
    sites = without_fixed(sites, fixed)
    joins = not defines_equality(program)
    aggregates = {site.query.name for site in sites if site.query.aggregate is not None}
    queries = [
        flatten_query(
            site.query, joins, aggregates, site.nested, bool(site.faults or site.part_of), site.faults
        )
        for site in sites
    ]  # fmt: skip
    taken = program.identifiers() - {"Set"} | ({"Set"} if _binds_set(program) else set())
    for query in queries:
        taken |= {v for clause in query.clauses for v in clause.args}
    supply = NameSupply(taken)
    trees = [module.tree for module in program.modules]
    fields = {c.field for q in queries for c in q.clauses if c.relation.kind is Kind.FIELD}
    private = find_private(trees, {site.node for site in sites if site.node is not None}, fields)
    adds = only_adds(trees, private)
    plan = define_invariants(queries, mode, strategy, supply, without, adds, fixed, orders)
    plan = replace(plan, class_fields=frozenset(class_fields(program) & set(plan.fields())))
    notices = [*find_slips(program, plan.fields()), *check_classes(program, plan, sites)]
    tracked = _tracked(plan, makes_lists(trees, private))
    for module in program.modules:
        for node, reason in find_bypasses(module.tree, plan.fields()) if plan.fields() else ():
            raise module.error("IQ220", reason, node)
        for node, reason in find_container_bypasses(module.tree) if tracked else ():
            raise module.error("IQ220", reason, node)
    switches = "classes" not in without and may_switch_classes(program)
    batches = any(module.uses_batches() for module in program.modules)
    support = build_support(plan, supply, "list" in tracked, switches, may_reenter(program), batches)
    bound = bound_companions(trees)
    modules = tuple(
        rewrite_module(
            m,
            [s for s in sites if s.module is m and s.node],
            support,
            supply,
            tracked,
            private,
            without,
            bound,
            fixed,
        )
        for m in program.modules
    )
    return Compiled(program, tuple(sites), plan, support, modules, tuple(notices), tuple(left_out))


def _tracked(plan: Plan, lists: bool) -> set[str]:
    """The builtin containers whose changes matter."""
    kinds = {c.relation.kind for i in plan.invariants for c in i.clauses}
    if not kinds & {Kind.MEMBER, Kind.CONTENT, Kind.ITEM}:
        return set()
    return {"set", "dict", "list"} if lists else {"set", "dict"}


def _binds_set(program: Program) -> bool:
    """Does the program use the name `Set` for anything but incoq's?"""
    for module in program.modules:
        for local, original in module.incoq_names.items():
            if local == "Set" and original != "Set":
                return True
        if "Set" in module.bindings and module.incoq_names.get("Set") != "Set":
            return True
    return False


def _space(structure: Any, is_tag: bool) -> int:
    if is_tag or isinstance(structure, set | frozenset):
        return len(structure)
    if isinstance(structure, dict):
        return len(structure) + sum(
            _space(image, False) if isinstance(image, dict | set) else 0 for image in structure.values()
        )
    return 0
