"""The support code of every compiled program, embedded as source: it imports nothing of incoq.

`Set.add` and `Set.discard` are the two events that can change a set; every other mutator is made of
them. What stands here performs no maintenance; the compiler puts the maintenance of the program's
queries into those two methods.
"""

from __future__ import annotations

from collections import OrderedDict  # noqa: F401  # keeps the answers of keep=lru(n)
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from types import MemberDescriptorType
from typing import Any

WAYS_OUT = {  # what to do about a fault that only the run shows
    "IQ206": "store the value in a plain field, or read the underlying fields in the query",
    "IQ301": "hold the elements in a Set, a list or a tuple",
    "IQ302": "for a substring test write `str(x).find(y) >= 0`",
    "IQ303": "give its class a `__hash__`, or `@dataclass(eq=False)`; copy what other code made: `dict(d)`",
    "IQ304": "call the query itself for an answer of your own",
    "IQ306": "compile the code that removes together with the program",
    "IQ308": "neither update nor ask in operators and finalizers; let threads take turns by a lock",
    "IQ307": "let the exception end the program, or use `--mode filtered` (the default)",
}


class IncoqRuntimeError(Exception):
    """A fault of the program that only its run shows; `code` is listed in the reference of incoq."""

    def __init__(self, code: str, message: str, way: str = "") -> None:
        way = way or WAYS_OUT.get(code, "")
        super().__init__(f"[{code}] {message} ({way})" if way else f"[{code}] {message}")
        self.code = code


class Missing:
    """The value of a field that an object does not have."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING = Missing()

# What an expression raises where its values do not fit, and raises again whenever it is evaluated.
# A name that is not bound yet may be later.
SKIPPED = (
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    AssertionError,
    NotImplementedError,
)
EXHAUSTED = (MemoryError, RecursionError)


def skipped(error: Exception) -> bool:
    """Skip a combination of an unmarked query, whatever it raised but for want of memory or stack."""
    if isinstance(error, EXHAUSTED):
        raise error
    return False


class Doubt(Exception):  # noqa: N818  # it is no error: nobody but the support code sees it
    """A combination raised what may not be raised the next time, so that nothing can be kept."""


LENIENT: list[bool] = []  # an answer is computed that is not kept


def doubted(error: Exception) -> bool:
    """Skip a combination for what it raised, but for want of memory or stack and errors of incoq; where it is
    not certain to raise that again, end what is being maintained."""
    if isinstance(error, (*EXHAUSTED, IncoqRuntimeError, Doubt)):
        raise error
    if LENIENT or isinstance(error, SKIPPED):
        return False
    raise Doubt from error


def leniently(answers: Any, key: Any, demand: Any, *parameters: Any) -> Any:
    """An answer of which nothing is kept; the caller forgets what computing it has made."""
    answers.pop(key, None)
    forget()
    LENIENT.append(True)
    try:
        return demand(*parameters)
    finally:
        LENIENT.clear()
        answers.pop(key, None)


def forget(*assigned: tuple[Any, str]) -> None:
    """An exception has ended an update half-way: what is maintained is computed anew when it is asked for.
    The compiler writes this function; `assigned` are objects and fields that may be in no index now."""


STALE: list[
    Any
] = []  # an update ended half-way, and nothing is forgotten yet: objects and fields it assigned


def recover() -> None:
    """Forget what an update that ended half-way has left; the next use does it where no stack is left."""
    forget(*[assigned for assigned in STALE if assigned is not None])
    STALE.clear()
    REFUSED[:] = [error for error in REFUSED if isinstance(error, IncoqRuntimeError)]
    if not REFUSED:
        for names in SPACES:
            names |= SHOWN


def check_refused() -> None:
    """Raise what was refused; an update that ended half-way is no reason to."""
    if STALE:
        recover()
    if REFUSED:
        raise REFUSED[0]


BUSY: list[bool] = []  # an update is being maintained, or an answer computed


def reentered() -> IncoqRuntimeError:
    """The error for an update in the midst of another one: by an operator, a finalizer or another thread. It
    is remembered, too, since nobody sees what a finalizer raises."""
    refuse("IQ308", "an update was made while another one was maintained")
    error: IncoqRuntimeError = REFUSED[-1]
    return error


def asked_within() -> IncoqRuntimeError:
    """The error for a question in the midst of an update."""
    return IncoqRuntimeError("IQ308", "a query was asked while an update was maintained")


LOST: dict[tuple[Any, Any], Any] = {}  # what the program demanded itself and an exception made forgotten


def resume() -> None:
    """Demand again what was forgotten. It stays noted until it is kept, or where it cannot be kept even now:
    who demands it in vain notes it anew."""
    for lost in list(LOST):
        demand, key = lost
        LOST[lost] = resume
        demand(*key)
        if LOST.get(lost) is resume:
            del LOST[lost]


set_add, set_discard, set_pop, set_has = set.add, set.discard, set.pop, set.__contains__
DICT_VIEWS: Any = (type({}.keys()), type({}.items()))


class Set(set[Any]):
    """A set that hashes by identity, so that sets can hold sets; its changes maintain the queries."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]

    def add(self, x: Any, /) -> None:
        if x not in self:
            set_add(self, x)

    def discard(self, x: Any, /) -> None:
        if x in self:
            set_discard(self, x)

    def remove(self, x: Any, /) -> None:
        if x not in self:
            raise KeyError(x)
        self.discard(x)

    def pop(self) -> Any:
        if not self:
            raise KeyError("pop from an empty set")
        try:
            x = set_pop(self)
            set_add(self, x)
            self.discard(x)
        except BaseException:
            STALE[:0] = REFUSED[:0] = (None,)
            for names in SPACES:
                names |= HIDDEN
            recover()
            raise
        return x

    def clear(self) -> None:
        for x in list(self):
            self.discard(x)

    def update(self, *others: Iterable[Any]) -> None:
        for other in others:
            if other is not self:
                for x in other:
                    self.add(x)

    def difference_update(self, *others: Iterable[Any]) -> None:
        for other in others:
            for x in list(other) if other is self else other:
                self.discard(x)

    def intersection_update(self, *others: Iterable[Any]) -> None:
        kept = set.intersection(self, *others)
        for x in [x for x in self if x not in kept]:
            self.discard(x)

    def symmetric_difference_update(self, other: Iterable[Any], /) -> None:
        for x in set(other):
            if x in self:
                self.discard(x)
            else:
                self.add(x)

    def __ior__(self, other: Any, /) -> Any:
        if not isinstance(other, set | frozenset):
            return NotImplemented
        Set.update(self, other)
        return self

    def __isub__(self, other: Any, /) -> Any:
        if not isinstance(other, set | frozenset):
            return NotImplemented
        Set.difference_update(self, other)
        return self

    def __iand__(self, other: Any, /) -> Any:
        if not isinstance(other, set | frozenset):
            return NotImplemented
        Set.intersection_update(self, other)
        return self

    def __ixor__(self, other: Any, /) -> Any:
        if not isinstance(other, set | frozenset):
            return NotImplemented
        Set.symmetric_difference_update(self, other)
        return self

    def copy(self) -> Any:
        return derived(self, self)

    def __copy__(self) -> Any:
        return self.__class__(self)

    def union(self, *others: Iterable[Any]) -> Any:
        return derived(self, set.union(self, *others))

    def intersection(self, *others: Iterable[Any]) -> Any:
        return derived(self, set.intersection(self, *others))

    def difference(self, *others: Iterable[Any]) -> Any:
        return derived(self, set.difference(self, *others))

    def symmetric_difference(self, other: Iterable[Any], /) -> Any:
        return derived(self, set.symmetric_difference(self, other))

    def __or__(self, other: Any, /) -> Any:
        return combined(self, set.__or__, other)

    def __and__(self, other: Any, /) -> Any:
        return combined(self, set.__and__, other)

    def __sub__(self, other: Any, /) -> Any:
        return combined(self, set.__sub__, other)

    def __xor__(self, other: Any, /) -> Any:
        return combined(self, set.__xor__, other)

    def __ror__(self, other: Any, /) -> Any:
        result: Any = set.__ror__(self, other)  # type: ignore[call-arg]
        return result if result is NotImplemented else derived(self, result)

    def __rand__(self, other: Any, /) -> Any:
        result = set.__rand__(self, other)  # type: ignore[attr-defined]
        return result if result is NotImplemented else derived(self, result)

    def __rsub__(self, other: Any, /) -> Any:
        result = set.__rsub__(self, other)  # type: ignore[attr-defined]
        return result if result is NotImplemented else derived(self, result)

    def __rxor__(self, other: Any, /) -> Any:
        result = set.__rxor__(self, other)  # type: ignore[attr-defined]
        return result if result is NotImplemented else derived(self, result)

    def __reduce__(self) -> Any:
        return self.__class__, (), (list(self), getattr(self, "__dict__", None))

    def __setstate__(self, state: Any) -> None:
        Set.update(self, state[0])
        if state[1]:
            self.__dict__.update(state[1])


