"""SQLite in memory, from Python's own module: the query is asked again each time, with indices for it."""

from __future__ import annotations

import sqlite3

from incoq.evaluate.peers.world import GROUP, World

TABLES = """
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL, loc TEXT NOT NULL);
CREATE TABLE follows (celeb INTEGER, user INTEGER, PRIMARY KEY (celeb, user)) WITHOUT ROWID;
CREATE TABLE members (grp INTEGER, user INTEGER, PRIMARY KEY (grp, user)) WITHOUT ROWID;
"""
ASK = """
SELECT DISTINCT u.email FROM follows f JOIN members m ON m.user = f.user JOIN users u ON u.id = f.user
WHERE f.celeb = ? AND m.grp = ? AND u.loc = 'NYC'
"""


class Peer:
    def __init__(self, world: World) -> None:
        self.celebs = world.celebs
        self.connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=32)
        self.connection.executescript(TABLES)
        self.connection.execute("BEGIN")
        # In the order of the keys, as bulk loading is quickest.
        for table, rows in (("follows", world.follow_pairs()), ("members", world.member_pairs())):
            self.connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", sorted(rows))
        self.connection.executemany("INSERT INTO users VALUES (?, ?, ?)", world.users())
        self.connection.execute("COMMIT")
        self.connection.execute("ANALYZE")

    def ask(self, celeb: int) -> set[str]:
        return {email for (email,) in self.connection.execute(ASK, (self.celebs[celeb], GROUP))}

    def move(self, user: int, place: str) -> None:
        self.connection.execute("UPDATE users SET loc = ? WHERE id = ?", (place, user))

    def follow(self, user: int, celeb: int) -> None:
        self.connection.execute("INSERT INTO follows VALUES (?, ?)", (self.celebs[celeb], user))

    def unfollow(self, user: int, celeb: int) -> None:
        self.connection.execute(
            "DELETE FROM follows WHERE celeb = ? AND user = ?", (self.celebs[celeb], user)
        )

    def join(self, user: int) -> None:
        self.connection.execute("INSERT INTO members VALUES (?, ?)", (GROUP, user))

    def leave(self, user: int) -> None:
        self.connection.execute("DELETE FROM members WHERE grp = ? AND user = ?", (GROUP, user))
