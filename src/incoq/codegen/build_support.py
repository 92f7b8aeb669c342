"""Build the support code of a program: prelude, structures, maintenance and the ways to ask.

The prelude is parsed from `prelude.py`, stripped of types and renamed where the program uses its names;
the maintenance of sets goes into the two methods `Set.add` and `Set.discard`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from incoq.codegen.aggregates import CLASSES
from incoq.codegen.drop_unused import drop_unused
from incoq.codegen.kept_answers import Form, form_of, value_of
from incoq.codegen.lower_tests import Support
from incoq.codegen.print_python import Printed, joined, print_statements
from incoq.codegen.quote import Holes, commented, quote, quote_expr
from incoq.codegen.render_events import EventRenderer
from incoq.codegen.switch_classes import METHODS
from incoq.ir.expressions import clone, name, names_in, substitute
from incoq.ir.invariants import Plan
from incoq.ir.relational import RelationalQuery
from incoq.names import NameSupply


@dataclass(frozen=True)
class SupportCode:
    """The generated text and the names that the rewritten program calls."""

    printed: tuple[Printed, ...]
    setters: dict[str, str]
    deleters: dict[str, str]
    changers: dict[str, str]  # field -> its setter for objects that one of `guards` holds
    setattr_: str
    delattr_: str
    names: dict[str, str]  # prelude name -> name in the program
    ask: dict[str, str]  # query -> function(params) giving the kept answer
    view: dict[str, str]
    demand: dict[str, str]
    release: dict[str, str]
    demanded: dict[str, str]
    adopted: str | None  # in incremental mode: the sets that a query may reach
    usual: dict[str, str]  # unmarked query -> function(params, original) giving what Python gives
    guards: dict[str, tuple[str, ...]]  # field -> tags, of which none holds an object that concerns nobody
    maintained: str  # the class whose `add` and `discard` maintain the queries
    fixers: dict[str, str]  # fixed set -> function(set) that is told of it
    fixed: dict[str, str]  # fixed set -> the name that the code has for it
    own_classes: dict[str, str]  # class of a fixed set while it is maintained -> that set
    at_once: dict[str, str]  # query without parameters -> the expression that gives its answer
    results: tuple[str, ...]  # the maps that such expressions look into
    roots: tuple[str, ...]  # what stays even where nothing mentions it

    @cached_property
    def text(self) -> str:
        """All of it."""
        return joined(self.printed)

    def text_for(self, texts: Iterable[str]) -> str:
        """What a program of these texts needs of it."""
        return joined(drop_unused(self.printed, self.names, texts, self.roots))


def build_support(
    plan: Plan,
    supply: NameSupply,
    tracks_lists: bool,
    switch_classes: bool = False,
    reenters: bool = False,
    batches: bool = False,
    plain_sets: Collection[str] = (),
) -> SupportCode:
    """Everything that is generated beside the user's own text."""
    used = {
        CLASSES[q.aggregate.kind]
        for q in plan.queries
        if q.aggregate is not None and form_of(plan, q) is Form.OBJECT
    }
    weak = any(q.keep.policy == "weak" for q in plan.queries)
    prelude = (*_prelude("prelude.py"), *_needed_classes(used), *(_prelude("weak.py") if weak else ()))
    prelude += _prelude("batches.py") if batches else ()
    names = {n: supply.fresh(n) for n in _defined(prelude)}
    support = Support(names)
    renderer = EventRenderer(
        plan, support, supply, tracks_lists=tracks_lists, switches=switch_classes, reenters=reenters,
        batch=support.batch if batches else None, plain_sets=plain_sets,
    )  # fmt: skip
    for query in plan.nested_queries():
        if not query.nested:
            renderer.asked[query.name] = supply.fresh(f"asked_{query.name}")
    renderer.adoption()
    methods, entries, positions = renderer.set_methods(), renderer.dict_methods(), renderer.list_methods()
    renderer.tag_events()
    renderer.field_events()
    renderer.demand_events()
    renderer.settling()
    fixers = renderer.fixing()
    asking = _Asking(plan, support, supply, renderer)
    asking.build()
    setattr_, delattr_, by_name = _attribute_helpers(renderer, supply)
    renderer.functions += renderer.forgetting(asking.kept)
    written = {s.name for s in renderer.functions if isinstance(s, ast.FunctionDef)}
    body = [_renamed(s, names) for s in prelude]
    body = [s for s in body if not (isinstance(s, ast.FunctionDef) and s.name in written)]
    for statement in body:
        if isinstance(statement, ast.ClassDef) and statement.name == names["Set"]:
            _insert_methods(statement, methods, ["s", "x"], renderer)
        if isinstance(statement, ast.ClassDef) and statement.name == names["Dict"]:
            _insert_methods(statement, entries, ["m", "k", renderer.value], renderer)
        if isinstance(statement, ast.ClassDef) and statement.name == names["List"]:
            _insert_methods(statement, positions, ["s", "at", "x"], renderer)
    if names["Set"] != "Set":
        at = 1 + next(i for i, s in enumerate(body) if getattr(s, "name", "") == names["Set"])
        body[at:at] = quote("S.__name__ = S.__qualname__ = 'Set'", S=names["Set"])
    maintained = names["Set"]
    if renderer.switches:
        maintained, body = _split_classes(body, names, supply, renderer)
    else:
        body = [_as_python_calls(s) if getattr(s, "name", "") == maintained else s for s in body]
    stores = commented(renderer.stores(), "-- what is maintained " + "-" * 50)
    if stores:
        stores[0].after_definition = True  # type: ignore[attr-defined]
    stores = [*renderer.fixed_sets(), *stores]
    statements = [*body, *stores, *asking.stores, *renderer.functions, *asking.functions, *by_name]
    roots = [names["Set"], names["IncoqRuntimeError"]]  # a program may import them for others only
    if weak:
        roots.append(supply.fresh("weakly"))
        statements += _releasing(plan, renderer, asking, maintained, roots[-1])
    return SupportCode(
        print_statements(statements), renderer.setters, renderer.deleters, renderer.changers, setattr_,
        delattr_, names, asking.ask, asking.view, asking.demand, asking.release, asking.demanded,
        renderer.adopted, asking.usual, renderer.guards,
        maintained, fixers, renderer.fixed,
        {own: fixed for fixed, own in renderer.own_classes.items()}, asking.at_once,
        tuple(plan.result_of(query).name for query in asking.at_once), tuple(roots),
    )  # fmt: skip


