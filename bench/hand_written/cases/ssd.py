"""SSD: a query without parameters, with a count in its condition; everything is reached."""

import random
from types import SimpleNamespace
from typing import Any

from bench.hand_written.cases.case import Case, Operation, Workload, there_and_back

EXTRA = """
OTHER = Set()


def count_violations(_, __):
    return len(violations())


def add_user(user, _):
    USERS.add(user)


def remove_user(user, _):
    USERS.discard(user)


def assign(user, role):
    UR.add((user, role))


def deassign(user, role):
    UR.discard((user, role))


def add_role_member(name, role):
    SSDNR.add((name, role))


def delete_role_member(name, role):
    SSDNR.discard((name, role))


def add_cardinality(name, limit):
    SSDNC.add((name, limit))


def delete_cardinality(name, limit):
    SSDNC.discard((name, limit))


def note(user, role):
    OTHER.add((user, role))


def unnote(user, role):
    OTHER.discard((user, role))
"""

REQUERY = """
def violations():
    roles_of = {}
    for user, role in UR:
        if user in USERS:
            roles_of.setdefault(user, set()).add(role)
    members = {}
    for name, role in SSDNR:
        members.setdefault(name, set()).add(role)
    none = set()
    return {
        (user, name)
        for name, c in SSDNC
        for user in (USERS if c + AT_LEAST <= 0 else roles_of)
        if len(roles_of.get(user, none) & members.get(name, none)) >= c + AT_LEAST
    }
"""


def make(program: Any, size: int, rng: random.Random) -> SimpleNamespace:
    users = [f"u{i}" for i in range(size // 10)]
    roles = [f"r{i}" for i in range(30)]
    names = [f"n{i}" for i in range(10)]
    for user in users:
        program.add_user(user, None)
        for role in rng.sample(roles, 4):
            program.assign(user, role)
    for name in names:
        program.add_cardinality(name, 2)
        for role in rng.sample(roles, 5):
            program.add_role_member(name, role)
    program.violations()
    return SimpleNamespace(users=users, roles=roles, names=names)


def workloads(program: Any, world: SimpleNamespace, rng: random.Random, count: int) -> list[Workload]:
    p, users, roles, names = program, world.users, world.roles, world.names
    chosen = [(rng.choice(users), rng.choice(roles)) for _ in range(count // 2)]
    members = [(rng.choice(names), rng.choice(roles)) for _ in range(10)]
    found = [
        Workload("query", "query", [(p.count_violations, None, None)] * count),
        Workload(
            "UR", "tagged", there_and_back([(u, r, (u, r) in p.UR) for u, r in chosen], p.assign, p.deassign)
        ),
        Workload(
            "SSDNR",
            "tagged",
            there_and_back(
                [(n, r, (n, r) in p.SSDNR) for n, r in members], p.add_role_member, p.delete_role_member
            ),
        ),
        Workload(
            "SSDNC",
            "tagged",
            there_and_back([(n, 3, False) for n in names[:5]], p.add_cardinality, p.delete_cardinality),
        ),
        Workload(
            "USERS",
            "tagged",
            [(f, u, None) for u in rng.choices(users, k=count // 10) for f in (p.remove_user, p.add_user)],
        ),
        Workload(
            "a set that no query reads",
            "untagged",
            [(f, u, r) for u, r in chosen for f in (p.note, p.unnote)],
        ),
    ]
    mixed: list[Operation] = []
    for _ in range(count):
        kind = rng.randrange(40)
        if kind < 20:
            mixed.append((p.count_violations, None, None))
        elif kind < 38:
            mixed.append((rng.choice((p.assign, p.deassign)), rng.choice(users), rng.choice(roles)))
        else:
            mixed.append((rng.choice((p.add_user, p.remove_user)), rng.choice(users), None))
    found.append(Workload("mixed", "mixed", mixed))
    return found


def answers(program: Any, world: SimpleNamespace) -> Any:
    return sorted(program.violations())


CASE = Case("ssd", "programs/ssd.py", EXTRA, REQUERY, make, workloads, answers)
