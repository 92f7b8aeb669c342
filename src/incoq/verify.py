"""Check that maintained structures are what their definitions say, recomputed from live data.

    checker = Checker(compiled, namespace)
    checker.check()      # raises Difference, an AssertionError, at the first invariant that does not hold

The structures are compared with a naive evaluation of `Invariant.clauses` and `tests`: from demand and tags
forward, clause by clause. Nothing of planning or code generation is used, so that a mistake there shows.
Where the support code has refused something (`REFUSED`), the next query raises; nothing is checked then.

In incremental mode an index ranges over all objects of the program, which nothing lists. Every entry must be
true of live data; and everything that can be reached from the structures along the queries' fields and
memberships, or that `sets` and `objects` list, must have its entry. What is garbage of the program's may have
entries too: the index itself leads to it.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from incoq.ir.invariants import Invariant, Store
from incoq.ir.objects import Pattern, TuplePattern, Value, Variable
from incoq.ir.relational import Clause, Kind, Test
from incoq.verify_tests import Values, naive_test

if TYPE_CHECKING:
    from incoq.compile import Compiled

Env = dict[str, Any]
Step = Callable[[Env], None]
Make = Callable[[Step], Step]

_MISSING: Any = object()


class Difference(AssertionError):  # noqa: N818  # what was found, not what went wrong
    """A structure is not what its definition says."""

    def __init__(self, invariant: Invariant, expected: Any, found: Any) -> None:
        self.invariant, self.expected, self.found = invariant, expected, found
        super().__init__(
            f"{invariant.name} is not what its definition says\n"
            f"  definition: {invariant.definition()}\n"
            f"  expected:   {show(expected)}\n"
            f"  found:      {show(found)}\n"
            + "".join(f"  {line}\n" for line in _differences(expected, found))
        )


class _Refused(Exception):  # noqa: N818  # the program's doing
    """Live data holds what a query may not look into; what is maintained then is not defined."""


class Checker:
    """Recomputes every invariant of a program that runs in `namespace` (its support code's names)."""

    def __init__(
        self,
        compiled: Compiled,
        namespace: Mapping[str, Any],
        sets: Iterable[Any] = (),
        objects: Iterable[Any] = (),
    ) -> None:
        self.compiled, self.namespace = compiled, namespace
        self.values = Values(compiled, namespace)
        self.refused: list[Any] = namespace[compiled.support.names["REFUSED"]]
        self.fields = compiled.plan.fields()
        self._listed: tuple[Iterable[Any], ...] = (sets, objects)
        self._world: list[Any] | None = None
        self._demand = {q.name: compiled.plan.result_of(q.name).name for q in compiled.plan.queries}
        self._checks = [self._check_of(i) for i in compiled.plan.invariants]

    def check(self) -> None:
        """Compare every structure with its definition."""
        self._world = None
        for check in self._checks:
            if self.refused:
                return
            check()

    # -- one invariant -----------------------------------------------------------------------------

    def _check_of(self, invariant: Invariant) -> Callable[[], None]:
        expected: list[Any] = [None]
        emit = self._emit(invariant, expected)
        bound: set[str] = set()
        makes = self._steps(invariant, bound)
        step = emit
        for make in reversed(makes):
            step = make(step)
        name, is_result = invariant.name, invariant.store is Store.RESULT
        rest = len(invariant.head) > invariant.key
        empty: Callable[[], Any] = dict
        if invariant.store is Store.TAG and not invariant.counted:
            empty = set
        inner: Callable[[], Any] = dict if rest or invariant.counted else set

        def check() -> None:
            found = self.namespace[name]
            expected[0] = {key: inner() for key in found} if is_result else empty()
            try:
                step({})
            except _Refused:
                return
            if expected[0] != found:
                raise Difference(invariant, expected[0], found)

        return check

    def _emit(self, invariant: Invariant, expected: list[Any]) -> Step:
        """What one combination of variables contributes to the structure."""
        key_of = _projection(invariant.head[: invariant.key])
        rest_of = _projection(invariant.head[invariant.key :])
        has_rest = len(invariant.head) > invariant.key
        counted, is_set = invariant.counted, self.values.is_set
        sets_only, result = invariant.sets_only, invariant.result

        def put(answer: Any, element: Any) -> None:
            if counted:
                answer[element] = answer.get(element, 0) + 1
            else:
                answer.add(element)

        def tag(env: Env) -> None:
            value = key_of(env)
            if not sets_only or is_set(value):
                put(expected[0], _key(value))

        def index(env: Env) -> None:
            key = key_of(env)
            if not sets_only or is_set(key):
                expected[0].setdefault(_key(key), set()).add(_key(rest_of(env)))

        if invariant.store is Store.TAG:
            return tag
        if invariant.store is Store.INDEX:
            return index
        assert result is not None
        value_of = naive_test(result, self.values, steady=True)
        make = dict if counted else set

        def answer(env: Env) -> None:
            try:
                element = value_of(env)
                hash(element)
            except Exception:
                return
            place = expected[0][key_of(env)]
            put(place.setdefault(rest_of(env), make()) if has_rest else place, element)

        return answer

    # -- clauses -----------------------------------------------------------------------------------

    def _steps(self, invariant: Invariant, bound: set[str]) -> list[Make]:
        """The clauses in an order in which each can be evaluated, tests as soon as they can be."""
        remaining, tests = list(invariant.clauses), list(invariant.tests)
        makes: list[Make] = []
        ranges_over_all = False
        while remaining:
            ready = [c for c in remaining if _is_ready(c, bound)]
            clause = next((c for c in ready if set(c.args) <= bound), ready[0] if ready else remaining[0])
            if not ready:
                makes.append(self._all_objects(clause))
                bound.add(clause.args[0])
                ranges_over_all = True
            remaining.remove(clause)
            makes += self._clause(clause, bound, invariant, ranges_over_all)
            bound.update(clause.args)
            for test in [t for t in tests if t.names <= bound]:
                tests.remove(test)
                makes.append(self._test(test))
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
        return []

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
                        raise _Refused
                    return
                for element in dict.fromkeys(collection) if isinstance(collection, tuple) else collection:
                    if match_(element, env):
                        following(env)

            return step

        return make

    def _test(self, test: Test) -> Make:
        holds = naive_test(test, self.values)

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
                for value in self._reachable():
                    if not is_member or self.values.is_source(value):
                        env[variable] = value
                        following(env)

            return step

        return make

    def _reachable(self) -> list[Any]:
        """Everything that the structures and the lists of sets and objects lead to."""
        if self._world is None:
            start = [value for listed in self._listed for value in listed]
            for invariant in self.compiled.plan.invariants:
                structure, width = self.namespace[invariant.name], len(invariant.head) - invariant.key
                for key in structure:
                    start.extend((key,) if invariant.key == 1 else key)
                if invariant.store is Store.INDEX:
                    for image in structure.values():
                        start.extend(image if width == 1 else [part for row in image for part in row])
            self._world = self.values.closure(start, self.fields)
        return self._world


def _is_ready(clause: Clause, bound: Collection[str]) -> bool:
    """Can the clause be evaluated from what is bound?"""
    if clause.relation.kind in (Kind.DEMAND, Kind.TAG):
        return True
    if clause.watch and clause.relation.kind is not Kind.FIELD:
        return set(clause.args) <= set(bound)
    return clause.args[0] in bound


def _key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        raise _Refused from None
    return value


def _projection(variables: tuple[str, ...]) -> Callable[[Env], Any]:
    """The values of some variables: one as itself, several as a tuple."""
    if len(variables) == 1:
        (only,) = variables
        return lambda env: env[only]
    return lambda env: tuple([env[v] for v in variables])


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
                    and all([part(e, env) for part, e in zip(parts, element, strict=True)])
                )

            return split
    raise AssertionError(pattern)


# -- messages ----------------------------------------------------------------------------------------------

_repr = reprlib.Repr()
_repr.maxdict = _repr.maxset = _repr.maxtuple = _repr.maxlist = 12
_repr.maxother = _repr.maxstring = 60


def show(value: Any) -> str:
    """A bounded text of any value."""
    try:
        return _repr.repr(value)
    except Exception as error:
        return f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


def _differences(expected: Any, found: Any) -> list[str]:
    """Up to three keys or elements that differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        lines = [
            f"{show(k)}: expected {show(v)}, found nothing" for k, v in expected.items() if k not in found
        ]
        lines += [
            f"{show(k)}: expected nothing, found {show(v)}" for k, v in found.items() if k not in expected
        ]
        lines += [
            f"{show(k)}: expected {show(v)}, found {show(found[k])}"
            for k, v in expected.items()
            if k in found and found[k] != v
        ]
        return lines[:3]
    if isinstance(expected, set) and isinstance(found, set):
        return [f"missing {show(x)}" for x in expected - found][:2] + [
            f"unexpected {show(x)}" for x in found - expected
        ][:2]
    return []
