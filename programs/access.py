"""Access: Core RBAC where only what CheckAccess, CreateSession and DeleteSession ask is kept up to date.

The other functions of administration are rare and evaluate their comprehensions when called. Access is
checked on few objects at a time, so its query is demanded by the object alone.
"""

import random
import sys

from shared.rbac_names import Names, require

from incoq import Set, query

OBJS = Set()
OPS = Set()
USERS = Set()
ROLES = Set()
SESSIONS = Set()
PR = Set()  # (operation, object, role): the role allows the operation on the object
UR = Set()  # (user, role): the user has the role
SU = Set()  # (session, user): the session is the user's
SR = Set()  # (session, role): the role is active in the session


def pairs_of_user(user):
    """The pairs of UR that mention the user."""
    return {(user, r) for r in ROLES if (user, r) in UR}


def sessions_of_user(user):
    """The sessions of the user."""
    return {s for s in SESSIONS if (s, user) in SU}


def triples_of_role(role):
    """The triples of PR that mention the role."""
    return {(op, obj, role) for op in OPS for obj in OBJS if (op, obj, role) in PR}


def pairs_of_role(role):
    """The pairs of UR that mention the role."""
    return {(u, role) for u in USERS if (u, role) in UR}


def sessions_with_role(role):
    """The sessions in which the role is active, each with its user."""
    return {(s, u) for s in SESSIONS for u in USERS if (s, u) in SU if (s, role) in SR}


def sessions_of_user_with_role(user, role):
    """The sessions of the user in which the role is active."""
    return {s for s in SESSIONS if (s, user) in SU if (s, role) in SR}


@query
def pairs_of_session(session):
    """The pairs of SR that mention the session."""
    return {(session, r) for r in ROLES if (session, r) in SR}


@query(demand=("obj",))
def allowing_roles(session, op, obj):
    """The active roles of the session that allow the operation on the object."""
    return {r for r in ROLES if (session, r) in SR if (op, obj, r) in PR}


@query
def assigned_roles(user):
    """The roles that the user has."""
    return {r for r in ROLES if (user, r) in UR}


def add_user(user):
    require(user not in USERS)
    USERS.add(user)


def delete_user(user):
    require(user in USERS)
    for pair in pairs_of_user(user):
        UR.remove(pair)
    for session in sessions_of_user(user):
        delete_session(user, session)
    USERS.remove(user)


def add_role(role):
    require(role not in ROLES)
    ROLES.add(role)


def delete_role(role):
    require(role in ROLES)
    for triple in triples_of_role(role):
        PR.remove(triple)
    for pair in pairs_of_role(role):
        UR.remove(pair)
    for session, user in sessions_with_role(role):
        delete_session(user, session)
    ROLES.remove(role)


def add_operation(op):
    require(op not in OPS)
    OPS.add(op)


def add_object(obj):
    require(obj not in OBJS)
    OBJS.add(obj)


def assign_user(user, role):
    require(user in USERS and role in ROLES and (user, role) not in UR)
    UR.add((user, role))


def deassign_user(user, role):
    require(user in USERS and role in ROLES and (user, role) in UR)
    for session in sessions_of_user_with_role(user, role):
        delete_session(user, session)
    UR.remove((user, role))


def grant_permission(op, obj, role):
    require(op in OPS and obj in OBJS and role in ROLES and (op, obj, role) not in PR)
    PR.add((op, obj, role))


def revoke_permission(op, obj, role):
    require(op in OPS and obj in OBJS and role in ROLES and (op, obj, role) in PR)
    PR.remove((op, obj, role))


def create_session(user, session, roles):
    require(user in USERS and session not in SESSIONS and roles <= assigned_roles(user))
    SESSIONS.add(session)
    SU.add((session, user))
    for role in roles:
        SR.add((session, role))


def delete_session(user, session):
    require(user in USERS and session in SESSIONS and (session, user) in SU)
    SU.remove((session, user))
    for pair in pairs_of_session(session):
        SR.remove(pair)
    SESSIONS.remove(session)


def add_active_role(user, session, role):
    require((session, user) in SU and (session, role) not in SR and role in assigned_roles(user))
    SR.add((session, role))


def drop_active_role(user, session, role):
    require((session, user) in SU and (session, role) in SR)
    SR.remove((session, role))


def check_access(session, op, obj):
    require(session in SESSIONS and op in OPS and obj in OBJS)
    return bool(allowing_roles(session, op, obj))


def step(rng, names):
    """One random operation whose precondition holds."""
    user, role, op, obj = (names.one(letter) for letter in ("u", "r", "op", "o"))
    kind = rng.randrange(10)
    if user not in USERS:
        add_user(user)
    elif role not in ROLES:
        add_role(role)
    elif op not in OPS:
        add_operation(op)
    elif obj not in OBJS:
        add_object(obj)
    elif kind == 0:
        delete_something(rng, user, role)
    elif (user, role) not in UR:
        assign_user(user, role)
    elif kind <= 4:
        (revoke_permission if (op, obj, role) in PR else grant_permission)(op, obj, role)
    else:
        session_step(rng, names, user, role)


def delete_something(rng, user, role):
    kind = rng.randrange(4)
    if kind == 0:
        delete_user(user)
    elif kind == 1:
        delete_role(role)
    elif (user, role) in UR:
        deassign_user(user, role)


def session_step(rng, names, user, role):
    """The user, who has the role, begins or ends a session, or activates or drops the role in one."""
    sessions = sorted(s for (s, u) in SU if u == user)
    if len(sessions) < 2:
        create_session(user, names.new_session(), {r for r in assigned_roles(user) if r <= role})
    elif rng.randrange(3) == 0:
        delete_session(user, rng.choice(sessions))
    else:
        session = rng.choice(sessions)
        (drop_active_role if (session, role) in SR else add_active_role)(user, session, role)


def checks(names):
    """Whether each session may do a random thing, and the roles of a random user."""
    user, op, obj = names.one("u"), names.one("op"), names.one("o")
    if op in OPS and obj in OBJS:
        for session in sorted(SESSIONS):
            yield f"{session} {op} {obj} {check_access(session, op, obj)}"
    yield f"{user} {sorted(assigned_roles(user))}"


def main(seed=1, size=5, steps=200):
    rng = random.Random(seed)
    names = Names(rng, size)
    for _ in range(steps):
        step(rng, names)
        print(*checks(names), sep="\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
