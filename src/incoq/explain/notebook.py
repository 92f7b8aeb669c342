"""What plans show of themselves in a notebook: relational form, graph, and the cost of each update."""

from __future__ import annotations

from incoq.explain.costs import update_of
from incoq.explain.graph import graph_data
from incoq.explain.page import graph_svg
from incoq.ir.invariants import Plan
from incoq.ir.relational import RelationalQuery
from incoq.pages import render


def plan_html(plan: Plan, only: str | None = None) -> str:
    """A piece of HTML for a plan, or for what it holds of one query."""
    queries = [q for q in plan.queries if only is None or q.name == only]
    kept = [i for i in plan.invariants if only is None or i.query == only]
    return render(
        "notebook.html",
        queries=[
            {
                "name": query.name,
                "parameters": query.params,
                "text": str(query),
                "graph": graph_svg(graph_data(plan, query), query.name),
                "updates": _updates(plan, query),
            }
            for query in queries
        ],
        invariants=[str(i) for i in kept],
    )


def _updates(plan: Plan, query: RelationalQuery) -> list[dict[str, str]]:
    result = plan.result_of(query.name)
    return [
        {"update": update_of(result.clauses[b.clause]), "cost": f"O({b.covers.best.cost})"}
        for b in result.blocks
    ]
