"""Names of Python that a program binds for itself, and that code of ours needs as they are.

Before:    def getattr(o, name): ...        # beside queries whose maintenance reads fields by `getattr`
After:     {"getattr"}, which is refused: in one module there is one meaning of a name
Invariant: what is not reported is read by the program alone, or bound by nobody
Cost:      linear in the text
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Collection

_BUILTINS = frozenset(dir(builtins))


def shadowed(support: str, bound: Collection[str]) -> set[str]:
    """The builtins that the text of the support code reads and that the module binds.

    >>> sorted(shadowed("def f(o):\\n    return len(o)", {"len", "max", "f"}))
    ['len']
    """
    wanted = _BUILTINS & set(bound)
    if not wanted:
        return set()
    read: set[str] = set()
    scopes = [symtable.symtable(support, "<support>", "exec")]
    for scope in scopes:
        scopes += scope.get_children()
        module = scope.get_type() == "module"
        read |= {s.get_name() for s in scope.get_symbols() if s.is_referenced() and (module or s.is_global())}
    return set(wanted & read)


def binds_anywhere(tree: ast.Module, names: Collection[str]) -> bool:
    """Does any scope of a module bind one of some names?"""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                pass
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                pass
            case ast.alias(name=original, asname=given):
                name = given or original
            case _:
                continue
        if name in names:
            return True
    return False
