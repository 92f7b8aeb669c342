"""What a program is to the pipeline: its generated code, its queries and its relations, as plain data.

The program is compiled once; what the workers run is kept in the store, as text and JSON. On Spark sets
shrink whatever the program's own text does, and demand comes and goes by events alone, so `keep=` has no
meaning there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from incoq.codegen.build_package import standalone_support
from incoq.compile import SEEN, Compiled, compile_program
from incoq.errors import CompileError
from incoq.frontend.find_queries import QuerySite
from incoq.frontend.program import Module, Program, parse_module, read_program
from incoq.ir.objects import Value
from incoq.ir.relational import SUBSCRIPT, Clause, Kind, RelationalQuery
from incoq.spark.joins import Joins, joins_of
from incoq.spark.joins import frozen as _frozen

_CHANGES = "def changes(s):\n    s.discard(None)\n"  # the changes that come from outside


@dataclass(frozen=True)
class QueryPlan:
    """One query: its parameters, where its answers are kept and the functions of its demand."""

    name: str
    params: tuple[str, ...]  # as shown: without the globals that it reads
    demand: tuple[str, ...]  # those whose values are demanded
    hidden: tuple[tuple[str, str], ...]  # a global and what it stands for: an id, or `j` and JSON
    rest: tuple[str, ...]
    is_aggregate: bool
    answers: str
    begin: str
    end: str


@dataclass(frozen=True)
class Deployment:
    """A compiled program as the workers need it."""

    code: str
    queries: tuple[QueryPlan, ...]
    fields: tuple[str, ...]  # those that queries read
    other_fields: tuple[str, ...]  # those that the program assigns and no query reads
    set_fields: tuple[str, ...]  # those that hold sets or dicts
    globals: tuple[str, ...]  # module-level sets, which are relations
    setters: dict[str, str]
    deleters: dict[str, str]
    names: dict[str, str]
    has_items: bool  # does a query look into dicts?
    joins: tuple[Joins, ...]  # every query, the nested ones too, as `recompute` makes DataFrames of it

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Deployment:
        queries = tuple(QueryPlan(**_frozen(query)) for query in data["queries"])
        joins = tuple(Joins.from_json(query) for query in data["joins"])
        return cls(**{**_frozen(data), "queries": queries, "joins": joins})

    def query(self, name: str) -> QueryPlan:
        return next(q for q in self.queries if q.name == name)


def deploy(path: Path) -> Deployment:
    """Compile a program for the pipeline."""
    program = read_program(path)
    return deploy_program(program)


def deploy_source(text: str, filename: str = "<string>") -> Deployment:
    """Compile the text of one module for the pipeline."""
    return deploy_program(Program([parse_module(text, filename)]))


def deploy_program(program: Program) -> Deployment:
    for module in program.modules:
        _drop_policies(module)
    own = list(program.modules)
    program.modules.append(parse_module(_CHANGES, "<changes>", "<changes>"))
    compiled = compile_program(program, "filtered", "tags", (*SEEN, "globals", "numbers"))
    hidden: dict[str, str] = {}
    queries = tuple(_queries(compiled, own, hidden))
    if not queries:
        raise CompileError("IQ209", "the program has no query")
    _check_searched(compiled, {*_set_fields(own), *_iterated_fields(compiled)})
    fields = compiled.plan.fields()
    kinds = {c.relation.kind for q in compiled.plan.queries for c in q.clauses}
    return Deployment(
        standalone_support(program, compiled.support),
        queries,
        fields,
        tuple(sorted(set(_assigned_fields(own)) - set(fields))),
        tuple(sorted(set(_set_fields(own)) | set(_iterated_fields(compiled)))),
        tuple(sorted(g for g, value in hidden.items() if value == "s" + g and not _is_dict(g, own))),
        dict(compiled.support.setters),
        dict(compiled.support.deleters),
        dict(compiled.support.names),
        Kind.ITEM in kinds,
        tuple(joins_of(query) for query in compiled.plan.queries),
    )


def _drop_policies(module: Module) -> None:
    """Take `keep=` away: demand is explicit here."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and module.is_incoq(decorator.func, "query"):
                    decorator.keywords = [k for k in decorator.keywords if k.arg != "keep"]


