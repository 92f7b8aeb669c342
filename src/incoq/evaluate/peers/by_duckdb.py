"""DuckDB in memory: the query is asked again each time."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from incoq.evaluate.peers.by_sqlite import ASK
from incoq.evaluate.peers.world import GROUP, World


def _table(names: str, rows: list[tuple[object, ...]]) -> pa.Table:
    return pa.table(dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True)))


class Peer:
    def __init__(self, world: World) -> None:
        self.celebs = world.celebs
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        tables = {
            "users": _table("id email loc", list(world.users())),
            "follows": _table("celeb user", list(world.follow_pairs())),
            "members": _table("grp user", list(world.member_pairs())),
        }
        for name, table in tables.items():
            self.connection.register("loaded", table)
            self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM loaded ORDER BY ALL")
            self.connection.unregister("loaded")
        self.connection.execute("CREATE UNIQUE INDEX users_by_id ON users (id)")

    def ask(self, celeb: int) -> set[str]:
        rows = self.connection.execute(ASK, (self.celebs[celeb], GROUP)).fetchall()
        return {email for (email,) in rows}

    def move(self, user: int, place: str) -> None:
        self.connection.execute("UPDATE users SET loc = ? WHERE id = ?", (place, user))

    def follow(self, user: int, celeb: int) -> None:
        self.connection.execute("INSERT INTO follows VALUES (?, ?)", (self.celebs[celeb], user))

    def unfollow(self, user: int, celeb: int) -> None:
        self.connection.execute(
            'DELETE FROM follows WHERE celeb = ? AND "user" = ?', (self.celebs[celeb], user)
        )

    def join(self, user: int) -> None:
        self.connection.execute("INSERT INTO members VALUES (?, ?)", (GROUP, user))

    def leave(self, user: int) -> None:
        self.connection.execute('DELETE FROM members WHERE grp = ? AND "user" = ?', (GROUP, user))
