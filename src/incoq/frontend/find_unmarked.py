"""Find unmarked comprehensions that can be kept (`--all`), and what tells where Python would raise.

Before:    def adults(club): return {m.name for m in club.members if m.age >= 18}
After:     the query {m.name : m in club.members, m.age >= 18}, and the faults
               exists(raises(iterable(club.members)))
               exists(raises(m.age >= 18 and fits(m.name)) : m in club.members)
Invariant: where there is no fault, the query answers what Python gives; where there is one, the program
           evaluates its own text, and so raises what Python raises.

Taken are set comprehensions and aggregates in functions whose sources start at parameters that the function
never assigns, at variables of the module, or at local variables that always stand for something of these
(`members = self.members`, `for club in self.clubs`): objects that outlive the call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from incoq.frontend.read_aggregate import SIMPLE
from incoq.ir.expressions import EXACT, FITS, ITERABLE, RAISES, Expr, name, names_in
from incoq.ir.objects import (
    Aggregate,
    Condition,
    Keep,
    Membership,
    ObjectQuery,
    Pattern,
    TuplePattern,
    Value,
    Variable,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_GIVES_ONE = ("min", "max")  # of the elements, as they are
KEEP = Keep("lru", 1000)  # an unmarked query never keeps more combinations than these


def unmarked(tree: ast.AST, skip: Sequence[ast.AST]) -> Iterator[tuple[ast.expr, tuple[Function, ...]]]:
    """The expressions in functions that may be taken, each with the functions around it, outermost first."""
    stack: list[tuple[ast.AST, tuple[Function, ...]]] = [(tree, ())]
    while stack:
        node, owners = stack.pop()
        if node in skip:
            continue
        if owners and isinstance(node, ast.expr) and comprehension_of(node) is not None:
            yield node, owners
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorated = [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
            stack += ((child, owners) for child in reversed(decorated))
            stack += ((child, (*owners, node)) for child in reversed(node.body))
        else:
            inside = (*owners, node) if isinstance(node, ast.Lambda) else owners
            children = list(ast.iter_child_nodes(node))
            stack += ((child, inside) for child in reversed(children))


def comprehension_of(node: ast.expr) -> ast.SetComp | ast.GeneratorExp | ast.ListComp | None:
    """The comprehension in an expression that may be taken."""
    match node:
        case ast.SetComp():
            return node
        case ast.Call(
            func=ast.Name(id=function), args=[ast.SetComp() | ast.GeneratorExp() | ast.ListComp() as comp]
        ) if function in SIMPLE:
            return comp
    return None


def why_not(
    comp: ast.SetComp | ast.GeneratorExp | ast.ListComp, owners: Sequence[Function]
) -> tuple[str, str] | None:
    """Why a comprehension is left as it is, if that shows at once: the code and the reason."""
    targets = [generator.target for generator in comp.generators]
    bound = [t.id for t in targets if isinstance(t, ast.Name)]
    for generator in comp.generators:
        pairs = isinstance(generator.target, ast.Tuple) and _is_items(generator.iter)
        if not isinstance(generator.target, ast.Name) and not pairs:
            return "IQ209", "it unpacks elements, which may raise"
        if isinstance(generator.target, ast.Tuple):
            bound += [e.id for e in generator.target.elts if isinstance(e, ast.Name)]
    if len(set(bound)) < len(bound) or "_" in bound:
        return "IQ209", "a variable is bound twice"
    early = _read_early(comp)
    if early:
        return "IQ209", f"the variable `{early}` is read before its `for`"
    own = _lasting(owners)
    for owner in owners:
        own.update(dict.fromkeys(_standing(owner, comp, own), True))
    for node in ast.walk(comp):
        read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in bound
        if read and own.get(node.id) is False:  # type: ignore[attr-defined]  # a Name
            message = f"the local variable `{node.id}` does not outlive the call"  # type: ignore[attr-defined]
            return "IQ230", message
    return None


def _standing(owner: Function, comp: ast.expr, known: Mapping[str, bool]) -> Iterator[str]:
    """The local variables of a function that are bound once, on every way to the comprehension, to something
    that outlives the call."""
    stores: dict[str, int] = {}
    loops = [node for node in ast.walk(owner) if isinstance(node, ast.comprehension)]
    inside = {n for loop in loops for n in ast.walk(loop.target)}
    for node in ast.walk(owner):
        match node:
            case ast.Name(id=identifier, ctx=ast.Store() | ast.Del()) if node not in inside:
                stores[identifier] = stores.get(identifier, 0) + 1
            case ast.arg(arg=identifier):
                stores[identifier] = stores.get(identifier, 0) + 1
            case ast.Global(names=shared) | ast.Nonlocal(names=shared):
                stores.update(dict.fromkeys(shared, 2))
    found: set[str] = set()

    def lasts(value: ast.expr) -> bool:
        while isinstance(value, ast.Attribute | ast.Subscript):
            value = value.value
        return isinstance(value, ast.Name) and (value.id in found or known.get(value.id, True))

    for target, value in _bindings_before(owner, comp):
        bound = [target, *(target.elts if isinstance(target, ast.Tuple) else ())]
        once = [n.id for n in bound if isinstance(n, ast.Name) and stores.get(n.id) == 1]
        if lasts(value) and not isinstance(value, ast.Name):
            found.update(once)
            yield from once


def _bindings_before(owner: ast.AST, comp: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is assigned on every way from the start of a function to an expression in it: targets, values."""
    if isinstance(owner, ast.For | ast.AsyncFor) and any(comp in ast.walk(s) for s in owner.body):
        value = owner.iter
        match value:
            case ast.Call(func=ast.Attribute(attr="items" | "keys" | "values") as part, args=[]):
                value = part
        yield owner.target, ast.Subscript(value, ast.Constant(0), ast.Load())
    for _, block in ast.iter_fields(owner):
        if not isinstance(block, list):
            continue
        for at, statement in enumerate(block):
            if isinstance(statement, ast.AST) and comp in ast.walk(statement):
                for before in block[:at]:
                    match before:
                        case ast.Assign(targets=[ast.Name() as target], value=value):
                            yield target, value
                        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                            yield target, value
                yield from _bindings_before(statement, comp)


