"""The benchmarks of JQL (attendances replaced) and of OSQ (access points found, permissions granted)."""

from __future__ import annotations

from functools import partial
from typing import Any

from incoq.evaluate.drivers.base import ALL, Data, Driver, Point, Prepared, reference
from incoq.evaluate.workloads import Column, Table


def _jql_tables(point: Point) -> dict[str, Table]:
    n, large = point.option("objects", point.size), Column(1 << 30)
    return {
        "attends": Table(n, {"student": Column(n), "course": Column(n)}),
        "steps": Table(
            point.operations,
            {"kind": Column(10_000), "old": large, "student": large, "course": large},
        ),
    }


def _jql(program: Any, data: Data, point: Point) -> Prepared:
    n = point.option("objects", point.size)
    percent = point.option("percent_queries", point.size)
    students = [program.make_student(f"s{i}") for i in range(n)]
    courses = [program.make_course(f"c{i}") for i in range(n)]
    attends = [
        program.make_attends(students[s], courses[c]) for s, c in zip(*data["attends"].values(), strict=True)
    ]
    ask = reference(program.attendances if hasattr(program, "attendances") else program.attending)
    replace, wanted = program.replace_attends, courses[0]
    steps = [
        None if kind < percent * 100 else (old % n, students[s % n], courses[c % n])
        for kind, old, s, c in zip(*data["steps"].values(), strict=True)
    ]
    ask(wanted)

    def run() -> None:
        for step in steps:
            if step is None:
                ask(wanted)
            else:
                old, student, course = step
                attends[old] = replace(attends[old], student, course)

    def answers() -> object:
        found = (result[0] if isinstance(result, tuple) else result for result in ask(wanted))
        return sorted(a.student.name for a in found)

    return Prepared({ALL: run}, answers)


# OSQ's benchmarks: access points found, and permissions granted, one by one.


def _wifi(program: Any, data: Data, point: Point) -> Prepared:
    wifi = program.Wifi(5)
    ask = partial(reference(program.Wifi.strong), wifi)
    ask()

    def run() -> None:
        for number in range(point.size):
            wifi.found(program.AccessPoint(number, 10))
            ask()

    return Prepared({ALL: run}, lambda: sorted(ask()))


def _auth_tables(point: Point) -> dict[str, Table]:
    return {"steps": Table(point.option("perms", point.size), {"asked": Column(1 << 30)})}


def _auth(program: Any, data: Data, point: Point) -> Prepared:
    users, group = program.Set(), program.Group(True)
    members = [program.User(number) for number in range(point.option("users", 100))]
    for user in members:
        program.register(user, users)
        program.join(user, group)
    asked = [number % len(members) for number in data["steps"]["asked"]]
    if point.option("demanded", None) == "size":
        asked = [number % point.size for number in asked]
    perms = [program.Perm(f"may{number}") for number in range(len(asked))]
    ask, grant = reference(program.permissions), program.grant
    for uid in sorted(set(asked)):
        ask(users, uid)

    def run() -> None:
        for perm, uid in zip(perms, asked, strict=True):
            grant(perm, group)
            ask(users, uid)

    return Prepared({ALL: run}, lambda: [sorted(ask(users, uid)) for uid in sorted(set(asked))[:10]])


BENCHMARKS = {
    **{f"jql{number}": Driver(f"jql{number}", _jql_tables, _jql) for number in (1, 2, 3)},
    "wifi": Driver("wifi", lambda point: {}, _wifi),
    "auth": Driver("auth", _auth_tables, _auth),
}
