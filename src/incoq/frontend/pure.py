"""Check that a condition or result is a function of variables and selectors (paper, section 2).

Calls of the program's own functions are replaced by their bodies where these are one `return`, so that
the fields they read become part of the query; other functions may be called if they read nothing but
their arguments' values. Everything else is refused (IQ202, IQ206, IQ212).

Before:    near(u.loc)          with  def near(loc): return loc in ("NYC", "LA")
After:     u.loc == 'NYC' or u.loc == 'LA'
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Callable, Sequence
from keyword import iskeyword
from typing import Any

from incoq.frontend.class_bodies import class_around
from incoq.frontend.program import Binding, Module
from incoq.ir.expressions import FITS, ITERABLE, clone, names_in, substitute
from incoq.names import mangled

# Builtins that depend on nothing but the values of their arguments. `plain` wraps those arguments, so
# that a mutable collection or an object with hidden state is refused at run time.
_ORDERED = frozenset(["sorted", "list", "tuple", "reversed", "enumerate"])
_DISPLAYED = {
    "set": "write a set comprehension, `{... for ... in ...}`",
    "dict": "write a dict comprehension, `{...: ... for ... in ...}`",
    "next": "ask for the least: `min(((x.f, x.g) for x in s if ...), default=None)`",
    "print": "print the answer where the query is asked",
}
_METHOD_HELP = {  # the way out for a method, by its name
    "get": "write `m[k]`: where there is no entry the combination is skipped",
    "issubset": "write `all(x in t for x in s)`",
    "issuperset": "write `all(x in s for x in t)`",
    "isdisjoint": "write `not any(x in t for x in s)`",
    "add": "a query changes nothing: change what it reads where the query is asked",
    "": "read the fields that it reads in the query itself, or write it as a function over them",
}
_METHOD_HELP |= dict.fromkeys(("append", "remove", "discard", "update", "setdefault"), _METHOD_HELP["add"])
PURE_BUILTINS = frozenset(
    [
        "abs",
        "bin",
        "bool",
        "bytes",
        "chr",
        "complex",
        "divmod",
        "float",
        "format",
        "hash",
        "hex",
        "int",
        "isinstance",
        "issubclass",
        "max",
        "min",
        "oct",
        "ord",
        "pow",
        "range",
        "repr",
        "round",
        "slice",
        "str",
        "sum",
        "tuple",
        "frozenset",
        "type",
        "callable",
        "ascii",
    ]
)
BITS = 14_000  # of a number: Python neither reads nor writes the digits of one with over 14,284
READS_FIELD = frozenset({"hasattr", "getattr"})
PURE_MODULES = frozenset({"math", "cmath", "operator"})
# Of other modules, the classes whose objects are values that their arguments tell.
VALUE_CLASSES = {
    "datetime": frozenset({"date", "datetime", "time", "timedelta"}),
    "decimal": frozenset({"Decimal"}),
    "fractions": frozenset({"Fraction"}),
}
MODULE_PREFIX = "_incoq_"  # what a query knows such a module by, unless it is one of PURE_MODULES by its name
# Methods of strings, bytes, numbers and dates; of what is none of these, and has one, `called_of` refuses it.
PURE_METHODS = frozenset(
    [
        "startswith",
        "endswith",
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "split",
        "rsplit",
        "replace",
        "title",
        "capitalize",
        "casefold",
        "isdigit",
        "isalpha",
        "isalnum",
        "isspace",
        "islower",
        "isupper",
        "isnumeric",
        "isdecimal",
        "isidentifier",
        "istitle",
        "swapcase",
        "partition",
        "rpartition",
        "zfill",
        "ljust",
        "rjust",
        "center",
        "find",
        "rfind",
        "encode",
        "decode",
        "join",
        "splitlines",
        "removeprefix",
        "removesuffix",
        "expandtabs",
        "bit_length",
        "bit_count",
        "conjugate",
        "is_integer",
        "as_integer_ratio",
        "hex",
        "count",
        "isoformat",
        "strftime",
        "weekday",
        "isoweekday",
        "toordinal",
        "total_seconds",
    ]
)


_NEW = ast.Constant | ast.Tuple | ast.JoinedStr  # what no object of the program is identical to

# A nested query, whether only its truth counts, and whether a short-circuit may pass it over.
Nest = Callable[[ast.expr, bool, bool], "ast.expr | None"]
Helper = tuple[Module, ast.FunctionDef]  # a function of the program and the module it stands in


class Purifier:
    """Makes expressions of one query pure, or refuses them."""

    def __init__(
        self,
        module: Module,
        is_variable: Callable[[str], bool],
        nest: Nest,
        own_variables: Callable[..., Any],
        answer: Callable[[ast.expr, ast.expr], ast.SetComp | None],
        imports: Callable[[Module, ast.expr, str, str], None],
        helper: Callable[[Module, ast.expr], Helper | None],
        usual: bool = False,
    ) -> None:
        self.module, self.is_variable, self.nest = module, is_variable, nest
        self.own_variables, self.answer, self.imports, self.helper = own_variables, answer, imports, helper
        self.usual = usual  # unmarked: who uses the program was not compiled with it
        self.callables: set[str] = set()
        self.functions: dict[str, ast.FunctionDef] = {}

    def is_callable_name(self, identifier: str) -> bool:
        """Names that stand for functions, kept as they are in the expression."""
        return identifier in (FITS, ITERABLE) or identifier in self.callables

    def purify(self, node: ast.expr, truth: bool = False) -> ast.expr:
        walk = _Walk(self, ())
        copied = clone(node)
        return walk.truth(copied) if truth else walk.visit(copied)


class _Walk(ast.NodeTransformer):
    """Goes over an expression of the query's own module, or over the body of a helper of another one, whose
    `given` names stand for arguments."""

    def __init__(
        self,
        owner: Purifier,
        stack: tuple[str, ...],
        module: Module | None = None,
        given: frozenset[str] | None = None,
    ) -> None:
        self.owner, self.module, self.stack = owner, module or owner.module, stack
        self.given, self.abroad = given, given is not None
        self.lazy = False  # may a short-circuit pass over what is visited?

    def is_variable(self, identifier: str) -> bool:
        return self.owner.is_variable(identifier) if self.given is None else identifier in self.given

    def nest(self, node: ast.expr, truth: bool) -> ast.expr | None:
        """A nested query; a helper of another module has none."""
        return None if self.abroad else self.owner.nest(node, truth, self.lazy)

    def perhaps(self, visit: Callable[[ast.expr], ast.expr], node: ast.expr) -> ast.expr:
        """Visit what a short-circuit may pass over."""
        before, self.lazy = self.lazy, True
        visited = visit(node)
        self.lazy = before
        return visited

    def refuse(self, code: str, message: str, node: ast.AST, help: str | None = None) -> None:
        raise self.module.error(code, message, node, help)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        match node:
            case (
                ast.Constant()
                | ast.BoolOp()
                | ast.UnaryOp()
                | ast.BinOp()
                | ast.IfExp()
                | ast.Tuple()
                | ast.JoinedStr()
                | ast.FormattedValue()
                | ast.Slice()
                | ast.operator()
                | ast.boolop()
                | ast.unaryop()
                | ast.cmpop()
                | ast.expr_context()
            ):
                return super().generic_visit(node)
            case ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                self.refuse("IQ212", "an effect inside a query", node)
            case ast.SetComp() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp() if self.abroad:
                message = "a comprehension in a helper function of another module"
                self.refuse("IQ209", message, node, "make the function a query, which other queries may call")
            case ast.SetComp() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                self.refuse(
                    "IQ209", "a comprehension as a value; use it as a source or in an aggregate", node
                )
            case ast.Lambda():
                way = "for `max(s, key=...)` put the key first: `max(((x.f, x.g) for x in s), default=None)`"
                self.refuse("IQ209", "a lambda is not supported in a query", node, way)
            case _:
                self.refuse("IQ209", f"`{ast.unparse(node)}` is not supported in a query", node)
        raise AssertionError("unreachable")

    def truth(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth counts: a nested comprehension is asked for existence."""
        if isinstance(node, ast.BoolOp):
            first, *more = node.values
            node.values = [self.truth(first), *(self.perhaps(self.truth, v) for v in more)]
            return node
        if isinstance(node, ast.SetComp | ast.Call):
            nested = self.nest(node, True)
            if nested is not None:
                return nested
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        first, *more, last = node.values
        more = [self.perhaps(self.truth, v) for v in more]
        node.values = [self.truth(first), *more, self.perhaps(self.visit, last)]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        inner = self.truth if isinstance(node.op, ast.Not) else self.visit
        node.operand = inner(node.operand)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self.truth(node.test)
        node.body, node.orelse = self.perhaps(self.visit, node.body), self.perhaps(self.visit, node.orelse)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, int) and node.value.bit_length() > BITS:
            message = f"a number of {node.value.bit_length():,} bits is written into the query"
            self.refuse("IQ106", message, node, "pass it as a parameter")
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self.is_variable(node.id):
            return node
        constant = self.module.constant(node.id)
        if constant is not None:
            return self.visit_Constant(ast.copy_location(ast.Constant(constant.value), node))
        if self.abroad and node.id in self.module.bindings:
            message = f"a helper function reads the global `{node.id}` of another module"
            self.refuse("IQ202", message, node, "make what it reads a parameter of the function")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr.startswith("__") and (owner := class_around(self.module, node)) is not None:
            node.attr = mangled(node.attr, owner.name)
        if node.attr.startswith("__"):
            self.refuse("IQ202", f"`{node.attr}` is not a field that can be maintained", node)
        match node.value:
            case ast.Name(id=alias) if alias in self.module.imports and not self.is_variable(alias):
                return self._of_module(node, self.module.imports[alias])
        if self._pure_module(node):
            return node
        node.value = self.visit(node.value)
        if not is_selector(node.value):
            self.refuse("IQ202", f"`.{node.attr}` of a computed value cannot be watched", node)
        return node

    def _of_module(self, node: ast.Attribute, home: Module) -> ast.expr:
        """A global of another module; one that its module rebinds is rebound where no update shows it."""
        constant, binding = home.constant(node.attr), home.bindings.get(node.attr)
        if constant is not None:
            return self.visit_Constant(ast.copy_location(ast.Constant(constant.value), node))
        if binding is not None and not binding.once:
            message = f"the module rebinds `{ast.unparse(node)}`"
            self.refuse("IQ202", message, node, "make it a parameter of the query")
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """`x in (a, b)` is `x == a or x == b`: sets inside a query are compared by identity."""
        match node:
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[ast.Call() as call]):
                if not self.abroad and (elements := self.owner.answer(call, left)) is not None:
                    node.comparators = [elements]
                    there = given_all([self.visit(clone(a)) for a in call.args])
                    return where(there, self.visit(node))
        match node:
            case ast.Compare(
                left=left,
                ops=[ast.In() | ast.NotIn() as op],
                comparators=[ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items) as display],
            ) if (
                items
                and not any(isinstance(i, ast.Starred) for i in items)
                and not (isinstance(display, ast.List | ast.Set) and _are_constants(items))
            ):
                tests: list[ast.expr] = []
                items = [self.visit(i) if isinstance(i, ast.Name) else i for i in items]
                left = self.visit(left) if isinstance(left, ast.Name) else left
                for item in items:
                    if not isinstance(item, _NEW) and not isinstance(left, _NEW):
                        # `in` finds an object also where `==` says no
                        tests.append(ast.Compare(clone(left), [ast.Is()], [clone(item)]))
                    tests.append(ast.Compare(clone(left), [ast.Eq()], [item]))
                chain = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
                whole = chain if isinstance(op, ast.In) else ast.UnaryOp(ast.Not(), chain)
                whole = where(given_all(items), whole)  # Python reads them all before it compares one
                found = self.visit(ast.copy_location(ast.fix_missing_locations(whole), node))
                if isinstance(display, ast.Set):
                    keys = [self.visit(clone(k)) for k in (left, *items) if not isinstance(k, ast.Constant)]
                    found = where([ast.Call(ast.Name(FITS, ast.Load()), [k], []) for k in keys], found)
                return found  # type: ignore[no-any-return]
            case ast.Compare(
                ops=[ast.In() | ast.NotIn()], comparators=[ast.Set(elts=items) | ast.List(elts=items)]
            ) if _are_constants(items):
                node.left = self.visit(node.left)
                return node
            case ast.Compare(
                left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[ast.SetComp() as comp]
            ):
                return self._in_comprehension(node, left, op, comp)
        first, *more = node.comparators
        node.left = self.visit(node.left)
        node.comparators = [self.visit(first), *(self.perhaps(self.visit, c) for c in more)]
        return node

    def _in_comprehension(
        self, node: ast.Compare, left: ast.expr, op: ast.In | ast.NotIn, comp: ast.SetComp
    ) -> ast.expr:
        """`x in {e for …}` is `any(e == x for …)`, where x is there and can be in a set: what raises inside a
        nested query skips an element of it, and Python evaluates x outside."""
        comp = self.owner.own_variables(comp)  # the left side must not be captured
        comp.elt, left = (self.visit(e) if isinstance(e, ast.Name) else e for e in (comp.elt, left))
        found: ast.expr = ast.Compare(comp.elt, [ast.Eq()], [left])
        if not isinstance(comp.elt, _NEW) and not isinstance(left, _NEW):
            # `in` finds an object also where `==` says no
            found = ast.BoolOp(ast.Or(), [ast.Compare(clone(comp.elt), [ast.Is()], [clone(left)]), found])
        exists = ast.Call(ast.Name("any", ast.Load()), [ast.GeneratorExp(found, comp.generators)], [])
        there = None if isinstance(left, ast.Constant) else self.visit(clone(left))
        test: ast.expr = exists if isinstance(op, ast.In) else ast.UnaryOp(ast.Not(), exists)
        test = self.visit(ast.fix_missing_locations(ast.copy_location(test, node)))
        if there is not None:
            test = ast.BoolOp(ast.And(), [ast.Call(ast.Name(FITS, ast.Load()), [there], []), test])
        return ast.fix_missing_locations(ast.copy_location(test, node))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        nested = self.nest(node, False)
        if nested is not None:
            return nested
        node.value, node.slice = self.visit(node.value), self.visit(node.slice)
        match node.slice:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):  # `t[-1]`
                node.slice = ast.copy_location(ast.Constant(-number), node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Constant):
            return node
        nested = self.nest(node, False)
        if nested is not None:
            return nested
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            self.refuse("IQ209", "a starred argument inside a query", node)
        match node.func:
            case ast.Name(id=identifier) if not self.is_variable(identifier):
                return self._named_call(node, identifier)
            case ast.Attribute() as function if self._pure_module(function):
                pass
            case ast.Attribute(value=ast.Name(id=alias), attr=attr) as function if (
                alias in self.module.imports
                and not self.is_variable(alias)
                and (found := self.owner.helper(self.module, function)) is not None
            ):
                return self._inline(node, attr, *found)
            case ast.Attribute(value=receiver, attr=method) if method in PURE_METHODS:
                node.func.value = self.visit(receiver)
            case ast.Attribute() as function if self._is_of_module(function):
                message = f"cannot see what `{ast.unparse(function)}` reads"
                way = "call it where the query is asked, and pass what it gives; or hold that in a field"
                self.refuse("IQ202", message, node, way)
            case ast.Attribute(attr=method):
                message = f"the method `{method}` may read what no relation shows"
                self.refuse("IQ202", message, node, _METHOD_HELP.get(method, _METHOD_HELP[""]))
            case _:
                self.refuse("IQ202", f"cannot see what `{ast.unparse(node.func)}` reads", node)
        return self._arguments(node)

    def _is_of_module(self, node: ast.Attribute) -> bool:
        """Is this a function of what is imported, such as `time.time` or `datetime.datetime.now`?"""
        owner: ast.expr = node
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        if not isinstance(owner, ast.Name) or self.is_variable(owner.id):
            return False
        binding = self.module.bindings.get(owner.id)
        return binding is not None and binding.kind == "import"

    def _arguments(self, node: ast.Call) -> ast.Call:
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def _named_call(self, node: ast.Call, identifier: str) -> ast.expr:
        binding = self.module.bindings.get(identifier)
        if binding is None:
            if identifier == "len" and len(node.args) == 1 and not node.keywords:
                self.owner.callables.add(identifier)
                return self._arguments(node)
            if identifier in READS_FIELD:
                field = node.args[1] if len(node.args) >= 2 else None
                if not isinstance(field, ast.Constant):
                    self.refuse("IQ202", f"`{identifier}` needs a constant field name", node)
                elif not _is_field_name(field.value):
                    message = f"{ast.unparse(field)} cannot stand after a dot, as the name of a field does"
                    self.refuse("IQ209", message, field, "give the field such a name, or hold it in a dict")
                if not is_selector(node.args[0]):
                    self.refuse("IQ202", f"`{identifier}` of a computed value cannot be watched", node)
            elif identifier not in PURE_BUILTINS:
                if self.abroad:
                    self._arguments(node)  # a comprehension says better what is amiss
                way = _DISPLAYED.get(identifier)
                if identifier in _ORDERED:
                    way = "return the set itself, and order it where it is used"
                self.refuse("IQ202", f"cannot see what `{identifier}` reads", node, way)
            self.owner.callables.add(identifier)
            return self._arguments(node)
        if (found := self.owner.helper(self.module, node.func)) is not None:
            return self._inline(node, identifier, *found)
        if self._pure_name(node.func, identifier, binding):
            return self._arguments(node)
        self.refuse("IQ202", f"cannot see what `{identifier}` reads", node)
        raise AssertionError("unreachable")

    def _inline(self, node: ast.Call, identifier: str, home: Module, function: ast.FunctionDef) -> ast.expr:
        known_as = f"{home.name}.{function.name}"
        if self.owner.usual:
            message = f"code outside may put another function in the place of `{identifier}`"
            self.refuse("IQ202", message, node, "write what it returns into the comprehension")
        if known_as in self.stack:
            self.refuse("IQ202", f"`{identifier}` is recursive", node)
        body = [s for s in function.body if not _is_docstring(s)]
        arguments = function.args
        if function.decorator_list:
            self.refuse("IQ202", f"`{identifier}` is decorated, so what it reads cannot be seen", node)
        if not (len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None):
            message = f"`{identifier}` is more than one return, so what it reads cannot be seen"
            way = f"write `{identifier}` as one `return`, or hold what it gives in a field"
            self.refuse("IQ202", message, node, way)
        if arguments.vararg or arguments.kwarg:
            self.refuse("IQ209", f"`{identifier}` must have plain parameters to be called in a query", node)
        bound = self._bind(node, identifier, arguments)
        names, given = list(bound), list(bound.values())
        returned = body[0]
        assert isinstance(returned, ast.Return) and returned.value is not None
        if home is not self.module:
            given = [self.visit(g) for g in given]
            walk = _Walk(self.owner, (*self.stack, known_as), home, frozenset(names))
            read = walk.visit(clone(returned.value))
            own_names = names_in(read) - set(names)
        else:
            read = _Apart(self.owner, names).visit(clone(returned.value))
            own_names = frozenset(n.id for n in ast.walk(read) if isinstance(n, ast.Name)) - set(names)
        for own in sorted(own_names):
            if self.is_variable(own):
                self.refuse("IQ209", f"`{identifier}` reads the global `{own}`, a variable here", node)
        inlined = substitute(read, dict(zip(names, (clone(g) for g in given), strict=True)))
        surely = strict_names(returned.value)
        # Python evaluates every argument, also one that the body may not reach.
        lazy = given_all([g for n, g in zip(names, given, strict=True) if n not in surely])
        inlined = where(lazy, ast.copy_location(inlined, node))
        if home is not self.module:
            return ast.copy_location(inlined, node)
        walk = _Walk(self.owner, (*self.stack, known_as), self.module, self.given)
        return walk.visit(ast.copy_location(inlined, node))  # type: ignore[no-any-return]

    def _bind(self, node: ast.Call, identifier: str, arguments: ast.arguments) -> dict[str, ast.expr]:
        """The expression that each parameter of a helper function stands for."""
        names = [a.arg for a in arguments.posonlyargs + arguments.args]
        defaults = dict(zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True))
        defaults |= {
            a.arg: d
            for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if d is not None
        }
        named = {k.arg: k.value for k in node.keywords if k.arg is not None}
        by_name = {a.arg for a in arguments.args + arguments.kwonlyargs} - set(names[: len(node.args)])
        if len(node.args) > len(names) or not named.keys() <= by_name:
            self.refuse("IQ209", f"wrong arguments for `{identifier}`", node)
        bound: dict[str, ast.expr] = {}
        for parameter, argument in zip(names, node.args, strict=False):
            bound[parameter] = argument
        for parameter in names[len(node.args) :] + [a.arg for a in arguments.kwonlyargs]:
            default = defaults.get(parameter)
            if parameter in named:
                bound[parameter] = named[parameter]
            elif default is None:
                self.refuse("IQ209", f"`{identifier}` is called without `{parameter}`", node)
            elif not isinstance(default, ast.Constant):
                self.refuse("IQ209", f"a default of `{identifier}` is not a constant", node)
            else:
                bound[parameter] = default
        return bound

    def _pure_name(self, node: ast.expr, identifier: str, binding: Binding) -> bool:
        """Is this a function that was imported from a module of such functions, `from math import sqrt`?"""
        match binding:
            case Binding(node=ast.ImportFrom(module=str(home), names=aliases, level=0), once=True):
                original = next(a.name for a in aliases if (a.asname or a.name) == identifier)
                if home in PURE_MODULES or original in VALUE_CLASSES.get(home, ()):
                    self.owner.imports(self.module, node, identifier, f"{home}.{original}")
                    self.owner.callables.add(identifier)
                    return True
        return False

    def _pure_module(self, node: ast.Attribute) -> bool:
        """Is this of a module whose functions depend on their arguments alone? One that goes by its own name
        is kept as it is."""
        if not isinstance(node.value, ast.Name) or self.is_variable(node.value.id):
            return False
        known_as = node.value.id
        binding = self.module.bindings.get(known_as)
        if binding is None or not binding.once or not isinstance(binding.node, ast.Import):
            return False
        for alias in binding.node.names:
            home = alias.name
            if (alias.asname or home) == known_as and (
                home in PURE_MODULES or node.attr in VALUE_CLASSES.get(home, ())
            ):
                own = known_as if known_as == home and home in PURE_MODULES else MODULE_PREFIX + home
                node.value = ast.copy_location(ast.Name(own, ast.Load()), node.value)
                self.owner.imports(self.module, node, own, home)
                self.owner.callables.add(own)
                return True
        return False


