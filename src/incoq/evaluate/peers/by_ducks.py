"""ducks: users as objects, indexed by place and by what is asked about them."""

from __future__ import annotations

from typing import Any

from ducks import Dex

from incoq.evaluate.peers.world import GROUP, World


class _User:
    __slots__ = ("email", "follows0", "follows1", "follows2", "in_group", "loc", "others")

    def __init__(self, email: str, loc: str) -> None:
        self.email, self.loc = email, loc
        self.follows0 = self.follows1 = self.follows2 = self.in_group = False
        self.others: set[int] = set()


class Peer:
    def __init__(self, world: World) -> None:
        self.users = [_User(email, loc) for _, email, loc in world.users()]
        numbers = {celeb: number for number, celeb in enumerate(world.celebs)}
        for celeb, user in world.follow_pairs():
            if celeb in numbers:
                setattr(self.users[user], f"follows{numbers[celeb]}", True)
            else:
                self.users[user].others.add(celeb)
        for group, user in world.member_pairs():
            if group == GROUP:
                self.users[user].in_group = True
        self.dex = Dex(self.users, ["loc", "in_group", "follows0", "follows1", "follows2"])

    def ask(self, celeb: int) -> set[str]:
        wanted = {"loc": "NYC", "in_group": True, f"follows{celeb}": True}
        return {user.email for user in self.dex[wanted]}

    def move(self, user: int, place: str) -> None:
        self._set(user, "loc", place)

    def follow(self, user: int, celeb: int) -> None:
        self._set(user, f"follows{celeb}", True)

    def unfollow(self, user: int, celeb: int) -> None:
        self._set(user, f"follows{celeb}", False)

    def join(self, user: int) -> None:
        self._set(user, "in_group", True)

    def leave(self, user: int) -> None:
        self._set(user, "in_group", False)

    def _set(self, user: int, name: str, value: Any) -> None:
        changed = self.users[user]
        self.dex.remove(changed)
        setattr(changed, name, value)
        self.dex.add(changed)
