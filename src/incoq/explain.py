"""Explain a compiled program: what is maintained, how each order was chosen, what every update costs.

`explain_json` gives everything as plain data (docs/explain-schema.md says what each key holds), and
`explain_text` prints that data for people.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from incoq.compile import MODES, Compiled, compile_program
from incoq.errors import CompileError
from incoq.explain_costs import demand_cost, original_cost, update_costs
from incoq.frontend.find_queries import QuerySite
from incoq.invariants.query_graph import all_edges, demand_graph
from incoq.ir.covers import Cover, Covers, Size
from incoq.ir.invariants import Invariant, Store
from incoq.ir.relational import Clause, Kind, RelationalQuery

SCHEMA = 1


def explain_text(compiled: Compiled, color: bool = False, width: int = 80) -> str:
    """Everything for people to read, in lines of at most `width` characters."""
    from incoq.explain_text import render

    return render(explain_json(compiled), color, width)


def explain_json(compiled: Compiled) -> dict[str, Any]:
    """Everything as plain data; see docs/explain-schema.md."""
    plans = {compiled.plan.mode: compiled.plan}
    refused: dict[str, str] = {}
    for mode in MODES:
        if mode not in plans:
            try:
                plans[mode] = compile_program(compiled.program, mode, compiled.plan.strategy).plan
            except CompileError as error:
                refused[mode] = f"refused: {error.code}, {error.message}"
    pairs = list(zip(compiled.sites, compiled.plan.queries, strict=True))
    return {
        "schema": SCHEMA,
        "mode": compiled.plan.mode,
        "strategy": compiled.plan.strategy,
        "files": [m.filename for m in compiled.program.modules],
        "queries": [_query(compiled, site, query) for site, query in pairs],
        "invariants": [_invariant(compiled, i) for i in compiled.plan.invariants],
        "updates": update_costs(plans, refused),
        "query_costs": [
            {
                "query": query.name,
                "original": original_cost(compiled.plan, query),
                "first_time": {
                    mode: demand_cost(plans[mode], query) if mode in plans else refused[mode]
                    for mode in MODES
                },
                "afterwards": "O(1)",
            }
            for query in compiled.plan.queries
        ],
        "maintenance": list(_maintenance(compiled)),
        "notices": [str(n) for n in compiled.notices],
    }


# -- queries -----------------------------------------------------------------------------------------------


def _query(compiled: Compiled, site: QuerySite, query: RelationalQuery) -> dict[str, Any]:
    position = site.query.position
    result = compiled.plan.result_of(query.name)
    return {
        "name": query.name,
        "position": {"file": position.filename, "line": position.line, "column": position.column},
        "source": _source(site),
        "object_form": str(site.query),
        "parameters": list(query.params),
        "hidden_parameters": list(query.hidden),
        "demand": list(query.demand),
        "keep": str(query.keep),
        "facts": [str(f) for f in query.facts],
        "nested": site.node is None,
        "relational": {
            "result": str(query.result),
            "clauses": [str(c) for c in query.clauses],
            "tests": [str(t) for t in query.tests],
        },
        "graph": _graph(compiled, query),
        "updates": [
            {
                "clause": block.clause + 1,
                "relation": str(result.clauses[block.clause].relation),
                "update": _update_of(result.clauses[block.clause]),
                "guards": [f"{g.variable} in {g.tag}" for g in block.guards],
                **_covers(block.covers, result.clauses),
            }
            for block in result.blocks
        ],
    }


def _source(site: QuerySite) -> str:
    """The query as it stands in the file; a nested query has its object form only."""
    if site.node is None:
        return str(site.query)
    if isinstance(site.node, ast.FunctionDef):
        start = min([site.node.lineno, *(d.lineno for d in site.node.decorator_list)])
    else:
        start = site.node.lineno
    lines = site.module.source.splitlines()[start - 1 : site.node.end_lineno]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:].rstrip() for line in lines)


def _graph(compiled: Compiled, query: RelationalQuery) -> dict[str, Any]:
    graph = demand_graph(query, compiled.plan.strategy == "first-clause")
    edges = all_edges(query)
    vertices = list(dict.fromkeys(v for c in query.clauses for v in c.args))
    carries = compiled.plan.mode == "filtered"
    return {
        "vertices": [
            {"name": v, "demand_parameter": v in query.demand, "depth": graph.depth.get(v, 0)}
            for v in vertices
        ],
        "edges": [
            {
                "clause": edge.clause + 1,
                "from": list(edge.sources),
                "to": edge.target,
                "relation": str(query.clauses[edge.clause].relation),
                "carries_demand": carries and edge in graph.edges,
            }
            for edge in edges
        ],
    }


def _update_of(clause: Clause) -> str:
    """The update of the program that a clause stands for."""
    match clause.relation.kind:
        case Kind.DEMAND:
            return f"demand of ({', '.join(clause.args)})"
        case Kind.FIELD:
            return f"{clause.args[0]}.{clause.field} = {clause.args[1]}"
        case Kind.MEMBER:
            return f"{clause.args[0]}.add({clause.pattern or clause.args[1]})"
        case Kind.CONTENT:
            return f"any change of {clause.args[0]}"
    return f"change of {clause.relation}"


# -- covers ------------------------------------------------------------------------------------------------


def _covers(covers: Covers, clauses: tuple[Clause, ...]) -> dict[str, Any]:
    considered = [_cover(c, covers, clauses) for c in covers.considered]
    return {
        "cost": f"O({covers.best.cost})",
        "covers": considered,
        "tied": len(covers.tied),
        "why": _why(covers),
        "budget_cut": covers.cut,
    }


def _cover(cover: Cover, covers: Covers, clauses: tuple[Clause, ...]) -> dict[str, Any]:
    large, medium, small = cover.cost.rank
    return {
        "steps": [
            {
                "clause": step.clause + 1,
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
    }


def _why_counted(compiled: Compiled, invariant: Invariant) -> str:
    match invariant.store, invariant.counted:
        case Store.RESULT, True:
            return _why_result(compiled, invariant)
        case Store.RESULT, False:
            return "one combination of variables at most gives an element"
        case Store.TAG, True if len(invariant.clauses) == 1:
            return "several demanded combinations may share the value"
        case Store.TAG, True:
            return "several tagged sources may lead to the value"
        case Store.TAG, False if len(invariant.clauses) == 1:
            return "each value is demanded once"
        case Store.TAG, False:
            return "in all of these sets or not: nothing to count"
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


# -- generated code ----------------------------------------------------------------------------------------


def _maintenance(compiled: Compiled) -> Iterable[dict[str, str]]:
    """The generated functions: updates, tags, demand, asking."""
    text = compiled.support.text
    prelude = set(compiled.support.names.values())
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == compiled.support.maintained:
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name in ("add", "discard"):
                    yield _function(lines, method, f"Set.{method.name}")
        elif isinstance(node, ast.FunctionDef) and node.name not in prelude:
            yield _function(lines, node, node.name)


def _function(lines: list[str], node: ast.FunctionDef, name: str) -> dict[str, str]:
    code = lines[node.lineno - 1 : node.end_lineno]
    return {
        "function": name,
        "what": ast.get_docstring(node) or "",
        "code": "\n".join(line[node.col_offset :] for line in code),
    }
