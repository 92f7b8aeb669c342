"""Python expressions inside the forms: `ast` nodes treated as immutable values.

A form holds an `Expr`: the node with its text and the names it reads, so that forms compare and print.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

_Node = TypeVar("_Node", bound=ast.AST)

# Functions that no program can name: whether evaluating an expression raises; raise unless a value can be
# iterated; raise unless it can be in a set.
RAISES, ITERABLE, FITS, EXACT = "raises!", "iterable!", "fits!", "exact!"


@dataclass(frozen=True)
class Expr:
    """An expression; equal when its text is."""

    text: str
    node: ast.expr = field(compare=False, repr=False)

    @staticmethod
    def of(node: ast.expr) -> Expr:
        return Expr(ast.unparse(node), node)

    @cached_property
    def names(self) -> frozenset[str]:
        return names_in(self.node)

    def __str__(self) -> str:
        return self.text


def names_in(node: ast.AST) -> frozenset[str]:
    """All names that occur in `node`."""
    found: set[str] = set()
    stack: list[Any] = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, ast.Name):
            found.add(one.id)
        elif isinstance(one, ast.AST):
            stack += [getattr(one, field, None) for field in one._fields]
        elif isinstance(one, list):
            stack += one
    return frozenset(found)


def nodes_in(node: ast.AST) -> list[ast.AST]:
    """`node` and all that it holds but for the contexts of names, in no order: `ast.walk` is slow."""
    found: list[ast.AST] = []
    stack = [node]
    while stack:
        one = stack.pop()
        found.append(one)
        for key in one._fields:
            value = getattr(one, key, None)
            if isinstance(value, list):
                stack += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and key != "ctx":
                stack.append(value)
    return found


def name(identifier: str) -> ast.Name:
    return ast.Name(identifier, ast.Load())


class _Substitute(ast.NodeTransformer):
    def __init__(self, replace: Callable[[str], ast.expr | None]) -> None:
        self.replace = replace

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.replace(node.id) or node


def substitute(node: ast.expr, mapping: Mapping[str, ast.expr]) -> ast.expr:
    """`node` with names replaced; the original is left as it was."""
    if not mapping:
        return node
    result = _Substitute(mapping.get).visit(clone(node))
    assert isinstance(result, ast.expr)
    return result


def clone(node: _Node) -> _Node:
    """A copy of `node` that may be changed."""
    fields: dict[str, Any] = {}
    for key, value in ast.iter_fields(node):
        if isinstance(value, list):
            fields[key] = [clone(v) if isinstance(v, ast.AST) else v for v in value]
        else:
            fields[key] = clone(value) if isinstance(value, ast.AST) else value
    return ast.copy_location(type(node)(**fields), node)


def shallow(node: _Node) -> _Node:
    """A copy of `node` alone, for whoever replaces what it holds."""
    return ast.copy_location(type(node)(**dict(ast.iter_fields(node))), node)
