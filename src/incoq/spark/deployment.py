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
from incoq.frontend.program import Module, Program, parse_module, read_program
from incoq.ir.relational import Kind
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
    fields = compiled.plan.fields()
    kinds = {c.relation.kind for q in compiled.plan.queries for c in q.clauses}
    return Deployment(
        standalone_support(program, compiled.support),
        queries,
        fields,
        tuple(sorted(set(_assigned_fields(own)) - set(fields))),
        tuple(sorted(set(_set_fields(own)) | set(_iterated_fields(compiled)))),
        tuple(sorted(g for g, value in hidden.items() if value == "s" + g)),
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
            if name not in hidden:
                hidden[name] = _value_of_global(name, [site.module, *modules], site.module)
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


def _value_of_global(name: str, modules: list[Module], asking: Module) -> str:
    """What a global stands for: a relation of its own name, or a constant."""
    from incoq.spark.values import as_text

    for module in modules:
        value = module.values.get(name)
        if value is None:
            continue
        if _makes_container(value):
            return "s" + name
        try:
            return as_text(_listed(ast.literal_eval(value)))
        except (ValueError, TypeError, SyntaxError):
            break
    raise asking.error(
        "IQ202",
        f"a query reads the global `{name}`, which is neither a set nor a constant: pass it as a parameter",
        asking.tree.body[0] if asking.tree.body else asking.tree,
    )


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple | list) else value


def _makes_container(node: ast.expr) -> bool:
    """Is it a set or a dict that the program makes?"""
    match node:
        case ast.Set() | ast.SetComp() | ast.Dict() | ast.DictComp():
            return True
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


def _iterated_fields(compiled: Compiled) -> list[str]:
    """Fields whose values a query iterates."""
    found = []
    for query in compiled.plan.queries:
        sources = {c.args[0] for c in query.clauses if c.relation.kind in (Kind.MEMBER, Kind.ITEM)}
        found += [c.field for c in query.clauses if c.relation.kind is Kind.FIELD and c.args[1] in sources]
    return found