def _split_classes(
    body: list[ast.stmt], names: dict[str, str], supply: NameSupply, renderer: EventRenderer
) -> tuple[str, list[ast.stmt]]:
    """Move the methods that maintain into a class of their own, and say when a set has it."""
    maintained, plain = supply.fresh("MaintainedSet"), supply.fresh("MaintainedPlainSet")
    node = next(s for s in body if isinstance(s, ast.ClassDef) and s.name == names["Set"])
    moved: list[ast.stmt] = [s for s in node.body if isinstance(s, ast.FunctionDef) and s.name in METHODS]
    node.body = [s for s in node.body if s not in moved]
    switched = quote(
        "class M(S):\n"
        "    'The class of a set while a query depends on it; it says it is a Set.'\n"
        "    __class__ = S\n"
        "    MOVED\n"
        "class MP(P, M):\n"
        "    'The same of a plain set.'\n"
        "    __class__ = P\n"
        "M.__name__, MP.__name__ = S.__name__, P.__name__\n"
        "CHANGE = object.__dict__['__class__'].__set__\n"
        "OWN = {}\n"
        "def WATCH(s):\n"
        "    'From now on changes of s maintain queries.'\n"
        "    cls = type(s)\n"
        "    if cls is S:\n"
        "        CHANGE(s, OWN.get(s, M))\n"
        "    elif cls is P:\n"
        "        CHANGE(s, OWN.get(s, MP))\n"
        "def UNWATCH(s):\n"
        "    'Changes of s concern nobody any more.'\n"
        "    if type(s) is not s.__class__:\n"
        "        CHANGE(s, s.__class__)\n",
        M=maintained, MP=plain, S=names["Set"], P=names["PlainSet"], MOVED=moved, WATCH=renderer.watch,
        UNWATCH=renderer.unwatch, CHANGE=supply.fresh("change_class"), OWN=renderer.own_class,
    )  # fmt: skip
    switched[2].after_definition = True  # type: ignore[attr-defined]
    if renderer.own_classes and "inlining" not in renderer.plan.without:
        node.body += quote(
            "_put_ = ADD\n_take_ = DISCARD", ADD=names["set_add"], DISCARD=names["set_discard"]
        )
    for fixed, own in renderer.own_classes.items():
        base = plain if fixed in renderer.plain_sets else maintained
        switched += _own_class(fixed, own, base, renderer)
    at = 1 + next(
        i for i, s in enumerate(body) if isinstance(s, ast.ClassDef) and s.name == names["PlainSet"]
    )
    return maintained, [*body[:at], *switched, *body[at:]]


