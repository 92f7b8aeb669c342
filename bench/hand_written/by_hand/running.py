"""The running example by hand: for each user in both sets, the demanded pairs that it counts in."""


class Group(set):
    """A set of users that can be a key."""

    __hash__ = object.__hash__


class User:
    def __init__(self, email, loc):
        self.email, self.loc, self.followers = email, loc, set()


FANS = {}  # (celeb, group) -> {address: how many users have it}
PAIRS_OF_USER = {}  # user -> the demanded pairs whose two sets hold it
PAIRS_OF_CELEB = {}  # celeb -> its demanded pairs
PAIRS_OF_GROUP = {}  # group -> its demanded pairs
STRUCTURES = (FANS, PAIRS_OF_USER, PAIRS_OF_CELEB, PAIRS_OF_GROUP)


def nyc_fans(celeb, group):
    fans = FANS.get((celeb, group))
    if fans is None:
        fans = demand(celeb, group)
    return set(fans)


def count_fans(celeb, group):
    fans = FANS.get((celeb, group))
    if fans is None:
        fans = demand(celeb, group)
    return len(fans)


def demand(celeb, group):
    pair = celeb, group
    if pair in FANS:
        return FANS[pair]
    fans = FANS[pair] = {}
    PAIRS_OF_CELEB.setdefault(celeb, set()).add(pair)
    PAIRS_OF_GROUP.setdefault(group, set()).add(pair)
    small, large = celeb.followers, group
    if len(small) > len(large):
        small, large = large, small
    for user in small:
        if user in large:
            pairs = PAIRS_OF_USER.get(user)
            if pairs is None:
                PAIRS_OF_USER[user] = {pair}
            else:
                pairs.add(pair)
            if user.loc == "NYC":
                fans[user.email] = fans.get(user.email, 0) + 1
    return fans


def release(celeb, group):
    pair = celeb, group
    if pair not in FANS:
        return
    del FANS[pair]
    _forget(PAIRS_OF_CELEB, celeb, pair)
    _forget(PAIRS_OF_GROUP, group, pair)
    small, large = celeb.followers, group
    if len(small) > len(large):
        small, large = large, small
    for user in small:
        if user in large:
            pairs = PAIRS_OF_USER[user]
            pairs.discard(pair)
            if not pairs:
                del PAIRS_OF_USER[user]


def _forget(pairs_of, key, pair):
    pairs = pairs_of[key]
    pairs.discard(pair)
    if not pairs:
        del pairs_of[key]


def _enter(user, pair):
    pairs = PAIRS_OF_USER.get(user)
    if pairs is None:
        PAIRS_OF_USER[user] = {pair}
    else:
        pairs.add(pair)
    if user.loc == "NYC":
        fans = FANS[pair]
        fans[user.email] = fans.get(user.email, 0) + 1


def _leave(user, pair):
    _forget(PAIRS_OF_USER, user, pair)
    if user.loc == "NYC":
        _uncount(FANS[pair], user.email)


def _uncount(fans, email):
    count = fans[email]
    if count == 1:
        del fans[email]
    else:
        fans[email] = count - 1


def new_group():
    return Group()


def follow(user, celeb):
    followers = celeb.followers
    if user not in followers:
        followers.add(user)
        pairs = PAIRS_OF_CELEB.get(celeb)
        if pairs is not None:
            for pair in pairs:
                if user in pair[1]:
                    _enter(user, pair)


def unfollow(user, celeb):
    followers = celeb.followers
    if user in followers:
        followers.discard(user)
        pairs = PAIRS_OF_CELEB.get(celeb)
        if pairs is not None:
            for pair in pairs:
                if user in pair[1]:
                    _leave(user, pair)


def join(user, group):
    if user not in group:
        group.add(user)
        pairs = PAIRS_OF_GROUP.get(group)
        if pairs is not None:
            for pair in pairs:
                if user in pair[0].followers:
                    _enter(user, pair)


def leave(user, group):
    if user in group:
        group.discard(user)
        pairs = PAIRS_OF_GROUP.get(group)
        if pairs is not None:
            for pair in pairs:
                if user in pair[0].followers:
                    _leave(user, pair)


def move(user, place):
    pairs = PAIRS_OF_USER.get(user)
    if pairs is not None:
        was, now = user.loc == "NYC", place == "NYC"
        if was is not now:
            email = user.email
            if now:
                for pair in pairs:
                    fans = FANS[pair]
                    fans[email] = fans.get(email, 0) + 1
            else:
                for pair in pairs:
                    _uncount(FANS[pair], email)
    user.loc = place


def rename(user, email):
    if user.loc == "NYC":
        pairs = PAIRS_OF_USER.get(user)
        if pairs is not None and email != user.email:
            old = user.email
            for pair in pairs:
                fans = FANS[pair]
                _uncount(fans, old)
                fans[email] = fans.get(email, 0) + 1
    user.email = email


def replace_followers(celeb, users):
    """Other followers: a set that nobody else holds."""
    pairs = PAIRS_OF_CELEB.get(celeb)
    if pairs is None:
        celeb.followers = set(users)
        return
    old = celeb.followers
    new = set(users)
    for pair in pairs:
        group = pair[1]
        for user in old:
            if user not in new and user in group:
                _leave(user, pair)
        for user in new:
            if user not in old and user in group:
                _enter(user, pair)
    celeb.followers = new


def move_all(users, place):
    for user in users:
        move(user, place)