def _queries(compiled: Compiled, modules: list[Module], hidden: dict[str, str]) -> Iterator[QueryPlan]:
    sites = {site.query.name: site for site in compiled.sites}
    for query in compiled.plan.queries:
        if query.nested:
            continue
        site = sites[query.name]
        for name in query.hidden:
            _check_not_local(name, site)
            if name not in hidden:
                hidden[name] = _value_of_global(name, [site.module, *modules], site)
        yield QueryPlan(
            query.name,
            query.params,
            tuple(p for p in query.demand if p not in query.hidden),
            tuple((name, hidden[name]) for name in query.hidden),
            query.rest,
            query.aggregate is not None,
            compiled.plan.result_of(query.name).name,
            compiled.support.demand[query.name],
            compiled.support.release[query.name],
        )


def _check_not_local(name: str, site: QuerySite) -> None:
    """The variables of a function are nothing that the pipeline knows; nobody calls the function there."""
    if not isinstance(site.node, ast.expr):
        return
    for function in ast.walk(site.module.tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and any(
            node is site.node for node in ast.walk(function)
        ):
            bound = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
            bound |= {
                n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            if name in bound:
                raise site.module.error(
                    "IQ202", f"an inline query reads the variable `{name}`, which nobody gives it on Spark",
                    site.node, "make it a function with `@query` and parameters",
                )  # fmt: skip


def _value_of_global(name: str, modules: list[Module], site: QuerySite) -> str:
    """What a global stands for: a relation of its own name, or a constant."""
    from incoq.spark.values import as_text

    node = site.node or site.module.tree
    for module in modules:
        value = module.values.get(name)
        if value is None:
            continue
        if _makes_container(value):
            if _holds_something(value):
                raise site.module.error(
                    "IQ202",
                    f"a query reads the global `{name}`, which begins with elements; the program is not "
                    "run on Spark, so that it would not have them",
                    node, "let it begin empty and give it a table, or write a tuple if it is a constant",
                )  # fmt: skip
            return "s" + name
        if isinstance(value, ast.List) and (
            not value.elts or any(_changes(name, other) for other in modules)
        ):
            raise site.module.error(
                "IQ202", f"a query reads the global list `{name}`, which changes; on Spark it is a constant",
                node, "make it a global set, or pass it as a parameter",
            )  # fmt: skip
        try:
            return as_text(_listed(ast.literal_eval(_thawed(value))))
        except (ValueError, TypeError, SyntaxError):
            break
    raise site.module.error(
        "IQ202",
        f"a query reads the global `{name}`, which is neither a set nor a constant: pass it as a parameter",
        node,
    )


def _thawed(value: ast.expr) -> ast.expr:
    """A frozenset of constants as the set that it is made of."""
    match value:
        case ast.Call(func=ast.Name(id="frozenset"), args=[ast.Set() | ast.Tuple() | ast.List() as held]):
            return ast.List(list({ast.dump(item): item for item in held.elts}.values()), ast.Load())
    return value


def _holds_something(node: ast.expr) -> bool:
    """Does a container that the program makes begin with elements, as far as the text tells?"""
    match node:
        case ast.Dict(keys=[]):
            return False
        case ast.Call(func=ast.Name(id="defaultdict") | ast.Attribute(attr="defaultdict"), args=args):
            return len(args) > 1
        case ast.Call(args=args, keywords=keywords):
            return bool(keywords) or not all(_is_empty(arg) for arg in args)
    return True


def _is_empty(node: ast.expr) -> bool:
    match node:
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(
            func=ast.Name(id="set" | "frozenset" | "list" | "dict" | "tuple"), args=[], keywords=[]
        ):
            return True
    return False


_CHANGING = ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "__setitem__")


def _changes(name: str, module: Module) -> bool:
    """Does a module change a list of this name, as far as the text tells?"""
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=found), attr=attr) if found == name and attr in _CHANGING:
                return True
            case ast.Attribute(value=ast.Attribute(attr=found), attr=attr) if (
                found == name and attr in _CHANGING
            ):
                return True
            case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store() | ast.Del()) if found == name:
                return True
            case ast.AugAssign(target=ast.Name(id=found)) if found == name:
                return True
    return False


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple | list) else value


def _makes_container(node: ast.expr) -> bool:
    """Is it a set or a dict that the program makes?"""
    match node:
        case ast.Set() | ast.SetComp() | ast.Dict() | ast.DictComp():
            return True
        case ast.Call(func=ast.Subscript(value=made)):  # Set[User]()
            return _makes_container(ast.Call(made, [], []))
        case ast.Call(func=ast.Name(id=function)) | ast.Call(func=ast.Attribute(attr=function)):
            return function in ("Set", "set", "dict", "defaultdict", "OrderedDict")
    return False


