"""One query as a sequence of joins: the tags first, then the clauses, then conditions, result and aggregate.

A variable is a column of texts, v0, v1, ...; what a condition reads live (`joins.JoinClause.watch`) is joined
on the left, as facts of the row (`facts.Fact`). All columns are strings.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from incoq.spark.facts import Fact
from incoq.spark.frames import Frame, names_in
from incoq.spark.joins import JoinClause, Joins
from incoq.spark.patterns import elements_of_tuples, subscripts
from incoq.spark.rows import Evaluation, aggregated, evaluated
from incoq.spark.store import StoreError
from incoq.spark.tags import Tags
from incoq.spark.texts import condition, identity, key

if TYPE_CHECKING:
    from incoq.spark.recompute import Recomputation

SUBSCRIPT = 2
TOTAL = ("len", "any", "all", "exists")  # aggregates that always have a value


class Steps(Frame):
    """The DataFrames of one query, for a DataFrame of demanded combinations."""

    def __init__(self, anew: Recomputation, joins: Joins) -> None:
        super().__init__(anew)
        self.joins = joins
        self.facts: list[Fact] = []
        self.fallible: set[str] = set()
        self.tested: set[str] = set()

    def answers(
        self, demand: Any, names: list[str], values: list[list[str]] | None
    ) -> tuple[Any, dict[str, str]]:
        """The elements of the answer with the parameters, or of an aggregate its value for each combination.

        `demand` has a column of texts for each demand parameter; `values` are their keys, if known.
        """
        from pyspark.sql import functions as f

        joins = self.joins
        for name, variable in zip(names, joins.demand, strict=True):
            column = self._column(variable)
            demand = demand.withColumnRenamed(name, column)
            if values is None or any(v.startswith("j[") for v in values[names.index(name)]):
                self.tuples.add(variable)
        self.frame = demand
        self._filter()
        self.cut = Tags(self.anew, joins, self.tuples).cut(demand, self.columns, values)
        pending = [c for c in joins.clauses[1:] if not c.watch]
        while pending:
            clause = self._next(pending)
            pending.remove(clause)
            self._join(clause)
            self._filter()
        for clause in joins.clauses:
            if clause.watch:
                self._attach(clause)
        found = self._evaluated()
        params = {p: self.columns[p] for p in joins.all_params}
        if not joins.aggregate:
            return found, params
        keys = [params[p] for p in joins.all_params]
        if not joins.rest:
            empty = demand.select(
                *keys, f.lit(None).cast("string").alias("element"), f.lit("1").alias("times")
            )
            found = found.unionByName(empty)
        made = aggregated(joins.aggregate, joins.distinct, joins.arguments, keys)
        schema = ", ".join(f"{k} string" for k in [*keys, "value", "shown"])
        groups = [f"g{n}" for n in range(len(keys))]
        for group, column in zip(groups, keys, strict=True):
            found = found.withColumn(group, key(f.col(column)))
        return found.groupBy(*groups).applyInArrow(made, schema), params

    # -- the order ---------------------------------------------------------------------------------------

    def _next(self, pending: list[JoinClause]) -> JoinClause:
        """What only tests comes first, then what has one value, then what multiplies."""
        ready = [c for c in pending if set(self._needed(c)) <= self.columns.keys()]
        if not ready:
            raise StoreError(f"{self.joins.name}: {pending[0].args[0]} is not reached from demand")
        single = ("field", "value")
        return min(
            ready,
            key=lambda c: (not set(c.args) <= self.columns.keys(), c.kind not in single, ready.index(c)),
        )

    def _needed(self, clause: JoinClause) -> tuple[str, ...]:
        if clause.kind == "item" and clause.arity == SUBSCRIPT and len(clause.args) == 3:
            return clause.args[:2]
        return clause.given

    # -- joins -------------------------------------------------------------------------------------------

    def _join(self, clause: JoinClause) -> None:
        match clause.kind:
            case "field":
                self._field(clause)
            case "member":
                self._member(clause)
            case "item" if clause.arity == SUBSCRIPT:
                self._subscript(clause)
            case "item":
                self._item(clause)
            case "value" | "answer":
                self._nested(clause)
            case kind:
                raise StoreError(f"{self.joins.name}: a {kind} clause has no DataFrame form")

    def _field(self, clause: JoinClause) -> None:
        source, target = clause.args
        found = self._new()
        rows = self._rows(clause.relation, source, clause).selectExpr("o", f"x as {found}")
        if self.relations.may_hold_tuples(clause.relation, "x"):
            self.tuples.add(target)
        self._bind(self._with(rows, source), target, found)
        self.facts.append(Fact("field", source, clause.relation.removeprefix("field_"), self.columns[target]))

    def _member(self, clause: JoinClause) -> None:
        from pyspark.sql import functions as f

        source, found = clause.args[0], self._new()
        holds_tuples = source in self.tuples
        rows = self._rows("member", source, clause).where("x is not null")
        rows = rows.select("o", f.col("x").alias(found))
        pattern = clause.pattern or ("name", clause.args[1])
        if pattern[0] == "name" and pattern[1] in self.columns and not holds_tuples:
            self._bind(self._with(rows, source), pattern[1], found)
            return
        if holds_tuples:
            self._keep()
        frame = self._with(rows, source)
        if holds_tuples:
            column = self.columns[source]
            tuples = self.frame.where(f.col(column).startswith("j["))
            schema = ", ".join(f"{c} string" for c in [*tuples.columns, "n0"])
            parts = tuples.mapInArrow(elements_of_tuples(column, found), schema)
            frame = frame.unionByName(parts.withColumnRenamed("n0", found))
        self._match(frame, pattern, found, self.relations.may_hold_tuples("member", "k"))

    def _item(self, clause: JoinClause) -> None:
        from pyspark.sql import functions as f

        source, k, v = clause.args
        first, second = self._new(), self._new()
        rows = self._rows("item", source).where("k != ''")
        frame = self._with(rows.select("o", f.col("k").alias(first), f.col("x").alias(second)), source)
        self._match(frame, ("name", k), first, self.relations.may_hold_tuples("item", "k"))
        self._match(self.frame, ("name", v), second, self.relations.may_hold_tuples("item", "x"))

    def _subscript(self, clause: JoinClause) -> None:

        source, target = clause.args[0], clause.args[-1]
        key_column = self._key_column(clause)
        entry, held, found = self._entry(source, key_column), self._held(source)[0], self._new()
        schema = ", ".join(f"{c} string" for c in [*self.frame.columns, "n0"])
        step = subscripts(self.columns[source], key_column, entry, held, found)
        frame = self.frame.mapInArrow(step, schema).withColumnRenamed("n0", found)
        self.tuples.add(target)
        self._bind(frame, target, found)

    def _nested(self, clause: JoinClause) -> None:
        """The value of a nested aggregate, or the elements of a nested answer, for what the frame has."""
        from pyspark.sql import functions as f

        given, inner = clause.given, self.anew.joins(clause.relation)
        self._keep()
        names = [f"d{n}" for n in range(len(given))]
        asked = self.frame.select(
            *(key(f.col(self.columns[v])).alias(n) for v, n in zip(given, names, strict=True))
        ).distinct()
        steps = Steps(self.anew, inner)
        answers, columns = steps.answers(asked, names, None)
        found = self._new()
        keys = {p: self._new() for p in inner.all_params}
        text = "value" if inner.aggregate else "element"
        answers = answers.select(
            *(key(f.col(columns[p])).alias(keys[p]) for p in inner.all_params), f.col(text).alias(found)
        ).distinct()
        same = f.lit(True)
        for variable, param in zip(given, inner.all_params, strict=True):
            same = same & (key(f.col(self.columns[variable])) == f.col(keys[param]))
        frame = self.frame.join(answers, same).drop(*keys.values())
        if clause.kind == "value":
            if clause.args[-1] in self.columns:
                self._bind(frame, clause.args[-1], found)
                return
            if inner.aggregate not in TOTAL:
                self.fallible.add(clause.args[-1])
        self._match(frame, clause.pattern or ("name", clause.args[-1]), found, True)

    # -- facts -------------------------------------------------------------------------------------------

    def _attach(self, clause: JoinClause) -> None:
        """Join what a condition reads live to its rows."""
        from pyspark.sql import functions as f

        match clause.kind:
            case "field":
                source, target = clause.args
                found = self._new()
                rows = self._rows(clause.relation, source).selectExpr("o", f"x as {found}")
                self.frame = self._with(rows, source, "left")
                if target not in self.columns:
                    self.columns[target] = found
                self.facts.append(Fact("field", source, clause.relation.removeprefix("field_"), found))
            case "item":
                source, target = clause.args[0], clause.args[-1]
                key_column = self._key_column(clause)
                found = self._entry(source, key_column)
                named = clause.args[1] if len(clause.args) == 3 else f"={clause.pattern[1]}"
                if target not in self.columns:
                    self.columns[target] = found
                self.facts.append(Fact("entry", source, named, found))
                self.facts.append(Fact("content", source, "", self._held(source)[0]))
            case "member" if clause.pattern is None:
                source, element = clause.args
                found, k = self._new(), self._new()
                rows = self._rows("member", source).where("x is not null")
                rows = rows.select("o", f.col("k").alias(k), f.col("x").alias(found))
                same = identity(f.col(self.columns[source])) == f.col("o")
                same = same & (key(f.col(self.columns[element])) == f.col(k))
                self.frame = self.frame.join(rows, same, "left").drop("o", k)
                self.facts.append(Fact("member", source, element, found))
            case "content":
                (source,) = clause.args
                needs_elements = any(map(_looks_inside, self._texts()))
                self.facts.append(Fact("content", source, "", *self._held(source, needs_elements)))
            case "count":
                pass
            case kind:
                raise StoreError(f"{self.joins.name}: a watched {kind} clause has no DataFrame form")

    def _texts(self) -> list[str]:
        return [*(text for text, _ in self.joins.tests), self.joins.result[0]]

    # -- conditions and results ----------------------------------------------------------------------------

    def _filter(self) -> None:
        """Test what can be tested, where Spark can."""
        from pyspark.sql import functions as f

        known = {v: f.col(c) for v, c in self.columns.items() if v not in self.fallible}
        for text, names in self.joins.tests:
            if text not in self.tested and set(names) <= known.keys():
                test = condition(text, known)
                if test is not None:
                    self.frame = self.frame.where(test)
                    self.tested.add(text)

    def _evaluated(self) -> Any:
        """The rows that pass all conditions, with their element: the parameters, `element` and `times`."""
        from pyspark.sql import functions as f

        joins = self.joins
        keys = [self.columns[p] for p in joins.all_params]
        tests = [text for text, _ in joins.tests if text not in self.tested]
        result, names = joins.result
        plain = (
            result in self.columns and result not in self.fallible and joins.aggregate not in ("any", "all")
        )
        counted = tuple(
            (c.args[0], c.pattern or ("name", c.args[1]))
            for c in joins.clauses
            if c.kind == "count" and c.args[0] in self.tuples
        )
        if plain and not tests and not counted:
            element = f.col(self.columns[result])
            found = self.frame.select(*keys, element.alias("element"), f.lit("1").alias("times"))
        else:
            live = any(c.watch and c.kind != "count" for c in joins.clauses)
            facts = self.facts if live or any(map(_asks_for_fields, self._texts())) else []
            read = {n for text, names in joins.tests if text in tests for n in names} | set(names)
            read |= {v for fact in facts for v in (fact.owner, fact.other) if v in self.columns}
            read |= {v for source, pattern in counted for v in (source, *names_in(pattern))}
            deployment = self.anew.deployment
            how = Evaluation(
                tuple((v, self.columns[v]) for v in sorted(read)), tuple(facts),
                frozenset(deployment.set_fields), tuple(tests), result,
                frozenset(self.fallible), counted, tuple(keys),
                joins.distinct or not joins.aggregate, joins.aggregate in ("any", "all"),
                deployment.code, deployment.fields,
            )  # fmt: skip
            schema = ", ".join(f"{c} string" for c in [*dict.fromkeys(keys), "element", "times"])
            found = self.frame.mapInArrow(evaluated(how), schema)
        if joins.aggregate:
            return found
        unique = [key(f.col(c)).alias(f"k{n}") for n, c in enumerate([*keys, "element"])]
        first = [f.min(c).alias(c) for c in dict.fromkeys([*keys, "element"])]
        return found.groupBy(*unique).agg(*first)


def _asks_for_fields(text: str) -> bool:
    """Does an expression ask whether an id has a field that a clause binds?"""
    return any(
        isinstance(node, ast.Name) and node.id in ("hasattr", "getattr")
        for node in ast.walk(ast.parse(text, mode="eval"))
    )


def _looks_inside(text: str) -> bool:
    """Does an expression ask whether a set holds something that it makes?"""
    return any(
        isinstance(op, ast.In | ast.NotIn) and not isinstance(right, ast.Tuple)
        for node in ast.walk(ast.parse(text, mode="eval"))
        if isinstance(node, ast.Compare)
        for op, right in zip(node.ops, node.comparators, strict=True)
    )
