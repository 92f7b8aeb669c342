"""What a gate hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Outcome:
    """The result of one gate: what was measured, what was asked, and every failure with what repeats it.

    Counts add up over runs: figure and rows name them in braces, and `with_totals` puts them in.
    """

    gate: str
    figure: str  # "{operations:,} operations, {shapes:,} shapes; 0 differences"
    limit: str  # "0 differences"
    failures: tuple[str, ...] = ()
    details: tuple[str, ...] = ()  # lines for whoever wants more than the table: printed, not recorded
    rows: tuple[tuple[str, ...], ...] = ()  # a table of its own for the page, its heads first
    counts: Mapping[str, int] = field(default_factory=dict)  # what adds up over runs
    most: Mapping[str, float] = field(default_factory=dict)  # of which the greatest of all runs counts
    next_seed: int = 0  # where the next run begins, so that no run repeats another

    @property
    def passed(self) -> bool:
        """Whether the gate holds."""
        return not self.failures

    def with_totals(self, counts: Mapping[str, int], most: Mapping[str, float]) -> Outcome:
        """With what the runs before counted, and the totals in figure and rows."""
        summed = {name: counts.get(name, 0) + count for name, count in self.counts.items()}
        greatest = {name: max(value, most.get(name, value)) for name, value in self.most.items()}
        totals = {**summed, **greatest}
        if not totals:
            return self
        rows = tuple(tuple(cell.format(**totals) for cell in row) for row in self.rows)
        return replace(self, figure=self.figure.format(**totals), rows=rows, counts=summed, most=greatest)

    @property
    def verdict(self) -> str:
        """One word or two for the table."""
        return "holds" if self.passed else f"{len(self.failures)} failed"
