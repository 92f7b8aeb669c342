"""Several Core RBAC instances side by side: each has its own nine collections, and may share or swap them.

Every query and function is a method. Users, roles and sessions can move from one instance to another; an
instance can adopt the roles or the permissions of another, and from then on both hold the very same set.
"""

import random
import sys

from shared.rbac_names import Names, require

from incoq import Set, query


class RBAC:
    def __init__(self):
        self.OBJS = Set()
        self.OPS = Set()
        self.USERS = Set()
        self.ROLES = Set()
        self.SESSIONS = Set()
        self.PR = Set()  # (operation, object, role): the role allows the operation on the object
        self.UR = Set()  # (user, role): the user has the role
        self.SU = Set()  # (session, user): the session is the user's
        self.SR = Set()  # (session, role): the role is active in the session

    @query
    def pairs_of_user(self, user):
        """The pairs of UR that mention the user."""
        return {(user, r) for r in self.ROLES if (user, r) in self.UR}

    @query
    def sessions_of_user(self, user):
        """The sessions of the user."""
        return {s for s in self.SESSIONS if (s, user) in self.SU}

    @query
    def triples_of_role(self, role):
        """The triples of PR that mention the role."""
        return {(op, obj, role) for op in self.OPS for obj in self.OBJS if (op, obj, role) in self.PR}

    @query
    def pairs_of_role(self, role):
        """The pairs of UR that mention the role."""
        return {(u, role) for u in self.USERS if (u, role) in self.UR}

    @query
    def sessions_with_role(self, role):
        """The sessions in which the role is active, each with its user."""
        return {
            (s, u) for s in self.SESSIONS for u in self.USERS if (s, u) in self.SU if (s, role) in self.SR
        }

    @query
    def sessions_of_user_with_role(self, user, role):
        """The sessions of the user in which the role is active."""
        return {s for s in self.SESSIONS if (s, user) in self.SU if (s, role) in self.SR}

    @query
    def pairs_of_session(self, session):
        """The pairs of SR that mention the session."""
        return {(session, r) for r in self.ROLES if (session, r) in self.SR}

    @query
    def allowing_roles(self, session, op, obj):
        """The active roles of the session that allow the operation on the object."""
        return {r for r in self.ROLES if (session, r) in self.SR if (op, obj, r) in self.PR}

    @query
    def assigned_users(self, role):
        """The users who have the role."""
        return {u for u in self.USERS if (u, role) in self.UR}

    @query
    def assigned_roles(self, user):
        """The roles that the user has."""
        return {r for r in self.ROLES if (user, r) in self.UR}

    @query
    def role_permissions(self, role):
        """What the role allows: pairs of operation and object."""
        return {(op, obj) for op in self.OPS for obj in self.OBJS if (op, obj, role) in self.PR}

    @query
    def user_permissions(self, user):
        """What the roles of the user allow."""
        return {
            (op, obj)
            for r in self.ROLES
            for op in self.OPS
            for obj in self.OBJS
            if (user, r) in self.UR
            if (op, obj, r) in self.PR
        }

    @query
    def session_roles(self, session):
        """The active roles of the session."""
        return {r for r in self.ROLES if (session, r) in self.SR}

    @query
    def session_permissions(self, session):
        """What the active roles of the session allow."""
        return {
            (op, obj)
            for r in self.ROLES
            for op in self.OPS
            for obj in self.OBJS
            if (session, r) in self.SR
            if (op, obj, r) in self.PR
        }

    @query
    def role_operations_on_object(self, role, obj):
        """The operations that the role allows on the object."""
        return {op for op in self.OPS if (op, obj, role) in self.PR}

    @query
    def user_operations_on_object(self, user, obj):
        """The operations that the user may perform on the object."""
        return {op for r in self.ROLES for op in self.OPS if (user, r) in self.UR if (op, obj, r) in self.PR}

    def add_user(self, user):
        require(user not in self.USERS)
        self.USERS.add(user)

    def delete_user(self, user):
        require(user in self.USERS)
        for pair in self.pairs_of_user(user):
            self.UR.remove(pair)
        for session in self.sessions_of_user(user):
            self.delete_session(user, session)
        self.USERS.remove(user)

    def add_role(self, role):
        require(role not in self.ROLES)
        self.ROLES.add(role)

    def delete_role(self, role):
        require(role in self.ROLES)
        for triple in self.triples_of_role(role):
            self.PR.remove(triple)
        for pair in self.pairs_of_role(role):
            self.UR.remove(pair)
        for session, user in self.sessions_with_role(role):
            self.delete_session(user, session)
        self.ROLES.remove(role)

    def add_operation(self, op):
        require(op not in self.OPS)
        self.OPS.add(op)

    def add_object(self, obj):
        require(obj not in self.OBJS)
        self.OBJS.add(obj)

    def assign_user(self, user, role):
        require(user in self.USERS and role in self.ROLES and (user, role) not in self.UR)
        self.UR.add((user, role))

    def deassign_user(self, user, role):
        require(user in self.USERS and role in self.ROLES and (user, role) in self.UR)
        for session in self.sessions_of_user_with_role(user, role):
            self.delete_session(user, session)
        self.UR.remove((user, role))

    def grant_permission(self, op, obj, role):
        require(op in self.OPS and obj in self.OBJS and role in self.ROLES and (op, obj, role) not in self.PR)
        self.PR.add((op, obj, role))

    def revoke_permission(self, op, obj, role):
        require(op in self.OPS and obj in self.OBJS and role in self.ROLES and (op, obj, role) in self.PR)
        self.PR.remove((op, obj, role))

    def create_session(self, user, session, roles):
        require(user in self.USERS and session not in self.SESSIONS and roles <= self.assigned_roles(user))
        self.SESSIONS.add(session)
        self.SU.add((session, user))
        for role in roles:
            self.SR.add((session, role))

    def delete_session(self, user, session):
        require(user in self.USERS and session in self.SESSIONS and (session, user) in self.SU)
        self.SU.remove((session, user))
        for pair in self.pairs_of_session(session):
            self.SR.remove(pair)
        self.SESSIONS.remove(session)

    def add_active_role(self, user, session, role):
        require(
            (session, user) in self.SU
            and (session, role) not in self.SR
            and role in self.assigned_roles(user)
        )
        self.SR.add((session, role))

    def drop_active_role(self, user, session, role):
        require((session, user) in self.SU and (session, role) in self.SR)
        self.SR.remove((session, role))

    def check_access(self, session, op, obj):
        require(session in self.SESSIONS and op in self.OPS and obj in self.OBJS)
        return bool(self.allowing_roles(session, op, obj))

    def move_user(self, user, other):
        """The user goes to another instance with the roles that exist there."""
        roles = self.assigned_roles(user)
        self.delete_user(user)
        if user not in other.USERS:
            other.add_user(user)
        for role in roles & other.ROLES - other.assigned_roles(user):
            other.assign_user(user, role)

    def move_role(self, role, other):
        """The role goes to another instance with what it allows there."""
        permissions = self.role_permissions(role)
        self.delete_role(role)
        if role not in other.ROLES:
            other.add_role(role)
        for op, obj in permissions - other.role_permissions(role):
            if op in other.OPS and obj in other.OBJS:
                other.grant_permission(op, obj, role)

    def move_session(self, user, session, other):
        """The session goes on in another instance, where the user is known, with the roles assigned there."""
        roles = self.session_roles(session)
        self.delete_session(user, session)
        if session not in other.SESSIONS:
            other.create_session(user, session, roles & other.assigned_roles(user))

    def share_roles(self, other):
        self.ROLES = other.ROLES

    def share_permissions(self, other):
        self.PR = other.PR

    def separate(self):
        """From now on, roles and permissions of its own, as they are now."""
        self.ROLES = Set(self.ROLES)
        self.PR = Set(self.PR)


