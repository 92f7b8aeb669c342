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
from collections.abc import Iterable, Iterator

from incoq.frontend.program import Program

_OPERATORS = frozenset((
    "__eq__", "__ne__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__len__",
    "__contains__", "__iter__", "__next__", "__reversed__", "__getitem__", "__missing__", "__add__",
    "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__matmul__", "__rmatmul__",
    "__truediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__divmod__",
    "__rdivmod__", "__pow__", "__rpow__", "__lshift__", "__rlshift__", "__rshift__", "__rrshift__",
    "__and__", "__rand__", "__or__", "__ror__", "__xor__", "__rxor__", "__neg__", "__pos__", "__abs__",
    "__invert__", "__round__", "__str__", "__repr__", "__format__", "__bytes__", "__int__", "__float__",
    "__complex__", "__index__", "__del__", "__getattr__", "__getattribute__", "__instancecheck__",
))  # fmt: skip
OF_KEYS = frozenset({"__hash__", "__eq__"})
_HARMLESS = frozenset((
    "abs", "all", "any", "bool", "float", "format", "frozenset", "getattr", "hasattr", "hash",
    "id", "int", "isinstance", "len", "max", "min", "repr", "round", "sorted", "str", "sum",
    "super", "tuple", "type", "zip",
))  # fmt: skip
_MARKS = frozenset({"abstractmethod", "override", "final", "overload"})  # decorators that only mark
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
    return bool(acting_operators(program))


def acting_operators(program: Program) -> frozenset[str]:
    """The operators by which code of the program may update or ask.

    >>> from incoq.frontend.program import Program, parse_module
    >>> text = "class K:\\n    def __hash__(self): return ask(self)\\n    def __eq__(self, o): return True"
    >>> sorted(acting_operators(Program([parse_module(text, "k.py")])))
    ['__hash__']
    """
    nodes = [node for module in program.modules for node in ast.walk(module.tree)]
    computed = _acting_attributes(nodes)
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.ClassDef(body=body):
                found.update(name for statement in body for name in _acting(statement, computed))
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Constant(value=str(name)):
                if name in _OPERATORS:  # K.__eq__ = f, setattr(K, "__eq__", f)
                    found.add(name)
    return frozenset(found)


def _acting_attributes(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that classes compute by more than reading, directly or through one another."""
    computing = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.decorator_list]
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(f.name for f in computing if _is_acting(f, found))
        if more == found:
            return found
        found = more


def _acting(statement: ast.stmt, computed: frozenset[str]) -> Iterator[str]:
    """The operators that a statement of a class defines, and that do more than read."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name in _OPERATORS:
            marked = all(_last_name(d) in _MARKS for d in statement.decorator_list)
            if name == "__del__" or not marked or _is_acting(statement, computed):
                yield name
        case ast.Assign(targets=targets, value=value) if not _is_known(value):
            yield from (t.id for t in targets if isinstance(t, ast.Name) and t.id in _OPERATORS)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            if name in _OPERATORS and not _is_known(value):
                yield name


def _is_known(value: ast.expr) -> bool:
    """`None`, or an operator that some class has, as in `__repr__ = __str__` or `object.__hash__`."""
    match value:
        case ast.Constant():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _OPERATORS
    return False


def _is_acting(function: ast.FunctionDef | ast.AsyncFunctionDef, computed: frozenset[str]) -> bool:
    return any(_is_action(node, computed) for part in function.body for node in ast.walk(part))


def _is_action(node: ast.AST, computed: frozenset[str]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, attribute, *_]):
            return not isinstance(attribute, ast.Constant) or attribute.value in computed
        case ast.Call(func=ast.Name(id=name)):
            return name not in _HARMLESS
        case ast.Call(func=ast.Attribute(attr=attr)):
            return not (attr.startswith("__") and attr.endswith("__"))
        case ast.Call() | ast.AugAssign() | ast.With() | ast.AsyncWith():
            return True
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return True
        case ast.Attribute(attr=attr):
            return attr in computed
    return False


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