class PlainSet(Set):
    """What a plain set of the program is: it shows as one, and its changes maintain the queries."""

    __slots__ = ()

    def __repr__(self) -> str:
        if self.__class__ is not PlainSet:
            return set.__repr__(self)
        inside = set.__repr__(self).removeprefix(self.__class__.__name__)
        return inside[1:-1] if inside.startswith("({") else f"set{inside}"


PlainSet.__name__ = "set"  # what messages call it


def has_room(frames: int = 20) -> None:
    """Raise for want of stack now rather than half-way through, which would leave a list in disorder."""
    if frames:
        has_room(frames - 1)


def fresh_set(v: Any) -> Any:
    """What an expression made of the keys or the items of a dict, a set seen from now on."""
    return PlainSet(v) if v.__class__ is set else v


def combined(s: Set, operator: Any, other: Any) -> Any:
    """What an operator makes of a set and another: a plain set, as in Python, with a view of a dict."""
    if isinstance(other, DICT_VIEWS):
        return PlainSet(operator(s, set(other)))
    result = operator(s, other)
    return result if result is NotImplemented else derived(s, result, other)


def derived(s: Set, elements: Any, other: Any = None) -> Set:
    """A set made of another: not of a class of the program, as what Python makes of such sets is not. Of a
    plain set and a `Set` it is a `Set`, which Python asks first, as its class is derived."""
    plain = isinstance(s, PlainSet)
    if s.__class__ is PlainSet and isinstance(other, Set) and not isinstance(other, PlainSet):
        plain = False
    return (PlainSet if plain else Set)(elements)


dict_set, dict_delete, dict_popitem = dict.__setitem__, dict.__delitem__, dict.popitem


def unhashable(v: Any) -> int:
    """The hash of a list or dict: there is none, as in Python, until a query has reached it; then it is known
    by its identity, for what is maintained. To the expressions of a query it has none even then (`fits`)."""
    if v._known_:
        return object.__hash__(v)
    raise TypeError(f"unhashable type: '{'dict' if isinstance(v, dict) else 'list'}'")


class Dict(dict[Any, Any]):
    """What a dict of the program is where queries look into dicts: it shows as one, and its changes maintain
    the queries. `__setitem__` and `__delitem__` are all that changes it; others call them here, as
    a class of the program may have its own, which Python calls for an assignment alone."""

    __hash__ = unhashable  # type: ignore[assignment]
    _known_ = False

    def __setitem__(self, key: Any, value: Any, /) -> None:
        dict_set(self, key, value)

    def __delitem__(self, key: Any, /) -> None:
        dict_delete(self, key)

    def pop(self, key: Any, *default: Any) -> Any:
        if len(default) > 1:
            raise TypeError(f"pop expected at most 2 arguments, got {1 + len(default)}")
        if not self or key not in self:  # an empty dict asks for no hash
            if default:
                return default[0]
            raise KeyError(key)
        value = self[key]
        Dict.__delitem__(self, key)
        return value

    def popitem(self) -> Any:
        if not self:
            raise KeyError("popitem(): dictionary is empty")
        try:
            key, value = dict_popitem(self)
            dict_set(self, key, value)
            Dict.__delitem__(self, key)
        except BaseException:
            STALE[:0] = REFUSED[:0] = (None,)
            for names in SPACES:
                names |= HIDDEN
            recover()
            raise
        return key, value

    def clear(self) -> None:
        for key in list(self):
            Dict.__delitem__(self, key)

    def setdefault(self, key: Any, default: Any = None, /) -> Any:
        if key not in self:
            Dict.__setitem__(self, key, default)
        return self[key]

    def update(self, /, *others: Any, **named: Any) -> None:
        if len(others) > 1:
            raise TypeError(f"update expected at most 1 argument, got {len(others)}")
        for other in others:
            if hasattr(other, "keys"):
                for key in other.keys():  # noqa: SIM118  # as dict.update does
                    Dict.__setitem__(self, key, other[key])
            else:
                for pair in other:
                    for key, value in dict((pair,)).items():
                        Dict.__setitem__(self, key, value)
        for key, value in named.items():
            Dict.__setitem__(self, key, value)

    def __ior__(self, other: Any, /) -> Any:
        Dict.update(self, other)
        return self

    def copy(self) -> Any:
        return Dict(self)

    def __copy__(self) -> Any:
        return self.__class__(self)

    def __or__(self, other: Any, /) -> Any:
        result = dict.__or__(self, other)
        return result if result is NotImplemented else Dict(result)

    def __ror__(self, other: Any, /) -> Any:
        result: Any = dict.__ror__(self, other)
        return result if result is NotImplemented else Dict(result)


Dict.__name__ = "dict"  # what messages call it

list_append, list_extend, list_insert = list.append, list.extend, list.insert
list_pop, list_sort = list.pop, list.sort
list_replace, list_delete = list.__setitem__, list.__delitem__


