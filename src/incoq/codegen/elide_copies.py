"""Ask without a copy where the answer cannot escape (paper, section 5.1: "where necessary, a copy is made").

Before:    if user in nyc_fans(celeb, group): ...        len(nyc_fans.view(celeb, group))
After:     if user in ask_nyc_fans(celeb, group): ...    len(ask_nyc_fans(celeb, group))
Invariant: the kept answer is only looked at on the spot: nothing of the program holds it afterwards.
Cost:      O(#answer) becomes O(1)
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence

from incoq.frontend.find_fixed import bound_names
from incoq.frontend.find_queries import QuerySite
from incoq.frontend.program import Module

# Builtins that look at their argument and let nothing of it go but its elements.
_CONSUMERS = frozenset(["len", "bool", "sorted", "list", "tuple", "frozenset"])
# Those that ask each element something on the way: where that may update, they need an answer of their own.
_ASKING = frozenset(["any", "all", "sum", "min", "max"])
_ASKED = frozenset(["__bool__", "__len__", "__add__", "__radd__", "__lt__", "__gt__", "__eq__", "__del__"])


def elide_copies(
    module: Module,
    sites: Sequence[QuerySite],
    ask: Mapping[str, str],
    at_once: Mapping[str, str],
    acting: Collection[str] = (),
) -> dict[ast.AST, str]:
    """The nodes to replace, each with the text that gives the kept answer: the called function or, where the
    query reads globals, which are parameters of it too, or has no parameter at all, the whole call. `acting`
    are operators by which code of the program may update."""
    consumers = _CONSUMERS | (_ASKING if _ASKED.isdisjoint(acting) else frozenset())
    times = Counter(bound_names(module.tree))

    def is_global(identifier: str) -> bool:
        """Is a name bound once in the whole module, at its top?"""
        binding = module.bindings.get(identifier)
        return binding is not None and binding.once and times[identifier] == 1

    queries = {
        site.node.name: site
        for site in sites
        if isinstance(site.node, ast.FunctionDef)
        and all(map(is_global, (site.node.name, *site.query.hidden)))
    }
    found: dict[ast.AST, str] = {}
    for node in ast.walk(module.tree):
        looked_at = _looked_at(times, node, consumers)
        for call in [*looked_at, node] if isinstance(node, ast.Call) else looked_at:
            asked = _asked(call)
            if asked in queries and _is_positional(call):
                query = queries[asked].query
                if len(call.args) != len(query.params):
                    continue
                if call not in looked_at and (
                    query.aggregate is None or isinstance(call.func, ast.Attribute)
                ):
                    continue  # a value is nobody's to change, a set is
                if query.name in at_once:
                    found[call] = at_once[query.name]
                elif not query.hidden:
                    found[call.func] = ask[query.name]
                elif all(isinstance(a, ast.Name | ast.Constant) for a in call.args):
                    passed = (*map(ast.unparse, call.args), *query.hidden)
                    found[call] = f"{ask[query.name]}({', '.join(passed)})"
    return found


def _asked(call: ast.Call) -> str:
    """The name of what is called, or of the function of which a view is taken."""
    match call.func:
        case ast.Name(id=identifier) | ast.Attribute(value=ast.Name(id=identifier), attr="view"):
            return identifier
    return ""


def _is_positional(call: ast.Call) -> bool:
    return not call.keywords and not any(isinstance(a, ast.Starred) for a in call.args)


def _looked_at(bound: Container[str], node: ast.AST, consumers: Collection[str]) -> list[ast.Call]:
    """Calls whose value `node` looks at on the spot."""
    values: list[ast.expr] = []
    match node:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]):
            values = [right]
        case ast.Call(func=ast.Name(id=consumer), args=[argument], keywords=[]) if (
            consumer in consumers and consumer not in bound
        ):
            values = [argument]
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            values = [test]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            values = [operand]
    return [v for v in values if isinstance(v, ast.Call)]
