"""Decide whether a set may have Python's own `add` and `discard` while nothing depends on it.

Before:    class Set(set):                          s.add(x)  calls a Python method, which finds that
               def add(s, x, /): ...                          no tag set holds s
After:     class Set(set): ...                      s.add(x)  is Python's own, in C
           class MaintainedSet(Set):
               def add(s, x, /): ...                          the class of s while it is tagged
Invariant: `type(s)` is a maintained class exactly while s is in one of the tag sets (or, in incremental
           mode, adopted); `s.__class__` is `Set` at all times
Cost:      O(1) more for each set that enters or leaves demand; nothing for an update of any other set

A method that was taken from a set before it was tagged would change it unseen. So the classes are switched
only in a program whose text takes no such method without calling it, asks for no `type` and derives no
class from a set.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from incoq.frontend.program import Program

METHODS = frozenset({"add", "discard", "remove", "pop", "clear"})
_BUILTINS = frozenset(dir(builtins))
_LOOKS_CLOSER = frozenset({"type", "attrgetter", "operator", "eval", "exec"})


def may_switch_classes(program: Program) -> bool:
    """Does no text of the program tell a maintained set from another, or keep a method of one?"""
    for module in program.modules:
        classes = _set_classes(module.incoq_names.items())
        nodes = list(ast.walk(module.tree))
        harmless = {
            id(n.func) for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
        }
        harmless |= {id(name) for n in nodes for name in _types_of_others(n, classes)}
        if any(id(node) not in harmless and _tells(node, classes) for node in nodes):
            return False
        if any(_takes_from_class(node, classes) for node in nodes):
            return False
    return True


def _set_classes(imported: Iterable[tuple[str, str]]) -> frozenset[str]:
    return frozenset({"set", "Set"} | {local for local, original in imported if original == "Set"})


def _types_of_others(node: ast.AST, classes: frozenset[str]) -> Iterator[ast.expr]:
    """Uses of `type` that only ask for other classes: `type(x) is int`, `type(x).__name__`."""
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="type") as asked), attr="__name__"):
            yield asked
        case ast.Compare(left=ast.Call(func=ast.Name(id="type") as asked), comparators=[ast.Name(id=other)]):
            if other not in classes and other in _BUILTINS:
                yield asked


def _takes_from_class(node: ast.AST, classes: frozenset[str]) -> bool:
    """`set.add(s, x)`"""
    return isinstance(node, ast.Attribute) and _last_name(node.value) in classes


def _tells(node: ast.AST, classes: frozenset[str]) -> bool:
    match node:
        case ast.Attribute(attr=attr) if attr in METHODS:
            return True
        case ast.Attribute(attr="__class__", ctx=ast.Store() | ast.Del()):
            return True
        case ast.alias(name=identifier):
            return identifier.split(".")[-1] in _LOOKS_CLOSER
        case ast.Name(id=identifier) | ast.Attribute(attr=identifier) if identifier in _LOOKS_CLOSER:
            return True
        case ast.Call(func=ast.Name(id="getattr"), args=[_, attribute, *_]):
            return not isinstance(attribute, ast.Constant) or attribute.value in METHODS
        case ast.ClassDef(bases=bases):
            return any(_last_name(base) in classes for base in bases)
    return False


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=identifier) | ast.Attribute(attr=identifier):
            return identifier
        case ast.Subscript(value=value):
            return _last_name(value)
    return ""
