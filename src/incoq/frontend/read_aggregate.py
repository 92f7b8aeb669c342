"""Recognise aggregates: what is computed of a comprehension, and with which arguments.

    len({...})    sum(e for ...)    sum((e for ...), start)    min(..., default=d)    any(...)    all(...)
    statistics.mean(...)    sorted(...)[:k]    heapq.nsmallest(k, ...)

Over a set comprehension the elements of the set count, over a generator every combination does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from incoq.frontend.program import Module
from incoq.ir.expressions import clone

SIMPLE = frozenset({"len", "sum", "any", "all", "min", "max"})


@dataclass(frozen=True)
class Found:
    """An aggregate of `comp`, or of a selector given as a source."""

    kind: str
    comp: ast.SetComp | ast.GeneratorExp | ast.ListComp | ast.expr
    arguments: tuple[ast.expr, ...] = ()


def find_aggregate(module: Module, node: ast.expr, is_local: Callable[[str], bool]) -> Found | None:
    """The aggregate that `node` is, if it is one; a local name may hide the function."""
    if any(isinstance(n, ast.Name) and is_local(n.id) for n in _function_of(node)):
        return None
    match node:
        case ast.Call(func=ast.Name(id=kind), args=[comp], keywords=keywords) if (
            kind in SIMPLE and kind not in module.bindings
        ):
            if not _is_comprehension(comp):
                return None
            arguments = _default(kind, keywords)
            return None if arguments is None else Found(kind, comp, arguments)
        case ast.Call(func=ast.Name(id="sum"), args=[comp, start], keywords=[]) if (
            "sum" not in module.bindings and _is_comprehension(comp)
        ):
            return Found("sum", comp, (start,))
        case ast.Call(func=func, args=[comp], keywords=[]) if _is_library(module, func, "statistics", "mean"):
            return Found("mean", comp) if _is_comprehension(comp) else None
        case ast.Call(func=func, args=[size, comp], keywords=[]) if _is_library(
            module, func, "heapq", "nsmallest"
        ):
            return Found("smallest", comp, (size,)) if _is_comprehension(comp) else None
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id="sorted"), args=[comp], keywords=[]),
            slice=ast.Slice(lower=None, upper=ast.expr() as size, step=None),
        ) if "sorted" not in module.bindings and _is_comprehension(comp):
            return Found("smallest", comp, (size, ast.copy_location(ast.Constant(True), node)))  # it sorts
    return None


def choose_defaults(module: Module, node: ast.expr, is_local: Callable[[str], bool]) -> ast.expr:
    """Write `max(..., default=Level.LOW)` as a choice: what a class holds is no literal, which an aggregate
    would be made with. A copy, where there is one.

    Before:    max((u.level for u in s), default=Level.LOW)
    After:     max(u.level for u in s) if {u.level for u in s} else Level.LOW
    """
    if not any(_held_by_class(module, found, is_local) for found in ast.walk(node)):
        return node
    chosen = _Choice(module, is_local).visit(clone(node))
    assert isinstance(chosen, ast.expr)
    return chosen


class _Choice(ast.NodeTransformer):
    def __init__(self, module: Module, is_local: Callable[[str], bool]) -> None:
        self.module, self.is_local = module, is_local

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        comp = node.args[0] if _held_by_class(self.module, node, self.is_local) else None
        if not isinstance(comp, ast.SetComp | ast.GeneratorExp | ast.ListComp):
            return node
        test = clone(ast.copy_location(ast.SetComp(comp.elt, comp.generators), comp))
        value = ast.copy_location(ast.Call(node.func, [comp], []), node)
        return ast.copy_location(ast.IfExp(test, value, node.keywords[0].value), node)


def _held_by_class(module: Module, node: ast.AST, is_local: Callable[[str], bool]) -> bool:
    """Is it the least or greatest of a comprehension, with an attribute of a class as its default? A variable
    of the comprehension must be no parameter, with which it would be joined."""
    match node:
        case ast.Call(
            func=ast.Name(id="min" | "max" as kind),
            args=[ast.SetComp() | ast.GeneratorExp() | ast.ListComp() as comp],
            keywords=[ast.keyword(arg="default", value=ast.Attribute(value=ast.Name(id=owner)))],
        ) if kind not in module.bindings and owner in module.bindings:
            targets = [n for g in comp.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
            names = (kind, owner, *(n.id for n in targets))
            return module.bindings[owner].kind in ("class", "import") and not any(map(is_local, names))
    return False


def _function_of(node: ast.expr) -> Iterator[ast.AST]:
    """The parts of the expression that is called."""
    called = node.value if isinstance(node, ast.Subscript) else node
    return ast.walk(called.func) if isinstance(called, ast.Call) else iter(())


def _is_comprehension(node: ast.expr) -> bool:
    return isinstance(node, ast.SetComp | ast.GeneratorExp | ast.ListComp)


def _default(kind: str, keywords: list[ast.keyword]) -> tuple[ast.expr, ...] | None:
    match keywords:
        case []:
            return ()
        case [ast.keyword(arg="default", value=value)] if kind in ("min", "max"):
            return (value,)
        case [ast.keyword(arg="start", value=value)] if kind == "sum":
            return (value,)
    return None


def _is_library(module: Module, func: ast.expr, library: str, function: str) -> bool:
    match func:
        case ast.Name(id=identifier):
            binding = module.bindings.get(identifier)
            return (
                binding is not None
                and isinstance(binding.node, ast.ImportFrom)
                and binding.node.module == library
                and any((a.asname or a.name) == identifier and a.name == function for a in binding.node.names)
            )
        case ast.Attribute(value=ast.Name(id=identifier), attr=attr):
            binding = module.bindings.get(identifier)
            return (
                attr == function
                and binding is not None
                and isinstance(binding.node, ast.Import)
                and any((a.asname or a.name) == identifier and a.name == library for a in binding.node.names)
            )
    return False
