"""Everything there is to say about a compiled program, as plain data; docs/explain-schema.md says what."""

from __future__ import annotations

import ast
from dataclasses import asdict
from typing import Any

from incoq.compile import MODES, Compiled, compile_program
from incoq.errors import CompileError
from incoq.explain.advice import advice
from incoq.explain.costs import clause_numbers, demand_cost, legend, original_cost, update_costs, update_of
from incoq.explain.functions import maintenance_functions
from incoq.explain.graph import graph_data
from incoq.explain.source import source_of
from incoq.explain.steps import steps_of
from incoq.frontend.find_queries import QuerySite
from incoq.invariants.space import space_of
from incoq.ir.covers import Cover, Covers, Size
from incoq.ir.invariants import Invariant, Store
from incoq.ir.relational import Clause, Kind, RelationalQuery

SCHEMA = 1


def explain_json(compiled: Compiled, steps: bool = False) -> dict[str, Any]:
    """Everything as plain data; see docs/explain-schema.md."""
    plans = {compiled.plan.mode: compiled.plan}
    refused: dict[str, str] = {}
    unmarked = bool(compiled.left_out) or any(site.faults for site in compiled.sites)
    for mode in MODES:
        if mode not in plans:
            try:
                plans[mode] = compile_program(
                    compiled.program, mode, compiled.plan.strategy, unmarked=unmarked
                ).plan
            except CompileError as error:
                refused[mode] = f"refused: {error.code}, {error.message}"
    updates = update_costs(plans, refused)
    query_costs = [
        {
            "query": query.name,
            "original": original_cost(compiled.plan, query),
            "first_time": {
                mode: demand_cost(plans[mode], query) if mode in plans else refused[mode] for mode in MODES
            },
            "afterwards": "O(1)",
        }
        for query in compiled.plan.queries
    ]
    pairs = list(zip(compiled.sites, compiled.plan.queries, strict=True))
    shown = {"steps": [asdict(step) for step in steps_of(compiled)]} if steps else {}
    return {
        "schema": SCHEMA,
        "mode": compiled.plan.mode,
        "strategy": compiled.plan.strategy,
        "files": [m.filename for m in compiled.program.modules],
        "queries": [_query(compiled, site, query) for site, query in pairs],
        "invariants": [_invariant(compiled, i) for i in compiled.plan.invariants],
        "updates": updates,
        "query_costs": query_costs,
        "legend": legend(repr([updates, query_costs])),
        "maintenance": list(maintenance_functions(compiled)),
        "notices": [*map(str, compiled.notices), *(a.text for a in advice(compiled))],
        **shown,
    }


# -- queries -----------------------------------------------------------------------------------------------


def _query(compiled: Compiled, site: QuerySite, query: RelationalQuery) -> dict[str, Any]:
    position = site.query.position
    result = compiled.plan.result_of(query.name)
    numbers = clause_numbers(query, result.clauses)
    return {
        "name": query.name,
        "position": {"file": position.filename, "line": position.line, "column": position.column},
        "source": source_of(site),
        "object_form": str(site.query),
        "parameters": list(query.params),
        "hidden_parameters": [*query.hidden, *query.fixed],
        "demand": list(query.demand),
        "strategy": compiled.plan.strategy_of(query.name),
        "strategy_why": compiled.plan.why_strategy(query.name),
        "keep": str(query.keep),
        "facts": [str(f) for f in query.facts],
        "nested": site.node is None,
        "relational": {
            "result": str(query.result),
            "clauses": [str(c) for c in query.clauses],
            "tests": [str(t) for t in query.tests],
        },
        "graph": graph_data(compiled.plan, query),
        "updates": [
            {
                "clause": numbers[block.clause],
                "relation": str(result.clauses[block.clause].relation),
                "update": update_of(result.clauses[block.clause]),
                "guards": [f"{g.variable} in {g.tag}" for g in block.guards],
                **_covers(block.covers, result.clauses, numbers),
            }
            for block in result.blocks
        ],
    }


# -- covers ------------------------------------------------------------------------------------------------


def _covers(covers: Covers, clauses: tuple[Clause, ...], numbers: list[int]) -> dict[str, Any]:
    considered = [_cover(c, covers, clauses, numbers) for c in covers.considered]
    return {
        "cost": f"O({covers.best.cost})",
        "covers": considered,
        "tied": len(covers.tied),
        "why": _why(covers),
        "budget_cut": covers.cut,
    }


