"""Find the global sets that are the same for as long as a program runs.

Before:    shared_days(DAYS, BIRTHDAYS) = {d : d in DAYS, ...}     globals are parameters of every call
After:     shared_days() = {d : d in DAYS, ...}                    DAYS is fixed: one set, known by its name
Invariant: `DAYS` is bound once, at the top of the module, to a set that is made there; so every combination
           that is demanded has that one set, and nothing that is kept needs it as part of a key
Cost:      none; keys get shorter, and an update of the set runs what concerns that set alone

A name is fixed where queries only go through the set, or ask whether something is in it; and where no query
uses the name for anything else. The program has one module: elsewhere the same name may mean another set.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from incoq.frontend.find_queries import QuerySite
from incoq.frontend.program import Module, Program
from incoq.ir.expressions import Expr, clone
from incoq.ir.objects import (
    Condition,
    Membership,
    ObjectQuery,
    Pattern,
    TuplePattern,
    Value,
    pattern_variables,
)


def find_fixed(program: Program, sites: Sequence[QuerySite]) -> dict[str, ast.expr]:
    """The names of fixed sets that queries read, each with the expression that makes it."""
    if len(program.modules) != 1:
        return {}
    (module,) = program.modules
    if module.rebound is None:
        return {}
    made = dict(_made_once(module))
    params = {site.query.name: site.query.all_params for site in sites}
    for site in sites:
        for name in [name for name in made if not _only_goes_through(name, site, params)]:
            del made[name]
    read = {name for site in sites for name in site.query.all_params}
    return {name: value for name, value in made.items() if name in read}


def without_fixed(sites: Sequence[QuerySite], fixed: Mapping[str, ast.expr]) -> list[QuerySite]:
    """The same queries with fixed sets no longer among their parameters."""
    params = {site.query.name: site.query.all_params for site in sites}
    return [replace(site, query=_without(site.query, fixed, params)) for site in sites] if fixed else [*sites]


def _made_once(module: Module) -> Iterator[tuple[str, ast.expr]]:
    """Names that stand for one set: bound at the top of the module, and nowhere else in it."""
    times = Counter((*bound_names(module.tree), *(module.rebound or ())))
    for statement in module.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        binding = module.bindings.get(name)
        if times[name] == 1 and binding is not None and binding.once and _makes_set(module, value):
            yield name, value


def _makes_set(module: Module, value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="set"), keywords=[]):
            return "set" not in module.bindings
        case ast.Call(keywords=[]):
            return is_incoq_set(module, value)
    return isinstance(value, ast.Set | ast.SetComp)


def is_incoq_set(module: Module, value: ast.expr) -> bool:
    """Is an expression a call of `Set`?"""
    return isinstance(value, ast.Call) and module.is_incoq(value.func, "Set")


def _only_goes_through(name: str, site: QuerySite, params: Mapping[str, tuple[str, ...]]) -> bool:
    query = site.query
    if any(name in pattern_variables(c.pattern) for c in query.clauses if isinstance(c, Membership)):
        return False
    harmless = 0
    for expr in _expressions(query):
        for node in ast.walk(expr.node):
            match node:
                case ast.Call(func=ast.Constant(value=called), args=args):
                    harmless += sum(
                        isinstance(a, ast.Name) and a.id == name == parameter
                        for a, parameter in zip(args, params[str(called)], strict=True)
                    )
                case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=right)]):
                    harmless += right == name
    sources = [c.source.node for c in query.clauses if isinstance(c, Membership)]
    harmless += sum(isinstance(source, ast.Name) and source.id == name for source in sources)
    return harmless == sum(
        isinstance(node, ast.Name) and node.id == name
        for expr in _expressions(query)
        for node in ast.walk(expr.node)
    )


def _expressions(query: ObjectQuery) -> Iterator[Expr]:
    yield query.result
    for clause in query.clauses:
        if isinstance(clause, Condition):
            yield clause.expr
        else:
            yield clause.source
            yield from _values(clause.pattern)
    if query.aggregate is not None:
        yield from query.aggregate.arguments


def _values(pattern: Pattern) -> Iterator[Expr]:
    """The expressions in a pattern."""
    match pattern:
        case Value(expr):
            yield expr
        case TuplePattern(items):
            for item in items:
                yield from _values(item)


def _without(
    query: ObjectQuery, fixed: Mapping[str, ast.expr], params: Mapping[str, tuple[str, ...]]
) -> ObjectQuery:
    def left(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(n for n in names if n not in fixed)

    def expr(old: Expr) -> Expr:
        if not any(isinstance(n, ast.Call) and isinstance(n.func, ast.Constant) for n in ast.walk(old.node)):
            return old
        return Expr.of(_Shorten(fixed, params).visit(clone(old.node)))

    def pattern(old: Pattern) -> Pattern:
        match old:
            case Value(value):
                return Value(expr(value))
            case TuplePattern(items):
                return TuplePattern(tuple(map(pattern, items)))
        return old

    clauses = tuple(
        Condition(expr(c.expr))
        if isinstance(c, Condition)
        else replace(c, source=expr(c.source), pattern=pattern(c.pattern))
        for c in query.clauses
    )
    return replace(
        query, params=left(query.params), hidden=left(query.hidden), demand=left(query.demand),
        result=expr(query.result), clauses=clauses, fixed=tuple(n for n in query.all_params if n in fixed),
    )  # fmt: skip


class _Shorten(ast.NodeTransformer):
    """Calls of nested queries without what is fixed."""

    def __init__(self, fixed: Mapping[str, ast.expr], params: Mapping[str, tuple[str, ...]]) -> None:
        self.fixed, self.params = fixed, params

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Constant):
            names = self.params[str(node.func.value)]
            node.args = [a for a, n in zip(node.args, names, strict=True) if n not in self.fixed]
        return node


def bound_names(tree: ast.Module) -> Iterator[str]:
    """Every name that anything in the module binds, as often as it does."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=bound, ctx=ast.Store() | ast.Del()) | ast.arg(arg=bound):
                yield bound
            case ast.FunctionDef(name=bound) | ast.AsyncFunctionDef(name=bound) | ast.ClassDef(name=bound):
                yield bound
            case ast.alias(name=bound, asname=named):
                yield named or bound.split(".")[0]
            case ast.ExceptHandler(name=str(bound)) | ast.MatchAs(name=str(bound)):
                yield bound
            case ast.MatchStar(name=str(bound)) | ast.MatchMapping(rest=str(bound)):
                yield bound
