"""The explanation as a page: what `explain_json` says, drawn, linked and laid beside the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from incoq.compile import Compiled
from incoq.explain.data import explain_json
from incoq.explain.text import REFUSED
from incoq.frontend.program import Module
from incoq.pages import render
from incoq.pages.draw_graph import Link, Node, draw_graph
from incoq.pages.highlight import numbered

# What a mutator ends in, by its name; a name that several containers have leads to the set's.
_MUTATORS = {
    **dict.fromkeys(["append", "insert", "extend"], ("List", "_put_")),
    **dict.fromkeys(["add", "update"], ("Set", "add")),
    **dict.fromkeys(
        ["remove", "discard", "pop", "clear", "difference_update", "intersection_update"], ("Set", "discard")
    ),
}


def page(compiled: Compiled, steps: bool = False) -> str:
    """The whole page."""
    data = explain_json(compiled, steps)
    known = {i["name"] for i in data["invariants"]}
    return render(
        "explain.html",
        title=title_of(compiled),
        data=data,
        graphs={q["name"]: graph_svg(q["graph"], q["name"]) for q in data["queries"]},
        sources={q["name"]: numbered(q["source"], first=_first_line(q)) for q in data["queries"]},
        functions=[{**f, "listing": _listing(f)} for f in data["maintenance"]],
        clauses={q["name"]: clauses_of(q["graph"]) for q in data["queries"]},
        maintained=_maintained(data),
        modules=[
            {
                "file": rewritten.module.filename,
                "listing": _source(compiled, rewritten.module, {f["function"] for f in data["maintenance"]}),
                "rewritten": numbered(rewritten.text),
                "name": f"source-{number}",
            }
            for number, rewritten in enumerate(compiled.modules)
        ],
        known=known,
        modes=[m for m in ("incremental", "filtered") if not data["updates"][0][m].startswith(REFUSED)],
    )


def title_of(compiled: Compiled) -> str:
    """The file, or the directory with the number of its modules."""
    files = [m.filename for m in compiled.program.modules]
    root = compiled.program.root
    return files[0] if root is None else f"{root} ({len(files)} modules)"


def graph_svg(graph: dict[str, Any], name: str) -> Markup:
    """The query graph, the demand hyperedge on top, tag sets below the names of their vertices."""
    demand = graph["demand"]
    nodes = [
        Node(
            v["name"],
            v["tag"] or "",
            "parameter" if v["demand_parameter"] else "",
            f"{v['name']}: values in {v['tag']}" if v["tag"] else v["name"],
        )
        for v in graph["vertices"]
    ]
    links = []
    if demand["to"]:
        root = "demand"
        while any(n.name == root for n in nodes):
            root += " "
        nodes.insert(0, Node(root, "", "demand", demand["relation"]))
        for number, target in enumerate(demand["to"], 1):
            title = f"column {number} of {demand['relation']}"
            links.append(Link((root,), (target,), f"{number}", "hyper", f"{name}-demand", title))
    for clause in clauses_of(graph):
        kind = "carries" if clause["carries_demand"] else ""
        label = f"{clause['clause']} {clause['relation']}"
        key = f"{name}-{clause['clause']}"
        if clause["from"]:
            links.append(
                Link(tuple(clause["from"]), tuple(clause["to"]), label, kind, key, clause["filtered"])
            )
    return draw_graph(nodes, links, name)


def clauses_of(graph: dict[str, Any]) -> list[dict[str, Any]]:
    """The edges of each clause as one: a pattern leads from a set to several variables."""
    found: dict[int, dict[str, Any]] = {}
    for edge in graph["edges"]:
        merged = found.setdefault(
            edge["clause"], {**edge, "to": [], "projections": [], "carries_demand": False}
        )
        merged["to"].append(edge["to"])
        merged["projections"] += edge["projections"]
        merged["carries_demand"] |= edge["carries_demand"]
    return list(found.values())


def _first_line(query: dict[str, Any]) -> int:
    """The line that a query's text begins with: that of its decorator, which stands before its position."""
    line: int = query["position"]["line"]
    first = query["source"].lstrip().startswith("@")
    return line - query["source"].split("def ")[0].count("\n") if first else line


# -- generated code ----------------------------------------------------------------------------------------


def _listing(function: dict[str, Any]) -> Markup:
    """The code of a function: blocks linked to their invariants, loops with their cost."""
    notes = [Markup("")] * (function["code"].count("\n") + 1)
    for block in function["blocks"]:
        notes[block["line"] - 1] = Markup('<a class="chip" href="#inv-{0}">keeps {0}</a>').format(
            block["invariant"]
        )
    for loop in function["loops"]:
        notes[loop["line"] - 1] = Markup('<span class="chip cost">{}</span>').format(loop["cost"])
    return numbered(function["code"], notes, f"{_anchor(function['function'])}-")


def _anchor(function: str) -> str:
    return f"fn-{function.replace('.', '-')}"


def _maintained(data: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    """For each invariant the blocks that keep it, with their place in the code."""
    found: dict[str, list[dict[str, str]]] = {i["name"]: [] for i in data["invariants"]}
    for function in data["maintenance"]:
        for block in function["blocks"]:
            found[block["invariant"]].append(
                {
                    "href": f"#{_anchor(function['function'])}-{block['line']}",
                    "function": function["function"],
                    "change": block["change"],
                    "cost": block["cost"],
                }
            )
    return found


# -- the source --------------------------------------------------------------------------------------------


def _source(compiled: Compiled, module: Module, known: set[str]) -> Markup:
    """A module's text; each query and update leads to the code that stands for it."""
    notes = [Markup("")] * (module.source.count("\n") + 1)
    for line, function in dict.fromkeys(_uses(compiled, module)):
        if function in known:
            notes[line - 1] += Markup('<a class="chip" href="#{}">→ {}</a>').format(
                _anchor(function), function
            )
    return numbered(module.source, notes)


def _uses(compiled: Compiled, module: Module) -> Iterator[tuple[int, str]]:
    """The lines of a module that query or update, with the generated function behind them."""
    support = compiled.support
    for site in compiled.sites:
        if site.module is module and site.node is not None:
            yield site.node.lineno, support.ask[site.query.name]
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(attr=attr, ctx=ast.Store()) if attr in support.setters:
                yield node.lineno, support.changers.get(attr, support.setters[attr])
            case ast.Attribute(attr=attr, ctx=ast.Del()) if attr in support.deleters:
                yield node.lineno, support.deleters[attr]
            case ast.Call(func=ast.Attribute(attr=attr, end_lineno=int(line))) if attr in _MUTATORS:
                container, method = _MUTATORS[attr]
                yield line, f"{support.names[container]}.{method}"
            case ast.Subscript(ctx=ast.Store() | ast.Del(), lineno=line):
                method = "__setitem__" if isinstance(node.ctx, ast.Store) else "__delitem__"
                yield line, f"{support.names['Dict']}.{method}"
