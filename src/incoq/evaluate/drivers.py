"""What each experiment does with its program: its data, what comes before the clock, and what is timed.

All versions of a program perform the same operations on the same data. A query within the timed loop finds an
answer that was demanded before.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from incoq.evaluate.workloads import UNIFORM, Column, Table

Data = Mapping[str, Mapping[str, list[Any]]]
ALL, UPDATES = "all", "updates"  # the timed loop with its queries, and the same one without them


@dataclass(frozen=True)
class Point:
    """Where something is measured: the value on the axis, and what else the driver wants to know."""

    size: int
    operations: int
    options: Mapping[str, Any]

    def option(self, name: str, default: Any) -> Any:
        return self.options.get(name, default)


@dataclass(frozen=True)
class Prepared:
    """All that is left is to run it; `answers` says, afterwards, what every version must agree on."""

    run: Callable[[], object]
    answers: Callable[[], object]


@dataclass(frozen=True)
class Driver:
    """A program with the tables of its workload and its preparation, given the part that is timed."""

    program: str
    tables: Callable[[Point], dict[str, Table]]
    prepare: Callable[[Any, Data, Point, str], Prepared]


# The running example: who follows whom, who is in which group, and who moves.

_BIG = ("fan0", "fan1", "fan2", "member")  # a coin for each: follows a celebrity, is in the group
_PLACES = ("NYC", *(f"place{i:02}" for i in range(1, 20)))


def _running_tables(point: Point) -> dict[str, Table]:
    n = point.option("users", point.size)
    drawn = point.option("distribution", UNIFORM)
    groups = max(1, n // 100)
    big = {name: Column(2) for name in _BIG} if point.option("big", False) else {}
    return {
        "users": Table(
            n,
            {
                "place": Column(len(_PLACES)),
                "followees": Column(n, max(1, n // 200), drawn),
                "groups": Column(groups, point.option("groups", max(1, n // 2000)), drawn),
                **big,
            },
        ),
        "steps": Table(
            point.operations, {"asked": Column(1 << 30), "moved": Column(1 << 30), "place": Column(20)}
        ),
    }


def _running(program: Any, data: Data, point: Point, part: str) -> Prepared:
    table = data["users"]
    users = [program.User(f"user{i}@example.org", _PLACES[p]) for i, p in enumerate(table["place"])]
    groups = [program.Set() for _ in range(max(1, len(users) // 100))]
    for user, followees, joined in zip(users, table["followees"], table["groups"], strict=True):
        for other in followees:
            program.follow(user, users[other])
        for number in joined:
            program.join(user, groups[number])
    if point.option("big", False):
        for number, user in enumerate(users):
            for celeb in range(3):
                if table[_BIG[celeb]][number]:
                    program.follow(user, users[celeb])
            if table[_BIG[3]][number]:
                program.join(user, groups[0])
    celebs = _celebs(users, point)
    fans: set[Any] = set().union(*(celeb.followers for celeb in celebs))
    group = (
        max(groups, key=lambda g: sum(user in fans for user in g))
        if "demanded" in point.options
        else groups[0]
    )
    movable = users
    if point.option("tagged_only", False):
        movable = [user for user in users if user in fans and user in group]
        if not movable:
            raise ValueError("no demanded user has a follower in a group: try another seed")
    steps = [
        (celebs[asked % len(celebs)], movable[moved % len(movable)], _PLACES[place])
        for asked, moved, place in zip(*data["steps"].values(), strict=True)
    ]
    ask, move = program.nyc_fans, program.move
    for celeb in celebs:
        ask(celeb, group)

    def both() -> None:
        for celeb, user, place in steps:
            ask(celeb, group)
            move(user, place)

    def updates() -> None:
        for _, user, place in steps:
            move(user, place)

    return Prepared(both if part == ALL else updates, lambda: [sorted(ask(c, group)) for c in celebs])


def _celebs(users: list[Any], point: Point) -> list[Any]:
    """Those whose followers are asked for."""
    if point.option("big", False):
        return users[:3]
    match point.option("demanded", 3):
        case "size":
            return users[: point.size]
        case "all":
            return users
    wanted = max(1, len(users) // 200)
    if point.option("celebs", "typical") == "most followed":
        return sorted(users, key=lambda u: -len(u.followers))[:3]
    return sorted(users, key=lambda u: abs(len(u.followers) - wanted))[:3]  # a stable sort


# The JQL benchmarks: attendances replaced, a course asked for.


def _jql_tables(point: Point) -> dict[str, Table]:
    n = point.option("objects", point.size)
    return {
        "attends": Table(n, {"student": Column(n), "course": Column(n)}),
        "steps": Table(
            point.operations,
            {"kind": Column(10_000), "old": Column(n), "student": Column(n), "course": Column(n)},
        ),
    }


def _jql(program: Any, data: Data, point: Point, part: str) -> Prepared:
    n = point.option("objects", point.size)
    percent = point.option("percent_queries", point.size)
    students = [program.make_student(f"s{i}") for i in range(n)]
    courses = [program.make_course(f"c{i}") for i in range(n)]
    attends = [
        program.make_attends(students[s], courses[c]) for s, c in zip(*data["attends"].values(), strict=True)
    ]
    ask = program.attendances if hasattr(program, "attendances") else program.attending
    replace, wanted = program.replace_attends, courses[0]
    steps = [
        None if kind < percent * 100 else (old, students[s], courses[c])
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

    return Prepared(run, answers)


# OSQ's benchmarks: access points found, and permissions granted, one by one.


def _wifi(program: Any, data: Data, point: Point, part: str) -> Prepared:
    wifi = program.Wifi(5)
    wifi.strong()

    def run() -> None:
        for number in range(point.size):
            wifi.found(program.AccessPoint(number, 10))
            wifi.strong()

    return Prepared(run, lambda: sorted(wifi.strong()))


def _auth_tables(point: Point) -> dict[str, Table]:
    return {"steps": Table(point.option("perms", point.size), {"asked": Column(1 << 30)})}


def _auth(program: Any, data: Data, point: Point, part: str) -> Prepared:
    users, group = program.Set(), program.Group(True)
    members = [program.User(number) for number in range(point.option("users", 100))]
    for user in members:
        program.register(user, users)
        program.join(user, group)
    asked = [number % len(members) for number in data["steps"]["asked"]]
    if point.option("demanded", None) == "size":
        asked = [number % point.size for number in asked]
    perms = [program.Perm(f"may{number}") for number in range(len(asked))]
    ask, grant = program.permissions, program.grant
    for uid in sorted(set(asked)):
        ask(users, uid)

    def run() -> None:
        for perm, uid in zip(perms, asked, strict=True):
            grant(perm, group)
            ask(users, uid)

    return Prepared(run, lambda: [sorted(ask(users, uid)) for uid in sorted(set(asked))[:10]])


# Role-based access control: sessions created and deleted, access checked within.


def _access_tables(point: Point) -> dict[str, Table]:
    roles = point.option("roles", point.size)
    objects = point.option("objects", 20)
    demanded = point.size if point.option("demanded", None) == "size" else objects
    users, checks = 10, point.option("checks", 100)
    return {
        "users": Table(users, {"roles": Column(roles, min(10, roles))}),
        "roles": Table(roles, {"permissions": Column(20 * objects, point.option("permissions", 10))}),
        "sessions": Table(point.operations, {"user": Column(users)}),
        "checks": Table(point.operations * checks, {"op": Column(20), "obj": Column(demanded)}),
    }


def _access(program: Any, data: Data, point: Point, part: str) -> Prepared:
    objects = point.option("objects", 20)
    demanded = point.size if point.option("demanded", None) == "size" else objects
    per_session = point.option("checks", 100)
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

    return Prepared(both if part == ALL else updates, answers)


# The probabilistic queries: one piece of the world is drawn again, then the event is asked for.


def _resampled_tables(below: int) -> Callable[[Point], dict[str, Table]]:
    def tables(point: Point) -> dict[str, Table]:
        return {
            "world": Table(point.size, {"value": Column(below)}),
            "steps": Table(point.operations, {"which": Column(point.size), "value": Column(below)}),
        }

    return tables


def _birthday(program: Any, data: Data, point: Point, part: str) -> Prepared:
    for day in range(100):
        program.add_day(day)
    birthdays = list(data["world"]["value"])
    for person, day in enumerate(birthdays):
        program.born(person, day)
    steps = list(zip(*data["steps"].values(), strict=True))
    ask, born, forget = program.shared_days, program.born, program.forget
    ask()

    def run() -> None:
        for person, day in steps:
            forget(person, birthdays[person])
            birthdays[person] = day
            born(person, day)
            ask()

    return Prepared(run, ask)


def _cite_author(program: Any, data: Data, point: Point, part: str) -> Prepared:
    at_hand = [program.publish(program.AUTHORS[value]) for value in data["world"]["value"]]
    steps = [(which, program.AUTHORS[value]) for which, value in zip(*data["steps"].values(), strict=True)]
    ask, publish, withdraw = program.by_einstein, program.publish, program.withdraw
    ask()

    def run() -> None:
        for which, author in steps:
            withdraw(at_hand[which])
            at_hand[which] = publish(author)
            ask()

    return Prepared(run, ask)


def _cite_exist(program: Any, data: Data, point: Point, part: str) -> Prepared:
    def made(value: int) -> Any:
        authors = program.AUTHORS
        source, target = (
            program.Publication(authors[value % 10], 1900),
            program.Publication(authors[value // 10], 1901),
        )
        return program.cite(source, target)

    at_hand = [made(value) for value in data["world"]["value"]]
    steps = list(zip(*data["steps"].values(), strict=True))
    ask, withdraw = program.einstein_cites_galileo, program.withdraw
    ask()

    def run() -> None:
        for which, value in steps:
            withdraw(at_hand[which])
            at_hand[which] = made(value)
            ask()

    return Prepared(run, ask)


# Static separation of duty: roles given one by one, in random order, violations asked for after each.


def _ssd_tables(point: Point) -> dict[str, Table]:
    return {"steps": Table(5 * point.size, {"place": Column(1 << 60)})}


def _ssd(program: Any, data: Data, point: Point, part: str) -> Prepared:
    for number in range(point.size):
        program.add_user(f"u{number}")
        program.create_set(f"n{number}", [f"r{role}" for role in range(5)], 3)
    places = data["steps"]["place"]
    steps = [(f"u{n // 5}", f"r{n % 5}") for n in sorted(range(len(places)), key=lambda n: (places[n], n))]
    ask, assign = program.violations, program.assign
    ask()

    def run() -> None:
        for user, role in steps:
            assign(user, role)
            ask()

    return Prepared(run, lambda: sorted(ask()))


# The distributed algorithms: a whole simulation, from a seed; all versions must leave the same trace.


def _simulated(program: Any, data: Data, point: Point, part: str) -> Prepared:
    arguments = [point.size if given == "size" else given for given in point.options["arguments"]]
    ended: list[Any] = []

    def answers() -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            program.print_trace(*ended)
        return printed.getvalue()

    return Prepared(lambda: ended.append(program.simulate(1, *arguments)), answers)


DISTRIBUTED = (
    "la_mutex", "ra_mutex", "ra_token", "sk_token", "cr_leader", "hs_leader", "two_phase_commit", "ds_crash",
    "cl_paxos",
)  # fmt: skip

DRIVERS = {
    "ssd": Driver("ssd", _ssd_tables, _ssd),
    **{name: Driver(f"distributed/{name}", lambda point: {}, _simulated) for name in DISTRIBUTED},
    "running": Driver("running", _running_tables, _running),
    "jql1": Driver("jql1", _jql_tables, _jql),
    "jql2": Driver("jql2", _jql_tables, _jql),
    "jql3": Driver("jql3", _jql_tables, _jql),
    "wifi": Driver("wifi", lambda point: {}, _wifi),
    "auth": Driver("auth", _auth_tables, _auth),
    "access": Driver("access", _access_tables, _access),
    "birthday": Driver("birthday", _resampled_tables(100), _birthday),
    "cite_author": Driver("cite_author", _resampled_tables(10), _cite_author),
    "cite_exist": Driver("cite_exist", _resampled_tables(100), _cite_exist),
}
