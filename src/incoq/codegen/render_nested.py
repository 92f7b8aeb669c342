"""Pass the changes of nested answers on to the queries that use them, and do updates as a whole.

A nested answer changes while an update is maintained, and others see it as it was until the update is over:
then the changes are passed on, innermost query first. After an exception at whatever point nothing is kept.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from incoq.codegen.kept_answers import Form, form_of, value_of
from incoq.codegen.look_alikes import tells_equals_apart
from incoq.codegen.maintenance import tuple_of
from incoq.codegen.quote import Filling, Holes, quote, quote_expr
from incoq.codegen.render_block import Event
from incoq.codegen.render_heads import HeadRenderer
from incoq.ir.expressions import name
from incoq.ir.invariants import Store
from incoq.ir.relational import (
    Kind,
    Relation,
    RelationalQuery,
)


class NestedRenderer(HeadRenderer):
    """Renders what begins and ends the maintenance of every update."""

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
            target = tuple_of([ast.Name(p, ast.Store()) for p in params])
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
                lose = self._run(self._before(dependents), old, False)
                gain = self._run(self._after(dependents), new, True)
            return quote(
                "while D:\n    K = D.popitem()[0]\n    OLD = V[K]\n    NEW = SEEN\n"
                f"    if {is_other}:\n        UNPACK\n        LOSE\n        V[K] = NEW\n        GAIN",
                LOSE=lose, GAIN=gain, SEEN=self._seen(query, name(key)), **holes,
            )  # fmt: skip
        event = Event((*parts, name(self.value)))
        holes["LOSE"] = self._run(self._before(dependents), event, False)
        holes["GAIN"] = self._run(self._after(dependents), event, True)
        if tells_equals_apart(self.plan, dependents):  # what is taken away is what was passed on
            change = (
                "if E in V[K] and (E not in R[K] or UNLIKE(STORED(V[K], E), STORED(R[K], E))):\n"
                "    if E.__class__ not in ALONE:\n        E = STORED(V[K], E)\n"
                "    LOSE\n    V[K].discard(E)\n"
                "if E in R[K] and E not in V[K]:\n"
                "    if E.__class__ not in ALONE:\n        E = STORED(R[K], E)\n"
                "    V[K].add(E)\n    GAIN"
            )
        else:
            change = (
                "if E in R[K]:\n    if E not in V[K]:\n        V[K].add(E)\n        GAIN\n"
                "elif E in V[K]:\n    LOSE\n    V[K].discard(E)"
            )
        holes |= {n.upper(): getattr(self.support, n) for n in ("unlike", "stored")}
        return quote(
            "while D:\n    K, ES = D.popitem()\n    UNPACK\n    for E in ES:\n        CHANGE",
            CHANGE=quote(change, ALONE=self.support.ALONE, **holes), **holes,
        )  # fmt: skip

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

    def _seen(self, query: RelationalQuery, key: ast.expr) -> ast.expr:
        """What other queries see of an aggregate: its value, or that it has none."""
        kept = quote_expr("R[K]", R=self.plan.result_of(query.name).name, K=key)
        if form_of(self.plan, query) is Form.OBJECT:
            return quote_expr("CURRENT(A)", CURRENT=self.support.current, A=kept)
        return value_of(self.plan, query, kept)

    # -- exceptions and batches -------------------------------------------------------------------

    def whole(
        self, work: list[ast.stmt], instead: list[ast.stmt], receiver: str = "", field_name: str = ""
    ) -> list[ast.stmt]:
        """Maintenance that is done as a whole or, after an exception at whatever point of it, not at all. The
        receiver of an assignment may be in no index at that point. Where a combination raises what it may not
        raise again, nothing is kept, and `instead` does the rest of what the program wants."""
        if not self.plan.invariants or not work:
            return work
        told: ast.expr = ast.Constant(None)
        if receiver:
            told = ast.Tuple([name(receiver), ast.Constant(field_name)], ast.Load())
        # Calls nothing, since there may be no stack left; if `recover` fails, the next use does it.
        call = quote(
            "STALE[:0] = REFUSED[:0] = (TOLD,)\nfor NAMES in SPACES:\n    NAMES |= HIDDEN\nRECOVER()",
            TOLD=told, STALE=self.support.STALE, REFUSED=self.support.REFUSED, RECOVER=self.support.recover,
            NAMES=self.renderer.supply_local("names"), SPACES=self.support.SPACES, HIDDEN=self.support.HIDDEN,
        )  # fmt: skip
        holes: Holes = {"WORK": work, "CALL": call, "DOUBT": self.support.Doubt, "DOUBTED": call}
        if instead:
            holes["DOUBTED"] = quote("try:\n    INSTEAD\nfinally:\n    CALL", INSTEAD=instead, **holes)
        handled = "WORK\nexcept DOUBT:\n    DOUBTED\nexcept BaseException:\n    CALL\n    raise"
        holes |= {"STALE": self.support.STALE, "RECOVER": self.support.recover}
        if not self.reenters:
            return quote(f"if STALE:\n    RECOVER()\ntry:\n    {handled}", **holes)
        begun = (
            "if BUSY:\n    raise REENTERED()\ntry:\n    BUSY[:] = (True,)\n    if STALE:\n        RECOVER()"
        )
        return quote(
            f"{begun}\n    {handled}\nfinally:\n    BUSY[:] = ()",  # whatever ends it, `recover` too
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
                f"LOST.update(((DEMAND, {key}), None) for K in R)", R=answers, DEMAND=demand,
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
