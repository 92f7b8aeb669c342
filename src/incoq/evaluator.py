"""Evaluate object queries straightforwardly (paper, section 2): the uncompiled run, the oracle of all tests.

Before:    {u.email for u in celeb.followers if u in group if u.loc == "NYC"}
After:     for u in celeb.followers:
               if u not in group: continue
               if u.loc != "NYC": continue
               answer.add(u.email)
Invariant: a loop, test or condition stands where all variables that it reads are bound, so that the order in
           which the clauses were written has no meaning; a combination whose evaluation raises is skipped.
Cost:      #s1 × ... × #sk × (time(conditions) + time(result)), si the sources of the memberships that bind

Every comprehension becomes one plain function of nested loops, with the outer variables that it reads as its
parameters; a generator becomes a generator function. All of them stand in a factory whose parameters are the
helpers below, under names that the query does not use.
"""

from __future__ import annotations

import ast
import builtins
import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeVar

from incoq.errors import IncoqRuntimeError
from incoq.objects import Set, View

Scope = Mapping[str, str]
"""The variables that are visible, each with its name in the generated function."""

Comprehension = ast.SetComp | ast.ListComp | ast.GeneratorExp | ast.DictComp

Node = TypeVar("Node", bound=ast.AST)

_EVALUATOR = "__incoq_evaluator__"  # kept by the function: it refers to what refers to the function
_READ = "__incoq_read__"  # the same for a function that a query calls


def evaluate(query_function: Any, *args: Any, **kwargs: Any) -> Any:
    """The answer of a query, given as a `Query` or as the function that it decorates; no demand is noted."""
    function = getattr(query_function, "__wrapped__", query_function)
    while isinstance(function, MethodType):
        args, function = (function.__self__, *args), function.__func__
    kept = vars(function).get(_EVALUATOR)
    if kept is None or kept[0] is not function:  # `functools.wraps` hands on what a function keeps
        kept = vars(function)[_EVALUATOR] = (function, compile_function(function))
    return kept[1](*args, **kwargs)


def compile_function(function: FunctionType, demand: Sequence[str] | None = None) -> Callable[..., Any]:
    """The evaluator of a query function; without its source, what Python makes of it."""
    definition = _definition(function)
    if definition is None:
        return lambda *args, **kwargs: _owned(function(*args, **kwargs))
    return compile_naive(definition, function.__globals__, like=function, demand=demand)