class List(list[Any]):
    """What a list of the program is: it shows as one, and is a bag to queries.

    `_counts_` says how often it holds each element, from when a query first looks into it until it changes
    unseen. `_put_` and `_take_` are all that changes a list that queries see; meanwhile only its length is
    true. A class of the program that is derived from `list` may have methods of any other name.
    """

    __hash__ = unhashable  # type: ignore[assignment]
    _known_ = False
    _counts_: Any = None

    def _bag_(self) -> Any:
        """How often each element is there; one that cannot be a key is refused."""
        if self._counts_ is None:
            counts: dict[Any, int] = {}
            for x in self:
                if keyable(x):
                    count_element(counts, x)
            self._counts_ = counts
        return self._counts_

    def _seen_(self, /) -> bool:
        """Does a change matter to a query?"""
        return False

    def _put_(self, at: Any, x: Any, /) -> None:
        list_insert(self, at, x)

    def _take_(self, at: Any, x: Any, /) -> None:
        list_pop(self, at)

    def _become_(self, new: Any) -> None:
        """Hold the elements of a list: take away what is gone, put in what is new, then order them."""
        has_room()
        wanted: dict[Any, int] = {}
        for x in filter(keyable, new):
            count_element(wanted, x)
        old, counts = list(self), self._bag_()
        other = {x for x in wanted if x in counts and unlike(stored(counts, x), x)}
        gone = [x for x, n in counts.items() for _ in range(n - (0 if x in other else wanted.get(x, 0)))]
        come = [x for x, n in wanted.items() for _ in range(n - (0 if x in other else counts.get(x, 0)))]
        try:
            for x in gone:
                if self._counts_ is counts:
                    self._take_(-1, x)
            for x in come:
                if self._counts_ is counts:
                    self._put_(len(self), x)
            list_replace(self, slice(None), new)
            self._end_(counts)
        except BaseException:
            self._lose_(old)
            raise

    def _end_(self, counts: Any) -> None:
        """The end of several changes: where one of them made everything forgotten, what was made anew then is
        of a content in between."""
        if self._counts_ is not counts:
            self._lose_(list(self))

    def _lose_(self, content: Any) -> None:
        """After an exception: hold what was held before."""
        STALE[:0] = REFUSED[:0] = (None,)
        for names in SPACES:
            names |= HIDDEN
        list_replace(self, slice(None), content)
        self._counts_ = None
        recover()

    def _unseen_(self, change: Any, /, *given: Any) -> Any:
        """Change it as Python does, by code of the program too (`extend` of a generator). If that has asked a
        query for the list, what is kept is of a content in between."""
        try:
            return change(self, *given)
        finally:
            if self._known_ and self._seen_():
                self._lose_(list(self))

    def append(self, x: Any, /) -> None:
        if self._known_ or self._counts_ is not None:
            self._put_(len(self), x)
        else:
            list_append(self, x)  # no query has come to it

    def insert(self, at: Any, x: Any, /) -> None:
        list_insert([], at, x)  # an index that raises does so before anything is maintained
        self._put_(at, x)

    def extend(self, other: Iterable[Any], /) -> None:
        whole = other is self or other.__class__ in (list, tuple, List)
        if self._seen_():
            for x in list(other) if whole else other:  # what is produced before an exception stays
                self._put_(len(self), x)
        elif whole:
            list_extend(self, other)
        else:
            self._unseen_(list_extend, other)

    def sort(self, /, **how: Any) -> None:
        counts = self._counts_
        try:
            list_sort(self, **how)
        except BaseException:
            if self._known_:  # meanwhile it held nothing, and what was put into it is gone
                self._lose_(list(self))
            raise
        self._end_(counts)

    def pop(self, at: Any = -1, /) -> Any:
        if not self._seen_():
            return list_pop(self, at) if at.__class__ is int else self._unseen_(list_pop, at)
        try:
            place: Any = range(len(self))[at]
        except (IndexError, TypeError):
            place = None
        if place.__class__ is not int:
            return list_pop(self, at)  # raises what Python raises
        x = self[place]
        self._take_(place, x)
        return x

    def remove(self, x: Any, /) -> None:
        try:
            at = self.index(x)
        except ValueError:
            raise ValueError("list.remove(x): x not in list") from None
        self._take_(at, self[at])

    def clear(self) -> None:
        List.__setitem__(self, slice(None), ())

    def __setitem__(self, at: Any, x: Any, /) -> None:
        if not self._seen_():
            if at.__class__ is int:
                list_replace(self, at, x)
            else:
                self._unseen_(list_replace, at, x)
        elif isinstance(at, slice):
            new = list(self)
            new[at] = x
            self._become_(new)
        else:
            try:
                old, last = self[at], self[-1]
            except (IndexError, TypeError):
                list_replace(self, at, x)  # raises what Python raises
                raise
            has_room()
            size, counts = len(self), self._bag_()
            try:
                if x is not old:
                    self._take_(-1, old)
                    self._put_(len(self), x)
                    list_replace(self, -1, last)
                list_replace(self, at, x)
                self._end_(counts)
            except BaseException:
                before = [*self[: size - 1], last]
                before[at] = old
                self._lose_(before)
                raise

    def __delitem__(self, at: Any, /) -> None:
        if not self._seen_():
            if at.__class__ is int:
                list_delete(self, at)
            else:
                self._unseen_(list_delete, at)
        elif isinstance(at, slice):
            new = list(self)
            del new[at]
            self._become_(new)
        else:
            try:
                x = self[at]
            except (IndexError, TypeError):
                list_delete(self, at)  # raises what Python raises
                raise
            self._take_(at, x)

    def __iadd__(self, other: Any, /) -> Any:
        result = reflected("__radd__", self, other)
        if result is NotImplemented:
            List.extend(self, other)
            return self
        return result

    def __imul__(self, times: Any, /) -> Any:
        result = reflected("__rmul__", self, times)
        if result is NotImplemented:
            List.__setitem__(self, slice(None), list(self) * times)
            return self
        return result

    def copy(self) -> Any:
        return List(self)

    __copy__ = copy

    def __add__(self, other: Any, /) -> Any:
        result = reflected("__radd__", self, other)
        return List(list.__add__(self, other)) if result is NotImplemented else result

    def __mul__(self, times: Any, /) -> Any:
        result = reflected("__rmul__", self, times)
        return List(list(self) * times) if result is NotImplemented else result

    def __rmul__(self, times: Any, /) -> Any:
        return List(list(self) * times) if hasattr(times, "__index__") else times * list(self)

    def __reduce__(self) -> Any:
        attributes = {k: v for k, v in self.__dict__.items() if k not in ("_counts_", "_known_")}
        return new_list if self.__class__ is List else self.__class__, (), attributes or None, iter(self)


List.__name__ = List.__qualname__ = "list"  # what messages call it


def shown_class(cls: Any) -> Any:
    """What the class of a container is to code that compares it: `type(x) is dict`."""
    return {PlainSet: set, Dict: dict, List: list}.get(cls, cls)


SEQUENCES = (list, tuple, str, bytes, bytearray)


def reflected(operator: str, s: List, other: Any) -> Any:
    """What the other operand makes of a list, which comes first: a list has no operators of numbers."""
    method = None if isinstance(other, SEQUENCES) else getattr(other.__class__, operator, None)
    return NotImplemented if method is None or other.__class__ is int else method(other, s)


def new_list() -> List:
    """What copies and pickles make a list of."""
    return List()


def fresh(v: Any) -> Any:
    """What an expression made anew, a list seen from now on."""
    return List(v) if v.__class__ is list else v


class Routes:
    """The methods of a builtin class, called of it (`set.add(s, x)`): maintained where that matters."""

    def __init__(self, plain: Any, seen: Any) -> None:
        self.plain, self.seen = plain, seen
        for name in ("__init__", "__new__"):  # or those of this class would be found
            self.__dict__[name] = self.__getattr__(name)

    def __getattr__(self, name: str) -> Any:
        plainly, maintained, seen = getattr(self.plain, name), getattr(self.seen, name), self.seen
        if getattr(maintained, "__self__", None) is seen:
            return maintained  # `dict.fromkeys`: of the class, not of a dict

        def method(*args: Any, **named: Any) -> Any:
            own = bool(args) and isinstance(args[0], seen)
            return (maintained if own else plainly)(*args, **named)

        return method


set_routes = Routes(set, Set)
dict_routes = Routes(dict, Dict)
list_routes = Routes(list, List)

THROUGH: dict[Any, Any] = {}


def through(function: Any) -> Any:
    """A function of heapq, which changes a list unseen, for lists that queries see."""
    if getattr(function, "__module__", "") not in ("_heapq", "heapq"):
        return function
    if not function.__name__.lstrip("_").startswith("heap"):
        return function
    if function not in THROUGH:

        def seen(heap: Any, *rest: Any) -> Any:
            if not isinstance(heap, List) or not heap._seen_():
                return function(heap, *rest)
            new = list(heap)
            result = function(new, *rest)
            heap._become_(new)
            return result

        THROUGH[function] = seen
    return THROUGH[function]


