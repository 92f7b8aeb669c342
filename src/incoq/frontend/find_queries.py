"""Find the queries of a program: `@query` functions and methods, and inline `query(...)` calls."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from incoq.errors import CompileError
from incoq.frontend.class_bodies import sole_method
from incoq.frontend.find_unmarked import KEEP, comprehension_of, faults, why_not
from incoq.frontend.find_unmarked import unmarked as find_unmarked
from incoq.frontend.program import Binding, Module, Program
from incoq.frontend.read_query import Body, Called, Place, read_body, unreachable
from incoq.ir.expressions import Expr, names_in
from incoq.ir.objects import Condition, Fact, Keep, Membership, ObjectQuery, pattern_variables

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Scope = _Function | _Comprehension | ast.ClassDef


@dataclass(frozen=True)
class QuerySite:
    """A query and the place in the text that asks it; a nested query has none.

    An unmarked query (`--all`) has the `faults` that tell where Python would raise, `part_of` it.
    """

    query: ObjectQuery
    module: Module
    node: ast.FunctionDef | ast.expr | None
    faults: tuple[str, ...] = ()
    part_of: str = ""

    @property
    def nested(self) -> bool:
        return self.node is None and not self.part_of


@dataclass(frozen=True)
class LeftOut:
    """A comprehension that `--all` leaves as it is, and why."""

    module: Module
    node: ast.expr
    code: str
    reason: str


@dataclass(frozen=True)
class Options:
    """What `@query(...)` was given."""

    demand: tuple[str, ...] | None = None
    demand_at: ast.expr | None = None  # where that is written
    keep: Keep = field(default_factory=Keep)
    facts: tuple[Fact, ...] = ()


def find_queries(program: Program, unmarked: bool = False) -> tuple[list[QuerySite], list[LeftOut]]:
    """All queries, a nested or called one before those that use it, each with a name of its own; and, where
    unmarked ones are wanted too, the comprehensions that cannot be."""
    finder = _Finder(program)
    sites = finder.find()
    if unmarked:
        for module in program.modules:
            finder.take(module)
    return sites, finder.left_out


class _Finder:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.sites: list[QuerySite] = []
        self.taken: set[str] = set()
        self.definitions: dict[ast.FunctionDef, tuple[Module, Options, tuple[_Scope, ...]]] = {}
        self.inline: list[tuple[Module, ast.Call, tuple[_Scope, ...]]] = []
        self.names: dict[ast.FunctionDef, str] = {}
        self.done: dict[ast.FunctionDef, ObjectQuery] = {}
        self.reading: list[ast.FunctionDef] = []
        self.methods: dict[str, list[ast.FunctionDef]] = {}
        self.left_out: list[LeftOut] = []
        self.aliases: dict[str, str] = {}  # the modules and functions that queries call, by their names there
        self.alone = False  # reading an unmarked comprehension, which may hold no other query

    def find(self) -> list[QuerySite]:
        for module in self.program.modules:
            if module.incoq_names or any(m.incoq_names for m in module.imports.values()):
                _check_names(module)
                self._collect(module, module.tree, (), False)
        for node in self.definitions:
            self.names[node] = self._name(node.name)
        for node in self.definitions:
            self._define(node)
        for module, call, owners in self.inline:
            self._inline(module, call, owners)
        return self.sites

    def _name(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name

    def _collect(self, module: Module, node: ast.AST, owners: tuple[_Scope, ...], in_class: bool) -> None:
        """Queries in the order of the text, with the scopes around them."""
        for child in ast.iter_child_nodes(node):
            options = _decorated(module, child)
            if options is not None:
                assert isinstance(child, ast.FunctionDef)
                self.definitions[child] = (module, options, owners)
                if in_class:
                    self.methods.setdefault(child.name, []).append(child)
                continue
            if isinstance(child, ast.Call) and _is_inline(module, child):
                if owners and isinstance(owners[-1], ast.ClassDef):
                    _check_class_scope(module, child, owners[-1])
                self.inline.append((module, child, owners))
                continue
            if isinstance(child, ast.Name | ast.Attribute):
                _check_use(module, child)
            inside = (*owners, child) if isinstance(child, _Scope) else owners
            self._collect(module, child, inside, isinstance(child, ast.ClassDef))

    def _define(self, node: ast.FunctionDef) -> ObjectQuery:
        if node in self.done:
            return self.done[node]
        module, options, owners = self.definitions[node]
        if node in self.reading:
            raise module.error("IQ211", f"the query `{node.name}` depends on itself", node)
        self.reading.append(node)
        params, returned = _signature(module, node)
        place = Place(module, _locals_of(owners), self.names[node], self)
        body = read_body(place, returned, params)
        self.reading.pop()
        query = _make(module, node, self.names[node], params, body, options)
        self.done[node] = query
        self.sites.append(QuerySite(query, module, node))
        return query

    def _inline(self, module: Module, node: ast.Call, owners: tuple[_Scope, ...]) -> None:
        name = self._name(f"{_owner(owners)}_query")
        body = read_body(Place(module, _locals_of(owners), name, self), node.args[0], ())
        self.sites.append(QuerySite(_make(module, node, name, (), body, Options()), module, node))

    def take(self, module: Module) -> None:
        """Take the unmarked comprehensions of a module."""
        skip = [site.node for site in self.sites if site.module is module and site.node is not None]
        for node, owners in find_unmarked(module.tree, skip):
            comp = comprehension_of(node)
            assert comp is not None
            reason = why_not(comp, owners)
            if reason is not None:
                self.left_out.append(LeftOut(module, node, *reason))
                continue
            number = len(self.sites)
            self.alone = True
            try:
                name = self._name(f"{_owner(owners)}_comprehension")
                place = Place(module, _locals_of(owners), name, self, usual=True)
                body = read_body(place, node, ())
                query = _make(module, node, name, (), body, Options(keep=KEEP))
            except CompileError as error:
                self.left_out.append(LeftOut(module, node, error.code, error.message))
                del self.sites[number:]
                continue
            finally:
                self.alone = False
            parts = faults(query)
            self.sites += [QuerySite(part, module, None, part_of=name) for part in parts]
            self.sites.append(QuerySite(query, module, node, tuple(part.name for part in parts)))
            self.taken.update(part.name for part in parts)

    # -- what readers ask -------------------------------------------------------------------------

    def nested(self, module: Module, node: ast.expr, body: Body, label: str) -> str:
        if self.alone:
            raise module.error("IQ209", "a query inside an unmarked comprehension", node)
        name = self._name(label)
        query = ObjectQuery(
            name, body.free, (), body.result, body.clauses, body.free, Keep(), (), module.position(node),
            body.aggregate,
        )  # fmt: skip
        self.sites.append(QuerySite(query, module, None))
        return name

    def called(self, module: Module, func: ast.expr) -> Called | None:
        node = self._definition(module, func)
        if node is None:
            return None
        if self.alone:
            raise module.error("IQ209", "a query inside an unmarked comprehension", func)
        query = self._define(node)
        if query.demand != query.all_params:
            message = f"`{query.name}` names demand parameters, so other queries cannot call it"
            raise module.error("IQ209", message, func)
        home = self.definitions[node][0]
        for hidden in query.hidden:
            if home is not module and not self._means_same(module, home, hidden):
                message = f"`{query.name}` reads the global `{hidden}` of another module"
                raise module.error("IQ209", message, func, "make what it reads a parameter of both queries")
        return Called(query.name, len(query.params), query.hidden, query.aggregate is None)

    def imports(self, module: Module, node: ast.expr, alias: str, original: str) -> None:
        if self.aliases.setdefault(alias, original) != original:
            message = f"`{alias}` is {original} here and {self.aliases[alias]} in another query"
            raise module.error("IQ209", message, node, "import each under a name of its own")

    def helper(self, module: Module, func: ast.expr) -> tuple[Module, ast.FunctionDef] | None:
        found: tuple[Module, Binding] | None = None
        match func:
            case ast.Name(id=identifier):
                found = self.program.origin(module, identifier)
            case ast.Attribute(value=ast.Name(id=alias), attr=attr) if alias in module.imports:
                found = self.program.origin(module.imports[alias], attr)
        if found is None or not isinstance(found[1].node, ast.FunctionDef):
            return None
        return found[0], found[1].node

    def _definition(self, module: Module, func: ast.expr) -> ast.FunctionDef | None:
        match func:
            case ast.Name(id=identifier):
                binding = module.bindings.get(identifier)
                if binding is None or not binding.once:
                    return None
                if isinstance(binding.node, ast.FunctionDef) and binding.node in self.definitions:
                    return binding.node
                if isinstance(binding.node, ast.ImportFrom):
                    return self._imported(module, identifier)
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                found = sole_method(self.program, module, func, attr)
                return next((m for m in self.methods.get(attr, ()) if m is found), None)
            case ast.Attribute(value=ast.Name(id=alias), attr=attr) if alias in module.imports:
                return self._imported(module.imports[alias], attr)
        return None

    def _imported(self, module: Module, identifier: str) -> ast.FunctionDef | None:
        found = self.program.origin(module, identifier)
        if found is None or not isinstance(found[1].node, ast.FunctionDef):
            return None
        return found[1].node if found[1].node in self.definitions else None

    def _means_same(self, module: Module, home: Module, identifier: str) -> bool:
        """Is a global of one module the very global of another at all times?"""
        binding, own = module.bindings.get(identifier), home.bindings[identifier]
        return (
            binding is not None
            and (binding.once and own.once)
            and isinstance(binding.node, ast.ImportFrom)
            and _original(binding.node, identifier) == identifier
            and self.program.imported(module, binding.node) is home
            and (home.rebound is not None and identifier not in home.rebound)
        )


def _original(node: ast.ImportFrom, identifier: str) -> str:
    """What a name that is imported is called where it comes from."""
    return next(a.name for a in node.names if (a.asname or a.name) == identifier)


def _check_names(module: Module) -> None:
    """What is imported from incoq must not mean something else elsewhere in the module."""
    for name, original in module.incoq_names.items():
        binding = module.bindings.get(name)
        if binding is not None and not binding.once and isinstance(binding.node, ast.Import | ast.ImportFrom):
            source = getattr(binding.node, "module", "")
            if source != "incoq":
                message = f"`{name}` is {original} of incoq, and imported from {source or 'elsewhere'}, too"
                raise module.error("IQ209", message, binding.node, "give one of them another name")
    for node in ast.walk(module.tree):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                if module.incoq_names.get(name) in ("query", "lru", "incoq"):
                    raise module.error(
                        "IQ209", f"the name `{name}` of incoq is used for something else", node
                    )


def _check_use(module: Module, node: ast.Name | ast.Attribute) -> None:
    """A compiled program has no `query` or `lru` that could be called, passed or renamed."""
    for original, way in _USES.items():
        if module.is_incoq(node, original):
            raise module.error("IQ209", f"`{original}` of incoq is used as a value", node, way)


_USES = {
    "query": "mark a function or method by `@query`, or ask in place: `query({... for ... in ...})`",
    "lru": "write it out where the query is marked: `@query(keep=lru(1000))`",
}


def _decorated(module: Module, node: ast.AST) -> Options | None:
    """The options of a query definition; None if `node` is none."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if module.is_incoq(called, "query"):
            if isinstance(node, ast.AsyncFunctionDef):
                way = "write `def`; asynchronous functions ask a query as they call any function"
                raise module.error("IQ212", "a query cannot be asynchronous", node, way)
            if len(node.decorator_list) != 1:
                other = next(d for d in node.decorator_list if d is not decorator)
                way = f"leave `@{ast.unparse(other)}` out, or put it on a function that asks the query"
                raise module.error("IQ208", "a query takes no further decorators", other, way)
            return _options(module, decorator) if isinstance(decorator, ast.Call) else Options()
    return None


