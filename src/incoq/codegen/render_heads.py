"""Change what is kept when a combination of an invariant's clauses comes or goes (paper, section 5.2).

Before:    u enters tag_u; (group, u) enters fil_inv_member_2; 'a@b' enters r_nyc_fans[celeb, group]
After:     tag_u[u] = tag_u.get(u, 0) + 1; ...; answer = r_nyc_fans[celeb, group]; answer.add('a@b')
Invariant: what reacts to a change of a tag or a join is done in place, or in the tag's function
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial

from incoq.codegen.kept_answers import Form, form_of, step_of
from incoq.codegen.lower_tests import can_raise, lower_test
from incoq.codegen.maintenance import Dependent, Maintenance, tuple_of
from incoq.codegen.merge_blocks import merge_blocks
from incoq.codegen.quote import Holes, commented, fill, quote, quote_expr
from incoq.codegen.render_block import Event, Scope
from incoq.ir.expressions import Expr, name, names_in
from incoq.ir.invariants import Block, Invariant, Store
from incoq.ir.relational import (
    COUNT,
    Kind,
    Relation,
    RelationalQuery,
    Test,
)

BAGS = ("len", "sum", "mean", "any", "all", "exists", "value")  # need no keys where they take a bag


class HeadRenderer(Maintenance):
    """Renders the blocks of invariants with the changes of their heads."""

    def _run(
        self, dependents: list[Dependent], event: Event, add: bool, known: frozenset[str] = frozenset()
    ) -> list[ast.stmt]:
        """The blocks of some invariants; the event's object is in the tags `known` already."""
        statements: list[ast.stmt] = []
        for invariant, block in dependents:
            change = partial(self._change, invariant, add=add)
            self.fitting = self._new_element(invariant, block, event)
            body = self.renderer.block(invariant, block, event, change, known)
            if self.fitting and body:
                body = self._if_fitting(invariant, body)
            self.fitting = ""
            if body:
                cost = block.covers.best.cost
                clause = invariant.clauses[block.clause]
                sign = "+=" if add else "-="
                statements += commented(
                    body,
                    f"{invariant.name} for {clause.relation} {sign} ({', '.join(clause.args)}): O({cost})",
                )
        return merge_blocks(statements, self.quiet)

    def _new_element(self, invariant: Invariant, block: Block, event: Event) -> str:
        """The name of a field's value that is the element of all combinations that a block goes through; an
        aggregate asks what it needs itself, a bag nothing."""
        if self.by_name[invariant.query].aggregate is not None:
            return ""
        clause, column = invariant.clauses[block.clause], event.columns[-1:]
        match invariant.result, column:
            case Test(expr=Expr(node=ast.Name(id=element))), (ast.Name(id=given),):
                is_given = clause.relation.kind is Kind.FIELD and clause.args[-1] == element
                return given if is_given and block.covers.best.cost.factors else ""
        return ""

    def _if_fitting(self, invariant: Invariant, work: list[ast.stmt]) -> list[ast.stmt]:
        """Ask once whether what is to be the element of many combinations can be one."""
        return quote(
            "try:\n    V.__class__ in FITTING or FITS(V)\n    OK = True\n"
            "except Exception as ERROR:\n    OK = SKIP(ERROR)\nif OK:\n    WORK",
            V=self.fitting, FITTING=self.support.FITTING, FITS=self.support.fits, WORK=work,
            OK=self.renderer.supply_local("ok"), **self.renderer.skipping(invariant.query),
        )  # fmt: skip

    def _before(self, dependents: list[Dependent], only_watching: bool = False) -> list[Dependent]:
        """Outermost query first; of a query the result, the demand of nested ones, then auxiliary values
        from demand outwards."""
        chosen = [d for d in dependents if _watches(d) or not only_watching]
        level = {query.name: -number for number, query in enumerate(self.plan.queries)}
        rank = {Store.RESULT: 0, Store.NEED: 1}
        chosen.reverse()

        def place(dependent: Dependent) -> tuple[int, int, int]:
            invariant = dependent[0]
            if invariant.store not in rank or invariant.clauses[0].relation.kind is Kind.JOIN:
                return level[invariant.query], 2, invariant.depth  # the result of joins is the last of them
            return level[invariant.query], rank[invariant.store], -invariant.depth

        return sorted(chosen, key=place)

    def _after(self, dependents: list[Dependent], only_watching: bool = False) -> list[Dependent]:
        """Auxiliary values from the far end, then results."""
        return list(reversed(self._before(dependents, only_watching)))

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
        key = tuple_of([scope.get(v) for v in invariant.head[: invariant.key]])
        value = tuple_of([scope.get(v) for v in invariant.head[invariant.key :]])
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
        if self.replaced:
            dependents = [
                d
                for d in dependents
                if d[0].store is Store.JOIN
                or (d[0].store is Store.RESULT if self.only_results else self.replaced in d[0].head)
            ]
        order = self._after if add else self._before
        event = Event(tuple(scope.get(v) for v in invariant.head))
        return self._run(order(dependents), event, add)

    # -- the element of many combinations gets another value

    def replace_element(
        self, dependents: list[Dependent], event: Event, new: ast.expr, known: frozenset[str]
    ) -> list[ast.stmt]:
        """One walk through the combinations where an assignment would need two, the one that takes the old
        element away and the one that puts the new one in: the value is their element, and nothing else."""
        if len(dependents) != 1 or self.adopt is not None or "walks" in self.plan.without:
            return []
        [(invariant, block)] = dependents
        query, old = self.by_name[invariant.query], self._new_element(invariant, block, event)
        if invariant.store is not Store.RESULT or _watches(dependents[0]) or query.rest or not old:
            return []

        def change(scope: Scope) -> list[ast.stmt]:
            taken = self._change_result(invariant, scope, add=False)
            put = [_replace(s, old, new) for s in self._change_result(invariant, scope, add=True)]
            fetched = ast.dump(taken[0]) == ast.dump(put[0])
            return [*taken, *(put[1:] if fetched else put)]

        self.fitting, noted = old, list(self.renderer.noted)
        event = replace(event, successor=new)
        walk = self.renderer.block(invariant, block, event, lambda scope: quote("pass"), known)
        body = self.renderer.block(invariant, block, event, change, known)
        self.fitting, self.renderer.noted[:] = "", noted
        if any(old in names_in(statement) for statement in walk):
            return []  # a condition depends on it, too
        clause, cost = invariant.clauses[block.clause], block.covers.best.cost
        about = f"{invariant.name} for {clause.relation} := ({', '.join(clause.args)}): O({cost})"
        return commented(body, about)

    # -- flags, which indices of joins leave out, see join_stages.told

    def flags(self, dependents: list[Dependent]) -> dict[str, str]:
        """The flags that an assignment of their field replaces, by the join that holds them first."""
        return {
            invariant.name: value
            for invariant, block in dependents
            for value, owner, _ in invariant.told
            if invariant.clauses[block.clause].args == (owner, value)
        }

    def replace_flags(
        self, dependents: list[Dependent], event: Event, add: bool, known: frozenset[str]
    ) -> list[ast.stmt]:
        """A flag gets another value: combinations come or go with it where its truth says so, and indices
        that do not hold it stay as they are."""
        statements: list[ast.stmt] = []
        flags = self.flags(dependents)
        value = event.columns[-1]
        for dependent in dependents:
            invariant = dependent[0]
            if invariant.name not in flags:
                statements += self._run([dependent], event, add, known)
                continue
            flag = self.replaced = flags[invariant.name]
            query = self.by_name[invariant.query]
            tests = [test for test in self.plan.result_of(query.name).tests if test.names == {flag}]
            self.only_results, self.renderer.assumed = True, frozenset(tests)
            work = self._run([dependent], event, add, known)
            self.only_results, self.renderer.assumed = False, frozenset()
            for test in tests if work else ():
                asked = lower_test(test.expr.node, self.support, {flag: value}, True, query.usual)
                work = quote(
                    "try:\n    OK = True if TEST else False\n"
                    "except Exception as ERROR:\n    OK = SKIP(ERROR)\nif OK:\n    WORK",
                    OK=self.renderer.supply_local("ok"), TEST=asked, WORK=work,
                    **self.renderer.skipping(query.name),
                )  # fmt: skip
            statements += work
            holding = self._run([dependent], event, add, known)
            self.replaced = ""
            if holding:
                asked = quote_expr(
                    "V.__class__ not in NO_SETS and W(V)", V=value, NO_SETS=self.support.NO_SETS,
                    W=self.support.watchable,
                )  # fmt: skip
                statements.append(ast.If(asked, holding, []))
        return statements

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
        key = tuple_of(parts)
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
        key = tuple_of([scope.get(v) for v in invariant.head[: invariant.key]])
        rest = [scope.get(v) for v in invariant.head[invariant.key :]]
        holes: Holes = {
            "R": invariant.name, "K": key, "A": self.answer, "E": self.element, "N": self.count,
            "VALUE": value, "FITTING": self.support.FITTING, "FITS": self.support.fits,
        }  # fmt: skip
        kept = name(scope.kept) if scope.kept else quote_expr("R[K]", **holes)
        fetch = quote("A = KEPT", KEPT=kept, **holes)
        clean: list[ast.stmt] = []
        if rest and not query.is_whole:
            inner = tuple_of(rest)
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
        keyed = unhashed or (self._keyed(invariant) and not self.unhashables)
        keyed = keyed or (isinstance(value, ast.Name) and value.id == self.fitting)
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
        if kind == "dict":  # the value of an entry needs no hash; one that has none gets it
            entry = "FITS(E[0])\nE[1].__class__ in FITTING or KEYABLE(E[1])"
            fitting = quote(entry, KEYABLE=self.support.keyable, **holes)
        skipping = self.renderer.skipping(invariant.query)
        return quote(
            "try:\n    E = VALUE\n    HASH\nexcept Exception as ERROR:\n    SKIP(ERROR)\nelse:\n    STORE",
            HASH=[] if unhashed else fitting,
            STORE=[*fetch, *store, *clean],
            **{**holes, **skipping},
        )

    def _keyed(self, invariant: Invariant) -> bool:
        names = invariant.result.names if invariant.result is not None else frozenset()
        keyed = {
            v for c in invariant.clauses if c.relation.kind is Kind.MEMBER and not c.watch for v in c.args[1:]
        } | set(invariant.clauses[0].args)  # fmt: skip
        return names <= keyed

    # -- counts that are kept whole, see keep_whole.py

    def _step_whole(self, query: RelationalQuery, parts: list[ast.expr], add: bool) -> list[ast.stmt]:
        """One combination more or less for a count that is kept whole; the outer query sees it at once."""
        holes: Holes = {
            "C": self.wholes[query.name], "K": tuple_of(parts), "OLD": self.old, "NEW": self.value,
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
        old, new = name(self.old), name(self.value)
        test = self.renderer.equal_themselves(query.name, parts)
        if all(self._only_tests(query, d) for d in dependents):
            return self._turn(dependents, Event((*parts, old), after=new), test), []
        lose = self._run(self._before(dependents), Event((*parts, old)), False)
        gain = self._run(self._after(dependents), Event((*parts, new)), True)
        return _under(test, lose), _under(test, gain)

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

    def _turn(
        self, dependents: list[Dependent], event: Event, test: ast.expr | None = None
    ) -> list[ast.stmt]:
        """A value becomes another one: what a condition now says otherwise comes or goes, nothing else, and
        that only where the test holds."""
        found: list[ast.stmt] = []
        for invariant, block in self._before(dependents):

            def change(scope: Scope, invariant: Invariant = invariant) -> list[ast.stmt]:
                change = quote(
                    "if NOW:\n    COME\nelse:\n    GO", NOW=self.renderer.supply_local("now_ok"),
                    COME=self._change(invariant, scope, True), GO=self._change(invariant, scope, False),
                )  # fmt: skip
                return _under(test, change)

            body = self.renderer.block(invariant, block, event, change)
            cost, clause = block.covers.best.cost, invariant.clauses[block.clause]
            shown = ", ".join(clause.args)
            found += commented(body, f"{invariant.name} for {clause.relation} := ({shown}): O({cost})")
        return found


def _under(test: ast.expr | None, work: list[ast.stmt]) -> list[ast.stmt]:
    """The work, where a test holds."""
    return [ast.If(test, work, [])] if test is not None and work else work


def _watches(dependent: Dependent) -> bool:
    invariant, block = dependent
    return invariant.clauses[block.clause].watch


def _replace(statement: ast.stmt, identifier: str, value: ast.expr) -> ast.stmt:
    """`statement` with a name replaced by an expression."""
    result = fill(statement, {identifier: value})
    assert isinstance(result, ast.stmt)
    return result
