"""Look at the program's classes for what would make an answer go stale (design, traps 3, 4 and 6).

Refused: fields that a class computes, classes that intercept attribute access, classes whose objects
cannot be keys, class attributes assigned on the class; in incremental mode also fields that something
other than an assignment sets.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from incoq.errors import CompileError, Notice
from incoq.frontend.find_queries import QuerySite
from incoq.frontend.program import Module, Program
from incoq.ir.invariants import Plan, Store
from incoq.ir.objects import Condition, Membership, Pattern, TuplePattern, Value, Variable
from incoq.ir.relational import Kind

_VALUES = frozenset(
    {"str", "int", "float", "complex", "bytes", "tuple", "frozenset", "Fraction", "Decimal"}
    | {"date", "datetime", "time", "timedelta", "UUID", "Path", "PurePath", "PosixPath", "UserString"}
)
_BY_IDENTITY = "let its objects be compared by identity, or read their fields outside of queries"
_INTERCEPTS = frozenset({"__setattr__", "__delattr__", "__getattr__", "__getattribute__"})


def defines_equality(program: Program) -> bool:
    """Does any class define `__eq__`? Then `==` need not be what a dict compares by."""
    return any("__eq__" in _methods(node) for _, node in program.classes())


def class_fields(program: Program) -> set[str]:
    """Fields for which a class has a value, so that assigning it on the class changes its objects."""
    return {f for _, node in program.classes() for f in _class_values(node)}


Fault = tuple[frozenset[str] | None, CompileError]  # the fields that queries must not read, or all


def class_faults(program: Program, plan: Plan) -> Iterator[Fault]:
    """What cannot be maintained, in the order of the text."""
    if not plan.queries:
        return
    fields = set(plan.fields())
    indexed = _indexed_fields(plan) if plan.mode == "incremental" else set()
    related = _related(program)
    declared = {f for _, node in program.classes() for f in _assigned_fields(node)}
    undeclared = fields - declared  # any object may have them
    changed = _changed_later(program)
    for module, node in program.classes():
        own = frozenset({f for c in related[node] for f in _assigned_fields(c)} & fields | undeclared)
        yield from _check_class(module, node, fields, indexed, related[node], own)
        if own and "__eq__" not in _methods(node):
            yield from _check_hash(module, node, own, changed)
    for module in program.modules:
        yield from _check_class_assignments(module, fields)
        if indexed:
            yield from _check_copies(module, indexed)


def unconstrained(sites: Sequence[QuerySite]) -> list[Notice]:
    """Advice about parameters that no clause mentions."""
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


def _check_class(
    module: Module, node: ast.ClassDef, fields: set[str], indexed: set[str], related: set[ast.ClassDef],
    own: frozenset[str],
) -> Iterator[Fault]:  # fmt: skip
    methods = _methods(node)
    if fields:
        for method in sorted(_INTERCEPTS & methods.keys()):
            code = "IQ221" if method in ("__setattr__", "__delattr__") else "IQ206"
            message = f"the class `{node.name}` defines `{method}`"
            yield frozenset(fields), module.error(code, message, methods[method])
    for field in sorted(fields & methods.keys()):
        message = f"queries read the field `{field}`, which `{node.name}` computes"
        yield frozenset({field}), module.error("IQ206", message, methods[field])
    decorator = _dataclass(node)
    unhashable = "__eq__" in methods and "__hash__" not in methods and not _assigns_hash(node)
    if decorator is not None and _option(decorator, "eq") is not False and not unhashable:
        frozen, unsafe = _option(decorator, "frozen"), _option(decorator, "unsafe_hash")
        unhashable = not frozen and not unsafe and "__hash__" not in methods and not _assigns_hash(node)
    if unhashable and own:
        yield own, module.error("IQ205", f"objects of `{node.name}` cannot be dict keys", node)
    if "__eq__" in methods and own:
        message = f"`{node.name}` defines `__eq__`, so equal objects may have different fields"
        yield own, module.error("IQ205", message, methods["__eq__"], _BY_IDENTITY)
    elif (
        decorator is not None and _option(decorator, "unsafe_hash") and _option(decorator, "eq") is not False
    ):
        if own and not _option(decorator, "frozen"):
            message = f"objects of `{node.name}` are equal by their fields, so one may be taken for another"
            yield own, module.error("IQ205", message, node)
    elif decorator is not None and own and _leaves_out(node):
        message = f"objects of `{node.name}` may be equal and have different fields (`compare=False`)"
        yield own, module.error("IQ205", message, node, _BY_IDENTITY)
    elif (base := _value_base(node)) is not None:
        changing = frozenset(f for c in related for f in _fields_of_self(c)) & fields
        if changing:
            message = f"objects of `{node.name}` are equal as values of `{base}` are, whatever their fields"
            yield changing, module.error("IQ205", message, node)
    late = frozenset(f for f in _class_attributes(node) if f in indexed)
    if late and (decorator is not None or _class_values(node) & late):
        message = f"`{sorted(late)[0]}` of `{node.name}` is set where no assignment shows it"
        yield late, module.error("IQ223", message, node)


def _check_hash(
    module: Module, node: ast.ClassDef, own: frozenset[str], changed: set[str] | None
) -> Iterator[Fault]:
    """An object whose hash changes is lost in every dict that has it as a key."""
    method = _methods(node).get("__hash__")
    if method is None:
        return
    read = {n.attr for n in ast.walk(method) if isinstance(n, ast.Attribute)}
    moving = sorted(read if changed is None else read & changed)
    if moving:
        message = f"the hash of `{node.name}` reads `{moving[0]}`, which the program changes later"
        yield (
            own,
            module.error("IQ205", message, method, "let the hash read what never changes, or define none"),
        )


def _changed_later(program: Program) -> set[str] | None:
    """The attributes that something else than a constructor assigns; None, if that can be any."""
    found: set[str] = set()
    for module in program.modules:
        making = {
            inner
            for node in ast.walk(module.tree)
            if isinstance(node, ast.FunctionDef) and node.name in ("__init__", "__new__") and node.args.args
            for inner in ast.walk(node)
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name)
            and inner.value.id == node.args.args[0].arg
        }  # fmt: skip
        for node in ast.walk(module.tree):
            match node:
                case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if node not in making:
                    found.add(attr)
                case ast.Call(
                    func=ast.Name(id="setattr" | "delattr"), args=[_, ast.Constant(value=str(attr)), *_]
                ):
                    found.add(attr)
                case ast.Call(func=ast.Name(id="setattr" | "delattr")):
                    return None
    return found


def _related(program: Program) -> dict[ast.ClassDef, set[ast.ClassDef]]:
    """Each class with those that it inherits from and those that inherit from it, by their names."""
    classes = [node for _, node in program.classes()]
    named: dict[str, list[ast.ClassDef]] = {}
    for node in classes:
        named.setdefault(node.name, []).append(node)
    above = {node: [c for base in node.bases for c in named.get(_last_name(base), ())] for node in classes}
    below: dict[ast.ClassDef, list[ast.ClassDef]] = {node: [] for node in classes}
    for node, bases in above.items():
        for base in bases:
            below[base].append(node)
    return {node: {node} | _reached(node, above) | _reached(node, below) for node in classes}


def _reached(node: ast.ClassDef, edges: dict[ast.ClassDef, list[ast.ClassDef]]) -> set[ast.ClassDef]:
    found: set[ast.ClassDef] = set()
    stack = list(edges[node])
    while stack:
        other = stack.pop()
        if other not in found:
            found.add(other)
            stack += edges[other]
    return found


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=identifier) | ast.Attribute(attr=identifier):
            return identifier
        case ast.Subscript(value=value):  # Base[int]
            return _last_name(value)
    return ""


def _value_base(node: ast.ClassDef) -> str | None:
    """A base of which equal values are one key."""
    return next((name for base in node.bases if (name := _last_name(base)) in _VALUES), None)


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
    return _class_attributes(node) | _fields_of_self(node)


def _fields_of_self(node: ast.ClassDef) -> set[str]:
    """What methods assign to their first parameter, whatever its name, or `__new__` to anything."""
    methods = [s for s in ast.walk(node) if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]
    own = {"self"} | {m.args.args[0].arg for m in methods if m.args.args}
    found: set[str] = set()
    for method in methods:
        for inner in ast.walk(method):
            match inner:
                case ast.Attribute(value=ast.Name(id=receiver), attr=attr, ctx=ast.Store()):
                    if receiver in own or method.name == "__new__":
                        found.add(attr)
    return found


def _dataclass(node: ast.ClassDef) -> ast.expr | None:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        identifier = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if identifier == "dataclass":
            return decorator
    return None


def _leaves_out(node: ast.ClassDef) -> bool:
    """Is there a field of the dataclass that `==` does not compare?"""
    return any(
        keyword.arg == "compare" and isinstance(keyword.value, ast.Constant) and not keyword.value.value
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call)
        for keyword in inner.keywords
    )


def _option(decorator: ast.expr, option: str) -> object:
    if isinstance(decorator, ast.Call):
        for keyword in decorator.keywords:
            if keyword.arg == option and isinstance(keyword.value, ast.Constant):
                return keyword.value.value
    return None


def _check_class_assignments(module: Module, fields: set[str]) -> Iterator[Fault]:
    """`C.f = x` on a class changes every object that has no `f` of its own."""
    classes = {n.name for n in ast.walk(module.tree) if isinstance(n, ast.ClassDef)} | {"cls"}
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=receiver, attr=attr, ctx=ast.Store() | ast.Del()) if attr in fields:
                if _is_class(receiver, classes):
                    message = f"`{ast.unparse(node)}` is assigned on a class"
                    yield frozenset({attr}), module.error("IQ222", message, node)


def _check_copies(module: Module, indexed: set[str]) -> Iterator[Fault]:
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
                message = f"`{name}` makes objects whose fields nothing assigns"
                yield frozenset(indexed), module.error("IQ223", message, node)


def _is_class(node: ast.expr, classes: set[str]) -> bool:
    match node:
        case ast.Name(id=identifier):
            return identifier in classes
        case ast.Attribute(attr="__class__"):
            return True
        case ast.Call(func=ast.Name(id="type"), args=[_]):
            return True
    return False


__all__ = ["Fault", "class_faults", "class_fields", "defines_equality", "unconstrained"]
