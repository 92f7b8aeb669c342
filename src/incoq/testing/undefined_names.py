"""Names that a program reads and nothing defines.

Generated code evaluates conditions inside `try`, as the language wants: a combination that raises is skipped.
A name that code generation forgot to hand on would be skipped there, too, and an answer would be silently
empty; so every generated program is looked through.
"""

from __future__ import annotations

import builtins
import symtable


def undefined_names(code: str, known: frozenset[str] = frozenset()) -> set[str]:
    """The global names that some scope of `code` reads and neither the module, Python nor `known` defines."""
    module = symtable.symtable(code, "<program>", "exec")
    defined = {s.get_name() for s in module.get_symbols() if s.is_assigned() or s.is_imported()}
    read: set[str] = set()
    scopes = [module]
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        for symbol in scope.get_symbols():
            if symbol.is_global() or scope is module:
                if symbol.is_referenced():
                    read.add(symbol.get_name())
                if symbol.is_declared_global() and symbol.is_assigned():
                    defined.add(symbol.get_name())
    return read - defined - set(dir(builtins)) - known - {"__file__", "__path__"}
