"""Core RBAC, the ANSI standard: users have roles, roles have permissions, sessions activate roles.

A permission is an operation on an object. Sixteen queries serve the administrative, system and review
functions of the standard; the functions keep every relation free of what no longer exists.
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


@query
def pairs_of_user(user):
    """The pairs of UR that mention the user."""
    return {(user, r) for r in ROLES if (user, r) in UR}


@query
def sessions_of_user(user):
    """The sessions of the user."""
    return {s for s in SESSIONS if (s, user) in SU}


@query
def triples_of_role(role):
    """The triples of PR that mention the role."""
    return {(op, obj, role) for op in OPS for obj in OBJS if (op, obj, role) in PR}


@query
def pairs_of_role(role):
    """The pairs of UR that mention the role."""
    return {(u, role) for u in USERS if (u, role) in UR}


@query
def sessions_with_role(role):
    """The sessions in which the role is active, each with its user."""
    return {(s, u) for s in SESSIONS for u in USERS if (s, u) in SU if (s, role) in SR}


@query
def sessions_of_user_with_role(user, role):
    """The sessions of the user in which the role is active."""
    return {s for s in SESSIONS if (s, user) in SU if (s, role) in SR}


@query
def pairs_of_session(session):
    """The pairs of SR that mention the session."""
    return {(session, r) for r in ROLES if (session, r) in SR}


@query
def allowing_roles(session, op, obj):
    """The active roles of the session that allow the operation on the object."""
    return {r for r in ROLES if (session, r) in SR if (op, obj, r) in PR}


@query
def assigned_users(role):
    """The users who have the role."""
    return {u for u in USERS if (u, role) in UR}


@query
def assigned_roles(user):
    """The roles that the user has."""
    return {r for r in ROLES if (user, r) in UR}


@query
def role_permissions(role):
    """What the role allows: pairs of operation and object."""
    return {(op, obj) for op in OPS for obj in OBJS if (op, obj, role) in PR}


@query
def user_permissions(user):
    """What the roles of the user allow."""
    return {(op, obj) for r in ROLES for op in OPS for obj in OBJS if (user, r) in UR if (op, obj, r) in PR}


@query
def session_roles(session):
    """The active roles of the session."""
    return {r for r in ROLES if (session, r) in SR}


@query
def session_permissions(session):
    """What the active roles of the session allow."""
    return {
        (op, obj) for r in ROLES for op in OPS for obj in OBJS if (session, r) in SR if (op, obj, r) in PR
    }


@query
def role_operations_on_object(role, obj):
    """The operations that the role allows on the object."""
    return {op for op in OPS if (op, obj, role) in PR}


@query
def user_operations_on_object(user, obj):
    """The operations that the user may perform on the object."""
    return {op for r in ROLES for op in OPS if (user, r) in UR if (op, obj, r) in PR}


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


def review(names):
    """One answer of each of the sixteen queries, for random parameters."""
    user, role, op, obj = (names.one(letter) for letter in ("u", "r", "op", "o"))
    session = f"s{names.rng.randrange(names.sessions + 1)}"
    return {
        "pairs_of_user": pairs_of_user(user),
        "sessions_of_user": sessions_of_user(user),
        "triples_of_role": triples_of_role(role),
        "pairs_of_role": pairs_of_role(role),
        "sessions_with_role": sessions_with_role(role),
        "sessions_of_user_with_role": sessions_of_user_with_role(user, role),
        "pairs_of_session": pairs_of_session(session),
        "allowing_roles": allowing_roles(session, op, obj),
        "assigned_users": assigned_users(role),
        "assigned_roles": assigned_roles(user),
        "role_permissions": role_permissions(role),
        "user_permissions": user_permissions(user),
        "session_roles": session_roles(session),
        "session_permissions": session_permissions(session),
        "role_operations_on_object": role_operations_on_object(role, obj),
        "user_operations_on_object": user_operations_on_object(user, obj),
    }


def main(seed=1, size=5, steps=200):
    rng = random.Random(seed)
    names = Names(rng, size)
    for _ in range(steps):
        step(rng, names)
        for name, answer in review(names).items():
            print(name, sorted(answer))
        for session in sorted(SESSIONS):
            print(session, check_access(session, rng.choice(sorted(OPS)), rng.choice(sorted(OBJS))))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