def _read_early(comp: ast.SetComp | ast.GeneratorExp | ast.ListComp) -> str:
    """A variable that is read before its `for`: Python raises or, in the first source, means another."""
    unbound = {n for generator in comp.generators for n in names_in(generator.target)}
    for generator in comp.generators:
        early = unbound & names_in(generator.iter)
        unbound -= names_in(generator.target)
        early = early.union(*(unbound & names_in(condition) for condition in generator.ifs))
        if early:
            return min(early)
    return ""


def _is_items(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items"


def _lasting(owners: Sequence[Function]) -> dict[str, bool]:
    """The local names of the functions around: is each a parameter that is never assigned?"""
    known: dict[str, bool] = {}
    for owner in owners:
        arguments = owner.args
        plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        known.update((a.arg, True) for a in plain)
        known.update((a.arg, False) for a in (arguments.vararg, arguments.kwarg) if a is not None)
        inner = {
            target
            for node in ast.walk(owner)
            if isinstance(node, ast.comprehension)
            for target in ast.walk(node.target)
        }
        for node in ast.walk(owner):
            match node:
                case ast.Name(id=identifier, ctx=ast.Store() | ast.Del()) if node not in inner:
                    known[identifier] = False
                case ast.ExceptHandler(name=str(identifier)) | ast.MatchAs(name=str(identifier)):
                    known[identifier] = False
                case ast.MatchStar(name=str(identifier)) | ast.MatchMapping(rest=str(identifier)):
                    known[identifier] = False
                case ast.FunctionDef(name=identifier) | ast.ClassDef(name=identifier) if node is not owner:
                    known[identifier] = False
                case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                    known.update(((a.asname or a.name).partition(".")[0], False) for a in aliases)
    return known


def faults(query: ObjectQuery) -> list[ObjectQuery]:
    """The queries that tell whether evaluating a query as Python does would raise somewhere.

    There is one for each stretch of conditions between two memberships, with the source or the result that
    follows it; it ranges over what the clauses before let through.
    """
    found: list[ObjectQuery] = []
    before: list[Membership | Condition] = []
    stretch: list[ast.expr] = []
    for clause in query.clauses:
        if isinstance(clause, Condition):
            stretch.append(clause.expr.node)
        elif clause.each:
            found.append(_fault(query, len(found), before, [*stretch, _call(ITERABLE, clause.source.node)]))
            before += [Condition(Expr.of(node)) for node in stretch]
            before.append(clause)
            stretch = []
        else:  # written as a condition
            stretch.append(ast.Compare(_element(clause.pattern), [ast.In()], [clause.source.node]))
    ends = query.result.node
    if query.aggregate is None or query.aggregate.kind in _GIVES_ONE:
        ends = _call(EXACT, ends)  # of equal elements Python gives the first
    if query.aggregate is None or query.aggregate.distinct:
        ends = _call(FITS, ends)
    found.append(_fault(query, len(found), before, [*stretch, ends]))
    return found


def _fault(
    query: ObjectQuery, number: int, before: Sequence[Membership | Condition], stretch: list[ast.expr]
) -> ObjectQuery:
    tried = stretch[0] if len(stretch) == 1 else ast.BoolOp(ast.And(), stretch)
    raising = Condition(Expr.of(_call(RAISES, tried)))
    one = Expr.of(ast.Constant(1))
    return ObjectQuery(
        f"{query.name}_fault_{number + 1}", query.params, query.hidden, one, (*before, raising), query.demand,
        query.keep, (), query.position, Aggregate("exists", False),
    )  # fmt: skip


def _call(function: str, argument: ast.expr) -> ast.expr:
    return ast.Call(name(function), [argument], [])


def _element(pattern: Pattern) -> ast.expr:
    if isinstance(pattern, TuplePattern):
        return ast.Tuple([_element(item) for item in pattern.items], ast.Load())
    if isinstance(pattern, Variable):
        return name(pattern.name)
    assert isinstance(pattern, Value), "nothing is a wildcard to Python"
    return pattern.expr.node
