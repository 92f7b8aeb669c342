"""Keep the tuple that a loop takes apart, where the same one goes into another index.

Before:    for users, uid, u, g in join_q_4_by_g_perms[s]:    After:    for row in join_q_4_by_g_perms[s]:
               image = join_q_5_by_p[x]                                     users, uid, u, g = row
               image.discard((users, uid, u, g))                            image = join_q_5_by_p[x]
                                                                            image.discard(row)
Invariant: what a loop takes apart in its head is a tuple that maintenance has made, of just these parts
Cost:      linear in the code; no tuple is made where there is one
"""

from __future__ import annotations

import ast
import copy

from incoq.codegen.fetch_once import changed_within, has_loops
from incoq.codegen.merge_blocks import assigned


def keep_rows(statements: list[ast.stmt], row: str) -> list[ast.stmt]:
    """The same statements; `row` is the local name of what is kept."""
    return [_kept(s, row) if has_loops(s) else s for s in statements]


def _kept(statement: ast.stmt, row: str) -> ast.stmt:
    match statement:
        case ast.For(target=ast.Tuple(elts=parts), body=body) if _makes_again(body, _shown(parts)):
            made = copy.copy(statement)  # a loop in this one makes its own tuples: there is one row at a time
            taken_apart = ast.Assign([statement.target], ast.Name(row, ast.Load()), lineno=0)
            made.target = ast.Name(row, ast.Store())
            again = _Again(_shown(parts), row)
            made.body = [taken_apart, *(again.visit(copy.deepcopy(s)) for s in body)]
            return made
    return changed_within(statement, lambda inner: keep_rows(inner, row))


def _shown(parts: list[ast.expr]) -> tuple[str, ...]:
    """The names of the parts of a tuple; none where some are not names."""
    names = tuple(part.id for part in parts if isinstance(part, ast.Name))
    return names if len(names) == len(parts) else ()


def _makes_again(body: list[ast.stmt], parts: tuple[str, ...]) -> bool:
    """Is a tuple made of these names, which nothing rebinds?"""
    return (
        any(_is_made(node, parts) for statement in body for node in ast.walk(statement))
        and len({*parts}) == len(parts)
        and not {*parts} & {*assigned(body)}
    )


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