def _is_inline(module: Module, node: ast.Call) -> bool:
    return module.is_incoq(node.func, "query") and len(node.args) == 1 and not node.keywords


def _signature(module: Module, node: ast.FunctionDef) -> tuple[tuple[str, ...], ast.expr]:
    """Parameters and the returned expression."""
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise module.error("IQ210", f"`{node.name}` has starred or keyword-only parameters", node)
    params = tuple(a.arg for a in arguments.posonlyargs + arguments.args)
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if not (len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None):
        culprit, way = _beside_return(node, body)
        raise module.error("IQ200", f"the body of `{node.name}` is not one return", culprit, way)
    return params, body[0].value


def _beside_return(node: ast.FunctionDef, body: Sequence[ast.stmt]) -> tuple[ast.AST, str | None]:
    """The statement that makes a body more, or less, than one `return`, and what to do about it."""
    match body:
        case [ast.Expr(value=ast.SetComp() | ast.DictComp() | ast.Call() | ast.Compare()) as alone]:
            return alone, "write `return` before it"
        case [ast.Return(value=None) as alone]:
            return alone, "return a comprehension: `return {... for ... if ...}`"
        case [ast.Return(), after, *_]:
            return after, "leave out what follows the `return`"
        case [
            ast.Assign(targets=[ast.Name(id=local)])
            | ast.AnnAssign(target=ast.Name(id=local))
            | ast.AugAssign(target=ast.Name(id=local)) as first,
            ast.Return(),
        ]:
            return first, f"write what `{local}` is where it is used, or make it a parameter of the query"
        case [first, *_]:
            return next((s for s in body if isinstance(s, ast.For | ast.While)), first), None
    return node, None


