"""Render the events of demand and of tags: answers begin and cease to be kept (paper, sections 4 and 5.2)."""

from __future__ import annotations

import ast

from incoq.codegen.kept_answers import Form, form_of, value_of
from incoq.codegen.maintenance import Dependent, tuple_of
from incoq.codegen.quote import Holes, commented, quote, quote_expr
from incoq.codegen.render_block import Event
from incoq.codegen.render_nested import NestedRenderer
from incoq.invariants.event_costs import event_cost
from incoq.invariants.index_demanded import holds_demanded
from incoq.ir.expressions import name
from incoq.ir.invariants import Store
from incoq.ir.relational import (
    CONTENT,
    ITEM,
    MEMBER,
    SUBSCRIPT,
    Kind,
    Relation,
    RelationalQuery,
    field_relation,
)

ADOPTS = "Enter a set into the indices."  # what the function that does so says of itself


class DemandRenderer(NestedRenderer):
    """Renders what happens when a combination is demanded or released, or an object tagged or not."""

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
                inner = self._run(order(dependents), event, add)
                body = self._count_tag(invariant, name(variable), add, inner)
                word = "enters" if add else "leaves"
                self._define(function, [variable], f"{variable} {word} {invariant.name}.", body)

    def demand_events(self) -> None:
        for query in self.plan.queries:
            self._demand_event(query)

    def _demand_event(self, query: RelationalQuery) -> None:
        relation = Relation(Kind.DEMAND, f"demand_{query.name}")
        dependents = self.plan.dependents(relation)
        result = self.plan.result_of(query.name)
        params = [self.renderer.local(p) for p in query.demand]
        event = Event(tuple(name(p) for p in params))
        key = tuple_of([name(p) for p in params])
        demander, releaser = self.demanders[query.name], self.releasers[query.name]
        if query.is_whole:
            self._demand_whole(query)
            return
        empty = quote_expr("{}") if query.rest else self.empty(query, result)
        evaluate, at_hand = self._evaluated(query, self._after(dependents), event)
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
            *self._adopted(relation, *(name(p) for p in params)),
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
            *self._run(self._released(auxiliary), event, False),
        ]
        self.releasing = False
        self._define(releaser, params, f"Stop maintaining {query.name}{_shown(params)}.", gone)

    def _released(self, auxiliary: list[Dependent]) -> list[Dependent]:
        """Demand has ended already: what holds demanded tuples lets them go while tags and indices are still
        as they were, and what tags then cause sees what is demanded yet."""
        ordered = self._before(auxiliary)
        return sorted(ordered, key=lambda d: not holds_demanded(d[0]))

    def _demand_whole(self, query: RelationalQuery) -> None:
        """Begin and cease to count for all values."""
        relation = Relation(Kind.DEMAND, f"demand_{query.name}")
        dependents = self.plan.dependents(relation)
        holes: Holes = {"R": self.plan.result_of(query.name).name, "C": self.wholes[query.name]}
        self.demanding = query.name
        evaluate = self._run(self._after(dependents), Event(()), True)
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
            *self._run(self._before(auxiliary), Event(()), False),
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
        blocks = self._run(order(dependents), Event((*parts, value)), add)
        holes: Holes = {"V": self.visible[query.name], "K": tuple_of(list(parts)), "X": self.value}
        if query.aggregate is not None:
            return [*quote("X = V[K]", **holes), *blocks]
        return quote("for X in list(V[K]):\n    BLOCKS", BLOCKS=blocks, **holes)

    # -- fixed sets -------------------------------------------------------------------------------

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
            for method, bound in self.bound[fixed].items():
                plain = self.support.names[f"set_{method}"]
                made += quote("B = M.__get__(X)", B=bound, M=plain, X=self.fixed[fixed])
        return commented(made, "the sets that are known by name")

    def _class_of(self, fixed: str) -> str:
        return self.support.PlainSet if fixed in self.plain_sets else self.support.Set

    # -- sets that come within reach --------------------------------------------------------------

    def adoption(self) -> None:
        """Incremental mode keeps indices over all sets that a query may reach: a set is entered when it
        first becomes a field's value, an element or a parameter. Until then its changes concern nobody.
        So is a value with fields that no assignment gave it, such as a date."""
        if self.plan.mode != "incremental":
            return
        parts = {
            field: [d for d in self.plan.dependents(field_relation(field)) if d[0].store is Store.INDEX]
            for field in sorted(self.plan.part_fields)
        }
        parts = {field: found for field, found in parts.items() if found}
        if not parts and not any(map(self.plan.dependents, (MEMBER, ITEM, CONTENT))):
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
        enter = self._run(self._after(indices), Event((name(source), name(element))), True)
        event = Event((name(source), name(element), name(self.value)), frozenset({Kind.ITEM}))
        of_dicts = [d for d in entries if d[0].clauses[d[1].clause].arity != SUBSCRIPT]
        of_any = [d for d in entries if d not in of_dicts]
        self.subscripted = self._subscripted() if of_any else frozenset()
        self.functions += quote("ADOPTED = set()", **holes)
        body: list[ast.stmt] = []
        new = "S not in ADOPTED"
        if parts:
            new = f"(N or {new})"
            holes["N"] = self.renderer.supply_local("new")
            body = quote("N = IS_NEW(S, ADOPTED)", IS_NEW=self.support.is_new, **holes)
        for field, found in parts.items():
            event_of_part = Event((name(source), name(self.value)))
            body += quote(
                "if N:\n"
                "    V = PART(S, F)\n"
                "    if V is not MISSING:\n"
                "        ADOPTED.add(S)\n"
                "        WORK\n"
                "        ADOPT(V)",
                WORK=self._run(self._after(found), event_of_part, True), V=self.value,
                PART=self.support.part, MISSING=self.support.MISSING, F=ast.Constant(field), **holes,
            )  # fmt: skip
        body += quote(
            f"if isinstance(S, CLASSES) and KEYABLE(S) and {new}:\n"
            "    ADOPTED.add(S)\n"
            "    SWITCH\n"
            "    for X in ELEMENTS(S):\n"
            "        ENTER\n"
            "        ELEMENT\n"
            "    for X, V in ITEMS(S):\n"
            "        OF_DICTS\n"
            "        ENTRY\n"
            "    for X, V in SUBSCRIPTS:\n"
            "        OF_ANY\n"
            "        ENTRY",
            OF_DICTS=self._run(self._after(of_dicts), event, True),
            OF_ANY=self._run(self._after(of_any), event, True),
            ELEMENT=self._adopted(MEMBER, name(element)), ENTRY=self._adopted(ITEM, name(self.value)),
            SUBSCRIPTS=quote_expr(
                "() if isinstance(S, LIST) else ENTRIES(S)", LIST=self.support.List,
                ENTRIES=self.support.entries, **holes,
            ) if of_any else quote_expr("ITEMS(S)", ITEMS=self.support.items, **holes),
            CLASSES=quote_expr(
                "(SET, DICT, LIST, tuple, frozenset, range)", SET=self.support.Set, DICT=self.support.Dict,
                LIST=self.support.List,
            ),
            ENTER=enter, ITEMS=self.support.items, V=self.value,
            **holes,
        )  # fmt: skip
        if of_any:  # a text has parts by position, and is no source
            body += quote(
                "if isinstance(S, (str, bytes)) and S not in ADOPTED:\n"
                "    ADOPTED.add(S)\n"
                "    for X, V in ENTRIES(S):\n"
                "        OF_ANY\n"
                "        ADOPT(V)",
                OF_ANY=self._run(self._after(of_any), event, True), V=self.value,
                ENTRIES=self.support.entries, **holes,
            )  # fmt: skip
        self._define(self.adopt, [source], ADOPTS, body)

    def _adopted(self, origin: Relation, *values: ast.expr) -> list[ast.stmt]:
        """Enter what a new tuple of a relation holds; a list is refused where an index of entries by position
        would have to follow it."""
        if self.adopt is None:
            return []
        found: list[ast.stmt] = []
        for number, value in enumerate(values):
            if (origin, number) in self.subscripted:
                found += quote(
                    "if isinstance(V, list):\n    ENTRIES(V)", ENTRIES=self.support.entries, V=value
                )
            found += quote("ADOPT(V)", ADOPT=self.adopt, V=value)
        return found

    def _subscripted(self) -> frozenset[tuple[Relation, int]]:
        """The relations that give what is looked into by a subscript, such as the field of `o.f[k]`; of
        demand, with the number of the parameter."""
        found: set[tuple[Relation, int]] = set()
        for query in self.plan.queries:
            subscripts = (c for c in query.clauses if c.relation.kind is Kind.ITEM and c.arity == SUBSCRIPT)
            looked_into = {c.args[0] for c in subscripts}
            demand = Relation(Kind.DEMAND, f"demand_{query.name}")
            giving = (c for c in query.clauses if looked_into & set(c.args[1:]) and c.relation != demand)
            found |= {(c.relation, 0) for c in giving}
            found |= {(demand, n) for n, p in enumerate(query.demand) if p in looked_into}
        return frozenset(found)


def _shown(params: list[str]) -> str:
    return f"({', '.join(params)})"
