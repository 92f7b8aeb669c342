"""Find the routes by which a program could change a field without any rewritten update seeing it.

Before:    vars(o)["loc"] = 1; print(vars(o)); class C: def __setattr__(self, n, v): ...
After:     [(vars(o), "vars() gives the fields away for writing"), (C, "class C defines __setattr__")]
Invariant: what is not reported only reads, or is rewritten
Cost:      linear in the module
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Mapping

from incoq.codegen.name_scopes import Scope, Scopes
from incoq.codegen.rewrite_displays import HEAP_FUNCTIONS

_READING_METHODS = frozenset(["get", "items", "keys", "values", "copy"])
_READING_FUNCTIONS = frozenset(
    [
        "len",
        "sorted",
        "list",
        "dict",
        "set",
        "frozenset",
        "tuple",
        "str",
        "repr",
        "print",
        "bool",
        "iter",
        "hasattr",
    ]
)
_HOOKS = frozenset(["__setattr__", "__delattr__", "__getattr__", "__getattribute__"])
_DESCRIPTOR_METHODS = frozenset(["__get__", "__set__", "__delete__"])
_DESCRIPTORS = frozenset(["property", "cached_property", "abstractproperty", "classmethod", "staticmethod"])
_STATES = frozenset(["__getstate__", "__reduce__", "__reduce_ex__"])
_GIVES_DICTS = {
    "gc": ("get_referents", "get_referrers", "get_objects"),
    "inspect": ("getmembers", "getmembers_static"),
}
_NAMED_ROUTES = frozenset(
    (
        *("__dict__", "__setattr__", "__delattr__", "__setstate__", "__set__", "__delete__"),
        *("setattr", "delattr", *_STATES),
    )
)
_REPLACED = frozenset(["__dict__", "__class__", "__bases__"])
_LEADING = ("builtins", "gc", "inspect", "weakref")  # modules that are not passed on as values
# What executes a text, or a file, and how many arguments of it are texts; 0: whatever it is given. `timeit`
# takes a function, too.
_RUNS_TEXT = {
    "timeit.timeit": 2, "timeit.repeat": 2, "timeit.Timer": 2, "cProfile.run": 1, "cProfile.runctx": 1,
    "profile.run": 1, "profile.runctx": 1, "pdb.run": 1, "pdb.runctx": 1, "pdb.runeval": 1,
    "runpy.run_path": 0,
}  # fmt: skip
_RUN_TEXTS = ("code", "codeop", "doctest")  # modules that do nothing else
_ANCESTORS = frozenset(["__mro__", "__bases__", "__base__", "mro"])
_OF_ONE = frozenset(["add", "discard", "remove", "append", "extend", "__delitem__"])  # take one argument
_METHODS = frozenset(name for cls in (set, dict, list) for name in dir(cls)) - frozenset(dir(object))
_CHANGING = frozenset(["setattr", "delattr", "vars", "exec", "eval"])
_BY_NAME = frozenset(["getattr", "attrgetter", "methodcaller", "__getattribute__", "getattr_static"])
_BY_KEY = frozenset(["get", "pop", "itemgetter", "__getitem__"])
_BY_MODULE = frozenset(["__import__", "import_module"])

Bypass = tuple[ast.AST, str]


_CONTAINERS = frozenset(["set", "dict", "list", "Set"])
_QUEUES = frozenset(["Queue", "LifoQueue", "PriorityQueue", "SimpleQueue"])


def container_classes(trees: Iterable[ast.Module], roots: Collection[str] = _CONTAINERS) -> frozenset[str]:
    """The names of a program's classes that are derived from containers, and of the bases of these.

    >>> sorted(container_classes([ast.parse("class A: 1\\nclass B(A, set): 1\\nclass C(B): 1\\nclass D: 1")]))
    ['A', 'B', 'C']
    """
    bases = [
        (node.name, {_last_name(base) or "" for base in node.bases})
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    found: set[str] = set()
    while more := {name for name, above in bases if above & {*roots, *found}} - found:
        found |= more
    own = {name for name, _ in bases}
    while more := {base for name, above in bases if name in found for base in above & own} - found:
        found |= more
    return frozenset(found)


def find_container_bypasses(
    tree: ast.Module, containers: Collection[str] | None = None, modules: Collection[str] = ()
) -> list[Bypass]:
    """The nodes by which the methods that Python's own containers have in C may change a container unseen;
    `containers` are the program's classes of them, `modules` its modules.

    >>> [reason for _, reason in find_container_bypasses(ast.parse("super(Set, s).add(1)"))]
    ["super() leads past the container's own methods"]
    """
    if containers is None:
        containers = container_classes([tree])
    scopes = Scopes(tree)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    classes = {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)} - {*containers}
    ancestors = any(isinstance(n, ast.Attribute) and n.attr in _ANCESTORS for n in ast.walk(tree))
    found: list[Bypass] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="super"), args=[cls, o]) if _last_name(cls) in _CONTAINERS or (
                _may_be_of_container(parents[node]) and not _is_own(o, node, parents)
            ):
                found.append((node, "super() leads past the container's own methods"))
            case ast.Attribute(value=ast.Name(id=cls), attr="__dict__") if cls in _CONTAINERS:
                found.append((node, f"the methods of {cls} are taken out of its dict"))
            case ast.Call(func=func, args=[ast.Name(id=cls)]) if cls in _CONTAINERS and scopes.is_builtin(
                func, ("vars",)
            ):
                found.append((node, f"the methods of {cls} are taken out of its dict"))
            case ast.Call(func=ast.Attribute(value=receiver, attr=method), args=[_, _]) if (
                ancestors and method in _OF_ONE and not isinstance(receiver, ast.Name)
            ):
                found.append((node, f"{method} of a class that is looked up among the ancestors of another"))
            case ast.Call(func=ast.Attribute(attr=method), args=[_, _]) if ancestors and method in _OF_ONE:
                found.append((node, f"{method} is called of a class, in a module that looks for ancestors"))
            case ast.Call(func=ast.Attribute(value=receiver, attr="__init__")) if not (
                (isinstance(receiver, ast.Name) and receiver.id in classes)
                or _is_making(node, parents, containers)
            ):
                reason = (
                    "__init__ is called on an object that exists already; move its body to another method"
                )
                found.append((node, reason))
            case ast.Call(func=func, args=args) if _last_name(func) in _BY_NAME:
                named = {str(a.value) for a in args if isinstance(a, ast.Constant)}
                if "__init__" in named:
                    found.append((node, "__init__ is reached by its name"))
                if _last_name(func) != "getattr" and (heap := sorted(named & HEAP_FUNCTIONS)):
                    found.append((node, f"{heap[0]} is reached by its name"))
            case ast.Subscript(slice=ast.Constant(value=str(key)), ctx=ast.Load()) if key in HEAP_FUNCTIONS:
                found.append((node, f"{key} is reached by its name"))
            case ast.ClassDef(name=name) if name in containers:
                found += [
                    (method, f"a {name} that exists already may be filled anew")
                    for method in node.body
                    if isinstance(method, ast.FunctionDef) and method.name == "__new__"
                    if not _gives_new(method)
                ]
            case ast.Attribute(attr="queue", ctx=ast.Store()) if (
                "queue" not in modules
                and _imports(tree, "queue")
                and not _holds_queue(
                    node, parents, {*classes, *containers}, container_classes([tree], _QUEUES)
                )
            ):
                found.append((node, "the list of a queue changes unseen"))
    return found


def _imports(tree: ast.Module, module: str) -> bool:
    """Does it import a module, or something of it?"""
    return any(
        (isinstance(node, ast.Import) and any(alias.name == module for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == module)
        for node in ast.walk(tree)
    )


def _holds_queue(
    field: ast.Attribute,
    parents: Mapping[ast.AST, ast.AST],
    classes: Collection[str],
    queues: Collection[str],
) -> bool:
    """Is a queue held by this field, or is it one of an object that is made, and no queue?"""
    match parents[field]:
        case ast.Assign(value=ast.Call(func=func)) | ast.AnnAssign(value=ast.Call(func=func)):
            if (made := _last_name(func)) in _QUEUES and made not in classes:
                return True
        case ast.Assign(value=ast.Constant()):
            return True
    method = _function_around(field, parents)
    owner = parents[method] if method is not None else None
    making = method is not None and method.name == "__init__" and _is_own(field.value, field, parents)
    return making and isinstance(owner, ast.ClassDef) and owner.name not in queues


def _gives_new(method: ast.FunctionDef) -> bool:
    """Does a `__new__` give nothing but what that of a base makes?"""
    made = {
        target.id
        for node in ast.walk(method)
        if isinstance(node, ast.Assign) and _makes(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    bound = [n.id for n in ast.walk(method) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    made = {name for name in made if bound.count(name) == 1}
    values = [node.value for node in ast.walk(method) if isinstance(node, ast.Return)]
    return all(
        value is None or _makes(value) or (isinstance(value, ast.Name) and value.id in made)
        for value in values
    )


def _makes(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _last_name(node.func) == "__new__"


def _may_be_of_container(node: ast.AST) -> bool:
    """Is a method of Python's own containers taken, or is it unknown what is?"""
    return not isinstance(node, ast.Attribute) or node.attr in _METHODS


