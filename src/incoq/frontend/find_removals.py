"""Does a program remove from a set or a list? If not, some answers need no counts (paper, section 6)."""

from __future__ import annotations

import ast
from collections.abc import Collection

_REMOVING = frozenset(
    [
        "remove", "discard", "pop", "clear", "difference_update", "intersection_update",
        "symmetric_difference_update", "__isub__", "__iand__", "__ixor__", "__init__", "__delitem__",
        "popitem", "release",
    ]
)  # fmt: skip


def only_adds(trees: Collection[ast.Module], private: Collection[ast.AST]) -> bool:
    """Is there no place in the text that could remove an element from a set or a list that queries reach?
    `private` holds expressions that make containers which no query reaches."""
    lists = makes_lists(trees, private)
    return not any(_may_remove(node, lists) for tree in trees for node in ast.walk(tree))


def makes_lists(trees: Collection[ast.Module], private: Collection[ast.AST]) -> bool:
    """Does a program make lists that a query could reach?"""
    return any(_makes_list(node) and node not in private for tree in trees for node in ast.walk(tree))


def _makes_list(node: ast.AST) -> bool:
    match node:
        case ast.List(ctx=ast.Load()) | ast.ListComp():
            return True
        case ast.Starred(ctx=ast.Store()) | ast.MatchStar(name=str()):
            return True
        case ast.Name(id="list" | "sorted") | ast.Attribute(attr="split" | "rsplit" | "splitlines"):
            return True
    return False


def makes_dicts(trees: Collection[ast.Module], private: Collection[ast.AST]) -> bool:
    """Does a program make dicts that a query could reach?"""
    made = (_made_dict(node) for tree in trees for node in ast.walk(tree))
    return any(node is not None and node not in private for node in made)


def _made_dict(node: ast.AST) -> ast.AST | None:
    match node:
        case ast.Dict() | ast.DictComp() | ast.Name(id="dict") | ast.MatchMapping(rest=str()):
            return node
        case ast.arguments(kwarg=ast.arg() as options):
            return options
    return None


_REPLACING = frozenset(["shuffle", "__setitem__", "__imul__"])  # methods and functions that do so to lists
_CHANGING = ("operator", "functools", "heapq")  # their functions change what they are given


def _may_remove(node: ast.AST, lists: bool) -> bool:
    match node:
        case ast.Attribute(attr=attr):
            return attr in _REMOVING or (lists and attr in _REPLACING)
        case ast.Constant(value=str(text)):  # getattr(s, "remove")
            return text in _REMOVING or (lists and text in _REPLACING)
        case ast.AugAssign(op=ast.Sub() | ast.BitAnd() | ast.BitXor()):
            return True
        case ast.AugAssign(op=ast.Mult()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return lists
        case ast.Call(func=ast.Name(id="getattr"), args=[_, attribute, *_]):
            return not isinstance(attribute, ast.Constant)
        case ast.Import(names=aliases):
            return any(a.name in _CHANGING for a in aliases)
        case ast.ImportFrom(module=module):
            return module in _CHANGING or (lists and module == "random")
    return False
