"""Pathway: changes are sent to a running dataflow, and a question waits until they have come through it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from typing import Any

import pathway as pw

from incoq.evaluate.peers.world import GROUP, World

_PATIENCE = 120  # seconds until a change must have come through
Change = tuple[bool, tuple[str, int, int, str]]


class _Row(pw.Schema):  # type: ignore[misc, unused-ignore]  # no types where it is not installed
    kind: str = pw.column_definition(primary_key=True)
    a: int = pw.column_definition(primary_key=True)
    b: int = pw.column_definition(primary_key=True)
    text: str


class _Changes(pw.io.python.ConnectorSubject):  # type: ignore[misc, unused-ignore]
    """All tables in one stream, so that one commit covers them all."""

    def __init__(self, first: Iterable[Change]) -> None:
        super().__init__(session_type="upsert")
        self.first, self.waiting = first, queue.SimpleQueue[list[Change]]()

    def run(self) -> None:
        self._send(self.first)
        while True:
            self._send(self.waiting.get())

    def _send(self, changes: Iterable[Change]) -> None:
        for there, (kind, a, b, text) in changes:
            (self.next if there else self.delete)(kind=kind, a=a, b=b, text=text)
        self.commit()


class Peer:
    def __init__(self, world: World) -> None:
        self.celebs = world.celebs
        self.answers: dict[int, set[str]] = {celeb: set() for celeb in world.celebs}
        self.emails = [email for _, email, _ in world.users()]
        self.sent, self.arrived, self.through = 0, 0, threading.Condition()
        self.changes = _Changes(self._first(world))
        changes = pw.io.python.read(self.changes, schema=_Row, autocommit_duration_ms=None)
        self._subscribe(changes, world.celebs)
        threading.Thread(target=_run, daemon=True).start()
        self._wait()

    def _first(self, world: World) -> Iterable[Change]:
        for user, place in enumerate(world.places):
            yield True, ("user", user, 0, place)
        for celeb, user in world.follow_pairs():
            yield True, ("follow", celeb, user, "")
        for group, user in world.member_pairs():
            yield True, ("member", group, user, "")
        yield True, ("ticket", 0, 0, "0")

    def _subscribe(self, changes: Any, celebs: tuple[int, ...]) -> None:
        users = changes.filter((changes.kind == "user") & (changes.text == "NYC"))
        follows = changes.filter(changes.kind == "follow")
        members = changes.filter((changes.kind == "member") & (changes.a == GROUP))
        both = follows.join(members, follows.b == members.b).select(celeb=follows.a, user=follows.b)
        there = both.join(users, both.user == users.a).select(celeb=both.celeb, user=both.user)
        tickets = changes.filter(changes.kind == "ticket")
        numbers = tickets.select(celeb=-1, user=pw.cast(int, tickets.text))
        pw.io.subscribe(
            pw.Table.concat_reindex(there, numbers), on_change=self._changed, on_time_end=self._ended
        )
        self.ticket = -1

    def _changed(self, key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        if row["celeb"] == -1:
            if is_addition:
                self.ticket = row["user"]
        elif row["celeb"] in self.answers:
            answer = self.answers[row["celeb"]]
            (answer.add if is_addition else answer.discard)(self.emails[row["user"]])

    def _ended(self, time: int) -> None:
        with self.through:
            self.arrived = self.ticket
            self.through.notify_all()

    def _wait(self) -> None:
        with self.through:
            if not self.through.wait_for(lambda: self.arrived == self.sent and self.ticket >= 0, _PATIENCE):
                raise TimeoutError("a change did not come through")

    def _send(self, there: bool, kind: str, a: int, b: int, text: str = "") -> None:
        self.sent += 1
        self.changes.waiting.put([(there, (kind, a, b, text)), (True, ("ticket", 0, 0, str(self.sent)))])

    def ask(self, celeb: int) -> set[str]:
        self._wait()
        return self.answers[self.celebs[celeb]]

    def move(self, user: int, place: str) -> None:
        self._send(True, "user", user, 0, place)

    def follow(self, user: int, celeb: int) -> None:
        self._send(True, "follow", self.celebs[celeb], user)

    def unfollow(self, user: int, celeb: int) -> None:
        self._send(False, "follow", self.celebs[celeb], user)

    def join(self, user: int) -> None:
        self._send(True, "member", GROUP, user)

    def leave(self, user: int) -> None:
        self._send(False, "member", GROUP, user)


def _run() -> None:
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
