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
            return Found("smallest", comp, (size,))
    return None


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
