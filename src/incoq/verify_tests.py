"""What values and conditions mean inside a query, written a second time for `verify`.

The generated code has its own account of the same (`codegen/prelude.py`); this one shares nothing with it.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from incoq.ir.relational import Test

if TYPE_CHECKING:
    from incoq.compile import Compiled

_ATOMS = frozenset({int, float, str, bytes, bool, complex, type(None), type})


class Values:
    """The values of one running program: what a set is there, what is equal, what is a source."""

    def __init__(self, compiled: Compiled, namespace: Mapping[str, Any]) -> None:
        names = compiled.support.names
        self.set_class: type = namespace[names["Set"]]
        self.nan: float = namespace[names["NAN"]]
        self.sources: tuple[type, ...] = (self.set_class, frozenset, tuple, range)
        self.compiled, self.namespace = compiled, namespace

    def is_set(self, value: Any) -> bool:
        """A set whose content is watched."""
        return isinstance(value, self.set_class)

    def is_source(self, value: Any) -> bool:
        """What a membership may iterate over."""
        return isinstance(value, self.sources)

    def can_be_iterated(self, value: Any) -> bool:
        cls = value.__class__
        return hasattr(cls, "__iter__") or hasattr(cls, "__getitem__")

    def same(self, left: Any, right: Any) -> bool:
        """Equal as keys of a dict are, sets by identity."""
        if left is right:
            return True
        return not (isinstance(left, set) or isinstance(right, set)) and self.equal(left, right)

    def equal(self, left: Any, right: Any) -> bool:
        """`==` in a condition: as Python's, two sets by identity; so NaN is not equal to itself."""
        if isinstance(left, set) and isinstance(right, set):
            return left is right
        if isinstance(left, tuple) and isinstance(right, tuple):
            return len(left) == len(right) and all(map(self.same, left, right))
        return bool(left == right)

    def holds(self, collection: Any, element: Any) -> bool:
        """`element in collection`."""
        if isinstance(collection, tuple):
            return any(self.same(element, e) for e in collection)
        if self.is_source(collection) or isinstance(collection, str | bytes):
            return element in collection
        raise TypeError("holds nothing")

    def steady(self, value: Any) -> Any:
        """A computed value with the program's one NaN for every NaN."""
        if value.__class__ is float:
            return value if value == value else self.nan
        return tuple(map(self.steady, value)) if value.__class__ is tuple else value

    def closure(self, start: Iterable[Any], fields: Iterable[str]) -> list[Any]:
        """All that the program's own fields and memberships reach."""
        pending = list(start)
        seen: dict[int, Any] = {}
        while pending:
            value = pending.pop()
            if value.__class__ in _ATOMS or isinstance(value, type) or id(value) in seen:
                continue
            seen[id(value)] = value
            if self.is_source(value):
                pending.extend(value)
            for field in fields:
                if field in getattr(value, "__dict__", (field,)):
                    pending.append(getattr(value, field, None))
        return list(seen.values())


class _Naive(ast.NodeTransformer):
    """Equality and membership as a query means them; everything else is Python's."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [self.visit(s) for s in (node.left, *node.comparators)]
        tests = [self._one(a, op, b) for a, op, b in zip(sides, node.ops, sides[1:], strict=False)]
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)

    def _one(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
        match op:
            case ast.Eq() | ast.NotEq():
                test = _call("__equal__", left, right)
            case ast.In() | ast.NotIn() if _is_selector(right):
                test = _call("__holds__", right, left)
            case _:
                return ast.Compare(left, [op], [right])
        return test if isinstance(op, ast.Eq | ast.In) else ast.UnaryOp(ast.Not(), test)


def naive_test(test: Test, values: Values, steady: bool = False) -> Callable[[dict[str, Any]], Any]:
    """The value of a condition or result for a combination of variables; raises where Python does."""
    source = ast.parse(test.expr.text, mode="eval").body
    if isinstance(source, ast.Name) and source.id in test.names:
        name = source.id
        return lambda env: env[name]
    names = sorted(test.names)
    body = _Naive().visit(source)
    if steady and any(isinstance(n, ast.BinOp | ast.Call | ast.UnaryOp) for n in ast.walk(source)):
        body = _call("__steady__", body)
    arguments = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
    tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
    scope = {"__equal__": values.equal, "__holds__": values.holds, "__steady__": values.steady}
    scope.update(_outside(tree, set(names) | set(scope), values))
    function = eval(compile(tree, "<definition>", "eval"), scope)
    if len(names) == 1:
        (only,) = names
        return lambda env: function(env[only])
    return lambda env: function(*[env[n] for n in names])


def _outside(tree: ast.AST, inside: set[str], values: Values) -> dict[str, Any]:
    """The modules that a condition calls (`math.sqrt`), as the program imports them."""
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) or node.id in inside or hasattr(builtins, node.id):
            continue
        for module in values.compiled.program.modules:
            binding = module.bindings.get(node.id)
            if binding is not None and isinstance(binding.node, ast.Import):
                alias = next(a for a in binding.node.names if (a.asname or a.name) == node.id)
                found[node.id] = importlib.import_module(alias.name)
    return found


def _call(function: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(function, ast.Load()), list(args), [])


def _is_selector(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
