"""What the text of a class shows: its methods, attributes and fields, and how its objects are compared."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from incoq.frontend.program import Module, Program
from incoq.names import mangled

_VALUES = frozenset(
    {"str", "int", "float", "complex", "bytes", "tuple", "frozenset", "Fraction", "Decimal"}
    | {"date", "datetime", "time", "timedelta", "UUID", "Path", "PurePath", "PosixPath", "UserString"}
)
PLAIN_BASES = frozenset(
    {"object", "Set", "set", "list", "dict", "tuple", "frozenset", "Generic", "Protocol", "ABC"}
    | {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "NamedTuple", "Exception"}
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def statements(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """The statements of a class, those inside `if`, `try` or `with` too."""
    pending: list[ast.AST] = [*reversed(node.body)]
    while pending:
        found = pending.pop()
        if isinstance(found, ast.stmt):
            yield found
        if not isinstance(found, (*_FUNCTIONS, ast.ClassDef, ast.expr)):
            pending += reversed(list(ast.iter_child_nodes(found)))


def related(program: Program) -> dict[ast.ClassDef, set[ast.ClassDef]]:
    """Each class with those that it inherits from and those that inherit from it, by their names."""
    classes = [node for _, node in program.classes()]
    named: dict[str, list[ast.ClassDef]] = {}
    for node in classes:
        named.setdefault(node.name, []).append(node)
    above = {node: [c for base in node.bases for c in named.get(last_name(base), ())] for node in classes}
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


def sole_method(program: Program, module: Module, inside: ast.expr, name: str) -> ast.stmt | None:
    """What `self.name` means in a method of the class around an expression; None where it may be another
    thing: an override, in a class with a base of whatever kind too, or what is assigned later."""
    owner = class_around(module, inside)
    if owner is None or any(_may_set(node, name) for m in program.modules for node in ast.walk(m.tree)):
        return None
    families = related(program)
    kin = {c for heir in families[owner] for c in families[heir]}
    known = {node.name for _, node in program.classes()} | PLAIN_BASES
    kin |= {c for _, c in program.classes() if not all(last_name(base) in known for base in c.bases)}
    found = [s for c in kin for s in statements(c) if name in _bound(s)]
    return found[0] if len(found) == 1 else None


def class_around(module: Module, inside: ast.expr) -> ast.ClassDef | None:
    """The innermost class in whose text an expression stands."""
    around = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        if node.lineno <= inside.lineno <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda c: c.lineno, default=None)


def _may_set(node: ast.AST, name: str) -> bool:
    """May it give an object or a class an attribute of that name?"""
    match node:
        case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()):
            return attr == name
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=attr), *_]):
            return bool(attr == name)
        case ast.Call(func=ast.Name(id="type"), args=[_, _, *_]):
            return True
    return False


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement of a class gives a meaning, but for those inside its functions."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {alias.asname or alias.name for alias in aliases}
        case ast.If() | ast.Try() | ast.With():
            return set()  # its statements are asked one by one
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=identifier) | ast.Attribute(attr=identifier):
            return identifier
        case ast.Subscript(value=value):  # Base[int]
            return last_name(value)
    return ""


def value_base(node: ast.ClassDef) -> str | None:
    """A base of which equal values are one key."""
    return next((name for base in node.bases if (name := last_name(base)) in _VALUES), None)


def methods(node: ast.ClassDef) -> dict[str, ast.AST]:
    """Methods, and special methods that an assignment gives: `__eq__ = same`."""
    found: dict[str, ast.AST] = {}
    for statement in statements(node):
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[mangled(name, node.name)] = statement
            case ast.Assign(targets=targets):
                for target in targets:
                    if (
                        isinstance(target, ast.Name)
                        and target.id.startswith("__")
                        and target.id.endswith("__")
                        and target.id != "__hash__"
                    ):
                        found[mangled(target.id, node.name)] = statement
    return found


def assigns_hash(node: ast.ClassDef) -> bool:
    for statement in statements(node):
        match statement:
            case ast.Assign(targets=[ast.Name(id="__hash__")], value=value):
                return not (isinstance(value, ast.Constant) and value.value is None)
    return False


def class_attributes(node: ast.ClassDef) -> set[str]:
    """The names that the class binds or annotates, special ones left out."""
    found: set[str] = set()
    for statement in statements(node):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=identifier)):
                found.add(identifier)
            case ast.Assign(targets=targets):
                found |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    found |= bound_otherwise(node)
    return {mangled(name, node.name) for name in found if not (name.startswith("__") and name.endswith("__"))}


def bound_otherwise(node: ast.ClassDef) -> set[str]:
    """The names that the body of a class binds by something else than definitions and plain assignments: the
    target of a `for`, a captured pattern, an import."""
    found: set[str] = set()
    for statement in statements(node):
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            continue
        pending = [*ast.iter_child_nodes(statement)]
        if isinstance(statement, ast.Assign):
            pending = [statement.value]
        elif isinstance(statement, ast.AnnAssign):
            pending = [statement.value] if statement.value is not None else []
        while pending:
            match inner := pending.pop():
                case ast.stmt() | ast.Lambda():
                    continue  # a statement is asked by itself
                case ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
                case ast.alias(name=name, asname=asname):
                    found.add(asname or name.partition(".")[0])
                case (
                    ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name))
                    | ast.MatchMapping(rest=str(name)) | ast.ExceptHandler(name=str(name))
                ):  # fmt: skip
                    found.add(name)
            if isinstance(inner, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                continue  # its variables are its own, and a class has no `:=` there
            pending += ast.iter_child_nodes(inner)
    return found


def looks_at_its_names(node: ast.ClassDef) -> bool:
    """Does the body of a class reach the dict of its names, where it may bind any?"""
    return any(
        isinstance(inner, ast.Name) and inner.id in ("locals", "vars", "exec")
        for statement in statements(node)
        if not isinstance(statement, (*_FUNCTIONS, ast.ClassDef))
        for inner in ast.walk(statement)
    )


def class_values(node: ast.ClassDef) -> set[str]:
    """Class attributes that hold a value."""
    bare = {
        mangled(s.target.id, node.name)
        for s in statements(node)
        if isinstance(s, ast.AnnAssign) and s.value is None and isinstance(s.target, ast.Name)
    }
    return class_attributes(node) - bare


def assigned_fields(node: ast.ClassDef) -> set[str]:
    """The fields that objects of the class have, as far as its text shows."""
    return class_attributes(node) | _slots(node) | fields_of_self(node)


def _slots(node: ast.ClassDef) -> set[str]:
    found: set[str] = set()
    for statement in statements(node):
        match statement:
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=slots):
                constants = (n.value for n in ast.walk(slots) if isinstance(n, ast.Constant))
                found |= {name for name in constants if isinstance(name, str)}
    return found


def fields_of_self(node: ast.ClassDef) -> set[str]:
    """What methods assign to their first parameter, whatever its name, or `__new__` to anything."""
    methods = [s for s in ast.walk(node) if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]
    own = {"self"} | {m.args.args[0].arg for m in methods if m.args.args}
    found: set[str] = set()
    for method in methods:
        for inner in ast.walk(method):
            match inner:
                case ast.Attribute(value=ast.Name(id=receiver), attr=attr, ctx=ast.Store()):
                    if receiver in own or method.name == "__new__":
                        found.add(mangled(attr, node.name))
    return found


def dataclass(module: Module, node: ast.ClassDef) -> ast.expr | None:
    """The decorator that makes it a dataclass, also by a name of the module's own."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Name):
            decorator = module.values.get(decorator.id, decorator)
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        identifier = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if identifier == "dataclass":
            return decorator
    return None


def leaves_out(node: ast.ClassDef) -> bool:
    """Is there a field of the dataclass that `==` does not compare?"""
    return any(
        keyword.arg == "compare" and isinstance(keyword.value, ast.Constant) and not keyword.value.value
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call)
        for keyword in inner.keywords
    )


def option(decorator: ast.expr, option: str) -> object:
    if isinstance(decorator, ast.Call):
        for keyword in decorator.keywords:
            if keyword.arg == option and isinstance(keyword.value, ast.Constant):
                return keyword.value.value
    return None