class _OwnMethods(ast.NodeTransformer):
    """`self.add(x)` becomes `Set.add(self, x)`."""

    def __init__(self, cls: str) -> None:
        self.cls = cls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="add" | "discard" as method)):
                return quote_expr("C.M(self, X)", C=self.cls, M=method, X=node.args[0])
        return self.generic_visit(node)


def _as_python_calls(node: ast.stmt) -> ast.stmt:
    """A class of the program may have an `add` of its own, which no other method of a set calls."""
    assert isinstance(node, ast.ClassDef)
    result = _OwnMethods(node.name).visit(clone(node))
    assert isinstance(result, ast.stmt)
    return result


def _own_class(fixed: str, own: str, base: str, renderer: EventRenderer) -> list[ast.stmt]:
    """The class that one fixed set has while it is maintained, which does what concerns that set alone."""
    made = quote(
        "class M(B):\n"
        "    __class__ = B.__class__\n"
        "    def add(self, x, /): pass\n"
        "    def discard(self, x, /): pass\n"
        "    def _put_(self, x, /): pass\n"
        "    def _take_(self, x, /): pass\n"
        "M.__name__ = B.__name__\n",
        M=own, B=base,
    )  # fmt: skip
    assert isinstance(made[0], ast.ClassDef)
    made[0].body[0] = _documented(f"The class of {fixed} while a query depends on it.")
    methods = renderer.methods_of_fixed(fixed)
    made[0].body = [s for s in made[0].body if not isinstance(s, ast.FunctionDef) or s.name in methods]
    _insert_methods(made[0], methods, ["s", "x"], renderer)
    made[1].after_definition = True  # type: ignore[attr-defined]
    return made


def _releasing(
    plan: Plan, events: EventRenderer, asking: _Asking, maintained: str, weakly: str
) -> list[ast.stmt]:
    """The object that releases combinations whose parameters are garbage."""
    queries: list[ast.expr] = []
    for query in plan.queries:
        if query.keep.policy == "weak":
            answers = events.asked.get(query.name) or plan.result_of(query.name).name
            width = ast.Constant(len(query.demand))
            parts: list[ast.expr] = [name(answers), width, name(asking.release[query.name])]
            queries.append(ast.Tuple(parts, ast.Load()))
    made = [*events.functions, *asking.functions]
    code: list[ast.expr] = [name(s.name) for s in made if isinstance(s, ast.FunctionDef)]
    containers = dict.fromkeys([maintained, *(events.support.names[c] for c in ("Set", "Dict", "List"))])
    if events.batch is not None:
        containers[events.support.Batch] = None
    for container in containers:
        code.append(ast.Starred(quote_expr("vars(C).values()", C=container), ast.Load()))
    structures: list[ast.expr] = [name(structure) for structure in events.structures()]
    return quote(
        "W = WEAKLY(STRUCTURES, QUERIES, CODE)",
        W=weakly, WEAKLY=events.support.Weakly,
        STRUCTURES=ast.List(structures, ast.Load()), QUERIES=ast.List(queries, ast.Load()),
        CODE=ast.List(code, ast.Load()),
    )  # fmt: skip