def compile_naive(
    function_def: ast.FunctionDef,
    globals: Mapping[str, Any],
    *,
    like: FunctionType | None = None,
    demand: Sequence[str] | None = None,
    prepare: Callable[[ast.Module], object] | None = None,
    is_query: bool = True,
) -> Callable[..., Any]:
    """Generate the evaluator of a query function, or of one that a query calls.

    Names that are neither parameters nor found in `globals`, in the closure of `like` or among the builtins
    are variables of the query. `like` is the function itself, where there is one; `demand` its demand
    parameters, from which every parameter must be reachable. `prepare` may change the code, to count in it.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))  # as the compiler does: expressions may be deep
    try:
        return _compile_naive(function_def, globals, like, demand, prepare, is_query)
    except RecursionError:
        raise IncoqRuntimeError("IQ104", f"an expression of {function_def.name} is nested too deep") from None
    finally:
        sys.setrecursionlimit(limit)


def _compile_naive(
    function_def: ast.FunctionDef,
    globals: Mapping[str, Any],
    like: FunctionType | None,
    demand: Sequence[str] | None,
    prepare: Callable[[ast.Module], object] | None,
    is_query: bool,
) -> Callable[..., Any]:
    definition = copy.deepcopy(function_def)
    cells = dict(zip(like.__code__.co_freevars, like.__closure__ or (), strict=True)) if like else {}
    if like is not None:
        _mangle(definition, like)
    namespace = globals if isinstance(globals, dict) else dict(globals)
    compiler = _Compiler(definition, namespace, cells, demand, is_query)
    factory = compiler.factory(like is None)
    filename = like.__code__.co_filename if like else "<query>"
    module = _inside(factory, sorted(cells))
    if prepare is not None:
        prepare(module)
    code = _code_of(module, filename, factory.name)
    make = FunctionType(code, namespace, factory.name, None, tuple(cells[n] for n in code.co_freevars))
    helpers = {**HELPERS, "read": partial(_read, namespace.get("__name__"))}
    evaluator: FunctionType = make(*helpers.values())
    if like is not None:
        evaluator.__defaults__ = like.__defaults__
    return evaluator


def _definition(function: FunctionType) -> ast.FunctionDef | None:
    """The definition of a function, placed as in its file; None where its source cannot be had."""
    import inspect

    try:
        lines, first = inspect.getsourcelines(function)
        before = lines[0][: -len(lines[0].lstrip())]
        indented = bool(before.rpartition("\f")[2])  # what precedes a form feed does not count
        tree = ast.parse("".join(["if True:\n", *lines] if indented else lines))
    except (OSError, TypeError, SyntaxError):
        return None
    ast.increment_lineno(tree, first - 1 - indented)
    params = function.__code__.co_varnames[: function.__code__.co_argcount]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            return node if _parameters(node) == params else None
    return None


def _parameters(definition: ast.FunctionDef) -> tuple[str, ...]:
    return tuple(a.arg for a in definition.args.posonlyargs + definition.args.args)


def _mangle(definition: ast.FunctionDef, function: FunctionType) -> None:
    """Give private names (`self.__x`) the form that they have inside the class of a method."""
    owner = function.__qualname__.split(".")[-2:-1]
    stem = owner[0].lstrip("_") if owner else ""
    if stem in ("", "<locals>"):
        return
    for node in ast.walk(definition):
        for attribute in ("id", "attr", "arg"):
            name = getattr(node, attribute, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(node, attribute, f"_{stem}{name}")


def _inside(factory: ast.FunctionDef, cells: Sequence[str]) -> ast.Module:
    """A function around the factory, in which the closure variables of the query are variables."""
    arguments = ast.arguments([], [ast.arg(c) for c in cells], None, [], [], None, [])
    outside = ast.FunctionDef(f"{factory.name}_closure", arguments, [factory], [], None)
    return ast.fix_missing_locations(ast.Module([outside], []))


def _code_of(module: ast.Module, filename: str, name: str) -> CodeType:
    pending = [compile(module, filename, "exec")]
    for code in pending:
        if code.co_name == name:
            return code
        pending.extend(c for c in code.co_consts if isinstance(c, CodeType))
    raise AssertionError(name)


# -- helpers of the generated functions ----------------------------------------------------------------------

_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_SOURCES = (set, frozenset, tuple, list, range, dict, str, *_VIEWS, View)
_EXACT = frozenset({Set, *_SOURCES})
_BAGS: tuple[type, ...] = (list, tuple, type({}.values()))
_ITEMS: type = type({}.items())


def _source(value: Any) -> Any:
    """`value` as the source of a membership; TypeError, and so a skip, where it cannot be iterated."""
    if value.__class__ in _EXACT or isinstance(value, _SOURCES):
        return value
    kind = type(value)
    if getattr(kind, "__iter__", None) is None and not hasattr(kind, "__getitem__"):
        raise TypeError(f"{kind.__name__!r} object is not iterable")
    raise IncoqRuntimeError("IQ301", f"a membership in a {kind.__name__!r} object cannot be maintained")


def _rows(value: Any, size: int) -> list[tuple[Any, ...]]:
    """The tuples of this size in a source."""
    return [element for element in _source(value) if isinstance(element, tuple) and len(element) == size]


def _once(value: Any) -> Any:
    """`value` with each element once: `if x in l` asks whether a list holds it, not how often."""
    if not isinstance(value, _BAGS):
        return value
    bag: Any = value
    found: list[Any] = []
    for element in bag:
        if not any(_same(element, other) for other in found):
            found.append(element)
    return found


def _container(value: Any) -> Any:
    """`value` as the right side of a membership test."""
    if isinstance(value, (*_BAGS, _ITEMS)):
        bag: Any = value
        return _Bag(bag)
    return _source(value)


class _Bag:
    """A sequence in which sets, lists and dicts are found by identity, as sets are in a set; or entries of a
    dict, whose values are compared in that way."""

    __slots__ = ("elements",)

    def __init__(self, elements: Iterable[Any]) -> None:
        self.elements = elements

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (*_CHANGING, frozenset, tuple)):
            return any(_same(element, other) for other in self.elements)
        return element in self.elements


_SETS = (set, frozenset)
_CHANGING = (set, list, dict)


def _alike(left: Any, right: Any) -> bool:
    """Of two values that Python holds equal: are they so in a query, where sets are equal by identity?"""
    if isinstance(left, set) or isinstance(right, set):
        return left is right or not (isinstance(left, _SETS) and isinstance(right, _SETS))
    if isinstance(left, tuple) and isinstance(right, tuple):
        return all(map(_alike, left, right))
    return True


def _keyed(left: Any, right: Any) -> bool:
    """May two values that are joined, as keys of a dict are, be equal? Lists and dicts by identity, too; they
    are not compared, since they may hold themselves."""
    if isinstance(left, _CHANGING) or isinstance(right, _CHANGING):
        return left is right or not (
            isinstance(left, (*_CHANGING, frozenset)) and isinstance(right, (*_CHANGING, frozenset))
        )
    if isinstance(left, tuple) and isinstance(right, tuple):
        return all(map(_keyed, left, right))
    return True


def _same(left: Any, right: Any) -> bool:
    """Equality of values that are joined, as keys of a dict are compared."""
    return left is right or bool(_keyed(left, right) and left == right)


def _count(bag: Iterable[Any]) -> int:
    return sum(1 for _ in bag)


def _owned(answer: Any) -> Any:
    """An answer that Python computed; a plain set becomes a `Set`."""
    return Set(answer) if type(answer) is set else answer


def _copied(answer: Any) -> Any:
    """An answer that may be an object of the program: a set is copied, since an answer is the caller's."""
    return Set(answer) if isinstance(answer, set) else answer


_NANS: dict[tuple[type, str], Any] = {}


def _steady(value: Any) -> Any:
    """A computed value; every NaN is one, as it is where deletion has to find what addition put."""
    kind = type(value)
    if kind is tuple:
        return tuple(map(_steady, value))
    is_number = kind in (float, complex) or kind.__module__ == "decimal"
    if is_number and (value.is_nan() if kind.__module__ == "decimal" else value != value):
        return _NANS.setdefault((kind, str(value)), value)
    return value