def _make(
    module: Module,
    node: ast.FunctionDef | ast.expr,
    name: str,
    params: tuple[str, ...],
    body: Body,
    options: Options,
) -> ObjectQuery:
    hidden = tuple(f for f in body.free if f not in params)
    demand = options.demand
    if demand is not None:
        for parameter in demand:
            if parameter not in params:
                names = ", ".join(f"`{p}`" for p in params)
                way = f"it has the parameters {names}" if params else "it has no parameters: leave this out"
                message = f"`{parameter}` is not a parameter of `{name}`"
                raise module.error("IQ208", message, options.demand_at or node, way)
        missing = unreached({*demand, *hidden}, params, body.clauses)
        if missing:
            raise module.error(
                "IQ207",
                f"with demand={demand!r} the variable `{missing[0]}` is not reachable",
                options.demand_at or node,
            )
    all_demand = (*(demand if demand is not None else params), *hidden)
    return ObjectQuery(
        name, params, hidden, body.result, body.clauses, all_demand, options.keep, options.facts,
        module.position(node), body.aggregate,
    )  # fmt: skip


def unreached(given: set[str], params: Sequence[str], clauses: Sequence[Membership | Condition]) -> list[str]:
    """Parameters and variables that cannot be reached from the demand parameters `given`."""
    return sorted((unreachable(clauses, given) | set(params)) - _reached(clauses, given) - given)


