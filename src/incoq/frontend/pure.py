"""Check that a condition or result is a function of variables and selectors (paper, section 2).

Calls of the program's own functions are replaced by their bodies where these are one `return`, so that
the fields they read become part of the query; other functions may be called if they read nothing but
their arguments' values. Everything else is refused (IQ202, IQ206, IQ212).

Before:    near(u.loc)          with  def near(loc): return loc in ("NYC", "LA")
After:     u.loc == 'NYC' or u.loc == 'LA'
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from incoq.frontend.class_bodies import class_around
from incoq.frontend.program import Module
from incoq.ir.expressions import clone, substitute
from incoq.names import mangled

# Builtins that depend on nothing but the values of their arguments. `plain` wraps those arguments, so
# that a mutable collection or an object with hidden state is refused at run time.
_ORDERED = frozenset(["sorted", "list", "tuple", "reversed", "enumerate"])
_METHOD_HELP = {  # the way out for a method, by its name
    "get": "write `m[k]`: where there is no entry the combination is skipped",
    "": "read the fields that it reads in the query itself, or write it as a function over them",
}
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
READS_FIELD = frozenset({"hasattr", "getattr"})
PURE_MODULES = frozenset({"math", "cmath", "operator"})
# Methods of strings, bytes and numbers; sets, lists and dicts have none of these.
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
    ]
)


Nest = Callable[[ast.expr, bool], "ast.expr | None"]  # a nested query, and whether only its truth counts


class Purifier:
    """Makes expressions of one query pure, or refuses them."""

    def __init__(
        self,
        module: Module,
        is_variable: Callable[[str], bool],
        nest: Nest,
        own_variables: Callable[[ast.SetComp], ast.SetComp],
        imports: Callable[[Module, ast.expr, str, str], None],
    ) -> None:
        self.module, self.is_variable, self.nest = module, is_variable, nest
        self.own_variables, self.imports = own_variables, imports
        self.callables: set[str] = set()
        self.functions: dict[str, ast.FunctionDef] = {}

    def is_callable_name(self, identifier: str) -> bool:
        """Names that stand for functions, kept as they are in the expression."""
        return identifier in self.callables

    def purify(self, node: ast.expr, truth: bool = False) -> ast.expr:
        walk = _Walk(self, ())
        copied = clone(node)
        return walk.truth(copied) if truth else walk.visit(copied)


class _Walk(ast.NodeTransformer):
    def __init__(self, owner: Purifier, stack: tuple[str, ...]) -> None:
        self.owner, self.module, self.stack = owner, owner.module, stack

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
            case ast.SetComp() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                self.refuse(
                    "IQ209", "a comprehension as a value; use it as a source or in an aggregate", node
                )
            case _:
                self.refuse("IQ209", f"`{ast.unparse(node)}` is not supported in a query", node)
        raise AssertionError("unreachable")

    def truth(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth counts: a nested comprehension is asked for existence."""
        if isinstance(node, ast.SetComp | ast.Call):
            nested = self.owner.nest(node, True)
            if nested is not None:
                return nested
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        node.values = [self.truth(v) for v in node.values[:-1]] + [self.visit(node.values[-1])]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        inner = self.truth if isinstance(node.op, ast.Not) else self.visit
        node.operand = inner(node.operand)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self.truth(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self.owner.is_variable(node.id):
            return node
        constant = self.module.constant(node.id)
        if constant is not None:
            return ast.copy_location(ast.Constant(constant.value), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr.startswith("__") and (owner := class_around(self.module, node)) is not None:
            node.attr = mangled(node.attr, owner.name)
        if node.attr.startswith("__"):
            self.refuse("IQ202", f"`{node.attr}` is not a field that can be maintained", node)
        match node.value:
            case ast.Name(id=alias) if alias in self.module.imports and not self.owner.is_variable(alias):
                return self._of_module(node, self.module.imports[alias])
        if self._pure_module(node.value):
            return node
        node.value = self.visit(node.value)
        if not is_selector(node.value):
            self.refuse("IQ202", f"`.{node.attr}` of a computed value cannot be watched", node)
        return node

    def _of_module(self, node: ast.Attribute, home: Module) -> ast.expr:
        """A global of another module; one that its module rebinds is rebound where no update shows it."""
        constant, binding = home.constant(node.attr), home.bindings.get(node.attr)
        if constant is not None:
            return ast.copy_location(ast.Constant(constant.value), node)
        if binding is not None and not binding.once:
            message = f"the module rebinds `{ast.unparse(node)}`"
            self.refuse("IQ202", message, node, "make it a parameter of the query")
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """`x in (a, b)` is `x == a or x == b`: sets inside a query are compared by identity."""
        match node:
            case ast.Compare(
                left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[ast.Tuple(elts=items)]
            ) if items and not any(isinstance(i, ast.Starred) for i in items):
                tests: list[ast.expr] = []
                for item in items:
                    if not isinstance(item, ast.Constant):  # `in` finds an object also where `==` says no
                        tests.append(ast.Compare(clone(left), [ast.Is()], [clone(item)]))
                    tests.append(ast.Compare(clone(left), [ast.Eq()], [item]))
                chain = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
                whole = chain if isinstance(op, ast.In) else ast.UnaryOp(ast.Not(), chain)
                read = [i for i in items if not isinstance(i, ast.Constant | ast.Name)]
                if read:  # Python reads them all before it compares one
                    there = [ast.Compare(clone(i), [ast.Is()], [clone(i)]) for i in read]
                    whole = ast.BoolOp(ast.And(), [*there, whole])
                return self.visit(ast.copy_location(ast.fix_missing_locations(whole), node))  # type: ignore[no-any-return]
            case ast.Compare(
                ops=[ast.In() | ast.NotIn()], comparators=[ast.Set(elts=items) | ast.List(elts=items)]
            ) if all(isinstance(i, ast.Constant) for i in items):
                node.left = self.visit(node.left)
                return node
            case ast.Compare(
                left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[ast.SetComp() as comp]
            ):
                comp = self.owner.own_variables(comp)  # the left side must not be captured
                found = ast.Compare(comp.elt, [ast.Eq()], [left])
                generator = ast.GeneratorExp(found, comp.generators)
                exists = ast.Call(ast.Name("any", ast.Load()), [generator], [])
                whole = exists if isinstance(op, ast.In) else ast.UnaryOp(ast.Not(), exists)
                return self.visit(ast.fix_missing_locations(ast.copy_location(whole, node)))  # type: ignore[no-any-return]
        node.left = self.visit(node.left)
        node.comparators = [self.visit(c) for c in node.comparators]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        nested = self.owner.nest(node, False)
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
        nested = self.owner.nest(node, False)
        if nested is not None:
            return nested
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            self.refuse("IQ209", "a starred argument inside a query", node)
        match node.func:
            case ast.Name(id=identifier) if not self.owner.is_variable(identifier):
                return self._named_call(node, identifier)
            case ast.Attribute(value=receiver) if self._pure_module(receiver):
                pass
            case ast.Attribute(value=receiver, attr=method) if method in PURE_METHODS:
                node.func.value = self.visit(receiver)
            case ast.Attribute(attr=method):
                message = f"the method `{method}` may read what no relation shows"
                self.refuse("IQ202", message, node, _METHOD_HELP.get(method, _METHOD_HELP[""]))
            case _:
                self.refuse("IQ202", f"cannot see what `{ast.unparse(node.func)}` reads", node)
        return self._arguments(node)

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
                if not (len(node.args) >= 2 and isinstance(node.args[1], ast.Constant)):
                    self.refuse("IQ202", f"`{identifier}` needs a constant field name", node)
                if not is_selector(node.args[0]):
                    self.refuse("IQ202", f"`{identifier}` of a computed value cannot be watched", node)
            elif identifier not in PURE_BUILTINS:
                way = (
                    "return the set itself, and order it where it is used" if identifier in _ORDERED else None
                )
                self.refuse("IQ202", f"cannot see what `{identifier}` reads", node, way)
            self.owner.callables.add(identifier)
            return self._arguments(node)
        if binding.kind == "function" and binding.once and isinstance(binding.node, ast.FunctionDef):
            return self._inline(node, identifier, binding.node)
        self.refuse("IQ202", f"cannot see what `{identifier}` reads", node)
        raise AssertionError("unreachable")

    def _inline(self, node: ast.Call, identifier: str, function: ast.FunctionDef) -> ast.expr:
        if identifier in self.stack:
            self.refuse("IQ202", f"`{identifier}` is recursive", node)
        body = [s for s in function.body if not _is_docstring(s)]
        arguments = function.args
        if function.decorator_list:
            self.refuse("IQ202", f"`{identifier}` is decorated, so what it reads cannot be seen", node)
        if not (len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None):
            self.refuse(
                "IQ202", f"`{identifier}` is more than one return, so what it reads cannot be seen", node
            )
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or node.keywords:
            self.refuse("IQ209", f"`{identifier}` must be called with plain arguments in a query", node)
        names = [a.arg for a in arguments.posonlyargs + arguments.args]
        defaults = arguments.defaults
        given = list(node.args)
        missing = len(names) - len(given)
        if missing < 0 or missing > len(defaults):
            self.refuse("IQ209", f"wrong number of arguments for `{identifier}`", node)
        if missing:
            given += defaults[-missing:]
            if not all(isinstance(d, ast.Constant) for d in defaults[-missing:]):
                self.refuse("IQ209", f"a default of `{identifier}` is not a constant", node)
        returned = body[0]
        assert isinstance(returned, ast.Return) and returned.value is not None
        own_names = {n.id for n in ast.walk(returned.value) if isinstance(n, ast.Name)} - set(names)
        for own in own_names:
            if self.owner.is_variable(own):
                self.refuse("IQ209", f"`{identifier}` reads the global `{own}`, a variable here", node)
        inlined = substitute(returned.value, dict(zip(names, (clone(g) for g in given), strict=True)))
        surely = strict_names(returned.value)
        lazy = [
            clone(g)
            for n, g in zip(names, given, strict=True)
            if n not in surely and not isinstance(g, ast.Name | ast.Constant)
        ]
        if lazy:  # Python evaluates every argument, also one that the body may not reach
            inlined = ast.Subscript(
                ast.Tuple([*lazy, inlined], ast.Load()), ast.Constant(len(lazy)), ast.Load()
            )
            ast.fix_missing_locations(ast.copy_location(inlined, node))
        walk = _Walk(self.owner, (*self.stack, identifier))
        return walk.visit(ast.copy_location(inlined, node))  # type: ignore[no-any-return]

    def _pure_module(self, node: ast.expr) -> bool:
        """Is this a module whose functions depend on their arguments alone? Its name is kept as it is."""
        if not isinstance(node, ast.Name) or self.owner.is_variable(node.id):
            return False
        binding = self.module.bindings.get(node.id)
        if binding is None or not binding.once or not isinstance(binding.node, ast.Import):
            return False
        for alias in binding.node.names:
            if (alias.asname or alias.name) == node.id and alias.name in PURE_MODULES:
                self.owner.imports(self.module, node, node.id, alias.name)
                self.owner.callables.add(node.id)
                return True
        return False


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
        case _:
            children = (c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr))
            return set().union(*map(strict_names, children))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
