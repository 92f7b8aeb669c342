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

from incoq.codegen.find_entry import Entry, common_entry, find_entry
from incoq.codegen.look_alikes import tells_equals_apart
from incoq.codegen.maintenance import Dependent
from incoq.codegen.quote import Holes, quote, quote_expr
from incoq.codegen.render_block import NO_FIXED, Event
from incoq.codegen.render_demand import DemandRenderer
from incoq.invariants.eliminate_counts import needs_counts
from incoq.invariants.event_costs import event_cost
from incoq.ir.expressions import name
from incoq.ir.relational import (
    CONTENT,
    COUNT,
    ITEM,
    MEMBER,
    Kind,
    RelationalQuery,
    field_relation,
)

INLINED = 200  # statements; what is longer stands once, in a function


class EventRenderer(DemandRenderer):
    """Renders the functions of one plan: events of fields and sets, dicts and lists, demand and tags."""

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
        present_now = self.support.field_of(name(receiver), field_name)
        read = quote(
            "try:\n    OLD = NOW\nexcept AttributeError:\n    OLD = MISSING", NOW=present_now, **holes
        )
        away = Event((name(receiver), name(self.old)))
        put = Event((name(receiver), name(self.value)))
        known = self._known_tags(dependents, field_relation(field_name))
        self.renderer.noted.clear()
        lose = self._run(self._before(dependents), away, False, known)
        lose_missing = self._run(self._before(dependents, only_watching=True), away, False, known)
        gain = self._run(self._after(dependents), put, True, known)
        gain_missing = self._run(self._after(dependents, only_watching=True), put, True, known)
        replace_old, replace_new = lose, gain
        if self.flags(dependents):
            replace_old = self.replace_flags(self._before(dependents), away, False, known)
            replace_new = self.replace_flags(self._after(dependents), put, True, known)
        at_once = self.replace_element(dependents, away, name(self.value), known)
        assign: list[ast.stmt] = [ast.Assign([target], name(self.value), lineno=0)]
        trial: list[ast.stmt] = [ast.Assign([target], name(self.old), lineno=0)]
        if self.follows:
            assign = quote("STORE(O, F, V)", STORE=self.support.store_field, **holes)
            trial = quote("STORE(O, F, OLD)", STORE=self.support.store_field, **holes)
        if self.passes:
            assign = quote("STORE(O, F, V)", STORE=self.support.store_past, **holes)
            trial = quote("STORE(O, F, OLD)", STORE=self.support.store_again, **holes)
        guard = self._entry_guard(dependents, name(receiver))
        if guard is None:  # of an object that cannot be a key nothing is kept
            guard = quote_expr(
                "O.__class__ in HASHABLE or HAS_HASH(O)", HASHABLE=self.support.HASHABLE,
                HAS_HASH=self.support.has_hash, **holes,
            )  # fmt: skip
        present = quote_expr("OLD is not MISSING", **holes)
        change = [
            *_branch(present, replace_old, lose_missing),
            *assign,
            *self._adopted(field_relation(field_name), name(self.value)),
            *(gain if replace_new is gain else _branch(present, replace_new, gain)),
        ]
        if at_once:
            change = quote(
                "if OLD.__class__ in FITTING and V.__class__ in FITTING:\n    AT_ONCE\nelse:\n    CHANGE",
                FITTING=self.support.FITTING, AT_ONCE=[*assign, *at_once], CHANGE=change, **holes,
            )  # fmt: skip
        work = [
            *self._unless_followed(assign, holes),
            *self.waiting("note_field(O, F)", assign, **holes),
            *read,
            *quote("if V is OLD:\n    ASSIGN\n    return", ASSIGN=assign, **holes),
            *_branch(present, trial if lose else [], []),
            *self.whole([*change, *self.settled()], assign, receiver, field_name),
        ]
        if self._entry_tags(dependents) and field_name not in self.plan.class_fields:
            self.guards[field_name] = self._names_of(dependents)
            entry = self._noted_entry((receiver, self.old, self.value))
            if entry is not None:
                self.entries[field_name] = entry
        on_class = quote(
            "if isinstance(O, type):\n    raise ON_CLASS(F)", ON_CLASS=self.support.on_class, **holes
        ) if field_name in self.plan.class_fields and not self.support.unmarked else []  # fmt: skip
        cost = event_cost(self.plan, field_relation(field_name))
        docs = f"{receiver}.{field_name} = {self.value}: {cost}"
        if field_name in self.guards and "inlining" not in self.plan.without:
            changer = self.changers[field_name] = self.supply.fresh(f"change_{field_name}")
            self._define(changer, [self.value, receiver], f"{docs}, of an object that matters", work)
            work = quote("F(V, O)", F=changer, V=self.value, O=receiver)
        body = [*on_class, *self._guarded(guard, work, assign)]
        self._define(setter, [self.value, receiver], docs, body)
        remove: list[ast.stmt] = [ast.Delete([ast.Attribute(name(receiver), field_name, ast.Del())])]
        if self.follows:
            remove = quote("DROP(O, F)", DROP=self.support.drop_field, **holes)
        if self.passes:
            remove = quote("DROP(O, F)", DROP=self.support.drop_past, **holes)
        # A class attribute may stand in once the object's own is gone, and stays where there is none.
        stays = quote("V = getattr(O, F, MISSING)", **holes)
        if self.support.unmarked:  # or does not matter
            stays = quote(
                "try:\n    V = NOW\nexcept AttributeError:\n    V = MISSING", NOW=present_now, **holes
            )
        after = [
            *stays,
            *_branch(quote_expr("V is not MISSING", **holes), gain, gain_missing),
            *self.settled(),
        ]
        failed: Holes = {
            "FAULT": self.renderer.supply_local("fault"),
            "ERROR": self.renderer.supply_local("error"),
            "MISSING": self.support.MISSING,
        }
        removed = quote(
            "try:\n    REMOVE\n    FAULT = None\nexcept Exception as ERROR:\n    FAULT = ERROR",
            REMOVE=remove,
            **failed,
        )
        work = [
            *self._unless_followed(remove, holes),
            *self.waiting("note_field(O, F)", remove, **holes),
            *quote("FAULT = MISSING", **failed),
            *read,
            *self.whole(
                [*_branch(present, lose, lose_missing), *removed, *after],
                quote("if FAULT is MISSING:\n    REMOVED", REMOVED=removed, **failed),
                receiver,
                field_name,
            ),
            *quote(
                "if FAULT is not None:\n    try:\n        raise FAULT\n    finally:\n        FAULT = None",
                **failed,
            ),
        ]
        body = [*on_class, *self._guarded(guard, work, remove)]
        self._define(deleter, [receiver], f"del {receiver}.{field_name}: {cost}", body)

    def _unless_followed(self, update: list[ast.stmt], holes: Holes) -> list[ast.stmt]:
        """Unmarked queries read no field of an object that is not followed."""
        if not self.support.unmarked:
            return []
        test = "if not FOLLOWS(O, F):\n    UPDATE\n    return"
        return quote(test, FOLLOWS=self.support.is_followed, UPDATE=update, **holes)

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
        ], add)  # fmt: skip
        found = self._found(dependents, holes)
        shrink = self.whole([
            *found,
            *self._half("before_discard", halves), *discard, *self._half("after_discard", halves),
            *self.settled(),
        ], discard)  # fmt: skip
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
        return quote("if X.__class__ not in ALONE:\n    X = STORED(S, X)", ALONE=self.support.ALONE, **holes)

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
        self.renderer.noted.clear()
        halves = self._halves_of(event, known)
        entry = self._noted_entry((element,))
        if entry is not None:
            self.set_entries[fixed] = entry
        holes: Holes = {
            "S": source, "X": element, "ADD": self.bound[fixed]["add"],
            "DISCARD": self.bound[fixed]["discard"], "STORED": self.support.stored,
        }  # fmt: skip
        add, discard = quote("ADD(X)", **holes), quote("DISCARD(X)", **holes)
        grow = self.whole([
            *halves["before_add"], *add, *halves["after_add"], *self.settled(),
        ], add)  # fmt: skip
        found = self._found(dependents, holes)
        shrink = self.whole([
            *found, *halves["before_discard"], *discard, *halves["after_discard"], *self.settled(),
        ], discard)  # fmt: skip
        if self.plan.only_adds and any(self._left_out_counts(q) for q in self.plan.queries):
            shrink = quote("raise NEVER()", NEVER=self.support.only_adds)
        noted = "note_element(S, X)"
        grow = [*self.waiting(noted, add, **holes), *grow]
        shrink = [*self.waiting(noted, discard, **holes), *shrink]
        if "inlining" in self.plan.without:
            return self._switched_methods(grow, shrink, holes)
        asking = self._switched_methods(quote("S._put_(X)", **holes), quote("S._take_(X)", **holes), holes)
        return {**asking, "_put_": grow, "_take_": shrink}

    def _noted_entry(self, names: tuple[str, ...]) -> Entry | None:
        """What decides about an update whose blocks were just rendered."""
        if self.batch is not None or self.reenters or self.adopt is not None:
            return None  # an update that concerns nobody has still something to note
        structures = {i.name for i in self.plan.structures()}
        return common_entry([find_entry(ops, names, structures) for ops in self.renderer.noted], names)

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
            "before_add": self._run(self._before(dependents, only_watching=True), event, False, known),
            "after_add": [
                *self._adopted(MEMBER, event.columns[1]),
                *self._run(self._after(dependents), event, True, known),
            ],
            "before_discard": self._run(self._before(dependents), event, False, known),
            "after_discard": self._run(self._after(dependents, only_watching=True), event, True, known),
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

    def set_cost(self) -> str:
        return event_cost(self.plan, MEMBER, CONTENT)

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
            *quote("if K.__class__ not in ALONE:\n    K = STORED(M, K)", ALONE=self.support.ALONE, **holes),
            *quote("OLD = M[K]", **holes),
            *quote("if V is OLD:\n    SET(M, K, V)\n    return", **holes),
            *self.whole(
                [
                    *self._run(self._before(items), replaced_old, False),
                    *store,
                    *self._adopted(ITEM, name(self.value)),
                    *self._run(self._after(items), replaced_new, True),
                    *self.settled(),
                ],
                store,
            ),
        ]
        fresh = self.whole(
            [
                *quote("OLD = MISSING", **holes),
                *run(self._before(everything, only_watching=True), old, False),
                *store,
                *self._adopted(MEMBER, name(key)),
                *self._adopted(ITEM, name(self.value)),
                *run(self._after(everything), new, True),
                *self.settled(),
            ],
            store,
        )
        gone = [
            *quote("OLD = M[K]\nV = MISSING\nK = STORED(M, K)", **holes),
            *self.whole(
                [
                    *run(self._before(everything), old, False),
                    *delete,
                    *run(self._after(everything, only_watching=True), new, True),
                    *self.settled(),
                ],
                quote("if K in M:\n    DELETE(M, K)", **holes),
            ),
        ]
        change = quote("if K in M:\n    REPLACE\nelse:\n    FRESH", REPLACE=replace, FRESH=fresh, **holes)
        begin = [  # a key that asks does so before it is told whether anybody asks
            *self.settling_batch(), *quote("K in M" if self.keys_act else "", **holes)
        ]  # fmt: skip
        return {
            "__setitem__": [*begin, *self._guarded(guard, change, store, False)],
            "__delitem__": [*begin, *self._guarded(guard, gone, delete, False)],
        }

    # -- lists ------------------------------------------------------------------------------------

    def list_methods(self) -> dict[str, list[ast.stmt]]:
        """The bodies of `List.put` and `List.take`: an element is new, once more there, or gone."""
        if not self.tracks_lists:
            return {}
        dependents = [d for r in (MEMBER, CONTENT, COUNT) for d in self.plan.dependents(r)]
        again = [*self.plan.dependents(CONTENT), *self.plan.dependents(COUNT)]
        again.sort(key=lambda d: self.plan.invariants.index(d[0]))
        names = {n: self.renderer.supply_local(n) for n in ("s", "at", "x", "counts", "n", "size")}
        source, element, given = names["s"], names["x"], self.renderer.supply_local("given")
        repeated = Event((name(source), name(element)), frozenset({Kind.CONTENT, Kind.COUNT}), NO_FIXED)
        guard = self._known_guard(dependents, source)
        holes: Holes = {
            "S": source, "X": element, "AT": names["at"], "C": names["counts"], "N": names["n"],
            "SIZE": names["size"],
            "INSERT": self.support.list_insert, "POP": self.support.list_pop,
            "KEYABLE": self.support.keyable, "STORED": self.support.stored,
        }  # fmt: skip
        insert, pop = quote("INSERT(S, AT, X)", **holes), quote("POP(S, AT)", **holes)
        found = quote("X = STORED(C, X)", **holes)  # maintenance knows an element by the first that equals it
        inserted = quote("INSERT(S, AT, GIVEN)", GIVEN=given, **holes)
        before = self._run(self._before(again, only_watching=True), repeated, False)
        after = self._run(self._after(again, only_watching=True), repeated, True)
        grow = [
            *self._half("before_add"), *insert, *quote("C[X] = 1", **holes), *self._half("after_add"),
        ]  # fmt: skip
        told = "APART(X, GIVEN)" if self.support.unmarked else ""
        grow_again = [
            *quote("GIVEN = X", GIVEN=given, **holes), *found,
            *quote(told, APART=self.support.tell_apart, GIVEN=given, **holes),
            *before, *inserted, *quote("C[X] = N + 1", **holes), *after,
        ]  # fmt: skip
        shrink = [
            *found,
            *self._half("before_discard"), *pop, *quote("del C[X]", **holes), *self._half("after_discard"),
        ]  # fmt: skip
        shrink_once = [*found, *before, *pop, *quote("C[X] = N - 1", **holes), *after]
        if self.plan.only_adds and any(self._left_out_counts(q) for q in self.plan.queries):
            shrink = quote("raise NEVER()", NEVER=self.support.only_adds)
        grown = quote(
            "N = C.get(X, 0)\nif N:\n    AGAIN\nelse:\n    GROW", AGAIN=grow_again, GROW=grow, **holes
        )
        shrunk = quote(
            "N = C[X]\nif N > 1:\n    ONCE\nelse:\n    SHRINK", ONCE=shrink_once, SHRINK=shrink, **holes
        )
        matters = ast.BoolOp(ast.And(), [guard, quote_expr("KEYABLE(X)", **holes)])
        change = "if not MATTERS:\n    S._counts_ = None\n    PLAINLY\n    return\n"
        change += "C = S._bag_()\nSIZE = len(S)\nWHOLE"
        counted = "try:\n    WORK\nexcept BaseException:\n    S._counts_ = None\n    raise"
        methods = {
            method: [
                *self.settling_batch(),
                *quote(
                    change,
                    MATTERS=matters,
                    PLAINLY=plainly,
                    WHOLE=self.whole(
                        quote(counted, WORK=[*work, *self.settled()], **holes),
                        quote("if len(S) == SIZE:\n    PLAINLY", PLAINLY=plainly, **holes),
                    ),
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


def _size(statements: list[ast.stmt]) -> int:
    return sum(isinstance(node, ast.stmt) for s in statements for node in ast.walk(s))


def _branch(test: ast.expr, yes: list[ast.stmt], no: list[ast.stmt]) -> list[ast.stmt]:
    """`if test: yes else: no`, without empty arms."""
    if not yes and not no:
        return []
    if not yes:
        return [ast.If(ast.UnaryOp(ast.Not(), test), no, [])]
    return [ast.If(test, yes, no)]
