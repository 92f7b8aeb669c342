"""Print what `explain_json` says, in lines that fit the terminal."""

from __future__ import annotations

import textwrap
from typing import Any

import click

REFUSED = "refused: "  # how the text of a mode begins that refuses the program

_JOINT = "\N{NO-BREAK SPACE}"


def render(data: dict[str, Any], color: bool, width: int) -> str:
    """The whole explanation as text."""
    return _Printer(color, width).program(data)


class _Printer:
    def __init__(self, color: bool, width: int) -> None:
        self.color, self.width = color, width
        self.lines: list[str] = []

    # -- the document ------------------------------------------------------------------------------

    def program(self, data: dict[str, Any]) -> str:
        how = f", strategy {data['strategy']}" if data["mode"] == "filtered" else ""
        self.heading(f"{', '.join(data['files'])}: mode {data['mode']}{how}")
        if not data["queries"]:
            self.line("The program has no queries: nothing is maintained.")
        for query in data["queries"]:
            self.query(query)
        if data["invariants"]:
            self.invariants(data["invariants"])
            self.maintenance(data["maintenance"])
        if data.get("steps"):
            self.steps(data["steps"])
        if data["invariants"]:  # at the end, where a terminal shows it
            self.costs(data)
        if data["notices"]:
            self.heading("Notices")
            for notice in data["notices"]:
                self.wrapped(notice, "  - ", "    ")
        return "\n".join(self.lines) + "\n"

    def query(self, query: dict[str, Any]) -> None:
        place = query["position"]
        self.heading(f"Query {query['name']}  ({place['file']}:{place['line']})")
        for line in query["source"].split("\n"):
            self.code(line, "    ")
        self.line()
        self.item("parameters", ", ".join(query["parameters"]) or "none")
        if query["hidden_parameters"]:
            self.item("read outside", ", ".join(query["hidden_parameters"]))
        keep = {"ask": "kept once asked"}.get(query["keep"], f"keep={query['keep']}")
        self.item("demand", f"{', '.join(query['demand']) or 'none'}; {keep}")
        for fact in query["facts"]:
            self.item("declared", fact)
        if query["strategy_why"] != "as asked for":
            self.item("strategy", f"{query['strategy']}: {query['strategy_why']}")
        self.subheading("Relational form")
        self.wrapped(f"{{{query['relational']['result']} :", "    ", "      ")
        for number, clause in enumerate(query["relational"]["clauses"], 1):
            self.wrapped(clause, f"  {number:>3}  ", "       ")
        for test in query["relational"]["tests"]:
            self.wrapped(test, "       ", "         ")
        self.line("    }")
        self.graph(query["graph"])
        self.orders(query["updates"])

    def graph(self, graph: dict[str, Any]) -> None:
        self.subheading("Query graph  (=> carries demand, -> does not)")
        for edge in graph["edges"]:
            arrow = "=>" if edge["carries_demand"] else "->"
            source = ", ".join(edge["from"]) or "()"
            self.wrapped(
                f"{source} {arrow} {edge['to']}  by {edge['clause']}, {edge['relation']}", "    ", "      "
            )

    def orders(self, updates: list[dict[str, Any]]) -> None:
        self.subheading("Orders considered for each update")
        self.line("    * chosen, = tied; how many factors are large, medium, small (L M S)")
        for update in updates:
            self.line()
            self.wrapped(
                f"{update['update']}   (clause {update['clause']}): {update['cost']}", "    ", "      "
            )
            if update["guards"]:
                self.wrapped(f"only if {' and '.join(update['guards'])}", "      ", "        ")
            chosen = next(c for c in update["covers"] if c["chosen"])
            for step in chosen["steps"]:
                shown = f"{step['clause']:>3}. {step['text']}"
                self.columns(shown, step["factor"], "      ")
            self.covers(update["covers"])
            self.wrapped(f"because: {update['why']}", "      ", "        ")

    def covers(self, covers: list[dict[str, Any]]) -> None:
        """The orders as a table; a cost that is too long goes on below its own beginning."""
        orders = [" ".join(str(s["clause"]) for s in cover["steps"]) for cover in covers]
        column = min(max(5, *map(len, orders)), self.width // 3)
        self.line(f"        {'order':<{column}}  L M S  cost")
        for cover, order in zip(covers, orders, strict=True):
            mark = "*" if cover["chosen"] else "=" if cover["tied"] else " "
            sizes = f"{cover['large']} {cover['medium']} {cover['small']}"
            first, *rest = textwrap.wrap(order, column) or [""]
            start = len(self.lines)
            below = " " * (17 + column)
            self.wrapped(cover["cost"], f"      {mark} {first:<{column}}  {sizes}  ", below)
            for number, part in enumerate(rest, start + 1):  # a long order goes on below itself
                if number == len(self.lines):
                    self.line()
                self.lines[number] = f"        {part:<{column}}{self.lines[number][8 + column :]}".rstrip()
            if cover["chosen"]:
                self.lines[start:] = [self.styled(line, fg="green") for line in self.lines[start:]]

    def invariants(self, invariants: list[dict[str, Any]]) -> None:
        self.heading("What is maintained, in order")
        for invariant in invariants:
            self.line()
            counted = "counted" if invariant["counted"] else "not counted"
            self.columns(
                self.bold(invariant["name"]), f"{invariant['kind']}, {counted}", "  ", invariant["name"]
            )
            head = invariant["head"]
            shown = head[0] if len(head) == 1 else f"({', '.join(head)})"
            body = ", ".join(map(self.together, [*invariant["clauses"], *invariant["tests"]]))
            self.wrapped(f"= {{{self.together(shown)} : {body}}}", "    ", "       ")
            self.wrapped(f"{counted}: {invariant['why']}", "    ", "      ")
            self.wrapped(f"space: {invariant['space']}", "    ", "      ")

    def costs(self, data: dict[str, Any]) -> None:
        self.heading("Costs")
        if data["legend"]:
            self.line("  What the factors count:")
        for row in data["legend"]:
            self.wrapped(row["meaning"], f"    {row['sign']:<16}", " " * 20)
        modes = []
        for mode in ("incremental", "filtered"):
            if data["updates"][0][mode].startswith(REFUSED):
                self.line()
                why = data["updates"][0][mode].removeprefix(REFUSED)
                self.wrapped(f"{mode} mode refuses this program: {why}", "  ")
            else:
                modes.append(mode)
        for update in data["updates"]:
            self.line()
            self.title(update["update"])
            for mode in ("original", *modes):
                self.labelled(mode, update[mode])
        for query in data["query_costs"]:
            self.line()
            self.title(f"asking {query['query']}")
            self.labelled("original", query["original"])
            for mode in modes:
                self.labelled(mode, f"{query['afterwards']}; the first time {query['first_time'][mode]}")

    def maintenance(self, functions: list[dict[str, str]]) -> None:
        self.heading("Maintenance code")
        for function in functions:
            self.line()
            if "." in function["function"]:
                self.line(f"  # {function['function']}")
            for line in function["code"].split("\n"):
                indent = len(line) - len(line.lstrip())
                self.code(line.lstrip(), "  " + " " * (indent // 2))

    def steps(self, steps: list[dict[str, str]]) -> None:
        self.heading("Step by step")
        for step in steps:
            self.line()
            about = f" {step['about']}" if step["about"] else ""
            self.title(f"{step['name']}{about}: {step['what']}")
            for side, color in (("before", "red"), ("after", "green")):
                self.line("    " + self.styled(side, fg=color))
                for line in step[side].split("\n"):
                    indent = len(line) - len(line.lstrip())
                    self.code(line.lstrip(), "      " + " " * indent)

    # -- lines -------------------------------------------------------------------------------------

    def line(self, text: str = "") -> None:
        self.lines.append(text.rstrip())

    def styled(self, text: str, **how: Any) -> str:
        return click.style(text, **how) if self.color else text

    def bold(self, text: str) -> str:
        return self.styled(text, bold=True)

    def heading(self, text: str) -> None:
        if self.lines:
            self.line()
        for part in textwrap.wrap(text, self.width):
            self.line(click.style(part, fg="cyan", bold=True) if self.color else part)
        rule = "-" * min(self.width, len(text))
        self.line(click.style(rule, fg="cyan") if self.color else rule)

    def subheading(self, text: str) -> None:
        self.line()
        self.line("  " + self.bold(text))

    def title(self, text: str) -> None:
        for part in textwrap.wrap(text, self.width - 2):
            self.line(f"  {self.bold(part)}")

    def item(self, label: str, text: str) -> None:
        self.wrapped(text, f"  {label + ':':<14}", " " * 16)

    def labelled(self, label: str, text: str) -> None:
        self.wrapped(text, f"    {label:<13}", " " * 19)

    def wrapped(self, text: str, first: str, then: str | None = None) -> None:
        """Text broken at blanks, of which there is one after every comma."""
        then = first if then is None else then
        for line in textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=then, break_on_hyphens=False
        ):
            self.line(line.replace(_JOINT, " "))

    def together(self, text: str) -> str:
        """Text that is not broken, if it fits a line."""
        return text.replace(" ", _JOINT) if len(text) < self.width - 10 else text

    def columns(self, left: str, right: str, indent: str, plain: str | None = None) -> None:
        """Two columns, on two lines where they do not fit side by side."""
        room = self.width - len(indent) - len(plain or left) - len(right)
        if room >= 2:
            self.line(f"{indent}{left}{' ' * room}{right}")
            return
        self.wrapped(left, indent, indent + "      ")
        for part in textwrap.wrap(right, self.width - len(indent) - 8):
            self.line(f"{part:>{self.width}}")

    def code(self, text: str, indent: str) -> None:
        """A line of code, a comment dimmed; what is too long goes on in the next line after a mark."""
        start = len(self.lines)
        self.broken(text, indent)
        if text.startswith("#"):
            self.lines[start:] = [self.styled(line, dim=True) for line in self.lines[start:]]

    def broken(self, text: str, indent: str) -> None:
        room = self.width - len(indent)
        if len(text) <= room:
            self.line(indent + text)
            return
        if room < 30:
            indent, room = indent[: self.width - 30], 30
        while len(text) > room:
            cut = text.rfind(" ", 20, room)
            cut = room if cut < 0 else cut
            self.line(indent + text[:cut])
            text = "… " + text[cut:].lstrip()
        self.line(indent + text)
