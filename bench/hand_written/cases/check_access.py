"""CheckAccess: the query of Access that is demanded by the object; sessions activate roles.

The program has two more queries, about sessions and users; all versions can answer them, and nobody asks.
"""

import random
from types import SimpleNamespace
from typing import Any

from bench.hand_written.cases.case import Case, Operation, Workload, there_and_back

DEMANDED = 10

EXTRA = """
def allows(session, permission):
    op, obj = permission
    return len(allowing_roles(session, op, obj)) > 0


def pairs(session, _):
    return pairs_of_session(session)


def assigned(user, _):
    return assigned_roles(user)


def assign(user, role):
    UR.add((user, role))


def unassign(user, role):
    UR.discard((user, role))


def add_role(role, _):
    ROLES.add(role)


def remove_role(role, _):
    ROLES.discard(role)


def activate(session, role):
    SR.add((session, role))


def deactivate(session, role):
    SR.discard((session, role))


def permit(permission, role):
    op, obj = permission
    PR.add((op, obj, role))


def forbid(permission, role):
    op, obj = permission
    PR.discard((op, obj, role))


def demand(obj, _):
    allowing_roles.demand(obj)


def release(obj, _):
    allowing_roles.release(obj)
"""

REQUERY = """
def allowing_roles(session, op, obj):
    return {r for r in ROLES if (session, r) in SR and (op, obj, r) in PR}
"""


def make(program: Any, size: int, rng: random.Random) -> SimpleNamespace:
    roles = [f"r{i}" for i in range(max(10, size // 50))]
    sessions = [f"s{i}" for i in range(size // 5)]
    objects = [f"o{i}" for i in range(max(4 * DEMANDED, size // 20))]
    ops = [f"op{i}" for i in range(5)]
    for role in roles:
        program.add_role(role, None)
        for _ in range(20):
            program.permit((rng.choice(ops), rng.choice(objects)), role)
    for session in sessions:
        for role in rng.sample(roles, 4):
            program.activate(session, role)
    for obj in objects[:DEMANDED]:
        program.allows(sessions[0], (ops[0], obj))
    return SimpleNamespace(roles=roles, sessions=sessions, objects=objects, ops=ops)


def workloads(program: Any, world: SimpleNamespace, rng: random.Random, count: int) -> list[Workload]:
    p, roles, sessions, ops = program, world.roles, world.sessions, world.ops
    asked, others = world.objects[:DEMANDED], world.objects[DEMANDED:]
    unused = [f"r{len(roles) + i}" for i in range(20)]

    def permission(objects: list[str]) -> tuple[str, str]:
        return rng.choice(ops), rng.choice(objects)

    def permits(objects: list[str]) -> list[Operation]:
        chosen = [(permission(objects), rng.choice(roles)) for _ in range(count // 2)]
        return there_and_back([(q, r, (*q, r) in p.PR) for q, r in chosen], p.permit, p.forbid)

    def activations(pool: list[str]) -> list[Operation]:
        chosen = [(rng.choice(sessions), rng.choice(pool)) for _ in range(count // 2)]
        return there_and_back([(s, r, (s, r) in p.SR) for s, r in chosen], p.activate, p.deactivate)

    found = [
        Workload(
            "query", "query", [(p.allows, rng.choice(sessions), permission(asked)) for _ in range(count)]
        ),
        Workload("SR, role in ROLES", "tagged", activations(roles)),
        Workload("SR, role not in ROLES", "tagged", activations(unused)),
        Workload("PR, demanded object", "tagged", permits(asked)),
        Workload("PR, other object", "tagged", permits(others)),
        Workload(
            "ROLES",
            "tagged",
            [(f, r, None) for r in rng.choices(roles, k=count // 20) for f in (p.remove_role, p.add_role)],
        ),
        Workload(
            "ROLES, role without permissions",
            "untagged",
            [(f, r, None) for r in rng.choices(unused, k=count // 2) for f in (p.add_role, p.remove_role)],
        ),
    ]
    begin = getattr(p, "demand", None)
    end = getattr(p, "release", None)
    begins = [(begin, obj, None) for obj in others[:10]] if begin else []
    found.append(Workload("first demand of an object", "demand", begins))
    found.append(
        Workload("release of an object", "release", [(end, obj, None) for obj in others[:10]] if end else [])
    )
    mixed: list[Operation] = []
    for _ in range(count):
        kind = rng.randrange(20)
        if kind < 10:
            mixed.append((p.allows, rng.choice(sessions), permission(asked)))
        elif kind < 17:
            mixed.append((rng.choice((p.activate, p.deactivate)), rng.choice(sessions), rng.choice(roles)))
        else:
            mixed.append((rng.choice((p.permit, p.forbid)), permission(world.objects), rng.choice(roles)))
    found.append(Workload("mixed", "mixed", mixed))
    return found


def answers(program: Any, world: SimpleNamespace) -> Any:
    return [
        program.allows(session, (op, obj))
        for session in world.sessions[:20]
        for op in world.ops
        for obj in world.objects[:DEMANDED]
    ]


CASE = Case("check access", "programs/access.py", EXTRA, REQUERY, make, workloads, answers)
