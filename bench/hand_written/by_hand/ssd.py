"""SSD by hand: how many roles of each constraint a user has, and the violations that follow."""

USERS = set()
UR = set()  # (user, role)
SSDNC = set()  # (name, cardinality)
SSDNR = set()  # (name, role)
OTHER = set()  # read by no query

HELD = {}  # (user, name) -> how many roles of the constraint the user has, where any
VIOLATIONS = {}  # (user, name) -> how many cardinalities of the constraint it violates
ROLES_OF_USER = {}  # user -> roles
USERS_OF_ROLE = {}  # role -> users
NAMES_OF_ROLE = {}  # role -> constraints
ROLES_OF_NAME = {}  # constraint -> roles
LIMITS = {}  # constraint -> its cardinalities
STRUCTURES = (HELD, VIOLATIONS, ROLES_OF_USER, USERS_OF_ROLE, NAMES_OF_ROLE, ROLES_OF_NAME, LIMITS)


def violations():
    return set(VIOLATIONS)


def count_violations(_, __):
    return len(VIOLATIONS)


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


def _step(user, name, change):
    """The user has one role of the constraint more or less."""
    key = user, name
    held = HELD.get(key, 0)
    now = held + change
    if now:
        HELD[key] = now
    else:
        del HELD[key]
    if user in USERS:
        for limit in LIMITS.get(name, ()):
            if (held >= limit) is not (now >= limit):
                _violate(key, change)


def _violate(key, change):
    count = VIOLATIONS.get(key, 0) + change
    if count:
        VIOLATIONS[key] = count
    else:
        del VIOLATIONS[key]


def add_user(user, _):
    if user not in USERS:
        USERS.add(user)
        _judge_user(user, 1)


def remove_user(user, _):
    if user in USERS:
        USERS.discard(user)
        _judge_user(user, -1)


def _judge_user(user, change):
    for name, limits in LIMITS.items():
        held = HELD.get((user, name), 0)
        for limit in limits:
            if held >= limit:
                _violate((user, name), change)


def assign(user, role):
    if (user, role) not in UR:
        UR.add((user, role))
        _put(ROLES_OF_USER, user, role)
        _put(USERS_OF_ROLE, role, user)
        for name in NAMES_OF_ROLE.get(role, ()):
            _step(user, name, 1)


def deassign(user, role):
    if (user, role) in UR:
        UR.discard((user, role))
        _take(ROLES_OF_USER, user, role)
        _take(USERS_OF_ROLE, role, user)
        for name in NAMES_OF_ROLE.get(role, ()):
            _step(user, name, -1)


def add_role_member(name, role):
    if (name, role) not in SSDNR:
        SSDNR.add((name, role))
        _put(NAMES_OF_ROLE, role, name)
        _put(ROLES_OF_NAME, name, role)
        for user in USERS_OF_ROLE.get(role, ()):
            _step(user, name, 1)


def delete_role_member(name, role):
    if (name, role) in SSDNR:
        SSDNR.discard((name, role))
        _take(NAMES_OF_ROLE, role, name)
        _take(ROLES_OF_NAME, name, role)
        for user in USERS_OF_ROLE.get(role, ()):
            _step(user, name, -1)


def add_cardinality(name, limit):
    if (name, limit) not in SSDNC:
        SSDNC.add((name, limit))
        _put(LIMITS, name, limit)
        _judge_limit(name, limit, 1)


def delete_cardinality(name, limit):
    if (name, limit) in SSDNC:
        SSDNC.discard((name, limit))
        _take(LIMITS, name, limit)
        _judge_limit(name, limit, -1)


def _judge_limit(name, limit, change):
    if limit <= 0:
        holders = USERS
    else:
        holders = {
            user
            for role in ROLES_OF_NAME.get(name, ())
            for user in USERS_OF_ROLE.get(role, ())
            if user in USERS
        }
    for user in holders:
        if HELD.get((user, name), 0) >= limit:
            _violate((user, name), change)


def note(user, role):
    OTHER.add((user, role))


def unnote(user, role):
    OTHER.discard((user, role))
