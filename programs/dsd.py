"""DSD: dynamic separation of duty. A constraint names roles of which no session may activate c or more."""

import random
import sys

from incoq import Set, query

AT_LEAST = 0  # a violation is `c + AT_LEAST` roles or more: 0 by the ANSI standard, 1 for "more than c"
SESSIONS = Set()
SR = Set()  # (session, role)
DSDNC = Set()  # (name, cardinality)
DSDNR = Set()  # (name, role)


@query
def violations():
    """The pairs of a session and a constraint that it violates."""
    return {
        (s, name)
        for s in SESSIONS
        for (name, c) in DSDNC
        if len({r for (holder, r) in SR if holder == s if (name, r) in DSDNR}) >= c + AT_LEAST
    }


def create_session(session, roles):
    SESSIONS.add(session)
    for role in roles:
        add_active_role(session, role)


def delete_session(session):
    for _, role in [pair for pair in SR if pair[0] == session]:
        drop_active_role(session, role)
    SESSIONS.remove(session)


def add_active_role(session, role):
    SR.add((session, role))


def drop_active_role(session, role):
    SR.remove((session, role))


def add_role_member(name, role):
    DSDNR.add((name, role))


def delete_role_member(name, role):
    DSDNR.remove((name, role))


def add_cardinality(name, cardinality):
    DSDNC.add((name, cardinality))


def delete_cardinality(name, cardinality):
    DSDNC.remove((name, cardinality))


def create_set(name, roles, cardinality):
    """A named set of roles of which nobody may hold `cardinality`."""
    for role in roles:
        add_role_member(name, role)
    add_cardinality(name, cardinality)


def delete_set(name):
    for _, cardinality in [pair for pair in DSDNC if pair[0] == name]:
        delete_cardinality(name, cardinality)
    for _, role in [pair for pair in DSDNR if pair[0] == name]:
        delete_role_member(name, role)


def set_cardinality(name, old, new):
    delete_cardinality(name, old)
    add_cardinality(name, new)


def step(rng, size):
    """One random operation on sessions or on constraints."""
    session, name, role = f"s{rng.randrange(size)}", f"n{rng.randrange(size)}", f"r{rng.randrange(5)}"
    cardinalities = sorted(c for (n, c) in DSDNC if n == name)
    kind = rng.randrange(8)
    if session not in SESSIONS:
        create_session(session, [f"r{r}" for r in range(5) if rng.randrange(2)])
    elif kind == 0:
        delete_session(session)
    elif kind <= 4:
        (drop_active_role if (session, role) in SR else add_active_role)(session, role)
    elif not cardinalities:
        create_set(name, [f"r{r}" for r in range(5) if rng.randrange(2)], 2)
    elif kind == 5:
        delete_set(name)
    elif kind == 6:
        (delete_role_member if (name, role) in DSDNR else add_role_member)(name, role)
    else:
        set_cardinality(name, cardinalities[0], rng.randrange(2, 5))


def main(seed=1, size=6, steps=200):
    rng = random.Random(seed)
    for _ in range(steps):
        step(rng, size)
        print(*(f"{session}:{name}" for session, name in sorted(violations())))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
