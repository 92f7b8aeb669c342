"""Find the routes by which a program could change a field without any rewritten update seeing it.

Before:    vars(o)["loc"] = 1; print(vars(o)); class C: def __setattr__(self, n, v): ...
After:     [(vars(o), "vars() gives the fields away for writing"), (C, "class C defines __setattr__")]
Invariant: what is not reported only reads, or is rewritten
Cost:      linear in the module
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from incoq.codegen.name_scopes import Scopes

_READING_METHODS = frozenset(["get", "items", "keys", "values", "copy"])
_READING_FUNCTIONS = frozenset(
    [
        "len",
        "sorted",
        "list",
        "dict",
        "set",
        "frozenset",
        "tuple",
        "str",
        "repr",
        "print",
        "bool",
        "iter",
        "hasattr",
    ]
)
_HOOKS = frozenset(["__setattr__", "__delattr__", "__getattr__", "__getattribute__"])
_DESCRIPTOR_METHODS = frozenset(["__get__", "__set__", "__delete__"])
_DESCRIPTORS = frozenset(["property", "cached_property", "abstractproperty", "classmethod", "staticmethod"])
_NAMED_ROUTES = frozenset(["__dict__", "__setattr__", "__delattr__"])
_BY_NAME = frozenset(["getattr", "attrgetter", "methodcaller", "__getattribute__"])

Bypass = tuple[ast.AST, str]


def find_bypasses(tree: ast.Module, fields: Collection[str]) -> list[Bypass]:
    """The nodes that may change one of `fields` unseen, each with a reason, in the order of the text.

    >>> [reason for _, reason in find_bypasses(ast.parse("vars(o).update(a=1); len(vars(o))"), {"a"})]
    ['vars() gives the fields away for writing']
    """
    finder = _Finder(tree, fields)
    found = [(node, reason) for node in ast.walk(tree) for reason in finder.reasons(node)]
    return sorted(
        found, key=lambda bypass: (getattr(bypass[0], "lineno", 0), getattr(bypass[0], "col_offset", 0))
    )


class _Finder:
    def __init__(self, tree: ast.Module, fields: Collection[str]) -> None:
        self.fields = fields
        self.scopes = Scopes(tree)
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.descriptors = _DESCRIPTORS | {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and _DESCRIPTOR_METHODS & set(_names_defined(node))
        }

    def reasons(self, node: ast.AST) -> Iterator[str]:
        """Why a node may hide updates, if it may."""
        match node:
            case ast.Call(func=func, args=[_]) if self.scopes.is_builtin(func, ("vars",)):
                if not self._only_reads(node):
                    yield "vars() gives the fields away for writing"
            case ast.Call(func=func, args=args) if _last_name(func) in _BY_NAME:
                for argument in args:
                    if isinstance(argument, ast.Constant) and argument.value in _NAMED_ROUTES:
                        yield f"{argument.value} is reached by its name"
            case ast.Name(id="vars") if self.scopes.is_builtin(node, ("vars",)) and not self._is_called(node):
                yield "vars is passed on as a value"
            case ast.Name(id="exec" | "eval") if self.scopes.is_builtin(node, ("exec", "eval")):
                yield f"{node.id} runs code that is not compiled"
            case (
                ast.Name(id="__builtins__")
                | ast.Attribute(value=ast.Name(id="builtins"), attr="exec" | "eval")
            ):
                yield "builtins are reached in a roundabout way"
            case ast.Attribute(attr="__class__", ctx=ast.Store()):
                yield "__class__ is replaced"
            case ast.Call(func=ast.Attribute(value=receiver, attr="__init__"), args=args):
                is_super = isinstance(receiver, ast.Call)
                if not is_super and not (args and isinstance(args[0], ast.Name)):
                    yield "__init__ is called on an object that exists already"
            case ast.Attribute(attr="__dict__"):
                if not isinstance(node.ctx, ast.Load):
                    yield "__dict__ is replaced"
                elif not self._only_reads(node):
                    yield "__dict__ gives the fields away for writing"
            case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()) if name in _HOOKS:
                yield f"{name} of a class is changed"
            case ast.Attribute(attr="__set__" | "__delete__"):
                yield "a descriptor is called by hand"
            case ast.Attribute(value=ast.Name(id="gc"), attr="get_referents"):
                yield "gc.get_referents gives the dict of an object away"
            case ast.Import() | ast.ImportFrom():
                yield from _reasons_of_import(node)
            case ast.ClassDef():
                yield from (
                    f"class {node.name} defines {name}" for name in _names_defined(node) if name in _HOOKS
                )
            case ast.FunctionDef() | ast.AsyncFunctionDef() if (
                node.name in self.fields and node.decorator_list
            ):
                if isinstance(self.parents[node], ast.ClassDef):
                    yield f"{node.name} is a decorated method, not a field"
            case ast.Assign(targets=targets, value=ast.Call(func=func)):
                yield from self._descriptor_fields(node, targets, func)
            case ast.AnnAssign(target=target, value=ast.Call(func=func)):
                yield from self._descriptor_fields(node, [target], func)

    def _descriptor_fields(self, stmt: ast.stmt, targets: list[ast.expr], func: ast.expr) -> Iterator[str]:
        if _last_name(func) in self.descriptors:
            for target in targets:
                in_class = isinstance(self.parents[stmt], ast.ClassDef) and isinstance(target, ast.Name)
                if (in_class or isinstance(target, ast.Attribute)) and _last_name(target) in self.fields:
                    yield f"{_last_name(target)} is a descriptor, not a field"

    def _is_called(self, node: ast.AST) -> bool:
        parent = self.parents[node]
        return isinstance(parent, ast.Call) and parent.func is node

    def _only_reads(self, node: ast.expr) -> bool:
        """Whether the dict of an object is looked at on the spot and goes nowhere."""
        match parent := self.parents[node]:
            case ast.Subscript(ctx=ast.Load()):
                return parent.value is node
            case ast.Compare() | ast.FormattedValue() | ast.Expr():
                return True
            case ast.For(iter=source) | ast.AsyncFor(iter=source) | ast.comprehension(iter=source):
                return source is node
            case ast.Attribute(attr=name):
                return name in _READING_METHODS and self._is_called(parent)
            case ast.keyword(arg=None):
                return True
            case ast.Starred(ctx=ast.Load()):
                return True
            case ast.Dict():
                return any(
                    key is None and value is node
                    for key, value in zip(parent.keys, parent.values, strict=True)
                )
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
                return True
            case ast.BinOp(op=ast.BitOr()):
                return True
            case ast.UnaryOp(op=ast.Not()):
                return True
            case ast.Call(func=func):
                return self.scopes.is_builtin(func, _READING_FUNCTIONS)
        return False


def _reasons_of_import(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    if any(module.partition(".")[0] == "ctypes" for module in modules):
        yield "ctypes reaches any memory"
    for alias in node.names if isinstance(node, ast.ImportFrom) else ():
        if node.module == "gc" and alias.name == "get_referents":  # type: ignore[union-attr]  # an ImportFrom
            yield "gc.get_referents gives the dict of an object away"
        if node.module == "builtins" and alias.asname not in (None, alias.name):  # type: ignore[union-attr]  # the same
            yield f"the builtin {alias.name} gets another name"
    for alias in node.names if isinstance(node, ast.Import) else ():
        if alias.name in ("builtins", "gc") and alias.asname not in (None, alias.name):
            yield f"the module {alias.name} gets another name"


def _names_defined(node: ast.ClassDef) -> list[str]:
    """The names that the body of a class binds by definitions and assignments."""
    names: list[str] = []
    for stmt in node.body:
        match stmt:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.append(name)
            case ast.Assign(targets=targets):
                names += [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                names.append(name)
    return names


def _last_name(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None
