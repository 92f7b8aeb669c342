"""The data that all peers load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

GROUP = 0  # the group that is asked about


@dataclass(frozen=True)
class World:
    """The place of each user, whom each follows, which groups each is in; the celebrities asked about."""

    places: list[str]
    follows: list[list[int]]
    joined: list[list[int]]
    groups: int
    celebs: tuple[int, ...]

    def email(self, user: int) -> str:
        return f"user{user}@example.org"

    def users(self) -> Iterator[tuple[int, str, str]]:
        for user, place in enumerate(self.places):
            yield user, self.email(user), place

    def follow_pairs(self) -> Iterator[tuple[int, int]]:
        """Who is followed, and by whom."""
        for user, followees in enumerate(self.follows):
            for celeb in followees:
                yield celeb, user

    def member_pairs(self) -> Iterator[tuple[int, int]]:
        """A group, and who is in it."""
        for user, groups in enumerate(self.joined):
            for group in groups:
                yield group, user
