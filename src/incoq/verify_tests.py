"""What values and conditions mean inside a query, written a second time for `verify`.

The generated code has its own account of the same (`codegen/prelude.py`); this one shares nothing with it.
"""

from __future__ import annotations

import ast
import builtins
import heapq
import importlib
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from incoq.frontend.program import Binding
from incoq.frontend.pure import MODULE_PREFIX, PURE_MODULES, VALUE_CLASSES
from incoq.ir.expressions import FITS, ITERABLE, clone
from incoq.ir.objects import Aggregate
from incoq.ir.relational import Test

if TYPE_CHECKING:
    from incoq.compile import Compiled

Env = dict[str, Any]

_ATOMS = frozenset({int, float, bool, complex, type(None), type})


def is_nan(value: Any) -> bool:
    """A number of Python's own that does not equal itself."""
    if value.__class__ is Decimal:
        return bool(value.is_nan())
    return value.__class__ in (float, complex) and bool(value != value)


class _Unused:
    """A class that has no objects."""

    __hash__ = None  # type: ignore[assignment]


class Values:
    """The values of one running program: what a set is there, what is equal, what is a source."""

    def __init__(self, compiled: Compiled, namespace: Mapping[str, Any]) -> None:
        names = compiled.support.names
        self.set_class: type = namespace[names["Set"]]
        # The output leaves out what the program does not use.
        self.nan: float = namespace.get(names["NAN"], math.nan)
        self.nans: dict[str, Any] = namespace.get(names["NANS"], {})
        self.missing: Any = namespace.get(names["MISSING"])
        self.dict_class: Any = namespace.get(names["Dict"], _Unused)
        self.list_class: Any = namespace.get(names["List"], _Unused)
        self.nested_set: Any = namespace.get("SetOf", _Unused)
        seen = (self.set_class, self.dict_class, self.list_class)
        self.sources: tuple[type, ...] = (*seen, frozenset, tuple, range)
        self.compiled, self.namespace = compiled, namespace

    def is_set(self, value: Any) -> bool:
        """A set whose content is watched."""
        return isinstance(value, self.set_class | self.dict_class | self.list_class)

    def is_source(self, value: Any) -> bool:
        """What a membership may iterate over."""
        return isinstance(value, self.sources)

    def can_be_iterated(self, value: Any) -> bool:
        cls = value.__class__
        return hasattr(cls, "__iter__") or hasattr(cls, "__getitem__")

    def same(self, left: Any, right: Any) -> bool:
        """Equal as keys of a dict are, containers by identity."""
        if left is right:
            return True
        if isinstance(left, set | dict | list) or isinstance(right, set | dict | list):
            return False
        return self.equal(left, right)

    def equal(self, left: Any, right: Any) -> bool:
        """`==` in a condition: as Python's, sets by identity; so NaN is not equal to itself."""
        if isinstance(left, set | frozenset) and isinstance(right, set | frozenset):
            return left is right or (
                left == right and not isinstance(left, set) and not isinstance(right, set)
            )
        if isinstance(left, tuple) and isinstance(right, tuple):
            return len(left) == len(right) and all(map(self.same, left, right))
        return bool(left == right)

    def holds(self, collection: Any, element: Any) -> bool:
        """`element in collection`."""
        if isinstance(collection, tuple | list):
            return any(self.same(element, e) for e in collection)
        if self.is_source(collection) or isinstance(collection, str | bytes):
            if not isinstance(collection, range) and isinstance(element, list | dict | tuple):
                self.fit(element)
            return element in collection
        raise TypeError("holds nothing")

    def fit(self, element: Any) -> bool:
        """Raise for what no set can hold, be it a list that a query has reached and that has a hash since."""
        if type(element).__hash__ in (self.list_class.__hash__, self.dict_class.__hash__, None):
            raise TypeError("unhashable")
        for part in element if isinstance(element, tuple) else ():
            self.fit(part)
        hash(element)
        return True

    @contextmanager
    def as_in_python(self) -> Iterator[None]:
        """Meanwhile no list or dict has a hash, not even one that a compiled query has reached."""
        classes = {self.list_class, self.dict_class}
        hashes = {cls: cls.__hash__ for cls in classes}
        for cls in classes:
            cls.__hash__ = None
        try:
            yield
        finally:
            for cls, own in hashes.items():
                cls.__hash__ = own

    def distinct(self, sequence: Iterable[Any]) -> list[Any]:
        """The elements of a sequence, each once; one that no query has reached may have no hash."""
        found: dict[Any, Any] = {}
        for element in sequence:
            found.setdefault(_as_key(element), element)
        return list(found.values())

    def steady(self, value: Any) -> Any:
        """A computed value with the program's one NaN for every NaN."""
        if value.__class__ is tuple:
            return tuple(map(self.steady, value))
        if not is_nan(value):
            return value
        return self.nan if value.__class__ is float else self.nans.get(str(value), value)

    def present(self, value: Any) -> Any:
        """The value of a nested aggregate in a condition, which raises where there is none."""
        if value is self.missing:
            raise ValueError("no value")
        return value

    def own(self, value: Any) -> Any:
        """A key or row of a structure, with nested sets, kept as an object each, by what they hold."""
        if value.__class__ is tuple:
            return tuple(map(self.own, value))
        return frozenset(value) if isinstance(value, self.nested_set) else value

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
            if isinstance(value, str | bytes) and len(value) > 1:  # one letter is its own part
                pending.extend(value)
            if isinstance(value, self.dict_class):
                pending.extend(value.values())
            for field in fields:
                if field in getattr(value, "__dict__", (field,)):
                    pending.append(getattr(value, field, None))
        return list(seen.values())


