"""Find containers that no query can reach: they stay plain, and as fast as Python makes them.

Before:    queue = []; queue.append(x)          o.members = []; show(o.members)
After:     `queue` is private                   `members` is not: its list is handed to `show`
Invariant: a container is private only if everything that names it merely uses it: calls a method that does
           not hand it on, subscripts, iterates, measures or compares it. A query that meets one all the
           same (through `vars`, say) refuses it (IQ301).
Cost:      linear in the program

A name here is a variable of one outermost function, a variable of a module, or an attribute; all objects
share the attributes of one name.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

Holder = tuple[int, str]  # the module or outermost function, or 0 for attributes; and the name

_ATTRIBUTE, _STAR = 0, (0, "*")
_USING_METHODS = frozenset(
    name for cls in (set, list, dict) for name in dir(cls) if not name.startswith("_")
) - {"copy", "union", "intersection", "difference", "symmetric_difference"}
_USING_FUNCTIONS = frozenset(
    [
        "len", "sorted", "sum", "min", "max", "any", "all", "list", "set", "dict", "tuple", "frozenset",
        "print", "str", "repr", "bool", "enumerate", "reversed", "zip", "map", "filter", "id", "isinstance",
    ]
)  # fmt: skip
_USING_MODULES = frozenset(("heapq", "bisect"))


def find_private(
    trees: Collection[ast.Module], queries: Collection[ast.AST], fields: Collection[str]
) -> set[ast.AST]:
    """The displays and calls, assigned to private names only, whose containers no query can reach.

    >>> tree = ast.parse("seen = set()\\ndef f(x):\\n    if x not in seen:\\n        seen.add(x)")
    >>> [ast.unparse(node) for node in find_private([tree], [], [])]
    ['set()']
    """
    made: dict[ast.AST, list[Holder]] = {}
    open_: set[Holder] = {(_ATTRIBUTE, field) for field in fields}
    for tree in trees:
        _Scan(tree, queries, made, open_).run()
    modules = {id(tree) for tree in trees} if _STAR in open_ else set()
    return {
        value
        for value, holders in made.items()
        if not any(holder in open_ or holder[0] in modules for holder in holders)
    }


class _Scan:
    def __init__(
        self,
        tree: ast.Module,
        queries: Collection[ast.AST],
        made: dict[ast.AST, list[Holder]],
        open_: set[Holder],
    ) -> None:
        self.tree, self.queries, self.made, self.open = tree, queries, made, open_
        self.module = id(tree)
        self.functions = (_USING_FUNCTIONS - _names_bound(tree)) | _imported(tree, _USING_MODULES)
        self.used: set[ast.AST] = set()  # nodes that are merely used where they stand

    def run(self) -> None:
        for statement in self.tree.body:
            self._visit(statement, self.module, frozenset())

    def _visit(self, node: ast.AST, place: int, own: frozenset[str]) -> None:
        if node in self.queries:
            for inner in ast.walk(node):
                self._escape(inner, place, own)
            return
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() if place == self.module:
                place, own = id(node), _names_bound(node)
                self._bound_by_syntax(node, place, own)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.match_case():
                self._bound_by_syntax(node, place, own)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._bound_by_syntax(node, place, own)
            case ast.ClassDef():
                for statement in node.body:
                    self._class_variable(statement, place)
            case ast.Assign(targets=[ast.Name(id="__slots__")]):
                return
            case ast.Assign(targets=targets, value=value):
                self._assigned(targets, value, place, own)
                self._bound_by_syntax(node, place, own)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assigned([target], value, place, own)
            case ast.Constant(value=str(text)):
                self.open.add((_ATTRIBUTE, text))  # getattr(o, "queue")
            case ast.MatchClass(kwd_attrs=attributes):
                self.open.update((_ATTRIBUTE, attribute) for attribute in attributes)
            case ast.ImportFrom(names=aliases):  # a variable of another module under a name of this one
                self.open.update((_ATTRIBUTE, alias.name) for alias in aliases)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self.open.update((at, n) for n in names for at in (place, self.module))
        self._note_uses(node)
        for child in ast.iter_child_nodes(node):
            if child not in self.used:
                self._escape(child, place, own)
            self._visit(child, place, own)

    def _class_variable(self, statement: ast.stmt, place: int) -> None:
        """A class variable is an attribute of its objects, and no variable of what is around it."""
        for node in ast.walk(statement) if isinstance(statement, ast.Assign | ast.AnnAssign) else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.open.update(((_ATTRIBUTE, node.id), (place, node.id)))

    def _assigned(
        self, targets: Iterable[ast.expr], value: ast.expr, place: int, own: frozenset[str]
    ) -> None:
        holders = [self._holders(target, place, own) for target in targets]
        if _makes_container(value) and all(holders):
            self.made[value] = [holder for found in holders for holder in found]

    def _bound_by_syntax(self, node: ast.AST, place: int, own: frozenset[str]) -> None:
        for binding in bindings_by_syntax(node):
            self.made[binding.node] = self._holders(ast.Name(binding.name, ast.Load()), place, own)

    def _escape(self, node: ast.AST, place: int, own: frozenset[str]) -> None:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            self.open.update(self._holders(node, place, own))
            if isinstance(node, ast.Name):  # an inner function's variable may hide the module's
                self.open.add((self.module, node.id))

    def _holders(self, node: ast.expr, place: int, own: frozenset[str]) -> list[Holder]:
        """What a name or attribute stands for; a variable of a module is an attribute of it, too."""
        match node:
            case ast.Attribute(attr=attr):
                return [(_ATTRIBUTE, attr)]
            case ast.Name(id=identifier) if identifier in own:
                return [(place, identifier)]
            case ast.Name(id=identifier):
                return [(self.module, identifier), (_ATTRIBUTE, identifier)]
        return []

    def _note_uses(self, node: ast.AST) -> None:
        """Which of its operands a node merely uses."""
        match node:
            case ast.Attribute(value=receiver, attr=method) if method in _USING_METHODS:
                self.used.add(receiver)
            case ast.Call(func=ast.Name(id=function), args=args) if function in self.functions:
                self.used.update(args)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module)), args=args) if (
                module in _USING_MODULES
            ):
                self.used.update(args[:1])
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(), attr="join")
                | ast.Attribute(value=ast.Name(id="str" | "bytes"), attr="maketrans"),
                args=args,
            ):
                self.used.update(args)
            case ast.Subscript(value=receiver, slice=index, ctx=context):
                if not (isinstance(index, ast.Slice) and isinstance(context, ast.Load)):
                    self.used.add(receiver)
            case ast.For(iter=source) | ast.AsyncFor(iter=source) | ast.comprehension(iter=source):
                self.used.add(source)
            case ast.Compare(left=left, comparators=comparators):
                self.used.update((left, *comparators))
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                self._note_tested(test)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._note_tested(operand)
            case ast.keyword(arg=None, value=value):  # what is called gets a dict of its own
                self.used.add(value)
            case ast.Starred(value=value) | ast.FormattedValue(value=value) | ast.Expr(value=value):
                self.used.add(value)

    def _note_tested(self, node: ast.expr) -> None:
        """An expression of which only the truth counts."""
        self.used.add(node)
        for operand in node.values if isinstance(node, ast.BoolOp) else ():
            self._note_tested(operand)


@dataclass(frozen=True)
class SyntaxBinding:
    """A name that Python itself binds to a new container: `**options` of a function, `*rest` of a pattern."""

    node: ast.AST
    name: str
    kind: str  # list or dict


def bindings_by_syntax(node: ast.AST) -> Iterator[SyntaxBinding]:
    """Those that a statement, or a case of one, makes before its body is run.

    >>> [(b.name, b.kind) for b in bindings_by_syntax(ast.parse("a, *rest = xs").body[0])]
    [('rest', 'list')]
    """
    match node:
        case (
            ast.FunctionDef(args=ast.arguments(kwarg=ast.arg() as options))
            | ast.AsyncFunctionDef(args=ast.arguments(kwarg=ast.arg() as options))
        ):
            yield SyntaxBinding(options, options.arg, "dict")
        case ast.Assign(targets=targets):
            yield from _starred(targets)
        case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
            yield from _starred([target])
        case ast.match_case(pattern=pattern):
            for part in ast.walk(pattern):
                match part:
                    case ast.MatchStar(name=str(identifier)):
                        yield SyntaxBinding(part, identifier, "list")
                    case ast.MatchMapping(rest=str(identifier)):
                        yield SyntaxBinding(part, identifier, "dict")


def _starred(targets: Iterable[ast.expr]) -> Iterator[SyntaxBinding]:
    for target in targets:
        match target:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                yield from _starred(parts)
            case ast.Starred(value=ast.Name(id=identifier)):
                yield SyntaxBinding(target, identifier, "list")


def _makes_container(node: ast.expr) -> bool:
    match node:
        case ast.Set() | ast.List() | ast.Dict() | ast.SetComp() | ast.ListComp() | ast.DictComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "list" | "dict")):
            return True
    return False


def _names_bound(root: ast.AST) -> frozenset[str]:
    """The names bound anywhere inside, by inner functions too, which share them here; globals, too, which are
    never private."""
    found: set[str] = set()
    for node in ast.walk(root):
        match node:
            case ast.Name(id=identifier, ctx=ast.Store() | ast.Del()) | ast.arg(arg=identifier):
                found.add(identifier)
            case ast.FunctionDef(name=identifier) | ast.AsyncFunctionDef(name=identifier):
                found.add(identifier)
            case ast.ClassDef(name=identifier):
                found.add(identifier)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found.update(alias.asname or alias.name for alias in aliases)
    return frozenset(found)


def _imported(tree: ast.Module, modules: Collection[str]) -> frozenset[str]:
    """The names of functions that a module imports from some others."""
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in modules
        for alias in node.names
    )
