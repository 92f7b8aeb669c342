"""CheckAccess by hand: demanded by the object, the roles that allow a session an operation.

The program's two other queries, the active roles of a session and the roles of a user, are kept for the
sessions and users that were asked about.
"""

ROLES = set()
SR = set()  # (session, role)
PR = set()  # (operation, object, role)
UR = set()  # (user, role)

ALLOWING = {}  # demanded object -> {(session, operation): the roles that allow it}
SESSIONS_OF_ROLE = {}  # role in ROLES -> the sessions in which it is active
PERMS_OF_ROLE = {}  # role -> the (operation, object) of demanded objects that it allows
OPS_OF_OBJECT = {}  # object -> the (operation, role) that PR holds for it
PAIRS = {}  # session that was asked about -> its pairs of SR, the role in ROLES
ASSIGNED = {}  # user who was asked about -> his roles, of those in ROLES
USERS_OF_ROLE = {}  # role -> those users who have it, in ROLES or not
STRUCTURES = (ALLOWING, SESSIONS_OF_ROLE, PERMS_OF_ROLE, OPS_OF_OBJECT, PAIRS, ASSIGNED, USERS_OF_ROLE)

NOBODY = frozenset()


def allows(session, permission):
    op, obj = permission
    answers = ALLOWING.get(obj)
    if answers is None:
        answers = demand(obj, None)
    return bool(answers.get((session, op), NOBODY))


def pairs(session, _):
    known = PAIRS.get(session)
    if known is None:
        known = PAIRS[session] = {(session, role) for role in ROLES if (session, role) in SR}
    return known


def assigned(user, _):
    known = ASSIGNED.get(user)
    if known is None:
        roles = {role for other, role in UR if other == user}
        for role in roles:
            _put(USERS_OF_ROLE, role, user)
        known = ASSIGNED[user] = roles & ROLES
    return known


def demand(obj, _):
    if obj in ALLOWING:
        return ALLOWING[obj]
    answers = ALLOWING[obj] = {}
    for op, role in OPS_OF_OBJECT.get(obj, ()):
        PERMS_OF_ROLE.setdefault(role, set()).add((op, obj))
        if role in ROLES:
            for session in SESSIONS_OF_ROLE.get(role, ()):
                answers.setdefault((session, op), set()).add(role)
    return answers


def release(obj, _):
    if obj in ALLOWING:
        del ALLOWING[obj]
        for op, role in OPS_OF_OBJECT.get(obj, ()):
            _take(PERMS_OF_ROLE, role, (op, obj))


def _put(index, key, value):
    known = index.get(key)
    if known is None:
        index[key] = {value}
    else:
        known.add(value)


def _take(index, key, value):
    known = index[key]
    known.discard(value)
    if not known:
        del index[key]


def _allow(role, session):
    for op, obj in PERMS_OF_ROLE.get(role, ()):
        _put(ALLOWING[obj], (session, op), role)


def _forbid(role, session):
    for op, obj in PERMS_OF_ROLE.get(role, ()):
        _take(ALLOWING[obj], (session, op), role)


def add_role(role, _):
    if role not in ROLES:
        ROLES.add(role)
        if role in PERMS_OF_ROLE:
            for session in SESSIONS_OF_ROLE.get(role, ()):
                _allow(role, session)
        if PAIRS:
            for session in SESSIONS_OF_ROLE.get(role, ()):
                if session in PAIRS:
                    PAIRS[session].add((session, role))
        if ASSIGNED:
            for user in USERS_OF_ROLE.get(role, ()):
                ASSIGNED[user].add(role)


def remove_role(role, _):
    if role in ROLES:
        ROLES.discard(role)
        if role in PERMS_OF_ROLE:
            for session in SESSIONS_OF_ROLE.get(role, ()):
                _forbid(role, session)
        if PAIRS:
            for session in SESSIONS_OF_ROLE.get(role, ()):
                if session in PAIRS:
                    PAIRS[session].discard((session, role))
        if ASSIGNED:
            for user in USERS_OF_ROLE.get(role, ()):
                ASSIGNED[user].discard(role)


def activate(session, role):
    if (session, role) not in SR:
        SR.add((session, role))
        _put(SESSIONS_OF_ROLE, role, session)
        if role in PERMS_OF_ROLE and role in ROLES:
            _allow(role, session)
        if session in PAIRS and role in ROLES:
            PAIRS[session].add((session, role))


def deactivate(session, role):
    if (session, role) in SR:
        SR.discard((session, role))
        _take(SESSIONS_OF_ROLE, role, session)
        if role in PERMS_OF_ROLE and role in ROLES:
            _forbid(role, session)
        if session in PAIRS:
            PAIRS[session].discard((session, role))


def permit(permission, role):
    op, obj = permission
    triple = op, obj, role
    if triple not in PR:
        PR.add(triple)
        _put(OPS_OF_OBJECT, obj, (op, role))
        answers = ALLOWING.get(obj)
        if answers is not None:
            _put(PERMS_OF_ROLE, role, permission)
            if role in ROLES:
                for session in SESSIONS_OF_ROLE.get(role, ()):
                    _put(answers, (session, op), role)


def forbid(permission, role):
    op, obj = permission
    triple = op, obj, role
    if triple in PR:
        PR.discard(triple)
        _take(OPS_OF_OBJECT, obj, (op, role))
        answers = ALLOWING.get(obj)
        if answers is not None:
            _take(PERMS_OF_ROLE, role, permission)
            if role in ROLES:
                for session in SESSIONS_OF_ROLE.get(role, ()):
                    _take(answers, (session, op), role)


def assign(user, role):
    if (user, role) not in UR:
        UR.add((user, role))
        if user in ASSIGNED:
            _put(USERS_OF_ROLE, role, user)
            if role in ROLES:
                ASSIGNED[user].add(role)


def unassign(user, role):
    if (user, role) in UR:
        UR.discard((user, role))
        if user in ASSIGNED:
            _take(USERS_OF_ROLE, role, user)
            ASSIGNED[user].discard(role)
