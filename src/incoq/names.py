"""The one generator of names: nothing it gives collides with the program or with itself."""

from __future__ import annotations

import builtins
import keyword
import symtable
from collections.abc import Iterable

_BUILTINS = frozenset(dir(builtins))


def mangled(name: str, owner: str | None) -> str:
    """What a name means in a class: `__x` in class C is `_C__x`."""
    stem = (owner or "").lstrip("_")
    private = name.startswith("__") and not name.endswith("__")
    return f"_{stem}{name}" if private and stem else name


class NameSupply:
    """Gives `prefix`, or `prefix_2`, `prefix_3`, ... when that is taken; the same input, the same names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def __copy__(self) -> NameSupply:
        """Another supply that goes on from here by itself."""
        return NameSupply(self._taken)

    def fresh(self, prefix: str) -> str:
        candidate, number = prefix, 1
        while candidate in self._taken or candidate in _BUILTINS or keyword.iskeyword(candidate):
            number += 1
            candidate = f"{prefix}_{number}"
        self._taken.add(candidate)
        return candidate


def free_names(text: str) -> set[str]:
    """The global names that some scope of a module reads and neither the module nor Python defines."""
    module = symtable.symtable(text, "<program>", "exec")
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
    return read - defined - _BUILTINS - {"__file__", "__path__"}
