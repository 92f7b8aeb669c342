"""A DataFrame whose columns are variables, and how relations are joined to it.

Every column is a text, v0, v1, ... A variable that gets a value gets a column; one that has a column must
have the same value. `steps` says in which order the clauses of a query come, this module what joining means.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from incoq.spark.joins import JoinClause
from incoq.spark.patterns import split
from incoq.spark.relations import LOOKED_UP
from incoq.spark.texts import identity, key
from incoq.spark.values import as_text

if TYPE_CHECKING:
    from incoq.spark.recompute import Recomputation


class Frame:
    """The rows so far, by variables."""

    def __init__(self, anew: Recomputation) -> None:
        self.anew = anew
        self.relations = anew.relations
        self.columns: dict[str, str] = {}  # variable -> column
        self.tuples: set[str] = set()  # variables whose value may be a tuple
        self.cut: dict[JoinClause, Any] = {}  # what of a relation can matter: (o, x)
        self.frame: Any = None
        self.fresh = 0

    def _column(self, variable: str) -> str:
        if variable not in self.columns:
            self.columns[variable] = f"v{len(self.columns)}"
        return self.columns[variable]

    def _new(self) -> str:
        self.fresh += 1
        return f"f{self.fresh}"

    def _owners(self, variable: str) -> list[str] | None:
        """The ids that a variable can be, where they are few."""
        from pyspark.sql import functions as f

        self._keep()
        ids = self.frame.select(identity(f.col(self.columns[variable])).alias("o")).distinct()
        found = ids.where("o is not null").limit(LOOKED_UP + 1).collect()
        return [row[0] for row in found] if len(found) <= LOOKED_UP else None

    def _keep(self) -> None:
        """Keep the frame in memory: more than one step is about to read it."""
        self.frame = self.frame.persist()
        self.anew.kept.append(self.frame)

    def _related(self, relation: Any, variable: str) -> Any:
        """What of a relation is about what a variable can be."""
        from pyspark.sql import functions as f

        ids = self.frame.select(identity(f.col(self.columns[variable])).alias("o")).distinct()
        return relation.join(f.broadcast(ids), "o", "left_semi")

    def _rows(self, relation: str, variable: str, clause: JoinClause | None = None) -> Any:
        """What a relation says of what a variable can be."""
        if clause is not None and clause in self.cut:
            return self.cut[clause]
        owners = self._owners(variable)
        if relation == "member":
            rows = self.relations.members(owners)
        else:
            rows = self.relations.rows(relation, owners)
        return rows if owners is not None else self._related(rows, variable)

    def _with(self, relation: Any, source: str, how: str = "inner") -> Any:
        """The frame joined with rows (o, ...) about a variable."""
        from pyspark.sql import functions as f

        return self.frame.join(relation, identity(f.col(self.columns[source])) == f.col("o"), how).drop("o")

    def _bind(self, frame: Any, variable: str, found: str) -> None:
        """A column is the value of a variable: it is called so, or it must be the same."""
        from pyspark.sql import functions as f

        if variable in self.columns:
            same = key(f.col(found)) == key(f.col(self.columns[variable]))
            self.frame = frame.where(same).drop(found)
        else:
            self.frame = frame.withColumnRenamed(found, self._column(variable))

    def _match(self, frame: Any, pattern: Any, found: str, tuples: bool) -> None:
        """An element as a pattern has it."""
        if pattern[0] == "name":
            if tuples or found in self.tuples:
                self.tuples.add(pattern[1])
            self._bind(frame, pattern[1], found)
            return
        names = names_in(pattern)
        bound = {n: self.columns[n] for n in names if n in self.columns}
        new = [n for n in dict.fromkeys(names) if n not in bound]
        schema = ", ".join(f"{c} string" for c in [*frame.columns, *(f"n{i}" for i in range(len(new)))])
        frame = frame.mapInArrow(split(found, pattern, bound, new), schema).drop(found)
        for number, name in enumerate(new):
            frame = frame.withColumnRenamed(f"n{number}", self._column(name))
            self.tuples.add(name)
        self.frame = frame

    def _key_column(self, clause: JoinClause) -> str:
        """The column of the key of `m[k]`; a constant gets one."""
        from pyspark.sql import functions as f

        if len(clause.args) == 3:
            return self.columns[clause.args[1]]
        column = self._new()
        self.frame = self.frame.withColumn(column, f.lit(as_text(ast.literal_eval(clause.pattern[1]))))
        return column

    def _entry(self, source: str, key_column: str) -> str:
        """A column with the entry of a dict, null where there is none."""
        from pyspark.sql import functions as f

        found, k = self._new(), self._new()
        rows = self._rows("item", source).select("o", f.col("k").alias(k), f.col("x").alias(found))
        same = identity(f.col(self.columns[source])) == f.col("o")
        same = same & (key(f.col(key_column)) == f.col(k))
        self.frame = self.frame.join(rows, same, "left").drop("o", k)
        return found

    def _held(self, source: str, elements: bool = False) -> tuple[str, str]:
        """Columns with how much a set holds, null where it is none, and with what, if that is needed."""
        from pyspark.sql import functions as f

        count, held = self._new(), self._new()
        rows = self._rows("member", source)
        wanted = [f.count("x").cast("string").alias(count)]
        if elements:
            wanted.append(f.to_json(f.collect_list(key(f.col("x")))).alias(held))
        self.frame = self._with(rows.groupBy("o").agg(*wanted), source, "left")
        return count, held if elements else ""


def names_in(pattern: Any) -> list[str]:
    """The variables of a pattern."""
    match pattern:
        case ("name", name):
            return [name]
        case ("tuple", parts):
            return [name for part in parts for name in names_in(part)]
    return []
