"""The text of a query as it stands in its file."""

from __future__ import annotations

import ast

from incoq.frontend.find_queries import QuerySite


def source_of(site: QuerySite) -> str:
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
