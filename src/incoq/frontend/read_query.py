"""Turn a comprehension into an object query (paper, section 2).

Before:    {u.email for u in celeb.followers if u in group if u.loc == "NYC"}
After:     u in celeb.followers, u in group, u.loc == 'NYC'    result u.email
Invariant: every variable is reachable from a parameter, or the query is refused.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from incoq.errors import CompileError
from incoq.frontend.program import Module
from incoq.frontend.pure import PURE_MODULES, Purifier, given_all, is_selector, where
from incoq.frontend.read_aggregate import SIMPLE, Found, choose_defaults, find_aggregate
from incoq.ir.expressions import FITS, ITERABLE, Expr, clone, name, names_in, substitute
from incoq.ir.objects import (
    Aggregate,
    Condition,
    Membership,
    Pattern,
    TuplePattern,
    Value,
    Variable,
    Wildcard,
    pattern_variables,
)

BUILTINS = frozenset(dir(builtins))
_VALUES = (
    ast.Call, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.BinOp, ast.Tuple, ast.JoinedStr,
)  # fmt: skip
_Comp = TypeVar("_Comp", bound=ast.SetComp | ast.GeneratorExp | ast.ListComp)


@dataclass(frozen=True)
class Body:
    """The inside of a query: result, clauses, and the free names that are passed in."""

    result: Expr
    clauses: tuple[Membership | Condition, ...]
    free: tuple[str, ...]
    aggregate: Aggregate | None = None


@dataclass(frozen=True)
class Called:
    """A query that another one calls."""

    name: str
    parameters: int
    hidden: tuple[str, ...]
    is_set: bool


class Queries(Protocol):
    """What a reader needs to know of the other queries of the program."""

    def nested(self, module: Module, node: ast.expr, body: Body, label: str) -> str:
        """Take a nested query; return its name."""

    def called(self, module: Module, func: ast.expr) -> Called | None:
        """The query that a call names, if it names one."""

    def helper(self, module: Module, func: ast.expr) -> tuple[Module, ast.FunctionDef] | None:
        """The function of the program that a call names, if it names one."""

    def imports(self, module: Module, node: ast.expr, alias: str, original: str) -> None:
        """Note that a query calls functions of a module: a name means the same in all queries."""


@dataclass(frozen=True)
class Place:
    """Where an expression stands: its module, what is a variable of the program there, what it belongs to."""

    module: Module
    is_local: Callable[[str], bool]
    label: str
    queries: Queries
    usual: bool = False  # what is read means what it means to Python: a condition binds nothing


def read_body(place: Place, node: ast.expr, params: Sequence[str]) -> Body:
    """Read what a query returns: a set comprehension, an aggregate, or an expression of nested queries."""

    def is_local(name: str) -> bool:
        return name in params or place.is_local(name)

    if not place.usual:
        node = choose_defaults(place.module, node, is_local)
    if isinstance(node, ast.SetComp):
        return _Reader(place, node, params).read()
    if isinstance(node, ast.DictComp):
        pairs = ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)
        body = _Reader(place, ast.fix_missing_locations(ast.copy_location(pairs, node)), params, True).read()
        return Body(body.result, body.clauses, body.free, Aggregate("dict", True))
    found = find_aggregate(place.module, node, is_local)
    if found is not None:
        return _read_aggregate(found, place, params, lambda comp: comp)
    if not isinstance(node, _VALUES):
        way = None
        if isinstance(node, ast.GeneratorExp):
            way = "write `{...}` for `(...)`"
        elif isinstance(node, ast.ListComp | ast.List):
            way = "write `{...}` for `[...]`, and sort the answer where it is used"
        raise place.module.error("IQ209", f"`{ast.unparse(node)[:60]}` is not a query", node, way)
    alone = ast.GeneratorExp(node, [])
    body = _Reader(place, ast.copy_location(alone, node), params).read()
    return Body(body.result, body.clauses, body.free, Aggregate("value", False))


def _read_aggregate(
    found: Found, place: Place, params: Sequence[str], own_variables: Callable[[Any], Any]
) -> Body:
    comp = found.comp
    assert isinstance(comp, ast.SetComp | ast.GeneratorExp | ast.ListComp)
    arguments = tuple(_constant(place.module, a, found.kind) for a in found.arguments)
    body = _Reader(place, own_variables(comp), params).read()
    aggregate = Aggregate(found.kind, isinstance(comp, ast.SetComp), arguments)
    clauses = _fitting(body) if aggregate.distinct and found.kind in ("any", "all") else body.clauses
    return Body(body.result, clauses, body.free, aggregate)


def _fitting(body: Body) -> tuple[Membership | Condition, ...]:
    """The clauses of a set of which only the truth is asked, or that of its elements: what cannot be in a set
    raises, and is not there."""
    if isinstance(body.result.node, ast.Constant | ast.Compare | ast.JoinedStr):
        return body.clauses
    fits = ast.copy_location(ast.Call(name(FITS), [clone(body.result.node)], []), body.result.node)
    return (*body.clauses, Condition(Expr.of(ast.fix_missing_locations(fits))))


def _constant(module: Module, node: ast.expr, kind: str) -> Expr:
    """The argument of an aggregate."""
    value: ast.expr | None = node
    if kind == "smallest" and not (
        isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value >= 0
    ):
        raise module.error("IQ209", "how many elements must be a constant that is not negative", node)
    if isinstance(node, ast.Name):
        value = module.constant(node.id)
    if kind == "sum" and value is not None and not _is_number(value):
        raise module.error("IQ209", "a sum must start with a number that is a constant", node)
    if value is None or not _is_literal(value):
        way = "write a literal, or `None`, and choose something else for it where the answer is used"
        raise module.error("IQ209", "this argument must be a constant", node, way)
    return Expr.of(value)


def _is_literal(node: ast.expr) -> bool:
    match node:
        case ast.UnaryOp(operand=operand):
            return isinstance(operand, ast.Constant)
        case ast.Tuple(items):
            return all(map(_is_literal, items))
    return isinstance(node, ast.Constant)


def _is_number(node: ast.expr) -> bool:
    match node:
        case (
            ast.Constant(value=value)
            | ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=value))
        ):
            return type(value) in (int, float)
    return False


class _Reader:
    def __init__(
        self,
        place: Place,
        comp: ast.SetComp | ast.GeneratorExp | ast.ListComp,
        params: Sequence[str],
        of_pairs: bool = False,
    ) -> None:
        self.of_pairs = of_pairs
        self.place, self.module, self.comp, self.params = place, place.module, comp, tuple(params)
        self.variables: set[str] = set(params)
        self.purifier = Purifier(
            place.module,
            self.is_variable,
            self.nest,
            self._own_variables,
            self._elements_of_answer,
            place.queries.imports,
            place.queries.helper,
            place.usual,
        )
        self.free: dict[str, None] = {}
        self.as_source = False

    def is_variable(self, identifier: str) -> bool:
        return identifier in self.variables or self.place.is_local(identifier)

    def read(self) -> Body:
        pieces: list[tuple[ast.expr | None, ast.expr]] = []
        for generator in self.comp.generators:
            if generator.is_async:
                raise self.module.error("IQ212", "an asynchronous clause in a query", generator.target)
            pieces.append((generator.target, generator.iter))
            for condition in generator.ifs:
                pieces.extend((None, part) for part in _conjuncts(condition))
        self._collect_variables(pieces)
        clauses: list[Membership | Condition] = []
        for target, expression in pieces:
            clauses.extend(self._clause(target, expression))
        result = self._expression(self._element())
        self._check_reachable(clauses)
        return Body(result, tuple(clauses), tuple(self.free))

    def _element(self) -> ast.expr:
        """What a combination gives; the value of a dict may be a nested set."""
        element = self.comp.elt
        if self.of_pairs and isinstance(element, ast.Tuple) and isinstance(element.elts[1], ast.SetComp):
            nested = element.elts[1]
            body = _Reader(self._inside(), self._own_variables(nested), ()).read()
            value = self._call(
                nested, Body(body.result, body.clauses, body.free, Aggregate("set", True)), "set"
            )
            return ast.copy_location(ast.Tuple([element.elts[0], value], ast.Load()), element)
        return element

    def _collect_variables(self, pieces: Sequence[tuple[ast.expr | None, ast.expr]]) -> None:
        """Names bound by `for`, and names that only an `if pattern in s` can bind."""
        for target, _ in pieces:
            if target is not None:
                self.variables.update(names_in(target) - {"_"})
        for identifier in sorted(self.variables & PURE_MODULES):
            raise self.module.error("IQ209", f"a variable named like the module `{identifier}`", self.comp)
        for target, expression in pieces:
            if target is None and _is_membership(expression) and not self.place.usual:
                assert isinstance(expression, ast.Compare)
                for identifier in _pattern_names(expression.left):
                    if not self._known(identifier):
                        self.variables.add(identifier)

    def _known(self, identifier: str) -> bool:
        return (
            identifier == "_"
            or identifier in self.module.bindings
            or identifier in BUILTINS
            or self.place.is_local(identifier)
        )

    def _is_own(self, identifier: str) -> bool:
        """Is a name the program's, not a builtin such as `int`?"""
        return identifier in self.module.bindings or self.place.is_local(identifier)

    def _clause(self, target: ast.expr | None, expression: ast.expr) -> list[Membership | Condition]:
        if target is not None:
            return [Membership(self._pattern(target), self._source(expression), each=True)]
        if _is_membership(expression):
            assert isinstance(expression, ast.Compare)
            source = expression.comparators[0]
            is_view = _view_of(source) is not None and not self.place.usual
            if is_view or is_selector(source) or isinstance(source, ast.SetComp) or self._called(source):
                return [Membership(self._pattern(expression.left), self._source(source))]
        return [Condition(self._expression(expression, truth=True))]

    def _is_of_variable(self, func: ast.expr) -> bool:
        """Is what is called a variable, or something of one that is named like a module?"""
        match func:
            case ast.Name(id=identifier):
                return self.is_variable(identifier)
            case ast.Attribute(value=ast.Name(id=alias)):
                return alias in self.module.imports and self.is_variable(alias)
        return False

    def _called(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call) and self._is_of_variable(node.func):
            return False
        return isinstance(node, ast.Call) and self.place.queries.called(self.module, node.func) is not None

    def _pattern(self, node: ast.expr) -> Pattern:
        match node:
            case ast.Name(id="_") if not self.place.usual:
                return Wildcard()
            case ast.Name(id=identifier) if identifier in self.variables:
                return Variable(identifier)
            case ast.Tuple(elts=items) | ast.List(elts=items, ctx=ast.Store()):
                for item in items:
                    if isinstance(item, ast.Starred):
                        raise self.module.error("IQ209", "a starred pattern in a query", item)
                return TuplePattern(tuple(self._pattern(item) for item in items))
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                raise self.module.error("IQ212", "a query may bind names only", node)
            case _:
                return Value(self._expression(node))

    def _source(self, node: ast.expr) -> Expr:
        if isinstance(node, ast.SetComp):
            return self._expression(self._nested_set(node))
        if (view := _view_of(node)) is not None:
            read = self._expression(view.value)
            return Expr.of(ast.Call(ast.Attribute(read.node, view.attr, ast.Load()), [], []))
        if not is_selector(node) and not self._called(node):
            raise self.module.error(
                "IQ203", f"cannot maintain the source `{ast.unparse(node)}`", node, _way(node)
            )
        self.as_source = True
        expression = self._expression(node)
        self.as_source = False
        return expression

    def _expression(self, node: ast.expr, truth: bool = False) -> Expr:
        pure = self.purifier.purify(node, truth)
        for identifier in sorted(names_in(pure)):
            if identifier not in self.variables and not self.purifier.is_callable_name(identifier):
                if identifier == "_":
                    raise self.module.error("IQ209", "`_` is a wildcard and cannot be read", node)
                if not self._known(identifier):
                    raise self.module.error("IQ201", f"the name `{identifier}` is bound by nothing", node)
                if self._is_own(identifier):
                    self.free.setdefault(identifier)
        return Expr.of(pure)

    # -- nested queries ---------------------------------------------------------------------------

    def nest(self, node: ast.expr, truth: bool, lazy: bool) -> ast.expr | None:
        """Replace a nested query by a call of it; None if `node` is none."""
        if isinstance(node, ast.Call) and self._is_of_variable(node.func):
            return None
        if truth:
            given: list[ast.expr] = []
            if isinstance(node, ast.Call):
                called = self.place.queries.called(self.module, node.func)
                if called is None or not called.is_set:
                    return None
                given = [self.purifier.purify(a) for a in node.args]
                node = ast.fix_missing_locations(ast.copy_location(ast.SetComp(*_all_of(node)), node))
            assert isinstance(node, ast.SetComp)
            body = _Reader(self._inside(), self._own_variables(node), ()).read()
            exists = Body(body.result, _fitting(body), body.free, Aggregate("exists", False))
            return where(given_all(given), self._call(node, exists, "exists"))
        found = find_aggregate(self.module, node, self.is_variable)
        if found is not None:
            body = _read_aggregate(found, self._inside(), (), self._own_variables)
            return self._call(node, body, found.kind)
        if isinstance(node, ast.Call):
            return self._aggregate_of_source(node) or self._query_call(node, lazy)
        return None

    def _aggregate_of_source(self, node: ast.Call) -> ast.expr | None:
        """`len(q(x))`, `sum(x.f)`: an aggregate of all elements of a source."""
        match node:
            case ast.Call(func=ast.Name(id=kind), args=[source, *rest]) if (
                kind in SIMPLE and kind not in self.module.bindings and not self.is_variable(kind)
            ):
                comp: ast.expr
                if isinstance(source, ast.Call) and self._called(source):
                    comp = ast.SetComp(*_all_of(source))
                    there = given_all([self.purifier.purify(a) for a in source.args])
                elif kind != "len" and isinstance(source, ast.Attribute | ast.Name) and is_selector(source):
                    comp = ast.GeneratorExp(*_all_of(source))
                    there = [ast.Call(name(ITERABLE), [self.purifier.purify(source)], [])]
                else:
                    return None
                whole = ast.Call(node.func, [comp, *rest], node.keywords)
                nested = self.nest(ast.fix_missing_locations(ast.copy_location(whole, node)), False, False)
                return nested if nested is None else where(there, nested)
        return None

    def _elements_of_answer(self, node: ast.expr, element: ast.expr) -> ast.SetComp | None:
        """The answer of a set query as a comprehension in which an element is looked for."""
        if not isinstance(node, ast.Call) or not self._called(node):
            return None
        called = self.place.queries.called(self.module, node.func)
        if called is None or not called.is_set:
            return None
        return ast.fix_missing_locations(ast.copy_location(ast.SetComp(*_all_of(node, element)), node))

    def _nested_set(self, node: ast.SetComp) -> ast.expr:
        body = _Reader(self._inside(), self._own_variables(node), ()).read()
        return self._call(node, body, "set")

    def _inside(self) -> Place:
        return Place(self.module, self.is_variable, self.place.label, self.place.queries, self.place.usual)

    def _call(self, node: ast.expr, body: Body, kind: str) -> ast.expr:
        called = self.place.queries.nested(self.module, node, body, f"{self.place.label}_{kind}")
        call = ast.Call(ast.Constant(called), [name(f) for f in body.free], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def _query_call(self, node: ast.Call, lazy: bool) -> ast.expr | None:
        found = self.place.queries.called(self.module, node.func)
        if found is None:
            return None
        if found.is_set and not self.as_source:
            raise self.module.error("IQ209", "the answer of a set query as a value; use it as a source", node)
        arguments = list(node.args)
        match node.func:
            case ast.Attribute(value=ast.Name(id="self") as receiver):
                arguments.insert(0, receiver)
        if node.keywords or not all(is_selector(a) for a in arguments):
            way = "give them by position; what is computed may be a parameter of both queries"
            raise self.module.error("IQ209", "a query is called with variables and selectors only", node, way)
        if len(arguments) != found.parameters:
            message = f"`{found.name}` has {found.parameters} parameters, and is given {len(arguments)}"
            raise self.module.error("IQ209", message, node, "give each of its parameters by position")
        for hidden in found.hidden:
            if self.is_variable(hidden):
                message = f"`{found.name}` reads the global `{hidden}`, which is a variable here; rename one"
                raise self.module.error("IQ209", message, node)
        if lazy and given_all(arguments):  # a query of its own has no value where one of them is missing
            alone = ast.copy_location(ast.GeneratorExp(node, []), node)
            body = _Reader(self._inside(), alone, ()).read()
            value = Body(body.result, body.clauses, body.free, Aggregate("value", False))
            return self._call(node, value, "value")
        given = [self.purifier.purify(a) for a in arguments]
        call = ast.Call(ast.Constant(found.name), [*given, *(name(h) for h in found.hidden)], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def _own_variables(self, comp: _Comp, others: Sequence[str] = ()) -> _Comp:
        """As in Python, a `for` inside binds a variable of its own where the name is in use outside, as are
        those of the `others`."""
        targets = {n for g in comp.generators for n in names_in(g.target)} - {"_"}
        clashing = sorted(n for n in targets if n in others or self.is_variable(n))
        if not clashing:
            return comp
        taken = {
            *others,
            *names_in(self.comp),
            *names_in(comp),
            *self.variables,
            *targets,
            *self.module.bindings,
        }
        renaming: dict[str, ast.expr] = {}
        for identifier in clashing:
            number = 2
            while f"{identifier}_{number}" in taken or self.is_variable(f"{identifier}_{number}"):
                number += 1
            taken.add(f"{identifier}_{number}")
            renaming[identifier] = name(f"{identifier}_{number}")
        copied = clone(comp)
        first = copied.generators[0].iter
        renamed = substitute(copied, renaming)
        assert isinstance(renamed, ast.SetComp | ast.GeneratorExp | ast.ListComp)
        renamed.generators[0].iter = first
        return renamed  # type: ignore[return-value]

    def _check_reachable(self, clauses: Sequence[Membership | Condition]) -> None:
        reached = set(self.params) | set(self.free)
        unreached = unreachable(clauses, reached)
        wanted = self.variables - set(self.params)
        missing = sorted(v for v in wanted if v in unreached or v not in reached | _bound(clauses))
        if missing:
            raise self.module.error(
                "IQ201",
                f"the variable `{missing[0]}` is not reachable from a parameter",
                self._first_use(missing[0]),
            )

    def _first_use(self, identifier: str) -> ast.AST:
        return next(n for n in ast.walk(self.comp) if isinstance(n, ast.Name) and n.id == identifier)


def _all_of(source: ast.expr, *others: ast.expr) -> tuple[ast.expr, list[ast.comprehension]]:
    """The parts of a comprehension of all elements of a source, whose variable neither the source names nor
    the other expressions do."""
    variable, number = "element", 1
    while any(variable in names_in(e) for e in (source, *others)):
        number += 1
        variable = f"element_{number}"
    return name(variable), [ast.comprehension(ast.Name(variable, ast.Store()), source, [], 0)]


def _bound(clauses: Sequence[Membership | Condition]) -> set[str]:
    return {v for c in clauses if isinstance(c, Membership) for v in pattern_variables(c.pattern)}


def _way(source: ast.expr) -> str | None:
    """What to write for a source that is computed from sets."""
    match source:
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.Sub() as op, right=right):
            test = "in" if isinstance(op, ast.BitAnd) else "not in"
            return f"write `for x in {ast.unparse(left)} if x {test} {ast.unparse(right)}`"
        case ast.BinOp(op=ast.BitOr()):
            return "ask one query about each of the sets, and unite the answers where they are used"
        case ast.Call(func=ast.Name(id="filter")):
            return "write what it tests as an `if` of the query"
        case ast.Call(func=ast.Name(id="map")):
            return "write what it computes where its result is used"
        case ast.Call(func=ast.Name(id="enumerate" | "zip")):
            return "hold tuples in a set, and take them apart: `for (i, x) in pairs`"
        case ast.Call(func=ast.Name(id="range")):
            return "pass it as a parameter: what is given as `range(n)` can be iterated over"
        case ast.Call(func=ast.Name(id=kind), args=[whole, *_]) if kind in _COPIES and is_selector(whole):
            return f"iterate over `{ast.unparse(whole)}` itself"
        case ast.Call():
            return "make it a query, whose answer may be a source, or hold the elements in a set"
    return None


_COPIES = ("sorted", "reversed", "list", "tuple", "set", "frozenset", "iter")


def unreachable(clauses: Sequence[Membership | Condition], reached: set[str]) -> set[str]:
    """Variables that no chain of memberships reaches from `reached` (paper, section 2)."""
    reached = set(reached)
    memberships = [c for c in clauses if isinstance(c, Membership)]
    changed = True
    while changed:
        changed = False
        for clause in memberships:
            if clause.source.names <= reached:
                new = set(pattern_variables(clause.pattern)) - reached
                if new:
                    reached |= new
                    changed = True
    everything = _bound(clauses) | {n for c in memberships for n in c.source.names}
    return everything - reached


def _conjuncts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [part for value in node.values for part in _conjuncts(value)]
    return [node]


def _is_membership(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In)


def _view_of(node: ast.expr) -> ast.Attribute | None:
    """`m.items`, if that is what is called, and so for the other views of a dict that a selector holds."""
    match node:
        case ast.Call(func=ast.Attribute(attr="items" | "keys" | "values") as view, args=[]):
            return view if is_selector(view.value) else None
    return None


def _pattern_names(node: ast.expr) -> list[str]:
    match node:
        case ast.Name(id=identifier):
            return [identifier]
        case ast.Tuple(elts=items):
            return [n for item in items for n in _pattern_names(item)]
        case _:
            return []


__all__ = ["Body", "CompileError", "Place", "Queries", "read_body", "unreachable"]
