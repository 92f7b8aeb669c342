"""Cut relations down to what demand can reach, before they are joined: tag sets as semi-join reducers.

    demand -> celeb, group                       field_followers of these celebs -> sets
    member of these sets -> u                    member of these groups -> u again: what both have
    field_loc of these u, where it is 'NYC' -> fewer u; then both members again, of these u only

Tags are values, not combinations, so that what is read here grows with the data that demand reaches and
not with how often it is combined. A tag of more values than are looked up stays a DataFrame (*wide*): where a
condition looks at what a field of it is, the relation is scanned for it, and mostly leaves a tag that is not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from incoq.spark.joins import JoinClause, Joins
from incoq.spark.relations import LOOKED_UP
from incoq.spark.texts import condition, identity, key

if TYPE_CHECKING:
    from incoq.spark.recompute import Recomputation


class Tags:
    """The values that the variables of a query can have."""

    def __init__(self, anew: Recomputation, joins: Joins, tuples: set[str]) -> None:
        self.anew, self.joins = anew, joins
        self.known: dict[str, set[str]] = {}
        self.wide: dict[str, Any] = {}  # those of too many values, each a DataFrame of v
        self.frames: dict[JoinClause, Any] = {}
        self.seen: dict[JoinClause, tuple[float, float]] = {}  # how many owners and values were read
        self.tuples = set(tuples)

    def cut(
        self, demand: Any, columns: dict[str, str], values: list[list[str]] | None
    ) -> dict[JoinClause, Any]:
        """The clauses over base relations, each with what of its relation can matter: (o, x)."""
        from pyspark.sql import functions as f

        for number, variable in enumerate(self.joins.demand):
            found = set(values[number]) if values else self._values(demand.select(columns[variable]))
            if found is not None:
                self.known[variable] = found
            else:
                self.wide[variable] = demand.select(key(f.col(columns[variable])).alias("v"))
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
        source, target = clause.args
        if source in self.wide and clause.kind == "field" and target in self._tested():
            return True
        return source in self.known and not (clause.kind == "member" and source in self.tuples)

    def _tested(self) -> set[str]:
        """Variables that a condition looks at alone."""
        return {names[0] for _, names in self.joins.tests if len(names) == 1}

    def _read(self, clause: JoinClause) -> None:
        """Read what the tagged owners have, and tag it."""
        from pyspark.sql import functions as f

        source, target = clause.args
        relations = self.anew.relations
        owners = None
        if source in self.known:
            owners = [text[1:] for text in self.known[source] if text[0] == "s"]
        if clause.kind == "member":
            frame = relations.members(owners).where("x is not null").select("o", "x")
            may_be_tuple = relations.may_hold_tuples("member", "k")
        else:
            frame = relations.rows(clause.relation, owners).select("o", "x")
            may_be_tuple = relations.may_hold_tuples(clause.relation, "x")
        if may_be_tuple:
            self.tuples.add(target)
        if owners is None:
            ids = self.wide[source].select(identity(f.col("v")).alias("id"))
            frame = frame.join(ids, frame["o"] == f.col("id"), "left_semi")
        for text, names in self.joins.tests:
            test = condition(text, {target: f.col("x")}) if names == (target,) else None
            frame = frame.where(test) if test is not None else frame
        frame = frame.persist()
        self.anew.kept.append(frame)
        self.frames[clause] = frame
        both = frame.select(f.lit("o").alias("w"), f.concat(f.lit("s"), "o").alias("v")).union(
            frame.select(f.lit("x"), key(f.col("x")))
        )
        rows = both.distinct().limit(2 * LOOKED_UP + 1).toArrow()
        if len(rows) <= 2 * LOOKED_UP:
            sides = {w: set(rows.filter(pc.equal(rows["w"], w))["v"].to_pylist()) for w in ("o", "x")}
            for variable, found in zip(clause.args, sides.values(), strict=True):
                self.known[variable] = found & self.known.get(variable, found)
                self.wide.pop(variable, None)
            self.seen[clause] = len(sides["o"]), len(sides["x"])
        else:
            self.seen[clause] = self._size(source), math.inf
            if target not in self.known:
                self.wide.setdefault(target, frame.select(key(f.col("x")).alias("v")))

    def _size(self, variable: str) -> float:
        """How many values a tag has; of a wide one, no number."""
        return len(self.known[variable]) if variable in self.known else math.inf

    def _again(self, clause: JoinClause) -> Any:
        """What was read, cut down to the tags as they became."""
        from pyspark.sql import functions as f

        frame = self.frames[clause]
        source, target = clause.args
        owners_seen, values_seen = self.seen[clause]
        if self._size(source) < owners_seen:
            owners = self._frame([text[1:] for text in self.known[source] if text[0] == "s"])
            frame = frame.join(owners, frame["o"] == f.col("v"), "left_semi")
        if self._size(target) < values_seen:
            values = self._frame(sorted(self.known[target]))
            frame = frame.join(values, key(frame["x"]) == f.col("v"), "left_semi")
        return frame

    def _frame(self, values: list[str]) -> Any:
        from pyspark.sql import functions as f

        return f.broadcast(self.anew.spark.createDataFrame(pa.table({"v": pa.array(values, pa.string())})))

    def _values(self, column: Any) -> set[str] | None:
        from pyspark.sql import functions as f

        rows = column.select(key(f.col(column.columns[0]))).distinct().limit(LOOKED_UP + 1).collect()
        return {row[0] for row in rows} if len(rows) <= LOOKED_UP else None
