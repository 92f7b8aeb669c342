"""The query graph and its maximal acyclic subgraph from demand (paper, sections 5.1 and 5.2).

Vertices are variables; a clause is an edge from its source to each of its targets. Demand propagates
along edges that form no cycle: a spanning tree first, so that everything stays reachable, then every
further edge that closes none.
"""

from __future__ import annotations

from dataclasses import dataclass

from incoq.ir.relational import Kind, RelationalQuery


@dataclass(frozen=True)
class Edge:
    """Clause number `clause` leads from `sources` to `target`, its column `column`."""

    clause: int
    sources: tuple[str, ...]
    target: str
    column: int


@dataclass(frozen=True)
class DemandGraph:
    """Edges along which demand goes, and the depth of every vertex (demand parameters are at 0)."""

    roots: tuple[str, ...]
    edges: tuple[Edge, ...]
    depth: dict[str, int]

    def incoming(self, vertex: str) -> tuple[Edge, ...]:
        return tuple(e for e in self.edges if e.target == vertex)


def all_edges(query: RelationalQuery) -> list[Edge]:
    """One edge for each target of each clause but demand; a watched clause leads to its value only, since it
    does not constrain the key that the value is looked up with."""
    found = []
    for index, clause in enumerate(query.clauses):
        if clause.relation.kind is Kind.DEMAND or (not clause.source and clause.given):
            continue
        seen = set(clause.source)
        if clause.watch:
            seen.update(clause.args[:-1])
        for column, target in enumerate(clause.args):
            if target not in seen:
                seen.add(target)
                found.append(Edge(index, clause.source, target, column))
    return found


def demand_graph(query: RelationalQuery, first_clause_only: bool = False) -> DemandGraph:
    """The subgraph along which demand is propagated; OSQ's weaker strategy keeps only the tree."""
    edges = all_edges(query)
    reached = list(dict.fromkeys((*query.demand, *query.fixed)))
    tree: list[Edge] = []
    progress = True
    while progress:
        progress = False
        for edge in edges:
            if set(edge.sources) <= set(reached) and edge.target not in reached:
                tree.append(edge)
                reached.append(edge.target)
                progress = True
    kept = list(tree)
    if not first_clause_only:
        for edge in edges:
            if edge not in kept and not any(_reaches(kept, edge.target, s) for s in edge.sources):
                kept.append(edge)
        kept.sort(key=edges.index)
    roots = (*query.demand, *query.fixed)
    return DemandGraph(query.demand, tuple(kept), _depths(roots, kept))


def _reaches(edges: list[Edge], start: str, goal: str) -> bool:
    pending, seen = [start], set()
    while pending:
        vertex = pending.pop()
        if vertex == goal:
            return True
        if vertex not in seen:
            seen.add(vertex)
            pending.extend(e.target for e in edges if vertex in e.sources)
    return False


def _depths(roots: tuple[str, ...], edges: list[Edge]) -> dict[str, int]:
    """Longest distance from the roots, so that an edge always leads deeper."""
    depth = dict.fromkeys((*roots, *(v for edge in edges for v in (*edge.sources, edge.target))), 0)
    for _ in depth:  # no path is longer
        for edge in edges:
            depth[edge.target] = max((depth[edge.target], *(depth[s] + 1 for s in edge.sources)))
    return depth