def _read(module: object, function: Any) -> Any:
    """What a query of a module calls. A function of it that is one `return` is read as if it stood in the
    query: what raises in a comprehension of it skips an element, and the others count."""
    if type(function) is not FunctionType or function.__globals__.get("__name__") != module:
        return function
    kept = vars(function).get(_READ)
    if kept is None or kept[0] is not function:
        kept = vars(function)[_READ] = (function, _read_anew(function))
    return kept[1]


def _read_anew(function: FunctionType) -> Callable[..., Any]:
    definition = _definition(function)
    if definition is None or definition.decorator_list:
        return function
    match definition.body:
        case [*before, ast.Return(value=ast.expr() as value)] if all(isinstance(s, ast.Expr) for s in before):
            if any(isinstance(node, ast.Call | Comprehension) for node in ast.walk(value)):
                try:
                    return compile_naive(definition, function.__globals__, like=function, is_query=False)
                except IncoqRuntimeError:
                    pass  # no part of a query, and called as it is
    return function


HELPERS: dict[str, Any] = {
    "read": _read,
    "Set": Set,
    "source": _source,
    "rows": _rows,
    "once": _once,
    "container": _container,
    "alike": _alike,
    "keyed": _keyed,
    "same": _same,
    "count": _count,
    "owned": _owned,
    "copied": _copied,
    "steady": _steady,
    "is_a": isinstance,
    "tuple": tuple,
    "size": len,
    "endless": RecursionError,
    "fault": (IncoqRuntimeError, MemoryError, RecursionError),
    "failure": Exception,
}


# -- patterns and clauses ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Variable:
    name: str


@dataclass(frozen=True)
class _Wildcard:
    pass


@dataclass(frozen=True)
class _Value:
    """A constant, or an expression over other variables: equal to the component, as a join is."""

    expr: ast.expr
    needs: frozenset[str]


@dataclass(frozen=True, eq=False)
class _Parts:
    parts: tuple[_Pattern, ...]


_Pattern = _Variable | _Wildcard | _Value | _Parts


@dataclass(frozen=True, eq=False)
class _Membership:
    node: ast.expr  # as written, for positions
    pattern: _Pattern
    source: ast.expr
    needs: frozenset[str]  # variables of the source
    by_for: bool = False  # a list gives `for` an element as often as it holds it, but not `if`


@dataclass(frozen=True, eq=False)
class _Condition:
    node: ast.expr
    expr: ast.expr
    needs: frozenset[str]


@dataclass(frozen=True, eq=False)
class _Loop:
    """A membership that enumerates its source."""

    membership: _Membership


_Clause = _Membership | _Condition
_Step = _Clause | _Loop  # a membership as a step is a test


def _leaves(pattern: _Pattern) -> Iterator[_Variable | _Wildcard | _Value]:
    if isinstance(pattern, _Parts):
        for part in pattern.parts:
            yield from _leaves(part)
    else:
        yield pattern


def _variables(pattern: _Pattern) -> frozenset[str]:
    return frozenset(leaf.name for leaf in _leaves(pattern) if isinstance(leaf, _Variable))


def _is_test(clause: _Clause, bound: AbstractSet[str]) -> bool:
    """Can the clause be evaluated without a loop, all its variables being bound?"""
    if isinstance(clause, _Condition):
        return clause.needs <= bound
    return clause.needs <= bound and all(_is_bound(leaf, bound) for leaf in _leaves(clause.pattern))


def _is_bound(leaf: _Variable | _Wildcard | _Value, bound: AbstractSet[str]) -> bool:
    match leaf:
        case _Variable(name):
            return name in bound
        case _Value(_, needs):
            return needs <= bound
    return False


def _is_loop(clause: _Clause, bound: AbstractSet[str]) -> bool:
    """Can the clause be enumerated, and does that bind anything?"""
    if isinstance(clause, _Condition) or not clause.needs <= bound:
        return False
    has_wildcard = any(isinstance(leaf, _Wildcard) for leaf in _leaves(clause.pattern))
    return has_wildcard or not _variables(clause.pattern) <= bound


def _equated(clauses: Iterable[_Clause], reached: AbstractSet[str]) -> set[str]:
    """Parameters whose value an equality with a field of something reached determines: `u.id == uid`."""
    found: set[str] = set()
    for clause in clauses:
        match clause:
            case _Condition(node=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
                for side, other in ((left, right), (right, left)):
                    names = {n.id for n in ast.walk(other) if isinstance(n, ast.Name)}
                    if isinstance(side, ast.Name) and isinstance(other, ast.Attribute) and names <= reached:
                        found.add(side.id)
    return found


def _reached(clauses: Iterable[_Clause], bound: Iterable[str]) -> set[str]:
    """The variables that memberships reach from those that are bound (paper, section 2)."""
    reached = set(bound)
    memberships = [c for c in clauses if isinstance(c, _Membership)]
    while True:
        more = [c for c in memberships if c.needs <= reached and not _variables(c.pattern) <= reached]
        if not more:
            return reached
        reached.update(*(_variables(c.pattern) for c in more))


def _conjuncts(condition: ast.expr) -> Iterator[ast.expr]:
    """`a and b` holds, and raises nothing, exactly when `a` and `b` do as two clauses."""
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        for value in condition.values:
            yield from _conjuncts(value)
    else:
        yield condition


def _written_clauses(node: Comprehension) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """(left, source) of each membership and (None, expression) of each condition, in written order."""
    for generator in node.generators:
        yield generator.target, generator.iter
        for condition in (c for test in generator.ifs for c in _conjuncts(test)):
            match condition:
                case ast.Compare(left=left, ops=[ast.In()], comparators=[source]):
                    yield left, source
                case _:
                    yield None, condition


def _pattern_names(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Name(id=name) if name != "_":
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts, ctx=ast.Store()):
            for part in parts:
                yield from _pattern_names(part)


# -- small pieces of syntax ----------------------------------------------------------------------------------


def _name(identifier: str) -> ast.Name:
    return ast.Name(identifier, ast.Load())


def _store(identifier: str) -> ast.Name:
    return ast.Name(identifier, ast.Store())


def _compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.Compare:
    return ast.Compare(left, [op], [right])


def _not(expr: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), expr)


