"""The running example as a peer sees it: users and groups by number, loaded at once, then changed singly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from incoq.evaluate.drivers.base import ALL, Data, Driver, Point, Prepared
from incoq.evaluate.drivers.running import BIG, PLACES, WATCHED, number_of_groups, users_table
from incoq.evaluate.peers.world import World
from incoq.evaluate.workloads import Column, Table

CELEBS = 3


def _tables(point: Point) -> dict[str, Table]:
    large = Column(1 << 30)
    columns = {"kind": Column(100), "asked": Column(CELEBS), "moved": large, "place": Column(len(PLACES))}
    return {"users": users_table(point), "steps": Table(point.operations, columns)}


def world(data: Data, point: Point) -> World:
    """What there is before the first step."""
    table = data["users"]
    follows = [list(followees) for followees in table["followees"]]
    joined = [list(groups) for groups in table["groups"]]
    if point.option("big", False):
        celebs = tuple(range(CELEBS))
        for user, followees in enumerate(follows):
            followees += [c for c in celebs if table[BIG[c]][user] and c not in followees]
            if table[BIG[CELEBS]][user] and 0 not in joined[user]:
                joined[user].append(0)
    else:
        counts = [0] * len(follows)
        for followees in follows:
            for celeb in followees:
                counts[celeb] += 1
        wanted = max(1, len(follows) // 200)
        celebs = tuple(sorted(range(len(counts)), key=lambda c: abs(counts[c] - wanted))[:CELEBS])
    return World(
        [PLACES[place] for place in table["place"]], follows, joined, number_of_groups(point), celebs
    )


def _peers(program: Any, data: Data, point: Point) -> Prepared:
    made = world(data, point)
    peer = program.Peer(made) if hasattr(program, "Peer") else ProgramPeer(program, made)
    for celeb in range(CELEBS):
        peer.ask(celeb)
    members = {user for user, groups in enumerate(made.joined) if 0 in groups}
    mixed = point.option("mixed", False)
    steps = _mixed(peer, made, data, members) if mixed else _moves(peer, made, data)
    watched = [user for user, followees in enumerate(made.follows) if set(made.celebs) & set(followees)]
    watched = watched[:WATCHED]

    def run() -> None:
        for function, arguments in steps:
            function(*arguments)

    def answers() -> object:
        log = []
        for number, user in enumerate((*watched, *watched[::2])):  # as in the running example
            if user not in members:
                peer.join(user)
                members.add(user)
            peer.move(user, PLACES[number // len(watched)])
            log.append([sorted(peer.ask(celeb)) for celeb in range(CELEBS)])
        return log

    return Prepared({ALL: run}, answers)


Step = tuple[Callable[..., object], tuple[Any, ...]]


def _moves(peer: Any, made: World, data: Data) -> list[Step]:
    """A question and a move, in turns; both make one operation."""
    users = len(made.places)
    steps: list[Step] = []
    for _, asked, moved, place in zip(*data["steps"].values(), strict=True):
        steps += [(peer.ask, (asked,)), (peer.move, (moved % users, PLACES[place]))]
    return steps


def _mixed(peer: Any, made: World, data: Data, members: set[int]) -> list[Step]:
    """Of 100 operations 50 ask, 26 move a user, 12 begin or end to follow and 12 join or leave the group.

    `members` become those that are in the group in the end.
    """
    users = len(made.places)
    fans = [{u for u, followees in enumerate(made.follows) if celeb in followees} for celeb in made.celebs]
    steps: list[Step] = []
    for kind, asked, moved, place in zip(*data["steps"].values(), strict=True):
        user = moved % users
        if kind < 50:
            steps.append((peer.ask, (asked,)))
        elif kind < 76:
            steps.append((peer.move, (user, PLACES[place])))
        elif kind < 88:
            steps.append((peer.unfollow if user in fans[asked] else peer.follow, (user, asked)))
            fans[asked] ^= {user}
        else:
            steps.append((peer.leave if user in members else peer.join, (user,)))
            members.symmetric_difference_update({user})
    return steps


class ProgramPeer:
    """A version of the program, behind the same methods as a peer."""

    def __init__(self, program: Any, made: World) -> None:
        users = [program.User(made.email(user), place) for user, place in enumerate(made.places)]
        groups = [program.Set() for _ in range(made.groups)]
        for user, followees in enumerate(made.follows):
            for celeb in followees:
                program.follow(users[user], users[celeb])
        for user, joined in enumerate(made.joined):
            for group in joined:
                program.join(users[user], groups[group])
        celebs, group = [users[celeb] for celeb in made.celebs], groups[0]
        nyc_fans, move = program.nyc_fans, program.move
        self.ask = lambda celeb: nyc_fans(celebs[celeb], group)
        self.move = lambda user, place: move(users[user], place)
        self.follow = lambda user, celeb: program.follow(users[user], celebs[celeb])
        self.unfollow = lambda user, celeb: program.unfollow(users[user], celebs[celeb])
        self.join = lambda user: program.join(users[user], group)
        self.leave = lambda user: program.leave(users[user], group)


PEER_DRIVERS = {"peers": Driver("running", _tables, _peers)}
