"""Choose the expressions of a module that must be others for maintenance to see what happens to them.

Before:    groups = defaultdict(set); seen = {a, b}; setattr(o, name, v)
After:     groups = defaultdict(Set); seen = Set({a, b}); set_attribute(o, name, v)
Invariant: a container stays plain only where no update reaches it; a class stays where it only describes
Cost:      linear in the program

The choices are data; `rewrite_updates` makes them in the text, or in a copy of the tree within an f-string.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from incoq.codegen.find_private import bindings_by_syntax
from incoq.codegen.find_unreached import combines_views
from incoq.codegen.name_scopes import Scopes
from incoq.codegen.text_edits import Unsupported

UNMAINTAINED_NAMES = frozenset({"__all__", "__slots__", "__match_args__"})
_READERS = frozenset(
    ("len", "sorted", "min", "max", "sum", "any", "all", "frozenset", "tuple", "list", "set", "dict")
)
_SHOWERS = frozenset(("print", "str", "repr", "enumerate", "zip", "reversed"))
HEAP_FUNCTIONS = frozenset(
    f"{hidden}{function}{order}"
    for function in ("heappush", "heappop", "heapify", "heapreplace", "heappushpop")
    for hidden, order in (("", ""), ("", "_max"), ("_", "_max"))
)
_LIST_MAKERS = {  # functions of modules that give a list that nobody else has
    "heapq": frozenset({"nsmallest", "nlargest"}),
    "random": frozenset({"sample", "choices"}),
    "re": frozenset({"findall"}),
}
_COMMON = {"clear", "pop", "copy", "__init__", "__new__"}
_ROUTES: Mapping[str, frozenset[str]] = {  # what makes or changes a container when called through its class
    "set": frozenset(
        {"add", "remove", "discard", "update", "union", "intersection", "difference", "symmetric_difference"}
        | {"difference_update", "intersection_update", "symmetric_difference_update"}
        | {f"__{prefix}{operator}__" for prefix in ("", "r", "i") for operator in ("or", "and", "sub", "xor")}
        | _COMMON
    ),
    "list": frozenset(
        {"append", "extend", "insert", "remove", "sort", "reverse", "__setitem__", "__delitem__"}
        | {"__add__", "__mul__", "__rmul__", "__iadd__", "__imul__"}
        | _COMMON
    ),
    "dict": frozenset(
        {"popitem", "setdefault", "update", "fromkeys", "__setitem__", "__delitem__"}
        | {"__or__", "__ror__", "__ior__"}
        | _COMMON
    ),
}


@dataclass(frozen=True)
class UpdateNames:
    """The names that rewritten code calls; none may be private (`__x`), since a class would mangle it.

    `setters[f](value, obj)` takes the value first, because Python evaluates the right side first.
    """

    setters: Mapping[str, str]
    deleters: Mapping[str, str]
    setattr_: str
    delattr_: str
    set_class: str | None
    list_class: str | None
    dict_class: str | None
    fresh: Callable[[str], str]
    made_set: str | None = None  # gives a set that an expression made the class of sets
    made_list: str | None = None  # gives a list that an expression made the class of lists
    through: str | None = None  # lets a function of heapq change a list that is seen
    named: str | None = None  # refuses a computed name by which an object's dict is reached
    routes: Mapping[str, str] = field(default_factory=dict)  # builtin class -> what its methods are called of
    changers: Mapping[str, str] = field(default_factory=dict)  # setters of objects that are known to matter
    is_key: str = "is_key"  # tells whether tags can be asked for an object
    alone: str = "ALONE"  # the classes whose objects equal no other
    shown_class: str | None = None  # gives what a class of containers is to a comparison
    past: Mapping[str, str] = field(default_factory=dict)  # method of `object` -> what stands for it
    making: Mapping[str, str] = field(default_factory=dict)  # and where an object is being made

    def __post_init__(self) -> None:
        classes = (self.set_class, self.list_class, self.dict_class)
        names = [
            *self.setters.values(),
            *self.deleters.values(),
            *self.changers.values(),
            self.setattr_,
            self.delattr_,
            *filter(None, classes),
        ]
        for name in names:
            if name.startswith("__") and not name.endswith("__"):
                raise ValueError(f"{name} would be mangled in a class")

    @property
    def fields(self) -> frozenset[str]:
        """The fields whose updates matter."""
        return frozenset(self.setters) | frozenset(self.deleters)

    @property
    def classes(self) -> dict[str, str]:
        """The builtin containers to replace, each with the class that stands for it."""
        classes = {"set": self.set_class, "list": self.list_class, "dict": self.dict_class}
        return {kind: name for kind, name in classes.items() if name is not None}


@dataclass(frozen=True)
class Wrap:
    """`e` becomes `function(e)`."""

    function: str


@dataclass(frozen=True)
class Replace:
    """`e` becomes `name`."""

    name: str


@dataclass(frozen=True)
class Rebind:
    """A statement that binds names to new containers is followed by others, `name = function(name)`,
    a clause of a comprehension by `for name in (function(name),)`."""

    functions: tuple[tuple[str, str], ...]


Choices = dict[ast.AST, Wrap | Replace | Rebind]


def choose_replacements(
    tree: ast.Module,
    names: UpdateNames,
    scopes: Scopes,
    skip: Collection[ast.AST] = (),
    private: Collection[ast.AST] = (),
) -> Choices:
    """What each expression that must change becomes; containers that no query reaches stay plain.

    >>> tree = ast.parse("seen = {1}")
    >>> names = UpdateNames({}, {}, "set_attribute", "del_attribute", "Set", None, None, str)
    >>> list(choose_replacements(tree, names, Scopes(tree)).values())
    [Wrap(function='Set')]
    """
    heap_functions = _imported(tree, "heapq", HEAP_FUNCTIONS) | _imported(tree, "_heapq", HEAP_FUNCTIONS)
    readers = _imported(tree, "incoq", ("Set",))
    makers = {name for module in _LIST_MAKERS for name in _imported(tree, module, _LIST_MAKERS[module])}
    chooser = _Chooser(names, names.classes, names.fields, scopes, heap_functions, readers, makers)
    for node in private:
        chooser.leave_unobserved(node)
    stack: list[tuple[ast.AST, bool]] = [(tree, True)]
    while stack:
        node, displays = stack.pop()
        if node not in skip:
            chooser.choose(node, displays)
            plain = chooser.plain_inside(node)
            stack += ((child, displays and child not in plain) for child in ast.iter_child_nodes(node))
    return chooser.choices


@dataclass
class _Chooser:
    names: UpdateNames
    classes: Mapping[str, str]
    fields: frozenset[str]
    scopes: Scopes
    heap_functions: Collection[str] = ()
    readers: Collection[str] = ()  # functions of the program that copy what they are given
    list_makers: Collection[str] = ()  # imported functions whose list is new
    choices: Choices = field(default_factory=dict)
    exempt: set[ast.AST] = field(
        default_factory=set
    )  # parents come first and say which children stay as they are
    harmless: set[ast.AST] = field(default_factory=set)  # `setattr` and the like, called for other fields
    making: set[ast.AST] = field(default_factory=set)  # `object.__setattr__` where an object is being made

    def choose(self, node: ast.AST, displays: bool) -> None:
        """Decide about one node; within a part where `displays` is false only attribute updates matter."""
        if self.classes and displays:
            self._exempt_children(node)
        if self.fields:
            self._choose_helper(node)
        if not (self.classes and displays) or node in self.exempt:
            return
        makers = {"list": self.names.made_list, "dict": self.names.dict_class}
        bound = [
            (binding.name, maker)
            for binding in bindings_by_syntax(node)
            if (maker := makers[binding.kind]) is not None and binding.node not in self.exempt
        ]
        if bound:
            self.choices[node] = Rebind(tuple(bound))
        elif (kind := _kind_of_display(node)) in self.classes:
            self.choices[node] = Wrap(self.classes[kind])
        elif self.scopes.is_builtin(node, self.classes):
            assert isinstance(node, ast.Name)
            self.choices[node] = Replace(self.classes[node.id])
        elif self.names.made_set is not None and combines_views(node):
            self.choices[node] = Wrap(self.names.made_set)
        elif self.names.made_list is not None and self._makes_list(node):
            self.choices[node] = Wrap(self.names.made_list)
        elif self.names.through is not None and self._changes_unseen(node):
            self.choices[node] = Wrap(self.names.through)

    def _makes_list(self, node: ast.AST) -> bool:
        """An expression whose list, if it gives one, is new."""
        match node:
            case ast.Call(func=func) if self.scopes.is_builtin(func, ("sorted",)):
                return func not in self.exempt
            case ast.Call(func=ast.Attribute(attr="split" | "rsplit" | "splitlines")):
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=attr)):
                return attr in _LIST_MAKERS.get(module, ())
            case ast.Call(func=ast.Name(id=identifier)):
                return identifier in self.list_makers
            case ast.Subscript(slice=ast.Slice(), ctx=ast.Load()):
                return True
        return False

    def _changes_unseen(self, node: ast.AST) -> bool:
        match node:
            case ast.Attribute(attr=attr, ctx=ast.Load()):  # of heapq, whatever it is called here
                return attr in HEAP_FUNCTIONS
            case ast.Call(func=func, args=[module, attribute, *_]) if self.scopes.is_builtin(
                func, ("getattr",)
            ):
                named = isinstance(attribute, ast.Constant) and attribute.value in HEAP_FUNCTIONS
                return named or (isinstance(module, ast.Name) and module.id == "heapq")
            case ast.Name(id=identifier, ctx=ast.Load()):
                return identifier in self.heap_functions
        return False

    def plain_inside(self, node: ast.AST) -> Collection[ast.AST]:
        """The children in which displays stay plain: what describes the program rather than its data."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return {*node.decorator_list, node.returns} - {None}  # type: ignore[return-value]  # None is taken out
            case ast.ClassDef():
                return set(node.decorator_list)
            case ast.arg(annotation=ast.expr() as annotation):
                return {annotation}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if (
                name in UNMAINTAINED_NAMES
            ):
                return {node.annotation, value}
            case ast.AnnAssign():
                return {node.annotation}
            case ast.ExceptHandler(type=ast.expr() as caught):
                return {caught}
            case ast.match_case():
                return {node.pattern}
            case ast.Assign(targets=targets, value=value) if any(map(_is_unmaintained, targets)):
                return {value}
            case ast.AugAssign(target=target, value=value) if _is_unmaintained(target):
                return {value}
            case ast.Call(func=ast.Attribute(value=ast.Name(id="__all__"))):
                return set(node.args)
        if type(node).__name__ in ("TypeAlias", "TypeVar", "ParamSpec", "TypeVarTuple"):
            return set(ast.iter_child_nodes(node))
        return ()

    def _exempt_children(self, node: ast.AST) -> None:
        match node:
            case ast.Call():
                self._exempt_arguments(node)
            case ast.Compare():
                for operator, operand in zip(node.ops, node.comparators, strict=True):
                    if isinstance(operator, ast.In | ast.NotIn):
                        self.leave_unobserved(operand)
                operands = (node.left, *node.comparators)
                for operand in operands:
                    self._leave_classes(operand)
                if (shown_class := self.names.shown_class) is not None:
                    for operand in filter(_asks_for_class, operands):
                        if any(_names_container(o) for o in operands if o is not operand):
                            self.choices[operand] = Wrap(shown_class)
            case ast.For(iter=source) | ast.AsyncFor(iter=source) | ast.comprehension(iter=source):
                self.leave_unobserved(source)
            case ast.Starred(value=value, ctx=ast.Load()) | ast.keyword(arg=None, value=value):
                self.leave_unobserved(value)
            case ast.BinOp(op=ast.BitOr()):
                self._leave_classes(node.left)
                self._leave_classes(node.right)
            case ast.Assign(targets=[ast.Tuple() | ast.List()], value=value):
                self.leave_unobserved(value)
            case ast.Subscript():
                if node not in self.exempt and isinstance(node.value, ast.Name):
                    self.exempt.add(node.value)
                elif isinstance(node.value, ast.Call) and not isinstance(node.slice, ast.Slice):
                    self.leave_unobserved(node.value)
                self._leave_slice(node.slice)
            case ast.ClassDef():
                self.exempt.update(base for base in node.bases if isinstance(base, ast.Subscript))
            case ast.Attribute(value=ast.Name(id=name) as value):
                changes = node.attr in _ROUTES.get(name, ())
                if changes and name in self.names.routes and self.scopes.is_builtin(value, (name,)):
                    self.choices[value] = Replace(self.names.routes[name])
                if not changes or value in self.choices:
                    self.exempt.add(value)

    def _exempt_arguments(self, call: ast.Call) -> None:
        if isinstance(call.func, ast.Subscript):
            self.exempt.add(call.func)  # `list[int]()` makes a list: its name is no mere description
        if self.scopes.is_builtin(call.func, ("isinstance", "issubclass")):
            for argument in call.args[1:]:
                self._leave_classes(argument)
        elif self.scopes.is_builtin(call.func, _READERS) or _reads_at_once(call.func):
            several = (
                isinstance(call.func, ast.Name) and call.func.id in ("min", "max") and len(call.args) > 1
            )
            for argument in call.args[: 0 if several else 1]:
                self.leave_unobserved(argument)
        elif self.scopes.is_builtin(call.func, _SHOWERS) or (
            isinstance(call.func, ast.Name) and call.func.id in self.readers
        ):
            for argument in call.args:
                self.leave_unobserved(argument)

    def leave_unobserved(self, node: ast.AST) -> None:
        """A container that is read at once and then gone; what it holds is looked at as usual."""
        self.exempt.add(node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else node)

    def _leave_classes(self, node: ast.expr) -> None:
        """Classes that values are compared with."""
        if isinstance(node, ast.Name):
            self.exempt.add(node)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            for element in node.elts:
                self._leave_classes(element)
        elif isinstance(node, ast.BinOp):
            self._leave_classes(node.left)
            self._leave_classes(node.right)

    def _leave_slice(self, node: ast.expr) -> None:
        """Arguments of generic classes (`Callable[[set], list]`); a real index is no container."""
        self.exempt.add(node)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            for element in node.elts:
                self._leave_slice(element)
        elif isinstance(node, ast.Subscript):
            self.exempt.discard(node)

    def _choose_helper(self, node: ast.AST) -> None:
        helpers = {"setattr": self.names.setattr_, "delattr": self.names.delattr_}
        match node:
            case ast.FunctionDef(name="__init__" | "__post_init__"):
                self.making.update(_of_own_object(node))
            case ast.Call(func=func) if self._names_another_field(node):
                self.harmless.add(func)
            case ast.Call(func=func, args=args) if self.names.named is not None and (
                computed := _computed_names(func, args)
            ):
                self.choices.update({argument: Wrap(self.names.named) for argument in computed})
            case ast.Name() if node not in self.harmless and self.scopes.is_builtin(node, helpers):
                self.choices[node] = Replace(helpers[node.id])
            case ast.Attribute(value=ast.Name(id="builtins"), attr="setattr" | "delattr", ctx=ast.Load()):
                self.choices[node] = Replace(helpers[node.attr])
            case ast.Attribute(attr="__setattr__" | "__delattr__", ctx=ast.Load()) if (
                node not in self.harmless
            ):
                if not self.scopes.is_builtin(node.value, ("object",)):
                    raise Unsupported(
                        node, f"{node.attr} of anything but object changes fields unseen; use setattr"
                    )
                past = self.names.making if node in self.making else self.names.past
                self.choices[node] = Replace(past.get(node.attr) or helpers[node.attr.strip("_")])
            case ast.comprehension() if any(map(self._is_updated, ast.walk(node.target))):
                raise Unsupported(
                    node.target, "a comprehension assigns a field at every step; use a for statement"
                )

    def _names_another_field(self, call: ast.Call) -> bool:
        """Whether a call of `setattr`, `__delattr__`, … has a constant name that does not matter."""
        match call.func:
            case ast.Name(id="setattr") | ast.Attribute(attr="__setattr__"):
                arguments = call.args[:-1]
            case ast.Name(id="delattr") | ast.Attribute(attr="__delattr__"):
                arguments = call.args
            case _:
                return False
        if call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
            return False
        match arguments[-1:]:
            case [ast.Constant(value=str(name))]:
                return name not in self.fields
        return False

    def _is_updated(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and self.scopes.attribute(node) in self.fields
        )