def _reached(clauses: Sequence[Membership | Condition], given: set[str]) -> set[str]:
    """Variables that memberships reach from `given`."""
    bound = {v for c in clauses if isinstance(c, Membership) for v in pattern_variables(c.pattern)}
    reached = bound - unreachable(clauses, given)
    for clause in clauses:
        match clause:
            case Condition(Expr(node=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]))):
                for side, other in ((left, right), (right, left)):
                    known = isinstance(other, ast.Attribute) and names_in(other) <= reached | given
                    if known and isinstance(side, ast.Name):
                        reached.add(side.id)
    return reached


def _owner(owners: Sequence[_Scope]) -> str:
    """The name of the function around."""
    functions = (o for o in reversed(owners) if isinstance(o, ast.FunctionDef | ast.AsyncFunctionDef))
    return next((function.name for function in functions), "module")


def _locals_of(owners: Sequence[_Scope]) -> Callable[[str], bool]:
    """Is a name a local variable of one of the scopes around?"""
    names: set[str] = set()
    for owner in owners:
        match owner:
            case ast.ClassDef():
                names |= _bound_in_class(owner) if owner is owners[-1] else set()
            case ast.Lambda():
                names |= {a.arg for a in ast.walk(owner.args) if isinstance(a, ast.arg)}
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names |= _assigned_in(owner)
            case _:
                names |= {
                    n.id
                    for generator in owner.generators
                    for n in ast.walk(generator.target)
                    if isinstance(n, ast.Name)
                }
    return names.__contains__


