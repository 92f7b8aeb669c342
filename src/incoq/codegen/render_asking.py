"""Render what a program asks by: the answer of a query, a view, the begin and end of demand.

Before:    @query
           def fans(celeb): ...
After:     def ask_fans(celeb):
               try:
                   return shown_fans[celeb]
               except (KeyError, TypeError):
                   pass
               return find_fans(celeb)
Cost:      what was asked before is one look-up
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from incoq.codegen.kept_answers import value_of
from incoq.codegen.lower_tests import Support, lower_test
from incoq.codegen.maintenance import tuple_of
from incoq.codegen.quote import Holes, quote, quote_expr
from incoq.codegen.render_events import EventRenderer
from incoq.ir.expressions import name
from incoq.ir.invariants import Plan
from incoq.ir.objects import Value
from incoq.ir.relational import SUBSCRIPT, Kind, RelationalQuery
from incoq.names import NameSupply


class Asking:
    """The functions that a program asks: answer, view, demand, release."""

    def __init__(
        self, plan: Plan, support: Support, supply: NameSupply, events: EventRenderer, weakly: str = ""
    ) -> None:
        self.plan, self.support, self.supply, self.events = plan, support, supply, events
        self.weakly = weakly  # the object that releases what is garbage, in a program that has one
        self.stores: list[ast.stmt] = []
        self.functions: list[ast.stmt] = []
        self.ask: dict[str, str] = {}
        self.view: dict[str, str] = {}
        self.demand: dict[str, str] = {}
        self.release: dict[str, str] = {}
        self.demanded: dict[str, str] = {}
        self.usual: dict[str, str] = {}
        self.shown: dict[str, str] = {}
        self.at_once: dict[str, str] = {}
        self.kept: list[tuple[str, str, str]] = []  # see EventRenderer.forgetting

    def build(self) -> None:
        for query in self.plan.queries:
            if not query.nested:
                self._query(query)
            if query.faults:
                self._usual(query)

    def _usual(self, query: RelationalQuery) -> None:
        """An unmarked query: its answer where nothing would raise, from the second time on that it is asked
        for, and what Python gives otherwise."""
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
        odd: list[ast.expr] = [
            quote_expr("not (type(P) in ALONE or EXACT(P))", P=p, ALONE=self.support.ALONE_EQUAL,
                       EXACT=self.support.is_exact)
            for p in params
        ]  # fmt: skip
        asked_before = self.supply.fresh(f"asked_{query.name}")
        self.stores += quote("A = {}", A=asked_before)
        first = quote_expr(
            "FIRST(A, K)", FIRST=self.support.asked_first, A=asked_before,
            K=ast.Tuple([name(p) for p in params], ast.Load()),
        )  # fmt: skip
        made = quote(
            "def FUNCTION():\n"
            "    try:\n"
            "        if FAULT:\n            return ORIGINAL()\n"
            "        A = ASK\n"
            "        EXACT\n"
            "    except Exception:\n        return ORIGINAL()\n"
            f"    return {own}",
            FUNCTION=function, ORIGINAL=original, A=self.events.answer, ASK=asked[-1], EXACT=exact,
            FAULT=ast.BoolOp(ast.Or(), [*odd, first, *asked[:-1]]),
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
            find += quote(
                "try:\n    A = A.get(P, NOTHING)\n"
                "except TypeError:\n    A = ANSWER_OF(A, P, NAME)\n    if A is None:\n        A = NOTHING",
                P=_tuple(rest), NOTHING=nothing, **holes,
            )  # fmt: skip
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
        due: list[ast.stmt] = []
        if query.keep.policy == "weak":
            due = quote("if WEAKLY.is_due:\n    WEAKLY.release()", WEAKLY=self.weakly)
        body = quote(
            "def SLOW():\n"
            "    FIRST\n"
            "    if REFUSED:\n        CHECK()\n"
            "    AGAIN\n"
            "    DUE\n"
            "    FIND\n"
            "    if REFUSED:\n        CHECK()\n"
            "    FAILED\n"
            "    return ANSWER",
            FIND=find,
            FAILED=self._failed(query, key),
            SLOW=slow,
            AGAIN=lost,
            DUE=due,
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
        viewed = "return VIEWCLASS(lambda: ASKED)"
        if query.aggregate is not None:
            viewed = "raise TypeError('only a set query has a view')"
        body += quote(f"def VIEW():\n    ASKED\n    {viewed}", ASKED=again, **holes)
        noted = self._note(query, key, holes)
        begun = quote("if A is None:\n    BEGIN\nNOTED", BEGIN=begin, NOTED=noted, **holes)
        again_later: list[ast.stmt] = []
        never: list[ast.stmt] = []
        if query.keep.policy == "explicit":
            keys = ast.Tuple([name(p) for p in demand], ast.Load())
            again_later = quote("LOST[KEEP, KEYS] = None", LOST=self.support.LOST, KEYS=keys, **holes)
            never = quote("LOST.pop((KEEP, KEYS), None)", LOST=self.support.LOST, KEYS=keys, **holes)
        body += quote(
            "def KEEP():\n    SETTLED\n    DUE\n    A = ANSWER_OF(R, K, NAME)\n    BEGUN",
            BEGUN=self.events.whole(begun, again_later), SETTLED=self.events.settling_batch(), DUE=due,
            **holes,
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
        valued = query.aggregate is None or query.aggregate.kind != "value"
        if kept and valued and not params and not first and "inlining" not in self.plan.without:
            answers: Holes = {**holes, "R": self.shown[query.name]}
            answer = value_of(self.plan, query, quote_expr("R[K]", **answers))
            text = quote_expr("A if R else ASK()", **{**answers, "A": answer})
            self.at_once[query.name] = f"({ast.unparse(text)})"
        shown = [p for p in query.demand if p not in query.hidden]
        made = quote(
            "X = CLS(R, S, W)", X=demanded, CLS=self.support.Demanded, R=asked or result.name,
            S=ast.Constant(len(shown)), W=ast.Constant(len(demand)),
        )  # fmt: skip
        if query.keep.policy == "explicit":
            assert isinstance(made[0], ast.Assign) and isinstance(made[0].value, ast.Call)
            made[0].value.args.append(quote_expr("lambda: KEEP", **holes))
        elif query.keep.policy == "weak":
            assert isinstance(made[0], ast.Assign) and isinstance(made[0].value, ast.Call)
            made[0].value.func = name(self.support.WeaklyDemanded)
            made[0].value.args.append(quote_expr("lambda: W", W=self.weakly))
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
        self.shown[query.name] = shown
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

    def _failed(self, query: RelationalQuery, key: ast.expr) -> list[ast.stmt]:
        """An expression that has no value is evaluated once more, for what it raises."""
        if query.aggregate is None or query.aggregate.kind != "value":
            return []
        again = self._again(query)
        return quote(
            "if not A.values:\n    EVALUATED\n    raise A.error or ValueError('the expression has no value')",
            EVALUATED=quote(
                "if R.get(K) is A:\n    return E", R=self.plan.result_of(query.name).name, K=key, E=again,
                A=self.events.answer,
            ) if again is not None else [],
            A=self.events.answer,
        )  # fmt: skip

    def _again(self, query: RelationalQuery, given: Sequence[ast.expr] = ()) -> ast.expr | None:
        """The expression of a query, of its parameters or what is given for them, by what is kept of those in
        it; None where some of it is not."""
        local = self.events.renderer.local
        params = given or [name(local(p)) for p in query.all_params]
        read: dict[str, ast.expr] = dict(zip(query.all_params, params, strict=True))
        queries = {q.name: q for q in self.plan.queries}
        for clause in query.clauses:
            source = [read[a] for a in clause.args[:-1] if a in read]
            if len(source) < len(clause.args) - 1:
                continue
            match clause.relation.kind:
                case Kind.FIELD:
                    read[clause.args[-1]] = self.support.field_of(source[0], clause.field)
                case Kind.ITEM if clause.arity == SUBSCRIPT:
                    if isinstance(clause.pattern, Value):  # a key that is written out
                        source.append(clause.pattern.expr.node)
                    read[clause.args[-1]] = ast.Call(name(self.support.item), source, [])
                case Kind.VALUE if not (nested := queries[clause.relation.name]).rest:
                    kept = quote_expr("R[K]", R=self.plan.result_of(nested.name).name, K=tuple_of(source))
                    alone = nested.aggregate is not None and nested.aggregate.kind == "value"
                    again = self._again(nested, source) if alone else None
                    read[clause.args[-1]] = again or value_of(self.plan, nested, kept)
        result = self.plan.result_of(query.name).result
        assert result is not None
        if not result.names <= read.keys():
            return None
        return lower_test(result.expr.node, self.support, read, usual=query.usual)

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
            valued = query.aggregate is not None and query.aggregate.kind == "value"
            again = self._again(query) if valued else None
            fault = quote(
                "if not A.values:\n    try:\n        E\n    except Exception as X:\n        A.error = X",
                E=[ast.Expr(again)], X=self.events.renderer.supply_local("error"), A=self.events.answer,
            ) if again is not None else []  # fmt: skip
            work = quote("A = BEGIN\nFAULT\nOVER", OVER=over, FAULT=fault, **filled)
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
