"""Decide whether a set may have Python's own `add` and `discard` while nothing depends on it.

Before:    class Set(set):                          s.add(x)  calls a Python method, which finds that
               def add(s, x, /): ...                          no tag set holds s
After:     class Set(set): ...                      s.add(x)  is Python's own, in C
           class MaintainedSet(Set):
               def add(s, x, /): ...                          the class of s while it is tagged
Invariant: `type(s)` is a maintained class exactly while s is in one of the tag sets (or, in incremental
           mode, adopted); `s.__class__` is `Set` at all times
Cost:      O(1) more for each set that enters or leaves demand; nothing for an update of any other set

A method that was taken from a set before it was tagged would change it unseen, and so would one of the class
itself, which is Python's own. So the classes are switched only in a program whose text takes no such method
without calling it, asks for no `type`, derives no class from a set and has the classes of sets nowhere but
where they are called, annotate, make defaults or are asked about. Nor may a key that Python looks for ask a
query (`find_reentry.acting_operators`): the set would be tagged in the midst of Python's own `add`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping

from incoq.frontend.program import Program

METHODS = frozenset({"add", "discard", "remove", "pop", "clear"})
_BUILTINS = frozenset(dir(builtins))
_BY_NAME = frozenset({"getattr", "__getattribute__"})
_LOOKS_CLOSER = _BY_NAME | {"type", "attrgetter", "operator", "eval", "exec", "inspect"}
_ASKS_FOR_CLASSES = frozenset({"isinstance", "issubclass"})
_CALLS_CLASSES = frozenset({"map", "defaultdict"})  # and takes no method of one

Parents = Mapping[ast.AST, ast.AST]


def may_switch_classes(program: Program) -> bool:
    """Does no text of the program tell a maintained set from another, or keep a method of one?"""
    # One module may reach the class by the name that another has for it.
    classes = _set_classes(item for module in program.modules for item in module.incoq_names.items())
    for module in program.modules:
        nodes = list(ast.walk(module.tree))
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        harmless = {id(n.func) for n in nodes if isinstance(n, ast.Call) and _is_harmless(n)}
        harmless |= {id(name) for n in nodes for name in _types_of_others(n, classes)}
        if any(id(node) not in harmless and _tells(node) for node in nodes):
            return False
        if any(_hands_on(node, classes, parents) for node in nodes):
            return False
    return True


def _set_classes(imported: Iterable[tuple[str, str]]) -> frozenset[str]:
    return frozenset({"set", "Set"} | {local for local, original in imported if original == "Set"})


def _is_harmless(call: ast.Call) -> bool:
    """Is a method called at once, or an attribute read by a name that is no method of sets?"""
    match call:
        case ast.Call(func=ast.Attribute(attr=method)):
            return method not in _BY_NAME
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=attribute), *_]):
            return attribute not in METHODS
    return False


def _types_of_others(node: ast.AST, classes: frozenset[str]) -> Iterator[ast.expr]:
    """Uses of `type` that only ask for other classes: `type(x) is int`, `type(x).__name__`."""
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="type") as asked), attr="__name__"):
            yield asked
        case ast.Compare(left=ast.Call(func=ast.Name(id="type") as asked), comparators=[ast.Name(id=other)]):
            if other not in classes and other in _BUILTINS:
                yield asked


def _tells(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=attr) if attr in METHODS:
            return True
        case ast.Attribute(attr="__class__", ctx=ast.Store() | ast.Del()):
            return True
        case ast.MatchClass(kwd_attrs=attributes):
            return not METHODS.isdisjoint(attributes)
        case ast.alias(name=identifier):
            return identifier.split(".")[-1] in _LOOKS_CLOSER
        case ast.ImportFrom(module="inspect"):
            return True
        case ast.Name(id=identifier) | ast.Attribute(attr=identifier) if identifier in _LOOKS_CLOSER:
            return True
    return False


def _hands_on(node: ast.AST, classes: frozenset[str], parents: Parents) -> bool:
    """Does a class of sets stand where a method of it may be taken, as in `K = Set` and `set.add(s, x)`?"""
    match node:
        case ast.Attribute(attr="__class__"):
            match parents[node]:
                case ast.Attribute(attr=attr):
                    return attr in METHODS or attr == "__dict__"
                case ast.Call(func=func):
                    return func is not node
                case ast.Compare():
                    return False
            return True
        case ast.Name(id=identifier, ctx=ast.Load()) | ast.Attribute(attr=identifier, ctx=ast.Load()) if (
            identifier in classes
        ):
            return not _is_class_alone(node, parents)
    return False


def _is_class_alone(node: ast.AST, parents: Parents) -> bool:
    """Is a class called, an annotation, what makes a default, or what something is an instance of?"""
    while True:
        inner, node = node, parents[node]
        match node:
            case ast.Tuple() | ast.BinOp(op=ast.BitOr()) | ast.Subscript():
                continue
            case ast.AnnAssign(annotation=annotation):
                return inner is annotation
            case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
                return inner is returns
            case ast.arg() | ast.keyword(arg="default_factory") | ast.MatchClass():
                return True
            case ast.Call(func=func, args=args):
                return (
                    func is inner
                    or _last_name(func) in _ASKS_FOR_CLASSES
                    or (_last_name(func) in _CALLS_CLASSES and args[0] is inner)
                )
        return False


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=identifier) | ast.Attribute(attr=identifier):
            return identifier
        case ast.Subscript(value=value):
            return _last_name(value)
    return ""
