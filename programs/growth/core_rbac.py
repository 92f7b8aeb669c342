"""Worlds in which the costs of Core RBAC grow."""

from core_rbac import (
    OBJS,
    OPS,
    PR,
    ROLES,
    SESSIONS,
    SR,
    SU,
    UR,
    USERS,
    allowing_roles,
    assigned_roles,
    assigned_users,
    pairs_of_role,
    pairs_of_session,
    pairs_of_user,
    role_operations_on_object,
    role_permissions,
    session_permissions,
    session_roles,
    sessions_of_user,
    sessions_of_user_with_role,
    sessions_with_role,
    triples_of_role,
    user_operations_on_object,
    user_permissions,
)


def _ask(user, role, session, op, obj):
    """Ask every query."""
    pairs_of_user(user)
    sessions_of_user(user)
    triples_of_role(role)
    pairs_of_role(role)
    sessions_with_role(role)
    sessions_of_user_with_role(user, role)
    pairs_of_session(session)
    allowing_roles(session, op, obj)
    assigned_users(role)
    assigned_roles(user)
    role_permissions(role)
    user_permissions(user)
    session_roles(session)
    session_permissions(session)
    role_operations_on_object(role, obj)
    user_operations_on_object(user, obj)


def _first_asks():
    """Ask every query for something new, and again."""
    pairs_of_user("user")
    yield
    sessions_of_user("user")
    yield
    triples_of_role("role")
    yield
    pairs_of_role("role")
    yield
    sessions_with_role("role")
    yield
    sessions_of_user_with_role("user", "role")
    yield
    pairs_of_session("session")
    yield
    allowing_roles("session", "op", "obj")
    yield
    assigned_users("role")
    yield
    assigned_roles("user")
    yield
    role_permissions("role")
    yield
    user_permissions("user")
    yield
    session_roles("session")
    yield
    session_permissions("session")
    yield
    role_operations_on_object("role", "obj")
    yield
    user_operations_on_object("user", "obj")
    yield
    _ask("user", "role", "session", "op", "obj")
    yield


def _updates():
    """A new element of each collection, and one that is missed for a moment."""
    for collection, new, old in (
        (USERS, "new", "u0"),
        (ROLES, "new", "r0"),
        (SESSIONS, "new", "s0"),
        (OPS, "new", "op0"),
        (OBJS, "new", "o0"),
        (UR, ("u0", "new"), ("u0", "r0")),
        (SU, ("s0", "new"), ("s0", "u0")),
        (SR, ("s0", "new"), ("s0", "r0")),
        (PR, ("op0", "o0", "new"), ("op0", "o0", "r0")),
    ):
        collection.add(new)
        collection.remove(new)
        yield
        collection.remove(old)
        collection.add(old)
        yield


def many_users(n):
    """n users with a session each, all of which have the same role."""
    OPS.add("op0")
    OBJS.add("o0")
    ROLES.add("r0")
    PR.add(("op0", "o0", "r0"))
    for i in range(n):
        USERS.add(f"u{i}")
        SESSIONS.add(f"s{i}")
        UR.add((f"u{i}", "r0"))
        SU.add((f"s{i}", f"u{i}"))
        SR.add((f"s{i}", "r0"))
        _ask(f"u{i}", "r0", f"s{i}", "op0", "o0")
    yield
    yield from _updates()
    yield from _first_asks()


def many_roles(n):
    """One user has n roles, all active in one session, and all allow the same."""
    USERS.add("u0")
    SESSIONS.add("s0")
    SU.add(("s0", "u0"))
    OPS.add("op0")
    OBJS.add("o0")
    for i in range(n):
        ROLES.add(f"r{i}")
        UR.add(("u0", f"r{i}"))
        SR.add(("s0", f"r{i}"))
        PR.add(("op0", "o0", f"r{i}"))
        _ask("u0", f"r{i}", "s0", "op0", "o0")
    yield
    yield from _updates()
    yield from _first_asks()


def many_permissions(n):
    """One role allows many operations on many objects."""
    USERS.add("u0")
    SESSIONS.add("s0")
    SU.add(("s0", "u0"))
    ROLES.add("r0")
    UR.add(("u0", "r0"))
    SR.add(("s0", "r0"))
    k = round(n**0.5)
    for i in range(k):
        OPS.add(f"op{i}")
        OBJS.add(f"o{i}")
        _ask("u0", "r0", "s0", f"op{i}", f"o{i}")
    for i in range(k):
        for j in range(k):
            PR.add((f"op{i}", f"o{j}", "r0"))
    yield
    yield from _updates()
    yield from _first_asks()


def many_sessions(n):
    """One user has n sessions."""
    USERS.add("u0")
    ROLES.add("r0")
    UR.add(("u0", "r0"))
    OPS.add("op0")
    OBJS.add("o0")
    PR.add(("op0", "o0", "r0"))
    for i in range(n):
        SESSIONS.add(f"s{i}")
        SU.add((f"s{i}", "u0"))
        SR.add((f"s{i}", "r0"))
        _ask("u0", "r0", f"s{i}", "op0", "o0")
    yield
    yield from _updates()
    yield from _first_asks()


def asked_late(n):
    """Nothing is asked before everything is there: n users, roles and sessions, and what roles allow."""
    k = round(n**0.5)
    for i in range(n):
        USERS.add(f"u{i}")
        ROLES.add(f"r{i}")
        SESSIONS.add(f"s{i}")
        SU.add((f"s{i}", f"u{i}"))
        for j in range(3):
            UR.add((f"u{i}", f"r{j}"))
            SR.add((f"s{i}", f"r{j}"))
        UR.add(("u0", f"r{i}"))
        SR.add(("s0", f"r{i}"))
        PR.add(("op0", "o0", f"r{i}"))
    for i in range(k):
        OPS.add(f"op{i}")
        OBJS.add(f"o{i}")
        for j in range(k):
            PR.add((f"op{i}", f"o{j}", "r0"))
    yield
    pairs_of_user("u0")
    yield
    sessions_of_user("u0")
    yield
    triples_of_role("r0")
    yield
    pairs_of_role("r0")
    yield
    sessions_with_role("r0")
    yield
    sessions_of_user_with_role("u0", "r0")
    yield
    pairs_of_session("s0")
    yield
    allowing_roles("s0", "op0", "o0")
    yield
    assigned_users("r0")
    yield
    assigned_roles("u0")
    yield
    role_permissions("r0")
    yield
    user_permissions("u0")
    yield
    session_roles("s0")
    yield
    session_permissions("s0")
    yield
    role_operations_on_object("r0", "o0")
    yield
    user_operations_on_object("u0", "o0")
    yield
    _ask("u0", "r0", "s0", "op0", "o0")