def step(rng, names, rbac):
    """One random operation whose precondition holds."""
    user, role, op, obj = (names.one(letter) for letter in ("u", "r", "op", "o"))
    kind = rng.randrange(10)
    if user not in rbac.USERS:
        rbac.add_user(user)
    elif role not in rbac.ROLES:
        rbac.add_role(role)
    elif op not in rbac.OPS:
        rbac.add_operation(op)
    elif obj not in rbac.OBJS:
        rbac.add_object(obj)
    elif kind == 0:
        delete_something(rng, rbac, user, role)
    elif (user, role) not in rbac.UR:
        rbac.assign_user(user, role)
    elif kind <= 4:
        (rbac.revoke_permission if (op, obj, role) in rbac.PR else rbac.grant_permission)(op, obj, role)
    else:
        session_step(rng, names, rbac, user, role)


def delete_something(rng, rbac, user, role):
    kind = rng.randrange(4)
    if kind == 0:
        rbac.delete_user(user)
    elif kind == 1:
        rbac.delete_role(role)
    elif (user, role) in rbac.UR:
        rbac.deassign_user(user, role)


def session_step(rng, names, rbac, user, role):
    """The user, who has the role, begins or ends a session, or activates or drops the role in one."""
    sessions = sorted(s for (s, u) in rbac.SU if u == user)
    if len(sessions) < 2:
        rbac.create_session(user, names.new_session(), {r for r in rbac.assigned_roles(user) if r <= role})
    elif rng.randrange(3) == 0:
        rbac.delete_session(user, rng.choice(sessions))
    else:
        session = rng.choice(sessions)
        (rbac.drop_active_role if (session, role) in rbac.SR else rbac.add_active_role)(user, session, role)


