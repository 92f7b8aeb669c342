"""Worlds in which the costs of several instances of RBAC grow."""

from rbac_instances import RBAC

from incoq import Set


def _ask(rbac, user, role, session, op, obj):
    """Ask every query."""
    rbac.pairs_of_user(user)
    rbac.sessions_of_user(user)
    rbac.triples_of_role(role)
    rbac.pairs_of_role(role)
    rbac.sessions_with_role(role)
    rbac.sessions_of_user_with_role(user, role)
    rbac.pairs_of_session(session)
    rbac.allowing_roles(session, op, obj)
    rbac.assigned_users(role)
    rbac.assigned_roles(user)
    rbac.role_permissions(role)
    rbac.user_permissions(user)
    rbac.session_roles(session)
    rbac.session_permissions(session)
    rbac.role_operations_on_object(role, obj)
    rbac.user_operations_on_object(user, obj)


def _first_asks(rbac):
    """Ask every query for something new, and again."""
    rbac.pairs_of_user("user")
    yield
    rbac.sessions_of_user("user")
    yield
    rbac.triples_of_role("role")
    yield
    rbac.pairs_of_role("role")
    yield
    rbac.sessions_with_role("role")
    yield
    rbac.sessions_of_user_with_role("user", "role")
    yield
    rbac.pairs_of_session("session")
    yield
    rbac.allowing_roles("session", "op", "obj")
    yield
    rbac.assigned_users("role")
    yield
    rbac.assigned_roles("user")
    yield
    rbac.role_permissions("role")
    yield
    rbac.user_permissions("user")
    yield
    rbac.session_roles("session")
    yield
    rbac.session_permissions("session")
    yield
    rbac.role_operations_on_object("role", "obj")
    yield
    rbac.user_operations_on_object("user", "obj")
    yield
    _ask(rbac, "user", "role", "session", "op", "obj")
    yield


def _updates(rbac):
    """A new element of each collection, and one that is missed for a moment."""
    for collection, new, old in (
        (rbac.USERS, "new", "u0"),
        (rbac.ROLES, "new", "r0"),
        (rbac.SESSIONS, "new", "s0"),
        (rbac.OPS, "new", "op0"),
        (rbac.OBJS, "new", "o0"),
        (rbac.UR, ("u0", "new"), ("u0", "r0")),
        (rbac.SU, ("s0", "new"), ("s0", "u0")),
        (rbac.SR, ("s0", "new"), ("s0", "r0")),
        (rbac.PR, ("op0", "o0", "new"), ("op0", "o0", "r0")),
    ):
        collection.add(new)
        collection.remove(new)
        yield
        collection.remove(old)
        collection.add(old)
        yield
    rbac.USERS = Set(rbac.USERS)
    yield
    rbac.ROLES = Set(rbac.ROLES)
    yield
    rbac.SESSIONS = Set(rbac.SESSIONS)
    yield
    rbac.OPS = Set(rbac.OPS)
    yield
    rbac.OBJS = Set(rbac.OBJS)
    yield
    rbac.UR = Set(rbac.UR)
    yield
    rbac.SU = Set(rbac.SU)
    yield
    rbac.SR = Set(rbac.SR)
    yield
    rbac.PR = Set(rbac.PR)
    yield


def many_users(n):
    """n users with a session each, all of which have the same role."""
    rbac = RBAC()
    rbac.OPS.add("op0")
    rbac.OBJS.add("o0")
    rbac.ROLES.add("r0")
    rbac.PR.add(("op0", "o0", "r0"))
    for i in range(n):
        rbac.USERS.add(f"u{i}")
        rbac.SESSIONS.add(f"s{i}")
        rbac.UR.add((f"u{i}", "r0"))
        rbac.SU.add((f"s{i}", f"u{i}"))
        rbac.SR.add((f"s{i}", "r0"))
        _ask(rbac, f"u{i}", "r0", f"s{i}", "op0", "o0")
    yield
    yield from _updates(rbac)
    yield from _first_asks(rbac)


def many_roles(n):
    """One user has n roles, all active in one session, and all allow the same."""
    rbac = RBAC()
    rbac.USERS.add("u0")
    rbac.SESSIONS.add("s0")
    rbac.SU.add(("s0", "u0"))
    rbac.OPS.add("op0")
    rbac.OBJS.add("o0")
    for i in range(n):
        rbac.ROLES.add(f"r{i}")
        rbac.UR.add(("u0", f"r{i}"))
        rbac.SR.add(("s0", f"r{i}"))
        rbac.PR.add(("op0", "o0", f"r{i}"))
        _ask(rbac, "u0", f"r{i}", "s0", "op0", "o0")
    yield
    yield from _updates(rbac)
    yield from _first_asks(rbac)