class _Apart(ast.NodeTransformer):
    """Gives the comprehensions of a helper function variables of their own."""

    def __init__(self, owner: Purifier, parameters: Sequence[str]) -> None:
        self.owner, self.parameters = owner, parameters

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.SetComp | ast.GeneratorExp | ast.ListComp | ast.DictComp):
            node = self.owner.own_variables(node, self.parameters)
        return self.generic_visit(node)


def given_all(parts: Sequence[ast.expr]) -> list[ast.expr]:
    """What is true, and raises where one of the parts does."""
    read: list[ast.expr] = [clone(p) for p in parts if not isinstance(p, ast.Name | ast.Constant)]
    return [ast.Tuple(read, ast.Load())] if read else []


def where(there: list[ast.expr], value: ast.expr) -> ast.expr:
    """A value that Python evaluates after others, which are true or raise."""
    if not there:
        return value
    return ast.fix_missing_locations(ast.copy_location(ast.BoolOp(ast.And(), [*there, value]), value))


def is_selector(node: ast.expr) -> bool:
    """A variable, or fields and entries of one: what can be watched."""
    match node:
        case ast.Name():
            return True
        case ast.Attribute(value=value):
            return is_selector(value)
        case ast.Subscript(value=value, slice=key):
            return is_selector(value) and (isinstance(key, ast.Constant) or is_selector(key))
    return False


def strict_names(node: ast.expr) -> set[str]:
    """Names that are read whenever `node` is evaluated, whatever its short-circuits do."""
    match node:
        case ast.Name(id=identifier):
            return {identifier}
        case ast.BoolOp(values=[first, *_]):
            return strict_names(first)
        case ast.IfExp(test=test):
            return strict_names(test)
        case ast.Compare(left=left, comparators=[first, *_]):
            return strict_names(left) | strict_names(first)
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return set()  # what is missing inside skips an element; Python evaluates arguments outside
        case _:
            children = (c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr))
            return set().union(*map(strict_names, children))


def _are_constants(items: list[ast.expr]) -> bool:
    return all(isinstance(i, ast.Constant) for i in items)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_field_name(value: object) -> bool:
    """Is it what `x.name` reads? Python takes some names in the text for others (`ﬁ` for `fi`)."""
    return (
        isinstance(value, str)
        and value.isidentifier()
        and not (iskeyword(value) or value == "__debug__")
        and unicodedata.normalize("NFKC", value) == value
    )
