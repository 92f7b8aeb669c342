"""Does a program remove from a set? Where it does not, some answers need no counts (paper, section 6)."""

from __future__ import annotations

import ast

from incoq.frontend.program import Program

_REMOVING = frozenset(
    [
        "remove", "discard", "pop", "clear", "difference_update", "intersection_update",
        "symmetric_difference_update", "__isub__", "__iand__", "__ixor__", "__init__", "__delitem__",
        "popitem", "release",
    ]
)  # fmt: skip


def only_adds_to_sets(program: Program) -> bool:
    """Is there no place in the text that could remove an element from a set?"""
    return not any(_may_remove(node) for module in program.modules for node in ast.walk(module.tree))


def _may_remove(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=attr):
            return attr in _REMOVING
        case ast.Constant(value=str(text)):
            return text in _REMOVING  # getattr(s, "remove")
        case ast.AugAssign(op=ast.Sub() | ast.BitAnd() | ast.BitXor()):
            return True
        case ast.Call(func=ast.Name(id="getattr"), args=[_, attribute, *_]):
            return not isinstance(attribute, ast.Constant)
        case ast.Import(names=aliases):
            return any(a.name in ("operator", "functools") for a in aliases)
        case ast.ImportFrom(module=module):
            return module in ("operator", "functools")
    return False