def sets_past_classes(trees: Collection[ast.Module], fields: Collection[str]) -> bool:
    """Does a program set or delete one of the fields by the methods of `object`?

    >>> sets_past_classes([ast.parse("object.__setattr__(self, 'a', 1)")], ["b"])
    False
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    others: set[ast.expr] = set()
    for node in nodes:
        match node:
            case ast.Call(func=func, args=[_, ast.Constant(value=name), *_]) if name not in fields:
                others.add(func)
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in ("__setattr__", "__delattr__")
        and isinstance(node.value, ast.Name)
        and node.value.id == "object"
        and node not in others
        for node in nodes
    )


def _of_own_object(constructor: ast.FunctionDef) -> set[ast.AST]:
    """The `object.__setattr__` by which a constructor itself sets fields of what it makes, as a frozen class
    has to."""
    own = [a.arg for a in (*constructor.args.posonlyargs, *constructor.args.args)[:1]]
    found: set[ast.AST] = set()
    pending: list[ast.AST] = [*constructor.body]
    while pending:
        match node := pending.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
                continue  # it may be called later
            case ast.Call(func=ast.Attribute() as func, args=[ast.Name(id=name), *_]) if [name] == own:
                found.add(func)
        pending += ast.iter_child_nodes(node)
    return found


def _computed_names(func: ast.expr, args: list[ast.expr]) -> list[ast.expr]:
    """The arguments that name an attribute, where only the run shows which."""
    match func:
        case ast.Name(id="getattr"):
            named = args[1:2]
        case ast.Name(id="attrgetter") | ast.Attribute(attr="attrgetter"):
            named = args
        case ast.Name(id="methodcaller") | ast.Attribute(attr="methodcaller" | "__getattribute__"):
            named = args[:1]
        case _:
            return []
    return [a for a in named if not isinstance(a, ast.Constant | ast.Starred)]


def _imported(tree: ast.Module, module: str, wanted: Collection[str]) -> frozenset[str]:
    """The names under which a module imports some names of another."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == module:
            found.update(a.asname or a.name for a in node.names if a.name in wanted)
            found.update(wanted if node.names[0].name == "*" else ())
    return frozenset(found)