def _method(target: str, method: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(_name(target), method, ast.Load()), list(args), [])


def _is_selector(node: ast.expr) -> bool:
    """A variable, a selector, or the view of a dict that one holds."""
    match node:
        case ast.Name():
            return True
        case ast.Attribute(value=value):
            return _is_selector(value)
        case ast.Call(func=ast.Attribute(attr="items" | "keys" | "values"), args=[], keywords=[]):
            assert isinstance(node.func, ast.Attribute)
            return _is_selector(node.func.value)
    return False


def _is_literal(node: ast.expr) -> bool:
    """A constant, or a display of constants, of which Python's own `in` needs no help."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return all(isinstance(part, ast.Constant) for part in parts)
    return isinstance(node, ast.Constant)


def _is_never_set(node: ast.expr) -> bool:
    """An expression whose value is surely no set and no tuple that holds one."""
    match node:
        case ast.BinOp(op=ast.Sub() | ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Add() | ast.Mult()):
            return _is_never_set(node.left) and _is_never_set(node.right)
        case ast.Tuple(elts=parts):
            return all(map(_is_never_set, parts))
    kinds = ast.Constant | ast.JoinedStr | ast.UnaryOp | ast.BinOp | ast.List | ast.Dict | ast.ListComp
    return isinstance(node, kinds)


# -- generation ----------------------------------------------------------------------------------------------


class _Compiler:
    """Generates the functions of one query: names, helpers, and what the query may read."""

    def __init__(
        self,
        definition: ast.FunctionDef,
        globals: Mapping[str, Any],
        cells: Mapping[str, Any],
        demand: Sequence[str] | None,
        is_query: bool,
    ) -> None:
        self.definition, self.globals, self.cells, self.is_query = definition, globals, cells, is_query
        self.params = _parameters(definition)
        self.demand = self.params if demand is None else tuple(demand)
        self.undemanded = set(self.params) - set(self.demand)
        self.taken = set(cells)
        for node in ast.walk(definition):
            self.taken.update(str(getattr(node, attribute, "")) for attribute in ("id", "name", "arg"))
        self.helpers = {helper: self.fresh(f"_{helper}") for helper in HELPERS}
        self.functions: list[ast.stmt] = []

    def fresh(self, stem: str) -> str:
        """A name that nothing else has."""
        name, number = stem, 1
        while name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        return name

    def call(self, helper: str, *args: ast.expr) -> ast.expr:
        return ast.Call(_name(self.helpers[helper]), list(args), [])

    def container(self, source: ast.expr) -> ast.expr:
        """The right side of a membership test."""
        return source if _is_literal(source) else self.call("container", source)

    def is_known(self, name: str) -> bool:
        """Is the name one of the program's, and so no variable of the query?"""
        return name in self.cells or name in self.globals or hasattr(builtins, name)

    def is_of_program(self, name: str, scope: Scope) -> bool:
        return name not in scope and (name in self.cells or name in self.globals)

    def is_builtin(self, node: ast.expr, scope: Scope, *names: str) -> bool:
        if not isinstance(node, ast.Name) or node.id not in names:
            return False
        return node.id not in scope and node.id not in self.cells and node.id not in self.globals

    def refuse(self, code: str, message: str, node: ast.AST) -> IncoqRuntimeError:
        line = getattr(node, "lineno", self.definition.lineno)
        return IncoqRuntimeError(code, f"{self.definition.name}, line {line}: {message}")

    def factory(self, with_defaults: bool) -> ast.FunctionDef:
        """The function that, given the helpers, makes the evaluator; a query gives its caller a copy."""
        arguments = self._plain_arguments(with_defaults)
        value = self._result()
        scope = {p: p for p in self.params}
        rewriter = _Rewriter(self, scope, outermost=True)
        answer = rewriter.visit(value)
        if self.undemanded:
            missing = ", ".join(p for p in self.params if p in self.undemanded)
            raise self.refuse("IQ207", f"{missing} is not reachable from the demand parameters", value)
        if not self.is_query:
            pass
        elif isinstance(value, ast.Name | ast.Attribute | ast.BoolOp | ast.IfExp):
            answer = self.call("copied", answer)
        elif not self.is_builtin(getattr(value, "func", value), scope, "min", "max"):
            answer = self.call("owned", answer)
        name = self.definition.name
        evaluator = ast.FunctionDef(name, arguments, [ast.Return(answer)], [], None)
        ast.copy_location(evaluator, self.definition)
        helpers = ast.arguments([], [ast.arg(h) for h in self.helpers.values()], None, [], [], None, [])
        body = [*self.functions, evaluator, ast.Return(_name(name))]
        factory = ast.FunctionDef(self.fresh("_factory"), helpers, body, [], None)
        return ast.copy_location(factory, self.definition)

    def _plain_arguments(self, with_defaults: bool) -> ast.arguments:
        given = self.definition.args
        if given.vararg or given.kwarg or given.kwonlyargs:
            message = f"`{self.definition.name}` has starred or keyword-only parameters"
            raise self.refuse("IQ210", message, self.definition)
        defaults: list[ast.expr] = [d if with_defaults else ast.Constant(None) for d in given.defaults]
        names = [[ast.arg(a.arg) for a in group] for group in (given.posonlyargs, given.args)]
        return ast.arguments(names[0], names[1], None, [], [], None, defaults)

    def _result(self) -> ast.expr:
        """What the query returns; a docstring may precede it."""
        body = self.definition.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        match body:
            case [ast.Return(value=ast.GeneratorExp() as value)]:
                raise self.refuse("IQ209", "a generator is no answer", value)
            case [ast.Return(value=ast.expr() as value)]:
                return value
        raise self.refuse("IQ200", f"the body of `{self.definition.name}` is not one return", self.definition)

    def own_comprehension(self) -> ast.expr:
        """What the query returns, or returns an aggregate of."""
        match self._result():
            case ast.Call(args=args) | ast.Subscript(value=ast.Call(args=args), slice=ast.Slice()) if args:
                return next((a for a in args if isinstance(a, Comprehension)), args[0])
            case value:
                return value

    def note_reached(self, clauses: Sequence[_Clause]) -> None:
        """Parameters that the demand parameters reach in an outermost comprehension."""
        reached = _reached(clauses, self.demand)
        self.undemanded -= reached | _equated(clauses, reached)


