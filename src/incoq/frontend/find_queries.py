"""Find the queries of a program: `@query` functions and methods, and inline `query(...)` calls."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from incoq.errors import CompileError
from incoq.frontend.program import Module, Program
from incoq.frontend.read_query import Body, read_comprehension, unreachable
from incoq.ir.objects import Fact, Keep, ObjectQuery


@dataclass(frozen=True)
class QuerySite:
    """A query and the place in the text that asks it."""

    query: ObjectQuery
    module: Module
    node: ast.FunctionDef | ast.Call  # the definition, or the inline call


@dataclass(frozen=True)
class Options:
    """What `@query(...)` was given."""

    demand: tuple[str, ...] | None = None
    keep: Keep = field(default_factory=Keep)
    facts: tuple[Fact, ...] = ()


def find_queries(program: Program) -> list[QuerySite]:
    """All queries, in the order of the text, each with a name of its own."""
    sites: list[QuerySite] = []
    taken: set[str] = set()
    for module in program.modules:
        if not module.incoq_names:
            continue
        for node, owner in _walk_with_owner(module.tree):
            site = _site(module, node, owner)
            if site is not None:
                sites.append(_renamed(site, taken))
    return sites


def _walk_with_owner(
    tree: ast.Module,
) -> Iterator[tuple[ast.AST, tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, ...]]]:
    """Every node in the order of the text with the functions around it; not inside query definitions."""

    def walk(
        node: ast.AST, owners: tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, ...]
    ) -> Iterator[tuple[ast.AST, tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, ...]]]:
        for child in ast.iter_child_nodes(node):
            yield child, owners
            inside = owners
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inside = (*owners, child)
            yield from walk(child, inside)

    yield from walk(tree, ())


def _site(
    module: Module,
    node: ast.AST,
    owners: tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, ...],
) -> QuerySite | None:
    if isinstance(node, ast.FunctionDef):
        for decorator in node.decorator_list:
            if module.is_incoq(decorator, "query"):
                return _defined(module, node, Options(), owners)
            if isinstance(decorator, ast.Call) and module.is_incoq(decorator.func, "query"):
                return _defined(module, node, _options(module, decorator), owners)
    elif isinstance(node, ast.AsyncFunctionDef):
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if module.is_incoq(called, "query"):
                raise module.error("IQ212", "a query cannot be asynchronous", node)
    elif (
        isinstance(node, ast.Call)
        and module.is_incoq(node.func, "query")
        and len(node.args) == 1
        and not node.keywords
    ):
        return _inline(module, node, owners)
    return None


def _defined(
    module: Module,
    node: ast.FunctionDef,
    options: Options,
    owners: tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, ...],
) -> QuerySite:
    if len(node.decorator_list) != 1:
        raise module.error("IQ208", "a query takes no further decorators", node.decorator_list[0])
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise module.error("IQ210", f"`{node.name}` has starred or keyword-only parameters", node)
    params = tuple(a.arg for a in arguments.posonlyargs + arguments.args)
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if not (len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None):
        raise module.error("IQ200", f"the body of `{node.name}` is not one return", node)
    comp = body[0].value
    read = _read(module, comp, params, _locals_of(owners))
    return _make(module, node, node.name, params, read, options)


def _inline(
    module: Module,
    node: ast.Call,
    owners: tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, ...],
) -> QuerySite:
    read = _read(module, node.args[0], (), _locals_of(owners))
    owner = next((o.name for o in reversed(owners) if not isinstance(o, ast.Lambda)), "module")
    return _make(module, node, f"{owner}_query", (), read, Options())


def _read(module: Module, comp: ast.expr, params: tuple[str, ...], is_local: Callable[[str], bool]) -> Body:
    if not isinstance(comp, ast.SetComp):
        raise module.error("IQ209", f"`{ast.unparse(comp)[:60]}` is not a set comprehension", comp)
    return read_comprehension(module, comp, params, is_local)


def _make(
    module: Module,
    node: ast.FunctionDef | ast.Call,
    name: str,
    params: tuple[str, ...],
    body: Body,
    options: Options,
) -> QuerySite:
    hidden = tuple(f for f in body.free if f not in params)
    demand = options.demand
    if demand is not None:
        for parameter in demand:
            if parameter not in params:
                raise module.error("IQ208", f"`{parameter}` is not a parameter of `{name}`", node)
        given = set(demand) | set(hidden)
        missing = sorted(
            (unreachable(body.clauses, given) | (set(params) - given)) - (_reached(body, given) | given)
        )
        if missing:
            raise module.error(
                "IQ207", f"with demand={demand!r} the variable `{missing[0]}` is not reachable", node
            )
    all_demand = (*(demand if demand is not None else params), *hidden)
    query = ObjectQuery(
        name, params, hidden, body.result, body.clauses, all_demand, options.keep, options.facts,
        module.position(node),
    )  # fmt: skip
    return QuerySite(query, module, node)


def _reached(body: Body, given: set[str]) -> set[str]:
    """Variables that memberships reach from `given`."""
    from incoq.ir.objects import Membership, pattern_variables

    bound = {v for c in body.clauses if isinstance(c, Membership) for v in pattern_variables(c.pattern)}
    return bound - unreachable(body.clauses, given)


def _locals_of(
    owners: tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, ...],
) -> Callable[[str], bool]:
    """Is a name a local variable of one of the functions around?"""
    names: set[str] = set()
    for owner in owners:
        arguments = owner.args
        for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs:
            names.add(argument.arg)
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                names.add(extra.arg)
        if isinstance(owner, ast.Lambda):
            continue
        names |= _assigned_in(owner)
    return names.__contains__


def _assigned_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Local names of a function, as the compiler of Python itself sees them."""
    module = ast.Module([function], [])
    table = symtable.symtable(ast.unparse(ast.fix_missing_locations(module)), "<function>", "exec")
    scope = next(c for c in table.get_children() if c.get_name() == function.name)
    return {s.get_name() for s in scope.get_symbols() if s.is_local() or s.is_free()}


