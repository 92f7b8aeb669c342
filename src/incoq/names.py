"""The one generator of names: nothing it gives collides with the program or with itself."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable

_BUILTINS = frozenset(dir(builtins))


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