def _assignments(modules: list[Module]) -> Iterator[tuple[str, ast.expr | None]]:
    """Every field that the program assigns, with the value where it can be seen."""
    for module in modules:
        for node in ast.walk(module.tree):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        yield from _assigned(target, value)
                case ast.AnnAssign(target=ast.Attribute(attr=attr), value=value):
                    yield attr, value
                case ast.AugAssign(target=ast.Attribute(attr=attr)):
                    yield attr, None
                case ast.ClassDef(body=body, decorator_list=decorators) if decorators:
                    yield from _declared(body)


def _declared(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr | None]]:
    """The fields of a dataclass."""
    for statement in body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(keywords=[*_] as keywords)):
                made = [k.value for k in keywords if k.arg == "default_factory"]
                yield name, ast.Call(made[0], [], []) if made else None
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, None


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr | None]]:
    match target, value:
        case ast.Attribute(attr=attr), _:
            yield attr, value
        case ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=values) if len(targets) == len(
            values
        ):
            for one, part in zip(targets, values, strict=True):
                yield from _assigned(one, part)
        case ast.Tuple(elts=targets) | ast.List(elts=targets), _:
            for one in targets:
                if isinstance(one, ast.Attribute):
                    yield one.attr, None


def _assigned_fields(modules: list[Module]) -> list[str]:
    return [attr for attr, _ in _assignments(modules)]


def _set_fields(modules: list[Module]) -> list[str]:
    """Fields that the program gives a set or a dict."""
    return [attr for attr, value in _assignments(modules) if value is not None and _makes_container(value)]


def _is_dict(name: str, modules: list[Module]) -> bool:
    """Is a global container a dict? Then its id is its name, and `item` has its entries."""
    value = next(m.values[name] for m in modules if name in m.values)
    match value:
        case ast.Dict() | ast.DictComp():
            return True
        case ast.Call(func=ast.Name(id=function)) | ast.Call(func=ast.Attribute(attr=function)):
            return function in ("dict", "defaultdict", "OrderedDict")
    return False


def _check_searched(compiled: Compiled, known: set[str]) -> None:
    """Refuse a constant text in what may be a text: there, an empty set cannot be told from one."""
    sites = {site.query.name: site for site in compiled.sites}
    for query in compiled.plan.queries:
        for text, field in _searched(query):
            if field not in known:
                site = sites.get(query.name)
                message = (
                    f"`{text!r} in ….{field}` may look for a part of a text, which on Spark cannot be told "
                    "from a set that never had an element"
                )
                help = (
                    f"for a text write `str(x.{field}).find({text!r}) >= 0`; for a set, let a class give the "
                    f"field one: `self.{field} = Set()`"
                )
                raise CompileError("IQ203", message, site.query.position if site else None, help)


def _searched(query: RelationalQuery) -> Iterator[tuple[str, str]]:
    """Constant texts that are looked for in fields, each with the field."""
    of_field = {c.args[1]: c.field for c in query.clauses if c.relation.kind is Kind.FIELD}
    for c in query.clauses:
        if c.relation.kind is Kind.MEMBER and isinstance(c.pattern, Value):
            node = c.pattern.expr.node
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and c.args[0] in of_field:
                yield node.value, of_field[c.args[0]]
    for expr in (*(t.expr for t in query.tests), query.result.expr):
        for part in ast.walk(expr.node):
            match part:
                case ast.Compare(
                    left=ast.Constant(value=str(text)), ops=[ast.In() | ast.NotIn()], comparators=[held]
                ):
                    match held:
                        case ast.Name(id=name) if name in of_field:
                            yield text, of_field[name]
                        case ast.Attribute(attr=field):
                            yield text, field


def _iterated_fields(compiled: Compiled) -> list[str]:
    """Fields that a query iterates, or looks up keys in; `x.f[0]` and `"a" in x.f` may be of a text."""
    found = []
    for query in compiled.plan.queries:
        sources = {c.args[0] for c in query.clauses if _holds_elements(c)}
        found += [c.field for c in query.clauses if c.relation.kind is Kind.FIELD and c.args[1] in sources]
    return found


def _holds_elements(clause: Clause) -> bool:
    """Is the source of a clause a set, a dict or a tuple, and no text?"""
    fixed = clause.pattern.expr.node if isinstance(clause.pattern, Value) else None
    match clause.relation.kind:
        case Kind.MEMBER:
            return not (isinstance(fixed, ast.Constant) and isinstance(fixed.value, str))
        case Kind.ITEM:
            return not (clause.arity == SUBSCRIPT and fixed is not None and _is_whole(fixed))
    return False


def _is_whole(node: ast.expr) -> bool:
    try:
        return ast.literal_eval(node).__class__ is int
    except ValueError:
        return False
