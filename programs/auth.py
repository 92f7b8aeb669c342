"""Auth: what a user may do, as a web framework asks it. Users are in groups, groups have permissions.

A permission counts while its group is active.
"""

import random
import sys

from incoq import Set, query


class User:
    def __init__(self, id):
        self.id = id
        self.groups = Set()


class Group:
    def __init__(self, active):
        self.active = active
        self.perms = Set()


class Perm:
    def __init__(self, name):
        self.name = name


@query
def permissions(users, uid):
    """The names of the permissions that the user with this id has by an active group."""
    return {p.name for u in users for g in u.groups for p in g.perms if u.id == uid if g.active}


def register(user, users):
    users.add(user)


def join(user, group):
    user.groups.add(group)


def leave(user, group):
    user.groups.remove(group)


def grant(perm, group):
    group.perms.add(perm)


def revoke(perm, group):
    group.perms.remove(perm)


def step(rng, members, groups, perms):
    """One random change of who is in which group, which group may what, or what is active."""
    user, group, perm = rng.choice(members), rng.choice(groups), rng.choice(perms)
    kind = rng.randrange(3)
    if kind == 0:
        (leave if group in user.groups else join)(user, group)
    elif kind == 1:
        (revoke if perm in group.perms else grant)(perm, group)
    else:
        group.active = not group.active


def main(seed=1, size=20, steps=200):
    rng = random.Random(seed)
    users = Set()
    members = [User(i) for i in range(size)]
    groups = [Group(i % 2 == 0) for i in range(4)]
    perms = [Perm(f"may{i}") for i in range(10)]
    for user in members:
        register(user, users)
        join(user, rng.choice(groups))
    for _ in range(steps):
        step(rng, members, groups, perms)
        uid = rng.randrange(size)
        print(uid, *sorted(permissions(users, uid)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
