"""Join orders and their symbolic costs (paper, section 5.1).

A `Cover` is an order in which the clauses of a query are visited; its `Cost` is a product of `Factor`s,
the sizes of image sets such as `#inv_member{user}`. How large a factor is expected to be is its `Size`:
demand is small, an inverse field is medium, the content or the inverse of a set is large. Costs are
compared by how many factors they have of each size, largest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


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


class Access(Enum):
    """How a step reaches the clause's tuples."""

    FORWARD = "forward"  # x = o.f
    TEST = "test"  # all columns bound
    SCAN = "scan"  # all of a set, or all of demand
    LOOKUP = "lookup"  # an index from the bound columns to the others
    NOTHING = "nothing"  # a watch that binds nothing


@dataclass(frozen=True)
class Step:
    """Visit one clause: `key` columns are bound before, `new` columns are bound by it."""

    clause: int
    access: Access
    key: tuple[int, ...]
    new: tuple[int, ...]
    factor: Factor | None = None


@dataclass(frozen=True)
class Cover:
    """An order of all clauses with its cost."""

    steps: tuple[Step, ...]
    cost: Cost
    facts_used: int = 0

    @property
    def rank(self) -> tuple[int, int, int, int]:
        return (*self.cost.rank, -self.facts_used)


@dataclass(frozen=True)
class Covers:
    """What the search found: the best first, then the others it considered."""

    best: Cover
    considered: tuple[Cover, ...]
    cut: bool  # the budget ended the search

    @property
    def tied(self) -> tuple[Cover, ...]:
        return tuple(c for c in self.considered if c.rank == self.best.rank)
