"""Worlds in which the costs of the running example grow."""

from running import User, follow, join, leave, move, nyc_fans, unfollow

from incoq import Set


def fans_in_many_groups(n):
    """One celebrity, n followers, n groups that are asked for and hold everybody."""
    celeb, fans, groups = (
        User("c", "NYC"),
        [User(f"u{i}", "NYC") for i in range(n)],
        [Set() for _ in range(n)],
    )
    for fan in fans:
        follow(fan, celeb)
        for group in groups:
            join(fan, group)
    for group in groups:
        nyc_fans(celeb, group)
    yield
    for fan in fans[:3]:
        move(fan, "Oslo")
        move(fan, "NYC")
    yield
    for fan in fans[:3]:
        fan.email = "new"
    yield
    for fan in fans[:3]:
        unfollow(fan, celeb)
        follow(fan, celeb)
    yield
    for group in groups[:3]:
        leave(fans[0], group)
        join(fans[0], group)
    yield
    celeb.followers = Set(fans)
    yield
    nyc_fans(celeb, Set(fans))
    nyc_fans(celeb, groups[0])


def many_celebrities(n):
    """n celebrities share one set of n followers; one group is asked for with each of them."""
    celebs, fans, group = (
        [User(f"c{i}", "NYC") for i in range(n)],
        [User(f"u{i}", "NYC") for i in range(n)],
        Set(),
    )
    followers = Set(fans)
    for celeb in celebs:
        celeb.followers = followers
        nyc_fans(celeb, group)
    for fan in fans:
        join(fan, group)
    yield
    for fan in fans[:3]:
        move(fan, "Oslo")
        move(fan, "NYC")
    yield
    for fan in fans[:3]:
        fan.email = "new"
    yield
    for fan in fans[:3]:
        unfollow(fan, celebs[0])
        follow(fan, celebs[0])
    yield
    for fan in fans[:3]:
        leave(fan, group)
        join(fan, group)
    yield
    celebs[0].followers = Set(fans)
