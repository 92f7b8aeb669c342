"""Look at the program's classes for what would make an answer go stale (design, traps 3, 4 and 6).

Refused: fields that a class computes, classes that intercept attribute access, classes whose objects
cannot be keys, class attributes assigned on the class; in incremental mode also fields that something
other than an assignment sets. A field that one class computes and another one stores is looked at when a
query reads it: of which of the two the objects are, the text does not tell.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from incoq.errors import CompileError, Notice
from incoq.frontend.class_bodies import (
    PLAIN_BASES,
    assigned_fields,
    assigns_hash,
    bound_otherwise,
    class_attributes,
    class_values,
    dataclass,
    fields_of_self,
    last_name,
    leaves_out,
    looks_at_its_names,
    methods,
    option,
    related,
    statements,
    value_base,
)
from incoq.frontend.find_class_values import classes_are_values
from incoq.frontend.find_queries import QuerySite
from incoq.frontend.program import Module, Program
from incoq.ir.invariants import Plan, Store
from incoq.ir.objects import Condition, Membership, Pattern, TuplePattern, Value, Variable
from incoq.ir.relational import Kind

_IN_A_FIELD = "derive the class from no `{base}`: hold the value in a field, beside the others"
_BY_IDENTITY = "let its objects be compared by identity, or read their fields outside of queries"
_EQUALITY = ("__eq__", "__ne__")
_PARTS_OF_NUMBERS = frozenset({"real", "imag", "numerator", "denominator", "start", "stop", "step"})
# Modules of which a program gets no objects with fields that a query could read.
_WITHOUT_PARTS = frozenset(
    [
        "incoq",
        "__future__",
        "abc",
        "bisect",
        "cmath",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "functools",
        "gc",
        "heapq",
        "itertools",
        "json",
        "math",
        "operator",
        "random",
        "statistics",
        "string",
        "sys",
        "time",
        "typing",
        "typing_extensions",
        "weakref",
    ]
)
_INTERCEPTS = frozenset({"__setattr__", "__delattr__", "__getattr__", "__getattribute__"})


def defines_equality(program: Program) -> bool:
    """Does any class define `__eq__` or `__ne__`? Then `==` need not be what a dict compares by."""
    return any(not methods(node).keys().isdisjoint(_EQUALITY) for _, node in program.classes())


def class_fields(program: Program, fields: Collection[str]) -> set[str]:
    """Those fields which a class has, or may get, a value for, so that assigning it changes its objects."""
    if classes_are_values(program):
        return set(fields)
    return {f for _, node in program.classes() for f in class_values(node)} & set(fields)


def part_fields(program: Program, fields: Collection[str]) -> set[str]:
    """Fields that objects may have from the start, without an assignment in the program: parts of values,
    such as `date.month`. Indices over all objects, which learn of fields by assignments, miss them."""
    any_part = False
    stored: set[str] | None = {f for _, node in program.classes() for f in assigned_fields(node)}
    own = {module.name.split(".")[0] for module in program.modules} | _WITHOUT_PARTS
    for module in program.modules:
        for node in ast.walk(module.tree):
            match node:
                case ast.Import(names=aliases):
                    any_part = any_part or any(a.name.split(".")[0] not in own for a in aliases)
                case ast.ImportFrom(module=str(name), names=aliases, level=0):
                    makes = any(a.name.lower() == "namedtuple" for a in aliases)
                    any_part = any_part or makes or name.split(".")[0] not in own
                case ast.Attribute(attr="namedtuple" | "NamedTuple"):
                    any_part = True
                case ast.Attribute(attr=attr, ctx=ast.Store()) if stored is not None:
                    stored.add(attr)
                case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(attr)), *_]) if (
                    stored is not None
                ):
                    stored.add(attr)
                case ast.Call(func=ast.Name(id="setattr")):
                    stored = None
    if any_part:
        return set(fields)
    unstored = set() if stored is None else set(fields) - stored
    return unstored | (_PARTS_OF_NUMBERS & set(fields))


Fault = tuple[frozenset[str] | None, CompileError]  # the fields that queries must not read, or all


def computed_fields(program: Program, fields: Collection[str]) -> Iterator[tuple[str, bool, CompileError]]:
    """The fields that a class computes, each with whether a class that has nothing to do with it stores one
    of the same name, and the fault that it is otherwise."""
    families = related(program)
    assigned = {node: set(assigned_fields(node)) for _, node in program.classes()}
    for module, node in program.classes():
        defined = methods(node)
        for field in sorted(defined.keys() & set(fields)):
            stored = any(field in assigned[c] for c in assigned.keys() - families[node])
            message = f"queries read the field `{field}`, which `{node.name}` computes"
            yield field, stored, module.error("IQ206", message, defined[field])


def class_faults(program: Program, plan: Plan, unmarked: bool = False) -> Iterator[Fault]:
    """What cannot be maintained, in the order of the text; where all queries are `unmarked`, the objects that
    they meet are looked at when they run, and only what they would meet for certain is left here."""
    if not plan.queries:
        return
    fields = set(plan.fields())
    indexed = _indexed_fields(plan) if plan.mode == "incremental" and not unmarked else set()
    families = related(program)
    declared = {f for _, node in program.classes() for f in assigned_fields(node)}
    # Where no class shows a field that queries read, objects of one that shows none may have them.
    undeclared = set() if fields & declared else fields
    changed = _changed_later(program)
    odd = _INTERCEPTS.union(_EQUALITY)
    usual = {  # fields of objects that an unmarked query can maintain
        f
        for _, node in program.classes()
        if unmarked and all(odd.isdisjoint(methods(c)) for c in families[node])
        for f in assigned_fields(node)
    }
    for module, node in program.classes():
        shown = {f for c in families[node] for f in assigned_fields(c)}
        own = frozenset(shown & fields if shown else undeclared) - usual
        intercepted = own if unmarked else frozenset(fields)
        yield from _check_class(module, node, intercepted, indexed, families[node], own)
        if own and "__eq__" not in methods(node):
            yield from _check_hash(module, node, own, changed)
    for field, stored, error in computed_fields(program, fields):
        # In incremental mode objects are read that concern no query.
        if not stored or (plan.mode == "incremental" and not unmarked):
            yield frozenset({field}), error
    for module in program.modules:
        yield from _check_class_assignments(module, fields)
        if fields and not unmarked:
            yield from _check_made_classes(module, fields, _metaclasses(program))
        if indexed:
            yield from _check_copies(module, indexed)


def doubtful_classes(program: Program, fields: Collection[str]) -> dict[ast.ClassDef, tuple[str, ...]]:
    """The classes that only the run shows whole, each with fields that queries read: it may compute one."""
    found: dict[ast.ClassDef, tuple[str, ...]] = {}
    known = {node.name for _, node in program.classes()} | PLAIN_BASES
    for module, node in program.classes():
        bases = all(last_name(base) in known for base in node.bases) and not node.keywords
        decorated = len(node.decorator_list) > (dataclass(module, node) is not None)
        unknown = decorated or not bases or looks_at_its_names(node)
        doubtful = set(fields) if unknown else _computed(node) & set(fields)
        if doubtful:
            found[node] = tuple(sorted(doubtful))
    return found


def followed_classes(program: Program, fields: Collection[str]) -> set[ast.ClassDef]:
    """The classes whose objects may have one of the fields: all, where the text shows none that has one."""
    shown = {node: assigned_fields(node) & set(fields) for _, node in program.classes()}
    everywhere = not set(fields) <= set().union(*shown.values())
    return {node for node, own in shown.items() if own or everywhere}


def _computed(node: ast.ClassDef) -> set[str]:
    """The class attributes whose value may be anything: `full = make("name")`."""
    found: set[str] = set()
    for statement in statements(node):
        match statement:
            case ast.Assign(targets=[ast.Name()], value=ast.Constant()):
                pass
            case ast.AnnAssign(value=None | ast.Constant()):
                pass
            case ast.AnnAssign(target=target, value=ast.expr()):
                found |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
            case ast.Assign(targets=targets):
                found |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return found | bound_otherwise(node)


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
    module: Module, node: ast.ClassDef, intercepted: frozenset[str], indexed: set[str],
    family: set[ast.ClassDef], own: frozenset[str],
) -> Iterator[Fault]:  # fmt: skip
    defined = methods(node)
    if intercepted:
        for method in sorted(_INTERCEPTS & defined.keys()):
            code = "IQ221" if method in ("__setattr__", "__delattr__") else "IQ206"
            message = f"the class `{node.name}` defines `{method}`"
            yield intercepted, module.error(code, message, defined[method])
    decorator = dataclass(module, node)
    unhashable = "__eq__" in defined and "__hash__" not in defined and not assigns_hash(node)
    if decorator is not None and option(decorator, "eq") is not False and not unhashable:
        frozen, unsafe = option(decorator, "frozen"), option(decorator, "unsafe_hash")
        unhashable = not frozen and not unsafe and "__hash__" not in defined and not assigns_hash(node)
    if unhashable and own:
        yield own, module.error("IQ205", f"objects of `{node.name}` cannot be dict keys", node)
    if "__eq__" in defined and own:
        message = f"`{node.name}` defines `__eq__`, so equal objects may have different fields"
        yield own, module.error("IQ205", message, defined["__eq__"], _BY_IDENTITY)
    elif decorator is not None and option(decorator, "unsafe_hash") and option(decorator, "eq") is not False:
        if own and not option(decorator, "frozen"):
            message = f"objects of `{node.name}` are equal by their fields, so one may be taken for another"
            yield own, module.error("IQ205", message, node)
    elif decorator is not None and own and leaves_out(node):
        message = f"objects of `{node.name}` may be equal and have different fields (`compare=False`)"
        yield own, module.error("IQ205", message, node, _BY_IDENTITY)
    elif (base := value_base(node)) is not None:
        changing = frozenset(f for c in family for f in fields_of_self(c)) & own
        if changing:
            message = f"objects of `{node.name}` are equal as values of `{base}` are, whatever their fields"
            yield changing, module.error("IQ205", message, node, _IN_A_FIELD.format(base=base))
    late = frozenset(f for f in class_attributes(node) if f in indexed)
    if late and (decorator is not None or class_values(node) & late):
        message = f"`{sorted(late)[0]}` of `{node.name}` is set where no assignment shows it"
        yield late, module.error("IQ223", message, node)


def _check_hash(
    module: Module, node: ast.ClassDef, own: frozenset[str], changed: set[str] | None
) -> Iterator[Fault]:
    """An object whose hash changes is lost in every dict that has it as a key."""
    method = methods(node).get("__hash__")
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
            for inner in _at_once(node)
            if isinstance(inner, ast.Attribute | ast.Call) and _receiver(inner) == node.args.args[0].arg
        }
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
                case ast.Call(func=func, args=[_, name, *_]) if _is_past(func) and node not in making:
                    if not isinstance(name, ast.Constant):
                        return None
                    found.add(str(name.value))
    return found


def _at_once(constructor: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a constructor, but for functions in it, which may be called later."""
    pending: list[ast.AST] = [*constructor.body]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)


