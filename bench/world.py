"""The data of the running example, made through the program's own functions, the same for every version.

n users and n/100 groups; each user follows exactly n/200 users and is in n/2000 groups; 20 locations, one of
them "NYC". Three celebrities and one group are demanded. In the uniform world a celebrity has exactly n/200
followers; in the big one each celebrity is followed by half of all users (or a few more: the uniform follows
are kept), and half of all users, or a few more, are in the group.
"""

import random
from dataclasses import dataclass
from typing import Any

PLACES = ("NYC", *(f"place{i:02}" for i in range(1, 20)))
CELEBS = 3


@dataclass(frozen=True)
class World:
    users: list[Any]
    groups: list[Any]
    celebs: list[Any]
    group: Any
    tagged: list[Any]
    """The users who follow a celebrity and are in the group: those that an answer depends on."""
    untagged: list[Any]

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        return [(celeb, self.group) for celeb in self.celebs]


def make_world(program: Any, n: int, *, big: bool, seed: int) -> World:
    rng = random.Random(seed)
    users = [program.User(f"user{i}@example.org", rng.choice(PLACES)) for i in range(n)]
    groups = [program.new_group() for _ in range(max(1, n // 100))]
    follow, join = program.follow, program.join
    for user in users:
        for celeb in rng.sample(users, max(1, n // 200)):
            follow(user, celeb)
        for group in rng.sample(groups, max(1, n // 2000)):
            join(user, group)
    if big:
        celebs, group = users[:CELEBS], groups[0]
        for celeb in celebs:
            for user in rng.sample(users, n // 2):
                follow(user, celeb)
        for user in rng.sample(users, n // 2):
            join(user, group)
        fans = set().union(*(celeb.followers for celeb in celebs))
    else:
        celebs = [user for user in users if len(user.followers) == max(1, n // 200)][:CELEBS]
        if len(celebs) < CELEBS:
            raise ValueError(f"fewer than {CELEBS} of {n} users have n/200 followers: try another seed")
        fans = set().union(*(celeb.followers for celeb in celebs))
        # A typical group holds 5% of the fans, which may be none of them: take the one that holds most.
        group = max(groups, key=lambda candidate: sum(user in candidate for user in fans))
    tagged = [user for user in users if user in fans and user in group]
    untagged = [user for user in users if user not in fans or user not in group]
    if not tagged:
        raise ValueError(f"no group of {n} users holds a fan: try another seed")
    return World(users, groups, celebs, group, tagged, untagged)


def answers(program: Any, world: World) -> list[list[str]]:
    return [sorted(program.nyc_fans(celeb, group)) for celeb, group in world.pairs]
