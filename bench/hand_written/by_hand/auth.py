"""Auth by hand: for each demanded id the users who have it, and for each group the demanded users in it."""


class Users(set):
    """A set of users that can be a key."""

    __hash__ = object.__hash__


class User:
    def __init__(self, id):
        self.id = id
        self.groups = set()


class Group:
    def __init__(self, active):
        self.active = active
        self.perms = set()


class Perm:
    def __init__(self, name):
        self.name = name


MAY = {}  # (users, uid) -> {name of a permission: how many ways give it}
SETS = {}  # users -> how many ids are demanded of it
KEYS_OF_USER = {}  # user -> the demanded (users, uid) that it is the user of
USERS_OF_GROUP = {}  # group -> the users with demanded keys that are in it
GROUPS_OF_PERM = {}  # permission -> the groups of USERS_OF_GROUP that grant it
STRUCTURES = (MAY, SETS, KEYS_OF_USER, USERS_OF_GROUP, GROUPS_OF_PERM)


def permissions(users, uid):
    names = MAY.get((users, uid))
    return set(demand(users, uid) if names is None else names)


def count_permissions(users, uid):
    names = MAY.get((users, uid))
    return len(demand(users, uid) if names is None else names)


def demand(users, uid):
    key = users, uid
    if key in MAY:
        return MAY[key]
    names = MAY[key] = {}
    SETS[users] = SETS.get(users, 0) + 1
    for user in users:
        if user.id == uid:
            _enter_user(user, key)
    return names


def release(users, uid):
    key = users, uid
    if key not in MAY:
        return
    for user in users:
        if user.id == uid:
            _leave_user(user, key)
    del MAY[key]
    if SETS[users] == 1:
        del SETS[users]
    else:
        SETS[users] -= 1


def _put(index, key, value):
    known = index.get(key)
    if known is None:
        index[key] = {value}
        return True
    known.add(value)
    return False


def _take(index, key, value):
    known = index[key]
    known.discard(value)
    if not known:
        del index[key]
        return True
    return False


def _uncount(names, name):
    count = names[name]
    if count == 1:
        del names[name]
    else:
        names[name] = count - 1


def _enter_user(user, key):
    if _put(KEYS_OF_USER, user, key):
        for group in user.groups:
            _enter_group(user, group)
    names = MAY[key]
    for group in user.groups:
        if group.active:
            for perm in group.perms:
                names[perm.name] = names.get(perm.name, 0) + 1


def _leave_user(user, key):
    names = MAY[key]
    for group in user.groups:
        if group.active:
            for perm in group.perms:
                _uncount(names, perm.name)
    if _take(KEYS_OF_USER, user, key):
        for group in user.groups:
            _leave_group(user, group)


def _enter_group(user, group):
    if _put(USERS_OF_GROUP, group, user):
        for perm in group.perms:
            _put(GROUPS_OF_PERM, perm, group)


def _leave_group(user, group):
    if _take(USERS_OF_GROUP, group, user):
        for perm in group.perms:
            _take(GROUPS_OF_PERM, perm, group)


def register(user, users):
    if user not in users:
        users.add(user)
        if users in SETS and (users, user.id) in MAY:
            _enter_user(user, (users, user.id))


def unregister(user, users):
    if user in users:
        users.discard(user)
        if users in SETS and (users, user.id) in MAY:
            _leave_user(user, (users, user.id))


def set_id(user, uid):
    for key in list(KEYS_OF_USER.get(user, ())):
        _leave_user(user, key)
    user.id = uid
    for users in SETS:
        if (users, uid) in MAY and user in users:
            _enter_user(user, (users, uid))


def join(user, group):
    if group not in user.groups:
        user.groups.add(group)
        keys = KEYS_OF_USER.get(user)
        if keys is not None:
            _enter_group(user, group)
            if group.active:
                for key in keys:
                    names = MAY[key]
                    for perm in group.perms:
                        names[perm.name] = names.get(perm.name, 0) + 1


def leave(user, group):
    if group in user.groups:
        user.groups.discard(group)
        keys = KEYS_OF_USER.get(user)
        if keys is not None:
            if group.active:
                for key in keys:
                    names = MAY[key]
                    for perm in group.perms:
                        _uncount(names, perm.name)
            _leave_group(user, group)


def grant(perm, group):
    if perm not in group.perms:
        group.perms.add(perm)
        users = USERS_OF_GROUP.get(group)
        if users is not None:
            _put(GROUPS_OF_PERM, perm, group)
            if group.active:
                for user in users:
                    for key in KEYS_OF_USER[user]:
                        names = MAY[key]
                        names[perm.name] = names.get(perm.name, 0) + 1


def revoke(perm, group):
    if perm in group.perms:
        group.perms.discard(perm)
        users = USERS_OF_GROUP.get(group)
        if users is not None:
            _take(GROUPS_OF_PERM, perm, group)
            if group.active:
                for user in users:
                    for key in KEYS_OF_USER[user]:
                        _uncount(MAY[key], perm.name)


def set_active(group, active):
    users = USERS_OF_GROUP.get(group)
    if users is not None and bool(active) is not bool(group.active):
        for user in users:
            for key in KEYS_OF_USER[user]:
                names = MAY[key]
                for perm in group.perms:
                    if active:
                        names[perm.name] = names.get(perm.name, 0) + 1
                    else:
                        _uncount(names, perm.name)
    group.active = active


def set_name(perm, name):
    old = perm.name
    if name != old:
        for group in GROUPS_OF_PERM.get(perm, ()):
            if group.active:
                for user in USERS_OF_GROUP[group]:
                    for key in KEYS_OF_USER[user]:
                        names = MAY[key]
                        _uncount(names, old)
                        names[name] = names.get(name, 0) + 1
    perm.name = name