class _Rewriter(ast.NodeTransformer):
    """Gives an expression its meaning inside a query, and notes the variables that it reads."""

    def __init__(self, compiler: _Compiler, scope: Scope, outermost: bool = False) -> None:
        self.compiler, self.scope, self.outermost = compiler, scope, outermost
        self.used: dict[str, None] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.scope:
            self.used.setdefault(self.scope[node.id])
            return ast.copy_location(_name(self.scope[node.id]), node)
        if self.compiler.is_known(node.id):
            return node
        if node.id == "_":
            raise self.compiler.refuse("IQ209", "`_` is a wildcard and cannot be read", node)
        raise self.compiler.refuse("IQ201", f"`{node.id}` is not reachable from a parameter", node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        arguments = node.args
        own = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        own |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
        arguments.defaults = [self.visit(d) for d in arguments.defaults]
        arguments.kw_defaults = [d and self.visit(d) for d in arguments.kw_defaults]
        inside = _Rewriter(self.compiler, {**self.scope, **{name: name for name in own}})
        node.body = inside.visit(node.body)
        self.used.update((name, None) for name in inside.used if name not in own)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(args=[ast.GeneratorExp(elt=elt, generators=generators) as bag], keywords=[]):
                if self.compiler.is_builtin(node.func, self.scope, "set", "frozenset"):
                    node.args = [ast.copy_location(ast.SetComp(elt, generators), bag)]
                elif self.compiler.is_builtin(node.func, self.scope, "len"):
                    return ast.copy_location(self.compiler.call("count", self.visit(bag)), node)
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and self.compiler.is_of_program(node.func.id, self.scope):
            node.func = ast.copy_location(self.compiler.call("read", node.func), node.func)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        operands = [self.visit(node.left)]
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            is_membership = isinstance(op, ast.In | ast.NotIn)
            operands.append(self.source(comparator) if is_membership else self.visit(comparator))
        parts: list[ast.expr] = []
        left = operands[0]
        for place, (op, right) in enumerate(zip(node.ops, operands[1:], strict=True)):
            again = right
            if place < len(node.ops) - 1:
                right, again = self._named(right)
            parts.append(ast.copy_location(self._pair(left, op, right), node))
            left = again
        return parts[0] if len(parts) == 1 else ast.copy_location(ast.BoolOp(ast.And(), parts), node)

    def _pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
        match op:
            case ast.In() | ast.NotIn():
                return _compare(left, op, self.compiler.container(right))
            case ast.Eq() | ast.NotEq() if not (_is_never_set(left) or _is_never_set(right)):
                left, left_again = self._named(left)
                right, right_again = self._named(right)
                alike = self.compiler.call("alike", left_again, right_again)
                if isinstance(op, ast.Eq):
                    same = ast.BoolOp(ast.Or(), [_compare(left_again, ast.Is(), right_again), alike])
                    return ast.BoolOp(ast.And(), [_compare(left, op, right), same])
                other = ast.BoolOp(ast.And(), [_compare(left_again, ast.IsNot(), right_again), _not(alike)])
                return ast.BoolOp(ast.Or(), [_compare(left, op, right), other])
        return _compare(left, op, right)

    def _named(self, node: ast.expr) -> tuple[ast.expr, ast.expr]:
        """An expression that also names its value, and that name."""
        if isinstance(node, ast.NamedExpr):
            return node, _name(node.target.id)
        if isinstance(node, ast.Name):
            return node, node
        name = self.compiler.fresh("_value")
        return ast.NamedExpr(_store(name), node), _name(name)

    def source(self, node: ast.expr) -> ast.expr:
        """The source of a membership; a generator there is a bag."""
        if isinstance(node, ast.GeneratorExp):
            node = ast.copy_location(ast.ListComp(node.elt, node.generators), node)
        visited: ast.expr = self.visit(node)
        return visited

    def visit(self, node: Any) -> Any:
        if isinstance(node, ast.SetComp | ast.ListComp | ast.GeneratorExp | ast.DictComp):
            return self._comprehension(node)
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            raise self.compiler.refuse("IQ212", "a query has no effects", node)
        return super().visit(node)

    def _comprehension(self, node: Comprehension) -> ast.expr:
        """The call of the function generated for a comprehension, given the variables that it reads."""
        reader = _Reader(self.compiler, self.scope, node)
        clauses, result = list(reader.clauses()), reader.result()
        if self.outermost:
            self.compiler.note_reached(clauses)
        bound = frozenset(self.scope.values())
        steps = _schedule(self.compiler, clauses, bound)
        reader.check_reachable(steps)
        function = _Emitter(self.compiler, node, bound).function(steps, result, list(reader.reads))
        self.compiler.functions.append(function)
        self.used.update(reader.reads)
        arguments: list[ast.expr] = [_name(name) for name in reader.reads]
        return ast.copy_location(ast.Call(_name(function.name), arguments, []), node)


class _Reader:
    """Reads one comprehension: its variables, its clauses and its result."""

    def __init__(self, compiler: _Compiler, outer: Scope, node: Comprehension) -> None:
        self.compiler, self.outer, self.node = compiler, outer, node
        self.is_own = compiler.is_query and node is compiler.own_comprehension()
        self.own = self._own_variables()
        self.scope = {**outer, **self.own}
        self.reads: dict[str, None] = {}  # variables of the surroundings, in order of first use

    def _own_variables(self) -> dict[str, str]:
        """The variables that the comprehension binds.

        A `for` binds anew what is bound outside, as in Python, but that of the query's own comprehension
        constrains a parameter. An `if` binds the names that nothing else does.
        """
        own: dict[str, str] = {}
        for generator in self.node.generators:
            if generator.is_async:
                raise self.compiler.refuse("IQ212", "an asynchronous clause in a query", generator.target)
            for name in _pattern_names(generator.target):
                if name not in self.outer:
                    own[name] = name
                elif name not in own and not (self.is_own and name in self.compiler.params):
                    own[name] = self.compiler.fresh(name)
        for left, _ in _written_clauses(self.node):
            for name in _pattern_names(left) if left is not None else ():
                if name not in self.outer and not (name in own or self.compiler.is_known(name)):
                    own[name] = name
        return own

    def clauses(self) -> Iterator[_Clause]:
        """The clauses as written; the first source is read in the surroundings, as in Python."""
        first = {**self.scope, **{name: self.outer[name] for name in self.own if name in self.outer}}
        for place, (left, expression) in enumerate(_written_clauses(self.node)):
            rewriter = _Rewriter(self.compiler, self.scope if place else first)
            if left is None:
                condition = rewriter.visit(expression)
                yield _Condition(expression, condition, self._noted(rewriter))
            else:
                source = rewriter.source(expression)
                by_for = any(left is generator.target for generator in self.node.generators)
                yield _Membership(expression, self._pattern(left), source, self._noted(rewriter), by_for)

    def result(self) -> _Condition:
        """The result; that of a dict comprehension is a pair."""
        rewriter = _Rewriter(self.compiler, self.scope)
        if isinstance(self.node, ast.DictComp):
            node = self.node.key
            pair: list[ast.expr] = [rewriter.visit(self.node.key), rewriter.visit(self.node.value)]
            expr: ast.expr = ast.copy_location(ast.Tuple(pair, ast.Load()), node)
        else:
            node = self.node.elt
            expr = rewriter.visit(node)
        return _Condition(node, expr, self._noted(rewriter))

    def check_reachable(self, steps: Iterable[_Step]) -> None:
        """Every variable is bound by a loop, or the query is not well-formed (paper, section 2)."""
        bound = {v for s in steps if isinstance(s, _Loop) for v in _variables(s.membership.pattern)}
        unreached = ", ".join(f"`{name}`" for name, made in self.own.items() if made not in bound)
        if unreached:
            raise self.compiler.refuse("IQ201", f"{unreached} is not reachable from a parameter", self.node)

    def _pattern(self, node: ast.expr) -> _Pattern:
        match node:
            case ast.Name(id="_"):
                return _Wildcard()
            case ast.Name(id=name) if name in self.scope:
                if name not in self.own:
                    self.reads.setdefault(self.scope[name])
                return _Variable(self.scope[name])
            case ast.Tuple(elts=parts) | ast.List(elts=parts, ctx=ast.Store()):
                return _Parts(tuple(self._pattern(part) for part in parts))
            case ast.Starred():
                raise self.compiler.refuse("IQ209", "a starred pattern in a query", node)
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                raise self.compiler.refuse("IQ212", "a query may bind names only", node)
        rewriter = _Rewriter(self.compiler, self.scope)
        expr = rewriter.visit(node)
        return _Value(expr, self._noted(rewriter))

    def _noted(self, rewriter: _Rewriter) -> frozenset[str]:
        outer = set(self.outer.values())
        self.reads.update((name, None) for name in rewriter.used if name in outer)
        return frozenset(rewriter.used)


def _schedule(compiler: _Compiler, clauses: Sequence[_Clause], bound: AbstractSet[str]) -> list[_Step]:
    """Tests and conditions as soon as their variables are bound; else the first membership that binds, one
    that is written as a `for` if there is any."""
    pending, steps = list(clauses), list[_Step]()
    while pending:
        clause = next((c for c in pending if _is_test(c, bound)), None)
        if clause is not None:
            steps.append(clause)
        else:
            loops = [c for c in pending if isinstance(c, _Membership) and _is_loop(c, bound)]
            if not loops:
                break
            clause = next((c for c in loops if c.by_for), loops[0])
            loop, equalities = _opened(compiler, clause)
            steps.append(_Loop(loop))
            pending.extend(equalities)
            bound = bound | _variables(loop.pattern)
        pending.remove(clause)
    return steps


def _opened(compiler: _Compiler, clause: _Membership) -> tuple[_Membership, list[_Clause]]:
    """A membership to enumerate: each expression in its pattern becomes a variable with an equality."""
    equalities: list[_Clause] = []

    def opened(pattern: _Pattern) -> _Pattern:
        match pattern:
            case _Value(expr, needs):
                name = compiler.fresh("_part")
                equality = compiler.call("same", _name(name), expr)
                if isinstance(expr, ast.Constant):
                    equality = _compare(_name(name), ast.Eq(), expr)
                equalities.append(_Condition(expr, equality, needs | {name}))
                return _Variable(name)
            case _Parts(parts):
                return _Parts(tuple(map(opened, parts)))
        return pattern

    return replace(clause, pattern=opened(clause.pattern)), equalities


_LOOPS = 16  # in one function: Python nests 20 blocks at most


class _Emitter:
    """Writes the function of one comprehension from its steps."""

    def __init__(self, compiler: _Compiler, node: Comprehension, bound: AbstractSet[str]) -> None:
        self.compiler, self.node, self.bound = compiler, node, set(bound)
        self.answer = compiler.fresh("_answer")
        self.body: list[ast.stmt] = []
        self.block = self.body  # where the next statement goes: the innermost loop
        self.outermost = self.body  # of the function that is written: outside all its loops
        self.loops = 0  # around the next statement, in that function
        self.held: dict[_Membership, str] = {}  # names of the sources that have been evaluated
        self.filtered: set[_Parts] = set()  # patterns whose sources hold nothing but tuples of their size

    def function(self, steps: list[_Step], result: _Condition, params: list[str]) -> ast.FunctionDef:
        for place, step in enumerate(steps):
            match step:
                case _Condition(node, expr):
                    self._guard(_not(expr), node)
                case _Membership(node, pattern, source):
                    held = self.held.get(step)
                    container = _name(held) if held else self.compiler.container(source)
                    self._guard(_compare(_expression(pattern), ast.NotIn(), container), node)
                case _Loop(membership):
                    if self.loops == _LOOPS:
                        self._go_on_in_a_function(membership.node)
                    self._hold("source", membership)
                    self._hold_selectors(steps[place + 1 :])
                    self._loop(membership)
        self._give(result)
        arguments = ast.arguments([], [ast.arg(name) for name in params], None, [], [], None, [])
        function = ast.FunctionDef(self.compiler.fresh("_query"), arguments, self._framed(), [], None)
        return ast.copy_location(function, self.node)

    def _hold_selectors(self, steps: list[_Step]) -> None:
        """Before a loop, evaluate the selectors of later steps that do not depend on it."""
        for step in steps:
            match step:
                case _Loop(clause):
                    helper = "rows" if isinstance(clause.pattern, _Parts) else "source"
                case _Membership() as clause:
                    helper = "container"
                case _:
                    continue
            if clause.needs <= self.bound and _is_selector(clause.source):
                self._hold(helper, clause)

    def _hold(self, helper: str, clause: _Membership) -> None:
        """Give the source of a clause a name, unless it has one; rows are filtered once, not in each loop."""
        if clause in self.held:
            return
        once = helper in ("source", "rows") and not clause.by_for
        arguments = [self.compiler.call("once", clause.source) if once else clause.source]
        if helper == "rows" and isinstance(clause.pattern, _Parts):
            arguments.append(ast.Constant(len(clause.pattern.parts)))
            self.filtered.add(clause.pattern)
        name = self.held[clause] = self.compiler.fresh("_source")
        value = self.compiler.call(helper, *arguments)
        self._attempt(ast.Assign([_store(name)], value), clause.node)

    def _loop(self, clause: _Membership) -> None:
        matches = list[tuple[_Pattern, str]]()
        target = self._target(clause.pattern, matches)
        loop = ast.For(_store(target), _name(self.held[clause]), [], [])
        self._append(loop, clause.node)
        self.block = loop.body
        self.loops += 1
        for pattern, name in matches:  # grows by the components of tuples
            if isinstance(pattern, _Parts):
                self._unpack(pattern, name, matches, clause.node)
            elif isinstance(pattern, _Variable):
                self._match(name, pattern.name, clause.node)

    def _target(self, pattern: _Pattern, matches: list[tuple[_Pattern, str]]) -> str:
        """The name that takes an element: the variable that it binds, or one that is matched afterwards."""
        if isinstance(pattern, _Variable) and pattern.name not in self.bound:
            self.bound.add(pattern.name)
            return pattern.name
        name = self.compiler.fresh("_element")
        matches.append((pattern, name))
        return name

    def _match(self, left: str, right: str, node: ast.expr) -> None:
        """Skip the combination where two values are not joined. Comparing lists that hold themselves does not
        end; the helper compares no lists."""
        test: list[ast.stmt] = [ast.If(_not(self._joined(left, right)), [self._skip()], [])]
        again = ast.If(_not(self.compiler.call("same", _name(left), _name(right))), [self._skip()], [])
        endless = ast.ExceptHandler(_name(self.compiler.helpers["endless"]), None, [again])
        self._attempt(ast.Try(test, [endless], [], []), node)

    def _joined(self, left: str, right: str) -> ast.expr:
        """What the helper `same` says, without its call where identity or inequality settles it."""
        identical = _compare(_name(left), ast.Is(), _name(right))
        equal = _compare(_name(left), ast.Eq(), _name(right))
        alike = self.compiler.call("keyed", _name(left), _name(right))
        return ast.BoolOp(ast.Or(), [identical, ast.BoolOp(ast.And(), [equal, alike])])

    def _unpack(
        self, pattern: _Parts, name: str, matches: list[tuple[_Pattern, str]], node: ast.expr
    ) -> None:
        """Skip what is not a tuple of this size; name the components of what is."""
        if pattern not in self.filtered:
            is_tuple = self.compiler.call("is_a", _name(name), _name(self.compiler.helpers["tuple"]))
            size = self.compiler.call("size", _name(name))
            has_size = _compare(size, ast.Eq(), ast.Constant(len(pattern.parts)))
            fails = _not(ast.BoolOp(ast.And(), [is_tuple, has_size]))
            self._append(ast.If(fails, [self._skip()], []), node)
        if pattern.parts:
            targets: list[ast.expr] = [_store(self._target(part, matches)) for part in pattern.parts]
            self._append(ast.Assign([ast.Tuple(targets, ast.Store())], _name(name)), node)

    def _give(self, result: _Condition) -> None:
        """Add the result to the answer."""
        computed = self._is_computed(result.node)
        match self.node, result.expr:
            case ast.SetComp(), expr:
                expr = self.compiler.call("steady", expr) if computed else expr
                self._attempt(ast.Expr(_method(self.answer, "add", expr)), result.node)
            case ast.ListComp(), expr:
                self._attempt(ast.Expr(_method(self.answer, "append", expr)), result.node)
            case ast.DictComp(), ast.Tuple(elts=[key, value]):
                key = self.compiler.call("steady", key) if computed else key
                item = ast.Subscript(_name(self.answer), key, ast.Store())
                self._attempt(ast.Assign([item], value), result.node)
            case _, expr:
                self._attempt(ast.Assign([_store(self.answer)], expr), result.node)
                self._append(ast.Expr(ast.Yield(_name(self.answer))), result.node)

    def _is_computed(self, node: ast.AST) -> bool:
        """May evaluating it make a new value, and not give one that is there already?"""
        match node:
            case ast.BinOp() | ast.UnaryOp():
                return True
            case ast.Call(func=function):
                return not self.compiler.is_builtin(function, {}, "len", "min", "max", "any", "all")
            case ast.SetComp() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                return False
        return any(map(self._is_computed, ast.iter_child_nodes(node)))

    def _guard(self, failing: ast.expr, node: ast.expr) -> None:
        """Skip the combination where the test says so, or raises."""
        self._attempt(ast.If(failing, [self._skip()], []), node)

    def _attempt(self, statement: ast.stmt, node: ast.expr) -> None:
        """Skip the combination where the statement raises; a coded error is not the combination's, nor is
        want of memory or stack."""
        helpers = self.compiler.helpers
        coded = ast.ExceptHandler(_name(helpers["fault"]), None, [ast.Raise(None, None)])
        failed = ast.ExceptHandler(_name(helpers["failure"]), None, [self._skip()])
        self._append(ast.Try([statement], [coded, failed], [], []), node)

    def _append(self, statement: ast.stmt, node: ast.expr) -> None:
        self.block.append(ast.copy_location(statement, node))

    def _go_on_in_a_function(self, node: ast.expr) -> None:
        """The loops that follow stand in a function of their own, which reads the variables around it."""
        arguments = ast.arguments([], [], None, [], [], None, [])
        function = ast.FunctionDef(self.compiler.fresh("_inner"), arguments, [], [], None)
        call: ast.expr = ast.Call(_name(function.name), [], [])
        if isinstance(self.node, ast.GeneratorExp):
            call = ast.YieldFrom(call)
        self._append(function, node)
        self._append(ast.Expr(call), node)
        self.outermost = self.block = function.body
        self.loops = 0

    def _skip(self) -> ast.stmt:
        return ast.Continue() if self.block is not self.outermost else self._return()

    def _return(self) -> ast.stmt:
        return ast.Return(None if isinstance(self.node, ast.GeneratorExp) else _name(self.answer))

    def _framed(self) -> list[ast.stmt]:
        """The loops, with the answer made before them and returned after."""
        empty: ast.expr
        match self.node:
            case ast.GeneratorExp():
                return self.body
            case ast.SetComp():
                empty = self.compiler.call("Set")
            case ast.ListComp():
                empty = ast.List([], ast.Load())
            case ast.DictComp():
                empty = ast.Dict([], [])
        return [ast.Assign([_store(self.answer)], empty), *self.body, self._return()]


def _expression(pattern: _Pattern) -> ast.expr:
    """The value of a pattern without wildcards, all its variables being bound."""
    match pattern:
        case _Variable(name):
            return _name(name)
        case _Value(expr):
            return expr
        case _Parts(parts):
            return ast.Tuple([_expression(part) for part in parts], ast.Load())
    raise AssertionError(pattern)
