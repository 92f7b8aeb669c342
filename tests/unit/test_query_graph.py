"""The query graph and the acyclic part of it along which demand goes."""

from __future__ import annotations

import pytest
from test_flatten_query import flatten

from incoq.invariants.query_graph import DemandGraph, Edge, _depths, all_edges, demand_graph

RUNNING = '{user.email for user in celeb.followers if user in group if user.loc == "NYC"}'
CYCLIC = "{x for x in s if y in x.f if x in y.f for y in t}"


def arrows(edges: tuple[Edge, ...] | list[Edge]) -> set[tuple[str, str]]:
    return {(source, e.target) for e in edges for source in e.sources}


def test_the_running_example_has_the_graph_of_the_paper() -> None:
    query = flatten(RUNNING, "celeb, group")
    graph = demand_graph(query)
    assert graph.roots == ("celeb", "group")
    assert arrows(graph.edges) == {
        ("celeb", "celeb_followers"),
        ("celeb_followers", "user"),
        ("group", "user"),
        ("user", "user_loc"),
        ("user", "user_email"),
    }
    assert graph.depth["user"] == 2


def test_the_tag_of_a_vertex_follows_all_its_incoming_edges() -> None:
    assert len(demand_graph(flatten(RUNNING, "celeb, group")).incoming("user")) == 2


def test_first_clause_follows_only_the_clause_that_binds_a_variable_first() -> None:
    graph = demand_graph(flatten(RUNNING, "celeb, group"), first_clause_only=True)
    assert [e.sources for e in graph.incoming("user")] == [("celeb_followers",)]


@pytest.mark.parametrize(
    ("body", "params"),
    [
        (RUNNING, "celeb, group"),
        (CYCLIC, "s, t"),
        ("{x for x in s if x in x.f}", "s"),
        ("{x for x in s if s in x.f}", "s"),
        ("{(x, y) for x in s for y in x.f if x in y.g for z in y.g if y in z.f}", "s"),
    ],
)
@pytest.mark.parametrize("first_clause_only", [False, True])
def test_demand_goes_along_an_acyclic_graph_that_reaches_everything(
    body: str, params: str, first_clause_only: bool
) -> None:
    query = flatten(body, params)
    graph = demand_graph(query, first_clause_only)
    assert all(graph.depth[a] < graph.depth[b] for a, b in arrows(graph.edges)), "an edge leads deeper"
    assert {v for c in query.clauses for v in c.args} <= reached(graph) | set(query.demand)


@pytest.mark.parametrize(("body", "params"), [(CYCLIC, "s, t"), (RUNNING, "celeb, group")])
def test_the_acyclic_graph_is_maximal(body: str, params: str) -> None:
    query = flatten(body, params)
    graph = demand_graph(query)
    for edge in all_edges(query):
        if edge not in graph.edges:
            downstream = reached(DemandGraph((edge.target,), graph.edges, {}))
            assert downstream & set(edge.sources), "it would close a cycle"


def test_a_cycle_loses_an_edge_and_no_more() -> None:
    query = flatten(CYCLIC, "s, t")
    assert len(all_edges(query)) - len(demand_graph(query).edges) == 1


def test_depth_is_the_longest_distance_from_demand_in_whatever_order_clauses_stand() -> None:
    edges = [Edge(i, (a,), b, 1) for i, (a, b) in enumerate(("cd", "bc", "ab", "ad", "xb"))]
    assert _depths(("a",), edges) == {"a": 0, "x": 0, "b": 1, "c": 2, "d": 3}
    assert _depths(("a",), edges[::-1]) == _depths(("a",), edges)


def test_edges_stand_in_the_order_of_clauses() -> None:
    graph = demand_graph(flatten(RUNNING, "celeb, group"))
    assert [e.clause for e in graph.edges] == sorted(e.clause for e in graph.edges)


def test_a_watched_clause_leads_to_its_value_alone() -> None:
    query = flatten("{x for x in s if x.n > 1 or d[x] == 1}", "s, d")
    [watched] = [c for c in query.clauses if c.watch and c.args[0] == "d"]
    assert arrows(all_edges(query)) >= {("s", "x"), ("d", watched.args[-1])}
    assert ("d", "x") not in arrows(all_edges(query))


def test_a_value_that_an_element_has_twice_is_led_to_once() -> None:
    query = flatten("{x for (x, y) in s if x == y}", "s")
    assert [e.target for e in all_edges(query)] == ["x"]


def reached(graph: DemandGraph) -> set[str]:
    found = set(graph.roots)
    for _ in graph.edges:
        found |= {e.target for e in graph.edges if found & set(e.sources)}
    return found
