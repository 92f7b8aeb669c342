"""Find out whether a variable of the program may stand for a class.

Before:    class User: …        def reset(kind): kind.limit = 3        reset(User)
After:     True: `reset` is given a class, so `kind.limit = 3` may change the field of all objects of it
Invariant: where the answer is no, what a field is assigned on is an object, or the text shows the class
Cost:      linear in the program

A class stands nowhere but in its text as long as it is merely called, derived from, named in an annotation or
compared with.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from incoq.frontend.class_bodies import last_name
from incoq.frontend.program import Program

_TESTS = frozenset({"isinstance", "issubclass", "super", "cast", "TypeVar", "NewType"})
_CALL_THEM = frozenset({"map", "partial", "defaultdict", "field", "__new__", "make", "fromkeys"})
_LEADING = frozenset({"__subclasses__", "__mro__", "__bases__", "__base__", "mro", "modules"})
_HOOKS = frozenset({"__init_subclass__", "__set_name__", "__class_getitem__", "__prepare__"})
_HARMLESS_DECORATORS = frozenset({"dataclass", "total_ordering", "unique", "runtime_checkable", "final"})


def classes_are_values(program: Program) -> bool:
    """May something else than the name of a class, or `cls`, stand for a class of the program?"""
    names = {node.name for _, node in program.classes()}
    if not names:
        return False
    for module in program.modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {a.asname for a in node.names if a.asname and a.name.split(".")[-1] in names}
    return any(_wanders(module.tree, names) for module in program.modules)


def _wanders(tree: ast.Module, names: set[str]) -> bool:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef():
                decorated = {last_name(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list}
                made_by_others = node.keywords or "type" in map(last_name, node.bases)
                if made_by_others or not decorated <= _HARMLESS_DECORATORS:
                    return True
            case ast.FunctionDef(name=name) if name in _HOOKS:
                return True
            case ast.Attribute(attr=attr, ctx=ast.Load()) if attr in _LEADING:
                return True
            case ast.Call(func=ast.Name(id="globals" | "type"), args=args) if len(args) != 1:
                return True  # `globals()` and `type(name, bases, body)`
            case ast.Attribute(attr="__class__", ctx=ast.Load()) | ast.Call(func=ast.Name(id="type")):
                if not _is_used(node, parents):
                    return True
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
                own = name == "cls" and isinstance(node, ast.Name)
                if (own or name in names) and not _is_used(node, parents):
                    return True
    return False


def _is_used(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Is a class merely used where it stands: called, looked into, compared?"""
    parent = parents[node]
    match parent:
        case ast.Call(func=func, args=args):
            called = last_name(func)
            return func is node or called in _TESTS or (called in _CALL_THEM and args[:1] == [node])
        case ast.Attribute():
            return isinstance(parent.ctx, ast.Load)
        case ast.Subscript(value=value):  # `Box[int]`, or an argument of a generic class
            return value is not node or _is_used(parent, parents)
        case ast.keyword(arg="default_factory" | "bound" | "key"):
            return True
        case ast.Tuple() | ast.List() | ast.BinOp():
            return _is_used(parent, parents)
        case ast.arg() | ast.AnnAssign():
            return getattr(parent, "annotation", None) is node
        case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
            return returns is node
        case ast.ClassDef(bases=bases):
            return node in bases or node in parent.decorator_list
        case (
            ast.Compare() | ast.ExceptHandler() | ast.Raise() | ast.pattern() | ast.Expr() | ast.Delete()
            | ast.FormattedValue()
        ):  # fmt: skip
            return True
    return False


__all__ = ["classes_are_values"]
