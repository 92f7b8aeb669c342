"""The query graph as data: vertices with their tag sets, edges with their filtered relations.

An edge's filtered relation is the relation restricted to what demand reaches (paper, section 5.2). Only its
inverse is ever stored, and only where some order looks it up; elsewhere the relation itself with a test of
the tag set serves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from incoq.invariants.query_graph import Edge, all_edges, demand_graph
from incoq.ir.invariants import Invariant, Plan, Store
from incoq.ir.relational import Clause, Kind, RelationalQuery
from incoq.planning.find_covers import occurrence


def graph_data(plan: Plan, query: RelationalQuery) -> dict[str, Any]:
    """Vertices, edges and the demand hyperedge of a query."""
    graph = demand_graph(query, plan.strategy == "first-clause")
    carries = plan.mode == "filtered"
    of_query = [i for i in plan.invariants if i.query == query.name]
    tags = {i.head[0]: i.name for i in of_query if i.store is Store.TAG}  # a vertex's own tag is made last
    return {
        "demand": {"relation": str(query.clauses[0].relation), "to": list(query.demand)},
        "vertices": [
            {
                "name": v,
                "demand_parameter": v in query.demand,
                "depth": graph.depth.get(v, 0),
                "tag": tags.get(v),
            }
            for v in dict.fromkeys(v for c in query.clauses for v in c.args)
        ],
        "edges": [
            {
                "clause": edge.clause + 1,
                "from": list(edge.sources),
                "to": edge.target,
                "relation": str(query.clauses[edge.clause].relation),
                "carries_demand": carries and edge in graph.edges,
                **_filtered(query, edge, tags, of_query if carries else plan.invariants),
            }
            for edge in all_edges(query)
        ],
    }


def _filtered(
    query: RelationalQuery, edge: Edge, tags: dict[str, str], invariants: Sequence[Invariant]
) -> dict[str, Any]:
    """The relation that an edge stands for once demand filters it, and what is stored of it."""
    clause = query.clauses[edge.clause]
    source = tags.get(edge.sources[0]) if len(edge.sources) == 1 else None
    definition = str(clause)
    if source is not None and clause.relation.kind not in (Kind.VALUE, Kind.ANSWER):
        name = f"fil_{clause.relation.name.removeprefix('field_')}{occurrence(query.clauses, edge.clause)}"
        columns = str(clause).split(" in ")[0]
        definition = f"{name} = {{{columns} : {edge.sources[0]} in {source}, {clause}}}"
    stored = [i for i in invariants if _is_over(i, clause)]
    return {
        "filtered": definition,
        "indices": [i.name for i in stored if i.store is Store.INDEX],
        "projections": [
            i.name
            for i in stored
            if i.store is Store.TAG and i.query == query.name and i.head == (edge.target,)
        ],
    }


def _is_over(invariant: Invariant, clause: Clause) -> bool:
    """Is an index or a tag made of just this clause, filtered or not?"""
    return invariant.store in (Store.INDEX, Store.TAG) and invariant.clauses[-1] == replace(
        clause, watch=False
    )
