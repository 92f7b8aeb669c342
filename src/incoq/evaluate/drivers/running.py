"""The running example: who follows whom, who is in which group, and who moves."""

from __future__ import annotations

from typing import Any

from incoq.evaluate.drivers.base import ALL, FOLLOWS, UPDATES, Data, Driver, Point, Prepared, reference
from incoq.evaluate.workloads import UNIFORM, Column, Table

BIG = ("fan0", "fan1", "fan2", "member")  # a coin for each: follows a celebrity, is in the group
WATCHED, ASKED = 20, 50  # fans that move, and celebrities that are asked about, when versions are compared
PLACES = ("NYC", *(f"place{i:02}" for i in range(1, 20)))


def number_of_groups(point: Point) -> int:
    return int(point.option("all_groups", max(1, point.option("users", point.size) // 100)))


def users_table(point: Point) -> Table:
    """Each user follows n/200 users and is in n/2000 groups, unless an option says otherwise."""
    n = point.option("users", point.size)
    drawn = point.option("distribution", UNIFORM)
    pairs = point.option("pairs", None)
    followees = pairs // n if pairs is not None else max(1, n // 200)
    big = {name: Column(2) for name in BIG} if point.option("big", False) else {}
    return Table(
        n,
        {
            "place": Column(len(PLACES)),
            "followees": Column(n, followees, drawn),
            "groups": Column(number_of_groups(point), point.option("groups", max(1, n // 2000)), drawn),
            **big,
        },
    )


def _running_tables(point: Point) -> dict[str, Table]:
    return {
        "users": users_table(point),
        "steps": Table(
            point.operations, {"asked": Column(1 << 30), "moved": Column(1 << 30), "place": Column(20)}
        ),
    }


def _running(program: Any, data: Data, point: Point) -> Prepared:
    table = data["users"]
    users = [program.User(f"user{i}@example.org", PLACES[p]) for i, p in enumerate(table["place"])]
    groups = [program.Set() for _ in range(number_of_groups(point))]
    for user, followees, joined in zip(users, table["followees"], table["groups"], strict=True):
        for other in followees:
            program.follow(user, users[other])
        for number in joined:
            program.join(user, groups[number])
    if point.option("big", False):
        for number, user in enumerate(users):
            for celeb in range(3):
                if table[BIG[celeb]][number]:
                    program.follow(user, users[celeb])
            if table[BIG[3]][number]:
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
        (celebs[asked % len(celebs)], movable[moved % len(movable)], PLACES[place])
        for asked, moved, place in zip(*data["steps"].values(), strict=True)
    ]
    ask, move = reference(program.nyc_fans), program.move
    for celeb in celebs:
        ask(celeb, group)

    watched = [user for user in users if user in fans][:WATCHED]

    def answers() -> object:
        # Most answers are empty: let some fans into the group and to New York, and half of them leave again.
        log = []
        for number, user in enumerate((*watched, *watched[::2])):
            if user not in group:
                program.join(user, group)
            move(user, PLACES[number // len(watched)])
            log.append([sorted(ask(celeb, group)) for celeb in celebs[:ASKED]])
        return log

    def both() -> None:
        for celeb, user, place in steps:
            ask(celeb, group)
            move(user, place)

    def updates() -> None:
        for _, user, place in steps:
            move(user, place)

    if point.option("parts", None) == FOLLOWS:
        exchanged = _exchanges(users, celebs, data)

        def follows() -> None:
            for celeb, old, new in exchanged:
                program.unfollow(old, celeb)
                program.follow(new, celeb)

        return Prepared({ALL: updates, FOLLOWS: follows}, answers)
    return Prepared({ALL: both, UPDATES: updates}, answers)


def _exchanges(users: list[Any], celebs: list[Any], data: Data) -> list[tuple[Any, Any, Any]]:
    """Whom a follower of a demanded user is replaced by, step by step, where there is one and it is new."""
    numbers = {user: number for number, user in enumerate(users)}
    asked = {celeb: sorted(numbers[u] for u in celeb.followers) for celeb in celebs}
    present = {celeb: set(followers) for celeb, followers in asked.items()}
    found = []
    for which, moved, _ in zip(*data["steps"].values(), strict=True):
        celeb = celebs[which % len(celebs)]
        followers, new = asked[celeb], moved % len(users)
        if not followers or new in present[celeb]:
            continue
        place = which // len(celebs) % len(followers)
        old, followers[place] = followers[place], new
        present[celeb] ^= {old, new}
        found.append((celeb, users[old], users[new]))
    return found


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


RUNNING = {"running": Driver("running", _running_tables, _running)}