UNMADE: set[str] = set()  # names of sets that the program has not made yet


def made(*names: str) -> None:
    """Raise, as Python does, for a query that reads a set which is not there yet."""
    for name in names:
        if name in UNMADE:
            raise NameError(f"name {name!r} is not defined")


# Classes whose instances hold each element once and hash it; others go through `elements` and `contains`.
SOURCES = {Set, PlainSet, Dict, frozenset, range}
REFUSED: list[Any] = []  # errors that the next query raises; and what is in STALE


def refuse(code: str, message: str, way: str = "") -> None:
    """Remember a fault found while maintaining: the next query reports it instead of a stale answer."""
    refuse_as(IncoqRuntimeError(code, message, way))


def refuse_as(error: IncoqRuntimeError) -> None:
    """The same of an error that is made."""
    if len(REFUSED) < 100:
        REFUSED.append(error)
        hide()


def unseen(v: Any, done: str) -> IncoqRuntimeError:
    """The error for a container that code made which was not compiled."""
    cls = v.__class__
    kind = next((base.__name__ for base in (set, list, dict) if issubclass(cls, base)), "")
    way = f"other code made it: hold a copy of your own, `{kind}(x)`" if kind else ""
    return IncoqRuntimeError("IQ301", f"{done} a {cls.__name__}, whose changes cannot be seen", way)


def refuse_unseen(v: Any, done: str) -> None:
    """Refuse such a container."""
    refuse_as(unseen(v, done))


# As long as nothing is refused, a query that was asked before finds its answer at once under another name, in
# this module and in those that import it.
SPACES, SHOWN, HIDDEN = [globals()], {}, {}  # type: ignore[var-annotated]


def hide() -> None:
    """Let no query find an answer at once any more: it looks whether anything was refused, then."""
    for names in SPACES:
        names |= HIDDEN


READING = ("__iter__", "__contains__", "__len__", "__bool__", "__getitem__", "__missing__", "get", "items")


def check_reading(cls: Any) -> None:
    """Refuse a container of the program's own that gives out something else than it holds."""
    for base in cls.__mro__:
        if base in (Set, PlainSet, Dict, List):
            break
        for own in READING:
            if own in vars(base):
                way = f"leave `{own}` to the container, and give the class a method of another name"
                refuse("IQ301", f"a query reads a {cls.__name__}, which has its own `{own}`", way)


def is_source(s: Any) -> bool:
    """May a query iterate `s`? What can be iterated but not maintained is refused."""
    cls = s.__class__
    if cls in SOURCES:
        return True
    if cls is tuple or cls is List:
        return True
    if issubclass(cls, (Set, Dict, frozenset)):
        SOURCES.add(cls)
    if issubclass(cls, (Set, Dict, List)):
        check_reading(cls)
        return True
    if issubclass(cls, (tuple, frozenset)):
        return True
    if issubclass(cls, (str, bytes, bytearray)):
        refuse("IQ302", f"a query iterates over the {cls.__name__} {s!r:.40}")
    elif issubclass(cls, (set, list, dict)):
        refuse_unseen(s, "a query iterates over")
    elif hasattr(cls, "__iter__") or hasattr(cls, "__getitem__"):
        refuse("IQ301", f"a query iterates over a {cls.__name__}, which cannot be maintained")
    return False


def elements(s: Any) -> Iterable[Any]:
    """What a query iterates over, each element once: nothing where `s` is not a source."""
    if not is_source(s):
        return ()
    if isinstance(s, List):
        return s._bag_()  # type: ignore[no-any-return]
    if not isinstance(s, tuple):
        return s  # type: ignore[no-any-return]
    if UNMARKED:
        counts: dict[Any, int] = {}
        for x in filter(keyable, s):
            count_element(counts, x)
        return counts
    return dict.fromkeys(filter(keyable, s))


def smaller(s: Any, t: Any) -> tuple[Iterable[Any], Any]:
    """The elements of one of two sources, the smaller one where both tell their size, and the other one, to
    look them up in."""
    if s.__class__ in SOURCES and t.__class__ in SOURCES:
        return (t, s) if len(t) < len(s) else (s, t)
    return elements(s), t if t.__class__ in SOURCES else Holder(t)


class Holder:
    """What holds as many elements as queries see in it."""

    def __init__(self, s: Any) -> None:
        self.s = s

    def __contains__(self, x: Any) -> bool:
        return contains(self.s, x)


def times(s: Any, x: Any) -> int:
    """How often `s` holds `x`, of which it has one at least."""
    if isinstance(s, List):
        return s._bag_()[x]  # type: ignore[no-any-return]
    return sum(same(x, y) for y in s) if isinstance(s, tuple) else 1


def items(m: Any) -> Iterable[Any]:
    """The entries of a mapping: nothing where `m` is none."""
    if isinstance(m, Dict):
        is_source(m)
        return dict.items(m)
    if isinstance(m, dict):
        refuse_unseen(m, "a query looks into")
    return ()


def entries(m: Any) -> Iterable[Any]:
    """All (k, v) for which `m[k]` is v: of a dict, or of a sequence that does not change."""
    if isinstance(m, (tuple, str, bytes, range)):
        return [(k, m[k]) for k in range(-len(m), len(m))]
    if isinstance(m, list):
        way = "keep what stands there in a field or a dict, or hold a tuple"
        refuse("IQ301", "a query looks into a list by position; a list is a bag to queries", way)
    return items(m)


def is_new(x: Any, known: set[Any]) -> bool:
    """Is it none of what is known? What cannot be a key never is."""
    try:
        return x not in known
    except TypeError:
        return False


def part(x: Any, field: str) -> Any:
    """A field that the object may have from the start, such as `date.month`."""
    try:
        return getattr(x, field)
    except Exception:
        return MISSING


def dict_item(m: Any, k: Any) -> Any:
    """The value of an entry of a dict; raises where there is none."""
    if m.__class__ is not Dict:
        items(m)
        if not isinstance(m, Dict):
            raise TypeError(f"{m.__class__.__name__} has no entries")
    try:
        return m[k]
    except KeyError:
        fits(k)
        raise


def item(m: Any, k: Any) -> Any:
    """`m[k]` inside a query; raises where Python would, so that the combination is skipped."""
    if isinstance(m, Dict):
        return dict_item(m, k)
    if isinstance(m, (dict, list)):
        entries(m)
        raise TypeError(f"cannot look into {m.__class__.__name__}")
    if not (hasattr(m.__class__, "__getitem__") or isinstance(m, type)):
        raise TypeError(f"{m.__class__.__name__} has no entries")  # whatever it holds, or computes
    if m.__class__.__getitem__ is tuple.__getitem__:
        return m[k]  # whatever its parts hold
    return plain(m)[k]


def item_or_missing(m: Any, k: Any) -> Any:
    """`m[k]`, or MISSING where there is none, or no `m`."""
    try:
        return MISSING if m is MISSING else item(m, k)
    except Exception as error:
        doubted(error)
        return MISSING


NO_SETS = {int, float, str, bytes, bool, complex, type(None)}  # never watchable, as the most usual values


def watchable(v: Any) -> bool:
    """Is `v` a set whose content is watched? One that changes unseen is refused."""
    if isinstance(v, (Dict, List)):
        v._known_ = True
    if isinstance(v, (Set, Dict, List)):
        return is_source(v)
    if isinstance(v, (set, list, dict)):
        refuse_unseen(v, "a condition depends on the content of")
    return False


HASHABLE = {int, float, str, bytes, bool, type(None)}  # classes of which every value can be a key


def is_key(v: Any, *tags: Any) -> bool:
    """Can tags be asked for an object? If so, an update of it raised what it raised by itself."""
    try:
        return any(v in tag for tag in tags) or True
    except (TypeError, AttributeError):
        return False


