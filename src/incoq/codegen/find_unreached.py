"""Find containers that do not come to an unmarked query: they stay of Python's own classes (`--all`).

Before:    self.members = []; errors = {}; return errors     {m.name for m in self.members} is taken
After:     `errors` is made of none of our classes: what asks `type(errors) is dict` sees what Python gives
Invariant: none. What is taken without a mark is evaluated as it stands, should it meet a container that is
           not maintained; so one that does come to it, by ways that names do not tell, costs time alone
Cost:      linear in the program, for each step from a query back to where its containers are made

Values are followed backwards by names: from the names in the queries to what is assigned to them, passed for
them or put into them. A variable is known by its function, an attribute or a function by its name alone.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

Scope = ast.AST  # a module or a function
Key = tuple[int, str]  # a variable of a scope; with 0 an attribute, with 1 what a function gives

_ATTRIBUTE, _GIVEN = 0, 1
_PUTTING = frozenset(
    (
        "add",
        "append",
        "extend",
        "insert",
        "update",
        "setdefault",
        "appendleft",
        "__setitem__",
        "union",
        "copy",
    )
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def find_unreached(trees: Collection[ast.Module], queries: Iterable[ast.AST]) -> set[ast.AST]:
    """The expressions that make containers which no name leads from to a query.

    >>> tree = ast.parse("def f(xs): return {x for x in xs}\\nf([1])\\nother = [2]")
    >>> [ast.unparse(node) for node in find_unreached([tree], [tree.body[0].body[0].value])]
    ['[2]']
    """
    flow = _Flow()
    for tree in trees:
        flow.read(tree)
    flow.link()
    reached = flow.reached(queries)
    return {node for tree in trees for node in ast.walk(tree) if _makes_container(node)} - reached


class _Flow:
    """What comes to each name."""

    def __init__(self) -> None:
        self.comes: defaultdict[Key, list[tuple[ast.AST, tuple[Scope, ...]]]] = defaultdict(list)
        self.functions: defaultdict[str, list[tuple[_Function, bool]]] = defaultdict(list)  # is it a method?
        self.calls: list[tuple[ast.Call, tuple[Scope, ...]]] = []
        self.bound: dict[Scope, frozenset[str]] = {}
        self.places: dict[ast.AST, tuple[Scope, ...]] = {}

    def read(self, tree: ast.Module) -> None:
        """Note what a module says."""
        stack: list[tuple[ast.AST, tuple[Scope, ...], str]] = [(tree, (tree,), "")]
        while stack:
            node, scopes, owner = stack.pop()
            self.places[node] = scopes
            self._note(node, scopes)
            if isinstance(node, _Function):
                if not isinstance(node, ast.Lambda):
                    self.functions[node.name].append((node, bool(owner)))
                    if node.name == "__init__" and owner:
                        self.functions[owner].append((node, True))
                self._defaults(node, scopes)
                scopes, owner = (*scopes, node), ""
                self.bound[node] = _bound(node)
            elif isinstance(node, ast.ClassDef):
                owner = node.name
            stack += ((child, scopes, owner) for child in ast.iter_child_nodes(node))

    def _defaults(self, function: _Function, scopes: tuple[Scope, ...]) -> None:
        arguments = function.args
        plain = [*arguments.posonlyargs, *arguments.args]
        pairs = [*zip(reversed(plain), reversed(arguments.defaults), strict=False)]
        for argument, value in (*pairs, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
            if value is not None:
                self.comes[id(function), argument.arg].append((value, scopes))

    def _note(self, node: ast.AST, scopes: tuple[Scope, ...]) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._to(target, value, scopes)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                self._to(target, value, scopes)
            case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
                self._to(target, value, scopes)
            case ast.comprehension(target=target, iter=value):
                self._to(target, value, scopes)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._to(target, value, scopes)
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                function = scopes[-1]
                if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                    self.comes[_GIVEN, function.name].append((value, scopes))
            case ast.Call(func=func, args=args):
                self.calls.append((node, scopes))
                if isinstance(func, ast.Attribute) and func.attr in _PUTTING:
                    for argument in args:
                        self._to(func.value, argument, scopes)

    def _to(self, target: ast.expr, value: ast.AST, scopes: tuple[Scope, ...]) -> None:
        match target:
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                values = (
                    value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(targets) else None
                )
                for number, one in enumerate(targets):
                    self._to(one, values[number] if values else value, scopes)
            case ast.Starred(value=inner) | ast.Subscript(value=inner):
                self._to(inner, value, scopes)
            case ast.Name() | ast.Attribute():
                self.comes[self.key(target, scopes)].append((value, scopes))

    def link(self) -> None:
        """Let what is passed come to the parameters of all functions of the name that is called."""
        for call, scopes in self.calls:
            name = _called(call)
            for function, is_method in self.functions.get(name, ()):
                parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
                shift = int(is_method and not (isinstance(call.func, ast.Attribute) and name == "__init__"))
                rest = [a.arg for a in (function.args.vararg, function.args.kwarg) if a is not None]
                for number, argument in enumerate(call.args):
                    targets = parameters[number + shift : number + shift + 1] or rest
                    if isinstance(argument, ast.Starred):
                        targets = parameters[number + shift :] + rest
                    for target in targets:
                        self.comes[id(function), target].append((argument, scopes))
                for keyword in call.keywords:
                    known = [keyword.arg] if keyword.arg else [*parameters, *rest]
                    for target in known:
                        self.comes[id(function), target].append((keyword.value, scopes))

    def key(self, node: ast.Name | ast.Attribute, scopes: tuple[Scope, ...]) -> Key:
        """What a name or an attribute is known by; a variable of a module is an attribute of it."""
        if isinstance(node, ast.Attribute):
            return (_ATTRIBUTE, node.attr)
        for scope in reversed(scopes):
            if node.id in self.bound.get(scope, ()):
                return (id(scope), node.id)
        return (_ATTRIBUTE, node.id)

    def reached(self, queries: Iterable[ast.AST]) -> set[ast.AST]:
        """Every expression that comes to a query."""
        found: set[ast.AST] = set()
        waiting = [(node, self.places[query]) for query in queries for node in ast.walk(query)]
        done: set[Key] = set()
        while waiting:
            node, scopes = waiting.pop()
            if node in found:
                continue
            found.add(node)
            keys: list[Key] = []
            if isinstance(node, ast.Name | ast.Attribute):
                keys.append(self.key(node, scopes))
            if isinstance(node, ast.Call):
                keys.append((_GIVEN, _called(node)))
            for key in keys:
                if key not in done:
                    done.add(key)
                    waiting += self.comes[key]
            waiting += ((child, scopes) for child in _parts(node))
        return found


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression that may be its value, or in it."""
    match node:
        case ast.Attribute() | ast.Compare() | ast.Lambda() | ast.JoinedStr():
            return
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Subscript(value=value):
            yield value
        case ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element):
            yield element
        case ast.DictComp(key=key, value=value):
            yield from (key, value)
        case ast.Call(func=func, args=args, keywords=keywords):
            yield from args
            yield from (keyword.value for keyword in keywords)
            if isinstance(func, ast.Attribute):  # what `d.get(k)` gives is in d
                yield func.value
            else:
                yield func
        case ast.expr():
            yield from ast.iter_child_nodes(node)


