"""What updates and queries cost, in the original program and in each mode, for `explain`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from incoq.invariants.event_costs import demand_relation, event_cost
from incoq.ir.invariants import Plan
from incoq.ir.relational import (
    CONTENT,
    ITEM,
    MEMBER,
    SUBSCRIPT,
    Clause,
    Kind,
    Relation,
    RelationalQuery,
    field_relation,
)


def update_costs(plans: Mapping[str, Plan], refused: Mapping[str, str]) -> list[dict[str, Any]]:
    """The cost of every kind of update: in the original program, and in each mode."""
    fields = dict.fromkeys(f for plan in plans.values() for f in plan.fields())
    events: list[tuple[str, tuple[Relation, ...]]] = [
        (f"o.{f} = x, del o.{f}", (field_relation(f),)) for f in sorted(fields)
    ]
    events.append(("s.add(x), s.discard(x)", (MEMBER, CONTENT)))
    if any(plan.dependents(ITEM) for plan in plans.values()):
        events.append(("d[k] = v, del d[k]", (MEMBER, CONTENT, ITEM)))
    return [
        {
            "update": text,
            "original": "O(1)",
            **{mode: event_cost(plan, *relations) for mode, plan in plans.items()},
            **refused,
        }
        for text, relations in events
    ]


def demand_cost(plan: Plan, query: RelationalQuery) -> str:
    """The cost of asking a combination for the first time."""
    return event_cost(plan, demand_relation(query.name))


def original_cost(plan: Plan, query: RelationalQuery) -> str:
    """The cost of evaluating a query straightforwardly: the sources that loops go through."""
    terms = dict.fromkeys(" × ".join(factors) for factors in _loops(plan, query))
    return f"O({' + '.join(filter(None, terms)) or '1'})"


def _loops(plan: Plan, query: RelationalQuery) -> list[list[str]]:
    """The products of a sum: the loops of the query itself, around those of each query inside it."""
    texts = {variable: text for text, variable in query.selectors}
    bound = {*query.all_params, *query.fixed}
    factors: list[str] = []
    inside: list[list[str]] = []
    remaining = [c for c in query.clauses if c.relation.kind is not Kind.DEMAND and not c.watch]
    while remaining:
        ready = [c for c in remaining if set(c.source) <= bound]
        if not ready:
            break
        clause = next((c for c in ready if c.relation.kind is Kind.FIELD or set(c.args) <= bound), ready[0])
        remaining.remove(clause)
        if clause.relation.kind in (Kind.VALUE, Kind.ANSWER):
            inside += _loops(plan, next(q for q in plan.queries if q.name == clause.relation.name))
        elif _is_loop(clause) and not set(clause.args) <= bound:
            factors.append(f"#{texts.get(clause.args[0], clause.args[0])}")
        bound |= set(clause.args)
    return [[*factors, *loops] for loops in inside if loops] or [factors]


def _is_loop(clause: Clause) -> bool:
    """Does evaluation go through a set or a dict? `m[k]` is a look-up."""
    kind = clause.relation.kind
    return kind is Kind.MEMBER or (kind is Kind.ITEM and clause.arity != SUBSCRIPT)


# What the factors of the formulas count: how one looks, where it is found, what it means.
_SIGNS = (
    ("#member{s}", r"#member\b", "elements of the set s"),
    ("#item{m}", r"#item\b", "entries of the dict m"),
    ("#inv_member{x}", r"#(fil_)?inv_member", "sets that hold x"),
    ("#inv_f{y}", r"#(fil_)?inv_(?!member\b|member_)", "objects whose field f is y"),
    ("#fil_...", r"#fil_", "the same, only of what the asked combinations reach"),
    ("#demand", r"#demand\b(?!\.)", "combinations of parameters that were asked for"),
    ("#demand.2{1=p}", r"#demand\.", "second parameters that were asked for with p as the first"),
    ("#join_q_2{x}", r"#join_", "combinations with x that the first memberships of the query q allow"),
    ("#q{p}", r"#(?!fil_|inv_|join_|(member|item|demand)\b)\w+(\{|\.\(?\d)", "answers of the query q for p"),
    ("log #q", r"log #", "logarithm of the number of elements of which q gives the least or largest"),
    ("#adopted", r"#adopted", "elements of sets that the update brings within reach of a query"),
)  # fmt: skip


def legend(formulas: str) -> list[dict[str, str]]:
    """What the factors that occur in the formulas mean."""
    return [
        {"sign": sign, "meaning": meaning} for sign, found, meaning in _SIGNS if re.search(found, formulas)
    ]


def update_of(clause: Clause) -> str:
    """The update of the program that a clause stands for."""
    match clause.relation.kind:
        case Kind.DEMAND:
            return f"asking for ({', '.join(clause.args)})"
        case Kind.FIELD:
            return f"{clause.args[0]}.{clause.field} = {clause.args[1]}"
        case Kind.MEMBER:
            return f"{clause.args[0]}.add({clause.pattern or clause.args[1]})"
        case Kind.CONTENT:
            return f"any change of {clause.args[0]}"
        case Kind.COUNT:
            return f"{clause.args[0]} holds {clause.args[1]} once more or less"
        case Kind.ITEM if len(clause.args) == 3 and clause.pattern is None:
            return f"{clause.args[0]}[{clause.args[1]}] = {clause.args[2]}"
        case Kind.ITEM:
            return f"{clause.args[0]}[k] = v"
    return f"change of {clause.relation}"


def clause_numbers(query: RelationalQuery, clauses: tuple[Clause, ...]) -> list[int]:
    """The numbers that clauses have in the relational form of their query; 0 for one that is none of it."""
    return [query.clauses.index(c) + 1 if c in query.clauses else 0 for c in clauses]