def _cover(cover: Cover, covers: Covers, clauses: tuple[Clause, ...], numbers: list[int]) -> dict[str, Any]:
    large, medium, small = cover.cost.rank
    return {
        "steps": [
            {
                "clause": numbers[step.clause],
                "text": str(clauses[step.clause]),
                "access": step.access.value,
                "factor": step.factor.text if step.factor is not None else "1",
                "size": (step.factor.size if step.factor is not None else Size.ONE).name.lower(),
            }
            for step in cover.steps
        ],
        "cost": f"O({cover.cost})",
        "large": large,
        "medium": medium,
        "small": small,
        "facts_used": cover.facts_used,
        "chosen": cover is covers.best,
        "tied": cover.rank == covers.best.rank,
    }


def _why(covers: Covers) -> str:
    """Why the best cover won."""
    best = covers.best
    if len(covers.considered) == 1:
        reason = (
            "the only order" if not best.cost.factors else "the only order that the search had to consider"
        )
    else:
        loser = next((c for c in covers.considered if c.rank != best.rank), None)
        reason = "all orders cost the same" if loser is None else _comparison(best, loser)
    if best.facts_used:
        known = [s.factor.text for s in best.steps if s.factor is not None and s.factor.size is Size.ONE]
        reason += f"; by a declared fact {', '.join(known)} is 1"
    if len(covers.tied) > 1:
        reason += f"; of {len(covers.tied)} tied orders the one that knows most columns"
    if covers.cut:
        reason += "; the search budget ended before all orders were tried"
    return reason


def _comparison(best: Cover, loser: Cover) -> str:
    for size, mine, its in zip(("large", "medium", "small"), best.cost.rank, loser.cost.rank, strict=True):
        if mine != its:
            return f"fewest {size} factors: {mine} against {its} of the next best"
    return "the same factors with more declared facts used"


# -- invariants --------------------------------------------------------------------------------------------


def _invariant(compiled: Compiled, invariant: Invariant) -> dict[str, Any]:
    return {
        "name": invariant.name,
        "kind": invariant.store.value,
        "query": invariant.query,
        "definition": invariant.definition(),
        "head": list(invariant.head) + ([str(invariant.result)] if invariant.result else []),
        "clauses": [str(c) for c in invariant.clauses],
        "tests": [str(t) for t in invariant.tests],
        "counted": invariant.counted,
        "why": _why_counted(compiled, invariant),
        "depth": invariant.depth,
        "space": f"O({space_of(compiled.plan, invariant)})",
    }


def _why_counted(compiled: Compiled, invariant: Invariant) -> str:
    match invariant.store, invariant.counted:
        case Store.RESULT, True:
            return _why_result(compiled, invariant)
        case Store.RESULT, False:
            return "one combination of variables at most gives an element"
        case Store.JOIN, _:
            return "each combination is joined once; kept as its indices"
        case Store.TAG, True if len(invariant.clauses) == 1:
            return "several demanded combinations may share the value"
        case Store.TAG, True:
            return "several tagged sources may lead to the value"
        case Store.TAG, False if len(invariant.clauses) == 1:
            return "each value is demanded once"
        case Store.TAG, False:
            return "in all of these sets or not: nothing to count"
        case Store.JOIN, _:
            return "each combination is there once"
        case Store.INDEX, _:
            return "a relation and an inverse hold each tuple once"
    return "several combinations may need it"


def _why_result(compiled: Compiled, invariant: Invariant) -> str:
    """Which variable keeps counting from being eliminated (paper, section 6)."""
    assert invariant.result is not None
    query = next(q for q in compiled.plan.queries if q.name == invariant.query)
    node = invariant.result.expr.node
    if not isinstance(node, ast.Name | ast.Tuple | ast.Constant):
        return "different combinations may compute the same element"
    known = set(query.all_params) | invariant.result.names
    fields = [c for c in query.clauses if c.relation.kind is Kind.FIELD]
    for _ in fields:
        known |= {c.args[1] for c in fields if c.args[0] in known}
    free = [v for v in dict.fromkeys(v for c in query.clauses for v in c.args) if v not in known]
    derived = {c.args[1] for c in fields if c.args[0] in free}
    shown = ", ".join(v for v in free if v not in derived)
    return f"several values of {shown} may give the same element" if free else "counting is kept"
