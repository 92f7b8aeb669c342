"""Evaluate the clauses of an invariant naively, for `verify`: forward from demand, one step for each clause.

A step is a function of the variables bound so far that calls the next step for each way to go on:

    (celeb, celeb_followers) in field_followers      env["celeb_followers"] = env["celeb"].followers
    (celeb_followers, u) in member                   for env["u"] in env["celeb_followers"]
    (group, u) in member                             if env["u"] in env["group"]
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from typing import Any

from incoq.ir.invariants import Invariant
from incoq.ir.objects import Pattern, TuplePattern, Value, Variable
from incoq.ir.relational import SUBSCRIPT, Clause, Kind, Test
from incoq.verify_tests import Env, Values, naive_test

Step = Callable[[Env], None]
Make = Callable[[Step], Step]

_MISSING: Any = object()
NESTED = (Kind.VALUE, Kind.ANSWER)


class Refused(Exception):  # noqa: N818  # the program's doing
    """Live data holds what a query may not look into; what is maintained then is not defined."""


class Steps:
    """Makes the steps of the invariants of one running program."""

    def __init__(
        self,
        namespace: Mapping[str, Any],
        values: Values,
        demand: Mapping[str, str],
        answers: Mapping[str, Mapping[Any, Any]],
        everything: Callable[[bool], list[Any]],
        fixed: Collection[str] = (),
    ) -> None:
        self.namespace, self.values = namespace, values
        self._demand = demand  # query -> the structure whose keys are its demand
        self._answers = answers  # nested query -> what was recomputed of it
        self._everything = everything
        self._fixed = fixed  # global sets that never are others

    def of(self, invariant: Invariant) -> list[Make]:
        """The clauses in an order in which each can be evaluated, tests as soon as they can be."""
        bound: set[str] = set(self._fixed)
        remaining, tests = list(invariant.clauses), list(invariant.tests)
        fallible = frozenset(c.args[-1] for c in remaining if c.relation.kind is Kind.VALUE)
        makes: list[Make] = []
        while remaining:
            ready = [c for c in remaining if _is_ready(c, bound)]
            clause = next((c for c in ready if set(c.args) <= bound), ready[0] if ready else remaining[0])
            ranges_over_all = not ready and clause.relation.kind not in NESTED
            if ranges_over_all:
                makes.append(self._all_objects(clause))
                bound.add(clause.args[0])
            remaining.remove(clause)
            makes += self._clause(clause, bound, invariant, ranges_over_all)
            bound.update(clause.args)
            for test in [t for t in tests if t.names <= bound]:
                tests.remove(test)
                makes.append(self._test(test, fallible))
        assert not tests, [str(t) for t in tests]
        return makes

    def _clause(self, clause: Clause, bound: Collection[str], owner: Invariant, open_: bool) -> list[Make]:
        match clause.relation.kind:
            case Kind.DEMAND:
                return [self._demanded(clause, bound, self._demand[owner.query])]
            case Kind.TAG:
                return [self._tagged(clause, bound)]
            case Kind.FIELD:
                return [self._field(clause, bound, open_)]
            case Kind.MEMBER if not clause.watch:
                return [self._member(clause, bound)]
            case Kind.COUNT:
                return [self._repeated(clause)]
            case Kind.ITEM:
                return [self._item(clause, bound)]
            case Kind.VALUE:
                return [self._nested(clause, bound, lambda value: (value,))]
            case Kind.ANSWER:
                return [self._nested(clause, bound, tuple)]
        return []

    def _nested(self, clause: Clause, bound: Collection[str], elements: Callable[[Any], Any]) -> Make:
        """The value of a nested aggregate, or the elements of a nested answer, for its parameters."""
        answers, query, width = self._answers, clause.relation.name, clause.arity
        given, same = clause.source, self.values.same
        known = set(bound) | set(given)
        bind = _matcher(clause.pattern or Variable(clause.args[-1]), known, same)
        is_known = set(given) <= set(bound)
        fixed = [(position, v) for position, v in enumerate(given) if v in bound]
        repeated = [(i, given.index(v)) for i, v in enumerate(given) if given.index(v) != i]

        def known_answers() -> Mapping[Any, Any]:
            if query not in answers:
                raise Refused
            return answers[query]

        def make(following: Step) -> Step:
            def one(env: Env, answer: Any) -> None:
                for element in elements(answer):
                    if bind(element, env):
                        following(env)

            def look_up(env: Env) -> None:
                key = env[given[0]] if width == 1 else tuple([env[v] for v in given])
                try:
                    answer = known_answers().get(key, _MISSING)
                except TypeError:
                    raise Refused from None
                if answer is not _MISSING:
                    one(env, answer)

            def scan(env: Env) -> None:
                for key, answer in known_answers().items():
                    parts = (key,) if width == 1 else key
                    alike = all(same(parts[i], parts[j]) for i, j in repeated)
                    if alike and all(same(env[v], parts[position]) for position, v in fixed):
                        env.update(zip(given, parts, strict=True))
                        one(env, answer)

            return look_up if is_known else scan

        return make

    def _demanded(self, clause: Clause, bound: Collection[str], structure: str) -> Make:
        namespace, args, single = self.namespace, clause.args, len(clause.args) == 1
        assert not set(args) & set(bound), "demand comes first"

        def make(following: Step) -> Step:
            def step(env: Env) -> None:
                for key in namespace[structure]:
                    env.update(zip(args, (key,) if single else key, strict=True))
                    following(env)

            return step

        return make

    def _tagged(self, clause: Clause, bound: Collection[str]) -> Make:
        namespace, (variable,), tag = self.namespace, clause.args, clause.relation.name
        is_test = variable in bound

        def make(following: Step) -> Step:
            def test(env: Env) -> None:
                if env[variable] in namespace[tag]:
                    following(env)

            def scan(env: Env) -> None:
                for value in namespace[tag]:
                    env[variable] = value
                    following(env)

            return test if is_test else scan

        return make

    def _field(self, clause: Clause, bound: Collection[str], own_only: bool) -> Make:
        source, target = clause.args
        field, watch, same = clause.field, clause.watch, self.values.same
        is_test = target in bound

        def make(following: Step) -> Step:
            def step(env: Env) -> None:
                receiver = env[source]
                value = getattr(receiver, field, _MISSING)
                if value is _MISSING and not watch:
                    return
                if own_only and field not in getattr(receiver, "__dict__", (field,)):
                    return
                if not is_test:
                    env[target] = value
                elif not watch and not same(value, env[target]):
                    return
                following(env)

            return step

        return make

    def _item(self, clause: Clause, bound: Collection[str]) -> Make:
        """`m[k]` of a dict, or, written as a subscript, of a sequence that does not change."""
        mapping, value = clause.args[0], clause.args[-1]
        constant = clause.pattern.expr.node if isinstance(clause.pattern, Value) else None
        key = None if constant is not None else clause.args[1]
        same, subscript, known = self.values.same, clause.arity == SUBSCRIPT, frozenset(bound)

        def entries(m: Any) -> list[tuple[Any, Any]]:
            if isinstance(m, dict):
                if type(m).__hash__ is None:  # not one whose changes are seen
                    raise Refused
                return list(m.items())
            if isinstance(m, list):
                raise Refused
            if subscript and isinstance(m, tuple | str | bytes | range):
                return [(k, m[k]) for k in range(-len(m), len(m))]
            return []

        def make(following: Step) -> Step:
            def step(env: Env) -> None:
                found = False
                for k, v in entries(env[mapping]):
                    if constant is not None and not same(k, ast.literal_eval(constant)):
                        continue
                    if key is not None and key in known and not same(k, env[key]):
                        continue
                    if value in known and not clause.watch and not same(v, env[value]):
                        continue
                    if key == value and not same(k, v):  # `m[x] == x`
                        continue
                    found = True
                    if key is not None and key not in known:
                        env[key] = k
                    if value not in known:
                        env[value] = v
                    following(env)
                if clause.watch and not found:
                    env[value] = _MISSING
                    following(env)

            return step

        return make

    def _member(self, clause: Clause, bound: Collection[str]) -> Make:
        source, values = clause.args[0], self.values
        if set(clause.args) <= set(bound):
            element_of = _builder(clause.pattern or Variable(clause.args[1]))

            def make_test(following: Step) -> Step:
                def test(env: Env) -> None:
                    try:
                        inside = values.holds(env[source], element_of(env))
                    except TypeError:
                        return
                    if inside:
                        following(env)

                return test

            return make_test
        match_ = _matcher(clause.pattern or Variable(clause.args[1]), set(bound), values.same)

        def make(following: Step) -> Step:
            def step(env: Env) -> None:
                collection = env[source]
                if not values.is_source(collection):
                    if values.can_be_iterated(collection):
                        raise Refused
                    return
                repeats = isinstance(collection, tuple | list)
                for element in values.distinct(collection) if repeats else collection:
                    if match_(element, env):
                        following(env)

            return step

        return make

    def _repeated(self, clause: Clause) -> Make:
        """A list or tuple gives a combination as often as it holds the element."""
        source, same = clause.args[0], self.values.same
        element_of = _builder(clause.pattern or Variable(clause.args[1]))

        def make(following: Step) -> Step:
            def step(env: Env) -> None:
                collection, times = env[source], 1
                if isinstance(collection, tuple | list):
                    element = element_of(env)
                    times = sum(same(element, other) for other in collection)
                for _ in range(times):
                    following(env)

            return step

        return make

    def _test(self, test: Test, fallible: frozenset[str]) -> Make:
        holds = naive_test(test, self.values, fallible)

        def make(following: Step) -> Step:
            def step(env: Env) -> None:
                try:
                    passed = holds(env)
                except Exception:
                    return
                if passed:
                    following(env)

            return step

        return make

    # -- indices over all objects ------------------------------------------------------------------

    def _all_objects(self, clause: Clause) -> Make:
        variable, is_member = clause.args[0], clause.relation.kind is Kind.MEMBER

        def make(following: Step) -> Step:
            def step(env: Env) -> None:
                for value in self._everything(is_member):
                    if not is_member or self.values.is_source(value):
                        env[variable] = value
                        following(env)

            return step

        return make


def _is_ready(clause: Clause, bound: Collection[str]) -> bool:
    """Can the clause be evaluated from what is bound?"""
    if clause.relation.kind in (Kind.DEMAND, Kind.TAG):
        return True
    if clause.watch and clause.relation.kind not in (Kind.FIELD, Kind.ITEM):
        return set(clause.args) <= set(bound)
    return set(clause.source) <= set(bound)


def _builder(pattern: Pattern) -> Callable[[Env], Any]:
    """The element that a pattern stands for when all its variables are bound."""
    match pattern:
        case Variable(name):
            return lambda env: env[name]
        case Value(expr):
            constant = eval(expr.text, {})
            return lambda env: constant
        case TuplePattern(items):
            parts = [_builder(i) for i in items]
            return lambda env: tuple([part(env) for part in parts])
    raise AssertionError(pattern)


def _matcher(
    pattern: Pattern, bound: set[str], same: Callable[[Any, Any], bool]
) -> Callable[[Any, Env], bool]:
    """Binds the variables of a pattern to the parts of an element, or says that it does not match."""
    match pattern:
        case Variable(name) if name in bound:
            return lambda element, env: same(env[name], element)
        case Variable(name):
            bound.add(name)

            def bind(element: Any, env: Env) -> bool:
                env[name] = element
                return True

            return bind
        case Value(expr):
            constant = eval(expr.text, {})
            return lambda element, env: same(element, constant)
        case TuplePattern(items):
            parts = [_matcher(i, bound, same) for i in items]

            def split(element: Any, env: Env) -> bool:
                return (
                    isinstance(element, tuple)
                    and len(element) == len(parts)
                    and all(part(e, env) for part, e in zip(parts, element, strict=True))
                )

            return split
    raise AssertionError(pattern)
