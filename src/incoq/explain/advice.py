"""Advice on a program's queries: what the programmer could say or change to make them cheaper.

Three kinds: a parameter that no clause constrains, demand parameters that the others reach anyway, and a
fact that, declared with `assume=`, would lower the cost of an update. Advice never changes an answer and is
never wrong to ignore: the demand set may be small already, and a fact must be true of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from incoq.compile import Compiled
from incoq.explain.costs import update_of
from incoq.frontend.find_queries import unreached
from incoq.ir.covers import Cost, Cover
from incoq.ir.invariants import Plan
from incoq.ir.objects import Fact, ObjectQuery
from incoq.ir.relational import Clause, Kind, RelationalQuery


@dataclass(frozen=True)
class Advice:
    """A piece of advice about one query."""

    query: str
    text: str


def advice(compiled: Compiled) -> list[Advice]:
    """All advice, query by query."""
    called = {q.name for q in compiled.plan.nested_queries()}
    found: list[Advice] = []
    for site, query in zip(compiled.sites, compiled.plan.queries, strict=True):
        if query.nested:
            continue
        found += _unconstrained(query)
        if query.name not in called:  # what another query calls is demanded by all its parameters
            found += _fewer_demand_parameters(site.query)
        found += _facts(compiled.plan, query)
    return found


def _unconstrained(query: RelationalQuery) -> Iterator[Advice]:
    """A parameter that occurs in no clause but demand: nothing relates it to the data."""
    constrained = {v for clause in query.clauses[1:] for v in clause.args}
    read = {v for test in (*query.tests, query.result) for v in test.names}
    for parameter in query.params:
        if parameter not in constrained and parameter in read:  # of one that nothing reads, compiling tells
            text = (
                f"nothing constrains the parameter `{parameter}` of `{query.name}`: it is only compared or "
                "computed with, so every value asked for is kept and maintained apart; where there are many, "
                "keep fewer with `keep=lru(n)`, or compare in the program"
            )
            yield Advice(query.name, text)


def _fewer_demand_parameters(query: ObjectQuery) -> Iterator[Advice]:
    """A parameter that the clauses reach from the others need not be part of demand."""
    if query.demand != query.all_params:
        return
    choices = []
    for parameter in query.params:
        others = tuple(p for p in query.demand if p != parameter)
        named = tuple(p for p in others if p not in query.hidden)
        if named and not unreached(set(others), query.params, query.clauses):
            choices.append(_option(named))
    if choices:
        text = (
            f"`{query.name}` would also work with {' or '.join(choices)}: the parameter left out is reached "
            "from the others, and the demand set would be smaller; it then keeps the answers for all its "
            "values, which pays where many of them are asked for"
        )
        yield Advice(query.name, text)


def _option(named: tuple[str, ...]) -> str:
    shown = ", ".join(f'"{p}"' for p in named)
    return f"`demand={shown}`" if len(named) == 1 else f"`demand=({shown})`"


def _facts(plan: Plan, query: RelationalQuery) -> Iterator[Advice]:
    """A fact that would lower the cost of an update, and the largest saving that it brings."""
    result = plan.result_of(query.name)
    for variable, value in _owners(query):
        text = next((text for text, v in query.selectors if v == value), value)
        fact = Fact(variable, text)
        if fact in query.facts:
            continue
        cheaper = []
        for block in result.blocks:
            costs = [_with_fact(c, result.clauses, variable, value) for c in block.covers.considered]
            best = min(costs, key=lambda c: c.rank)
            if best.rank < block.covers.best.cost.rank:
                cheaper.append((block, best))
        if cheaper:
            block, best = min(cheaper, key=lambda c: (c[1].rank, c[0].clause))
            more = f", and of {len(cheaper) - 1} more" if len(cheaper) > 1 else ""
            text = (
                f'if it holds that there is one {variable} per {text}, `assume="{fact}"` on '
                f"`{query.name}` lowers the cost of `{update_of(result.clauses[block.clause])}` from "
                f"`O({block.covers.best.cost})` to `O({best})`{more}"
            )
            yield Advice(query.name, text)


def _with_fact(cover: Cover, clauses: tuple[Clause, ...], variable: str, value: str) -> Cost:
    """The cost of an order if there were one `variable` for each `value`."""
    return Cost(
        tuple(
            step.factor
            for step in cover.steps
            if step.factor is not None
            and not (
                {clauses[step.clause].args[i] for i in step.new} == {variable}
                and value in {clauses[step.clause].args[i] for i in step.key}
            )
        )
    )


def _owners(query: RelationalQuery) -> Iterator[tuple[str, str]]:
    """What programs often know: that a set belongs to one object, that a field is a key of its objects."""
    derived = {variable for _, variable in query.selectors}
    looked_into = {v for clause in query.clauses for v in clause.source}
    for clause in query.clauses:
        if clause.relation.kind is Kind.FIELD and not clause.watch:
            owner, value = clause.args
            if owner not in derived and value in looked_into | set(query.params):
                yield owner, value
