"""Build the support code of a program: prelude, structures, maintenance and the ways to ask.

The prelude is parsed from `prelude.py`, stripped of types and renamed where the program uses its names;
the maintenance of sets goes into the two methods `Set.add` and `Set.discard`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from incoq.codegen.aggregates import CLASSES
from incoq.codegen.drop_unused import drop_unused
from incoq.codegen.embed_prelude import defined, needed_classes, prelude_of, prelude_of_marked, renamed
from incoq.codegen.fetch_once import fetch_once
from incoq.codegen.find_entry import Entry
from incoq.codegen.find_reentry import OF_KEYS
from incoq.codegen.keep_rows import keep_rows
from incoq.codegen.kept_answers import Form, form_of
from incoq.codegen.lower_tests import Support
from incoq.codegen.print_python import Printed, joined, print_statements
from incoq.codegen.quote import commented, quote, quote_expr
from incoq.codegen.render_asking import Asking
from incoq.codegen.render_events import EventRenderer
from incoq.codegen.switch_classes import METHODS
from incoq.frontend.pure import MODULE_PREFIX, PURE_MODULES, VALUE_CLASSES
from incoq.ir.expressions import clone, name
from incoq.ir.invariants import Plan
from incoq.names import NameSupply


@dataclass(frozen=True)
class PastNames:
    """The functions that stand for `object.__setattr__` and `object.__delattr__`, and for those of an object
    that is being made."""

    set: str
    delete: str
    make: str
    unmake: str


@dataclass(frozen=True)
class SupportCode:
    """The generated text and the names that the rewritten program calls."""

    printed: tuple[Printed, ...]
    setters: dict[str, str]
    deleters: dict[str, str]
    changers: dict[str, str]  # field -> its setter for objects that one of `guards` holds
    setattr_: str
    delattr_: str
    past: PastNames
    names: dict[str, str]  # prelude name -> name in the program
    ask: dict[str, str]  # query -> function(params) giving the kept answer
    view: dict[str, str]
    demand: dict[str, str]
    release: dict[str, str]
    demanded: dict[str, str]
    adopted: str | None  # in incremental mode: the sets that a query may reach
    usual: dict[str, str]  # unmarked query -> function(params, original) giving what Python gives
    guards: dict[str, tuple[str, ...]]  # field -> tags, of which none holds an object that concerns nobody
    entries: dict[str, Entry]  # field -> what one of its values must be found in to concern anybody
    set_entries: dict[str, Entry]  # fixed set -> the same of its elements
    maintained: str  # the class whose `add` and `discard` maintain the queries
    fixers: dict[str, str]  # fixed set -> function(set) that is told of it
    fixed: dict[str, str]  # fixed set -> the name that the code has for it
    own_classes: dict[str, str]  # class of a fixed set while it is maintained -> that set
    bound: dict[str, dict[str, str]]  # such a set -> its methods that maintain nothing, by their names
    follow: str  # function(class) that has fields maintained which code outside the program assigns, or none
    at_once: dict[str, str]  # query without parameters -> the expression that gives its answer
    shown: tuple[str, ...]  # the names that such expressions look answers up by, which `hide` rebinds
    roots: tuple[str, ...]  # what stays even where nothing mentions it
    acting: frozenset[str]  # operators by which code of the program may update or ask

    @cached_property
    def text(self) -> str:
        """All of it."""
        return _with_modules(joined(self.printed))

    def text_for(self, texts: Iterable[str]) -> str:
        """What a program of these texts needs of it."""
        key = tuple(texts)
        if key not in self._texts:
            self._texts[key] = _with_modules(joined(drop_unused(self.printed, self.names, key, self.roots)))
        return self._texts[key]

    @cached_property
    def _texts(self) -> dict[tuple[str, ...], str]:
        """What was made for some texts: whoever looks at the output asks for it again."""
        return {}


def _with_modules(text: str) -> str:
    """The text with imports of the modules that conditions name otherwise than the program does."""
    known = (*PURE_MODULES, *VALUE_CLASSES)
    mentioned = set(re.findall(rf"{MODULE_PREFIX}\w+", text))
    used = [m for m in sorted(known) if f"{MODULE_PREFIX}{m}" in mentioned]
    return "".join(f"import {m} as {MODULE_PREFIX}{m}\n" for m in used) + text


def build_support(
    plan: Plan,
    supply: NameSupply,
    tracks_lists: bool,
    unhashables: bool = False,
    switch_classes: bool = False,
    reenters: bool = False,
    batches: bool = False,
    plain_sets: Collection[str] = (),
    passes: bool = False,
    acting: Collection[str] = (),
) -> SupportCode:
    """Everything that is generated beside the user's own text."""
    used = {
        CLASSES[q.aggregate.kind]
        for q in plan.queries
        if q.aggregate is not None and form_of(plan, q) is Form.OBJECT
    }
    weak = any(q.keep.policy == "weak" for q in plan.queries)
    unmarked = all(query.usual for query in plan.queries)
    some_unmarked = any(query.usual for query in plan.queries)
    base = prelude_of("prelude.py") if unmarked else prelude_of_marked("prelude.py", some_unmarked)
    prelude = (*base, *needed_classes(used), *(prelude_of("weak.py") if weak else ()))
    prelude += prelude_of("batches.py") if batches else ()
    names = {n: supply.fresh(n) for n in defined(prelude)}
    support = Support(names, plan.computed_fields, unmarked)
    renderer = EventRenderer(
        plan, support, supply, tracks_lists=tracks_lists, unhashables=unhashables, switches=switch_classes,
        reenters=reenters, batch=support.batch if batches else None, plain_sets=plain_sets, passes=passes,
        keys_act=not OF_KEYS.isdisjoint(acting),
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
    weakly = supply.fresh("weakly") if weak else ""
    asking = Asking(plan, support, supply, renderer, weakly)
    asking.build()
    setattr_, delattr_, past, follow, by_name = _attribute_helpers(renderer, supply)
    renderer.functions += renderer.forgetting(asking.kept)
    written = {s.name for s in renderer.functions if isinstance(s, ast.FunctionDef)}
    body = [renamed(s, names) for s in prelude]
    body = [s for s in body if not (isinstance(s, ast.FunctionDef) and s.name in written)]
    if not renderer.switches:
        body = [_as_python_calls(s) if getattr(s, "name", "") == names["Set"] else s for s in body]
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
    stores = commented(renderer.stores(), "-- what is maintained " + "-" * 50)
    if stores:
        stores[0].after_definition = True  # type: ignore[attr-defined]
    stores = [*renderer.fixed_sets(), *stores]
    statements = [*body, *stores, *asking.stores, *renderer.functions, *asking.functions, *by_name]
    if "fetching" not in plan.without:
        harmless = {names[n] for n in ("watchable", "stored", "steady")}
        quiet = {*renderer.quiet, *harmless, renderer.watch, renderer.unwatch}
        statements = fetch_once(statements, renderer.answer, quiet)
    if "rows" not in plan.without:
        statements = keep_rows(statements, renderer.renderer.supply_local("row"))
    roots = [names["Set"], names["IncoqRuntimeError"]]  # a program may import them for others only
    if weak:
        roots.append(weakly)
        statements += _releasing(plan, renderer, asking, maintained, weakly)
    return SupportCode(
        print_statements(statements, set(prelude)), renderer.setters, renderer.deleters,
        renderer.changers, setattr_, delattr_, past, names, asking.ask, asking.view, asking.demand,
        asking.release, asking.demanded, renderer.adopted, asking.usual, renderer.guards,
        renderer.entries, renderer.set_entries,
        maintained, fixers, renderer.fixed,
        {own: fixed for fixed, own in renderer.own_classes.items()}, renderer.bound, follow, asking.at_once,
        tuple(asking.shown[query] for query in asking.at_once), tuple(roots), frozenset(acting),
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
        "    __slots__ = ()\n"
        "    __class__ = S\n"
        "    MOVED\n"
        "class MP(P, M):\n"
        "    'The same of a plain set.'\n"
        "    __slots__ = ()\n"
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
    at = 2 + next(  # after the class, and what it is called in messages
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
        "    'documented below'\n"
        "    __slots__ = ()\n"
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
    plan: Plan, events: EventRenderer, asking: Asking, maintained: str, weakly: str
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


def _attribute_helpers(
    renderer: EventRenderer, supply: NameSupply
) -> tuple[str, str, PastNames, str, list[ast.stmt]]:
    """`setattr` and `delattr` for names that only the run shows, and for code outside the program."""
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
        "        setattr(o, OTHER(attribute), value)\n"
        "def DELETE(o, attribute):\n"
        "    '''delattr, maintained.'''\n"
        "    if attribute in DELETERS:\n"
        "        DELETERS[attribute](o)\n"
        "    else:\n"
        "        delattr(o, OTHER(attribute))\n",
        OTHER=renderer.support.unreplaced, SETTERS=setters, DELETERS=deleters, TABLE=table,
        REMOVAL=removal, SET=set_any, DELETE=delete_any,
    )  # fmt: skip
    if renderer.batch is not None:
        code += quote(
            "BATCH.setters, BATCH.deleters = SETTERS, DELETERS", BATCH=renderer.batch, SETTERS=setters,
            DELETERS=deleters,
        )  # fmt: skip
    code[0].after_definition = True  # type: ignore[attr-defined]
    past, going_past = _past_helpers(renderer, supply, set_any, delete_any, setters, deleters)
    code += going_past
    if renderer.support.unmarked:
        code += quote("UNMARKED.append(True)", UNMARKED=renderer.support.UNMARKED)
    follow = supply.fresh("follow") if renderer.follows and renderer.setters else ""
    if follow:
        code += quote(
            "def FOLLOW(cls):\n"
            "    \'\'\'Have the fields of a class maintained that code outside the program assigns.\'\'\'\n"
            "    FIELDS(cls, SETTERS, DELETERS, UNMARKED, INDEXED)\n",
            UNMARKED=ast.Constant(renderer.support.unmarked),
            INDEXED=ast.Constant(renderer.plan.mode == "incremental"),
            FOLLOW=follow, FIELDS=renderer.support.follow_fields, SETTERS=setters, DELETERS=deleters,
        )  # fmt: skip
    return set_any, delete_any, past, follow, code


def _past_helpers(
    renderer: EventRenderer, supply: NameSupply, set_any: str, delete_any: str, setters: str, deleters: str
) -> tuple[PastNames, list[ast.stmt]]:
    """`object.__setattr__` and `object.__delattr__`, maintained: they go past what the class of the object
    does, and a frozen one refuses every change."""
    if not renderer.passes:
        return PastNames(set_any, delete_any, set_any, delete_any), []
    names = PastNames(*map(supply.fresh, ("set_past", "delete_past", "make_past", "unmake_past")))
    begin = renderer.settling_batch()
    end: list[ast.stmt] = []
    if renderer.batch is not None:  # what waits is given its first value later on, as its class would do that
        begin += quote("BATCH.is_open = False", BATCH=renderer.batch)
        end = quote("BATCH.is_open = BATCH.depth > 0", BATCH=renderer.batch)
    code = quote(
        "def SET(o, attribute, value):\n"
        "    'object.__setattr__, maintained: past what the class of the object does.'\n"
        "    if attribute not in SETTERS or isinstance(o, type):\n"
        "        object.__setattr__(o, OTHER(attribute), value)\n"
        "    elif o.__class__.__setattr__ is object.__setattr__:\n"
        "        SETTERS[attribute](value, o)\n"
        "    else:\n"
        "        BEGIN\n"
        "        PAST.append(o)\n"
        "        try:\n"
        "            SETTERS[attribute](value, o)\n"
        "        finally:\n"
        "            PAST.pop()\n"
        "            END\n"
        "def DELETE(o, attribute):\n"
        "    'object.__delattr__, maintained.'\n"
        "    if attribute not in DELETERS:\n"
        "        object.__delattr__(o, OTHER(attribute))\n"
        "    elif o.__class__.__delattr__ is object.__delattr__:\n"
        "        DELETERS[attribute](o)\n"
        "    else:\n"
        "        BEGIN\n"
        "        PAST.append(o)\n"
        "        try:\n"
        "            DELETERS[attribute](o)\n"
        "        finally:\n"
        "            PAST.pop()\n"
        "            END\n"
        "def MAKE(o, attribute, value):\n"
        "    'SET of an object that is being made: it may equal another one for a while.'\n"
        "    (SET if o.__class__.__hash__ is object.__hash__ else object.__setattr__)(o, attribute, value)\n"
        "def UNMAKE(o, attribute):\n"
        "    'DELETE of an object that is being made.'\n"
        "    (DELETE if o.__class__.__hash__ is object.__hash__ else object.__delattr__)(o, attribute)\n",
        SET=names.set, DELETE=names.delete, MAKE=names.make, UNMAKE=names.unmake, SETTERS=setters,
        DELETERS=deleters, OTHER=renderer.support.unreplaced, BEGIN=begin, END=end,
        PAST=renderer.support.PAST,
    )  # fmt: skip
    return names, code


def _table(functions: dict[str, str]) -> ast.expr:
    return ast.Dict([ast.Constant(f) for f in functions], [name(f) for f in functions.values()])
