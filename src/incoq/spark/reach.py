"""How many facts newly demanded combinations reach: found by samples, before a road is taken.

    demand (cleo, friends) -> 1 celeb, 1 group      field_followers: 1 fact, 1 set
    member of that set: 400,000 facts -> u          member of the group: 400,000 more, mostly of the same u
    field_loc of u: as many facts as there are u

Along the clauses of a query each variable has a number of values and some of them to look up; what those
have says what all have. How many values are distinct follows from how often the sample repeats itself. It
reads a few owners for each clause, whatever the demand, and conditions are not looked at: an estimate.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from incoq.spark.hosting import ITEM, MEMBER
from incoq.spark.joins import JoinClause, Joins
from incoq.spark.lookup import Lookup
from incoq.spark.relations import demand_texts

LEAST, MOST, ENOUGH = 4, 32, 20_000  # owners that are looked up for a clause; rows that suffice


@dataclass(frozen=True)
class Some:
    """How many values a variable has, and some of them."""

    count: float
    values: tuple[str, ...]


@dataclass(frozen=True)
class Reach:
    """Facts that some demand reaches: each once, and as the engines load them one after the other."""

    total: float = 0.0
    loaded: float = 0.0  # what several partitions reach each of them loads


def reach_of(
    queries: Sequence[Joins],
    lookup: Lookup,
    demand: Mapping[str, Sequence[str]],
    hidden: Mapping[str, list[str]],
) -> float:
    """Facts that the demanded combinations (JSON of lists) of some queries reach."""
    rng, found = random.Random(0), 0.0
    for joins in queries:
        combinations = demand.get(joins.name)
        if combinations:
            rows = [(*demand_texts(params), *hidden[joins.name]) for params in combinations]
            columns = [sorted(set(column)) for column in zip(*rows, strict=True)]
            known = {
                variable: Some(len(column), tuple(rng.sample(column, min(MOST, len(column)))))
                for variable, column in zip(joins.demand, columns, strict=True)
            }
            found += _facts(joins, queries, lookup, known, rng)
    return found


def _facts(
    joins: Joins, queries: Sequence[Joins], lookup: Lookup, known: dict[str, Some], rng: random.Random
) -> float:
    """Facts that a query reaches from the values of its demand parameters."""
    found, pending = 0.0, list(joins.clauses[1:])
    while ready := [c for c in pending if set(c.given) <= known.keys()]:
        clause = ready[0]
        pending.remove(clause)
        if clause.kind in ("value", "answer"):
            inner = next((q for q in queries if q.name == clause.relation), None)
            if inner is not None:
                given = dict(zip(inner.demand, (known[v] for v in clause.given), strict=False))
                found += _facts(inner, queries, lookup, given, rng)
        elif clause.kind in ("field", "member", "item"):
            facts, values = _read(clause, lookup, known[clause.args[0]], rng)
            found += facts
            for name in clause.args[1:]:
                known.setdefault(name, values)
    return found


def _read(clause: JoinClause, lookup: Lookup, owners: Some, rng: random.Random) -> tuple[float, Some]:
    """The facts of a clause, and what they lead to."""
    relations = (clause.relation,) if clause.kind == "field" else (MEMBER, ITEM)
    column, found, asked, drawn = "x" if clause.kind == "field" else "k", [], 0, 0
    for value in owners.values:
        if asked >= LEAST and drawn >= ENOUGH:
            break
        asked += 1
        if value.startswith("s"):
            texts = [lookup.table(relation, [value[1:]])[column] for relation in relations]
            found += [chunk for text in texts for chunk in text.drop_null().chunks]
            drawn = sum(map(len, found))
    if not asked:
        return 0.0, Some(0.0, ())
    distinct = pc.unique(pa.chunked_array(found, pa.string()))
    total = owners.count * drawn / asked
    some = rng.sample(range(len(distinct)), min(MOST, len(distinct)))
    values = tuple(distinct.take(pa.array(some, pa.int64())).to_pylist())
    return max(total, owners.count), Some(_distinct(drawn, len(distinct), total), values)


def _distinct(drawn: int, distinct: int, total: float) -> float:
    """How many values are distinct among `total`, of which those drawn had so many distinct ones.

    As if each were drawn from a range of equally likely values, whose size the sample tells.
    """
    if drawn <= distinct or total <= drawn:
        return total * distinct / drawn if drawn else 0.0
    low, high = float(distinct), float(distinct) * drawn
    while high - low > 0.01 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if middle * -math.expm1(-drawn / middle) < distinct else (low, middle)
    return high * -math.expm1(-total / high)
