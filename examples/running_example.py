"""Who of a celebrity's followers, in a group, is in New York? The running example, as an ordinary program.

Run by plain Python it evaluates `nyc_fans` anew at each call; compiled, it keeps the answers up to date. Both
print the same. The optional argument is the seed of the little world that `main` makes.
"""

import random
import sys

from incoq import Set, query

PLACES = ("NYC", "Boston", "Lima", "Oslo")


class User:
    def __init__(self, email, loc):
        self.email, self.loc, self.followers = email, loc, Set()


@query
def nyc_fans(celeb, group):
    """The addresses of those who follow the celebrity, are in the group and are in New York."""
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}


def count_fans(celeb, group):
    return len(nyc_fans(celeb, group))


def new_group():
    return Set()


def follow(user, celeb):
    celeb.followers.add(user)


def unfollow(user, celeb):
    celeb.followers.discard(user)


def join(user, group):
    group.add(user)


def leave(user, group):
    group.discard(user)


def move(user, place):
    user.loc = place


def main():
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
    users = [User(f"user{i:02}@example.org", rng.choice(PLACES)) for i in range(40)]
    celebs = users[:2]
    groups = [new_group(), new_group()]
    for user in users:
        follow(user, rng.choice(celebs))
        join(user, rng.choice(groups))

    for step in range(1, 201):
        user, celeb, group = rng.choice(users), rng.choice(celebs), rng.choice(groups)
        kind = rng.choice(("follow", "unfollow", "join", "leave", "move", "move"))
        if kind == "follow":
            follow(user, celeb)
        elif kind == "unfollow":
            unfollow(user, celeb)
        elif kind == "join":
            join(user, group)
        elif kind == "leave":
            leave(user, group)
        else:
            move(user, rng.choice(PLACES))
        if step % 20 == 0:
            fans = " ".join(sorted(email.split("@")[0] for email in nyc_fans(celeb, group)))
            print(f"step {step:3}: {count_fans(celeb, group)} fans of {celeb.email}: {fans}")


if __name__ == "__main__":
    main()
