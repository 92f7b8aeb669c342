"""What all events share: the names of structures and functions, and which tags decide about an update."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, field

from incoq.codegen.aggregates import CLASSES
from incoq.codegen.find_entry import Entry
from incoq.codegen.kept_answers import Form, form_of
from incoq.codegen.lower_tests import Support
from incoq.codegen.quote import commented, quote, quote_expr
from incoq.codegen.render_block import Renderer
from incoq.ir.expressions import name
from incoq.ir.invariants import Block, Invariant, Plan, Store
from incoq.ir.objects import Aggregate
from incoq.ir.relational import (
    CONTENT,
    MEMBER,
    Kind,
    Relation,
    RelationalQuery,
)
from incoq.names import NameSupply

Dependent = tuple[Invariant, Block]

IDEMPOTENT = (
    "min",
    "max",
    "any",
    "all",
    "exists",
    "set",
    "dict",
)  # a set and a bag of the same elements give the same


@dataclass
class Maintenance:
    """The state of rendering one plan."""

    plan: Plan
    support: Support
    supply: NameSupply
    functions: list[ast.stmt] = field(default_factory=list)
    setters: dict[str, str] = field(default_factory=dict)
    deleters: dict[str, str] = field(default_factory=dict)
    changers: dict[str, str] = field(default_factory=dict)  # setters of objects that are known to matter
    demanders: dict[str, str] = field(default_factory=dict)
    releasers: dict[str, str] = field(default_factory=dict)

    tracks_lists: bool = False
    unhashables: bool = False  # queries may reach lists or dicts, which are keys and no elements of answers
    plain_sets: Collection[str] = ()  # fixed sets that the program makes as plain ones
    halves: dict[str, str] = field(default_factory=dict)  # of a membership's event: its functions
    adopt: str | None = None
    adopted: str | None = None
    subscripted: frozenset[tuple[Relation, int]] = frozenset()  # what may give lists to an index of entries
    asked: dict[str, str] = field(default_factory=dict)  # nested and asked by the program: who asked
    batch: str | None = None  # what holds the updates that wait, in a program with batches
    passes: bool = False  # fields are set past what classes do: `object.__setattr__`
    reenters: bool = False  # code of the program may run in the midst of maintenance, see find_reentry.py
    keys_act: bool = False  # so it may where Python looks for a key
    switches: bool = False  # sets have another class while they are maintained, see switch_classes.py
    guards: dict[str, tuple[str, ...]] = field(default_factory=dict)  # field -> tags that decide about it
    entries: dict[str, Entry] = field(default_factory=dict)  # field -> look-ups that decide about its values
    set_entries: dict[str, Entry] = field(default_factory=dict)  # fixed set -> those about its elements

    def __post_init__(self) -> None:
        results = {q.name: self.plan.result_of(q.name).name for q in self.plan.queries}
        self.tag_functions: dict[str, tuple[str, str]] = {}
        for invariant in self.plan.invariants:
            if invariant.store is Store.TAG and self.plan.dependents(invariant.relation):
                self.tag_functions[invariant.name] = (
                    self.supply.fresh(f"add_{invariant.name}"),
                    self.supply.fresh(f"del_{invariant.name}"),
                )
        self.fixed = {v: self.supply.fresh(f"fixed_{v}") for v in sorted(self.plan.fixed)}
        nested = self.plan.nested_queries()
        self.wholes = {q.name: self.supply.fresh(f"all_{q.name}") for q in nested if q.is_whole}
        self.nested = [q for q in nested if not q.is_whole]  # whose changes wait until an update is over
        self.visible = {q.name: self.supply.fresh(f"value_{q.name}") for q in self.nested}
        self.dirty = {q.name: self.supply.fresh(f"dirty_{q.name}") for q in self.nested}
        self.unneeded = {q.name: self.supply.fresh(f"unneeded_{q.name}") for q in self.nested}
        self.settle = self.supply.fresh("settle")
        fallible = frozenset(q.name for q in self.nested if _is_fallible(q))
        self.renderer = Renderer(
            self.plan, self.support, self.supply, results, self._outline, fallible, self.visible, self.fixed,
            self.wholes,
        )  # fmt: skip
        self.by_name = {q.name: q for q in self.plan.queries}
        self.releasing = False
        self.fitting = ""  # the local name of a value that is known to be a possible element
        self.replaced, self.only_results = "", False  # the flag that gets another value; see replace_flags
        self.demanding, self.at_hand = (
            "",
            False,
        )  # the query that is evaluated; its answer is a local variable
        for query in self.plan.queries:
            self.demanders[query.name] = self.supply.fresh(f"demand_{query.name}")
            self.releasers[query.name] = self.supply.fresh(f"release_{query.name}")
        self.value = self.supply.fresh("value")
        self.old = self.supply.fresh("old")
        self.image = self.supply.fresh("image")
        self.answer = self.renderer.answer = self.supply.fresh("answer")
        self.element = self.supply.fresh("result")
        self.count = self.supply.fresh("count")
        self.watch, self.unwatch = self.supply.fresh("watch"), self.supply.fresh("unwatch")
        updates = [*self.plan.dependents(MEMBER), *self.plan.dependents(CONTENT)]
        self.gates = self._entry_tags(updates) or () if self.plan.mode == "filtered" else ()
        if self.plan.mode == "filtered" and updates and not self.gates:
            self.switches = False  # some maintenance needs no tag: every set may concern it
        # Who uses unmarked queries was not compiled with them: fields are assigned there, too.
        self.follows = any(query.usual for query in self.plan.queries)
        quiet = (
            "fits",
            "same",
            "is_reflexive",
            "keyable",
            "contains",
            "plain",
            "scalar",
            "elements",
            "truth",
            "doubted",
        )
        self.quiet = frozenset(self.support.names[n] for n in quiet)
        self.own_class = self.supply.fresh("OWN_CLASS")  # fixed set -> its class while it is maintained
        self.own_classes: dict[str, str] = {}
        if self.switches:
            self.own_classes = {v: self.supply.fresh(f"Maintained_{v}") for v in self.fixed}
        # the methods of a plain set, bound: Python calls them faster than `set.add(s, x)` or `x in s` of a
        # subclass, whose `__contains__` it looks up each time
        self.bound = {
            v: {method: self.supply.fresh(f"{method}_{v}") for method in ("add", "discard", "has")}
            for v in self.own_classes
        }

    def _outline(self, function: str, params: object, body: list[ast.stmt]) -> None:
        assert isinstance(params, list)
        arguments = ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, [])
        self.functions.append(ast.FunctionDef(function, arguments, body, []))

    def _define(self, function: str, params: list[str], doc: str, body: list[ast.stmt]) -> None:
        arguments = ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, [])
        docstring = ast.Expr(ast.Constant(doc))
        self.functions.append(ast.FunctionDef(function, arguments, [docstring, *(body or [ast.Pass()])], []))

    def stores(self) -> list[ast.stmt]:
        """The empty structures, each with the invariant it keeps."""
        made: list[ast.stmt] = []
        joins: list[str] = []
        for invariant in self.plan.invariants:
            if invariant.store is Store.JOIN:  # kept as the indices that follow
                joins.append(str(invariant))
                continue
            empty = "{}" if invariant.counted or invariant.store is not Store.TAG else "set()"
            query = self.by_name[invariant.query]
            if invariant.store is Store.RESULT and query.keep.policy == "lru":
                empty = "ORDERED()"
            statement = quote(f"X = {empty}", X=invariant.name, ORDERED=self.support.OrderedDict)
            made += commented(statement, *joins, str(invariant))
            joins = []
        for counted, counts in self.wholes.items():
            made += commented(quote("X = {}", X=counts), f"the counts of {counted}, where there are any")
        for query in self.nested:
            shown = quote("X = {}", X=self.visible[query.name])
            made += commented(shown, f"what other queries see of {query.name}; changes wait in the next one")
            made += quote("X = {}", X=self.dirty[query.name])
            made += quote("X = {}", X=self.unneeded[query.name])
        return made

    def structures(self) -> list[str]:
        """The names of everything that holds objects of the program."""
        nested = (*self.visible.values(), *self.dirty.values(), *self.unneeded.values(), *self.asked.values())
        adopted = (self.adopted,) if self.adopted is not None else ()
        return [*(i.name for i in self.plan.structures()), *self.wholes.values(), *nested, *adopted]

    def _entry_guard(self, dependents: list[Dependent], source: ast.expr) -> ast.expr | None:
        """True unless the updated object is in no tag set at all: then nothing needs maintenance."""
        tests: list[ast.expr] = [
            quote_expr("S in TAG", S=source, TAG=tag) for tag in self._names_of(dependents) or ()
        ]
        if not tests:
            return None
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)

    def _names_of(self, dependents: list[Dependent]) -> tuple[str, ...]:
        """The structures of which one must hold the updated object: tags, and fixed sets."""
        return tuple(self.fixed.get(tag, tag) for tag in self._entry_tags(dependents) or ())

    def _entry_tags(self, dependents: list[Dependent]) -> tuple[str, ...] | None:
        """The tags of which one must hold the updated object; None where some block asks for no tag."""
        tags: dict[str, None] = {}
        for dependent in dependents:
            found = self._source_tags(dependent)
            if not found:
                return None
            tags.setdefault(found[0])
        return tuple(tags)

    def _known_tags(self, dependents: list[Dependent], relation: Relation) -> frozenset[str]:
        """The tag that the entry guard has tested, where the update itself cannot change it."""
        if "guards" in self.plan.without:
            return frozenset()
        tags = {tag for d in dependents for tag in self._source_tags(d)[:1]}
        if len(tags) != 1 or any(not self._source_tags(d) for d in dependents):
            return frozenset()
        (tag,) = tags
        return frozenset(tags) if relation not in self._depends_on(tag) else frozenset()

    def _source_tags(self, dependent: Dependent) -> list[str]:
        """Tags in which the updated object must be for a block to do anything."""
        invariant, block = dependent
        source = invariant.clauses[block.clause].args[0]
        found = [g.tag for g in block.guards if g.variable == source]
        return found + [
            c.relation.name for c in invariant.clauses if c.relation.kind is Kind.TAG and c.args[0] == source
        ]

    def _depends_on(self, tag: str) -> set[Relation]:
        """All relations that a tag set is made of, directly or through others."""
        found: set[Relation] = set()
        if tag in self.fixed:
            return {MEMBER}
        for clause in self.plan.invariant(tag).clauses:
            if clause.relation not in found:
                found.add(clause.relation)
                if clause.relation.kind in (Kind.TAG, Kind.JOIN):
                    found |= self._depends_on(clause.relation.name)
        return found

    def _guarded(
        self, guard: ast.expr | None, work: list[ast.stmt], otherwise: list[ast.stmt], may_raise: bool = True
    ) -> list[ast.stmt]:
        """Do the work where the guard holds; an object that cannot be a key is in no tag set, nor is one
        whose hash reads a field that it does not have yet."""
        if guard is None:
            return work
        if not may_raise:
            return [ast.If(guard, work, otherwise)]
        return quote(
            "try:\n    T = GUARD\nexcept (TypeError, AttributeError):\n    T = False\n"
            "if T:\n    WORK\nelse:\n    OTHERWISE",
            T=self.renderer.supply_local("tagged"), GUARD=guard, WORK=work, OTHERWISE=otherwise,
        )  # fmt: skip

    def empty(self, query: RelationalQuery, result: Invariant) -> ast.expr:
        """The answer of no combination at all."""
        if query.aggregate is not None:
            form = form_of(self.plan, query)
            if form is not Form.OBJECT:
                return quote_expr("0" if form is Form.NUMBER else "{}")
            made = ast.Call(
                name(self.support.names[CLASSES[query.aggregate.kind]]),
                [a.node for a in query.aggregate.arguments], _bag(query.aggregate),
            )  # fmt: skip
            if query.aggregate.distinct and query.aggregate.kind not in IDEMPOTENT:
                made = ast.Call(name(self.support.Distinct), [made], [])
            return made
        return quote_expr("{}" if result.counted else "set()")


def _bag(aggregate: Aggregate) -> list[ast.keyword]:
    """What tells an aggregate that does not count its elements that they are those of a bag."""
    if aggregate.distinct or aggregate.kind not in ("min", "max"):
        return []
    return [ast.keyword("bag", ast.Constant(True))]


def _is_fallible(query: RelationalQuery) -> bool:
    """May the value of a nested aggregate be missing? What cannot be added or compared has no sum."""
    aggregate = query.aggregate
    return aggregate is not None and aggregate.kind in ("mean", "value", "min", "max", "sum", "smallest")


def tuple_of(parts: list[ast.expr]) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())
