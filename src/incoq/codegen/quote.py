"""Quasi-quotation: our own snippets parsed once, with holes filled by `ast` nodes.

    quote("if X in TAG:\\n    BODY", X=name("u"), TAG=name("tag_u"), BODY=[...])

A hole is a name; as an expression it is replaced by an expression, as a statement by statements. Text of
the user never becomes part of a snippet.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache

Filling = ast.expr | list[ast.stmt] | str
Holes = dict[str, Filling]

# Nodes that hold no other ones and are never changed: they need no copy.
_MARKS = (ast.Constant, ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)


def quote(snippet: str, **holes: Filling) -> list[ast.stmt]:
    """The statements of a snippet with its holes filled."""
    return [s for statement in _parsed(snippet).body for s in _fill_statement(statement, holes)]


def quote_expr(snippet: str, **holes: Filling) -> ast.expr:
    """The expression of a snippet with its holes filled."""
    statement = _parsed(snippet).body[0]
    assert isinstance(statement, ast.Expr)
    filled = fill(statement.value, holes)
    assert isinstance(filled, ast.expr)
    return filled


def commented(statements: list[ast.stmt], *comments: str) -> list[ast.stmt]:
    """Put comment lines before the first statement."""
    if statements and comments:
        first = statements[0]
        first.comments = (*comments, *getattr(first, "comments", ()))  # type: ignore[attr-defined]
    return statements


def trailing(statements: list[ast.stmt], comment: str) -> list[ast.stmt]:
    """Put a comment at the end of the first statement's line."""
    if statements and comment:
        statements[0].trailing = comment  # type: ignore[attr-defined]
    return statements


@cache
def _parsed(snippet: str) -> ast.Module:
    return ast.parse(snippet)


def _fill_statement(node: ast.stmt, holes: Mapping[str, Filling]) -> list[ast.stmt]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name):
        filling = holes.get(node.value.id)
        if isinstance(filling, list):
            return filling
    filled = fill(node, holes)
    assert isinstance(filled, ast.stmt)
    return [filled]


def fill(node: ast.AST, holes: Mapping[str, Filling]) -> ast.AST:
    if isinstance(node, ast.Name):
        filling = holes.get(node.id)
        if isinstance(filling, str):
            return ast.Name(filling, node.ctx)
        if isinstance(filling, ast.expr):
            return filling
    elif isinstance(node, _MARKS):
        return node
    fields: dict[str, object] = {}
    for key in node._fields:
        value = getattr(node, key, None)
        if isinstance(value, list):
            items: list[object] = []
            for item in value:
                if isinstance(item, ast.stmt):
                    items.extend(_fill_statement(item, holes))
                elif isinstance(item, ast.AST):
                    items.append(fill(item, holes))
                else:
                    items.append(item)
            fields[key] = items
        elif isinstance(value, ast.AST):
            fields[key] = fill(value, holes)
        elif isinstance(value, str) and key in ("name", "arg", "attr") and isinstance(holes.get(value), str):
            fields[key] = holes[value]
        else:
            fields[key] = value
    return type(node)(**fields)