def has_hash(v: Any) -> bool:
    """Can an updated object be a key? One that never can is none of a query's; one that only lacks a field
    which its hash reads would be missed by indices."""
    try:
        hash(v)
    except TypeError:
        return False
    except AttributeError:
        way = "set the fields that `__hash__` reads before the others"
        refuse("IQ303", f"a field of a {v.__class__.__name__} is set before its hash can be told", way)
        return False
    if v.__class__.__hash__ is object.__hash__:
        HASHABLE.add(v.__class__)
    return True


def keyable(v: Any) -> bool:
    """Can `v` be a key? What cannot is refused."""
    try:
        hash(v)
        if v.__class__.__hash__ is object.__hash__:
            HASHABLE.add(v.__class__)
        elif UNMARKED:
            return is_steady_key(v)
    except TypeError:
        if isinstance(v, (Dict, List)):
            v._known_ = True
            return True
        if isinstance(v, tuple):
            return all(map(keyable, v))
        if isinstance(v, (set, list, dict)):
            refuse_unseen(v, "a query reached")
            return False
        refuse("IQ303", f"a query reached a {v.__class__.__name__}, which cannot be a key")
        return False
    return True


def is_steady_key(v: Any) -> bool:
    """Does `v` stay the same key whatever code does that was not compiled? If that may change its hash, it is
    refused."""
    if isinstance(v, tuple):
        return all(map(keyable, v))
    told: Any = type(v).__hash__
    if told.__class__ is SLOT or told.__module__ in VALUES or isinstance(v, (Dict, List)):
        return True
    refuse("IQ303", f"a query reached a {v.__class__.__name__}, which computes its hash")
    return False


FITTING = {int, float, str, bytes, bool, complex, type(None), Set, PlainSet}


def fits(v: Any) -> bool:
    """Raise unless `v` can be an element of a set: Python has a hash for it, so it is no list or dict, known
    or not; a class of the program that is derived from them may have a hash of its own."""
    cls = v.__class__
    if cls.__hash__ is unhashable:
        raise TypeError(f"unhashable type: '{'dict' if isinstance(v, dict) else 'list'}'")
    if isinstance(v, tuple):
        return all(part.__class__ in FITTING or fits(part) for part in v)
    hash(v)
    if cls.__hash__ is object.__hash__:
        FITTING.add(cls)
    return True


# Classes of which no value is equal to one of another class, or another one of its own.
ALONE_EQUAL = {int, str, bytes, type(None), Set, PlainSet}


def is_exact(v: Any) -> bool:
    """Is what equals a parameter the same to Python? 1, 1.0 and True are equal, and not the same."""
    cls: Any = type(v)
    if cls in ALONE_EQUAL:
        return True
    if cls is tuple or cls is frozenset:
        return all(map(is_exact, v))
    if (cls.__eq__ is object.__eq__ and cls.__hash__ is object.__hash__) or isinstance(v, (Set, List, Dict)):
        ALONE_EQUAL.add(cls)
        return True
    return False


def asked_first(asked: Any, params: Any) -> bool:
    """Is an unmarked query asked for a combination for the first time of late? To keep an answer that nobody
    asks for again costs more than it brings. Nothing is kept alive by this; equal hashes cost time."""
    try:
        key = hash(params)
    except TypeError:  # a container that no query has come to
        key = hash(tuple(map(id, params)))
    if key in asked:
        return False
    asked[key] = None
    if len(asked) > 1000:
        del asked[next(iter(asked))]
    return True


def exact(v: Any) -> Any:
    """Raise unless what equals `v` is the same to Python; the fractions among floats are."""
    if (type(v) is float and v % 1) or is_exact(v):
        return v
    raise TypeError("a value of another kind may be the same key")


UNMARKED: list[bool] = []  # not empty where no query is marked: then elements count as they are to Python
SOME_UNMARKED = True  # what stands under it is left out where all queries are marked


def unlike(x: Any, y: Any) -> bool:
    """Do values that are equal differ, as 1 and True do?"""
    if x is y or (is_exact(x) and is_exact(y)):
        return False
    if type(x) is not type(y):
        return True
    if type(x) is tuple:
        return any(map(unlike, x, y))
    return type(x) is not bool and repr(x) != repr(y)


def count_element(counts: dict[Any, int], x: Any) -> None:
    """Count one more element of a list or tuple; to Python it may differ from one that equals it."""
    count = counts.get(x, 0)
    counts[x] = count + 1
    if count and UNMARKED:
        tell_apart(stored(counts, x), x)


def tell_apart(known: Any, x: Any) -> None:
    """Refuse two elements that are equal and not the same."""
    if unlike(known, x):
        refuse("IQ301", f"a list holds {known!r} and {x!r}, which are one key")


def equals_itself(v: Any) -> bool:
    """`v == v` for a value that two sides of an equality share; lists and dicts are equal by their content,
    which may change."""
    for part in v if isinstance(v, tuple) else (v,):
        if isinstance(part, (list, dict)):
            plain(part)
    return bool(v == v)


# Classes whose values equal themselves, and can be keys.
REFLEXIVE = {int, str, bytes, bool, type(None), Set, PlainSet}


def is_reflexive(v: Any) -> bool:
    """`v == v`, false where that raises."""
    if v.__class__.__eq__ is object.__eq__ and v.__class__.__hash__ is object.__hash__:
        REFLEXIVE.add(v.__class__)
    try:
        return equals_itself(v)
    except Exception as error:
        return doubted(error)


def contains(s: Any, x: Any) -> bool:
    """`x in s`, false where that raises."""
    try:
        return holds(s, x)
    except TypeError:
        return False


def holds(s: Any, x: Any) -> bool:
    """`x in s` inside a condition; raises where Python would, so that the combination is skipped."""
    if isinstance(s, tuple):
        return any(same(x, y) for y in s)
    if isinstance(s, List):
        if SOME_UNMARKED and isinstance(x, list) and not any(x is y for y in s):
            plain(x)  # to Python lists are equal by their content, which may change
        return keyable(x) and x in s._bag_()
    if s.__class__ in SOURCES or isinstance(s, (str, bytes)) or is_source(s):
        if isinstance(x, (list, dict, tuple)) and s.__class__ is not range:
            fits(x)
        return x in s
    raise TypeError(f"{s.__class__.__name__} holds nothing")


def same(a: Any, b: Any) -> bool:
    """Equality of values inside a query: as dict keys are compared, containers by identity, in tuples too."""
    if a is b:
        return True
    if a.__class__ in COMPARED and b.__class__ in COMPARED:
        return bool(a == b)
    if isinstance(a, (set, dict, list)) or isinstance(b, (set, dict, list)):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    for cls in (a.__class__, b.__class__):
        if cls.__eq__ is object.__eq__:
            COMPARED.add(cls)
    try:
        return bool(a == b)
    except Exception as error:
        return doubted(error)


# Classes whose values `==` compares as keys are: of numbers and texts, or equal to nothing but themselves.
COMPARED = {int, float, str, bytes, bool}