def many_permissions(n):
    """One role allows many operations on many objects."""
    rbac = RBAC()
    rbac.USERS.add("u0")
    rbac.SESSIONS.add("s0")
    rbac.SU.add(("s0", "u0"))
    rbac.ROLES.add("r0")
    rbac.UR.add(("u0", "r0"))
    rbac.SR.add(("s0", "r0"))
    k = round(n**0.5)
    for i in range(k):
        rbac.OPS.add(f"op{i}")
        rbac.OBJS.add(f"o{i}")
        _ask(rbac, "u0", "r0", "s0", f"op{i}", f"o{i}")
    for i in range(k):
        for j in range(k):
            rbac.PR.add((f"op{i}", f"o{j}", "r0"))
    yield
    yield from _updates(rbac)
    yield from _first_asks(rbac)


def many_sessions(n):
    """One user has n sessions."""
    rbac = RBAC()
    rbac.USERS.add("u0")
    rbac.ROLES.add("r0")
    rbac.UR.add(("u0", "r0"))
    rbac.OPS.add("op0")
    rbac.OBJS.add("o0")
    rbac.PR.add(("op0", "o0", "r0"))
    for i in range(n):
        rbac.SESSIONS.add(f"s{i}")
        rbac.SU.add((f"s{i}", "u0"))
        rbac.SR.add((f"s{i}", "r0"))
        _ask(rbac, "u0", "r0", f"s{i}", "op0", "o0")
    yield
    yield from _updates(rbac)
    yield from _first_asks(rbac)


def many_instances(n):
    """n instances share all their collections."""
    first = RBAC()
    everything = [RBAC() for _ in range(n)]
    for rbac in everything:
        rbac.USERS, rbac.ROLES, rbac.SESSIONS = first.USERS, first.ROLES, first.SESSIONS
        rbac.OPS, rbac.OBJS = first.OPS, first.OBJS
        rbac.UR, rbac.SU, rbac.SR, rbac.PR = first.UR, first.SU, first.SR, first.PR
    first.USERS.add("u0")
    first.ROLES.add("r0")
    first.SESSIONS.add("s0")
    first.OPS.add("op0")
    first.OBJS.add("o0")
    first.UR.add(("u0", "r0"))
    first.SU.add(("s0", "u0"))
    first.SR.add(("s0", "r0"))
    first.PR.add(("op0", "o0", "r0"))
    for rbac in everything:
        _ask(rbac, "u0", "r0", "s0", "op0", "o0")
    yield
    yield from _updates(everything[0])


def moving(n):
    """Users, roles and sessions go from one instance to another and back."""
    one, other = RBAC(), RBAC()
    for rbac in (one, other):
        rbac.add_operation("op0")
        rbac.add_object("o0")
        for i in range(n):
            rbac.add_role(f"r{i}")
    one.add_user("u0")
    one.grant_permission("op0", "o0", "r0")
    _ask(one, "u0", "r0", "s0", "op0", "o0")
    _ask(other, "u0", "r0", "s0", "op0", "o0")
    yield
    one.move_user("u0", other)
    other.move_user("u0", one)
    yield
    one.share_roles(other)
    one.share_permissions(other)
    yield
    one.separate()


def asked_late(n):
    """Nothing is asked before everything is there: n users, roles and sessions, and what roles allow."""
    rbac = RBAC()
    k = round(n**0.5)
    for i in range(n):
        rbac.USERS.add(f"u{i}")
        rbac.ROLES.add(f"r{i}")
        rbac.SESSIONS.add(f"s{i}")
        rbac.SU.add((f"s{i}", f"u{i}"))
        for j in range(3):
            rbac.UR.add((f"u{i}", f"r{j}"))
            rbac.SR.add((f"s{i}", f"r{j}"))
        rbac.UR.add(("u0", f"r{i}"))
        rbac.SR.add(("s0", f"r{i}"))
        rbac.PR.add(("op0", "o0", f"r{i}"))
    for i in range(k):
        rbac.OPS.add(f"op{i}")
        rbac.OBJS.add(f"o{i}")
        for j in range(k):
            rbac.PR.add((f"op{i}", f"o{j}", "r0"))
    yield
    rbac.pairs_of_user("u0")
    yield
    rbac.sessions_of_user("u0")
    yield
    rbac.triples_of_role("r0")
    yield
    rbac.pairs_of_role("r0")
    yield
    rbac.sessions_with_role("r0")
    yield
    rbac.sessions_of_user_with_role("u0", "r0")
    yield
    rbac.pairs_of_session("s0")
    yield
    rbac.allowing_roles("s0", "op0", "o0")
    yield
    rbac.assigned_users("r0")
    yield
    rbac.assigned_roles("u0")
    yield
    rbac.role_permissions("r0")
    yield
    rbac.user_permissions("u0")
    yield
    rbac.session_roles("s0")
    yield
    rbac.session_permissions("s0")
    yield
    rbac.role_operations_on_object("r0", "o0")
    yield
    rbac.user_operations_on_object("u0", "o0")
    yield
    _ask(rbac, "u0", "r0", "s0", "op0", "o0")