def _as_key(value: Any) -> Any:
    """A value as a key, lists and dicts by identity."""
    if isinstance(value, tuple):
        return tuple(map(_as_key, value))
    return (_Unused, id(value)) if isinstance(value, list | dict) else value


class _Naive(ast.NodeTransformer):
    """Equality and membership as a query means them; everything else is Python's."""

    def __init__(self, fallible: frozenset[str]) -> None:
        self.fallible = fallible

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in (FITS, ITERABLE):
            return ast.Name("__fit__" if node.id == FITS else "__iterable__", ast.Load())
        return _call("__present__", node) if node.id in self.fallible else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        written = [node.left, *node.comparators]
        selectors = [_is_selector(s) for s in written]
        sides = [self.visit(s) for s in written]
        tests = [
            self._one(a, op, b, selector)
            for a, op, b, selector in zip(sides, node.ops, sides[1:], selectors[1:], strict=False)
        ]
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)

    def _one(self, left: ast.expr, op: ast.cmpop, right: ast.expr, selector: bool) -> ast.expr:
        match op:
            case ast.Eq() | ast.NotEq():
                test = _call("__equal__", left, right)
            case ast.In() | ast.NotIn() if selector:
                test = _call("__holds__", right, left)
            case _:
                return ast.Compare(left, [op], [right])
        return test if isinstance(op, ast.Eq | ast.In) else ast.UnaryOp(ast.Not(), test)


def naive_test(
    test: Test, values: Values, fallible: frozenset[str] = frozenset(), steady: bool = False
) -> Callable[[Env], Any]:
    """The value of a condition or result for a combination of variables; raises where Python does.

    Variables in `fallible` stand for nested aggregates: reading one that has no value raises.
    """
    source = clone(test.expr.node)
    if isinstance(source, ast.Name) and source.id in test.names - fallible:
        name = source.id
        return lambda env: env[name]
    names = sorted(test.names)
    computed = any(isinstance(n, ast.BinOp | ast.Call | ast.UnaryOp) for n in ast.walk(source))
    body = _Naive(fallible).visit(source)
    if steady and computed:
        body = _call("__steady__", body)
    arguments = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
    tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
    scope = {
        "__equal__": values.equal,
        "__holds__": values.holds,
        "__fit__": values.fit,
        "__iterable__": lambda value: (iter(value), True)[1],
        "__steady__": values.steady,
        "__present__": values.present,
    }
    scope.update(_outside(tree, set(names) | set(scope), values))
    function = eval(compile(tree, "<definition>", "eval"), scope)
    if len(names) == 1:
        (only,) = names
        return lambda env: function(env[only])
    return lambda env: function(*[env[n] for n in names])