def _needed_classes(used: set[str]) -> list[ast.stmt]:
    """The aggregates that a program uses, with what they are made of."""
    if not used:
        return []
    statements = _prelude("aggregates.py")
    wanted = {*used, "Distinct"}
    for statement in reversed(statements):
        match statement:
            case ast.ClassDef(name=identifier, bases=bases) if identifier in wanted:
                wanted |= {b.id for b in bases if isinstance(b, ast.Name)}
                wanted |= {"Greater"} if identifier == "Max" else set()
    return [
        s
        for s in statements
        if not (isinstance(s, ast.ClassDef) and s.name not in wanted)
        and not (isinstance(s, ast.Assign) and isinstance(s.value, ast.Dict))
    ]


@cache
def _prelude(filename: str) -> tuple[ast.stmt, ...]:
    text = Path(__file__).with_name(filename).read_text()
    return tuple(_untyped(s) for s in ast.parse(text).body if not _is_for_types(s))


def _is_for_types(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.ImportFrom(module="__future__" | "typing" | "incoq.codegen.prelude"):
            return True
        case ast.ImportFrom(module="collections.abc", names=[ast.alias(asname=None), *_]):
            return True
    return False


class _Untype(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        for extra in (node.args.vararg, node.args.kwarg):
            if extra is not None:
                extra.annotation = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None
        return ast.Assign([node.target], node.value, lineno=node.lineno)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.bases = [b.value if isinstance(b, ast.Subscript) else b for b in node.bases]
        return self.generic_visit(node)


def _untyped(node: ast.stmt) -> ast.stmt:
    result = _Untype().visit(node)
    assert isinstance(result, ast.stmt)
    return result


def _defined(prelude: tuple[ast.stmt, ...]) -> list[str]:
    found: list[str] = []
    for statement in prelude:
        match statement:
            case ast.ClassDef(name=identifier) | ast.FunctionDef(name=identifier):
                found.append(identifier)
            case ast.Assign(targets=[ast.Name(id=identifier)]):
                found.append(identifier)
            case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                found += [t.id for t in targets if isinstance(t, ast.Name)]
            case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                found += [a.asname or a.name for a in aliases]
    return found


def _renamed(node: ast.stmt, names: dict[str, str]) -> ast.stmt:
    changed = {k: v for k, v in names.items() if k != v}
    if isinstance(node, ast.ImportFrom | ast.Import):
        aliases = [ast.alias(a.name, names[a.asname or a.name]) for a in node.names]
        return (
            ast.ImportFrom(node.module, aliases, 0)
            if isinstance(node, ast.ImportFrom)
            else ast.Import(aliases)
        )
    if isinstance(node, ast.ClassDef):
        body = [_renamed_inner(s, changed) for s in node.body]
        bases = [substitute(b, {k: name(v) for k, v in changed.items()}) for b in node.bases]
        return ast.ClassDef(names[node.name], bases, [], body, [])
    if isinstance(node, ast.FunctionDef):
        renamed = _renamed_inner(node, changed)
        assert isinstance(renamed, ast.FunctionDef)
        if renamed.name != names[node.name]:
            renamed = clone(renamed)
            renamed.name = names[node.name]
        return renamed
    return _renamed_inner(node, changed)


@cache
def _names_of(node: ast.stmt) -> frozenset[str]:
    """The names in a statement of the prelude, which is parsed once."""
    return names_in(node)


class _RenameNames(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Parameters keep their names, and hide what is called like them."""
        around = self.names
        parameters = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        self.names = {k: v for k, v in around.items() if k not in parameters}
        self.generic_visit(node)
        self.names = around
        return node


def _renamed_inner(node: ast.stmt, names: dict[str, str]) -> ast.stmt:
    if names.keys().isdisjoint(_names_of(node)):
        return node  # as it is in the prelude: nobody changes it
    result = _RenameNames(names).visit(clone(node))
    assert isinstance(result, ast.stmt)
    return result


def _insert_methods(
    node: ast.ClassDef, methods: dict[str, list[ast.stmt]], params: list[str], renderer: EventRenderer
) -> None:
    """Give the methods that change a container their maintenance."""
    names = [p if p == renderer.value else renderer.renderer.supply_local(p) for p in params]
    for number, statement in enumerate(node.body):
        if isinstance(statement, ast.FunctionDef) and statement.name in methods:
            width = len(statement.args.posonlyargs)
            arguments = ast.arguments([ast.arg(n) for n in names[:width]], [], None, [], [], None, [])
            doc = statement.body[0] if ast.get_docstring(statement) else _documented(renderer.set_cost())
            node.body[number] = ast.FunctionDef(
                statement.name, arguments, [doc, *methods[statement.name]], []
            )


def _documented(text: str) -> ast.stmt:
    return ast.Expr(ast.Constant(text))


def _attribute_helpers(renderer: EventRenderer, supply: NameSupply) -> tuple[str, str, list[ast.stmt]]:
    """`setattr` and `delattr` for names that only the run shows."""
    setters, deleters = supply.fresh("SETTERS"), supply.fresh("DELETERS")
    set_any, delete_any = supply.fresh("set_attribute"), supply.fresh("delete_attribute")
    table, removal = _table(renderer.setters), _table(renderer.deleters)
    code = quote(
        "SETTERS = TABLE\n"
        "DELETERS = REMOVAL\n"
        "def SET(o, attribute, value):\n"
        "    '''setattr, maintained.'''\n"
        "    if attribute in SETTERS:\n"
        "        SETTERS[attribute](value, o)\n"
        "    else:\n"
        "        setattr(o, attribute, value)\n"
        "def DELETE(o, attribute):\n"
        "    '''delattr, maintained.'''\n"
        "    if attribute in DELETERS:\n"
        "        DELETERS[attribute](o)\n"
        "    else:\n"
        "        delattr(o, attribute)\n",
        SETTERS=setters, DELETERS=deleters, TABLE=table, REMOVAL=removal, SET=set_any, DELETE=delete_any,
    )  # fmt: skip
    if renderer.batch is not None:
        code += quote(
            "BATCH.setters, BATCH.deleters = SETTERS, DELETERS", BATCH=renderer.batch, SETTERS=setters,
            DELETERS=deleters,
        )  # fmt: skip
    code[0].after_definition = True  # type: ignore[attr-defined]
    return set_any, delete_any, code


def _table(functions: dict[str, str]) -> ast.expr:
    return ast.Dict([ast.Constant(f) for f in functions], [name(f) for f in functions.values()])


class _Asking:
    """The functions that a program asks: answer, view, demand, release."""

    def __init__(self, plan: Plan, support: Support, supply: NameSupply, events: EventRenderer) -> None:
        self.plan, self.support, self.supply, self.events = plan, support, supply, events
        self.stores: list[ast.stmt] = []
        self.functions: list[ast.stmt] = []
        self.ask: dict[str, str] = {}
        self.view: dict[str, str] = {}
        self.demand: dict[str, str] = {}
        self.release: dict[str, str] = {}
        self.demanded: dict[str, str] = {}
        self.usual: dict[str, str] = {}
        self.at_once: dict[str, str] = {}
        self.kept: list[tuple[str, str, str]] = []  # see EventRenderer.forgetting

    def build(self) -> None:
        for query in self.plan.queries:
            if not query.nested:
                self._query(query)
            if query.faults:
                self._usual(query)

    def _usual(self, query: RelationalQuery) -> None:
        """An unmarked query: its answer where nothing would raise, and what Python gives otherwise."""
        params = [self.events.renderer.local(p) for p in query.all_params]
        function = self.usual[query.name] = self.supply.fresh(f"usual_{query.name}")
        original = self.supply.fresh("original")
        asked = [
            ast.Call(name(self.ask[q]), [name(p) for p in params], []) for q in (*query.faults, query.name)
        ]
        exact: list[ast.stmt] = []
        if query.aggregate is not None and query.aggregate.kind == "sum":
            exact = quote(
                "if not R[K].is_exact():\n    return ORIGINAL()", R=self.plan.result_of(query.name).name,
                K=_tuple(params), ORIGINAL=original,
            )  # fmt: skip
        own = "A" if query.aggregate is not None else "PLAINSET(A)"
        made = quote(
            "def FUNCTION():\n"
            "    try:\n"
            "        if FAULT:\n            return ORIGINAL()\n"
            "        A = ASK\n"
            "        EXACT\n"
            "    except Exception:\n        return ORIGINAL()\n"
            f"    return {own}",
            FUNCTION=function, ORIGINAL=original, A=self.events.answer, ASK=asked[-1], EXACT=exact,
            FAULT=asked[0] if len(asked) == 2 else ast.BoolOp(ast.Or(), list(asked[:-1])),
            PLAINSET=self.support.PlainSet,
        )  # fmt: skip
        assert isinstance(made[0], ast.FunctionDef)
        made[0].args = ast.arguments([], [ast.arg(n) for n in (*params, original)], None, [], [], None, [])
        self.functions += made

    def _query(self, query: RelationalQuery) -> None:
        local = self.events.renderer.local
        params = [local(p) for p in query.all_params]
        demand = [local(p) for p in query.demand]
        result = self.plan.result_of(query.name)
        ask = self.ask[query.name] = self.supply.fresh(f"ask_{query.name}")
        view = self.view[query.name] = self.supply.fresh(f"view_{query.name}")
        keep = self.demand[query.name] = self.supply.fresh(f"keep_{query.name}")
        drop = self.release[query.name] = self.supply.fresh(f"drop_{query.name}")
        demanded = self.demanded[query.name] = self.supply.fresh(f"demanded_{query.name}")
        key = _tuple(demand)
        holes: Holes = {
            "R": result.name, "K": key, "A": self.events.answer, "ASK": ask, "VIEW": view, "KEEP": keep,
            "DROP": drop, "REFUSED": self.support.REFUSED,
            "CHECK": self.support.check_refused, "ANSWER_OF": self.support.answer_of,
            "NAME": ast.Constant(query.name), "DEMAND": self.events.demanders[query.name],
            "RELEASE": self.events.releasers[query.name], "VIEWCLASS": self.support.View,
        }  # fmt: skip
        begin = ast.Call(name(self.events.demanders[query.name]), [name(p) for p in demand], [])
        end = ast.Call(name(self.events.releasers[query.name]), [name(p) for p in demand], [])
        find = self._find(query, key, begin, end, holes)
        rest = [local(p) for p in query.rest]
        if rest:
            nothing = ast.Tuple([], ast.Load()) if query.aggregate is None else ast.Constant(None)
            find += quote("A = A.get(P, NOTHING)", P=_tuple(rest), NOTHING=nothing, **holes)
            if query.aggregate is not None:
                find += quote("if A is None:\n    A = EMPTY", EMPTY=self.events.empty(query, result), **holes)
        asked = self.events.asked.get(query.name)
        if asked is not None:
            self.stores += quote("Q = ORDERED()", Q=asked, ORDERED=self.support.OrderedDict)
        first: list[ast.stmt] = []
        if self.events.reenters:
            first = quote(
                "if BUSY:\n    raise ASKED()", BUSY=self.support.BUSY, ASKED=self.support.asked_within
            )
        first += self.events.settling_batch()
        kept = self._kept(query, rest, holes)
        slow = self.supply.fresh(f"find_{query.name}") if kept else ask
        lost: list[ast.stmt] = []
        if any(q.keep.policy == "explicit" for q in self.plan.queries):
            lost = quote("if LOST:\n    RESUME()", LOST=self.support.LOST, RESUME=self.support.resume)
        body = quote(
            "def SLOW():\n"
            "    FIRST\n"
            "    if REFUSED:\n        CHECK()\n"
            "    AGAIN\n"
            "    FIND\n"
            "    if REFUSED:\n        CHECK()\n"
            "    return ANSWER",
            FIND=find,
            SLOW=slow,
            AGAIN=lost,
            FIRST=[] if kept else first,
            ANSWER=value_of(self.plan, query, name(self.events.answer)),
            **holes,
        )  # fmt: skip
        if kept:
            found = ast.Call(name(slow), [name(p) for p in params], [])
            body += quote(
                "def ASK():\n    FIRST\n    KEPT\n    return FOUND",
                FIRST=first,
                KEPT=kept,
                FOUND=found,
                **holes,
            )
        again = ast.Call(name(ask), [name(p) for p in params], [])
        body += quote("def VIEW():\n    ASKED\n    return VIEWCLASS(lambda: ASKED)", ASKED=again, **holes)
        noted = self._note(query, key, holes)
        begun = quote("if A is None:\n    BEGIN\nNOTED", BEGIN=begin, NOTED=noted, **holes)
        again_later: list[ast.stmt] = []
        never: list[ast.stmt] = []
        if query.keep.policy == "explicit":
            keys = ast.Tuple([name(p) for p in demand], ast.Load())
            again_later = quote("LOST[KEEP, KEYS] = None", LOST=self.support.LOST, KEYS=keys, **holes)
            never = quote("LOST.pop((KEEP, KEYS), None)", LOST=self.support.LOST, KEYS=keys, **holes)
        body += quote(
            "def KEEP():\n    SETTLED\n    A = ANSWER_OF(R, K, NAME)\n    BEGUN",
            BEGUN=self.events.whole(begun, again_later), SETTLED=self.events.settling_batch(), **holes,
        )  # fmt: skip
        body += quote(
            "def DROP():\n    SETTLED\n    AGAIN\n    if ANSWER_OF(R, K, NAME) is not None:\n        OVER",
            OVER=self.events.whole(self._over(query, end, key), []),
            SETTLED=self.events.settling_batch(),
            AGAIN=[*lost, *never],
            **holes,
        )
        given = [params, params, params, demand, demand][-len(body) :]
        for function, names in zip(body, given, strict=True):
            assert isinstance(function, ast.FunctionDef)
            function.args = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
        self.functions += body
        if kept and not params and not first and "inlining" not in self.plan.without:
            answer = value_of(self.plan, query, quote_expr("R[K]", **holes))
            text = quote_expr("A if R and not REFUSED else ASK()", **{**holes, "A": answer})
            self.at_once[query.name] = f"({ast.unparse(text)})"
        shown = [p for p in query.demand if p not in query.hidden]
        made = quote(
            "X = CLS(R, S, W)", X=demanded, CLS=self.support.Demanded, R=asked or result.name,
            S=ast.Constant(len(shown)), W=ast.Constant(len(demand)),
        )  # fmt: skip
        if query.keep.policy == "explicit":
            assert isinstance(made[0], ast.Assign) and isinstance(made[0].value, ast.Call)
            made[0].value.args.append(quote_expr("lambda: KEEP", **holes))
        self.stores += made
        if query.keep.policy == "explicit":
            self.kept.append((asked or result.name, keep, str(len(demand))))

    def _kept(self, query: RelationalQuery, rest: list[str], holes: Holes) -> list[ast.stmt]:
        """The usual case first: what was asked before is one look-up."""
        if query.keep.policy == "lru" or query.name in self.events.asked:
            return []  # asking is noted
        if query.rest and query.aggregate is not None:
            return []
        shown = self.supply.fresh(f"shown_{query.name}")  # another name of the answers, see `hide`
        self.stores += quote(
            "X = SHOWN[NAME] = R\nHIDDEN[NAME] = {}", X=shown, SHOWN=self.support.SHOWN,
            HIDDEN=self.support.HIDDEN, **{**holes, "NAME": ast.Constant(shown)},
        )  # fmt: skip
        holes = {**holes, "R": shown}
        match bool(rest), query.aggregate is not None:
            case False, False:
                answer = quote_expr("R[K]", **holes)
            case False, True:
                answer = value_of(self.plan, query, quote_expr("R[K]", **holes))
            case _:
                answer = quote_expr("R[K].get(P, ())", P=_tuple(rest), **holes)
        return quote(
            "try:\n    return ANSWER\nexcept (KeyError, TypeError):\n    pass", ANSWER=answer, **holes
        )

    def _find(
        self, query: RelationalQuery, key: ast.expr, begin: ast.expr, end: ast.expr, holes: Holes
    ) -> list[ast.stmt]:
        """Get the kept answer; what is not demanded yet is demanded as the policy says."""
        filled: Holes = {**holes, "BEGIN": begin}
        parts = [name(self.events.renderer.local(p)) for p in query.demand]
        once = ast.Call(
            name(self.support.leniently),
            [quote_expr("R", **holes), key, name(self.events.demanders[query.name]), *parts],
            [],
        )
        instead = quote("A = ONCE", ONCE=once, **holes)
        found = quote("try:\n    A = R.get(K)\nexcept TypeError:\n    A = ANSWER_OF(R, K, NAME)", **filled)
        if query.keep.policy == "explicit":
            # Released, the answer is nobody's: it changes no more.
            over = self._over(query, end, key)
            work = quote("A = BEGIN\nOVER", OVER=over, **filled)
            return [
                *found,
                *quote("if A is None:\n    WORK", WORK=self.events.whole(work, instead), **filled),
            ]
        noted = self._note(query, key, holes)
        work = quote("A = BEGIN", **filled)
        if noted:
            work = quote("if A is None:\n    WORK\nNOTED", WORK=work, NOTED=noted, **filled)
            return [*found, *self.events.whole(work, instead)]
        return [*found, *quote("if A is None:\n    WORK", WORK=self.events.whole(work, instead), **filled)]

    def _note(self, query: RelationalQuery, key: ast.expr, holes: Holes) -> list[ast.stmt]:
        """Remember that the program asked; the least recently asked goes when there are too many."""
        asked = self.events.asked.get(query.name)
        noted: list[ast.stmt] = []
        if query.keep.policy == "lru":
            noted = quote("Q[K] = Q.pop(K, None)", Q=asked or self.plan.result_of(query.name).name, K=key)
            noted += self._evict(query, holes)
        elif asked is not None:
            noted = quote("Q[K] = None", Q=asked, K=key)
        return noted

    def _over(self, query: RelationalQuery, end: ast.expr, key: ast.expr) -> list[ast.stmt]:
        """The program needs a combination no longer; another query may."""
        unneeded = self.events.unneeded.get(query.name)
        if unneeded is None:
            return [ast.Expr(end), *self.events.settled()]
        asked = self.events.asked[query.name]
        return quote(
            "A.pop(K, None)\nU[K] = None\nSETTLE()", A=asked, U=unneeded, K=key, SETTLE=self.events.settle
        )

    def _evict(self, query: RelationalQuery, holes: Holes) -> list[ast.stmt]:
        oldest = self.events.renderer.supply_local("oldest")
        asked = self.events.asked.get(query.name)
        parts = [ast.Starred(name(oldest), ast.Load()) if len(query.demand) != 1 else name(oldest)]
        end = ast.Call(name(self.events.releasers[query.name]), list(parts), [])
        return quote(
            "if len(Q) > N:\n    OLD = next(iter(Q))\n    OVER",
            Q=asked or self.plan.result_of(query.name).name, N=ast.Constant(query.keep.size), OLD=oldest,
            OVER=self._over(query, end, name(oldest)), **holes,
        )  # fmt: skip


def _tuple(names: list[str]) -> ast.expr:
    return name(names[0]) if len(names) == 1 else ast.Tuple([name(n) for n in names], ast.Load())
