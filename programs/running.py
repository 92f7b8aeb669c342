"""The paper's running example: which followers of a celebrity, in a group, are in New York?

A user has an address, a place and a set of followers; a group is a bare set of users.
"""

import random
import sys

from incoq import Set, query

PLACES = ("NYC", "Boston", "Lima", "Oslo")


class User:
    def __init__(self, email, loc):
        self.followers = Set()
        self.email = email
        self.loc = loc


@query
def nyc_fans(celeb, group):
    """The addresses of those who follow the celebrity, are in the group and are in New York."""
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}


def follow(user, celeb):
    celeb.followers.add(user)


def unfollow(user, celeb):
    celeb.followers.remove(user)


def join(user, group):
    group.add(user)


def leave(user, group):
    group.remove(user)


def move(user, place):
    del user.loc
    user.loc = place


def step(rng, users, celebs, groups):
    """One random update: a user (un)follows a celebrity, joins or leaves a group, or moves."""
    user, celeb, group = rng.choice(users), rng.choice(celebs), rng.choice(groups)
    kind = rng.randrange(3)
    if kind == 0:
        (unfollow if user in celeb.followers else follow)(user, celeb)
    elif kind == 1:
        (leave if user in group else join)(user, group)
    else:
        move(user, rng.choice(PLACES))


def make_world(rng, size):
    """Users, the celebrities among them and groups; one group is also a celebrity's set of followers."""
    users = [User(f"user{i:03}@example.org", rng.choice(PLACES)) for i in range(size)]
    celebs = users[:3]
    groups = [Set(), Set(), celebs[0].followers]
    for user in users:
        follow(user, rng.choice(celebs))
        join(user, rng.choice(groups))
    return users, celebs, groups


def main(seed=1, size=40, steps=200):
    rng = random.Random(seed)
    users, celebs, groups = make_world(rng, size)
    for _ in range(steps):
        step(rng, users, celebs, groups)
        celeb, group = rng.choice(celebs), rng.choice(groups)
        print(celeb.email, groups.index(group), *sorted(nyc_fans(celeb, group)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