def _bound_in_class(node: ast.ClassDef) -> set[str]:
    """The names that the body of a class binds."""
    table = symtable.symtable(ast.unparse(ast.Module([node], [])), "<class>", "exec").get_children()[0]
    return {s.get_name() for s in table.get_symbols() if s.is_assigned()}


def _check_class_scope(module: Module, call: ast.Call, scope: ast.ClassDef) -> None:
    """In the body of a class, a comprehension sees the names of the class in its first source only."""
    comp = call.args[0]
    own = {n.id for n in ast.walk(comp) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound = _bound_in_class(scope) - own
    first = comp.generators[0].iter if isinstance(comp, _Comprehension) else None
    inside = {n for n in ast.walk(first) if isinstance(n, ast.Name)} if first is not None else set()
    for node in ast.walk(comp):
        if isinstance(node, ast.Name) and node.id in bound and node not in inside:
            message = f"a query in the body of `{scope.name}` reads `{node.id}`, which that class binds"
            raise module.error("IQ209", message, node, "ask it in a function or method")


def _assigned_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Local names of a function, as the compiler of Python itself sees them."""
    outer = {name for n in ast.walk(function) if isinstance(n, ast.Nonlocal) for name in n.names}
    parameters = ast.arguments([], [ast.arg(name) for name in sorted(outer)], None, [], [], None, [])
    around = ast.FunctionDef("around", parameters, [function], [])  # has the names that are not its own
    module = ast.fix_missing_locations(ast.Module([around], []))
    table = symtable.symtable(ast.unparse(module), "<function>", "exec").get_children()[0]
    scope = next(c for c in table.get_children() if c.get_name() == function.name)
    own = {s.get_name() for s in scope.get_symbols() if s.is_local()}
    return own | {s.get_name() for s in scope.get_symbols() if s.is_free() and s.get_name() in outer}


def _options(module: Module, call: ast.Call) -> Options:
    if call.args:
        raise module.error("IQ208", "`@query(...)` takes keyword options only", call)
    options = Options()
    for keyword in call.keywords:
        value = keyword.value
        match keyword.arg:
            case "demand":
                options = replace(options, demand=_strings(module, value), demand_at=value)
            case "keep":
                options = replace(options, keep=_keep(module, value))
            case "assume":
                facts = tuple(_fact(module, text, value) for text in _strings(module, value))
                options = replace(options, facts=facts)
            case _:
                raise module.error("IQ208", f"unknown option `{keyword.arg}`", keyword)
    return options


def _strings(module: Module, node: ast.expr) -> tuple[str, ...]:
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(text for item in items for text in _strings(module, item))
    raise module.error("IQ208", "expected a string or a tuple of strings, written out", node)


def _keep(module: Module, node: ast.expr) -> Keep:
    match node:
        case ast.Constant(value="explicit" | "weak" | "ask" as policy):
            return Keep(str(policy))
        case ast.Call(func=func, args=[ast.Constant(value=int(size))], keywords=[]) if (
            module.is_incoq(func, "lru") and size > 0
        ):
            return Keep("lru", size)
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "lru":
        if not module.is_incoq(node.func, "lru"):
            way = "write `from incoq import lru`"
            raise module.error("IQ208", "`lru` is not imported from incoq", node, way)
        message = "n of lru(n) is a positive number, written out"
        raise module.error("IQ208", message, node, "write, for example, `keep=lru(1000)`")
    way = "leave it out to keep all that is asked"
    raise module.error("IQ208", 'keep is lru(n), "weak" or "explicit", written out', node, way)


def _fact(module: Module, text: str, node: ast.expr) -> Fact:
    words = text.split()
    if len(words) == 4 and words[0] == "one" and words[2] == "per":
        return Fact(words[1], words[3])
    raise module.error("IQ208", f'`{text}`: a fact reads "one celeb per celeb.followers"', node)


__all__ = ["CompileError", "QuerySite", "find_queries"]
