"""A query as joins of relations, as plain data: what `recompute` makes DataFrames of.

It is the relational form of the compiler (`ir/relational.py`), every clause kind included, in a form that
the store can keep. `Joins.reason` says why a query has no DataFrame form, where that is so.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from incoq.ir import expressions
from incoq.ir.expressions import Expr, clone
from incoq.ir.objects import Pattern, TuplePattern, Value, Variable
from incoq.ir.relational import Clause, RelationalQuery

CONTAINERS = ("smallest", "set", "dict")  # aggregates whose value holds values


@dataclass(frozen=True)
class JoinClause:
    """`args in relation`; a pattern is ("name", v), ("value", text) or ("tuple", parts)."""

    kind: str
    relation: str
    args: tuple[str, ...]
    pattern: Any
    watch: bool
    arity: int

    @property
    def given(self) -> tuple[str, ...]:
        """The variables that must be known before the others can be found."""
        return self.args[: self.arity if self.kind in ("value", "answer") else 1]


@dataclass(frozen=True)
class Joins:
    """One query, or one that is nested in another: clauses, conditions, result and aggregate."""

    name: str
    params: tuple[str, ...]  # as shown: without the globals that it reads
    all_params: tuple[str, ...]
    clauses: tuple[JoinClause, ...]  # demand first
    tests: tuple[tuple[str, tuple[str, ...]], ...]  # the text of a condition and the variables that it reads
    result: tuple[str, tuple[str, ...]]
    aggregate: str  # its kind; empty for a set
    distinct: bool
    arguments: tuple[str, ...]
    reason: str  # why it cannot be computed by DataFrames; empty where it can

    @property
    def demand(self) -> tuple[str, ...]:
        return self.clauses[0].args

    @property
    def rest(self) -> tuple[str, ...]:
        """Parameters that the clauses find."""
        return tuple(p for p in self.all_params if p not in self.demand)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Joins:
        clauses = tuple(JoinClause(**frozen(clause)) for clause in data["clauses"])
        return cls(**{**frozen(data), "clauses": clauses})


def frozen(data: dict[str, Any]) -> dict[str, Any]:
    """What JSON made lists of is tuples again."""
    return {name: _tuples(value) for name, value in data.items()}


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value


def joins_of(query: RelationalQuery) -> Joins:
    """A query of the compiler as plain data."""
    kind = query.aggregate.kind if query.aggregate is not None else ""
    reason = f"the value of {query.name} holds values" if query.nested and kind in CONTAINERS else ""
    return Joins(
        query.name,
        query.params,
        query.all_params,
        tuple(map(_clause, query.clauses)),
        tuple((_text(t.expr), tuple(sorted(t.names))) for t in query.tests),
        (_text(query.result.expr), tuple(sorted(query.result.names))),
        kind,
        query.aggregate is not None and query.aggregate.distinct,
        tuple(str(a) for a in query.aggregate.arguments) if query.aggregate is not None else (),
        reason,
    )


class _Written(ast.NodeTransformer):
    """What may stand in a set, as Python has it: `{x}` raises where x may not; and what may be iterated."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id=expressions.FITS):
                return ast.Set(node.args)
            case ast.Name(id=expressions.ITERABLE):
                cls = ast.Call(expressions.name("type"), node.args, [])
                return ast.Attribute(cls, "__iter__", ast.Load())
        return node


def _text(expr: Expr) -> str:
    if expr.names.isdisjoint((expressions.FITS, expressions.ITERABLE)):
        return expr.text
    return ast.unparse(_Written().visit(clone(expr.node)))


def _clause(clause: Clause) -> JoinClause:
    kind = clause.relation.kind.value
    return JoinClause(
        kind, clause.relation.name, clause.args, _pattern(clause.pattern), clause.watch, clause.arity
    )


def _pattern(pattern: Pattern | None) -> Any:
    match pattern:
        case Variable(name):
            return ("name", name)
        case Value(expr):
            return ("value", str(expr))
        case TuplePattern(items):
            return ("tuple", tuple(map(_pattern, items)))
    return None
