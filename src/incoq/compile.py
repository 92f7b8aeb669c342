"""The compiler as a function: source text or a path in, a `Compiled` program out.

Nothing of the user's program is imported or executed.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from incoq.codegen.build_package import is_package
from incoq.codegen.build_program import RewrittenModule, bound_companions, merge, rewrite_module
from incoq.codegen.build_support import SupportCode, build_support
from incoq.codegen.find_bypasses import container_classes, find_bypasses, find_container_bypasses
from incoq.codegen.find_private import bindings_by_syntax, find_private
from incoq.codegen.find_reentry import OF_KEYS, acting_operators, may_reenter
from incoq.codegen.find_unreached import find_unreached
from incoq.codegen.rewrite_displays import sets_past_classes
from incoq.codegen.shadowed_names import shadowed
from incoq.codegen.switch_classes import may_switch_classes
from incoq.errors import CompileError, Notice
from incoq.frontend.check_classes import (
    Fault,
    class_faults,
    class_fields,
    computed_fields,
    defines_equality,
    doubtful_classes,
    followed_classes,
    part_fields,
    unconstrained,
)
from incoq.frontend.find_fixed import find_fixed, is_incoq_set, without_fixed
from incoq.frontend.find_queries import LeftOut, QuerySite, find_queries
from incoq.frontend.find_removals import makes_dicts, makes_lists, only_adds
from incoq.frontend.find_slips import find_slips
from incoq.frontend.program import Program, parse_module, read_program
from incoq.frontend.resolve_names import resolve_names
from incoq.invariants.define_invariants import Orders, define_invariants
from incoq.ir.invariants import Invariant, Plan, Store, shown_in_notebook
from incoq.ir.relational import Kind
from incoq.names import NameSupply
from incoq.relational.flatten_query import flatten_query

MODES = ("filtered", "incremental")
STRATEGIES = ("tags", "first-clause", "join", "auto")
# What may be left out to see what it brings; answers and costs stay as they are.
CLAUSES = 120  # of one query: code and time grow with their square
SAVINGS = (
    "counts",
    "guards",
    "indices",
    "inlining",
    "copies",
    "classes",
    "globals",
    "numbers",
    "whole",
    "demanded",
    "fetching",
    "walks",
    "rows",
)
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
    strategy: str = "auto",
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
    strategy: str = "auto",
    unmarked: bool = False,
    without: Collection[str] = (),
) -> Compiled:
    """Compile a file, or all modules of a directory together."""
    return compile_program(read_program(Path(path)), mode, strategy, without, unmarked)


def compile_program(
    program: Program,
    mode: str = "filtered",
    strategy: str = "auto",
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
    resolve_names(program)
    sites, left_out = find_queries(program, unmarked)
    while True:
        fixed = find_fixed(program, sites) if mode == "filtered" and "globals" not in without else {}
        known = without_fixed(sites, fixed)
        plan, supply, private = _plan(program, known, fixed, mode, strategy, without, orders)
        trees = [module.tree for module in program.modules]
        tracked = _tracked(plan, makes_lists(trees, private))
        alone = all(site.faults or site.part_of for site in sites)  # no query is marked
        unsafe = list(_faults(program, plan, bool(tracked), alone))
        computed = [
            (frozenset({f}), error)
            for f, stored, error in computed_fields(program, plan.fields())
            if not (stored and alone)
        ]
        left = _unsafe_sites(known, plan, [*unsafe, *computed])
        if not left:
            for _, error in unsafe:
                raise error
            try:
                support, modules = _write(program, known, plan, supply, private, tracked, fixed, without)
                break
            except CompileError as error:
                if not alone:
                    raise
                left = _unsafe_sites(known, plan, [(frozenset(plan.fields()), error)])
                left = left or _unsafe_sites(known, plan, [(None, error)])
                if not left:
                    raise
        sites = [site for site in sites if site.query.name not in left and site.part_of not in left]
        left_out += left.values()
    notices = [*find_slips(program, plan.fields()), *unconstrained(known)]
    return Compiled(program, tuple(known), plan, support, modules, tuple(notices), tuple(left_out))


def _write(
    program: Program,
    sites: Sequence[QuerySite],
    plan: Plan,
    supply: NameSupply,
    private: set[ast.AST],
    tracked: set[str],
    fixed: Mapping[str, ast.expr],
    without: frozenset[str],
) -> tuple[SupportCode, tuple[RewrittenModule, ...]]:
    """The code of what is maintained, and the program's text beside it."""
    alone = all(site.faults or site.part_of for site in sites)
    trees = [module.tree for module in program.modules]
    acting = acting_operators(program)
    switches = "classes" not in without and not acting & OF_KEYS and may_switch_classes(program)
    plain = [n for n, value in fixed.items() if not is_incoq_set(program.modules[0], value)]
    batches = any(module.uses_batches() for module in program.modules)
    lists, dicts = "list" in tracked, makes_dicts(trees, private)
    support = build_support(
        plan, supply, lists, lists or dicts, switches, may_reenter(program), batches, plain,
        sets_past_classes(trees, plan.fields()), acting,
    )  # fmt: skip
    doubtful = {} if alone else doubtful_classes(program, plan.fields())
    followed = followed_classes(program, plan.fields()) if support.follow else ()
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
            doubtful,
            followed,
        )
        for m in program.modules
    )
    for written in modules if len(modules) == 1 else ():  # a package has them apart
        for meant in sorted(shadowed(support.text_for([written.text]), written.module.bindings)):
            message = f"the program gives `{meant}` another meaning, which generated code needs"
            raise written.module.error("IQ213", message, written.module.bindings[meant].node)
    return support, modules