def _options(module: Module, call: ast.Call) -> Options:
    if call.args:
        raise module.error("IQ208", "`@query(...)` takes keyword options only", call)
    options = Options()
    for keyword in call.keywords:
        value = keyword.value
        match keyword.arg:
            case "demand":
                options = replace(options, demand=_strings(module, value))
            case "keep":
                options = replace(options, keep=_keep(module, value))
            case "assume":
                facts = tuple(_fact(module, text, value) for text in _strings(module, value))
                options = replace(options, facts=facts)
            case _:
                raise module.error("IQ208", f"unknown option `{keyword.arg}`", value)
    return options


def _strings(module: Module, node: ast.expr) -> tuple[str, ...]:
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(text for item in items for text in _strings(module, item))
    raise module.error("IQ208", "expected a string or a tuple of strings, written out", node)


def _keep(module: Module, node: ast.expr) -> Keep:
    match node:
        case ast.Constant(value="weak" | "explicit" | "ask" as policy):
            return Keep(str(policy))
        case ast.Call(func=func, args=[ast.Constant(value=int(size))], keywords=[]) if (
            module.is_incoq(func, "lru") and size > 0
        ):
            return Keep("lru", size)
    raise module.error("IQ208", 'keep is lru(n), "weak" or "explicit", written out', node)


def _fact(module: Module, text: str, node: ast.expr) -> Fact:
    words = text.split()
    if len(words) == 4 and words[0] == "one" and words[2] == "per":
        return Fact(words[1], words[3])
    raise module.error("IQ208", f'`{text}`: a fact reads "one celeb per celeb.followers"', node)


def _renamed(site: QuerySite, taken: set[str]) -> QuerySite:
    name, number = site.query.name, 1
    while name in taken:
        number += 1
        name = f"{site.query.name}_{number}"
    taken.add(name)
    return replace(site, query=replace(site.query, name=name))


__all__ = ["CompileError", "QuerySite", "find_queries"]