def _receiver(node: ast.Attribute | ast.Call) -> str | None:
    """The name of the object of which `o.f` or `object.__setattr__(o, "f", x)` sets a field."""
    match node:
        case ast.Attribute(value=ast.Name(id=receiver)):
            return receiver
        case ast.Call(func=func, args=[ast.Name(id=receiver), *_]) if _is_past(func):
            return receiver
    return None


def _is_past(func: ast.expr) -> bool:
    """`object.__setattr__`, called for an object of any class."""
    return (
        isinstance(func, ast.Attribute)
        and func.attr in ("__setattr__", "__delattr__")
        and isinstance(func.value, ast.Name)
        and func.value.id == "object"
    )


def _check_class_assignments(module: Module, fields: set[str]) -> Iterator[Fault]:
    """`C.f = x` on a class changes every object that has no `f` of its own."""
    classes = {n.name for n in ast.walk(module.tree) if isinstance(n, ast.ClassDef)} | {"cls"}
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=receiver, attr=attr, ctx=ast.Store() | ast.Del()) if attr in fields:
                if _is_class(receiver, classes):
                    message = f"`{ast.unparse(node)}` is assigned on a class"
                    yield frozenset({attr}), module.error("IQ222", message, node)
            case ast.Call(func=ast.Name(id="type"), args=[_, _, ast.Dict(keys=keys)]):
                for key in keys:
                    if isinstance(key, ast.Constant) and key.value in fields:
                        message = f"queries read the field `{key.value}`, which `type` makes part of a class"
                        yield frozenset({str(key.value)}), module.error("IQ206", message, node)
            case (
                ast.Attribute(attr="__eq__" | "__hash__", ctx=ast.Store() | ast.Del())
                | ast.Call(
                    func=ast.Name(id="setattr" | "delattr"),
                    args=[_, ast.Constant(value="__eq__" | "__hash__"), *_],
                )
            ) if fields:
                message = f"`{ast.unparse(node)}` changes which objects are equal"
                yield frozenset(fields), module.error("IQ205", message, node, _BY_IDENTITY)
            case ast.Call(
                func=ast.Name(id="setattr"), args=[ast.Name() as receiver, ast.Constant(value=str(attr)), _]
            ) if attr in fields and _is_class(receiver, classes):
                message = f"`{ast.unparse(node)}` assigns on a class"
                yield frozenset({attr}), module.error("IQ222", message, node)


