"""Merge maintenance blocks that begin with the same tests.

Before:    if isinstance(x, tuple):                     After:    if isinstance(x, tuple):
               try:                                                   try:
                   p, d = x                                               p, d = x
               except ValueError:                                     except ValueError:
                   pass                                                   pass
               else:                                                  else:
                   A                                                      A
           if isinstance(x, tuple):                                       B
               ...
                   B
           answer = r_q.get(p)                                    answer = r_q.get(p)
           if answer is not None:                                 if answer is not None:
               A                                                      A
           answer = r_q.get(p)                                        B
           if answer is not None:
               B
Invariant: what is tested and read again is the same as before: it depends on names that nothing between
           assigns, and on nothing that maintenance changes
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from incoq.codegen.quote import commented
from incoq.ir.expressions import names_in, nodes_in

_BUILTINS = frozenset({"isinstance", "len", "bool", "set", "list"})
_METHODS = frozenset({"add", "discard", "get", "setdefault", "pop", "append"})


def merge_blocks(statements: list[ast.stmt], quiet: Collection[str] = ()) -> list[ast.stmt]:
    """The same statements, neighbours with the same test made one; functions that are `quiet` change nothing
    that is maintained."""
    merged: list[ast.stmt] = []
    for statement in statements:
        if _fetches_again(merged, statement, quiet):
            commented([statement], *getattr(merged.pop(), "comments", ()))
        before = merged[-1] if merged else None
        if isinstance(before, ast.If) and isinstance(statement, ast.If) and _merges(before, statement, quiet):
            before.body = merge_blocks([*before.body, *_without_prefix(before.body, statement)], quiet)
        elif isinstance(before, ast.Try) and isinstance(statement, ast.Try) and _same_try(before, statement):
            rest = commented(statement.orelse, *getattr(statement, "comments", ()))
            before.orelse = merge_blocks([*before.orelse, *rest], quiet)
        else:
            merged.append(statement)
    return merged


def _merges(first: ast.If, second: ast.If, quiet: Collection[str]) -> bool:
    if first.orelse or second.orelse or ast.dump(first.test) != ast.dump(second.test):
        return False
    tags = any(isinstance(part, ast.Name) for part in _parts(first.test))
    if tags and not all(is_quiet(node, quiet) for statement in first.body for node in nodes_in(statement)):
        return False
    return _is_steady(first.test) and not names_in(first.test) & set(assigned(first.body))


def _fetches_again(merged: list[ast.stmt], statement: ast.stmt, quiet: Collection[str]) -> bool:
    """Was what the last statement gets out of a map, for this one to test, got and tested just before?

    `a = m.get(k)`, `if a is not None: A`, `a = m.get(k)`, and now `if a is not None: B`"""
    if len(merged) < 3 or not isinstance(statement, ast.If):
        return False
    first, tested, again = merged[-3:]
    if not isinstance(tested, ast.If) or not _is_fetch(again) or ast.dump(first) != ast.dump(again):
        return False
    return (
        _merges(tested, statement, quiet)
        and not names_in(again) & set(assigned(tested.body))
        and all(is_quiet(node, quiet) for inner in tested.body for node in nodes_in(inner))
    )


def _is_fetch(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(
            targets=[ast.Name()],
            value=ast.Call(func=ast.Attribute(value=ast.Name(), attr="get"), args=[_], keywords=[]),
        ):
            return True
    return False


def _same_try(first: ast.Try, second: ast.Try) -> bool:
    """Is the same tuple unpacked twice, the same names being given to its parts?"""
    [unpack, *more] = first.body
    again = second.body[0]
    if more or len(second.body) > 1 or not _is_reading(unpack) or ast.dump(unpack) != ast.dump(again):
        return False
    handlers, others = map(ast.dump, first.handlers), map(ast.dump, second.handlers)
    return list(handlers) == list(others) and not names_in(unpack) & set(assigned(first.orelse))


def _parts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) else [test]


def is_quiet(node: ast.AST, quiet: Collection[str]) -> bool:
    """Does a call, if it is one, change at most the structure that it is a method of?"""
    match node:
        case ast.Call(func=ast.Name(id=function)):
            return function in quiet or function in _BUILTINS
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in _METHODS
        case ast.Call():
            return False
    return True


def _is_steady(test: ast.expr) -> bool:
    """Does a test look at names and the shape of tuples alone, or whether a fixed set is tagged?"""
    match test:
        case ast.Name():
            return True
        case ast.BoolOp(values=values):
            return all(map(_is_steady, values))
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.IsNot()], comparators=[right]):
            return _is_shape(left) and _is_shape(right)
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(), ast.Name(id="tuple")]):
            return True
    return False


def _is_shape(node: ast.expr) -> bool:
    match node:
        case ast.Name() | ast.Constant() | ast.Attribute(value=ast.Name(), attr="__class__"):
            return True
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name()]):
            return True
    return False


def _without_prefix(before: list[ast.stmt], block: ast.If) -> list[ast.stmt]:
    """A block's statements without the readings that the block before has done already."""
    rest = list(block.body)
    done: list[str] = []
    later = before
    while rest and later and _is_reading(rest[0]) and ast.dump(rest[0]) == ast.dump(later[0]):
        done += assigned(rest[:1])
        rest, later = rest[1:], later[1:]
    if set(done) & set(assigned(later)):
        rest = list(block.body)
    return commented(rest, *getattr(block, "comments", ()))


def _is_reading(statement: ast.stmt) -> bool:
    """`p, d = x` or `p = x[0]`"""
    match statement:
        case ast.Assign(targets=[ast.Tuple()], value=ast.Name()):
            return True
        case ast.Assign(
            targets=[ast.Name()], value=ast.Subscript(value=ast.Name(), slice=ast.Constant(value=int()))
        ):
            return True
    return False


def assigned(statements: list[ast.stmt]) -> Iterator[str]:
    """The names that statements bind."""
    for statement in statements:
        for node in nodes_in(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
