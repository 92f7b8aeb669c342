"""reaktiv: places and sets are signals, an answer is computed again when what it read has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reaktiv import Computed, Signal

from incoq.evaluate.peers.world import GROUP, World


class Peer:
    def __init__(self, world: World) -> None:
        followers: list[set[int]] = [set() for _ in world.places]
        for celeb, user in world.follow_pairs():
            followers[celeb].add(user)
        members: list[set[int]] = [set() for _ in range(world.groups)]
        for group, user in world.member_pairs():
            members[group].add(user)
        self.emails = [email for _, email, _ in world.users()]
        self.places = [Signal(place) for place in world.places]
        # A signal compares by identity or equality; a set that is changed in place comes with a new number.
        self.followers = [Signal((0, fans)) for fans in followers]
        self.group = Signal((0, members[GROUP]))
        self.others = members
        self.celebs = world.celebs
        self.answers = [Computed(self._answer(celeb)) for celeb in world.celebs]

    def _answer(self, celeb: int) -> Callable[[], set[str]]:
        def compute() -> set[str]:
            both = self.followers[celeb]()[1] & self.group()[1]
            return {self.emails[user] for user in both if self.places[user]() == "NYC"}

        return compute

    def ask(self, celeb: int) -> Any:
        return self.answers[celeb]()

    def move(self, user: int, place: str) -> None:
        self.places[user].set(place)

    def follow(self, user: int, celeb: int) -> None:
        _changed(self.followers[self.celebs[celeb]], user, True)

    def unfollow(self, user: int, celeb: int) -> None:
        _changed(self.followers[self.celebs[celeb]], user, False)

    def join(self, user: int) -> None:
        _changed(self.group, user, True)

    def leave(self, user: int) -> None:
        _changed(self.group, user, False)


def _changed(signal: Any, user: int, there: bool) -> None:
    number, users = signal()
    (users.add if there else users.discard)(user)
    signal.set((number + 1, users))
