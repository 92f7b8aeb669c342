"""Role-based access control: sessions with access checked in them, and static separation of duty."""

from __future__ import annotations

from typing import Any

from incoq.evaluate.drivers.base import ALL, UPDATES, Data, Driver, Point, Prepared, reference
from incoq.evaluate.workloads import Column, Table


def _access_tables(point: Point) -> dict[str, Table]:
    roles = point.option("roles", point.size)
    objects = point.option("objects", 20)
    demanded = point.size if point.option("demanded", None) == "size" else objects
    users, checks = 10, point.option("checks", 1000)
    return {
        "users": Table(users, {"roles": Column(roles, min(10, roles))}),
        "roles": Table(roles, {"permissions": Column(20 * objects, point.option("permissions", 10))}),
        "sessions": Table(point.operations, {"user": Column(users)}),
        "checks": Table(point.operations * checks, {"op": Column(20), "obj": Column(demanded)}),
    }


def _access(program: Any, data: Data, point: Point) -> Prepared:
    objects = point.option("objects", 20)
    demanded = point.size if point.option("demanded", None) == "size" else objects
    per_session = point.option("checks", 1000)
    for op in range(20):
        program.add_operation(op)
    for obj in range(objects):
        program.add_object(obj)
    for role, permissions in enumerate(data["roles"]["permissions"]):
        program.add_role(role)
        for permission in permissions:
            program.grant_permission(permission % 20, permission // 20, role)
    roles_of = [set(roles) for roles in data["users"]["roles"]]
    for user, roles in enumerate(roles_of):
        program.add_user(user)
        for role in roles:
            program.assign_user(user, role)
    create, delete, check = program.create_session, program.delete_session, program.check_access
    create(0, "first", roles_of[0])
    for obj in range(demanded):
        check("first", 0, obj)
    delete(0, "first")
    users = data["sessions"]["user"]
    checks = list(zip(*data["checks"].values(), strict=True))

    def both() -> None:
        for number, user in enumerate(users):
            create(user, number, roles_of[user])
            for op, obj in checks[number * per_session : (number + 1) * per_session]:
                check(number, op, obj)
            delete(user, number)

    def updates() -> None:
        for number, user in enumerate(users):
            create(user, number, roles_of[user])
            delete(user, number)

    def answers() -> object:
        create(0, "last", roles_of[0])
        found = [check("last", op, obj) for op in range(20) for obj in range(min(demanded, 50))]
        delete(0, "last")
        return found

    return Prepared({ALL: both, UPDATES: updates}, answers)


# Static separation of duty: roles given one by one, in random order, violations asked for after each.


def _ssd_tables(point: Point) -> dict[str, Table]:
    return {"steps": Table(5 * point.size, {"place": Column(1 << 60)})}


def _ssd(program: Any, data: Data, point: Point) -> Prepared:
    for number in range(point.size):
        program.add_user(f"u{number}")
        program.create_set(f"n{number}", [f"r{role}" for role in range(5)], 3)
    places = data["steps"]["place"]
    steps = [(f"u{n // 5}", f"r{n % 5}") for n in sorted(range(len(places)), key=lambda n: (places[n], n))]
    ask, assign = reference(program.violations), program.assign
    ask()

    def run() -> None:
        for user, role in steps:
            assign(user, role)
            ask()

    return Prepared({ALL: run}, lambda: sorted(ask()))


RBAC = {
    "access": Driver("access", _access_tables, _access),
    "ssd": Driver("ssd", _ssd_tables, _ssd),
}