def _plan(
    program: Program,
    sites: Sequence[QuerySite],
    fixed: Mapping[str, ast.expr],
    mode: str,
    strategy: str,
    without: frozenset[str],
    orders: Orders | None,
) -> tuple[Plan, NameSupply, set[ast.AST]]:
    """From the queries to what is maintained; with the names left, and the containers no query reaches."""
    joins = not defines_equality(program)
    aggregates = {site.query.name for site in sites if site.query.aggregate is not None}
    queries = [
        flatten_query(
            site.query, joins, aggregates, site.nested, bool(site.faults or site.part_of), site.faults
        )
        for site in sites
    ]  # fmt: skip
    for site, query in zip(sites, queries, strict=True):
        if len(query.clauses) > CLAUSES:
            message = f"`{query.name}` has {len(query.clauses)} memberships and fields"
            raise CompileError("IQ106", message, site.query.position)
    taken = program.identifiers() - {"Set"} | ({"Set"} if _binds_set(program) else set())
    for query in queries:
        taken |= {v for clause in query.clauses for v in clause.args}
    supply = NameSupply(taken)
    trees = [module.tree for module in program.modules]
    fields = {c.field for q in queries for c in q.clauses if c.relation.kind is Kind.FIELD}
    asked = {site.node for site in sites if site.node is not None}
    private = find_private(trees, asked, fields)
    if all(site.faults or site.part_of for site in sites):  # what is not marked can do without maintenance
        private |= find_unreached(trees, asked)
        private |= {b.node for tree in trees for node in ast.walk(tree) for b in bindings_by_syntax(node)}
    adds = only_adds(trees, private)
    no_joins = "code of the program may run in the midst of maintenance" if may_reenter(program) else ""
    plan = define_invariants(queries, mode, strategy, supply, without, adds, fixed, orders, no_joins)
    plan = replace(
        plan,
        class_fields=frozenset(class_fields(program, plan.fields())),
        computed_fields=frozenset(field for field, _, _ in computed_fields(program, plan.fields())),
        part_fields=frozenset(part_fields(program, plan.fields())),
    )
    return plan, supply, private


_OF_CLASSES = (ast.ClassDef, ast.Assign, ast.AnnAssign)  # what `find_bypasses` blames of classes


def _faults(program: Program, plan: Plan, tracked: bool, unmarked: bool) -> Iterator[Fault]:
    """What of the program makes some fields, or all containers, impossible to maintain."""
    yield from class_faults(program, plan, unmarked)
    fields = frozenset(plan.fields())
    own = frozenset() if is_package(program) else frozenset(m.name for m in program.modules)
    for module in program.modules if fields else ():
        found = find_bypasses(module.tree, fields, own)
        if unmarked:  # of what class an object is, and what that computes, is looked at when it runs
            found = [(node, reason) for node, reason in found if not isinstance(node, _OF_CLASSES)]
        always = {node for node, _ in find_bypasses(module.tree, (), own)} if found else set()
        of_one = {  # those that concern one field
            field: {node for node, _ in find_bypasses(module.tree, (field,), own)} - always
            for field in (fields if any(node not in always for node, _ in found) else ())
        }
        for node, reason in found:
            blamed = fields if node in always else frozenset(f for f in fields if node in of_one[f])
            yield blamed, module.error("IQ220", reason, node)
    containers = container_classes(module.tree for module in program.modules)
    for module in program.modules if tracked else ():
        for node, reason in find_container_bypasses(module.tree, containers, own):
            yield None, module.error("IQ220", reason, node)


def _unsafe_sites(sites: Sequence[QuerySite], plan: Plan, unsafe: Sequence[Fault]) -> dict[str, LeftOut]:
    """The unmarked queries that read what cannot be maintained: they stay as they are."""
    read: dict[str, set[str]] = {}
    for query in plan.queries:
        fields = {c.field for c in query.clauses if c.relation.kind is Kind.FIELD}
        read.setdefault(query.name, set()).update(fields)
    left: dict[str, LeftOut] = {}
    for site in sites:
        if site.faults and isinstance(site.node, ast.expr):
            fields = {f for name in (site.query.name, *site.faults) for f in read[name]}
            fault = next((e for blamed, e in unsafe if blamed is None or blamed & fields), None)
            if fault is not None:
                left[site.query.name] = LeftOut(site.module, site.node, fault.code, fault.message)
    return left


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
