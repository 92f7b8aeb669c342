"""SSD: static separation of duty. A constraint names roles of which nobody may be given c or more."""

import random
import sys

from incoq import Set, query

AT_LEAST = 0  # a violation is `c + AT_LEAST` roles or more: 0 by the ANSI standard, 1 for "more than c"
USERS = Set()
UR = Set()  # (user, role)
SSDNC = Set()  # (name, cardinality)
SSDNR = Set()  # (name, role)


@query
def violations():
    """The pairs of a user and a constraint that it violates."""
    return {
        (u, name)
        for u in USERS
        for (name, c) in SSDNC
        if len({r for (holder, r) in UR if holder == u if (name, r) in SSDNR}) >= c + AT_LEAST
    }


def add_user(user):
    USERS.add(user)


def delete_user(user):
    for _, role in [pair for pair in UR if pair[0] == user]:
        deassign(user, role)
    USERS.remove(user)


def assign(user, role):
    UR.add((user, role))


def deassign(user, role):
    UR.remove((user, role))


def add_role_member(name, role):
    SSDNR.add((name, role))


def delete_role_member(name, role):
    SSDNR.remove((name, role))


def add_cardinality(name, cardinality):
    SSDNC.add((name, cardinality))


def delete_cardinality(name, cardinality):
    SSDNC.remove((name, cardinality))


def create_set(name, roles, cardinality):
    """A named set of roles of which nobody may hold `cardinality`."""
    for role in roles:
        add_role_member(name, role)
    add_cardinality(name, cardinality)


def delete_set(name):
    for _, cardinality in [pair for pair in SSDNC if pair[0] == name]:
        delete_cardinality(name, cardinality)
    for _, role in [pair for pair in SSDNR if pair[0] == name]:
        delete_role_member(name, role)


def set_cardinality(name, old, new):
    delete_cardinality(name, old)
    add_cardinality(name, new)


def step(rng, size):
    """One random administrative operation."""
    user, name, role = f"u{rng.randrange(size)}", f"n{rng.randrange(size)}", f"r{rng.randrange(5)}"
    cardinalities = sorted(c for (n, c) in SSDNC if n == name)
    kind = rng.randrange(8)
    if user not in USERS:
        add_user(user)
    elif kind == 0:
        delete_user(user)
    elif kind <= 4:
        (deassign if (user, role) in UR else assign)(user, role)
    elif not cardinalities:
        create_set(name, [f"r{r}" for r in range(5) if rng.randrange(2)], 2)
    elif kind == 5:
        delete_set(name)
    elif kind == 6:
        (delete_role_member if (name, role) in SSDNR else add_role_member)(name, role)
    else:
        set_cardinality(name, cardinalities[0], rng.randrange(2, 5))


def main(seed=1, size=6, steps=200):
    rng = random.Random(seed)
    for _ in range(steps):
        step(rng, size)
        print(*(f"{user}:{name}" for user, name in sorted(violations())))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
