"""Assemble the maintenance of every event (paper, section 5.2, "Organize all maintenance").

An update has a state before and a state after. Before it, what its tuple contributed is taken away;
after it, what it contributes now is put in:

    before:  results, then auxiliary values from demand outwards
    the update itself
    after:   auxiliary values from the far end towards demand, then results

These are the paper's rules 1 to 3; for auxiliary values among themselves the order is what makes an
event be handled by all that depends on it directly before anything that it causes: `s.add(s)` counts
once. Rule 4 is in `render_block.py`. Watched clauses contribute before and after whatever the update.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from incoq.codegen.aggregates import CLASSES
from incoq.codegen.kept_answers import Form, form_of, step_of, value_of
from incoq.codegen.look_alikes import tells_equals_apart
from incoq.codegen.lower_tests import Support, can_raise, lower_test
from incoq.codegen.merge_blocks import merge_blocks
from incoq.codegen.quote import Filling, Holes, commented, fill, quote, quote_expr
from incoq.codegen.render_block import NO_FIXED, Event, Renderer, Scope
from incoq.invariants.eliminate_counts import needs_counts
from incoq.invariants.event_costs import event_cost
from incoq.ir.expressions import name
from incoq.ir.invariants import Block, Invariant, Plan, Store
from incoq.ir.relational import (
    CONTENT,
    COUNT,
    ITEM,
    MEMBER,
    SUBSCRIPT,
    Kind,
    Relation,
    RelationalQuery,
    field_relation,
)
from incoq.names import NameSupply

Dependent = tuple[Invariant, Block]

ADOPTS = "Enter a set into the indices."  # what the function that does so says of itself


@dataclass
class EventRenderer:
    """Renders the functions of one plan: events of fields, sets, demand and tags."""

    plan: Plan
    support: Support
    supply: NameSupply
    functions: list[ast.stmt] = field(default_factory=list)
    setters: dict[str, str] = field(default_factory=dict)
    deleters: dict[str, str] = field(default_factory=dict)
    demanders: dict[str, str] = field(default_factory=dict)
    releasers: dict[str, str] = field(default_factory=dict)

    tracks_lists: bool = False
    plain_sets: Collection[str] = ()  # fixed sets that the program makes as plain ones
    halves: dict[str, str] = field(default_factory=dict)  # of a membership's event: its functions
    adopt: str | None = None
    adopted: str | None = None
    asked: dict[str, str] = field(default_factory=dict)  # nested and asked by the program: who asked
    batch: str | None = None  # what holds the updates that wait, in a program with batches
    reenters: bool = False  # code of the program may run in the midst of maintenance, see find_reentry.py
    switches: bool = False  # sets have another class while they are maintained, see switch_classes.py
    guards: dict[str, tuple[str, ...]] = field(default_factory=dict)  # field -> tags that decide about it

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
        )
        self.quiet = frozenset(self.support.names[n] for n in quiet)
        self.own_class = self.supply.fresh("OWN_CLASS")  # fixed set -> its class while it is maintained
        self.own_classes: dict[str, str] = {}
        if self.switches:
            self.own_classes = {v: self.supply.fresh(f"Maintained_{v}") for v in self.fixed}

    def _outline(self, function: str, params: object, body: list[ast.stmt]) -> None:
        assert isinstance(params, list)
        arguments = ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, [])
        self.functions.append(ast.FunctionDef(function, arguments, body, []))

    # -- the stores -------------------------------------------------------------------------------

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

    # -- heads ------------------------------------------------------------------------------------

    def _change(self, invariant: Invariant, scope: Scope, add: bool) -> list[ast.stmt]:
        match invariant.store:
            case Store.RESULT:
                return self._change_result(invariant, scope, add)
            case Store.TAG:
                return self._change_tag(invariant, scope.get(invariant.head[0]), add)
            case Store.INDEX:
                return self._change_index(invariant, scope, add)
            case Store.NEED:
                return self._change_need(invariant, scope, add)
            case Store.JOIN:
                return self._change_join(invariant, scope, add)
        raise AssertionError(invariant.store)

    def _change_tag(self, invariant: Invariant, value: ast.expr, add: bool) -> list[ast.stmt]:
        functions = self.tag_functions.get(invariant.name)
        if functions is not None:
            change = quote("F(V)", F=functions[0] if add else functions[1], V=value)
        else:
            change = self._count_tag(invariant, value, add, [])
        if invariant.head[0] in self.fixed:  # with the first combination that is demanded, until the last
            demanded = self.plan.result_of(invariant.query).name
            test = quote_expr("not TAG" if add else "not R", TAG=invariant.name, R=demanded)
            return [ast.If(test, change, [])]
        return change

    def _count_tag(
        self, invariant: Invariant, value: ast.expr, add: bool, dependents: list[ast.stmt]
    ) -> list[ast.stmt]:
        tag = invariant.name
        dependents = [*dependents, *self._switched(tag, value, add)]
        if not invariant.counted:
            if add:
                return [*quote("TAG.add(V)", TAG=tag, V=value), *dependents]
            return [*dependents, *quote("TAG.discard(V)", TAG=tag, V=value)]
        if add and not dependents:
            return quote("TAG[V] = TAG.get(V, 0) + 1", TAG=tag, V=value)
        if add:
            return quote(
                "N = TAG.get(V, 0)\nTAG[V] = N + 1\nif not N:\n    REST",
                N=self.count, TAG=tag, V=value, REST=dependents,
            )  # fmt: skip
        return quote(
            "N = TAG[V]\nif N == 1:\n    REST\n    del TAG[V]\nelse:\n    TAG[V] = N - 1",
            N=self.count, TAG=tag, V=value, REST=dependents,
        )  # fmt: skip

    def _switched(self, tag: str, value: ast.expr, add: bool) -> list[ast.stmt]:
        """A set that enters or leaves the tags that decide about updates of sets changes its class."""
        if not self.switches or tag not in self.gates:
            return []
        if add:
            return quote("WATCH(S)", WATCH=self.watch, S=value)
        change = quote("UNWATCH(S)", UNWATCH=self.unwatch, S=value)
        others: list[ast.expr] = [quote_expr("S not in TAG", S=value, TAG=g) for g in self.gates if g != tag]
        if not others:
            return change
        return [ast.If(others[0] if len(others) == 1 else ast.BoolOp(ast.And(), others), change, [])]

    def _change_index(self, invariant: Invariant, scope: Scope, add: bool) -> list[ast.stmt]:
        key = _tuple([scope.get(v) for v in invariant.head[: invariant.key]])
        value = _tuple([scope.get(v) for v in invariant.head[invariant.key :]])
        holes: Holes = {"M": invariant.name, "K": key, "V": value, "I": self.image}
        holes["SWITCH"] = self._switched(invariant.name, key, add)
        if add:
            new = "I = M.get(K)\nif I is None:\n    M[K] = {V}\n    SWITCH\nelse:\n    I.add(V)"
            return quote(new, **holes)
        return quote("I = M[K]\nI.discard(V)\nif not I:\n    SWITCH\n    del M[K]", **holes)

    def _change_join(self, invariant: Invariant, scope: Scope, add: bool) -> list[ast.stmt]:
        """A combination enters or leaves a join: all that depends on it, in place. What is released has no
        answer any more."""
        dependents = self.plan.dependents(invariant.relation)
        if self.releasing:
            dependents = [d for d in dependents if d[0].store is not Store.RESULT]
        order = self._after if add else self._before
        event = Event(tuple(scope.get(v) for v in invariant.head))
        return self._run(order(dependents, True, True), event, add)

    def _change_need(self, invariant: Invariant, scope: Scope, add: bool) -> list[ast.stmt]:
        """A nested query is demanded where it is first needed, and released when the update is over; one that
        is kept whole at once, since only demand of the outer query can need it."""
        holes: Holes
        if invariant.needed in self.wholes:
            holes = {
                "M": invariant.name, "R": self.plan.result_of(invariant.needed).name, "N": self.count,
                "DEMAND": self.demanders[invariant.needed], "RELEASE": self.releasers[invariant.needed],
            }  # fmt: skip
            if add:
                return quote("M[()] = M.get((), 0) + 1\nif not R:\n    DEMAND()", **holes)
            return quote(
                "N = M[()]\nif N == 1:\n    del M[()]\n    RELEASE()\nelse:\n    M[()] = N - 1", **holes
            )
        parts = [scope.get(v) for v in invariant.head]
        key = _tuple(parts)
        named: list[ast.stmt] = []
        if isinstance(key, ast.Tuple):  # made once
            named = quote("K = KEY", K=self.renderer.supply_local("need"), KEY=key)
            key = name(self.renderer.supply_local("need"))
        holes = {
            "M": invariant.name, "K": key, "N": self.count, "NAMED": named,
            "DEMAND": ast.Call(name(self.demanders[invariant.needed]), parts, []),
            "R": self.plan.result_of(invariant.needed).name, "U": self.unneeded[invariant.needed],
        }  # fmt: skip
        if add:
            return quote("NAMED\nM[K] = M.get(K, 0) + 1\nif K not in R:\n    DEMAND", **holes)
        return quote(
            "NAMED\nN = M[K]\nif N == 1:\n    del M[K]\n    U[K] = None\nelse:\n    M[K] = N - 1", **holes
        )

    def _change_result(self, invariant: Invariant, scope: Scope, add: bool) -> list[ast.stmt]:
        assert invariant.result is not None
        query = self.by_name[invariant.query]
        renaming = self.renderer.readings(invariant, scope)
        kind = query.aggregate.kind if query.aggregate is not None else ""
        truth = kind in ("any", "all")
        value = lower_test(invariant.result.expr.node, self.support, renaming, truth, query.usual)
        if truth:
            value = quote_expr("bool(V)", V=value)
        elif kind in ("min", "max", "sum", "mean", "smallest"):
            value = quote_expr("PLAIN(V)", PLAIN=self.support.plain, V=value)
        if any(
            isinstance(n, ast.BinOp | ast.Call | ast.UnaryOp) for n in ast.walk(invariant.result.expr.node)
        ):
            value = quote_expr("STEADY(V)", STEADY=self.support.steady, V=value)
        key = _tuple([scope.get(v) for v in invariant.head[: invariant.key]])
        rest = [scope.get(v) for v in invariant.head[invariant.key :]]
        holes: Holes = {
            "R": invariant.name, "K": key, "A": self.answer, "E": self.element, "N": self.count,
            "VALUE": value, "FITTING": self.support.FITTING, "FITS": self.support.fits,
        }  # fmt: skip
        kept = name(scope.kept) if scope.kept else quote_expr("R[K]", **holes)
        fetch = quote("A = KEPT", KEPT=kept, **holes)
        clean: list[ast.stmt] = []
        if rest and not query.is_whole:
            inner = _tuple(rest)
            if query.aggregate is not None:
                make = "if P not in KEPT:\n    KEPT[P] = EMPTY\nA = KEPT[P]"
            elif add:
                make = "A = KEPT.get(P)\nif A is None:\n    A = KEPT[P] = EMPTY"
            else:
                make = "A = KEPT[P]"
            fetch = quote(make, P=inner, EMPTY=self.empty(query, invariant), KEPT=kept, **holes)
            if not add:
                clean = quote("if not A:\n    del KEPT[P]", P=inner, KEPT=kept, **holes)
        form = form_of(self.plan, query)
        at_hand = self.at_hand and query.name == self.demanding
        if at_hand:
            fetch = []
        elif scope.kept and not rest:
            fetch, holes["A"] = [], scope.kept
        if query.is_whole:
            fetch, store = [], self._step_whole(query, rest, add)
        elif form is Form.NUMBER:
            by = step_of(query, name(self.element))
            if counted := [c for c in invariant.clauses if c.relation == COUNT]:
                by = ast.BinOp(by, ast.Mult(), self.renderer.times(counted, scope))
            fetch = []
            number = "A" if at_hand else "R[K]"
            store = quote(f"{number} += BY" if add else f"{number} -= BY", BY=by, **holes)
        elif form is Form.OBJECT:
            store = quote("A.add(E)" if add else "A.remove(E)", **holes)
            if counted := [c for c in invariant.clauses if c.relation == COUNT]:
                word = "A.add(E, TIMES)" if add else "A.remove(E, TIMES)"
                several = quote(word, TIMES=self.renderer.times(counted, scope), **holes)
                once = self.renderer.held_once(counted, scope)
                store = [ast.If(once, store, several)]
        elif add:
            counts = invariant.counted or form is Form.COUNTS
            store = quote("A[E] = A.get(E, 0) + 1" if counts else "A.add(E)", **holes)
        elif invariant.counted or form is Form.COUNTS:
            store = quote("N = A[E]\nif N == 1:\n    del A[E]\nelse:\n    A[E] = N - 1", **holes)
        else:
            store = quote("A.discard(E)", **holes)
        if query.name in self.dirty and query.name != self.demanding:
            mark = "D[K] = None" if query.aggregate is not None else "D.setdefault(K, set()).add(E)"
            store += quote(mark, D=self.dirty[query.name], **holes)
        unhashed = query.aggregate is not None and not query.aggregate.distinct and kind in BAGS
        if query.aggregate is not None:
            clean = []
        keyed = unhashed or (self._keyed(invariant) and not self.tracks_lists)
        if query.is_whole and keyed and not can_raise(value):
            return store  # which reads no element
        if isinstance(value, ast.Name) and not can_raise(value) and keyed:
            filled = [_replace(s, self.element, value) for s in store]
            return [*fetch, *filled, *clean]
        if keyed and not can_raise(value):
            return [*quote("E = VALUE", **holes), *fetch, *store, *clean]
        parts = value.elts if isinstance(value, ast.Tuple) and not can_raise(value) else [name(self.element)]
        fitting: list[ast.stmt] = []
        for part in parts:
            fitting += quote("P.__class__ in FITTING or FITS(P)", P=part, **holes)
        handler, skipping = self.renderer.skipping(invariant.query)
        return quote(
            f"try:\n    E = VALUE\n    HASH\n{handler}    pass\nelse:\n    STORE",
            HASH=[] if unhashed else fitting,
            STORE=[*fetch, *store, *clean],
            **{**holes, **skipping},
        )

    def _step_whole(self, query: RelationalQuery, parts: list[ast.expr], add: bool) -> list[ast.stmt]:
        """One combination more or less for a count that is kept whole; the outer query sees it at once."""
        holes: Holes = {
            "C": self.wholes[query.name], "K": _tuple(parts), "OLD": self.old, "NEW": self.value,
        }  # fmt: skip
        if query.name == self.demanding:
            return quote("C[K] = C.get(K, 0) + 1", **holes)
        lose, gain = self._passed_on(query, parts)
        if add:
            return quote(
                "OLD = C.get(K, 0)\nNEW = OLD + 1\nLOSE\nC[K] = NEW\nGAIN", LOSE=lose, GAIN=gain, **holes
            )
        return quote(
            "OLD = C[K]\nNEW = OLD - 1\nLOSE\nif NEW:\n    C[K] = NEW\nelse:\n    del C[K]\nGAIN",
            LOSE=lose, GAIN=gain, **holes,
        )  # fmt: skip

    def _passed_on(
        self, query: RelationalQuery, parts: list[ast.expr]
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """What a change of a count from `old` to `value` does to the outer query: before the new one is
        stored, and after."""
        dependents = self.plan.dependents(Relation(Kind.VALUE, query.name))
        assert all(d[0].store is Store.RESULT for d in dependents)
        old, new = (value_of(self.plan, query, name(n)) for n in (self.old, self.value))
        if all(self._only_tests(query, d) for d in dependents):
            return self._turn(dependents, Event((*parts, old), after=new)), []
        return (
            self._run(self._before(dependents, True, True), Event((*parts, old)), False),
            self._run(self._after(dependents, True, True), Event((*parts, new)), True),
        )

    def _keyed(self, invariant: Invariant) -> bool:
        names = invariant.result.names if invariant.result is not None else frozenset()
        keyed = {
            v for c in invariant.clauses if c.relation.kind is Kind.MEMBER and not c.watch for v in c.args[1:]
        } | set(invariant.clauses[0].args)  # fmt: skip
        return names <= keyed

    # -- exceptions -------------------------------------------------------------------------------

    def whole(self, work: list[ast.stmt], receiver: str = "", field_name: str = "") -> list[ast.stmt]:
        """Maintenance that is done as a whole or, after an exception at whatever point of it, not at all. The
        receiver of an assignment may be in no index at that point."""
        if not self.plan.invariants or not work:
            return work
        told: list[ast.expr] = []
        if receiver:
            told.append(ast.Tuple([name(receiver), ast.Constant(field_name)], ast.Load()))
        call = ast.Expr(ast.Call(name(self.support.forget), told, []))
        holes: Holes = {"WORK": work, "CALL": [call]}
        handled = "try:\n    WORK\nexcept BaseException:\n    CALL\n    raise"
        if not self.reenters:
            return quote(handled, **holes)
        return quote(
            f"if BUSY:\n    raise REENTERED()\nBUSY.append(True)\n{handled}\nfinally:\n    BUSY.clear()",
            BUSY=self.support.BUSY, REENTERED=self.support.reentered, **holes,
        )  # fmt: skip

    def waiting(self, note: str, change: list[ast.stmt], **holes: Filling) -> list[ast.stmt]:
        """In a program with batches: while one is open, an update is noted and done, no more."""
        if self.batch is None:
            return []
        return quote(
            f"if BATCH.is_open:\n    BATCH.{note}\n    CHANGE\n    return", BATCH=self.batch, CHANGE=change,
            **holes,
        )  # fmt: skip

    def settling_batch(self) -> list[ast.stmt]:
        """In a program with batches: what waits is maintained before whatever follows."""
        if self.batch is None:
            return []
        return quote("if BATCH.is_open:\n    BATCH.settle()", BATCH=self.batch)

    def forgetting(self, kept: Sequence[tuple[str, str, str]] = ()) -> list[ast.stmt]:
        """What becomes of everything maintained when an exception ends an update half-way (`whole`).

        Nothing is demanded then, so that every structure is right if it is empty: an answer is computed anew
        when it is asked for. Only what the program has demanded itself is noted, to be demanded again:
        `kept` has for each such query what holds its combinations, the function that demands one, and how
        many parameters it has. In incremental mode the indices hold all objects of the program, demanded or
        not: what was in them is entered anew, and the objects of assignments that did not end.
        """
        if not self.plan.invariants:
            return []
        one, other = self.renderer.supply_local("o"), self.renderer.supply_local("known")
        holes: Holes = {
            "FORGET": self.support.forget, "LOST": self.support.LOST, "O": one, "KNOWN": other,
            "STRUCTURE": self.renderer.supply_local("structure"), "UNWATCH": self.unwatch,
            "STRUCTURES": ast.Tuple([name(n) for n in self.structures()], ast.Load()),
            "REFUSE": self.support.refuse, "ASSIGNED": self.renderer.supply_local("assigned"),
            "GATES": ast.Tuple([name(g) for g in self._switching()], ast.Load()),
        }  # fmt: skip
        demanded: list[ast.stmt] = []
        for answers, demand, width in kept:
            key = "(K,)" if width == "1" else "K"
            demanded += quote(
                f"LOST.extend((DEMAND, {key}) for K in R)", R=answers, DEMAND=demand,
                K=self.renderer.supply_local("key"), **holes,
            )  # fmt: skip
        unwatched = quote(
            "for STRUCTURE in GATES:\n    for O in STRUCTURE:\n        UNWATCH(O)", **holes
        ) if self.switches else []  # fmt: skip
        clear = [*unwatched, *quote("for STRUCTURE in STRUCTURES:\n    STRUCTURE.clear()", **holes)]
        if self.plan.mode == "incremental":
            return self._forgetting_indices(demanded, clear, holes)
        made = quote(
            "def FORGET(*ASSIGNED):\n"
            "    'An exception has ended an update half-way: answers are computed anew when asked for.'\n"
            "    DEMANDED\n"
            "    CLEAR",
            DEMANDED=demanded, CLEAR=clear, **holes,
        )  # fmt: skip
        return made

    def _switching(self) -> tuple[str, ...]:
        """The structures that hold every set of a class that maintains."""
        return (self.adopted,) if self.adopted is not None else self.gates

    def _forgetting_indices(
        self, demanded: list[ast.stmt], clear: list[ast.stmt], holes: Holes
    ) -> list[ast.stmt]:
        enter: list[ast.stmt] = []
        gather: list[ast.stmt] = []
        for index in self.plan.invariants:
            fields = [c for c in index.clauses if c.relation.kind is Kind.FIELD]
            if index.store is not Store.INDEX or not fields:
                continue
            [clause] = fields
            event = Event((name(str(holes["O"])), name(self.value)))
            block = next(b for b in index.blocks if index.clauses[b.clause] is clause)
            known: Holes = {
                "KNOWN": self.supply.fresh(f"known_{clause.field}"),
                "F": ast.Constant(clause.field),
            }
            every = "M" if index.head[0] == clause.args[0] else "(o for image in M.values() for o in image)"
            gather += quote(
                f"KNOWN = [*{every}, *(o for o, field in ASSIGNED if field == F)]",
                M=index.name,
                **{**holes, **known},
            )
            enter += quote(
                "for O in KNOWN:\n    V = getattr(O, F, MISSING)\n    if V is not MISSING:\n        WORK",
                V=self.value, WORK=self._run([(index, block)], event, True), MISSING=self.support.MISSING,
                **{**holes, **known},
            )  # fmt: skip
        if self.adopted is not None:
            values = "*(getattr(o, field, None) for o, field in ASSIGNED)"
            gather += quote(f"KNOWN = [*ADOPTED, {values}]", ADOPTED=self.adopted, **holes)
            enter += quote("for O in KNOWN:\n    ADOPT(O)", ADOPT=str(self.adopt), **holes)
        return quote(
            "def FORGET(*ASSIGNED):\n"
            "    'An exception ended an update half-way: indices are made anew now, answers when asked.'\n"
            "    GATHER\n"
            "    DEMANDED\n"
            "    CLEAR\n"
            "    try:\n"
            "        ENTERED\n"
            "    except BaseException:\n"
            "        REFUSE('IQ307', 'an exception ended an update, and another one its repair')\n"
            "        raise",
            ENTERED=enter or [ast.Pass()], GATHER=gather, DEMANDED=demanded, CLEAR=clear, **holes,
        )  # fmt: skip

    # -- running dependents -----------------------------------------------------------------------

    def _run(
        self, dependents: list[Dependent], event: Event, add: bool, known: frozenset[str] = frozenset()
    ) -> list[ast.stmt]:
        """The blocks of some invariants; the event's object is in the tags `known` already."""
        statements: list[ast.stmt] = []
        for invariant, block in dependents:
            change = partial(self._change, invariant, add=add)
            body = self.renderer.block(invariant, block, event, change, known)
            if body:
                cost = block.covers.best.cost
                clause = invariant.clauses[block.clause]
                sign = "+=" if add else "-="
                statements += commented(
                    body,
                    f"{invariant.name} for {clause.relation} {sign} ({', '.join(clause.args)}): O({cost})",
                )
        return merge_blocks(statements, self.quiet)

    def _before(self, dependents: list[Dependent], joined: bool, watched: bool) -> list[Dependent]:
        """Outermost query first; of a query the result, the demand of nested ones, then auxiliary values
        from demand outwards."""
        chosen = [d for d in dependents if (watched if _watches(d) else joined)]
        level = {query.name: -number for number, query in enumerate(self.plan.queries)}
        rank = {Store.RESULT: 0, Store.NEED: 1}
        chosen.reverse()

        def place(dependent: Dependent) -> tuple[int, int, int]:
            invariant = dependent[0]
            if invariant.store not in rank or invariant.clauses[0].relation.kind is Kind.JOIN:
                return level[invariant.query], 2, invariant.depth  # the result of joins is the last of them
            return level[invariant.query], rank[invariant.store], -invariant.depth

        return sorted(chosen, key=place)

    def _after(self, dependents: list[Dependent], joined: bool, watched: bool) -> list[Dependent]:
        """Auxiliary values from the far end, then results."""
        return list(reversed(self._before(dependents, joined, watched)))

    # -- tags -------------------------------------------------------------------------------------

    def tag_events(self) -> None:
        for invariant in self.plan.invariants:
            functions = self.tag_functions.get(invariant.name)
            if functions is None:
                continue
            variable = self.renderer.local(invariant.head[0])
            dependents = self.plan.dependents(invariant.relation)
            event = Event(
                (name(variable),), fixed=invariant.head[0] if invariant.head[0] in self.fixed else ""
            )
            for function, add in zip(functions, (True, False), strict=True):
                order = self._after if add else self._before
                inner = self._run(order(dependents, True, True), event, add)
                body = self._count_tag(invariant, name(variable), add, inner)
                word = "enters" if add else "leaves"
                self._define(function, [variable], f"{variable} {word} {invariant.name}.", body)

    # -- immutable sources ------------------------------------------------------------------------

    def adoption(self) -> None:
        """Incremental mode keeps indices over all sets that a query may reach: a set is entered when it
        first becomes a field's value, an element or a parameter. Until then its changes concern nobody."""
        if self.plan.mode != "incremental" or not (
            self.plan.dependents(MEMBER) or self.plan.dependents(ITEM)
        ):
            return
        indices = [d for d in self.plan.dependents(MEMBER) if d[0].store is Store.INDEX]
        entries = [d for d in self.plan.dependents(ITEM) if d[0].store is Store.INDEX]
        self.adopt = self.supply.fresh("adopt")
        adopted = self.adopted = self.supply.fresh("ADOPTED")
        source, element = self.renderer.supply_local("s"), self.renderer.supply_local("x")
        holes: Holes = {
            "S": source, "X": element, "ADOPTED": adopted, "ADOPT": self.adopt,
            "ELEMENTS": self.support.elements, "KEYABLE": self.support.keyable,
            "SWITCH": quote("WATCH(S)", WATCH=self.watch, S=source) if self.switches else [],
        }  # fmt: skip
        enter = self._run(self._after(indices, True, True), Event((name(source), name(element))), True)
        event = Event((name(source), name(element), name(self.value)), frozenset({Kind.ITEM}))
        of_dicts = [d for d in entries if d[0].clauses[d[1].clause].arity != SUBSCRIPT]
        of_any = [d for d in entries if d not in of_dicts]
        self.functions += quote("ADOPTED = set()", **holes)
        body = quote(
            "if isinstance(S, CLASSES) and KEYABLE(S) and S not in ADOPTED:\n"
            "    ADOPTED.add(S)\n"
            "    SWITCH\n"
            "    for X in ELEMENTS(S):\n"
            "        ENTER\n"
            "        ADOPT(X)\n"
            "    for X, V in ITEMS(S):\n"
            "        OF_DICTS\n"
            "        ADOPT(V)\n"
            "    for X, V in ENTRIES(S):\n"
            "        OF_ANY\n"
            "        ADOPT(V)",
            OF_DICTS=self._run(self._after(of_dicts, True, True), event, True),
            OF_ANY=self._run(self._after(of_any, True, True), event, True),
            ENTRIES=self.support.entries if of_any else self.support.items,
            CLASSES=quote_expr(
                "(SET, DICT, LIST, tuple, frozenset, range)", SET=self.support.Set, DICT=self.support.Dict,
                LIST=self.support.List,
            ),
            ENTER=enter, ITEMS=self.support.items, V=self.value,
            **holes,
        )  # fmt: skip
        self._define(self.adopt, [source], ADOPTS, body)

    def _adopted(self, *values: ast.expr) -> list[ast.stmt]:
        if self.adopt is None:
            return []
        return [s for v in values for s in quote("ADOPT(V)", ADOPT=self.adopt, V=v)]

    # -- fields -----------------------------------------------------------------------------------

    def field_events(self) -> None:
        for field_name in self.plan.fields():
            self._field_event(field_name)

    def _field_event(self, field_name: str) -> None:
        dependents = self.plan.dependents(field_relation(field_name))
        receiver = self.renderer.supply_local("o")
        setter = self.setters[field_name] = self.supply.fresh(f"set_{field_name}")
        deleter = self.deleters[field_name] = self.supply.fresh(f"del_{field_name}")
        holes: Holes = {
            "O": receiver, "V": self.value, "OLD": self.old, "MISSING": self.support.MISSING,
            "F": ast.Constant(field_name),
        }  # fmt: skip
        target = ast.Attribute(name(receiver), field_name, ast.Store())
        read = quote("OLD = getattr(O, F, MISSING)", **holes)
        away = Event((name(receiver), name(self.old)))
        put = Event((name(receiver), name(self.value)))
        known = self._known_tags(dependents, field_relation(field_name))
        lose = self._run(self._before(dependents, True, True), away, False, known)
        lose_missing = self._run(self._before(dependents, False, True), away, False, known)
        gain = self._run(self._after(dependents, True, True), put, True, known)
        gain_missing = self._run(self._after(dependents, False, True), put, True, known)
        assign: list[ast.stmt] = [ast.Assign([target], name(self.value), lineno=0)]
        trial: list[ast.stmt] = [ast.Assign([target], name(self.old), lineno=0)]
        guard = self._entry_guard(dependents, name(receiver))
        if guard is None:  # of an object that cannot be a key nothing is kept
            guard = quote_expr(
                "O.__class__ in HASHABLE or HAS_HASH(O)", HASHABLE=self.support.HASHABLE,
                HAS_HASH=self.support.has_hash, **holes,
            )  # fmt: skip
        present = quote_expr("OLD is not MISSING", **holes)
        work = [
            *self.waiting("note_field(O, F)", assign, **holes),
            *read,
            *quote("if V is OLD:\n    ASSIGN\n    return", ASSIGN=assign, **holes),
            *_branch(present, trial if lose else [], []),
            *self.whole(
                [
                    *_branch(present, lose, lose_missing),
                    *assign,
                    *self._adopted(name(self.value)),
                    *gain,
                    *self.settled(),
                ],
                receiver,
                field_name,
            ),
        ]
        if self._entry_tags(dependents) and field_name not in self.plan.class_fields:
            self.guards[field_name] = self._names_of(dependents)
        on_class = quote(
            "if isinstance(O, type):\n    raise ON_CLASS(F)", ON_CLASS=self.support.on_class, **holes
        ) if field_name in self.plan.class_fields else []  # fmt: skip
        body = [*on_class, *self._guarded(guard, work, assign)]
        cost = event_cost(self.plan, field_relation(field_name))
        docs = f"{receiver}.{field_name} = {self.value}: {cost}"
        self._define(setter, [self.value, receiver], docs, body)
        remove: list[ast.stmt] = [ast.Delete([ast.Attribute(name(receiver), field_name, ast.Del())])]
        # A class attribute may stand in once the object's own is gone, and stays where there is none.
        after = [
            *quote("V = getattr(O, F, MISSING)", **holes),
            *_branch(quote_expr("V is not MISSING", **holes), gain, gain_missing),
            *self.settled(),
        ]
        failed: Holes = {
            "FAULT": self.renderer.supply_local("fault"),
            "ERROR": self.renderer.supply_local("error"),
        }
        work = [
            *self.waiting("note_field(O, F)", remove, **holes),
            *quote("FAULT = None", **failed),
            *read,
            *self.whole(
                [
                    *_branch(present, lose, lose_missing),
                    *quote(
                        "try:\n    REMOVE\nexcept Exception as ERROR:\n    FAULT = ERROR",
                        REMOVE=remove,
                        **failed,
                    ),
                    *after,
                ],
                receiver,
                field_name,
            ),
            *quote(
                "if FAULT is not None:\n    try:\n        raise FAULT\n    finally:\n        FAULT = None",
                **failed,
            ),
        ]
        body = self._guarded(guard, work, remove)
        self._define(deleter, [receiver], f"del {receiver}.{field_name}: {cost}", body)

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

    # -- sets -------------------------------------------------------------------------------------

    def set_methods(self) -> dict[str, list[ast.stmt]]:
        """The bodies of `Set.add` and `Set.discard`."""
        dependents = [*self.plan.dependents(MEMBER), *self.plan.dependents(CONTENT)]
        dependents.sort(key=lambda d: self.plan.invariants.index(d[0]))
        source, element = self.renderer.supply_local("s"), self.renderer.supply_local("x")
        guard = self._entry_guard(dependents, name(source))
        if self.adopted is not None:
            guard = quote_expr("S in ADOPTED", S=source, ADOPTED=self.adopted)
        known: frozenset[str] = frozenset()
        if self.switches:  # the class says what the guard would find
            guard = None
            known = frozenset() if self.tracks_lists else self._known_tags(dependents, MEMBER)
        holes: Holes = {
            "S": source, "X": element, "ADD": self.support.set_add, "DISCARD": self.support.set_discard,
            "STORED": self.support.stored,
        }  # fmt: skip
        add, discard = quote("ADD(S, X)", **holes), quote("DISCARD(S, X)", **holes)
        halves = self._member_halves(known)
        grow = self.whole([
            *self._half("before_add", halves), *add, *self._half("after_add", halves), *self.settled(),
        ])  # fmt: skip
        found = self._found(dependents, holes)
        shrink = self.whole([
            *found,
            *self._half("before_discard", halves), *discard, *self._half("after_discard", halves),
            *self.settled(),
        ])  # fmt: skip
        if self.plan.only_adds and any(self._left_out_counts(q) for q in self.plan.queries):
            shrink = quote("raise NEVER()", NEVER=self.support.only_adds)
        grow = [*self.waiting("note_element(S, X)", add, **holes), *grow]
        shrink = [*self.waiting("note_element(S, X)", discard, **holes), *shrink]
        if self.switches:  # no class is derived from `Set`
            return self._switched_methods(grow, shrink, holes)
        return {
            "add": quote(
                "if X not in S:\n    REST\nelif S.__class__ not in SOURCES:\n    ADD(S, X)",
                REST=self._guarded(guard, grow, add, False),
                SOURCES=self.support.SOURCES,
                **holes,
            ),
            "discard": quote(
                "if X in S:\n    REST\nelif S.__class__ not in SOURCES:\n    DISCARD(S, X)",
                REST=self._guarded(guard, shrink, discard, False),
                SOURCES=self.support.SOURCES,
                **holes,
            ),
        }

    def _found(self, dependents: list[Dependent], holes: Holes) -> list[ast.stmt]:
        """The element that a set holds in place of an equal one, where that makes a difference."""
        if not tells_equals_apart(self.plan, dependents):
            return []
        return quote(
            "if X.__class__ in LOOK_ALIKE:\n    X = STORED(S, X)", LOOK_ALIKE=self.support.LOOK_ALIKE, **holes
        )

    def _switched_methods(
        self, grow: list[ast.stmt], shrink: list[ast.stmt], holes: Holes
    ) -> dict[str, list[ast.stmt]]:
        return {
            "add": quote("if X not in S:\n    REST", REST=grow, **holes),
            "discard": quote("if X in S:\n    REST", REST=shrink, **holes),
        }

    def methods_of_fixed(self, fixed: str) -> dict[str, list[ast.stmt]]:
        """The bodies of `add` and `discard` of one fixed set: what concerns that set, and what any set."""
        others = self.fixed.keys() - {fixed}
        dependents = [
            (invariant, block)
            for invariant, block in [*self.plan.dependents(MEMBER), *self.plan.dependents(CONTENT)]
            if invariant.clauses[block.clause].args[0] not in others
        ]
        source, element = self.renderer.supply_local("s"), self.renderer.supply_local("x")
        known = self._known_tags(dependents, MEMBER)
        event = Event((name(source), name(element)), fixed=fixed)
        halves = self._halves_of(event, known)
        holes: Holes = {
            "S": source, "X": element, "ADD": self.support.set_add, "DISCARD": self.support.set_discard,
            "STORED": self.support.stored,
        }  # fmt: skip
        grow = self.whole([
            *halves["before_add"], *quote("ADD(S, X)", **holes), *halves["after_add"], *self.settled(),
        ])  # fmt: skip
        found = self._found(dependents, holes)
        shrink = self.whole([
            *found, *halves["before_discard"], *quote("DISCARD(S, X)", **holes), *halves["after_discard"],
            *self.settled(),
        ])  # fmt: skip
        if self.plan.only_adds and any(self._left_out_counts(q) for q in self.plan.queries):
            shrink = quote("raise NEVER()", NEVER=self.support.only_adds)
        noted = "note_element(S, X)"
        grow = [*self.waiting(noted, quote("ADD(S, X)", **holes), **holes), *grow]
        shrink = [*self.waiting(noted, quote("DISCARD(S, X)", **holes), **holes), *shrink]
        return self._switched_methods(grow, shrink, holes)

    def _member_halves(self, known: frozenset[str]) -> dict[str, list[ast.stmt]]:
        """What an element that comes or goes does before and after the change itself: sets and lists share
        it. What is long, and what lists need, becomes a function."""
        source, element = self.renderer.supply_local("s"), self.renderer.supply_local("x")
        about = NO_FIXED if self.own_classes else ""
        halves = self._halves_of(Event((name(source), name(element)), fixed=about), known)
        for half, body in halves.items():
            if body and (self.tracks_lists or _size(body) > INLINED):
                function = self.halves[half] = self.supply.fresh(half)
                when = "is about to" if half.startswith("before") else "did"
                change = "enter" if half.endswith("add") else "leave"
                doc = f"{element} {when} {change} {source}: {self.set_cost()}"
                self._define(function, [source, element], doc, body)
        return halves

    def _halves_of(self, event: Event, known: frozenset[str]) -> dict[str, list[ast.stmt]]:
        """What an element that comes or goes does before and after the change itself."""
        dependents = [*self.plan.dependents(MEMBER), *self.plan.dependents(CONTENT)]
        dependents.sort(key=lambda d: self.plan.invariants.index(d[0]))
        return {
            "before_add": self._run(self._before(dependents, False, True), event, False, known),
            "after_add": [
                *self._adopted(event.columns[1]),
                *self._run(self._after(dependents, True, True), event, True, known),
            ],
            "before_discard": self._run(self._before(dependents, True, True), event, False, known),
            "after_discard": self._run(self._after(dependents, False, True), event, True, known),
        }

    def _half(self, half: str, halves: dict[str, list[ast.stmt]] | None = None) -> list[ast.stmt]:
        """A half of an event: its own statements where they are given and few, or a call."""
        if halves is not None and _size(halves[half]) <= INLINED:
            return halves[half]
        if half not in self.halves:
            return []
        source, element = self.renderer.supply_local("s"), self.renderer.supply_local("x")
        return quote("F(S, X)", F=self.halves[half], S=source, X=element)

    def _left_out_counts(self, query: RelationalQuery) -> bool:
        """Does the answer rely on nothing being removed?"""
        result = self.plan.result_of(query.name)
        return query.aggregate is None and not result.counted and needs_counts(query)

    # -- dicts ------------------------------------------------------------------------------------

    def dict_methods(self) -> dict[str, list[ast.stmt]]:
        """The bodies of `Dict.__setitem__` and `Dict.__delitem__`: an entry is new, replaced or gone."""
        keyed = [*self.plan.dependents(MEMBER), *self.plan.dependents(CONTENT)]
        items = self.plan.dependents(ITEM)
        mapping, key = self.renderer.supply_local("m"), self.renderer.supply_local("k")
        both = frozenset({Kind.MEMBER, Kind.CONTENT, Kind.ITEM})
        by_key = Event((name(mapping), name(key)), both, NO_FIXED)
        old, new = (
            Event((name(mapping), name(key), name(v)), both, NO_FIXED) for v in (self.old, self.value)
        )
        holes: Holes = {
            "M": mapping, "K": key, "V": self.value, "OLD": self.old, "SET": self.support.dict_set,
            "DELETE": self.support.dict_delete, "STORED": self.support.stored,
            "MISSING": self.support.MISSING,
        }  # fmt: skip
        store, delete = quote("SET(M, K, V)", **holes), quote("DELETE(M, K)", **holes)
        guard = self._known_guard([*keyed, *items], mapping)

        def run(dependents: list[Dependent], item: Event, add: bool) -> list[ast.stmt]:
            found: list[ast.stmt] = []
            for dependent in dependents:
                relation = dependent[0].clauses[dependent[1].clause].relation
                found += self._run([dependent], item if relation == ITEM else by_key, add)
            return found

        everything = sorted([*keyed, *items], key=lambda d: self.plan.invariants.index(d[0]))
        replaced_old = Event(old.columns, frozenset({Kind.ITEM}), NO_FIXED)
        replaced_new = Event(new.columns, frozenset({Kind.ITEM}), NO_FIXED)
        replace = [
            *quote("OLD = M[K]", **holes),
            *quote("if V is OLD:\n    SET(M, K, V)\n    return", **holes),
            *self.whole(
                [
                    *self._run(self._before(items, True, True), replaced_old, False),
                    *store,
                    *self._adopted(name(self.value)),
                    *self._run(self._after(items, True, True), replaced_new, True),
                    *self.settled(),
                ]
            ),
        ]
        fresh = self.whole(
            [
                *quote("OLD = MISSING", **holes),
                *run(self._before(everything, False, True), old, False),
                *store,
                *self._adopted(name(key), name(self.value)),
                *run(self._after(everything, True, True), new, True),
                *self.settled(),
            ]
        )
        gone = [
            *quote("OLD = M[K]\nV = MISSING\nK = STORED(M, K)", **holes),
            *self.whole(
                [
                    *run(self._before(everything, True, True), old, False),
                    *delete,
                    *run(self._after(everything, False, True), new, True),
                    *self.settled(),
                ]
            ),
        ]
        change = quote("if K in M:\n    REPLACE\nelse:\n    FRESH", REPLACE=replace, FRESH=fresh, **holes)
        return {
            "__setitem__": [*self.settling_batch(), *self._guarded(guard, change, store, False)],
            "__delitem__": [*self.settling_batch(), *self._guarded(guard, gone, delete, False)],
        }

    # -- lists ------------------------------------------------------------------------------------

    def list_methods(self) -> dict[str, list[ast.stmt]]:
        """The bodies of `List.put` and `List.take`: an element is new, once more there, or gone."""
        if not self.tracks_lists:
            return {}
        dependents = [d for r in (MEMBER, CONTENT, COUNT) for d in self.plan.dependents(r)]
        again = [*self.plan.dependents(CONTENT), *self.plan.dependents(COUNT)]
        again.sort(key=lambda d: self.plan.invariants.index(d[0]))
        names = {n: self.renderer.supply_local(n) for n in ("s", "at", "x", "counts", "n")}
        source, element = names["s"], names["x"]
        repeated = Event((name(source), name(element)), frozenset({Kind.CONTENT, Kind.COUNT}), NO_FIXED)
        guard = self._known_guard(dependents, source)
        holes: Holes = {
            "S": source, "X": element, "AT": names["at"], "C": names["counts"], "N": names["n"],
            "INSERT": self.support.list_insert, "POP": self.support.list_pop,
            "KEYABLE": self.support.keyable, "STORED": self.support.stored,
        }  # fmt: skip
        insert, pop = quote("INSERT(S, AT, X)", **holes), quote("POP(S, AT)", **holes)
        before = self._run(self._before(again, False, True), repeated, False)
        after = self._run(self._after(again, False, True), repeated, True)
        grow = [
            *self._half("before_add"), *insert, *quote("C[X] = 1", **holes), *self._half("after_add"),
        ]  # fmt: skip
        grow_again = [*before, *insert, *quote("C[X] = N + 1", **holes), *after]
        shrink = [
            *quote("X = STORED(C, X)", **holes),
            *self._half("before_discard"), *pop, *quote("del C[X]", **holes), *self._half("after_discard"),
        ]  # fmt: skip
        shrink_once = [*before, *pop, *quote("C[X] = N - 1", **holes), *after]
        if self.plan.only_adds and any(self._left_out_counts(q) for q in self.plan.queries):
            shrink = quote("raise NEVER()", NEVER=self.support.only_adds)
        grown = quote(
            "N = C.get(X, 0)\nif N:\n    AGAIN\nelse:\n    GROW", AGAIN=grow_again, GROW=grow, **holes
        )
        shrunk = quote(
            "N = C[X]\nif N > 1:\n    ONCE\nelse:\n    SHRINK", ONCE=shrink_once, SHRINK=shrink, **holes
        )
        matters = ast.BoolOp(ast.And(), [guard, quote_expr("KEYABLE(X)", **holes)])
        change = "if not MATTERS:\n    S._counts_ = None\n    PLAINLY\n    return\nC = S._bag_()\nWHOLE"
        counted = "try:\n    WORK\nexcept BaseException:\n    S._counts_ = None\n    raise"
        methods = {
            method: [
                *self.settling_batch(),
                *quote(
                    change,
                    MATTERS=matters,
                    PLAINLY=plainly,
                    WHOLE=self.whole(quote(counted, WORK=[*work, *self.settled()], **holes)),
                    **holes,
                ),
            ]
            for method, plainly, work in (("_put_", insert, grown), ("_take_", pop, shrunk))
        }
        seen = "if not GUARD:\n    S._counts_ = None\n    return False\nreturn True"
        methods["_seen_"] = [*self.settling_batch(), *quote(seen, GUARD=guard, **holes)]
        return methods

    def _known_guard(self, dependents: list[Dependent], source: str) -> ast.expr:
        """A list or dict matters where a query has reached it, and it is tagged or entered."""
        tests: list[ast.expr] = [quote_expr("S._known_", S=source)]
        tagged = self._entry_guard(dependents, name(source))
        if self.adopted is not None:
            tagged = quote_expr("S in ADOPTED", S=source, ADOPTED=self.adopted)
        if tagged is not None:
            tests.append(tagged)
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)

    def set_cost(self) -> str:
        return event_cost(self.plan, MEMBER, CONTENT)

    # -- demand -----------------------------------------------------------------------------------

    def demand_events(self) -> None:
        for query in self.plan.queries:
            self._demand_event(query)

    def _demand_event(self, query: RelationalQuery) -> None:
        relation = Relation(Kind.DEMAND, f"demand_{query.name}")
        dependents = self.plan.dependents(relation)
        result = self.plan.result_of(query.name)
        params = [self.renderer.local(p) for p in query.demand]
        event = Event(tuple(name(p) for p in params))
        key = _tuple([name(p) for p in params])
        demander, releaser = self.demanders[query.name], self.releasers[query.name]
        if query.is_whole:
            self._demand_whole(query)
            return
        empty = quote_expr("{}") if query.rest else self.empty(query, result)
        evaluate, at_hand = self._evaluated(query, self._after(dependents, True, True), event)
        shown: list[ast.stmt] = []
        hidden: list[ast.stmt] = []
        holes: Holes
        if query.name in self.visible:
            holes = {
                "V": self.visible[query.name], "D": self.dirty[query.name], "R": result.name, "K": key,
            }  # fmt: skip
            view = quote_expr("set(R[K])", **holes)
            if query.aggregate is not None:
                in_hand = at_hand and form_of(self.plan, query) is not Form.OBJECT
                local = name(self.answer)
                view = value_of(self.plan, query, local) if in_hand else self._seen(query, key)
            shown = [
                *quote("V[K] = VIEW", VIEW=view, **holes),
                *self._materialised(query, params, True),
            ]
            hidden = [*self._materialised(query, params, False), *quote("D.pop(K, None)\ndel V[K]", **holes)]
        made: list[ast.stmt] = []
        if query.fixed and not query.nested:
            given = [ast.Constant(v) for v in query.fixed]
            check = ast.Expr(ast.Call(name(self.support.made), list(given), []))
            made = [ast.If(name(self.support.UNMADE), [check], [])]
        begin, end = "R[K] = EMPTY", "return R[K]"
        filled: list[ast.stmt] = []
        if at_hand and form_of(self.plan, query) is Form.NUMBER:
            begin, end = "R[K] = A = EMPTY", "return A"
            filled = quote("R[K] = A", R=result.name, K=key, A=self.answer)
        elif at_hand:
            begin, end = "R[K] = A = EMPTY", "return A"
        holes = {"R": result.name, "K": key, "A": self.answer, "EMPTY": empty}
        put = [
            *made,
            *quote(begin, **holes),
            *self._adopted(*(name(p) for p in params)),
            *evaluate,
            *filled,
            *shown,
            *quote(end, **holes),
        ]
        cost = event_cost(self.plan, relation)
        self._define(demander, params, f"Begin to maintain {query.name}{_shown(params)}: {cost}", put)
        auxiliary = [d for d in dependents if d[0].store is not Store.RESULT]
        self.releasing = True
        gone = [
            *quote("del R[K]", R=result.name, K=key),
            *hidden,
            *self._run(self._before(auxiliary, True, True), event, False),
        ]
        self.releasing = False
        self._define(releaser, params, f"Stop maintaining {query.name}{_shown(params)}.", gone)

    def _demand_whole(self, query: RelationalQuery) -> None:
        """Begin and cease to count for all values."""
        relation = Relation(Kind.DEMAND, f"demand_{query.name}")
        dependents = self.plan.dependents(relation)
        holes: Holes = {"R": self.plan.result_of(query.name).name, "C": self.wholes[query.name]}
        self.demanding = query.name
        evaluate = self._run(self._after(dependents, True, True), Event(()), True)
        self.demanding = ""
        put = [*quote("R[()] = C", **holes), *evaluate]
        doc = (
            f"Begin to count {query.name} for all {', '.join(query.rest)}: {event_cost(self.plan, relation)}"
        )
        self._define(self.demanders[query.name], [], doc, put)
        auxiliary = [d for d in dependents if d[0].store is not Store.RESULT]
        self.releasing = True
        gone = [
            *quote("del R[()]\nC.clear()", **holes),
            *self._run(self._before(auxiliary, True, True), Event(()), False),
        ]
        self.releasing = False
        self._define(self.releasers[query.name], [], f"Stop counting {query.name}.", gone)

    def _evaluated(
        self, query: RelationalQuery, dependents: list[Dependent], event: Event
    ) -> tuple[list[ast.stmt], bool]:
        """Fill an answer that begins to be kept; nobody has seen it, so no change is noted. And whether it is
        at hand in a local variable, which a part that had to become a function of its own cannot have."""
        before = len(self.functions)
        self.demanding, self.at_hand = query.name, not query.rest
        statements = self._run(dependents, event, True)
        at_hand = self.at_hand
        if at_hand and len(self.functions) > before:
            del self.functions[before:]
            self.at_hand = at_hand = False
            statements = self._run(dependents, event, True)
        self.demanding, self.at_hand = "", False
        return statements, at_hand

    def _seen(self, query: RelationalQuery, key: ast.expr) -> ast.expr:
        """What other queries see of an aggregate: its value, or that it has none."""
        kept = quote_expr("R[K]", R=self.plan.result_of(query.name).name, K=key)
        if form_of(self.plan, query) is Form.OBJECT:
            return quote_expr("CURRENT(A)", CURRENT=self.support.current, A=kept)
        return value_of(self.plan, query, kept)

    def empty(self, query: RelationalQuery, result: Invariant) -> ast.expr:
        """The answer of no combination at all."""
        if query.aggregate is not None:
            form = form_of(self.plan, query)
            if form is not Form.OBJECT:
                return quote_expr("0" if form is Form.NUMBER else "{}")
            made = ast.Call(
                name(self.support.names[CLASSES[query.aggregate.kind]]),
                [a.node for a in query.aggregate.arguments], [],
            )  # fmt: skip
            if query.aggregate.distinct and query.aggregate.kind not in IDEMPOTENT:
                made = ast.Call(name(self.support.Distinct), [made], [])
            return made
        return quote_expr("{}" if result.counted else "set()")

    def _materialised(self, query: RelationalQuery, params: list[str], add: bool) -> list[ast.stmt]:
        """An answer that begins or ends to be kept is no event for the queries that use it, which are
        about to look at it or have done so; only auxiliary values hold what is kept."""
        kind = Kind.VALUE if query.aggregate is not None else Kind.ANSWER
        dependents = [
            d
            for d in self.plan.dependents(Relation(kind, query.name))
            if d[0].store in (Store.TAG, Store.INDEX)
        ]
        if not dependents:
            return []
        order = self._after if add else self._before
        parts = [name(p) for p in params]
        value = name(self.value)
        blocks = self._run(order(dependents, True, True), Event((*parts, value)), add)
        holes: Holes = {"V": self.visible[query.name], "K": _tuple(list(parts)), "X": self.value}
        if query.aggregate is not None:
            return [*quote("X = V[K]", **holes), *blocks]
        return quote("for X in list(V[K]):\n    BLOCKS", BLOCKS=blocks, **holes)

    def fixing(self) -> dict[str, str]:
        """The functions that give a fixed set its first elements, where the program makes it; what was kept
        when the module was loaded before is released."""
        functions: dict[str, str] = {}
        for fixed, known in self.fixed.items():
            release: list[ast.stmt] = []
            for query in self.plan.queries:
                if fixed in query.fixed and not query.nested:
                    call = "F(K)" if len(query.demand) == 1 else "F(*K)"
                    release += quote(
                        f"for K in list(R):\n    {call}", R=self.plan.result_of(query.name).name,
                        K=self.renderer.supply_local("key"), F=self.releasers[query.name],
                    )  # fmt: skip
            function = functions[fixed] = self.supply.fresh(f"fix_{fixed}")
            source = self.renderer.supply_local("s")
            body = [
                *release, *self.settled(),
                *quote(
                    "X.clear()\nset.update(X, S)\nUNMADE.discard(NAME)\nreturn X", X=known, S=source,
                    UNMADE=self.support.UNMADE, NAME=ast.Constant(fixed),
                ),
            ]  # fmt: skip
            self._define(function, [source], f"{fixed}, which holds the elements of s to begin with.", body)
        return functions

    def fixed_sets(self) -> list[ast.stmt]:
        """The fixed sets, empty until the program makes them, and their classes."""
        if not self.fixed:
            return []
        made: list[ast.stmt] = []
        for fixed, known in self.fixed.items():
            made += quote("X = CLASS()", X=known, CLASS=self._class_of(fixed))
        names = [ast.Constant(fixed) for fixed in self.fixed]
        made += quote(
            "UNMADE.update(NAMES)", UNMADE=self.support.UNMADE, NAMES=ast.Tuple([*names], ast.Load())
        )
        for fixed, own in self.own_classes.items():
            made += quote("OWN[X] = CLASS", OWN=self.own_class, X=self.fixed[fixed], CLASS=own)
        return commented(made, "the sets that are known by name")

    def _class_of(self, fixed: str) -> str:
        return self.support.PlainSet if fixed in self.plain_sets else self.support.Set

    # -- nested queries ---------------------------------------------------------------------------

    def settling(self) -> None:
        """Pass the changes of nested answers on, innermost first; then release what nobody needs."""
        if not self.nested:
            return
        body: list[ast.stmt] = []
        for query in self.nested:
            body += self._settle_query(query)
        done: list[ast.stmt] = []
        for query in reversed(self.nested):
            done += self._release_unneeded(query)
        body += done
        self._define(self.settle, [], "Make every outer query see what its nested queries answer now.", body)

    def settled(self) -> list[ast.stmt]:
        """What ends every update."""
        if not self.nested:
            return []
        waiting: list[ast.expr] = [name(n) for n in (*self.dirty.values(), *self.unneeded.values())]
        test = waiting[0] if len(waiting) == 1 else ast.BoolOp(ast.Or(), waiting)
        return quote("if WAITING:\n    SETTLE()", WAITING=test, SETTLE=self.settle)

    def _settle_query(self, query: RelationalQuery) -> list[ast.stmt]:
        result = self.plan.result_of(query.name)
        params = [self.renderer.supply_local(f"p{i + 1}") for i in range(len(query.demand))]
        key = self.renderer.supply_local("key")
        kind = Kind.VALUE if query.aggregate is not None else Kind.ANSWER
        dependents = self.plan.dependents(Relation(kind, query.name))
        unpack: list[ast.stmt] = []
        if params:
            target = _tuple([ast.Name(p, ast.Store()) for p in params])
            unpack = [ast.Assign([target], name(key), lineno=0)]
        parts = tuple(name(p) for p in params)
        holes: Holes = {
            "D": self.dirty[query.name], "V": self.visible[query.name], "R": result.name, "K": key,
            "OLD": self.old, "NEW": self.value, "CURRENT": self.support.current, "UNPACK": unpack,
            "CHANGED": self.support.changed, "E": self.value,
            "ES": self.renderer.supply_local("elements_changed"),
        }  # fmt: skip
        old, new = Event((*parts, name(self.old))), Event((*parts, name(self.value)))
        if query.aggregate is not None:
            is_other = "CHANGED(OLD, NEW)" if form_of(self.plan, query) is Form.OBJECT else "OLD != NEW"
            if all(self._only_tests(query, d) for d in dependents):
                turn = Event((*parts, name(self.old)), after=name(self.value))
                lose, gain = self._turn(dependents, turn), []
            else:
                lose = self._run(self._before(dependents, True, True), old, False)
                gain = self._run(self._after(dependents, True, True), new, True)
            return quote(
                "while D:\n    K = D.popitem()[0]\n    OLD = V[K]\n    NEW = SEEN\n"
                f"    if {is_other}:\n        UNPACK\n        LOSE\n        V[K] = NEW\n        GAIN",
                LOSE=lose, GAIN=gain, SEEN=self._seen(query, name(key)), **holes,
            )  # fmt: skip
        event = Event((*parts, name(self.value)))
        return quote(
            "while D:\n    K, ES = D.popitem()\n    UNPACK\n    for E in ES:\n"
            "        if E in R[K]:\n"
            "            if E not in V[K]:\n                V[K].add(E)\n                GAIN\n"
            "        elif E in V[K]:\n            LOSE\n            V[K].discard(E)",
            LOSE=self._run(self._before(dependents, True, True), event, False),
            GAIN=self._run(self._after(dependents, True, True), event, True), **holes,
        )  # fmt: skip

    def _only_tests(self, query: RelationalQuery, dependent: Dependent) -> bool:
        """Does a value of a nested query decide one condition of an answer, and nothing else about it?"""
        invariant, block = dependent
        value = invariant.clauses[block.clause].args[-1]
        assert invariant.result is not None or invariant.store is not Store.RESULT
        return (
            invariant.store is Store.RESULT
            and sum(c.relation == Relation(Kind.VALUE, query.name) for c in invariant.clauses) == 1
            and sum(value in c.args for c in invariant.clauses) == 1
            and sum(value in test.names for test in invariant.tests) == 1
            and value not in invariant.head
            and invariant.result is not None
            and value not in invariant.result.names
            and not _watches(dependent)
        )

    def _turn(self, dependents: list[Dependent], event: Event) -> list[ast.stmt]:
        """A value becomes another one: what a condition now says otherwise comes or goes, nothing else."""
        found: list[ast.stmt] = []
        for invariant, block in self._before(dependents, True, True):

            def change(scope: Scope, invariant: Invariant = invariant) -> list[ast.stmt]:
                return quote(
                    "if NOW:\n    COME\nelse:\n    GO", NOW=self.renderer.supply_local("now_ok"),
                    COME=self._change(invariant, scope, True), GO=self._change(invariant, scope, False),
                )  # fmt: skip

            body = self.renderer.block(invariant, block, event, change)
            cost, clause = block.covers.best.cost, invariant.clauses[block.clause]
            shown = ", ".join(clause.args)
            found += commented(body, f"{invariant.name} for {clause.relation} := ({shown}): O({cost})")
        return found

    def _release_unneeded(self, query: RelationalQuery) -> list[ast.stmt]:
        key = self.renderer.supply_local("key")
        tests: list[ast.expr] = [
            quote_expr("K not in M", K=key, M=i.name) for i in self.plan.needs_of(query.name)
        ]  # fmt: skip
        if query.name in self.asked:
            tests.append(quote_expr("K not in M", K=key, M=self.asked[query.name]))
        tests.append(quote_expr("K in R", K=key, R=self.plan.result_of(query.name).name))
        call = "F(K)" if len(query.demand) == 1 else "F(*K)"
        return quote(
            f"while U:\n    K = U.popitem()[0]\n    if TEST:\n        {call}",
            U=self.unneeded[query.name], K=key, TEST=ast.BoolOp(ast.And(), tests),
            F=self.releasers[query.name],
        )  # fmt: skip

    def _define(self, function: str, params: list[str], doc: str, body: list[ast.stmt]) -> None:
        arguments = ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, [])
        docstring = ast.Expr(ast.Constant(doc))
        self.functions.append(ast.FunctionDef(function, arguments, [docstring, *(body or [ast.Pass()])], []))