def equal(a: Any, b: Any) -> bool:
    """`==` inside a query: Python's own, but sets by identity, in tuples too. Two lists, or dicts, are equal
    by their content, which may change."""
    if isinstance(a, (set, frozenset)) and isinstance(b, (set, frozenset)):
        return a is b or (not (isinstance(a, set) or isinstance(b, set)) and a == b)
    if a is not b and isinstance(a, (list, dict)) and isinstance(b, (list, dict)):
        plain(a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(x is y or equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def unequal(a: Any, b: Any) -> bool:
    """`!=` inside a query; a class may have its own."""
    if isinstance(a, (set, tuple, list, dict)) or isinstance(b, (set, tuple, list, dict)):
        return not equal(a, b)
    return bool(a != b)


def usual_equal(a: Any, b: Any) -> bool:
    """`==` in an unmarked query, as Python has it; of two containers it raises: their content may change."""
    if isinstance(a, frozenset):
        a, b = b, a
    if a is not b and isinstance(a, (set, list, dict)) and isinstance(b, (set, list, dict, frozenset)):
        raise TypeError("cannot keep what compares containers")
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(x is y or usual_equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def raises(expression: Any) -> bool:
    """Does evaluating an expression raise?"""
    try:
        expression()
    except EXHAUSTED:
        raise
    except Exception:
        return True
    return False


def iterable(v: Any) -> bool:
    """Raise unless `v` can be iterated."""
    iter(v)
    return True


NAN = float("nan")
NANS: dict[str, Any] = {}  # those of other classes, by their texts, which tell their signs and payloads


def steady(v: Any) -> Any:
    """A computed value that equals itself: every NaN is one, so that deletion finds what addition put."""
    cls = v.__class__
    if cls is float:
        return v if v == v else NAN
    if cls is tuple:
        return tuple(map(steady, v))
    if (cls is complex and v != v) or (cls.__module__ == "decimal" and v.is_nan()):
        return NANS.setdefault(str(v), v)
    return v


OPERATORS = [
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__add__",
    "__radd__",
    "__sub__",
    "__rsub__",
    "__mul__",
    "__rmul__",
    "__truediv__",
    "__floordiv__",
    "__mod__",
    "__pow__",
    "__and__",
    "__or__",
    "__xor__",
    "__neg__",
    "__pos__",
    "__abs__",
    "__invert__",
    "__str__",
    "__repr__",
    "__format__",
    "__len__",
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
    "__getitem__",
    "__contains__",
    "__iter__",
    "__round__",
    "__bytes__",
]
PLAIN = {int, float, str, bytes, bool, complex, type(None), range, type(int | str)}


def plain(v: Any) -> Any:
    """Let `v` through if it cannot change unseen; refuse it otherwise."""
    cls = v.__class__
    if cls in PLAIN:
        return v
    if issubclass(cls, (tuple, frozenset)):
        for part in v:
            plain(part)
        return v if cls is tuple or cls is frozenset else unmoved(v)
    if issubclass(cls, (int, float, str, bytes, complex)) or is_value_class(cls):
        return unmoved(v)
    if not issubclass(cls, (set, list, dict)) and not any(
        base not in (object, type) and any(operator in base.__dict__ for operator in OPERATORS)
        for base in cls.__mro__
    ):
        PLAIN.add(cls)  # nothing to look into: Python's own error, or its own text, is the answer
        return v
    raise closed(cls)


def closed(cls: Any) -> TypeError:
    """Refuse what a condition looks into."""
    way = "compare or compute with tuples, or with the objects that hold it; `len` and `in` are maintained"
    refuse("IQ301", f"a condition looks into a {cls.__name__}, whose content may change unseen", way)
    return TypeError(f"cannot look into {cls.__name__}")


KINDS = {type}  # what classes are of that compute nothing


def kinds(v: Any) -> Any:
    """Let through what `isinstance` asks about, unless that computes what belongs to it."""
    cls = type(v)
    for part in v if cls is tuple else getattr(v, "__args__", ()):  # int | str
        kinds(part)
    own = [base for base in cls.__mro__ if base not in (object, type, tuple)]
    if any("__instancecheck__" in b.__dict__ and b.__module__ not in ("abc", "types", "typing") for b in own):
        raise closed(cls)
    if getattr(v, "_is_protocol", False) and any(map(reads_fields, v.__mro__)):
        raise closed(cls)
    if cls is not tuple and not any(base.__module__ in ("types", "typing") for base in own):
        KINDS.add(cls)
    return v


def reads_fields(cls: Any) -> bool:
    """Does a protocol have more than methods?"""
    names = [n for n in vars(cls) if not n.startswith(("__", "_abc_", "_is_"))]
    return getattr(cls, "_is_protocol", False) and (
        bool(getattr(cls, "__annotations__", None)) or not all(callable(getattr(cls, n)) for n in names)
    )


def unmoved(v: Any) -> Any:
    """Let a value of a class of the program's own through, unless that may compute from fields of it."""
    cls = v.__class__
    own = [base for base in cls.__mro__ if base.__module__ not in ("builtins", "enum")]
    fields = getattr(cls, "__dataclass_fields__", ())
    for field in fields:
        plain(getattr(v, field, None))
    if fields:
        return v
    if any(operator in vars(base) for base in own for operator in OPERATORS):
        if has_fields(v) and not is_value_class(cls):
            message = f"a condition looks into a {cls.__name__}, which may compute from its fields"
            refuse("IQ301", message, "read its fields in the query")
            raise TypeError(f"cannot look into {cls.__name__}")
    elif not issubclass(cls, (tuple, frozenset)):
        PLAIN.add(cls)
    return v


def has_fields(v: Any) -> bool:
    """Has the object something that could be assigned?"""
    return bool(getattr(v, "__dict__", None)) or any(vars(c).get("__slots__") for c in v.__class__.__mro__)


def sized(v: Any) -> Any:
    """What `len` is asked of; an object that counts something else is refused."""
    if v.__class__ in SOURCES or isinstance(v, (Set, Dict, List)):
        return v
    return v if getattr(v.__class__, "__len__", None) in (None, tuple.__len__) else plain(v)


CALLED = {int, float, str, bytes, bool, complex}


def called_of(v: Any, method: str) -> Any:
    """What a method of texts, numbers or dates is called of; an object with one of that name is refused."""
    cls = v.__class__
    if cls in CALLED or not hasattr(cls, method) or is_value_class(cls):
        return v
    own = hasattr(getattr(cls, method), "__code__")  # a function of the program
    if own or has_fields(v) or isinstance(v, (bytearray, list, set, dict)):
        way = "read its fields in the query"
        refuse("IQ301", f"a condition calls `{method}` of a {cls.__name__}, which may read what changes", way)
        raise TypeError(f"cannot call a method of {cls.__name__}")
    return v


def scalar(v: Any) -> Any:
    """Like `plain`, for a comparison with a constant, which no collection has an order with."""
    return v if isinstance(v, (set, frozenset, list, tuple, dict)) else ordered(v)


ORDERS = ("__lt__", "__le__", "__gt__", "__ge__")
UNORDERED: set[Any] = set()


def ordered(v: Any) -> Any:
    """Like `plain`, for an order: an object without one is Python's own error, whatever its text may read."""
    cls = v.__class__
    if cls not in UNORDERED:
        if any(base is not object and order in vars(base) for base in cls.__mro__ for order in ORDERS):
            return plain(v)
        UNORDERED.add(cls)
    return v


def truth(v: Any) -> Any:
    """A value of which only the truth counts; one that an object computes from what may change is refused."""
    cls = v.__class__
    if cls not in PLAIN and not isinstance(v, (Set, Dict, List)):
        for base in cls.__mro__:
            if base is tuple or base is frozenset:
                return v  # its length is all that counts, whatever it holds
            if base is not object and ("__bool__" in base.__dict__ or "__len__" in base.__dict__):
                return plain(v)
    return v


VALUES = {"datetime", "decimal", "fractions", "uuid", "ipaddress", "enum", "zoneinfo"}


def is_value_class(cls: type) -> bool:
    """Immutable classes of the standard library, enumerations and frozen dataclasses."""
    if cls.__module__ in VALUES:
        return True
    if any(base.__module__ == "enum" for base in cls.__mro__):
        return True
    params = getattr(cls, "__dataclass_params__", None)
    return bool(params is not None and params.frozen)


class Stored:
    """Finds the very element that a set holds for an equal one: `Stored(x) in s`, then `.found`."""

    def __init__(self, x: Any) -> None:
        self.x = self.found = x

    def __hash__(self) -> int:
        return hash(self.x)

    def __eq__(self, other: object) -> bool:
        if self.x == other:
            self.found = other
            return True
        return False


ALONE = {str, bytes, type(None), Set, PlainSet}  # classes whose values equal none of another kind


def stored(s: Any, x: Any) -> Any:
    """The element of `s` that equals `x`: 1, 1.0 and True are equal, and not the same; a named tuple equals a
    tuple."""
    if x.__class__.__eq__ is object.__eq__:
        ALONE.add(x.__class__)
    elif x.__class__ not in ALONE:
        probe = Stored(x)
        try:
            if probe in s:
                return probe.found
        except Exception:
            pass  # an `__eq__` of the program, which knows its own kind only
        if UNMARKED and x in s:  # to marked queries equal values are one
            return next((y for y in s if y is x or y == x), x)
    return x


class View(AbstractSet[Any]):
    """A read-only live view of an answer; iterating across an update that changes it is an error."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Any) -> None:
        self._ask = ask

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return Set(it)

    def __contains__(self, x: object) -> bool:
        return x in self._ask()

    def __len__(self) -> int:
        return len(self._ask())

    def __iter__(self) -> Iterator[Any]:
        answer = self._ask()
        seen = list(answer)
        for x in seen:
            if x not in answer:
                break
            yield x
        else:
            now = self._ask()
            if len(now) == len(seen) and all(x in now for x in seen):
                return
        raise IncoqRuntimeError("IQ304", "a live view was iterated across an update")

    def __repr__(self) -> str:
        return f"View({set(self._ask())!r})" if self._ask() else "View(set())"


def viewed(ask: Any) -> View:
    """A view of what a question gives; it is asked at once, so that a fault shows here."""
    ask()
    return View(ask)


class QueryMethod:
    """A query method whose companions know their object: `club.adults.view()`. `place` is where the object
    stands among the demand parameters."""

    def __init__(self, function: Any, place: Any) -> None:
        self.__wrapped__, self.place = function, place
        self.__name__, self.__qualname__, self.__doc__ = (
            function.__name__,
            function.__qualname__,
            function.__doc__,
        )
        self.view, self.demand = function.view, function.demand
        self.release, self.demanded = function.release, function.demanded

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else BoundQuery(self, instance)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.__wrapped__(*args, **named)


class BoundQuery:  # a query method with its object; its text is the query's own
    __slots__ = ("__func__", "__self__")
    __doc__ = property(lambda self: self.__func__.__doc__)

    def __init__(self, function: Any, instance: Any) -> None:
        self.__func__, self.__self__ = function, instance

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.__func__.__wrapped__(self.__self__, *args, **named)

    def view(self, *args: Any, **named: Any) -> Any:
        return self.__func__.view(self.__self__, *args, **named)

    def demand(self, *args: Any, **named: Any) -> None:
        self.__func__.demand(*self.with_self(args), **named)

    def release(self, *args: Any, **named: Any) -> None:
        self.__func__.release(*self.with_self(args), **named)

    def with_self(self, args: Any) -> Any:
        place = self.__func__.place
        return args if place is None else (*args[:place], self.__self__, *args[place:])

    @property
    def demanded(self) -> Any:
        """The combinations demanded of this object, which is left out."""
        place = self.__func__.place
        if place is None:
            return self.__func__.demanded
        return Set(k[:place] + k[place + 1 :] for k in self.__func__.demanded if k[place] is self.__self__)


class Demanded(AbstractSet[Any]):
    """The demanded combinations of a query, live and read-only: a set of tuples."""

    __slots__ = ("_answers", "_keep", "_shown", "_width")

    def __init__(self, answers: Any, shown: int, width: int, keep: Any = None) -> None:
        self._answers, self._shown, self._width = answers, shown, width
        self._keep = keep  # gives the function that demands a combination, where programs do so

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return Set(it)

    def __contains__(self, combination: object) -> bool:
        try:
            return any(same(combination, known) for known in self)
        except Doubt as doubt:
            raise doubt.__cause__ or doubt from None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._combinations())

    def __len__(self) -> int:
        return len(self._combinations())

    def _combinations(self) -> list[Any]:
        """What is shown of the keys: without the globals, which may have had several values."""
        keys = self._keys()
        return keys if self._shown == self._width else [*dict.fromkeys(key[: self._shown] for key in keys)]

    def _keys(self) -> list[Any]:
        """The combinations whose answers are kept, and those whose answers cannot be kept."""
        if LOST:
            resume()
        kept = [(key,) if self._width == 1 else key for key in self._answers]
        return kept + [key for keep, key in LOST if self._keep is not None and keep is self._keep()]

    def __repr__(self) -> str:
        return f"Demanded({list(self)})"


def current(aggregate: Any) -> Any:
    """The value of an aggregate, or MISSING where it has none."""
    try:
        return aggregate.value()
    except Exception as error:
        doubted(error)
        return MISSING


def present(v: Any) -> Any:
    """The value of a nested aggregate inside a condition; where there is none the combination is skipped."""
    if v is MISSING:
        raise ValueError("a nested aggregate has no value")
    return v


def changed(old: Any, new: Any) -> bool:
    """Is a new value another one? Equal values of another type are; so is another object."""
    if new is old:
        return False
    if new.__class__ is not old.__class__ or new.__class__ not in PLAIN or new != old:
        return True
    return not new and repr(new) != repr(old)  # zeros have a sign


UNSEEN = {"__dict__", "__setattr__", "__delattr__", "__getstate__", "__reduce__", "__reduce_ex__"}
UNSEEN |= {"__set__", "__delete__", "__setstate__", "setattr", "delattr"}
UNSEEN |= {"__globals__", "f_globals", "__init__"}


def named(attribute: Any) -> Any:
    """A computed name of an attribute, unless what it names changes fields unseen."""
    if isinstance(attribute, str) and not UNSEEN.isdisjoint(str.split(attribute, ".")):
        message = f"`{attribute}`, reached by a computed name, changes fields unseen"
        if UNMARKED:  # no query reports it: from now on each is evaluated as it stands
            refuse("IQ220", message)
            return attribute
        raise IncoqRuntimeError("IQ220", message, "assign the field, or use `setattr`")
    return attribute


REPLACED = {"__dict__", "__class__", "__bases__", "__eq__", "__hash__"}
REPLACED |= {"__setattr__", "__delattr__", "__getattr__", "__getattribute__"}


def unreplaced(attribute: Any) -> Any:
    """The name of an attribute that is set and is no field, unless that changes fields unseen."""
    if isinstance(attribute, str) and str.__str__(attribute) in REPLACED:
        message = f"`{attribute}`, set by a computed name, changes fields unseen"
        raise IncoqRuntimeError("IQ220", message, "assign the fields")
    return attribute


STORING: set[Any] = set()  # (class, field): looked at, and found to compute nothing


def storing(v: Any, field: str) -> Any:
    """What a field is read of which some class computes; for an object of that one, something without it."""
    cls = v.__class__
    if (cls, field) not in STORING:
        if computes(cls, field):
            check_fields(cls, field)
            return MISSING
        STORING.add((cls, field))
    return v


def computes(cls: Any, field: str) -> bool:
    """Has a class something for the field that gives what it likes? The parts of values never change."""
    for base in cls.__mro__:
        if field in vars(base):
            found = vars(base)[field]
            is_slot = found.__class__ is MemberDescriptorType and found.__name__ == field
            is_part = base.__module__ in VALUES or found.__class__.__name__ == "_tuplegetter"
            return hasattr(found.__class__, "__get__") and not is_slot and not is_part
    return False


def check_fields(cls: Any, *fields: str) -> None:
    """Refuse a class that computes a field which queries read."""
    for field in fields:
        if computes(cls, field):
            refuse("IQ206", f"queries read the field `{field}`, which the class {cls.__name__} computes")


SLOT: Any = type(object.__setattr__)  # of what C code does when a field is assigned
FOLLOWING: set[Any] = set()  # what stands in a class that is followed, as `__setattr__` and `__delattr__`


class UnfollowedError(AttributeError):
    """Raised in an unmarked query where a field may change unseen."""


def follow_fields(cls: Any, setters: Any, deleters: Any, unmarked: bool, indexed: bool) -> None:
    """Have fields of a class maintained that code outside the program assigns, which was not compiled: where
    all queries are `unmarked`, of objects that are followed; where all are `indexed`, of copies, too."""
    if not isinstance(cls, type):
        return
    put: Any = cls.__setattr__
    drop: Any = cls.__delattr__
    if put.__class__ is not SLOT or drop.__class__ is not SLOT:
        return  # it has its own, or a base has these already

    special = {*setters, "__dict__", "__class__"}

    def assign(self: Any, attribute: str, value: Any, /) -> None:
        if attribute not in special:
            put(self, attribute, value)
        elif attribute in setters and (type(self).__setattr__ in FOLLOWING or not unmarked):
            setters[attribute](value, self)
        elif attribute in ("__dict__", "__class__") and hasattr(self, "__dict__"):
            held = list(vars(self).items())
            for field in [field for field, _ in held if field in deleters]:
                deleters[field](self)
            try:
                put(self, attribute, value)
                if attribute == "__dict__":
                    held = list(vars(self).items())
            finally:
                vars(self).clear()
                restore(self, held)
        else:
            put(self, attribute, value)

    def delete(self: Any, attribute: str, /) -> None:
        if attribute in deleters and (type(self).__delattr__ in FOLLOWING or not unmarked):
            deleters[attribute](self)
        else:
            drop(self, attribute)

    def restore(self: Any, fields: Any) -> None:
        for field, value in fields:
            if field in setters:
                setters[field](value, self)
            else:
                vars(self)[field] = value

    def set_state(self: Any, state: Any, /) -> None:
        own, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        if own:
            restore(self, own.items())
        for field, value in (slots or {}).items():
            setattr(self, field, value)

    FOLLOWING.update((assign, delete))
    own = {"__setattr__": assign, "__delattr__": delete, "__incoq_stores__": (put, drop, unmarked)}
    if indexed and not hasattr(cls, "__setstate__"):
        own["__setstate__"] = set_state
    for name, value in own.items():
        setattr(cls, name, value)


FOLLOWED: dict[Any, bool] = {}  # (class, field): looked at; has the class itself a value for the field?


def followed(v: Any, field: str) -> Any:
    """What an unmarked query reads a field of. No update shows when it changes in an object of another class
    than those that are followed, or in the class itself: then it is as if it raised."""
    cls = type(v)
    stands_in = FOLLOWED.get((cls, field))
    if stands_in is None:
        if not is_followed(v, field):
            raise UnfollowedError
        stands_in = FOLLOWED[cls, field]
    if stands_in and field not in v.__dict__:
        raise UnfollowedError
    return v


def followed_field(v: Any, field: str) -> Any:
    """A field as an unmarked query reads it, if it does."""
    try:
        return getattr(followed(v, field), field)
    except AttributeError:
        return MISSING


def is_followed(v: Any, field: str) -> bool:
    """Are all changes of a field seen in objects of this class, and is each of them equal to itself alone?"""
    cls: Any = type(v)
    if (cls, field) in FOLLOWED:
        return True
    if cls.__setattr__ not in FOLLOWING or cls.__delattr__ not in FOLLOWING or computes(cls, field):
        return False
    alone = cls.__eq__ is object.__eq__ and cls.__hash__ is object.__hash__
    reads = next(base for base in cls.__mro__ if "__getattribute__" in vars(base))
    read_as_usual = reads.__module__ == "builtins" and not issubclass(reads, type)
    if not (alone or isinstance(v, (Set, List, Dict))) or not read_as_usual or hasattr(cls, "__getattr__"):
        return False
    home: Any = next((base for base in cls.__mro__ if field in vars(base)), None)
    FOLLOWED[cls, field] = home is not None and vars(home)[field].__class__ is not MemberDescriptorType
    return True


def store_field(o: Any, field: str, value: Any) -> None:
    """`o.field = value`, unmaintained."""
    stores = getattr(o.__class__, "__incoq_stores__", None)
    if stores is None or (stores[2] and type(o).__setattr__ not in FOLLOWING):
        setattr(o, field, value)
    else:
        stores[0](o, field, value)


def drop_field(o: Any, field: str) -> None:
    """`del o.field`, unmaintained."""
    stores = getattr(o.__class__, "__incoq_stores__", None)
    if stores is None or (stores[2] and type(o).__delattr__ not in FOLLOWING):
        delattr(o, field)
    else:
        stores[1](o, field)


PAST: list[Any] = []  # objects of which a field is set or deleted past what their classes do then


def store_past(o: Any, field: str, value: Any) -> None:
    """`o.field = value`, or `object.__setattr__(o, field, value)`, unmaintained."""
    if PAST and PAST[-1] is o:
        object.__setattr__(o, field, value)
    else:
        store_field(o, field, value)


def store_again(o: Any, field: str, value: Any) -> None:
    """The same with the value that the field has, of an object that what is maintained knows: it raises what
    changing the field would raise. An object that equals others by its fields is lost by that."""
    if PAST and PAST[-1] is o and o.__class__.__hash__ is not object.__hash__:
        cls = o.__class__.__name__
        raise IncoqRuntimeError("IQ205", f"`{field}` of a {cls} changes, by which it is compared")
    store_past(o, field, value)


def drop_past(o: Any, field: str) -> None:
    """`del o.field`, or `object.__delattr__(o, field)`, unmaintained."""
    if PAST and PAST[-1] is o:
        object.__delattr__(o, field)
    else:
        drop_field(o, field)


def on_class(field: str) -> IncoqRuntimeError:
    """The error for a class attribute that is assigned on the class and that queries read of its objects."""
    return IncoqRuntimeError("IQ222", f"`{field}` is assigned on a class", "assign it on the objects")


def only_adds() -> IncoqRuntimeError:
    """The error for a removal in a program whose text has none."""
    return IncoqRuntimeError("IQ306", "a set was changed by code that was not compiled: it never removes")


def answer_of(answers: Any, key: Any, query: str) -> Any:
    """The answer for parameters of which one has no hash, being a list or dict that no query has reached."""
    know(key)
    try:
        return answers.get(key)
    except TypeError:
        raise unkeyed(key, query) from None


def know(v: Any) -> None:
    """Give a list or dict its hash, in tuples too."""
    if isinstance(v, tuple):
        for part in v:
            know(part)
    elif isinstance(v, (Dict, List)):
        v._known_ = True


def unkeyed(key: Any, query: str) -> IncoqRuntimeError:
    """The error for parameters of which one cannot be a key."""
    for v in key if isinstance(key, tuple) else (key,):
        if isinstance(v, (set, list, dict)) and v.__class__.__hash__ is None:
            return unseen(v, f"{query} was asked for")
    return IncoqRuntimeError("IQ303", f"{query} was asked for a value that cannot be a dict key")