def _outside(tree: ast.AST, inside: set[str], values: Values) -> dict[str, Any]:
    """The modules and functions that a condition calls (`math.sqrt`), as the program imports them."""
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) or node.id in inside or hasattr(builtins, node.id):
            continue
        if node.id.startswith(MODULE_PREFIX):
            found[node.id] = importlib.import_module(node.id.removeprefix(MODULE_PREFIX))
            continue
        for module in values.compiled.program.modules:
            match module.bindings.get(node.id):
                case Binding(node=ast.Import(names=aliases)):
                    alias = next(a for a in aliases if (a.asname or a.name) == node.id)
                    found[node.id] = importlib.import_module(alias.name)
                case Binding(node=ast.ImportFrom(module=str(home), names=aliases, level=0)) if (
                    home in PURE_MODULES or home in VALUE_CLASSES
                ):
                    alias = next(a for a in aliases if (a.asname or a.name) == node.id)
                    found[node.id] = getattr(importlib.import_module(home), alias.name)
    return found


def _call(function: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(function, ast.Load()), list(args), [])


def _is_selector(node: ast.expr) -> bool:
    """A selector, or a choice of such."""
    match node:
        case ast.IfExp(body=one, orelse=other):
            return _is_selector(one) and _is_selector(other)
        case ast.BoolOp(values=values):
            return all(map(_is_selector, values))
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


# -- aggregates --------------------------------------------------------------------------------------------


def naive_aggregate(aggregate: Aggregate, elements: list[Any], values: Values) -> Any:
    """An aggregate of the elements of all combinations, or `MISSING` where Python raises."""
    bag = list(dict.fromkeys(elements)) if aggregate.distinct else elements
    arguments = [eval(a.text, {}) for a in aggregate.arguments]
    try:
        match aggregate.kind:
            case "len":
                return len(bag)
            case "sum":
                return values.steady(sum(bag, *arguments))
            case "any":
                return any(bag)
            case "all":
                return all(bag)
            case "exists":
                return bool(bag)
            case "min" | "max":
                extreme: Any = min if aggregate.kind == "min" else max
                return extreme(bag, default=arguments[0]) if arguments else extreme(bag)
            case "mean":
                return values.steady(statistics.mean(bag))
            case "smallest":
                if arguments[1:]:
                    return sorted(bag)[: arguments[0]]
                return heapq.nsmallest(arguments[0], bag if aggregate.distinct else iter(bag))
            case "value":
                return bag[0]
            case "set":
                return frozenset(bag)
            case "dict":
                return dict(bag)
    except Exception:
        return values.missing
    raise AssertionError(aggregate.kind)


def kept_value(aggregate: Aggregate, kept: Any, missing: Any) -> Any:
    """The value of a maintained aggregate, which may be kept as a number or as counts of its elements."""
    if isinstance(kept, int | dict):
        number = kept if isinstance(kept, int) else len(kept)
        return {"len": number, "all": number == 0}.get(aggregate.kind, number > 0)
    try:
        value = kept.value()
        return frozenset(value) if value is kept else value  # a nested set is its own value
    except Exception:
        return missing


def agree(expected: Any, found: Any) -> bool:
    """Are two values of an aggregate equal? Floats are added in different orders."""
    if expected is found or (expected != expected and found != found):
        return True
    if isinstance(expected, float) or isinstance(found, float):
        try:
            return math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-9)
        except TypeError:
            return False
    return bool(expected == found)
