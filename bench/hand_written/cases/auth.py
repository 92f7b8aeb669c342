"""Auth: users in groups with permissions; the permissions of some users are asked."""

import random
from types import SimpleNamespace
from typing import Any

from bench.hand_written.cases.case import Case, Operation, Workload, there_and_back

DEMANDED = 20

EXTRA = """
def new_users():
    return Set()


def count_permissions(users, uid):
    return len(permissions(users, uid))


def unregister(user, users):
    users.discard(user)


def join(user, group):
    user.groups.add(group)


def leave(user, group):
    user.groups.discard(group)


def grant(perm, group):
    group.perms.add(perm)


def revoke(perm, group):
    group.perms.discard(perm)


def set_id(user, uid):
    user.id = uid


def set_active(group, active):
    group.active = active


def set_name(perm, name):
    perm.name = name


def demand(users, uid):
    permissions.demand(users, uid)


def release(users, uid):
    permissions.release(users, uid)
"""

REQUERY = """
def permissions(users, uid):
    groups = {g for u in users if u.id == uid for g in u.groups if g.active}
    return {p.name for g in groups for p in g.perms}
"""


def make(program: Any, size: int, rng: random.Random) -> SimpleNamespace:
    users = program.Users() if hasattr(program, "Users") else program.new_users()
    members = [program.User(i) for i in range(size)]
    groups = [program.Group(i % 3 != 0) for i in range(max(40, size // 10))]
    perms = [program.Perm(f"may{i}") for i in range(max(50, size // 10))]
    for group in groups:
        for perm in rng.sample(perms, 8):
            program.grant(perm, group)
    for user in members:
        program.register(user, users)
        for group in rng.sample(groups, 4):
            program.join(user, group)
    for uid in range(DEMANDED):
        program.permissions(users, uid)
    reached = set().union(*(user.groups for user in members[:DEMANDED]))
    granted = set().union(*(group.perms for group in reached))
    strangers = [program.User(rng.randrange(size)) for _ in range(100)]
    hidden = [program.Group(True) for _ in range(100)]
    return SimpleNamespace(
        users=users,
        members=members,
        groups=groups,
        perms=perms,
        reached=[g for g in groups if g in reached],
        granted=[p for p in perms if p in granted],
        strangers=strangers,
        hidden=hidden,
        unused=[program.Perm(f"no{i}") for i in range(100)],
    )


def workloads(program: Any, world: SimpleNamespace, rng: random.Random, count: int) -> list[Workload]:
    p = program
    asked = world.members[:DEMANDED]

    def members_of(pool: list[Any], groups: list[Any]) -> list[Operation]:
        chosen = [(rng.choice(pool), rng.choice(groups)) for _ in range(count // 2)]
        return there_and_back([(u, g, g in u.groups) for u, g in chosen], p.join, p.leave)

    def grants(groups: list[Any], number: int) -> list[Operation]:
        chosen = [(rng.choice(world.perms), rng.choice(groups)) for _ in range(number // 2)]
        return there_and_back([(q, g, q in g.perms) for q, g in chosen], p.grant, p.revoke)

    def assignments(pool: list[Any], function: Any, field: str, values: Any) -> list[Operation]:
        chosen = [rng.choice(pool) for _ in range(count // 2)]
        return [(function, o, v) for o in chosen for v in (values(o), getattr(o, field))]

    ids = assignments(asked, p.set_id, "id", lambda u: len(world.members) + 1)
    registered = [(rng.choice(asked), world.users, True) for _ in range(count // 2)]
    found = [
        Workload(
            "query",
            "query",
            [(p.count_permissions, world.users, rng.randrange(DEMANDED)) for _ in range(count)],
        ),
        Workload("users, demanded id", "tagged", there_and_back(registered, p.register, p.unregister)),
        Workload("groups, demanded user", "tagged", members_of(asked, world.groups)),
        Workload("groups, other user", "untagged", members_of(world.members[DEMANDED:], world.groups)),
        Workload("groups, unregistered user", "untagged", members_of(world.strangers, world.hidden)),
        Workload("perms, reached group", "tagged", grants(world.reached, count)),
        Workload("perms, other group", "untagged", grants(world.hidden, count)),
        Workload("id, demanded", "tagged", ids),
        Workload(
            "id, unregistered user", "untagged", assignments(world.strangers, p.set_id, "id", lambda u: -1)
        ),
        Workload(
            "active, reached group",
            "tagged",
            assignments(world.reached, p.set_active, "active", lambda g: not g.active),
        ),
        Workload(
            "active, other group",
            "untagged",
            assignments(world.hidden, p.set_active, "active", lambda g: not g.active),
        ),
        Workload(
            "name, granted permission",
            "tagged",
            assignments(world.granted, p.set_name, "name", lambda q: q.name + "!"),
        ),
        Workload(
            "name, other permission",
            "untagged",
            assignments(world.unused, p.set_name, "name", lambda q: q.name + "!"),
        ),
    ]
    begin, end = getattr(p, "demand", p.count_permissions), getattr(p, "release", None)
    new = range(DEMANDED, DEMANDED + 10)
    found.append(Workload("first demand of an id", "demand", [(begin, world.users, uid) for uid in new]))
    found.append(
        Workload("release of an id", "release", [(end, world.users, uid) for uid in new] if end else [])
    )
    mixed: list[Operation] = []
    for _ in range(count):
        user, group, perm = rng.choice(world.members), rng.choice(world.groups), rng.choice(world.perms)
        kind = rng.randrange(20)
        if kind < 10:
            mixed.append((p.count_permissions, world.users, rng.randrange(DEMANDED)))
        elif kind < 14:
            mixed.append((rng.choice((p.join, p.leave)), user, group))
        elif kind < 18:
            mixed.append((rng.choice((p.grant, p.revoke)), perm, group))
        elif kind < 19:
            mixed.append((p.set_active, group, rng.randrange(2) == 0))
        else:
            mixed.append((p.set_name, perm, f"may{rng.randrange(len(world.perms))}"))
    found.append(Workload("mixed", "mixed", mixed))
    return found


def answers(program: Any, world: SimpleNamespace) -> Any:
    return [sorted(program.permissions(world.users, uid)) for uid in range(DEMANDED)]


CASE = Case("auth", "programs/auth.py", EXTRA, REQUERY, make, workloads, answers)