INLINED = 200  # statements; what is longer stands once, in a function
BAGS = ("len", "sum", "mean", "any", "all", "exists", "value")  # need no keys where they take a bag
IDEMPOTENT = (
    "min",
    "max",
    "any",
    "all",
    "exists",
    "set",
    "dict",
)  # a set and a bag of the same elements give the same


def _is_fallible(query: RelationalQuery) -> bool:
    """May the value of a nested aggregate be missing? What cannot be added or compared has no sum."""
    aggregate = query.aggregate
    return aggregate is not None and aggregate.kind in ("mean", "value", "min", "max", "sum", "smallest")


def _watches(dependent: Dependent) -> bool:
    invariant, block = dependent
    return invariant.clauses[block.clause].watch


def _size(statements: list[ast.stmt]) -> int:
    return sum(isinstance(node, ast.stmt) for s in statements for node in ast.walk(s))


def _branch(test: ast.expr, yes: list[ast.stmt], no: list[ast.stmt]) -> list[ast.stmt]:
    """`if test: yes else: no`, without empty arms."""
    if not yes and not no:
        return []
    if not yes:
        return [ast.If(ast.UnaryOp(ast.Not(), test), no, [])]
    return [ast.If(test, yes, no)]


def _replace(statement: ast.stmt, identifier: str, value: ast.expr) -> ast.stmt:
    """`statement` with a name replaced by an expression."""
    result = fill(statement, {identifier: value})
    assert isinstance(result, ast.stmt)
    return result


def _tuple(parts: list[ast.expr]) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())


def _shown(params: list[str]) -> str:
    return f"({', '.join(params)})"
