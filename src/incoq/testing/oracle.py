"""Evaluate queries straightforwardly, by a route of its own.

Every query of a program text becomes a Python function of nested loops, in any order that binds variables
before they are used; it shares nothing with the package's evaluator, its planning or its maintenance, so
that a wrong answer has to be made twice to go unseen. It is compiled, because the driver runs it after
every step.

Before:    {u.email for u in celeb.followers if u in group if u.loc == "NYC"}
After:     for u in iterate(celeb.followers):
               if contains(u, group):
                   if equal(u.loc, "NYC"):
                       out.append(u.email)
Invariant: a combination that raises is skipped, as is a membership in what cannot be iterated; sets are
           compared by identity, everything else as Python would; a set comprehension gives the bag of its
           results at the top (the caller forgets multiplicities), a set where it is nested.
Cost:      the product of the sizes of the sources.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
ITERABLE: tuple[Any, ...] = (set, frozenset, tuple, list, dict, range, str, *VIEWS)
OUTSIDE = "first_source"  # of a comprehension that hides what its first source reads
HASHED: tuple[Any, ...] = (set, frozenset, dict, VIEWS[0])


class NotWellFormed(Exception):  # noqa: N818  # as the paper calls it
    """A variable that no clause binds."""


@dataclass(frozen=True)
class OracleQuery:
    """One query: `bag(*args)` gives its results (a list for a set comprehension, else the value itself)."""

    name: str
    params: tuple[str, ...]
    is_set: bool
    bag: Callable[..., Any]


def elements(source: Any) -> Iterable[Any]:
    """The elements of a source, each once: `if x in s` asks whether it is there, not how often."""
    if not isinstance(source, (list, tuple)):
        return iterate(source)
    return [x for i, x in enumerate(source) if not any(same_key(x, source[j]) for j in range(i))]


def equal(left: Any, right: Any) -> bool:
    """`==` inside a query: identity for sets, Python's own otherwise (also for the parts of tuples)."""
    if isinstance(left, (set, frozenset)) and isinstance(right, (set, frozenset)):
        return left is right or (type(left) is frozenset and type(right) is frozenset and left == right)
    if type(left) is tuple and type(right) is tuple:
        return len(left) == len(right) and all(map(same_key, left, right))
    if isinstance(left, (list, dict)) and isinstance(right, (list, dict)):
        return left is right
    return bool(left == right)


def same_key(left: Any, right: Any) -> bool:
    """Equality of keys: identity or `equal`."""
    return left is right or equal(left, right)


def contains(item: Any, source: Any) -> bool:
    """Membership; raises what Python raises where there can be none."""
    if isinstance(source, HASHED) or type(source) is str:
        if isinstance(item, (list, dict, tuple)):
            fit(item)
        return item in source
    if isinstance(source, ITERABLE):
        return any(same_key(item, element) for element in source)
    raise TypeError(f"argument of type {type(source).__name__!r} is not iterable")


def fit(result: Any) -> None:
    """Raise for what no set can hold; a list or dict that a compiled query has reached does have a hash."""
    for part in result if type(result) is tuple else (result,):
        if isinstance(part, (list, dict)):
            raise TypeError("unhashable")
        if type(part) is tuple:
            fit(part)
    hash(result)


def iterate(source: Any) -> Iterable[Any]:
    """The elements of a source; none where it cannot be iterated."""
    return source if isinstance(source, ITERABLE) else ()


def build(text: str, scope: dict[str, Any]) -> dict[str, OracleQuery]:
    """All the `@query` functions and methods of `text`, over the helpers and relations of `scope`."""
    tree = ast.parse(text)
    found: list[ast.FunctionDef] = []
    methods: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and is_query(node):
            found.append(node)
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and is_query(inner):
                    found.append(inner)
                    methods.add(inner.name)
    names = {node.name for node in found}
    namespace = {
        **scope,
        "equal": equal,
        "same_key": same_key,
        "contains": contains,
        "iterate": iterate,
        "elements": elements,
        "fit": fit,
    }
    namespace = {k: v for k, v in namespace.items() if k not in names}
    queries: dict[str, OracleQuery] = {}
    for node in found:
        translator = Translator(node.name, names, methods, namespace)
        params = tuple(arg.arg for arg in node.args.args)
        body = node.body[-1]
        assert isinstance(body, ast.Return) and body.value is not None
        is_set = isinstance(body.value, ast.SetComp)
        if isinstance(body.value, (ast.SetComp, ast.GeneratorExp)):
            value = translator.comprehension(body.value, params)
        else:
            value = translator.aggregate(body.value, params)
        lines = [*translator.lines, f"def bag_{node.name}({', '.join(params)}):", f"    return {value}"]
        lines += [f"def set_{node.name}(*args):", f"    got = bag_{node.name}(*args)"]
        lines += ["    return set(got)" if is_set else "    return got"]
        exec(compile("\n".join(lines), f"<oracle {node.name}>", "exec"), namespace)
        queries[node.name] = OracleQuery(node.name, params, is_set, namespace[f"bag_{node.name}"])
    return queries


