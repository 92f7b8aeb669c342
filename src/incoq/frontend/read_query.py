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

from incoq.errors import CompileError
from incoq.frontend.program import Module
from incoq.frontend.pure import Purifier
from incoq.ir.expressions import Expr, names_in
from incoq.ir.objects import (
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


@dataclass(frozen=True)
class Body:
    """The inside of a query: result, clauses, and the free names that are passed in."""

    result: Expr
    clauses: tuple[Membership | Condition, ...]
    free: tuple[str, ...]


def read_comprehension(
    module: Module, comp: ast.SetComp, params: Sequence[str], is_local: Callable[[str], bool]
) -> Body:
    """Read one set comprehension; `is_local` says which free names are variables of the program there."""
    reader = _Reader(module, comp, params, is_local)
    return reader.read()


class _Reader:
    def __init__(
        self, module: Module, comp: ast.SetComp, params: Sequence[str], is_local: Callable[[str], bool]
    ) -> None:
        self.module, self.comp, self.params, self.is_local = module, comp, tuple(params), is_local
        self.variables: set[str] = set(params)
        self.purifier = Purifier(module, self.is_variable)
        self.free: dict[str, None] = {}

    def is_variable(self, identifier: str) -> bool:
        return identifier in self.variables

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
        result = self._expression(self.comp.elt)
        self._check_reachable(clauses, result)
        return Body(result, tuple(clauses), tuple(self.free))

    def _collect_variables(self, pieces: Sequence[tuple[ast.expr | None, ast.expr]]) -> None:
        """Names bound by `for`, and names that only an `if pattern in s` can bind."""
        for target, _ in pieces:
            if target is not None:
                self.variables.update(names_in(target) - {"_"})
        for target, expression in pieces:
            if target is None and _is_membership(expression):
                assert isinstance(expression, ast.Compare)
                for identifier in _pattern_names(expression.left):
                    if not self._known(identifier):
                        self.variables.add(identifier)

    def _known(self, identifier: str) -> bool:
        return (
            identifier == "_"
            or identifier in self.module.bindings
            or identifier in BUILTINS
            or self.is_local(identifier)
        )

    def _clause(self, target: ast.expr | None, expression: ast.expr) -> list[Membership | Condition]:
        if target is not None:
            return [Membership(self._pattern(target), self._source(expression))]
        if _is_membership(expression):
            assert isinstance(expression, ast.Compare)
            source = expression.comparators[0]
            if _is_selector(source):
                return [Membership(self._pattern(expression.left), self._source(source))]
        return [Condition(self._expression(expression))]

    def _pattern(self, node: ast.expr) -> Pattern:
        match node:
            case ast.Name(id="_"):
                return Wildcard()
            case ast.Name(id=identifier) if identifier in self.variables:
                return Variable(identifier)
            case ast.Tuple(elts=items) | ast.List(elts=items, ctx=ast.Store()):
                for item in items:
                    if isinstance(item, ast.Starred):
                        raise self.module.error("IQ209", "a starred pattern in a query", item)
                return TuplePattern(tuple(self._pattern(item) for item in items))
            case ast.expr(ctx=ast.Store()):  # type: ignore[misc]
                raise self.module.error("IQ212", "a query may bind names only", node)
            case _:
                return Value(self._expression(node))

    def _source(self, node: ast.expr) -> Expr:
        if not _is_selector(node):
            raise self.module.error("IQ203", f"cannot maintain the source `{ast.unparse(node)}`", node)
        return self._expression(node)

    def _expression(self, node: ast.expr) -> Expr:
        pure = self.purifier.purify(node)
        for identifier in sorted(names_in(pure)):
            if identifier not in self.variables and not self.purifier.is_callable_name(identifier):
                if identifier == "_":
                    raise self.module.error("IQ209", "`_` is a wildcard and cannot be read", node)
                if not self._known(identifier):
                    raise self.module.error("IQ201", f"the name `{identifier}` is bound by nothing", node)
                self.free.setdefault(identifier)
        return Expr.of(pure)

    def _check_reachable(self, clauses: Sequence[Membership | Condition], result: Expr) -> None:
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
        for node in ast.walk(self.comp):
            if isinstance(node, ast.Name) and node.id == identifier:
                return node
        return self.comp


def _bound(clauses: Sequence[Membership | Condition]) -> set[str]:
    return {v for c in clauses if isinstance(c, Membership) for v in pattern_variables(c.pattern)}


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


def _is_selector(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _pattern_names(node: ast.expr) -> list[str]:
    match node:
        case ast.Name(id=identifier):
            return [identifier]
        case ast.Tuple(elts=items):
            return [n for item in items for n in _pattern_names(item)]
        case _:
            return []


__all__ = ["Body", "CompileError", "read_comprehension", "unreachable"]
