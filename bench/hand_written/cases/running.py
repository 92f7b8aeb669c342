"""The running example: celebrities and groups; few pairs of them are asked about."""

import random
from types import SimpleNamespace
from typing import Any

from bench.hand_written.cases.case import Case, Operation, Workload, there_and_back

PLACES = ("NYC", *(f"place{i:02}" for i in range(1, 20)))
CELEBS, GROUPS = 5, 2  # asked about: each with each

EXTRA = """
def rename(user, email):
    user.email = email


def replace_followers(celeb, users):
    celeb.followers = Set(users)


def demand(celeb, group):
    nyc_fans.demand(celeb, group)


def release(celeb, group):
    nyc_fans.release(celeb, group)


def move_all(users, place):
    for user in users:
        user.loc = place
"""

REQUERY = """
def nyc_fans(celeb, group):
    small, large = celeb.followers, group
    if len(small) > len(large):
        small, large = large, small
    return {u.email for u in small if u in large if u.loc == "NYC"}
"""


def make(program: Any, size: int, rng: random.Random) -> SimpleNamespace:
    users = [program.User(f"user{i}@example.org", rng.choice(PLACES)) for i in range(size)]
    groups = [program.new_group() for _ in range(max(8, size // 100))]
    for user in users:
        for celeb in rng.sample(users, max(10, size // 200)):
            program.follow(user, celeb)
        for group in rng.sample(groups, max(1, len(groups) // 20)):
            program.join(user, group)
    pairs = [(celeb, group) for celeb in users[:CELEBS] for group in groups[:GROUPS]]
    for celeb, group in pairs:
        program.nyc_fans(celeb, group)
    fans = set().union(*(celeb.followers for celeb in users[:CELEBS]))
    inside = set().union(*groups[:GROUPS])
    tagged = [user for user in users if user in fans and user in inside]
    untagged = [user for user in users[CELEBS:] if user not in fans or user not in inside]
    return SimpleNamespace(users=users, groups=groups, pairs=pairs, tagged=tagged, untagged=untagged)


def workloads(program: Any, world: SimpleNamespace, rng: random.Random, count: int) -> list[Workload]:
    p, users, groups = program, world.users, world.groups
    celebs = users[:CELEBS]

    def moves(pool: list[Any]) -> list[Operation]:
        pool = rng.sample(pool, min(len(pool), 200))
        return [(p.move, rng.choice(pool), rng.choice(PLACES)) for _ in range(count)]

    def renames(pool: list[Any]) -> list[Operation]:
        chosen = [rng.choice(pool) for _ in range(count // 2)]
        return [(p.rename, u, e) for u in chosen for e in (f"{u.email}.new", u.email)]

    def follows(pool: list[Any]) -> list[Operation]:
        chosen = [(rng.choice(users), rng.choice(pool)) for _ in range(count // 2)]
        return there_and_back([(u, c, u in c.followers) for u, c in chosen], p.follow, p.unfollow)

    def joins(pool: list[Any]) -> list[Operation]:
        chosen = [(rng.choice(users), rng.choice(pool)) for _ in range(count // 2)]
        return there_and_back([(u, g, u in g) for u, g in chosen], p.join, p.leave)

    def replacements(pool: list[Any]) -> list[Operation]:
        chosen = [rng.choice(pool) for _ in range(5)]
        return [(p.replace_followers, c, list(c.followers)[cut:]) for c in chosen for cut in (1, 0)]

    queries = [(p.count_fans, *rng.choice(world.pairs)) for _ in range(count)]
    found = [
        Workload("query", "query", queries),
        Workload("loc, tagged user", "tagged", moves(world.tagged)),
        Workload("loc, untagged user", "untagged", moves(world.untagged)),
        Workload("email, tagged user", "tagged", renames(world.tagged)),
        Workload("email, untagged user", "untagged", renames(world.untagged)),
        Workload("followers, demanded celebrity", "tagged", follows(celebs)),
        Workload("followers, other user", "untagged", follows(users[CELEBS:])),
        Workload("demanded group", "tagged", joins(groups[:GROUPS])),
        Workload("other group", "untagged", joins(groups[GROUPS:])),
        Workload("followers replaced, demanded celebrity", "tagged", replacements(celebs)),
        Workload("followers replaced, other user", "untagged", replacements(users[CELEBS:])),
    ]
    new = [(c, g) for c in rng.sample(users[CELEBS:], 10) for g in groups[GROUPS : GROUPS + 2]]
    begin, end = getattr(p, "demand", p.count_fans), getattr(p, "release", None)
    found.append(Workload("first demand of a pair", "demand", [(begin, c, g) for c, g in new]))
    found.append(Workload("release of a pair", "release", [(end, c, g) for c, g in new] if end else []))
    found.append(Workload("mixed", "mixed", _mixed(p, world, rng, count)))
    return found


def _mixed(p: Any, world: SimpleNamespace, rng: random.Random, count: int) -> list[Operation]:
    """Half queries, the rest random updates of random users, groups and follower sets."""
    users, groups = world.users, world.groups
    operations: list[Operation] = []
    for _ in range(count):
        user = rng.choice(users)
        celeb = rng.choice(users[:CELEBS] if rng.randrange(4) == 0 else users)
        kind = rng.randrange(20)
        if kind < 10:
            operations.append((p.count_fans, *rng.choice(world.pairs)))
        elif kind < 15:
            operations.append((p.move, user, rng.choice(PLACES)))
        elif kind < 17:
            operations.append((rng.choice((p.follow, p.unfollow)), user, celeb))
        elif kind < 19:
            operations.append((rng.choice((p.join, p.leave)), user, rng.choice(groups)))
        else:
            operations.append((p.rename, user, f"user{rng.randrange(len(users))}@example.org"))
    return operations


def answers(program: Any, world: SimpleNamespace) -> Any:
    return [sorted(program.nyc_fans(celeb, group)) for celeb, group in world.pairs]


CASE = Case("running", "examples/running_example.py", EXTRA, REQUERY, make, workloads, answers)