def is_query(node: ast.FunctionDef) -> bool:
    """Whether a function is decorated by `@query` or `@query(...)`."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, ast.Name) and target.id == "query":
            return True
    return False


def names_in(node: ast.AST) -> set[str]:
    """The names that an expression reads, but for those bound by comprehensions inside it; what the first
    source of a comprehension reads is read outside of it."""
    if isinstance(node, ast.Name):
        return {node.id}
    read: set[str] = set().union(*map(names_in, ast.iter_child_nodes(node)))
    generators = getattr(node, "generators", ())
    for inner in generators:
        read -= names_in(inner.target)
    return read | names_in(generators[0].iter) if generators else read


class Translator:
    """Writes one function for every comprehension of a query, as lines of Python."""

    def __init__(
        self, name: str, queries: Collection[str], methods: Collection[str], known: Collection[str]
    ) -> None:
        self.name = name
        self.known = known
        self.queries = queries
        self.methods = methods
        self.lines: list[str] = []
        self.count = 0

    def fresh(self, prefix: str) -> str:
        """A name that nothing else has."""
        self.count += 1
        return f"{prefix}_{self.count}"

    def expression(self, node: ast.expr, scope: tuple[str, ...]) -> str:
        """The text of an expression with `==`, `in` and inner queries given their meaning inside a query."""
        return ast.unparse(Meaning(self, scope).visit(ast.parse(ast.unparse(node), mode="eval").body))

    def aggregate(self, node: ast.expr, scope: tuple[str, ...]) -> str:
        """What a query returns; the comprehension that it is an aggregate of is the query's own, so that its
        variables are joined with the parameters."""
        match node:
            case ast.Call(args=args) | ast.Subscript(value=ast.Call(args=args)):
                for place, own in enumerate(args):
                    if isinstance(own, (ast.SetComp, ast.GeneratorExp)):
                        made = ast.parse(self.comprehension(own, scope), mode="eval").body
                        args[place] = call("set", made) if isinstance(own, ast.SetComp) else made
        return self.expression(node, scope)

    def comprehension(
        self, node: ast.SetComp | ast.GeneratorExp, scope: tuple[str, ...], nested: bool = False
    ) -> str:
        """Write the function of a comprehension; the text of its call. The variables of a nested one hide
        those around it, as in Python."""
        memberships: list[tuple[ast.expr, ast.expr, bool]] = []
        conditions: list[ast.expr] = []
        for generator in node.generators:
            memberships.append((generator.target, generator.iter, True))
            for condition in generator.ifs:
                match condition:
                    case ast.Compare(left=left, ops=[ast.In()], comparators=[right]):
                        memberships.append((left, right, False))
                    case _:
                        conditions.append(condition)
        variables = set().union(*(bound_by(target) for target, _, _ in memberships)) - set(self.known)
        variables.discard("_")
        name = self.fresh(f"inner_{self.name}")
        hidden = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        outside = ""
        if nested and names_in(node.generators[0].iter) & hidden & set(scope):  # it is read outside
            outside = f", lambda: {self.expression(node.generators[0].iter, scope)}"
            first = next(i for i, m in enumerate(memberships) if m[1] is node.generators[0].iter)
            memberships[first] = (memberships[first][0], call(OUTSIDE), True)
        bound = [n for n in scope if not (nested and n in hidden)]
        body: list[str] = ["    out = []"]
        depth = 1

        def put(text: str) -> None:
            body.append("    " * depth + text)

        def ready(expression: ast.AST) -> bool:
            return not (names_in(expression) & variables) - set(bound)

        while memberships or conditions:
            chosen = next((c for c in conditions if ready(c)), None)
            test = next((m for m in memberships if ready(m[0]) and ready(m[1]) and not wild(m[0])), None)
            loops = [m for m in memberships if ready(m[1])]
            known = [m for m in loops if all(map(ready, given_in(m[0])))] or loops
            loop = next((m for m in known if m[2]), next(iter(known), None))
            if chosen is not None:
                conditions.remove(chosen)
                flag = self.fresh("flag")
                put(f"try: {flag} = {self.expression(chosen, tuple(bound))}")
                put(f"except Exception: {flag} = False")
                put(f"if {flag}:")
            elif test is not None:
                memberships.remove(test)
                flag = self.fresh("flag")
                item, container = (self.expression(side, tuple(bound)) for side in test[:2])
                put(f"try: {flag} = contains({item}, {container})")
                put(f"except Exception: {flag} = False")
                put(f"if {flag}:")
            elif loop is not None:
                memberships.remove(loop)
                source, element = self.fresh("source"), self.fresh("element")
                put(f"try: {source} = {self.expression(loop[1], tuple(bound))}")
                put(f"except Exception: {source} = ()")
                put(f"for {element} in {'iterate' if loop[2] else 'elements'}({source}):")
                depth += 1
                tests, flag = self.pattern(loop[0], element, bound, put), self.fresh("flag")
                if given_in(loop[0]):
                    put(f"try: {flag} = {tests}")
                    put(f"except Exception: {flag} = False")
                put(f"if {flag if given_in(loop[0]) else tests or 'True'}:")
            else:
                raise NotWellFormed(ast.unparse(node))
            depth += 1
        put(f"try: result = {self.expression(node.elt, tuple(bound))}")
        if isinstance(node, ast.SetComp):
            body[-1] += "; fit(result)"
        put("except Exception: pass")
        put("else: out.append(result)")
        arguments = ", ".join(dict.fromkeys(scope))
        taken = arguments + (f", {OUTSIDE}" if outside else "")
        self.lines += [f"def {name}({taken}):", *body, "    return out"]
        return f"{name}({arguments}{outside})"

    def pattern(self, node: ast.expr, element: str, bound: list[str], put: Callable[[str], None]) -> str:
        """Bind the variables of a pattern that are new; the text of the test that the rest matches."""
        tests: list[str] = []
        fresh: list[str] = []

        def walk(part: ast.expr, where: str) -> None:
            match part:
                case ast.Name(id="_"):
                    pass
                case ast.Name(id=name) if name in bound:
                    tests.append(f"same_key({where}, {name})")
                case ast.Name(id=name) if name in fresh:
                    tests.append(f"same_key({where}, {name})")
                case ast.Name(id=name):
                    fresh.append(name)
                    tests.append(f"(({name} := {where}) is {name})")
                case ast.Tuple(elts=parts) | ast.List(elts=parts):
                    tests.append(f"type({where}) is tuple and len({where}) == {len(parts)}")
                    for index, inner in enumerate(parts):
                        walk(inner, f"{where}[{index}]")
                case _:
                    tests.append(f"same_key({where}, {self.expression(part, tuple(bound))})")

        walk(node, element)
        bound.extend(fresh)
        return " and ".join(tests)


def bound_by(node: ast.expr) -> set[str]:
    """The names that a pattern binds."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return set().union(*map(bound_by, items))
    return set()


