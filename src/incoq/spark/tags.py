"""Cut relations down to what demand can reach, before they are joined: tag sets as semi-join reducers.

    demand -> celeb, group                       field_followers of these celebs -> sets
    member of these sets -> u                    member of these groups -> u again: what both have
    field_loc of these u, where it is 'NYC' -> fewer u; then both members again, of these u only

Tags are values, not combinations, so that what is read here grows with the data that demand reaches and
not with how often it is combined. A tag of more values than are looked up is none: the joins do without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incoq.spark.joins import JoinClause, Joins
from incoq.spark.relations import LOOKED_UP
from incoq.spark.texts import condition, key

if TYPE_CHECKING:
    from incoq.spark.recompute import Recomputation


class Tags:
    """The values that the variables of a query can have."""

    def __init__(self, anew: Recomputation, joins: Joins, tuples: set[str]) -> None:
        self.anew, self.joins = anew, joins
        self.known: dict[str, set[str]] = {}
        self.frames: dict[JoinClause, Any] = {}
        self.seen: dict[JoinClause, tuple[int, int]] = {}  # how many values the tags had when it was read
        self.tuples = set(tuples)

    def cut(
        self, demand: Any, columns: dict[str, str], values: list[list[str]] | None
    ) -> dict[JoinClause, Any]:
        """The clauses over base relations, each with what of its relation can matter: (o, x)."""
        for number, variable in enumerate(self.joins.demand):
            found = set(values[number]) if values else self._values(demand.select(columns[variable]))
            if found is not None:
                self.known[variable] = found
        pending = [c for c in self.joins.clauses if self._fits(c)]
        while ready := [c for c in pending if self._is_ready(c)]:
            clause = min(ready, key=lambda c: (c.args[1] not in self._tested(), c.kind != "field"))
            pending.remove(clause)
            self._read(clause)
        return {clause: self._again(clause) for clause in self.frames}

    def _fits(self, clause: JoinClause) -> bool:
        is_plain = clause.pattern is None or clause.pattern[0] == "name"
        return clause.kind in ("field", "member") and not clause.watch and is_plain

    def _is_ready(self, clause: JoinClause) -> bool:
        source = clause.args[0]
        return source in self.known and not (clause.kind == "member" and source in self.tuples)

    def _tested(self) -> set[str]:
        """Variables that a condition looks at alone."""
        return {names[0] for _, names in self.joins.tests if len(names) == 1}

    def _read(self, clause: JoinClause) -> None:
        """Read what the tagged owners have, and tag it."""
        from pyspark.sql import functions as f

        source, target = clause.args
        relations = self.anew.relations
        owners = [text[1:] for text in self.known[source] if text[0] == "s"]
        if clause.kind == "member":
            frame = relations.members(owners).where("x is not null").select("o", "x")
            may_be_tuple = relations.may_hold_tuples("member", "k")
        else:
            frame = relations.rows(clause.relation, owners).select("o", "x")
            may_be_tuple = relations.may_hold_tuples(clause.relation, "x")
        if may_be_tuple:
            self.tuples.add(target)
        for text, names in self.joins.tests:
            test = condition(text, {target: f.col("x")}) if names == (target,) else None
            frame = frame.where(test) if test is not None else frame
        frame = frame.persist()
        self.anew.kept.append(frame)
        self.frames[clause] = frame
        both = frame.select(f.lit("o").alias("w"), f.concat(f.lit("s"), "o").alias("v")).union(
            frame.select(f.lit("x"), key(f.col("x")))
        )
        rows = both.distinct().limit(2 * LOOKED_UP + 1).collect()
        if len(rows) <= 2 * LOOKED_UP:
            self.known[source] = self.known[source] & {v for w, v in rows if w == "o"}
            found = {v for w, v in rows if w == "x"}
            self.known[target] = found & self.known.get(target, found)
        self.seen[clause] = self._sizes(clause)

    def _sizes(self, clause: JoinClause) -> tuple[int, int]:
        source, target = clause.args
        return len(self.known[source]), len(self.known.get(target, ()))

    def _again(self, clause: JoinClause) -> Any:
        """What was read, cut down to the tags as they became."""
        from pyspark.sql import functions as f

        frame = self.frames[clause]
        before, now = self.seen[clause], self._sizes(clause)
        source, target = clause.args
        if now[0] < before[0]:
            owners = self._frame([text[1:] for text in self.known[source] if text[0] == "s"])
            frame = frame.join(owners, frame["o"] == f.col("v"), "left_semi")
        if now[1] < before[1]:
            values = self._frame(sorted(self.known[target]))
            frame = frame.join(values, key(frame["x"]) == f.col("v"), "left_semi")
        return frame

    def _frame(self, values: list[str]) -> Any:
        from pyspark.sql import functions as f

        return f.broadcast(self.anew.spark.createDataFrame([(v,) for v in values], "v string"))

    def _values(self, column: Any) -> set[str] | None:
        from pyspark.sql import functions as f

        rows = column.select(key(f.col(column.columns[0]))).distinct().limit(LOOKED_UP + 1).collect()
        return {row[0] for row in rows} if len(rows) <= LOOKED_UP else None
