"""Host the generated code over ids: what one partition of the demand runs.

An id is a string that may have fields, elements and entries, all at once: `Id` is a `str` whose fields are
attributes and whose content is read and iterated as a set's or a dict's would be. So the generated code runs
as it is, and a value that is no id at all is just a string. However a program calls its fields, no name is
that of what an id has besides: those begin with two underscores, as no field may.

Nothing is loaded beforehand. Reading a field or a content for the first time finds nothing there, and notes
a *need*, (relation, id). What is then fetched arrives as ordinary updates; when no need is left, the
answers are those of the whole data. What was needed once is *loaded*: later changes of it, and only of it,
concern this partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from incoq.errors import IncoqError
from incoq.spark.deployment import Deployment, QueryPlan
from incoq.spark.values import as_key, as_text, from_text, shown, shown_text

Row = tuple[str, str, str, str | None, bool]  # relation, owner, key, value, is it there
MEMBER, ITEM = "member", "item"
DEMAND = "demand_"
_NOTHING = object()


class Answers(dict[Any, Any]):
    """The answers of a query, with the keys that were looked up for a change since the last report."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: set[Any] = set()

    def __getitem__(self, key: Any) -> Any:
        self.touched.add(key)
        return dict.__getitem__(self, key)

    def __setitem__(self, key: Any, answer: Any) -> None:
        self.touched.add(key)
        dict.__setitem__(self, key, answer)

    def __delitem__(self, key: Any) -> None:
        self.touched.add(key)
        dict.__delitem__(self, key)

    def get(self, key: Any, default: Any = None) -> Any:
        self.touched.add(key)
        return dict.get(self, key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        self.touched.add(key)
        return dict.pop(self, key, *default)


class _Field:
    """Stands in for a field that an id does not have (yet): notes the need, and is absent."""

    def __init__(self, name: str, loaded: dict[str, Any], needs: list[tuple[str, str]]) -> None:
        self.name, self.relation, self.loaded, self.needs = name, f"field_{name}", loaded, needs

    def __get__(self, o: Any, owner: type | None = None) -> Any:
        if o is None:
            return self
        if o not in self.loaded:
            self.loaded[o] = o
            self.needs.append((self.relation, o))
        raise AttributeError(self.name)


def _id_class(needs: list[tuple[str, str]], loaded: dict[str, dict[str, Any]]) -> Any:
    """The class of ids of one engine; its needs are noted in `needs`."""
    members, items = loaded[MEMBER], loaded[ITEM]

    class Id(str):
        """A string that may have fields, elements and entries."""

        __slots__ = ("__content__", "__dict__", "__entries__", "__is_container__")
        __content__: dict[Any, Any] | None
        __entries__: dict[Any, Any] | None
        __is_container__: bool
        _known_ = True  # to the support code: a dict that queries have reached

        def __load__(self) -> dict[Any, Any]:
            self.__content__ = {}
            members[self] = self
            needs.append((MEMBER, self))
            items[self] = self
            needs.append((ITEM, self))
            return self.__content__

        def __contains__(self, x: object) -> bool:
            content = self.__content__
            if content is None:
                content = self.__load__()
            return x in content or (self.__entries__ is not None and x in self.__entries__)

        def __iter__(self) -> Iterator[Any]:
            content = self.__content__
            if content is None:
                content = self.__load__()
            if self.__entries__:
                return iter({**content, **self.__entries__})
            return iter(content)

        def __len__(self) -> int:
            content = self.__content__
            if content is None:
                content = self.__load__()
            if self.__entries__:
                return len({**content, **self.__entries__})
            return len(content) if content or self.__is_container__ else str.__len__(self)

        def __getitem__(self, k: Any) -> Any:
            if self.__content__ is None:
                self.__load__()
            if self.__entries__ or self.__is_container__:
                return (self.__entries__ or {})[k]
            return str.__getitem__(self, k)

        def __items__(self) -> Iterable[tuple[Any, Any]]:
            if self.__content__ is None:
                self.__load__()
            return self.__entries__.items() if self.__entries__ else ()

    return Id


class Engine:
    """The generated code of a program with its own data: answers for the demand that it is given."""

    def __init__(self, deployment: Deployment, code: Any = None) -> None:
        self.deployment = deployment
        self.needs: list[tuple[str, str]] = []
        self.loaded: dict[str, dict[str, Any]] = {f"field_{f}": {} for f in deployment.fields}
        self.loaded |= {MEMBER: {}, ITEM: {}}
        self.id_class = _id_class(self.needs, self.loaded)
        for field in deployment.fields:
            setattr(self.id_class, field, _Field(field, self.loaded[f"field_{field}"], self.needs))
        self.ids: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self.set_fields = {f"field_{f}" for f in deployment.set_fields}
        self.demanded: dict[tuple[str, str], tuple[Any, ...]] = {}
        self.has_released = False
        self.code = code or compile(deployment.code, "<incoq engine>", "exec", dont_inherit=True)
        self._start()

    def _start(self) -> None:
        names = self.deployment.names
        self.namespace: dict[str, Any] = {"__name__": "incoq_engine"}
        exec(self.code, self.namespace)
        self._host(names)
        for query in self.deployment.queries:
            self.namespace[query.answers] = Answers()
        self.asked: dict[str, dict[Any, Any]] = {q.name: {} for q in self.deployment.queries}
        # What was reported: by the demanded values, these as they were spelled, and the results.
        self.published: dict[str, dict[Any, tuple[Any, Any]]] = {q.name: {} for q in self.deployment.queries}
        self.begin = {q.name: self.namespace[q.begin] for q in self.deployment.queries}
        self.end = {q.name: self.namespace[q.end] for q in self.deployment.queries}
        self.setters = {f"field_{f}": self.namespace[n] for f, n in self.deployment.setters.items()}
        self.deleters = {f"field_{f}": self.namespace[n] for f, n in self.deployment.deleters.items()}
        set_class, dict_class = self.namespace[names["Set"]], self.namespace[names["Dict"]]
        self.add, self.discard = set_class.__dict__["add"], set_class.__dict__["discard"]
        self.put, self.remove = dict_class.__dict__["__setitem__"], dict_class.__dict__["__delitem__"]
        self.refused: list[Exception] = self.namespace[names["REFUSED"]]
        self.hidden = {
            q.name: tuple(self.value(text) for _, text in q.hidden) for q in self.deployment.queries
        }

    def _host(self, names: dict[str, str]) -> None:
        """Teach the support code what an id is: where it looks into a set or a dict, ids are both."""
        space, id_class = self.namespace, self.id_class
        space[names["SOURCES"]].add(id_class)
        space[names["PLAIN"]].add(id_class)
        space[names["CALLED"]].add(id_class)
        space[names["FITTING"]].add(id_class)
        missing = space[names["MISSING"]]
        of_values = {n: space[names[n]] for n in ("entries", "items", "item", "dict_item")}

        def set_add(s: Any, x: Any) -> None:
            s.__content__[x] = x
            s.__is_container__ = True

        def set_discard(s: Any, x: Any) -> None:
            s.__content__.pop(x, None)

        def dict_set(m: Any, k: Any, v: Any) -> None:
            if m.__entries__ is None:
                m.__entries__ = {}
            m.__entries__[k] = v
            m.__is_container__ = True

        def dict_delete(m: Any, k: Any) -> None:
            del m.__entries__[k]

        def watchable(v: Any) -> bool:
            return v.__class__ is id_class

        def items(m: Any) -> Any:
            return m.__items__() if m.__class__ is id_class else of_values["items"](m)

        def entries(m: Any) -> Any:
            return m.__items__() if m.__class__ is id_class else of_values["entries"](m)

        def item(m: Any, k: Any) -> Any:
            return m[k] if m.__class__ is id_class else of_values["item"](m, k)

        def dict_item(m: Any, k: Any) -> Any:
            if m.__class__ is not id_class:
                return of_values["dict_item"](m, k)
            if m.__content__ is None:
                m.__load__()
            return (m.__entries__ or {})[k]

        def item_or_missing(m: Any, k: Any) -> Any:
            try:
                return item(m, k)
            except Exception:
                return missing

        hosted = (
            set_add, set_discard, dict_set, dict_delete, watchable, items, entries, item, dict_item,
            item_or_missing,
        )  # fmt: skip
        for function in hosted:
            space[names[function.__name__]] = function

    # -- values ------------------------------------------------------------------------------------

    def id(self, text: str) -> Any:
        """The one object that an id is."""
        found = self.ids.get(text)
        if found is None:
            found = self.ids[text] = self.id_class(text)
            found.__content__ = found.__entries__ = None
            found.__is_container__ = False
        return found

    def value(self, text: str) -> Any:
        """The value of a text; equal texts give the same object."""
        found = self.values.get(text)
        if found is None:
            found = from_text(text, self.id)
            if text != "jnull":
                self.values[text] = found
        return found

    # -- changes -----------------------------------------------------------------------------------

    def apply(self, rows: Iterable[Row]) -> int:
        """Apply changes of what is loaded; the others do not concern this engine. How many did."""
        count, loaded = 0, self.loaded
        for relation, owner, key, text, present in rows:
            known = loaded.get(relation)
            if known is None:
                continue
            o = known.get(owner)
            if o is None:
                continue
            count += 1
            if relation == MEMBER:
                self._member(o, key, text, present)
            elif relation == ITEM:
                self._item(o, key, text, present)
            elif present:
                assert text is not None
                value = self.value(text)
                if relation in self.set_fields and value.__class__ is self.id_class:
                    self._mark(value)
                self.setters[relation](value, o)
            elif relation[6:] in o.__dict__:
                self.deleters[relation](o)
        return count

    def _member(self, s: Any, key: str, text: str | None, present: bool) -> None:
        if not key:  # it is a set, if an empty one
            self._mark(s)
            return
        x = self.value(text or key)
        if s.__entries__ and x in s.__entries__:  # an element already, as a key
            if present:
                s.__content__[x] = x
            else:
                s.__content__.pop(x, None)
        elif present:
            if x.__class__ is not self.id_class and x in s.__content__ and s.__content__[x] is not x:
                self.discard(s, x)  # equal and not the same, 1 and True: the last one counts, as in the log
            self.add(s, x)
        else:
            self.discard(s, x)

    def _mark(self, s: Any) -> None:
        """Have a string be a set or a dict, if an empty one; queries that have looked at it see it change."""
        if s.__content__ is None:
            s.__is_container__ = True
        elif not s.__is_container__:
            self.add(s, _NOTHING)
            self.discard(s, _NOTHING)

    def _item(self, m: Any, key: str, text: str | None, present: bool) -> None:
        if not key:
            self._mark(m)
            return
        k = self.value(key)
        was_member = k in m.__content__
        if was_member and m.__entries__ and k in m.__entries__:
            del m.__content__[k]  # while it is a key, the entry speaks for it
        elif was_member:
            self.discard(m, k)
        if present:
            assert text is not None
            self.put(m, k, self.value(text))
        elif m.__entries__ and k in m.__entries__:
            self.remove(m, k)
        if was_member:
            if m.__entries__ and k in m.__entries__:
                m.__content__[k] = k
            else:
                self.add(m, k)

    def demand(self, query: str, params: str, wanted: bool, spelled: str | None = None) -> None:
        """Begin or end to maintain the answer for these values of the demand parameters (JSON of a list).

        `params` is the same for all equal values; they are `spelled` as they were given, at last.
        """
        plan = self.deployment.query(query)
        if wanted and (query, params) in self.demanded and self.spelled(query, params) == spelled:
            return
        values = self.demanded.pop((query, params), None)
        if values is not None:
            self._asked(plan, values, False)
            self.has_released = True
            self.end[query](*values)
        if wanted:
            values = self._combination(plan, spelled or params)
            self.demanded[query, params] = values
            self._asked(plan, values, True)
            self.begin[query](*values)

    def spelled(self, query: str, params: str) -> str | None:
        """How a demanded combination was given, where that is not how `params` has it."""
        given = self.demanded[query, params][: len(self.deployment.query(query).demand)]
        text = as_text(shown(given))[1:]
        return text if text != params else None

    def _asked(self, plan: QueryPlan, values: tuple[Any, ...], wanted: bool) -> None:
        """Note what is demanded from outside: another query may need the same, and shows it to nobody."""
        key = values[0] if len(values) == 1 else values
        self.namespace[plan.answers].touched.add(key)
        if wanted:
            self.asked[plan.name][key] = key
        else:
            self.asked[plan.name].pop(key, None)

    def _combination(self, plan: QueryPlan, params: str) -> tuple[Any, ...]:
        given = from_text("j" + params, self.id)
        return (*given, *self.hidden[plan.name])

    def take_needs(self) -> list[tuple[str, str]]:
        """What was read and is not there: to be fetched and applied."""
        taken = [(relation, str.__str__(owner)) for relation, owner in self.needs]
        self.needs.clear()
        return taken

    def preload(self, needs: Iterable[tuple[str, str]], rows: Iterable[Row]) -> None:
        """Take in what is known to be needed before it is asked for: cheaper than change by change."""
        for relation, owner in needs:
            o = self.id(owner)
            self.loaded[relation][o] = o
            if relation in (MEMBER, ITEM) and o.__content__ is None:
                o.__content__ = {}
        self.apply(rows)

    def everything(self) -> list[tuple[str, str]]:
        """All that is loaded, as needs."""
        return [(relation, str.__str__(o)) for relation, known in self.loaded.items() for o in known]

    def outweighed(self, count: float) -> bool:
        """Are fewer facts loaded than this? Every field that was asked for counts as one."""
        return sum(map(len, self.loaded.values())) < count and self.size() < count

    def size(self) -> int:
        """How many facts are loaded; every field that was asked for counts as one."""
        sets = self.loaded[MEMBER].values()
        held = sum(len(s.__content__) + len(s.__entries__ or ()) for s in sets)
        return held + sum(map(len, self.loaded.values()))

    def facts(self) -> Iterator[Row]:
        """All that is known of what is loaded, as rows."""
        for field in self.deployment.fields:
            for o in self.loaded[f"field_{field}"].values():
                if field in o.__dict__:
                    yield f"field_{field}", str.__str__(o), "", as_text(shown(o.__dict__[field])), True
        for s in self.loaded[MEMBER].values():
            if s.__is_container__:
                yield MEMBER, str.__str__(s), "", None, True
            for x in s.__content__:
                key, text = as_key(shown(x)), as_text(shown(x))
                yield MEMBER, str.__str__(s), key, text if text != key else None, True
        for m in self.loaded[ITEM].values():
            for k, v in (m.__entries__ or {}).items():
                yield ITEM, str.__str__(m), as_key(shown(k)), as_text(shown(v)), True

    def succeed(self, other: Engine) -> None:
        """Report from now on how the answers differ from those that another engine reported."""
        for query in self.deployment.queries:
            self.published[query.name] = other.published[query.name]
            self.namespace[query.answers].touched.update(other.published[query.name])

    # -- answers -----------------------------------------------------------------------------------

    def report(self) -> list[tuple[str, str, str, int]]:
        """How the answers changed since the last report: (query, parameters, result, +1 or -1)."""
        if self.refused:
            raise IncoqError(str(self.refused[0]))
        changes: list[tuple[str, str, str, int]] = []
        for query in self.deployment.queries:
            answers: Answers = self.namespace[query.answers]
            published = self.published[query.name]
            asked = self.asked[query.name]
            for key in answers.touched:
                was, old = published.pop(key, (key, None))
                now = asked.get(key, was)
                new = self._rows(query, dict.get(answers, key)) if key in asked else None
                steps = [(now, old, new)]
                if now is not was and shown_text(now) != shown_text(was):
                    steps = [(was, old, None), (now, None, new)]
                for given, before, after in steps:
                    for rest, result, sign in _difference(before, after):
                        text = result if query.is_aggregate else shown_text(result)
                        changes.append((query.name, self._shown_params(query, given, rest), text, sign))
                if new is not None:
                    published[key] = now, new
            answers.touched.clear()
        return changes

    def _rows(self, query: QueryPlan, answer: Any) -> dict[Any, Any] | None:
        """The answer of a demanded combination: results by the values of the other parameters."""
        if answer is None:
            return None
        by_rest = answer if query.rest else {(): answer}
        if query.is_aggregate:
            return {rest: frozenset([_value_text(kept)]) for rest, kept in by_rest.items()}
        return {rest: frozenset(kept) for rest, kept in by_rest.items()}

    def _shown_params(self, query: QueryPlan, key: Any, rest: Any) -> str:
        """All parameters in their order, as JSON."""
        demand = (*query.demand, *(name for name, _ in query.hidden))
        values = dict(zip(demand, (key,) if len(demand) == 1 else key, strict=True))
        values |= dict(zip(query.rest, (rest,) if len(query.rest) == 1 else rest, strict=True))
        return shown_text([shown(values[p]) for p in query.params])


def _value_text(kept: Any) -> str:
    try:
        return shown_text(kept.value())
    except Exception:  # the aggregate has no value: max of nothing
        return "null"


def _difference(old: dict[Any, Any] | None, new: dict[Any, Any] | None) -> Iterator[tuple[Any, Any, int]]:
    """Results that went and results that came; 1 and true are equal, and another result."""
    old, new = old or {}, new or {}
    for rest in {**old, **new}:
        before, after = old.get(rest, frozenset()), new.get(rest, frozenset())
        for gone in before - after:
            yield rest, gone, -1
        for come in after - before:
            yield rest, come, 1
        for gone, come in _respelled(before, after) if before and after else ():
            yield rest, gone, -1
            yield rest, come, 1


_ALIKE = ({int}, {bool}, set[type]())  # equal values of one of these classes are written alike


def _respelled(before: frozenset[Any], after: frozenset[Any]) -> Iterator[tuple[Any, Any]]:
    """Equal results that are written otherwise: 1, 1.0 and true, also in tuples."""
    kinds = {*map(type, before), *map(type, after)}
    if kinds == {tuple}:
        kinds = {*map(type, chain.from_iterable(before)), *map(type, chain.from_iterable(after))}
    if {kind for kind in kinds if not issubclass(kind, str) and kind is not type(None)} in _ALIKE:
        return
    known = {x: x for x in before}
    for x in after:
        old = known.get(x, x)
        if old is not x and not isinstance(x, str) and shown_text(old) != shown_text(x):
            yield old, x
