"""Find out whether code of the program may run in the midst of maintenance.

Before:    class Key:                                   class Key:
               def __eq__(self, other):                     def __eq__(self, other):
                   return self.n == other.n                     log.add(other); return self.n == other.n
After:     False                                        True
Invariant: where nothing is found, maintenance calls nothing that could update or ask
Cost:      linear in the program

Maintenance hashes and compares the program's values, and may drop the last reference to one: the operators of
its classes, finalizers and the callbacks of weak references then run. Other threads, and handlers of signals,
run at any time. Where there are any, generated code notes that an update is under way, and refuses another.
"""

from __future__ import annotations

import ast

from incoq.frontend.program import Program

_OPERATORS = frozenset((
    "__eq__", "__ne__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__len__",
    "__contains__", "__iter__", "__getitem__", "__add__", "__radd__", "__sub__", "__rsub__",
    "__mul__", "__rmul__", "__neg__", "__abs__", "__str__", "__repr__", "__format__", "__int__",
    "__float__", "__index__", "__del__",
))  # fmt: skip
_HARMLESS = frozenset((
    "abs", "all", "any", "bool", "float", "format", "frozenset", "getattr", "hasattr", "hash",
    "id", "int", "isinstance", "len", "max", "min", "repr", "round", "sorted", "str", "sum",
    "super", "tuple", "type", "zip",
))  # fmt: skip
_MODULES = frozenset({"threading", "_thread", "concurrent", "multiprocessing", "signal", "weakref", "gc"})


def may_reenter(program: Program) -> bool:
    """Does the program define operators that do more than read, finalizers, handlers or threads?"""
    for module in program.modules:
        for node in ast.walk(module.tree):
            match node:
                case ast.Import(names=aliases):
                    if any(alias.name.partition(".")[0] in _MODULES for alias in aliases):
                        return True
                case ast.ImportFrom(module=str(name), level=0):
                    if name.partition(".")[0] in _MODULES:
                        return True
                case ast.ClassDef(body=body):
                    if any(_acts(method) for method in body):
                        return True
    return False


def _acts(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name not in _OPERATORS:
        return False
    return node.name == "__del__" or any(map(_is_action, ast.walk(node)))


def _is_action(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name not in _HARMLESS
        case ast.Call(func=ast.Attribute(attr=attr)):
            return not (attr.startswith("__") and attr.endswith("__"))
        case ast.Call():
            return True
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return True
        case ast.AugAssign():
            return True
    return False
