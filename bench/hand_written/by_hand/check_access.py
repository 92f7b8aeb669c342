"""CheckAccess by hand: demanded by the object, the roles that allow a session an operation."""

ROLES = set()
SR = set()  # (session, role)
PR = set()  # (operation, object, role)

ALLOWING = {}  # demanded object -> {(session, operation): the roles that allow it}
SESSIONS_OF_ROLE = {}  # role in ROLES -> the sessions in which it is active
PERMS_OF_ROLE = {}  # role -> the (operation, object) of demanded objects that it allows
OPS_OF_OBJECT = {}  # object -> the (operation, role) that PR holds for it
STRUCTURES = (ALLOWING, SESSIONS_OF_ROLE, PERMS_OF_ROLE, OPS_OF_OBJECT)

NOBODY = frozenset()


def allows(session, permission):
    op, obj = permission
    answers = ALLOWING.get(obj)
    if answers is None:
        answers = demand(obj, None)
    return bool(answers.get((session, op), NOBODY))


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


def remove_role(role, _):
    if role in ROLES:
        ROLES.discard(role)
        if role in PERMS_OF_ROLE:
            for session in SESSIONS_OF_ROLE.get(role, ()):
                _forbid(role, session)


def activate(session, role):
    if (session, role) not in SR:
        SR.add((session, role))
        _put(SESSIONS_OF_ROLE, role, session)
        if role in PERMS_OF_ROLE and role in ROLES:
            _allow(role, session)


def deactivate(session, role):
    if (session, role) in SR:
        SR.discard((session, role))
        _take(SESSIONS_OF_ROLE, role, session)
        if role in PERMS_OF_ROLE and role in ROLES:
            _forbid(role, session)


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
