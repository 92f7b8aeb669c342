"""Relational queries: clauses over flat relations (paper, section 3).

    {user_email : (celeb, group) in demand, (user, user_email) in field_email,
                  (celeb, celeb_followers) in field_followers, (celeb_followers, user) in member,
                  (group, user) in member, (user, user_loc) in field_loc, user_loc == 'NYC'}

A clause is `Join` (it constrains and binds) or a *watch* (it constrains nothing; a change of what it
names makes conditions and results be evaluated anew: fields read behind a short-circuit, `x not in s`,
the truth of a set, how often a list holds an element).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from incoq.ir.expressions import Expr
from incoq.ir.objects import Aggregate, Fact, Keep, Pattern, TuplePattern, Value, Variable, Wildcard


class Kind(Enum):
    """What a relation stands for."""

    FIELD = "field"  # (o, x): x is o.f
    MEMBER = "member"  # (s, x): x in s
    ITEM = "item"  # (m, k, v): v is m[k]; with a constant key (m, v)
    CONTENT = "content"  # (s,): watched only: anything about what is in s
    COUNT = "count"  # (s, x): watched only: how often x is in s, where that matters
    VALUE = "value"  # (p1, ..., pk, v): v is the value of a nested aggregate for these parameters
    ANSWER = "answer"  # (p1, ..., pk, x): x is in the answer of a nested set query
    DEMAND = "demand"  # the demanded combinations of a query
    TAG = "tag"  # (v,): a maintained set of values
    JOIN = "join"  # (v1, ..., vk): the combinations that some clauses of a query allow


@dataclass(frozen=True)
class Relation:
    """A base relation, or the demand of a query, or a maintained set."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return self.name


MEMBER = Relation(Kind.MEMBER, "member")
CONTENT = Relation(Kind.CONTENT, "content")
COUNT = Relation(Kind.COUNT, "count")
ITEM = Relation(Kind.ITEM, "item")
SUBSCRIPT = 2  # the arity of an ITEM clause that stands for `m[k]`, which more than dicts have


def field_relation(field_name: str) -> Relation:
    return Relation(Kind.FIELD, f"field_{field_name}")


@dataclass(frozen=True)
class Clause:
    """`args in relation`. For `member` the element may be split by a pattern: args are then the source
    followed by the pattern's variables, wildcards included under names of their own."""

    relation: Relation
    args: tuple[str, ...]
    pattern: Pattern | None = None
    watch: bool = False
    arity: int = 1  # of a nested query: how many parameters

    @property
    def source(self) -> tuple[str, ...]:
        """The variables from which the others are reached (edges of the query graph start there)."""
        if self.relation.kind in (Kind.DEMAND, Kind.TAG, Kind.JOIN):
            return ()
        if self.watch and self.relation.kind not in (Kind.FIELD, Kind.ITEM):
            return ()
        return self.args[: self.given]

    @property
    def given(self) -> int:
        """How many leading columns are the source."""
        return self.arity if self.relation.kind in (Kind.VALUE, Kind.ANSWER) else 1

    @property
    def field(self) -> str:
        """The field's name, for a field relation."""
        return self.relation.name.removeprefix("field_")

    def __str__(self) -> str:
        if self.pattern is not None and not isinstance(self.pattern, Variable):
            inner = ", ".join((*self.args[: self.given], str(self.pattern)))
        else:
            inner = ", ".join(self.args)
        if len(self.args) == 1:
            inner += ","
        return f"({inner}) in {self.relation}" + (" [watched]" if self.watch else "")


@dataclass(frozen=True)
class Test:
    """A condition over variables; `names` are those that must be bound before it."""

    expr: Expr
    names: frozenset[str]
    safe: bool = False  # cannot raise

    def __str__(self) -> str:
        return str(self.expr)


@dataclass(frozen=True)
class RelationalQuery:
    """What an object query becomes: clauses over relations, the demand clause first."""

    name: str
    params: tuple[str, ...]
    hidden: tuple[str, ...]
    demand: tuple[str, ...]
    result: Test
    clauses: tuple[Clause, ...]
    tests: tuple[Test, ...]
    keep: Keep
    facts: tuple[Fact, ...]
    selectors: tuple[tuple[str, str], ...] = field(default=())  # (selector text, variable)
    aggregate: Aggregate | None = None
    nested: bool = False  # part of another query: nobody asks it
    usual: bool = False  # unmarked: what Python gives, which compares sets by what they hold
    faults: tuple[str, ...] = ()  # of an unmarked query: those that tell where Python would raise
    fixed: tuple[str, ...] = ()  # global sets that it reads and that never are others
    is_whole: bool = False  # a nested count for all values of its parameters, see keep_whole.py
    reflexive: tuple[str, ...] = ()  # of those the ones that must equal themselves, or the count is 0

    @property
    def all_params(self) -> tuple[str, ...]:
        return self.params + self.hidden

    @property
    def rest(self) -> tuple[str, ...]:
        """Parameters that are not demand parameters: found by the clauses, part of the stored key."""
        return tuple(p for p in self.all_params if p not in self.demand)

    def __str__(self) -> str:
        lines = [f"// parameters: {', '.join(self.all_params) or 'none'}"]
        body = [str(c) for c in self.clauses] + [str(t) for t in self.tests]
        lines.append(f"{{{self.result}: " + ",\n  ".join(body) + "}")
        if self.aggregate is not None:
            lines[-1] = f"{self.aggregate} of {lines[-1]}"
        return "\n".join(lines)

    def check(self) -> None:
        """Every variable read is bound by a clause; the demand clause is first and alone of its kind."""
        bound = {v for c in self.clauses for v in c.args} | set(self.fixed)
        demands = [c for c in self.clauses if c.relation.kind is Kind.DEMAND]
        assert len(demands) == 1, "one demand clause"
        assert self.clauses[0] is demands[0], "the demand clause comes first"
        for test in (*self.tests, self.result):
            assert test.names <= bound, f"{test}: {sorted(test.names - bound)} unbound"


def pattern_columns(pattern: Pattern, wild: list[str]) -> tuple[str, ...]:
    """Variables of a pattern, with names taken from `wild` for wildcards."""
    match pattern:
        case Variable(name):
            return (name,)
        case Wildcard():
            return (wild.pop(0),)
        case TuplePattern(items):
            return tuple(v for item in items for v in pattern_columns(item, wild))
        case Value():
            return ()
    raise AssertionError(pattern)
