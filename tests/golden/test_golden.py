"""What each pass gives on known programs, as text beside the paper's.

A case is a file `cases/NAME.txt`: a few words, the input program, then sections whose headings say what
to show. To add one, write the program and empty sections; then, as after any change of the compiler:

    pytest tests/golden --regenerate      # and review the diff

Headings: `object query`, `relational form`, `query graph`, `covers of RELATION`, `invariants`,
`code of NAME` (a function, or `Set.add`), `whole program` (the prelude, equal in all programs, left out). A
word in brackets chooses `incremental`, `filtered` (the default) or `first-clause`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from incoq.compile import Compiled, compile_source
from incoq.invariants.query_graph import all_edges, demand_graph
from incoq.ir.covers import Cover, Covers
from incoq.ir.invariants import Invariant

CASES = sorted(Path(__file__).with_name("cases").glob("*.txt"))
HEADING = re.compile(r"^=== (?P<name>.+?)(?: \((?P<how>[a-z-]+)\))? ===$", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    heading: str
    name: str
    how: str
    text: str


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_pass_gives_what_was_reviewed(path: Path, request: pytest.FixtureRequest) -> None:
    words, sections = read(path.read_text())
    program = sections[0]
    assert program.name == "program", "a case begins with its program"
    fresh = [program]
    for section in sections[1:]:
        shown = show(program.text, section.name, section.how or "filtered")
        fresh.append(Section(section.heading, section.name, section.how, shown.strip("\n") + "\n"))
    if request.config.getoption("--regenerate"):
        path.write_text(write(words, fresh))
        return
    for before, after in zip(sections, fresh, strict=True):
        assert after.text == before.text, f"{path.name}, {before.heading}"


def test_there_are_cases() -> None:
    assert len(CASES) > 10


def read(text: str) -> tuple[str, list[Section]]:
    """The words on top, and the sections."""
    headings = list(HEADING.finditer(text))
    ends = [m.start() for m in headings[1:]] + [len(text)]
    sections = [
        Section(m.group(0), m["name"], m["how"] or "", text[m.end() : end].strip("\n") + "\n")
        for m, end in zip(headings, ends, strict=True)
    ]
    return text[: headings[0].start()].strip("\n"), sections


def write(words: str, sections: list[Section]) -> str:
    return words + "\n\n" + "\n".join(f"{s.heading}\n\n{s.text}" for s in sections)


# What a section shows


@cache
def compiled(program: str, how: str) -> Compiled:
    if how == "incremental":
        return compile_source(program, "program.py", mode="incremental")
    return compile_source(program, "program.py", strategy="tags" if how == "filtered" else how)


def show(program: str, name: str, how: str) -> str:
    what = compiled(program, how)
    match name.split():
        case ["object", "query"]:
            return "\n".join(str(site.query) for site in what.sites)
        case ["relational", "form"]:
            return "\n\n".join(map(str, what.plan.queries))
        case ["query", "graph"]:
            return query_graph(what)
        case ["covers", "of", relation]:
            return covers(what, relation)
        case ["invariants"]:
            return "\n".join(map(str, what.plan.invariants))
        case ["code", "of", function]:
            return code_of(what.support.text, function.replace("Set.", f"{what.support.maintained}."))
        case ["whole", "program"]:
            return without_prelude(what.code, what.support.maintained)
    raise ValueError(f"no such section: {name}")


def query_graph(what: Compiled) -> str:
    """All edges; those along which demand goes are marked."""
    lines = []
    for query in what.plan.queries:
        graph = demand_graph(query, what.plan.strategy == "first-clause")
        lines.append(f"{query.name}: from {', '.join(query.demand)}")
        for edge in all_edges(query):
            kept = "demand goes along" if edge in graph.edges else "left out"
            label = query.clauses[edge.clause].relation
            arrow = f"{', '.join(edge.sources)} -> {edge.target}"
            lines.append(f"  {arrow:<36} {label!s:<18} {kept}")
        depths = [f"{vertex} {depth}" for vertex, depth in graph.depth.items()]
        lines.append(f"  depths: {', '.join(depths)}")
    return "\n".join(lines)


def covers(what: Compiled, relation: str) -> str:
    """The covers considered for an update, as in the paper's Table 1."""
    lines = []
    for query in what.plan.queries:
        result = what.plan.result_of(query.name)
        for block in result.blocks:
            if str(result.clauses[block.clause].relation) == relation:
                lines.append(f"update {result.clauses[block.clause]}")
                lines += cover_lines(result, block.covers)
    return "\n".join(lines)


def cover_lines(result: Invariant, found: Covers) -> list[str]:
    lines = []
    for number, cover in enumerate(found.considered, 1):
        mark = "chosen" if cover is found.best else "tied" if cover in found.tied else "dearer"
        lines.append(f"  {number}. O({cover.cost}), {mark}")
        lines += [f"     {clause:<52} {factor}" for clause, factor in steps_of(result, cover)]
    return lines + (["  the budget cut the search"] if found.cut else [])


def steps_of(result: Invariant, cover: Cover) -> list[tuple[str, str]]:
    return [(str(result.clauses[s.clause]), str(s.factor) if s.factor else "1") for s in cover.steps]


def code_of(code: str, name: str) -> str:
    """The text of a definition, comments included."""
    nodes: list[ast.stmt] = ast.parse(code).body
    for part in name.split("."):
        node = next(n for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == part)
        nodes = node.body
    assert node.end_lineno is not None
    lines = code.splitlines()[node.lineno - 1 : node.end_lineno]
    return "\n".join(line[node.col_offset :] for line in lines)


def without_prelude(code: str, maintained: str) -> str:
    """The program from what is maintained on, with the maintenance of sets in front."""
    head, _, tail = code.partition("# -- what is maintained")
    assert tail, "the marker of what is maintained"
    before = head[: head.index("# Generated by incoq")].rstrip("-# \n")
    methods = [code_of(code, f"{maintained}.{method}") for method in ("add", "discard")]
    inside = "\n\n".join("\n".join(f"    {line}".rstrip() for line in m.splitlines()) for m in methods)
    return f"{before}\nclass {maintained}(Set):\n    # ...\n\n{inside}\n\n\n# -- what is maintained{tail}".lstrip("\n")