def _is_own(node: ast.expr, at: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Is it the first parameter of the method that stands around it?"""
    method = _function_around(at, parents)
    if method is None or not isinstance(parents[method], ast.ClassDef):
        return False
    return isinstance(node, ast.Name) and [node.id] == _first_parameter(method)


def _is_making(call: ast.Call, parents: Mapping[ast.AST, ast.AST], containers: Collection[str]) -> bool:
    """`Base.__init__(self, …)` or `super().__init__(…)` in an `__init__`; the latter in any method of a class
    that is no container."""
    method = _function_around(call, parents)
    if method is None:
        return False
    first = _first_parameter(method)
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=args)):
            owner = parents[method]
            contained = isinstance(owner, ast.ClassDef) and owner.name in containers
            own = len(args) < 2 or _is_own(args[1], call, parents)
            return own and (method.name == "__init__" or not contained)
    given = [a.id for a in call.args[:1] if isinstance(a, ast.Name)]
    return method.name == "__init__" and bool(first) and first == given


def _function_around(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> ast.FunctionDef | None:
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef):
            return node
    return None


def _first_parameter(function: ast.FunctionDef) -> list[str]:
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args)[:1]]


def find_bypasses(tree: ast.Module, fields: Collection[str], modules: Collection[str] = ()) -> list[Bypass]:
    """The nodes that may change one of `fields` unseen, each with a reason, in the order of the text;
    `modules` are those of the program itself.

    >>> [reason for _, reason in find_bypasses(ast.parse("vars(o).update(a=1); len(vars(o))"), {"a"})]
    ['vars() gives the fields away for writing']
    """
    finder = _Finder(tree, fields, modules)
    found = [(node, reason) for node in ast.walk(tree) for reason in finder.reasons(node)]
    return sorted(
        found, key=lambda bypass: (getattr(bypass[0], "lineno", 0), getattr(bypass[0], "col_offset", 0))
    )


class _Finder:
    def __init__(self, tree: ast.Module, fields: Collection[str], modules: Collection[str]) -> None:
        self.fields, self.modules = fields, modules
        self.scopes = Scopes(tree)
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.descriptors = _DESCRIPTORS | {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and _DESCRIPTOR_METHODS & set(_names_defined(node))
        }
        self.imported = _imported(tree)
        self.has_doctests = "doctest" in {path.partition(".")[0] for path in self.imported.values()}
        classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
        self.functions: dict[str, list[Scope]] = {}
        for n in ast.walk(tree):
            if isinstance(n, ast.FunctionDef):
                self.functions.setdefault(n.name, []).append(self.scopes.scope(n))
        self.restores = any("__setstate__" in _names_defined(n) for n in classes)
        self.slots = _slots(classes)
        self.functions_have_fields = any(
            isinstance(n, ast.Attribute)
            and isinstance(n.ctx, ast.Store)
            and n.attr in fields
            and self._is_function(n.value)
            for n in ast.walk(tree)
        )

    def reasons(self, node: ast.AST) -> Iterator[str]:
        """Why a node may hide updates, if it may."""
        match node:
            case ast.Call(func=func, args=[_]) if self.scopes.is_builtin(func, ("vars",)):
                if not self._only_reads(node):
                    yield "vars() gives the fields away for writing"
            case ast.Call(func=func, args=args) if _last_name(func) in _BY_NAME:
                for argument in args:
                    if isinstance(argument, ast.Constant) and argument.value in _NAMED_ROUTES:
                        yield f"{argument.value} is reached by its name"
            case ast.Subscript(slice=ast.Constant(value="__dict__")):
                yield "__dict__ is reached by its name"
            case ast.Call(func=ast.Attribute(attr=attr), args=[ast.Constant(value="__dict__"), *_]) if (
                attr in _BY_KEY
            ):
                yield "__dict__ is reached by its name"
            case ast.Call(func=func, args=[ast.Constant(value=name), *_]) if _last_name(
                func
            ) in _BY_MODULE and name in (*_LEADING, "ctypes", "unittest.mock"):
                yield f"the module {name} is imported unseen"
            case ast.Subscript(value=ast.Attribute(attr="modules"), slice=ast.Constant(value=name)) if (
                name in _LEADING
            ):
                yield f"the module {name} is imported unseen"
            case ast.Name(id=name, ctx=ast.Load()) if name in _LEADING and self._is_passed_on(node):
                yield f"the module {name} is passed on as a value"
            case ast.Attribute(value=ast.Name(id=name), attr="__self__") if hasattr(builtins, name):
                yield "builtins are reached in a roundabout way"
            case ast.Call(func=func, args=[_, ast.Constant(value=name), *_]) if (
                _last_name(func) in ("setattr", "delattr", "__setattr__", "__delattr__")
                and name in _REPLACED | _HOOKS
            ):
                yield f"{name} is replaced"
            case ast.Call(func=func, args=args, keywords=keywords) if _last_name(func) in (
                "update_wrapper",
                "wraps",
            ):
                usual = 1 + (_last_name(func) == "update_wrapper")
                chosen = len(args) > usual or any(k.arg in ("assigned", "updated") for k in keywords)
                if chosen or self.functions_have_fields:
                    yield f"{_last_name(func)} sets fields unseen"
            case ast.Name(id="vars") if self.scopes.is_builtin(node, ("vars",)) and not self._is_called(node):
                yield "vars is passed on as a value"
            case ast.Name(id="exec" | "eval" | "compile") if self.scopes.is_builtin(
                node, ("exec", "eval", "compile")
            ):
                yield f"{node.id} runs code that is not compiled"
            case (
                ast.Name(id="__builtins__")
                | ast.Constant(value="__builtins__")
                | ast.Attribute(attr="__builtins__" | "f_builtins")
                | ast.Attribute(
                    value=ast.Name(id="builtins"),
                    attr="exec" | "eval" | "compile" | "__dict__" | "__getattribute__",
                )
            ):
                yield "builtins are reached in a roundabout way"
            case ast.Attribute(attr="__class__" | "__bases__", ctx=ast.Store()):
                yield f"{node.attr} is replaced"
            case ast.Attribute(attr="__dict__"):
                if not isinstance(node.ctx, ast.Load):
                    yield "__dict__ is replaced"
                elif not self._only_reads(node):
                    yield "__dict__ gives the fields away for writing"
            case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()) if name in _HOOKS:
                yield f"{name} of a class is changed"
            case ast.Attribute(attr="__set__" | "__delete__"):
                yield "a descriptor is called by hand"
            case ast.Attribute(value=ast.Name(id=cls), attr=attr, ctx=ast.Load()) if (
                attr in self.fields and attr in self.slots.get(cls, ())
            ):
                yield f"the descriptor of {attr} is taken out of its class"
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=cls), attr="__dict__")
                | ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id=cls)]),
                slice=key,
            ) if cls in self.slots and not (isinstance(key, ast.Constant) and key.value not in self.fields):
                yield "a descriptor is taken out of its class"
            case ast.Attribute(attr="__setstate__", value=receiver, ctx=ast.Load()) if not (
                self.restores or (isinstance(receiver, ast.Call) and _last_name(receiver.func) == "super")
            ):
                yield "__setstate__ sets the fields of an object that exists"
            case ast.Attribute(value=receiver, attr=attr) if attr in _GIVES_DICTS.get(
                module := _last_name(receiver) or "", ()
            ):
                if not self._is_filtered(node):
                    yield f"{module}.{attr} gives the dict of an object away"
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in _STATES and not self._only_reads(node):
                yield f"{attr} gives the dict of an object away"
            case ast.Attribute(attr=attr, ctx=ast.Load()) if attr in _STATES and not self._is_called(node):
                yield f"{attr} is passed on as a value"
            case ast.Expr(value=ast.Constant(value=str(text))) if self.has_doctests and _example_changes(
                text, self.fields
            ):
                yield "doctest runs an example that assigns a field; let a function of the program assign it"
            case ast.Call(func=func) if self._runs_text(node, self._path(func)):
                yield f"{self._path(func)} runs code that is not compiled"
            case ast.Attribute(value=receiver, attr="proxy") if _last_name(receiver) == "weakref":
                yield "a proxy hides the object that is changed"
            case ast.Attribute(value=receiver, attr="setattr" | "delattr") if not (
                isinstance(receiver, ast.Name) and receiver.id == "builtins"
            ):
                yield f"{node.attr} of something else than Python sets a field unseen"
            case ast.Call(func=ast.Attribute(attr=attr), args=args, keywords=keywords) if attr in (
                "parse_args",
                "parse_known_args",
                "parse_intermixed_args",
            ):
                if len(args) > 1 or any(k.arg == "namespace" for k in keywords):
                    yield "a parser of arguments sets the fields of an object"
            case ast.Import() | ast.ImportFrom():
                yield from _reasons_of_import(node)
            case ast.ClassDef():
                yield from (
                    f"class {node.name} defines {name}"
                    for name in _names_defined(node)
                    if name in _HOOKS or name == "__class__"
                )
                if "__setstate__" not in _names_defined(node) and _gives_old_a_state(node):
                    yield f"a copy of a {node.name} may set the fields of an object that exists"
            case ast.Assign(targets=targets, value=ast.Call(func=func)):
                yield from self._descriptor_fields(node, targets, func)
            case ast.AnnAssign(target=target, value=ast.Call(func=func)):
                yield from self._descriptor_fields(node, [target], func)

    def _path(self, func: ast.expr) -> str:
        """What a function of an imported module is called there, `timeit.timeit`; not of the program."""
        path = ""
        match func:
            case ast.Attribute(value=ast.Name(id=module), attr=attr):
                path = f"{self.imported.get(module)}.{attr}"
            case ast.Name(id=name):
                path = self.imported.get(name, "")
        return "" if path.partition(".")[0] in self.modules else path

    def _runs_text(self, call: ast.Call, path: str) -> bool:
        """Does a call execute a text that may change a field? For examples of this module see `reasons`."""
        module = path.partition(".")[0]
        if module in _RUN_TEXTS:
            return path != "doctest.testmod" or bool(call.args) or any(k.arg == "m" for k in call.keywords)
        if path not in _RUNS_TEXT:
            return False
        named = {k.arg: k.value for k in call.keywords}
        texts = [
            *call.args[: _RUNS_TEXT[path]],
            *(named[n] for n in ("stmt", "setup", "statement") if n in named),
        ]
        known = module == "timeit" and "globals" not in named  # what is no text there is a function
        return not _RUNS_TEXT[path] or any(_may_change(text, self.fields, known) for text in texts)

    def _descriptor_fields(self, stmt: ast.stmt, targets: list[ast.expr], func: ast.expr) -> Iterator[str]:
        if _last_name(func) in self.descriptors:
            for target in targets:
                in_class = isinstance(self.parents[stmt], ast.ClassDef) and isinstance(target, ast.Name)
                if (in_class or isinstance(target, ast.Attribute)) and _last_name(target) in self.fields:
                    yield f"{_last_name(target)} is a descriptor, not a field"

    def _is_function(self, node: ast.expr) -> bool:
        """Does an expression name a function of this module, or a method by its class?"""
        match node:
            case ast.Name(id=name):
                return self.scopes.binding(node) in self.functions.get(name, ())
            case ast.Attribute(value=ast.Name(id=cls), attr=name):
                return any(scope.class_name == cls for scope in self.functions.get(name, ()))
        return False

    def _is_passed_on(self, node: ast.AST) -> bool:
        """Does a name stand for a module, and for something else than what it takes a part of?"""
        assert isinstance(node, ast.Name)
        parent = self.parents[node]
        named = self.imported.get(node.id) == node.id
        return named and not (isinstance(parent, ast.Attribute) and parent.value is node)

    def _is_called(self, node: ast.AST) -> bool:
        parent = self.parents[node]
        return isinstance(parent, ast.Call) and parent.func is node

    def _is_filtered(self, node: ast.AST) -> bool:
        """`inspect.getmembers(o, predicate)` gives what the predicate lets through, which is no dict."""
        parent = self.parents[node]
        return isinstance(parent, ast.Call) and parent.func is node and len(parent.args) == 2

    def _function(self, node: ast.AST) -> str:
        """The name of the function that a statement stands in."""
        while not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node = self.parents[node]
        return node.name

    def _only_reads(self, node: ast.expr) -> bool:
        """Whether the dict of an object is looked at on the spot and goes nowhere."""
        match parent := self.parents[node]:
            case ast.Subscript(ctx=ast.Load()):
                return parent.value is node and not (
                    isinstance(node, ast.Call) and _last_name(node.func) in _STATES
                )
            case ast.Compare() | ast.FormattedValue() | ast.Expr():
                return True
            case ast.For(iter=source) | ast.AsyncFor(iter=source) | ast.comprehension(iter=source):
                return source is node
            case ast.Attribute(attr=name):
                return name in _READING_METHODS and self._is_called(parent)
            case ast.keyword(arg=None):
                return True
            case ast.Starred(ctx=ast.Load()):
                return True
            case ast.Dict():
                return any(
                    key is None and value is node
                    for key, value in zip(parent.keys, parent.values, strict=True)
                )
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
                return True
            case ast.BinOp(op=ast.BitOr()):
                return True
            case ast.Return():  # by a method that copying and pickling call
                is_state = isinstance(node, ast.Call) and _last_name(node.func) in _STATES
                return is_state and self._function(parent) in _STATES
            case ast.UnaryOp(op=ast.Not()):
                return True
            case ast.Call(func=func):
                if self._path(func) in ("json.dump", "json.dumps", "pprint.pformat", "pprint.pprint"):
                    return node in parent.args and all(k.arg not in ("cls", None) for k in parent.keywords)
                return self.scopes.is_builtin(func, _READING_FUNCTIONS)
        return False


def _imported(tree: ast.Module) -> dict[str, str]:
    """The names that stand for modules, or for what they hold, with what these are called."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                found |= {alias.asname or alias.name: alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), names=aliases, level=0):
                found |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in aliases}
    return found