def _metaclasses(program: Program) -> set[str]:
    """The names of classes that make classes."""
    found = {"type", "ABCMeta", "EnumMeta", "EnumType"}
    bases = [(node.name, {last_name(base) for base in node.bases}) for _, node in program.classes()]
    while more := {name for name, above in bases if above & found} - found:
        found |= more
    return found


def _check_made_classes(module: Module, fields: set[str], metaclasses: set[str]) -> Iterator[Fault]:
    """A class that a call makes may compute a field, where the text does not show its names."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="type")) if owner != "builtins":
                continue  # a method of that name
            case ast.Call(func=func, args=[_, _, names, *_]) if last_name(func) in metaclasses:
                shown = _shows_names(names, set() if last_name(func) == "type" else fields)
            case ast.Call(func=func, args=args, keywords=keywords) if last_name(func) == "new_class":
                shown = len(args) < 4 and all(k.arg != "exec_body" for k in keywords)
            case ast.Call(func=func, keywords=keywords) if last_name(func) == "make_dataclass":
                shown = all(k.arg != "namespace" for k in keywords)
            case _:
                continue
        if not shown:
            message = "queries read fields, which a class may compute whose names the text does not show"
            yield frozenset(fields), module.error("IQ206", message, node, "write it as a `class` statement")


def _shows_names(names: ast.expr | None, fields: set[str]) -> bool:
    """Is a dict written out, and none of its keys one of the fields?"""
    return isinstance(names, ast.Dict) and all(
        _shows_names(value, fields)
        if key is None  # **more
        else isinstance(key, ast.Constant) and key.value not in fields
        for key, value in zip(names.keys, names.values, strict=True)
    )


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


__all__ = [
    "Fault",
    "class_faults",
    "class_fields",
    "computed_fields",
    "defines_equality",
    "doubtful_classes",
    "followed_classes",
    "part_fields",
    "unconstrained",
]
