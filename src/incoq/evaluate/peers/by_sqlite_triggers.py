"""SQLite in memory, where triggers keep a table of the answers that were demanded."""

from __future__ import annotations

from incoq.evaluate.peers import by_sqlite
from incoq.evaluate.peers.world import GROUP, World

# An address belongs to one user, so an answer needs no counts: a row of `answers` is a user in it.
_TRIGGERS = """
CREATE INDEX follows_by_user ON follows (user, celeb);
CREATE TABLE demand (celeb INTEGER, grp INTEGER, PRIMARY KEY (celeb, grp)) WITHOUT ROWID;
CREATE INDEX demand_by_group ON demand (grp, celeb);
CREATE TABLE answers (celeb INTEGER, grp INTEGER, user INTEGER, email TEXT, PRIMARY KEY (celeb, grp, user))
WITHOUT ROWID;
CREATE TRIGGER came AFTER UPDATE OF loc ON users WHEN NEW.loc = 'NYC' AND OLD.loc <> 'NYC' BEGIN
  INSERT INTO answers SELECT d.celeb, d.grp, NEW.id, NEW.email FROM demand d
  WHERE EXISTS (SELECT 1 FROM follows f WHERE f.celeb = d.celeb AND f.user = NEW.id)
  AND EXISTS (SELECT 1 FROM members m WHERE m.grp = d.grp AND m.user = NEW.id);
END;
CREATE TRIGGER went AFTER UPDATE OF loc ON users WHEN OLD.loc = 'NYC' AND NEW.loc <> 'NYC' BEGIN
  DELETE FROM answers WHERE user = NEW.id AND (celeb, grp) IN (SELECT celeb, grp FROM demand);
END;
CREATE TRIGGER followed AFTER INSERT ON follows BEGIN
  INSERT INTO answers SELECT d.celeb, d.grp, u.id, u.email FROM demand d
  JOIN members m ON m.grp = d.grp AND m.user = NEW.user JOIN users u ON u.id = NEW.user
  WHERE d.celeb = NEW.celeb AND u.loc = 'NYC';
END;
CREATE TRIGGER unfollowed AFTER DELETE ON follows BEGIN
  DELETE FROM answers WHERE celeb = OLD.celeb AND user = OLD.user
  AND grp IN (SELECT grp FROM demand WHERE celeb = OLD.celeb);
END;
CREATE TRIGGER joined AFTER INSERT ON members BEGIN
  INSERT INTO answers SELECT d.celeb, d.grp, u.id, u.email FROM demand d
  JOIN follows f ON f.celeb = d.celeb AND f.user = NEW.user JOIN users u ON u.id = NEW.user
  WHERE d.grp = NEW.grp AND u.loc = 'NYC';
END;
CREATE TRIGGER departed AFTER DELETE ON members BEGIN
  DELETE FROM answers WHERE grp = OLD.grp AND user = OLD.user
  AND celeb IN (SELECT celeb FROM demand WHERE grp = OLD.grp);
END;
"""


class Peer(by_sqlite.Peer):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.connection.executescript(_TRIGGERS)
        for celeb in world.celebs:
            self.connection.execute("INSERT INTO demand VALUES (?, ?)", (celeb, GROUP))
            self.connection.execute(
                "INSERT INTO answers SELECT f.celeb, m.grp, u.id, u.email FROM follows f "
                "JOIN members m ON m.user = f.user JOIN users u ON u.id = f.user "
                "WHERE f.celeb = ? AND m.grp = ? AND u.loc = 'NYC'",
                (celeb, GROUP),
            )

    def ask(self, celeb: int) -> set[str]:
        rows = self.connection.execute(
            "SELECT email FROM answers WHERE celeb = ? AND grp = ?", (self.celebs[celeb], GROUP)
        )
        return {email for (email,) in rows}
