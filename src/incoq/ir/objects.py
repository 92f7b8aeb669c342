"""Object queries as the programmer wrote them (paper, section 2).

    nyc_fans(celeb, group) = {u.email : u in celeb.followers, u in group, u.loc == 'NYC'}

A clause is a membership or a condition; their order has no meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from incoq.errors import Position
from incoq.ir.expressions import Expr


@dataclass(frozen=True)
class Variable:
    """A pattern that binds a variable, or compares with one already bound."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Value:
    """A pattern that matches one value: a constant, or an expression over other variables."""

    expr: Expr

    def __str__(self) -> str:
        return str(self.expr)


@dataclass(frozen=True)
class Wildcard:
    """`_`: matches anything."""

    def __str__(self) -> str:
        return "_"


@dataclass(frozen=True)
class TuplePattern:
    """A tuple of exactly this many components."""

    items: tuple[Pattern, ...]

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.items)) + ("," if len(self.items) == 1 else "") + ")"


Pattern = Variable | Value | Wildcard | TuplePattern


@dataclass(frozen=True)
class Membership:
    """`pattern in source`, written as `for` or as `if`; the source is a selector. A `for` takes an element
    as often as the source holds it, which matters to the aggregates of a bag."""

    pattern: Pattern
    source: Expr
    each: bool = False

    def __str__(self) -> str:
        return f"{self.pattern} in {self.source}"


@dataclass(frozen=True)
class Condition:
    """Any side-effect-free expression."""

    expr: Expr

    def __str__(self) -> str:
        return str(self.expr)


@dataclass(frozen=True)
class Fact:
    """A cost fact that the program declares: at most one value of `variable` for each value of `per`."""

    variable: str
    per: str

    def __str__(self) -> str:
        return f"one {self.variable} per {self.per}"


@dataclass(frozen=True)
class Keep:
    """How long a demanded combination is kept: `ask`, `lru`, `explicit` or `weak`."""

    policy: str = "ask"
    size: int = 0

    def __str__(self) -> str:
        return f"lru({self.size})" if self.policy == "lru" else self.policy


@dataclass(frozen=True)
class Aggregate:
    """What is made of the elements: `len`, `sum`, `min`, ... of the set, or of the bag of combinations."""

    kind: str
    distinct: bool
    arguments: tuple[Expr, ...] = ()

    @property
    def counts_repeats(self) -> bool:
        """Does it matter how often there is an element? `min` compares equal ones, too."""
        return not self.distinct and self.kind in ("len", "sum", "mean", "smallest", "min", "max")

    def __str__(self) -> str:
        shown = "".join(f", {a}" for a in self.arguments)
        return f"{self.kind}({'set' if self.distinct else 'bag'}{shown})"


@dataclass(frozen=True)
class ObjectQuery:
    """A query with its parameters; `hidden` parameters are the globals it reads, passed at every call.

    A nested query is a query of its own whose parameters are the outer variables that it reads; the outer
    query calls it by name: a call whose function is a string.
    """

    name: str
    params: tuple[str, ...]
    hidden: tuple[str, ...]
    result: Expr
    clauses: tuple[Membership | Condition, ...]
    demand: tuple[str, ...]
    keep: Keep
    facts: tuple[Fact, ...]
    position: Position
    aggregate: Aggregate | None = None
    fixed: tuple[str, ...] = ()  # global sets that it reads and that never are others

    @property
    def all_params(self) -> tuple[str, ...]:
        return self.params + self.hidden

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables bound by memberships, in order of appearance, parameters left out."""
        found: dict[str, None] = {}
        for clause in self.clauses:
            if isinstance(clause, Membership):
                for variable in pattern_variables(clause.pattern):
                    found.setdefault(variable)
        return tuple(v for v in found if v not in self.all_params)

    def __str__(self) -> str:
        params = ", ".join(self.params)
        clauses = ", ".join(map(str, self.clauses))
        inside = f"{{{self.result} : {clauses}}}"
        if self.aggregate is not None:
            inside = f"{self.aggregate.kind}({inside if self.aggregate.distinct else inside[1:-1]})"
        return f"{self.name}({params}) = {inside}"


def pattern_variables(pattern: Pattern) -> tuple[str, ...]:
    """The variables of a pattern, left to right, repeated ones repeated."""
    match pattern:
        case Variable(name):
            return (name,)
        case TuplePattern(items):
            return tuple(v for item in items for v in pattern_variables(item))
        case _:
            return ()
