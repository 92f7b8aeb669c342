"""Look at the program's classes for what would make an answer go stale (design, traps 3, 4 and 6).

Refused: fields that a class computes, classes that intercept attribute access, classes whose objects
cannot be keys, class attributes assigned on the class; in incremental mode also fields that something
other than an assignment sets.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from incoq.errors import CompileError, Notice
from incoq.frontend.find_queries import QuerySite
from incoq.frontend.program import Module, Program
from incoq.ir.invariants import Plan, Store
from incoq.ir.objects import Condition, Membership, Pattern, TuplePattern, Value, Variable
from incoq.ir.relational import Kind

_INTERCEPTS = frozenset({"__setattr__", "__delattr__", "__getattr__", "__getattribute__"})


def defines_equality(program: Program) -> bool:
    """Does any class define `__eq__`? Then `==` need not be what a dict compares by."""
    return any("__eq__" in _methods(node) for _, node in program.classes())


def class_fields(program: Program) -> set[str]:
    """Fields for which a class has a value, so that assigning it on the class changes its objects."""
    return {f for _, node in program.classes() for f in _class_values(node)}


def check_classes(program: Program, plan: Plan, sites: Sequence[QuerySite]) -> list[Notice]:
    """Refuse what cannot be maintained; return advice."""
    if not plan.queries:
        return []
    fields = set(plan.fields())
    indexed = _indexed_fields(plan)
    for module, node in program.classes():
        _check_class(module, node, fields, indexed if plan.mode == "incremental" else set())
    for module in program.modules:
        _check_class_assignments(module, fields)
        if plan.mode == "incremental" and indexed:
            _check_copies(module)
    notices: list[Notice] = []
    for site in sites:
        query = site.query
        used = {n for c in query.clauses for n in _names(c)} | query.result.names
        for parameter in query.params:
            if parameter not in used:
                notices.append(
                    Notice(f"nothing constrains the parameter `{parameter}` of {query.name}", query.position)
                )
    return notices


def _names(clause: Membership | Condition) -> set[str]:
    if isinstance(clause, Condition):
        return set(clause.expr.names)
    return set(clause.source.names) | _pattern_names(clause.pattern)


def _pattern_names(pattern: Pattern) -> set[str]:
    match pattern:
        case Variable(name):
            return {name}
        case Value(expr):
            return set(expr.names)
        case TuplePattern(items):
            return {name for item in items for name in _pattern_names(item)}
    return set()


def _indexed_fields(plan: Plan) -> set[str]:
    return {
        clause.field
        for invariant in plan.invariants
        if invariant.store is Store.INDEX
        for clause in invariant.clauses
        if clause.relation.kind is Kind.FIELD
    }


def _check_class(module: Module, node: ast.ClassDef, fields: set[str], indexed: set[str]) -> None:
    methods = _methods(node)
    if fields:
        for method in sorted(_INTERCEPTS & methods.keys()):
            code = "IQ221" if method in ("__setattr__", "__delattr__") else "IQ206"
            raise module.error(code, f"the class `{node.name}` defines `{method}`", methods[method])
    for field in sorted(fields & methods.keys()):
        raise module.error(
            "IQ206", f"queries read the field `{field}`, which `{node.name}` computes", methods[field]
        )
    decorator = _dataclass(node)
    own = _assigned_fields(node)
    unhashable = "__eq__" in methods and "__hash__" not in methods and not _assigns_hash(node)
    if decorator is not None and _option(decorator, "eq") is not False and not unhashable:
        frozen, unsafe = _option(decorator, "frozen"), _option(decorator, "unsafe_hash")
        unhashable = not frozen and not unsafe and "__hash__" not in methods and not _assigns_hash(node)
    if unhashable and own & fields:
        raise module.error("IQ205", f"objects of `{node.name}` cannot be dict keys", node)
    if "__eq__" in methods and own & fields:
        raise module.error(
            "IQ205",
            f"`{node.name}` defines `__eq__`, so equal objects may have different fields",
            methods["__eq__"],
        )
    if indexed:
        late = {f for f in _class_attributes(node) if f in indexed}
        if late and (decorator is not None or _class_values(node) & late):
            raise module.error(
                "IQ223", f"`{sorted(late)[0]}` of `{node.name}` is set where no assignment shows it", node
            )


def _methods(node: ast.ClassDef) -> dict[str, ast.AST]:
    return {s.name: s for s in node.body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)}


def _assigns_hash(node: ast.ClassDef) -> bool:
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__hash__")], value=value):
                return not (isinstance(value, ast.Constant) and value.value is None)
    return False


def _class_attributes(node: ast.ClassDef) -> set[str]:
    found: set[str] = set()
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=identifier)):
                found.add(identifier)
            case ast.Assign(targets=targets):
                found |= {t.id for t in targets if isinstance(t, ast.Name)}
    return found


def _class_values(node: ast.ClassDef) -> set[str]:
    """Class attributes that hold a value."""
    bare = {
        s.target.id
        for s in node.body
        if isinstance(s, ast.AnnAssign) and s.value is None and isinstance(s.target, ast.Name)
    }
    return _class_attributes(node) - bare


def _assigned_fields(node: ast.ClassDef) -> set[str]:
    found = _class_attributes(node)
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Store()):
                found.add(attr)
    return found


def _dataclass(node: ast.ClassDef) -> ast.expr | None:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        identifier = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if identifier == "dataclass":
            return decorator
    return None


def _option(decorator: ast.expr, option: str) -> object:
    if isinstance(decorator, ast.Call):
        for keyword in decorator.keywords:
            if keyword.arg == option and isinstance(keyword.value, ast.Constant):
                return keyword.value.value
    return None


def _check_class_assignments(module: Module, fields: set[str]) -> None:
    """`C.f = x` on a class changes every object that has no `f` of its own."""
    classes = {n.name for n in ast.walk(module.tree) if isinstance(n, ast.ClassDef)} | {"cls"}
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=receiver, attr=attr, ctx=ast.Store() | ast.Del()) if attr in fields:
                if _is_class(receiver, classes):
                    raise module.error("IQ222", f"`{ast.unparse(node)}` is assigned on a class", node)


def _check_copies(module: Module) -> None:
    """A copied or unpickled object gets its fields from no assignment that the compiler sees."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=aliases):
                names = [a.name for a in aliases]
            case ast.ImportFrom(module=str(name)):
                names = [name]
            case _:
                continue
        for name in names:
            if name in ("copy", "pickle", "copyreg", "shelve"):
                raise module.error("IQ223", f"`{name}` makes objects whose fields nothing assigns", node)


def _is_class(node: ast.expr, classes: set[str]) -> bool:
    match node:
        case ast.Name(id=identifier):
            return identifier in classes
        case ast.Attribute(attr="__class__"):
            return True
        case ast.Call(func=ast.Name(id="type"), args=[_]):
            return True
    return False


__all__ = ["CompileError", "check_classes", "class_fields", "defines_equality"]
