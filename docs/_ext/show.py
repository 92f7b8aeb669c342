"""The directive `show`: puts what the compiler prints, now, into a page.

    ```{show} relational
    ```

Nothing is pasted into the documentation by hand, so nothing of it can be out of date.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

import incoq
from incoq.errors import CODES
from incoq.explain import explain_json

EXAMPLE = Path(__file__).parents[2] / "examples" / "running_example.py"

# The theme of the pages has a switch between light and dark, which the drawing is to follow.
THEMED = (
    "<style>.incoq { --ink: var(--color-foreground-primary); --paper: var(--color-background-primary);"
    " --panel: var(--color-background-secondary); --soft: var(--color-foreground-muted);"
    " --line: var(--color-background-border); background: none; }</style>"
)


@cache
def explained(mode: str = "filtered") -> dict[str, Any]:
    return explain_json(incoq.compile_path(EXAMPLE, mode=mode, strategy="tags"))


def code(text: str, language: str = "text") -> nodes.Node:
    block = nodes.literal_block(text, text)
    block["language"] = language
    return block


def source() -> list[nodes.Node]:
    return [code(explained()["queries"][0]["source"], "python")]


def relational() -> list[nodes.Node]:
    form = explained()["queries"][0]["relational"]
    clauses = [f"  {n}. {c}" for n, c in enumerate(form["clauses"], 1)]
    return [code("\n".join([f"{{{form['result']} :", *clauses, *(f"     {t}" for t in form["tests"]), "}"]))]


def graph() -> list[nodes.Node]:
    shown = incoq.compile_path(EXAMPLE, strategy="tags")._repr_html_()
    style, svg = shown[shown.index("<style>") : shown.index("</style>") + 8], shown[shown.index("<svg") :]
    text = f'<div class="incoq">{style}{THEMED}{svg[: svg.index("</svg>") + 6]}</div>'
    return [nodes.raw("", text, format="html")]


def covers(relation: str) -> list[nodes.Node]:
    update = next(u for u in explained("incremental")["queries"][0]["updates"] if u["relation"] == relation)
    rows = []
    for cover in update["covers"]:
        order = " ".join(str(s["clause"]) for s in cover["steps"])
        rows.append(["chosen" if cover["chosen"] else "", order, cover["cost"]])
    return [table(["", "order of clauses", "cost"], rows), nodes.paragraph("", f"Why: {update['why']}.")]


def invariants(mode: str) -> list[nodes.Node]:
    return [code("\n".join(i["definition"] for i in explained(mode)["invariants"]))]


def function(name: str) -> list[nodes.Node]:
    found = next(f for f in explained()["maintenance"] if f["function"] == name)
    return [code(found["code"], "python")]


def costs() -> list[nodes.Node]:
    modes = ("original", "incremental", "filtered")
    data = explained()
    rows = [[u["update"], *(u[mode] for mode in modes)] for u in data["updates"]]
    for query in data["query_costs"]:
        first = [f"{query['afterwards']}, the first time {query['first_time'][m]}" for m in modes[1:]]
        rows.append([f"asking {query['query']}", query["original"], *first])
    return [table(["", *modes], rows)]


def errors() -> list[nodes.Node]:
    shown: list[nodes.Node] = []
    for number, (meaning, way_out) in sorted(CODES.items()):
        section = nodes.section(ids=[number.lower()])
        section += nodes.title(number, number)
        section += marked(f"*Cause:* {meaning}.")
        section += marked(f"*Way out:* {way_out}.")
        shown.append(section)
    return shown


def commands() -> list[nodes.Node]:
    import click

    from incoq.cli import main

    def below(group: click.Group, words: str) -> list[nodes.Node]:
        shown: list[nodes.Node] = []
        context = click.Context(group, info_name=words)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            line = f"{words} {name}"
            if isinstance(command, click.Group):
                shown += below(command, line)
                continue
            section = nodes.section(ids=[line.replace(" ", "-")])
            section += nodes.title("", "", nodes.literal("", line))
            with click.Context(command, info_name=line, max_content_width=90) as inner:
                section += code(command.get_help(inner))
            shown.append(section)
        return shown

    return below(main, "incoq")


def table(header: list[str], rows: list[list[str]]) -> nodes.Node:
    made = nodes.table()
    group = nodes.tgroup(cols=len(header))
    made += group
    group.extend(nodes.colspec(colwidth=1) for _ in header)
    head, body = nodes.thead(), nodes.tbody()
    group += [head, body]
    for part, lines in ((head, [header]), (body, rows)):
        for line in lines:
            row = nodes.row()
            part += row
            for cell in line:
                entry = nodes.entry()
                text = nodes.literal(cell, cell) if part is body and cell else nodes.Text(cell)
                entry += nodes.paragraph("", "", text)
                row += entry
    return made


def marked(text: str) -> nodes.paragraph:
    """A paragraph in which `…` is code and *…* is emphasised."""
    import re

    paragraph = nodes.paragraph()
    for part in re.split(r"(`[^`]*`|^\*[^*]*\*)", text):
        if part.startswith("`"):
            paragraph += nodes.literal(part[1:-1], part[1:-1])
        elif part.startswith("*") and len(part) > 2:
            paragraph += nodes.emphasis(part[1:-1], part[1:-1])
        elif part:
            paragraph += nodes.Text(part)
    return paragraph


SHOWN: dict[str, Callable[..., list[nodes.Node]]] = {
    "source": source, "relational": relational, "graph": graph, "covers": covers, "invariants": invariants,
    "function": function, "costs": costs, "errors": errors, "commands": commands,
}  # fmt: skip


class Show(Directive):
    """`{show} WHAT [OF]`"""

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        what, *of = self.arguments
        return SHOWN[what](*of)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("show", Show)
    return {"parallel_read_safe": True}
