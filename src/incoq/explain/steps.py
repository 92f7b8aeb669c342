"""Each pass of the compiler that changed something, with what it was given and what it made of it.

The passes are those of `compile._compile`, in their order. A pass that left a query or a module as it was is
not listed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from incoq.codegen.elide_copies import elide_copies
from incoq.compile import Compiled
from incoq.explain.costs import clause_numbers, update_of
from incoq.explain.source import source_of
from incoq.invariants.define_invariants import define_invariants
from incoq.ir.invariants import Plan
from incoq.names import NameSupply


@dataclass(frozen=True)
class PassStep:
    """What one pass did to one query or module, or (`about` says how) to the program."""

    name: str
    about: str
    what: str
    before: str
    after: str


def steps_of(compiled: Compiled) -> list[PassStep]:
    """All steps, in the order of the passes."""
    return [s for s in _steps(compiled) if s.before != s.after]


def _steps(compiled: Compiled) -> Iterator[PassStep]:
    plan = compiled.plan
    for site in compiled.sites:
        what = "memberships and conditions, in no order"
        yield PassStep("read_query", site.query.name, what, source_of(site), str(site.query))
    for site, query in zip(compiled.sites, plan.queries, strict=True):
        what = "objects become relations: fields, membership, demand"
        yield PassStep("flatten_query", query.name, what, str(site.query), str(query))
    for query in plan.queries:
        result = plan.result_of(query.name)
        numbers = clause_numbers(query, result.clauses)
        numbered = "\n".join(f"{n}. {c}" for n, c in enumerate(query.clauses, 1))
        orders = "\n".join(
            f"{update_of(result.clauses[b.clause])}: "
            + " ".join(str(numbers[s.clause]) for s in b.covers.best.steps)
            + f"   O({b.covers.best.cost})"
            for b in result.blocks
        )
        yield PassStep("find_covers", query.name, "for each update the cheapest order", numbered, orders)
    every, counted = _planned(compiled, "incremental", False), _planned(compiled, plan.mode, False)
    clauses = "\n".join(str(q) for q in plan.queries)
    what = "results, and an inverse for each look-up against an edge"
    yield PassStep("define_invariants", "incremental", what, clauses, _invariants(every))
    if plan.mode == "filtered":
        what = "tag sets follow demand, inverses hold what they tag"
        yield PassStep("define_invariants", "filtered", what, _invariants(every), _invariants(counted))
    what = "no count where one combination at most gives an element"
    yield PassStep("eliminate_counts", "", what, *_changed(_invariants(counted), _invariants(plan)))
    for rewritten in compiled.modules:
        module = rewritten.module
        own = [s for s in compiled.sites if s.module is module]
        found = sorted(
            (getattr(node, "lineno", 0), name)
            for node, name in elide_copies(
                module, own, compiled.support.ask, compiled.support.at_once, compiled.support.acting
            ).items()
        )
        lines = module.source.splitlines()
        before = "\n".join(f"{line}: {lines[line - 1].strip()}" for line, _ in found)
        after = "\n".join(f"{line}: {name} gives the kept answer, not a copy" for line, name in found)
        yield PassStep("elide_copies", module.filename, "an answer used on the spot", before, after)
        what = "queries ask, updates maintain"
        yield PassStep("rewrite_updates", module.filename, what, *_changed(module.source, rewritten.text))
    text = compiled.support.text
    made = f"{text.count(chr(10))} lines of support code"
    yield PassStep("build_support", "", "blocks become code", f"{_blocks(plan)} blocks", made)


def _planned(compiled: Compiled, mode: str, counting: bool) -> Plan:
    """The plan that another choice of options would have given, up to names."""
    plan = compiled.plan
    names = NameSupply(compiled.program.identifiers() - {"Set"})
    without = plan.without if counting else plan.without | {"counts"}
    return define_invariants(
        list(plan.queries), mode, plan.strategy, names, without, plan.only_adds, plan.fixed
    )


def _invariants(plan: Plan) -> str:
    return "\n".join(map(str, plan.invariants))


def _blocks(plan: Plan) -> int:
    return sum(len(i.blocks) for i in plan.invariants)


def _changed(before: str, after: str) -> tuple[str, str]:
    """The lines that are on one side only."""
    old, new = before.splitlines(), after.splitlines()
    gone: list[str] = []
    come: list[str] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            gone += old[i1:i2]
            come += new[j1:j2]
    return "\n".join(gone), "\n".join(come)