def _makes_container(node: ast.AST) -> bool:
    match node:
        case (
            ast.Set()
            | ast.List(ctx=ast.Load())
            | ast.Dict()
            | ast.SetComp()
            | ast.ListComp()
            | ast.DictComp()
        ):
            return True
        case ast.Name(id="set" | "list" | "dict", ctx=ast.Load()):
            return True
        case ast.Call(func=ast.Name(id="sorted" | "set" | "list" | "dict")):
            return True
        case ast.Call(func=ast.Attribute(attr="split" | "rsplit" | "splitlines")):
            return True
        case ast.Subscript(slice=ast.Slice(), ctx=ast.Load()):
            return True
    return combines_views(node)


def combines_views(node: ast.AST) -> bool:
    """Does an operator make a set of the keys or the items of a dict?"""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), right=right):
            return any(map(_is_view, (left, right)))
    return False


def _is_view(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="keys" | "items"), args=[], keywords=[]):
            return True
    return False


def _bound(function: _Function) -> frozenset[str]:
    """The variables of a function itself."""
    found: set[str] = set()
    elsewhere: set[str] = set()
    arguments = function.args
    for a in (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ):
        found |= {a.arg} if a is not None else set()
    stack: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else [*function.body]
    while stack:
        node = stack.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                elsewhere.update(names)
        if not isinstance(node, _Function | ast.ClassDef):
            stack += ast.iter_child_nodes(node)
    return frozenset(found - elsewhere)
