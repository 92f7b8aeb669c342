"""What a gate hands back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """The result of one gate: what was measured, what was asked, and every failure with what repeats it."""

    gate: str
    figure: str  # "1,204,000 operations, 5,210 shapes, 0 differences"
    limit: str  # "0 differences"
    failures: tuple[str, ...] = ()
    details: tuple[str, ...] = ()  # lines for whoever wants more than the table: printed, not recorded
    rows: tuple[tuple[str, ...], ...] = ()  # a table of its own for the page, its heads first

    @property
    def passed(self) -> bool:
        """Whether the gate holds."""
        return not self.failures

    @property
    def verdict(self) -> str:
        """One word or two for the table."""
        return "holds" if self.passed else f"{len(self.failures)} failed"
