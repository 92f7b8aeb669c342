"""Check that maintained structures are what their definitions say, recomputed from live data.

    checker = Checker(compiled, namespace)
    checker.check()      # raises Difference, an AssertionError, at the first invariant that does not hold

The structures are compared with a naive evaluation of `Invariant.clauses` and `tests`: from demand and tags
forward, clause by clause. Nothing of planning or code generation is used, so that a mistake there shows.
Where the support code has refused something (`REFUSED`), the next query raises; nothing is checked then.

In incremental mode an index ranges over all objects of the program, which nothing lists. Every entry must be
true of live data; and everything that can be reached from the structures along the queries' fields and
memberships, or from the listed `objects`, must have its entry. What is garbage of the program's may have
entries too: the index itself leads to it.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from incoq.ir.invariants import Invariant, Store
from incoq.ir.objects import Aggregate
from incoq.ir.relational import Kind, RelationalQuery
from incoq.verify_steps import NESTED, Refused, Step, Steps
from incoq.verify_tests import Env, Values, agree, kept_value, naive_aggregate, naive_test

if TYPE_CHECKING:
    from incoq.compile import Compiled


KEYED = ("min", "max", "smallest")  # aggregates whose elements must be keys, of a bag too


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


class _TooMany(Exception):  # noqa: N818  # a decision, not an error
    """An answer has more combinations than the limit allows."""


class Checker:
    """Recomputes every invariant of a program that runs in `namespace` (its support code's names).

    An answer of more than `limit` combinations is skipped, and counted in `skipped`.
    """

    def __init__(
        self,
        compiled: Compiled,
        namespace: Mapping[str, Any],
        sets: Iterable[Any] = (),
        objects: Iterable[Any] = (),
        limit: float = 50_000,
    ) -> None:
        self.compiled, self.namespace = compiled, namespace
        self.values = Values(compiled, namespace)
        self.refused: list[Any] = namespace[compiled.support.names["REFUSED"]]
        self.fields = compiled.plan.fields()
        self._objects = objects
        self._limit = self._left = limit
        self.skipped = 0
        del sets  # a set counts as soon as an object or a structure leads to it
        self._world: list[Any] | None = None
        self._owners: list[Any] = []
        self._queries = {q.name: q for q in compiled.plan.queries}
        self._answers: dict[str, dict[Any, Any]] = {}  # recomputed, innermost queries first
        demand = {q.name: compiled.plan.result_of(q.name).name for q in compiled.plan.queries}
        self._steps = Steps(
            namespace, self.values, demand, self._answers, self._reachable, compiled.plan.fixed
        )
        self._checks = [self._check_of(i) for i in compiled.plan.structures()]

    def check(self) -> None:
        """Compare every structure with its definition."""
        self._world = None
        self._answers.clear()
        for check in self._checks:
            if self.refused:
                return
            check()

    # -- one invariant -----------------------------------------------------------------------------

    def _check_of(self, invariant: Invariant) -> Callable[[], None]:
        name, query = invariant.name, self._queries[invariant.query]
        is_result = invariant.store is Store.RESULT
        rest = len(invariant.head) > invariant.key
        aggregate = query.aggregate if is_result else None
        make_answer: Callable[[], Any] = list if aggregate else dict if invariant.counted else set
        inner: Callable[[], Any] = dict if rest else make_answer
        empty: Callable[[], Any] = dict
        if invariant.store is Store.TAG and not invariant.counted:
            empty = set
        expected: list[Any] = [None]
        step = self._emit(invariant, expected, make_answer)
        holds_sets, own = invariant.store is Store.INDEX and self._has_sets(invariant), self.values.own
        for make in reversed(self._steps.of(self.compiled.plan.expanded(invariant))):
            step = make(step)

        def check() -> None:
            found = self.namespace[name]
            expected[0] = {key: inner() for key in found} if is_result else empty()
            self._left = self._limit
            try:
                step(self._fixed())
            except Refused:
                return
            except _TooMany:
                self.skipped += 1
                return
            if aggregate is not None:
                expected[0], found = self._aggregated(aggregate, expected[0], found, rest)
                if any(not agree(value, found[key]) for key, value in expected[0].items()):
                    raise Difference(invariant, expected[0], found)
            else:
                if holds_sets:
                    found = {own(key): set(map(own, image)) for key, image in found.items()}
                if expected[0] != found:
                    raise Difference(invariant, expected[0], found)
            if query.is_whole and is_result:
                counts = {other: n for (_, other), n in expected[0].items() if _reflexive(query, other)}
                self._answers[query.name] = _Counts(counts)
            elif is_result:
                self._answers[query.name] = expected[0]

        return check

    def _has_sets(self, invariant: Invariant) -> bool:
        """Does the head hold the answer of a nested set, kept as one object and recomputed as a value?"""
        sets = {q.name for q in self._queries.values() if q.aggregate and q.aggregate.kind == "set"}
        values = (c for c in invariant.clauses if c.relation.kind is Kind.VALUE and c.relation.name in sets)
        return any(c.args[-1] in invariant.head for c in values)

    def _fixed(self) -> Env:
        """The fixed sets."""
        return {variable: self.namespace[name] for variable, name in self.compiled.support.fixed.items()}

    def _emit(self, invariant: Invariant, expected: list[Any], make_answer: Callable[[], Any]) -> Step:
        """What one combination of variables contributes to the structure."""
        key_of = _projection(invariant.head[: invariant.key])
        rest_of = _projection(invariant.head[invariant.key :])
        has_rest = len(invariant.head) > invariant.key
        is_set, sets_only, result = self.values.is_set, invariant.sets_only, invariant.result
        puts: dict[type, Callable[[Any, Any], None]] = {dict: _count, set: set.add, list: list.append}
        put = puts[type(make_answer())]
        put_tag = _count if invariant.counted else set.add

        def value(env: Env) -> None:
            key = key_of(env)
            if not sets_only or is_set(key):
                put_tag(expected[0], _key(key))

        def index(env: Env) -> None:
            key = key_of(env)
            if not sets_only or is_set(key):
                expected[0].setdefault(_key(key), set()).add(_key(rest_of(env)))

        if invariant.store is Store.INDEX:
            return index
        if result is None:
            return value
        fallible = frozenset(c.args[-1] for c in invariant.clauses if c.relation.kind is Kind.VALUE)
        value_of = naive_test(result, self.values, fallible, steady=True)
        aggregate = self._queries[invariant.query].aggregate
        takes_anything = aggregate is not None and not aggregate.distinct and aggregate.kind not in KEYED

        def answer(env: Env) -> None:
            self._left -= 1
            if self._left < 0:
                raise _TooMany
            try:
                element = value_of(env)
                if not takes_anything:
                    self.values.fit(element)
            except Exception:
                return
            place = expected[0][key_of(env)]
            put(place.setdefault(rest_of(env), make_answer()) if has_rest else place, element)

        return answer

    def _aggregated(
        self, aggregate: Aggregate, elements: dict[Any, Any], found: Mapping[Any, Any], rest: bool
    ) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """The values of an aggregate, recomputed and as kept; MISSING where there is none."""
        missing = self.values.missing
        if not rest:
            return (
                {key: naive_aggregate(aggregate, bag, self.values) for key, bag in elements.items()},
                {key: kept_value(aggregate, kept, missing) for key, kept in found.items()},
            )
        expected, kept = {}, {}
        for key, rows in elements.items():
            for other in {**rows, **found[key]}:
                expected[key, other] = naive_aggregate(aggregate, rows.get(other, []), self.values)
                none_kept = naive_aggregate(aggregate, [], self.values)
                row = found[key].get(other)
                kept[key, other] = none_kept if row is None else kept_value(aggregate, row, missing)
        return expected, kept

    # -- indices over all objects ------------------------------------------------------------------

    def _reachable(self, holding: bool = False) -> list[Any]:
        """Everything that the structures and the listed objects lead to; `holding` leaves out what nothing
        but a field of its own leads to: a query looks into it only where something else does."""
        if self._world is None:
            start: list[Any] = list(self._objects)
            owners: list[Any] = []
            for invariant in self.compiled.plan.structures():
                if any(c.relation.kind in NESTED for c in invariant.clauses):
                    continue  # holds computed values, which no index knows
                structure, width = self.namespace[invariant.name], len(invariant.head) - invariant.key
                for key in structure:
                    start.extend((key,) if invariant.key == 1 else key)
                if invariant.store is Store.INDEX:
                    of_owners = all(c.relation.kind is Kind.FIELD for c in invariant.clauses) and width == 1
                    for image in structure.values():
                        parts = image if width == 1 else [part for row in image for part in row]
                        (owners if of_owners else start).extend(parts)
            given = [getattr(o, field, None) for o in owners for field in self.fields]
            self._world = self.values.closure([*start, *given], self.fields)
            known = set(map(id, self._world))
            self._owners = list({id(o): o for o in owners if id(o) not in known}.values())
        return self._world if holding else self._world + self._owners


class _Counts(dict[Any, Any]):
    """What a nested count that is kept whole gives for each combination: 0 where nothing is kept."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, 0)


def _reflexive(query: RelationalQuery, combination: Any) -> bool:
    """Do those parameters equal themselves that must, for a count that is kept whole not to be 0?"""
    parts = (combination,) if len(query.rest) == 1 else combination
    return all(part == part for p, part in zip(query.rest, parts, strict=True) if p in query.reflexive)


def _key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        raise Refused from None
    return value


def _count(counts: dict[Any, int], value: Any) -> None:
    counts[value] = counts.get(value, 0) + 1


def _projection(variables: tuple[str, ...]) -> Callable[[Env], Any]:
    """The values of some variables: one as itself, several as a tuple."""
    if len(variables) == 1:
        (only,) = variables
        return lambda env: env[only]
    return lambda env: tuple([env[v] for v in variables])


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
