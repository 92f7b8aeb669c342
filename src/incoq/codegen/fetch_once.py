"""Fetch the answer that a loop changes once, not in every turn.

Before:    for p in g_perms:                            After:    answer = None
               ...                                                for p in g_perms:
               answer = r_q[users, uid]                               ...
               answer[p_name] = ...                                   if answer is None:
                                                                          answer = r_q[users, uid]
                                                                      answer[p_name] = ...
Invariant: an answer is fetched where it was fetched before, and is the same in every turn: its key depends on
           nothing that the loop binds, and nothing in the loop begins or ends to keep an answer
Cost:      linear in the code, for each level of loops
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator

from incoq.codegen.merge_blocks import assigned, is_quiet
from incoq.codegen.quote import commented, quote
from incoq.ir.expressions import names_in, nodes_in

_BLOCKS = ("body", "orelse", "finalbody")
Change = Callable[[list[ast.stmt]], list[ast.stmt]]


def fetch_once(statements: list[ast.stmt], answer: str, quiet: Collection[str]) -> list[ast.stmt]:
    """The same statements; `answer` is the local name of what is fetched, and functions that are `quiet`
    begin and end to keep nothing."""

    def fetches(statement: ast.stmt) -> bool:
        if (known := found.get(statement)) is None:
            own = _fetched(statement, answer) is not None
            known = found[statement] = own or any(map(fetches, _inner(statement)))
        return known

    found: dict[ast.stmt, bool] = {}

    def functions(inner: list[ast.stmt]) -> list[ast.stmt]:
        return [
            changed_within(s, loops if isinstance(s, ast.FunctionDef) else functions) if fetches(s) else s
            for s in inner
        ]

    def loops(inner: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in inner:  # the outermost loop first: there one fetch serves most turns
            if not fetches(statement):
                made.append(statement)
            elif isinstance(statement, ast.For) and _is_steady(statement, answer, quiet):
                begin = quote("A = None", A=answer)
                made += commented(begin, *getattr(statement, "comments", ()))
                statement = changed_within(statement, lazily)
                statement.comments = ()  # type: ignore[attr-defined]
                made.append(statement)
            else:
                made.append(changed_within(statement, loops))
        return made

    def lazily(inner: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in inner:
            if _fetched(statement, answer) is None:
                made.append(changed_within(statement, lazily))
            else:
                bare = copy.copy(statement)
                bare.comments = ()  # type: ignore[attr-defined]
                fetch = quote("if A is None:\n    FETCH", A=answer, FETCH=[bare])
                made += commented(fetch, *getattr(statement, "comments", ()))
        return made

    return functions(statements)


def _inner(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements within one."""
    for part in (statement, *getattr(statement, "handlers", ())):
        for field in _BLOCKS:
            yield from getattr(part, field, ())


def _all_in(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements within one, and within those."""
    for inner in _inner(statement):
        yield inner
        yield from _all_in(inner)


def changed_within(statement: ast.stmt, change: Change) -> ast.stmt:
    """A copy of a statement whose blocks are changed; the same code may stand in several functions."""
    made = copy.copy(statement)
    for field in _BLOCKS:
        if isinstance(block := getattr(made, field, None), list):
            setattr(made, field, change(block))
    if isinstance(made, ast.Try):
        made.handlers = [ast.ExceptHandler(h.type, h.name, change(h.body)) for h in made.handlers]
    return made


def _fetched(statement: ast.AST, answer: str) -> ast.Subscript | None:
    """What an assignment to `answer` looks up, if it does."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Subscript(value=ast.Name()) as kept):
            return kept if target == answer else None
    return None


def _is_steady(loop: ast.For, answer: str, quiet: Collection[str]) -> bool:
    """Is one answer fetched in all of a loop, in which some are?"""
    kept = [found for inner in _all_in(loop) if (found := _fetched(inner, answer)) is not None]
    holder, key = kept[0].value, names_in(kept[0].slice)
    assert isinstance(holder, ast.Name)
    if key & names_in(loop.target) or len({ast.dump(k) for k in kept}) != 1:  # mostly, and soon seen
        return False
    bound = list(assigned([loop]))
    inside = [node for statement in loop.body for node in nodes_in(statement)]
    return (
        bound.count(answer) == len(kept)
        and not key & set(bound)
        and all(is_quiet(node, quiet) for node in inside)
        and not any(_changes(node, holder.id) for node in inside)
    )


def _changes(node: ast.AST, holder: str) -> bool:
    match node:
        case ast.Subscript(value=ast.Name(id=changed), ctx=ast.Store() | ast.Del()):
            return changed == holder
    return False