def exchange(rng, names, rbac, other):
    """One random traffic between two instances."""
    kind, user, role = rng.randrange(6), names.one("u"), names.one("r")
    sessions = sorted(rbac.sessions_of_user(user))
    if kind == 0:
        rbac.share_roles(other)
    elif kind == 1:
        rbac.share_permissions(other)
    elif kind == 2:
        rbac.separate()
    elif kind == 3 and user in rbac.USERS:
        rbac.move_user(user, other)
    elif kind == 4 and role in rbac.ROLES:
        rbac.move_role(role, other)
    elif sessions and user in rbac.USERS & other.USERS:
        rbac.move_session(user, sessions[0], other)


def review(names, rbac):
    """One answer of each of the sixteen queries, for random parameters."""
    user, role, op, obj = (names.one(letter) for letter in ("u", "r", "op", "o"))
    session = f"s{names.rng.randrange(names.sessions + 1)}"
    return {
        "pairs_of_user": rbac.pairs_of_user(user),
        "sessions_of_user": rbac.sessions_of_user(user),
        "triples_of_role": rbac.triples_of_role(role),
        "pairs_of_role": rbac.pairs_of_role(role),
        "sessions_with_role": rbac.sessions_with_role(role),
        "sessions_of_user_with_role": rbac.sessions_of_user_with_role(user, role),
        "pairs_of_session": rbac.pairs_of_session(session),
        "allowing_roles": rbac.allowing_roles(session, op, obj),
        "assigned_users": rbac.assigned_users(role),
        "assigned_roles": rbac.assigned_roles(user),
        "role_permissions": rbac.role_permissions(role),
        "user_permissions": rbac.user_permissions(user),
        "session_roles": rbac.session_roles(session),
        "session_permissions": rbac.session_permissions(session),
        "role_operations_on_object": rbac.role_operations_on_object(role, obj),
        "user_operations_on_object": rbac.user_operations_on_object(user, obj),
    }


def main(seed=1, size=4, steps=200, instances=3):
    rng = random.Random(seed)
    names = Names(rng, size)
    all_rbac = [RBAC() for _ in range(instances)]
    for _ in range(steps):
        rbac = rng.choice(all_rbac)
        if rng.randrange(4) == 0:
            exchange(rng, names, rbac, rng.choice(all_rbac))
        else:
            step(rng, names, rbac)
        asked = rng.randrange(instances)
        for name, answer in review(names, all_rbac[asked]).items():
            print(asked, name, sorted(answer))
        for session in sorted(rbac.SESSIONS):
            if rbac.OPS and rbac.OBJS:
                op, obj = min(rbac.OPS), max(rbac.OBJS)
                print(session, op, obj, rbac.check_access(session, op, obj))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
