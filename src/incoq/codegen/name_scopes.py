"""Tell what a name means where it stands: the builtin, a local of one function, a private attribute.

Before:    class Register:                     a tree of names
               def set(self): return set()
After:     `set` in the method is the builtin (methods do not see the names of their class)
Cost:      linear in the program; a question costs the depth of scopes
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from incoq.names import mangled

Place = tuple[int, int]
_SIMPLE_BINDING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom, ast.Expr)


@dataclass(eq=False)
class Scope:
    """The names that a module, class, function or comprehension binds, each with its first place."""

    kind: str
    parent: Scope | None = None
    class_name: str | None = None
    bound: dict[str, Place] = field(default_factory=dict)
    declared_global: set[str] = field(default_factory=set)
    declared_nonlocal: set[str] = field(default_factory=set)
    rebound_inside: set[str] = field(default_factory=set)
    outside: ast.expr | None = None  # of a comprehension: its first source, evaluated in the parent

    def bind(self, name: str, place: Place) -> None:
        """Note a binding; the earliest one counts."""
        self.bound[name] = min(place, self.bound.get(name, place))


class Scopes:
    """The scope of every node of a module."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope("module")
        self._of: dict[ast.AST, Scope] = {}
        self._collect(tree)
        self.postponed_annotations = any(
            isinstance(stmt, ast.ImportFrom)
            and stmt.module == "__future__"
            and any(alias.name == "annotations" for alias in stmt.names)
            for stmt in tree.body
        )

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated."""
        return self._of[node]

    def is_builtin(self, node: ast.AST, names: Iterable[str]) -> bool:
        """Whether `node` is a read name among `names` that means Python's builtin."""
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names):
            return False
        innermost = scope = self._of[node]
        while scope.parent is not None:
            if node.id in scope.declared_global:
                break
            if node.id in scope.bound and (
                scope.kind != "class"
                or (scope is innermost and scope.bound[node.id] <= (node.lineno, node.col_offset))
            ):
                return False
            scope = scope.parent
        return node.id not in self.module.bound

    def is_stable_local(self, node: ast.AST, during: ast.AST) -> bool:
        """Whether `node` is a local variable that keeps its value while `during` is evaluated."""
        if not isinstance(node, ast.Name):
            return False
        scope, name = self._of[node], node.id
        elsewhere = scope.declared_global | scope.declared_nonlocal | scope.rebound_inside
        if scope.kind != "function" or name not in scope.bound or name in elsewhere:
            return False
        return not any(isinstance(n, ast.NamedExpr) and n.target.id == name for n in ast.walk(during))

    def is_global(self, node: ast.Name) -> bool:
        """Whether a name in a function is that of the module."""
        return self.binding(node) is self.module

    def binding(self, node: ast.Name) -> Scope:
        """The scope that binds a name; that of the module, where none does."""
        innermost = scope = self._of[node]
        while scope.parent is not None and node.id not in scope.declared_global:
            if node.id in scope.bound and (scope.kind != "class" or scope is innermost):
                return scope
            scope = scope.parent
        return self.module

    def attribute(self, node: ast.Attribute) -> str:
        """The attribute that is meant, private names mangled: `self.__x` in class C is `_C__x`."""
        return mangled(node.attr, self._of[node].class_name)

    def _collect(self, tree: ast.Module) -> None:
        stack: list[tuple[ast.AST, Scope, Place | None]] = [(tree, self.module, None)]
        while stack:
            node, scope, place = stack.pop()
            self._of[node] = scope
            if isinstance(node, _SIMPLE_BINDING):
                place = _end(node)
            for name in _names_bound(node):
                _binding_scope(node, scope).bind(name, place or _end(node))
            match node:
                case ast.Global():
                    scope.declared_global.update(node.names)
                case ast.Nonlocal():
                    scope.declared_nonlocal.update(node.names)
                    _note_rebinding(scope, node.names)
            stack += ((child, inner, place) for child, inner in _children(node, scope))
        for scope in dict.fromkeys(self._of.values()):
            for name in scope.declared_global & set(scope.bound):
                self.module.bind(name, scope.bound[name])


def _children(node: ast.AST, scope: Scope) -> list[tuple[ast.AST, Scope]]:
    """The children of a node with the scope in which each is evaluated."""
    match node:
        case ast.ClassDef():
            inner = Scope("class", scope, node.name)
            own: set[ast.AST] = set(node.body)
            return [(child, inner if child in own else scope) for child in ast.iter_child_nodes(node)]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            inner = Scope("function", scope, scope.class_name)
            for parameter in _parameters(node.args):
                inner.bind(parameter.arg, _end(parameter))
            own = {node.body} if isinstance(node, ast.Lambda) else set(node.body)
            return [(child, inner if child in own else scope) for child in ast.iter_child_nodes(node)]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            inner = Scope("comprehension", scope, scope.class_name, outside=node.generators[0].iter)
            for target in (found for part in node.generators for found in ast.walk(part.target)):
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                    inner.bind(target.id, _end(target))
            return [(child, inner) for child in ast.iter_child_nodes(node)]
        case ast.comprehension() if scope.parent is not None:
            return [
                (child, scope.parent if child is scope.outside else scope)
                for child in ast.iter_child_nodes(node)
            ]
        case _:
            return [(child, scope) for child in ast.iter_child_nodes(node)]


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    maybe = [
        *arguments.posonlyargs,
        *arguments.args,
        arguments.vararg,
        *arguments.kwonlyargs,
        arguments.kwarg,
    ]
    return [parameter for parameter in maybe if parameter is not None]


def _names_bound(node: ast.AST) -> list[str]:
    """The names that this very node binds."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ImportFrom(module="builtins"):
            return [
                alias.asname or alias.name for alias in node.names if alias.asname not in (None, alias.name)
            ]
        case ast.Import() | ast.ImportFrom():
            return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
    return []


def _binding_scope(node: ast.AST, scope: Scope) -> Scope:
    """A name bound by `:=` in a comprehension belongs to the scope around it."""
    while scope.kind == "comprehension" and scope.parent is not None and isinstance(node, ast.Name):
        if node.id in scope.bound:
            break
        scope = scope.parent
    return scope


def _note_rebinding(scope: Scope, names: Iterable[str]) -> None:
    around = scope.parent
    while around is not None:
        around.rebound_inside.update(names)
        around = around.parent


def _end(node: ast.AST) -> Place:
    """Where a binding takes effect: after its statement, as far as positions can tell."""
    assert isinstance(node, ast.stmt | ast.expr | ast.arg | ast.excepthandler | ast.pattern)
    assert node.end_lineno is not None and node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset
