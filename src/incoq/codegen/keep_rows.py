"""Keep the tuple that a loop takes apart, where the same one goes into another index.

Before:    for users, uid, u, g in join_q_4_by_g_perms[s]:    After:    for row in join_q_4_by_g_perms[s]:
               image = join_q_5_by_p[x]                                     users, uid, u, g = row
               image.discard((users, uid, u, g))                            image = join_q_5_by_p[x]
                                                                            image.discard(row)
           where nothing reads the parts, they are not taken apart
Invariant: what a loop takes apart in its head is a tuple that maintenance has made, of just these parts
Cost:      linear in the code; no tuple is made where there is one
"""

from __future__ import annotations

import ast
import copy

from incoq.codegen.fetch_once import changed_within
from incoq.codegen.merge_blocks import assigned


def keep_rows(statements: list[ast.stmt], row: str) -> list[ast.stmt]:
    """The same statements; `row` is the local name of what is kept."""
    return [_kept(s, row) if any(map(_makes_again, ast.walk(s))) else s for s in statements]


def _kept(statement: ast.stmt, row: str) -> ast.stmt:
    """A copy, since the same code may stand in several functions."""
    if not _makes_again(statement):
        return changed_within(statement, lambda inner: keep_rows(inner, row))
    assert isinstance(statement, ast.For) and isinstance(statement.target, ast.Tuple)
    made = copy.copy(statement)  # a loop in this one makes its own tuples: there is one row at a time
    taken_apart = ast.Assign([statement.target], ast.Name(row, ast.Load()), lineno=0)
    made.target = ast.Name(row, ast.Store())
    parts = _shown(statement.target.elts)
    again = _Again(parts, row)
    made.body = [again.visit(copy.deepcopy(s)) for s in statement.body]
    if any(isinstance(n, ast.Name) and n.id in parts for s in made.body for n in ast.walk(s)):
        made.body.insert(0, taken_apart)
    return made


def _shown(parts: list[ast.expr]) -> tuple[str, ...]:
    """The names of the parts of a tuple; none where some are not names."""
    names = tuple(part.id for part in parts if isinstance(part, ast.Name))
    return names if len(names) == len(parts) else ()


def _makes_again(node: ast.AST) -> bool:
    """Does a loop make the tuple again that it takes apart into names, of which it rebinds none?"""
    match node:
        case ast.For(target=ast.Tuple(elts=elements), body=body):
            parts = _shown(elements)
            return (
                any(_is_made(inner, parts) for statement in body for inner in ast.walk(statement))
                and len({*parts}) == len(parts)
                and not {*parts} & {*assigned(body)}
            )
    return False


def _is_made(node: ast.AST, parts: tuple[str, ...]) -> bool:
    match node:
        case ast.Tuple(elts=elements, ctx=ast.Load()):
            return bool(parts) and _shown(elements) == parts
    return False


class _Again(ast.NodeTransformer):
    """Puts the row in place of tuples that are made of its parts."""

    def __init__(self, parts: tuple[str, ...], row: str) -> None:
        self.parts, self.row = parts, row

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        return ast.Name(self.row, ast.Load()) if _is_made(node, self.parts) else node
