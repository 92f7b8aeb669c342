"""Symbolic costs: products of the sizes of image sets (paper, section 5.1).

A `Factor` is the size of one image set, such as `#inv_member{user}`. How large it is expected to be is a
`Size`: demand is small, an inverse field is medium, the content or the inverse of a set is large. Costs
are compared by how many factors they have of each size, largest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Size(IntEnum):
    """Expected size of an image set, in the absence of declared facts."""

    ONE = 0  # by a declared fact
    SMALL = 1  # images under demand
    MEDIUM = 2  # objects that share a field's value
    LARGE = 3  # members of a set, sets of a member


@dataclass(frozen=True)
class Factor:
    """The number of values that one step binds."""

    text: str
    size: Size

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Cost:
    """A product of factors; the empty product is O(1)."""

    factors: tuple[Factor, ...] = ()

    @property
    def rank(self) -> tuple[int, int, int]:
        """Lexicographic measure: large, then medium, then small factors."""
        sizes = [f.size for f in self.factors]
        return (sizes.count(Size.LARGE), sizes.count(Size.MEDIUM), sizes.count(Size.SMALL))

    def times(self, factor: Factor) -> Cost:
        return Cost((*self.factors, factor))

    def __str__(self) -> str:
        shown = [f.text for f in self.factors if f.size is not Size.ONE]
        return " × ".join(shown) or "1"


def total(costs: list[Cost]) -> str:
    """`O(a × b + c)`: concatenated blocks add up; repeated summands and constants are shown once."""
    shown = [str(c) for c in dict.fromkeys(costs) if str(c) != "1"]
    return f"O({' + '.join(dict.fromkeys(shown)) or '1'})"