def given_in(node: ast.expr) -> list[ast.expr]:
    """The expressions in a pattern, which must be known before it is matched."""
    match node:
        case ast.Name() | ast.Constant():
            return []
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return [part for item in items for part in given_in(item)]
    return [node]


def wild(node: ast.expr) -> bool:
    """Whether a pattern holds `_`."""
    return any(isinstance(n, ast.Name) and n.id == "_" for n in ast.walk(node))


class Meaning(ast.NodeTransformer):
    """Gives `==`, `in`, inner comprehensions and calls of queries their meaning inside a query."""

    def __init__(self, translator: Translator, scope: tuple[str, ...]) -> None:
        self.translator = translator
        self.scope = scope

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """`a == b in c` becomes `equal(a, b) and contains(b, c)`."""
        sides = [self.visit(side) for side in (node.left, *node.comparators)]
        parts: list[ast.expr] = []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            match op:
                case ast.Eq() | ast.NotEq():
                    part: ast.expr = call("equal", left, right)
                case ast.In() | ast.NotIn():
                    part = call("contains", left, right)
                case _:
                    part = ast.Compare(left=left, ops=[op], comparators=[right])
            if isinstance(op, (ast.NotEq, ast.NotIn)):
                part = ast.UnaryOp(op=ast.Not(), operand=part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else ast.BoolOp(op=ast.And(), values=parts)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        """An inner set."""
        return call(
            "set", ast.parse(self.translator.comprehension(node, self.scope, nested=True), mode="eval").body
        )

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        """An inner bag."""
        return ast.parse(self.translator.comprehension(node, self.scope, nested=True), mode="eval").body

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A call of a query goes to the oracle's own."""
        self.generic_visit(node)
        match node.func:
            case ast.Name(id=name) if name in self.translator.queries:
                return call(f"set_{name}", *node.args)
            case ast.Attribute(value=receiver, attr=name) if name in self.translator.methods:
                return call(f"set_{name}", receiver, *node.args)
        return node


def call(name: str, *args: ast.expr) -> ast.Call:
    """`name(*args)`."""
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(args), keywords=[])