def _kind_of_display(node: ast.AST) -> str:
    match node:
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.List(ctx=ast.Load()) | ast.ListComp():
            return "list"
        case ast.Dict() | ast.DictComp():
            return "dict"
    return ""


def _asks_for_class(node: ast.expr) -> bool:
    """`type(x)`, and `x.__class__`, but of `self` and constants."""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[asked], keywords=[]):
            return not isinstance(asked, ast.Constant) and ast.unparse(asked) != "self"
        case ast.Attribute(value=asked, attr="__class__"):
            return ast.unparse(asked) != "self"
    return False


def _names_container(node: ast.expr) -> bool:
    """What a class is compared with: a builtin container, one of several classes, or the class of a value."""
    match node:
        case ast.Name(id=name):
            return name in ("set", "dict", "list")
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return any(map(_names_container, elements))
    return _asks_for_class(node)


def _reads_at_once(node: ast.expr) -> bool:
    """Methods of strings; `maketrans` takes no dict of a subclass."""
    match node:
        case ast.Attribute(value=ast.JoinedStr() | ast.Constant(value=str()), attr="join"):
            return True
        case ast.Attribute(value=ast.Name(id="str" | "bytes"), attr="maketrans"):
            return True
    return False


def _is_unmaintained(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id in UNMAINTAINED_NAMES