def _may_change(text: ast.expr, fields: Collection[str], known: bool = True) -> bool:
    """May a text that is executed change one of `fields`? If `known`, what is no text is a function."""
    match text:
        case ast.Constant(value=str(code)):
            try:
                inner = [*ast.walk(ast.parse(code))]
            except (SyntaxError, ValueError):
                return False
            changing = any(
                isinstance(n, ast.Attribute) and n.attr in fields and not isinstance(n.ctx, ast.Load)
                for n in inner
            )
            return changing or any(isinstance(n, ast.Name) and n.id in _CHANGING for n in inner)
        case ast.JoinedStr() | ast.BinOp():
            return True
    return not known


def _example_changes(docstring: str, fields: Collection[str]) -> bool:
    """May an example of a docstring change one of `fields`?"""
    import doctest

    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return False
    return any(_may_change(ast.Constant(example.source), fields) for example in examples)


def _reasons_of_import(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    if any(module.partition(".")[0] == "ctypes" for module in modules):
        yield "ctypes reaches any memory"
    if isinstance(node, ast.Import) and "unittest.mock" in modules:
        yield "mock sets fields unseen"
    for alias in node.names if isinstance(node, ast.ImportFrom) else ():
        module = node.module or ""  # type: ignore[union-attr]  # an ImportFrom
        if alias.name in _GIVES_DICTS.get(module, ()):
            yield f"{module}.{alias.name} gives the dict of an object away"
        if (module, alias.name) == ("weakref", "proxy"):
            yield "a proxy hides the object that is changed"
        if alias.name == "*" and module in ("gc", "inspect", "weakref"):
            yield f"all of the module {module} is imported"
        if module == "unittest.mock" or (module, alias.name) == ("unittest", "mock"):
            yield "mock sets fields unseen"
        if node.module == "builtins" and alias.asname not in (None, alias.name):  # type: ignore[union-attr]  # the same
            yield f"the builtin {alias.name} gets another name"
    for alias in node.names if isinstance(node, ast.Import) else ():
        if alias.name in ("builtins", "gc", "inspect", "weakref") and alias.asname not in (None, alias.name):
            yield f"the module {alias.name} gets another name"


def _slots(classes: Iterable[ast.ClassDef]) -> dict[str, set[str]]:
    """The slots of the classes that have some, by the text of theirs and of their bases."""
    found: dict[str, set[str]] = {}
    for node in classes:
        own = {n for base in node.bases for n in found.get(_last_name(base) or "", ())}
        slotted = any(
            keyword.arg == "slots"
            and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
            for decorator in node.decorator_list
            if isinstance(decorator, ast.Call)
            for keyword in decorator.keywords
        )
        for stmt in node.body:
            match stmt:
                case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                    own |= {str(n.value) for n in ast.walk(value) if isinstance(n, ast.Constant)}
                case ast.AnnAssign(target=ast.Name(id=name), annotation=kind) if (
                    slotted and "ClassVar" not in ast.unparse(kind)
                ):
                    own.add(name)
        if own:
            found[node.name] = own
    return found


def _gives_old_a_state(node: ast.ClassDef) -> bool:
    """Does a class reduce its objects to something that a function gives, and a state for it?"""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name in ("__reduce__", "__reduce_ex__"):
            for inner in ast.walk(method):
                match inner:
                    case ast.Return(value=ast.Tuple(elts=[maker, _, state, *_])):
                        none = isinstance(state, ast.Constant) and state.value is None
                        if not none and not _names_own_class(maker, node.name):
                            return True
    return False


def _names_own_class(node: ast.expr, cls: str) -> bool:
    match node:
        case ast.Name(id=name):
            return name == cls
        case ast.Attribute(attr=attr):
            return attr in ("__class__", "__newobj__")
        case ast.Call(func=ast.Name(id="type")):
            return True
    return False


def _names_defined(node: ast.ClassDef) -> list[str]:
    """The names that the body of a class binds by definitions and assignments."""
    names: list[str] = []
    for stmt in node.body:
        match stmt:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.append(name)
            case ast.Assign(targets=targets):
                names += [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                names.append(name)
    return names


def _last_name(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None
