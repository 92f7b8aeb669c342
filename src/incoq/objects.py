"""What a program imports: `Set`, `query`, `lru` and `batch` (paper, section 2).

    from incoq import Set, query

    @query
    def nyc_fans(celeb, group):
        return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}

Run by plain Python, a query is evaluated straightforwardly each time it is asked; compiled, it is maintained.
Both give the same answers, so a program can be written and tested before it is compiled.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from incoq.errors import IncoqRuntimeError

T = TypeVar("T")

Combination = tuple[Any, ...]

_MISSING: Any = object()
_VARIADIC = 0x04 | 0x08  # CO_VARARGS | CO_VARKEYWORDS


def _fault(code: str, message: str) -> IncoqRuntimeError:
    from incoq.errors import IncoqRuntimeError

    return IncoqRuntimeError(code, message)


class Set(set[T]):
    """A set with reference semantics: it hashes by identity, so sets nest; `==` is that of `set`.

    >>> inner = Set({1})
    >>> outer = Set({inner})
    >>> inner.add(2)
    >>> inner in outer
    True
    """

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]  # set declares itself unhashable

    def copy(self) -> Set[T]:
        return Set(self)

    def union(self, *others: Iterable[Any]) -> Set[Any]:
        return Set(set.union(self, *others))

    def intersection(self, *others: Iterable[Any]) -> Set[T]:
        return Set(set.intersection(self, *others))

    def difference(self, *others: Iterable[Any]) -> Set[T]:
        return Set(set.difference(self, *others))

    def symmetric_difference(self, other: Iterable[Any]) -> Set[Any]:
        return Set(set.symmetric_difference(self, other))

    def __or__(self, other: AbstractSet[Any]) -> Set[Any]:
        return _as_set(super().__or__(other))

    def __and__(self, other: AbstractSet[object]) -> Set[T]:
        return _as_set(super().__and__(other))

    def __sub__(self, other: AbstractSet[Any]) -> Set[T]:
        return _as_set(super().__sub__(other))

    def __xor__(self, other: AbstractSet[Any]) -> Set[Any]:
        return _as_set(super().__xor__(other))

    def __ror__(self, other: AbstractSet[Any]) -> Set[Any]:
        return _as_set(super().__ror__(other))  # type: ignore[misc]  # absent from typeshed

    def __rand__(self, other: AbstractSet[Any]) -> Set[Any]:
        return _as_set(super().__rand__(other))  # type: ignore[misc]  # absent from typeshed

    def __rsub__(self, other: AbstractSet[Any]) -> Set[Any]:
        return _as_set(super().__rsub__(other))  # type: ignore[misc]  # absent from typeshed

    def __rxor__(self, other: AbstractSet[Any]) -> Set[Any]:
        return _as_set(super().__rxor__(other))  # type: ignore[misc]  # absent from typeshed

    def __reduce__(self) -> tuple[Any, ...]:
        """Elements travel as state, after the set itself, so that a set may contain itself."""
        return type(self), (), (list(self), getattr(self, "__dict__", None))

    def __setstate__(self, state: tuple[list[T], dict[str, Any] | None]) -> None:
        elements, attributes = state
        self.update(elements)
        if attributes:
            self.__dict__.update(attributes)


def _as_set(result: Any) -> Set[Any]:
    if result is NotImplemented:
        return cast("Set[Any]", NotImplemented)
    return Set(result)


class lru:  # noqa: N801  # written as a function: keep=lru(1000)
    """Keep the `size` combinations that were asked most recently: `@query(keep=lru(1000))`."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        if not isinstance(size, int) or size < 1:
            raise _fault("IQ208", f"lru keeps a positive number of combinations, not {size!r}")
        self.size = size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, lru) and other.size == self.size

    def __hash__(self) -> int:
        return hash((lru, self.size))

    def __repr__(self) -> str:
        return f"lru({self.size})"


def batch() -> AbstractContextManager[None]:
    """`with batch():` maintains only what the updates inside come to. Here nothing is maintained anyway."""
    return nullcontext()


class _ByIdentity:
    """A parameter value that cannot be hashed, such as a plain set, as a key."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class _Weakly(weakref.ref[Any]):
    """A parameter object as a key that does not keep it alive."""

    __slots__ = ("_hash",)
    _hash: int

    def __init__(self, value: Any, callback: Callable[[Any], object] | None = None) -> None:
        super().__init__(value, callback)  # type: ignore[call-arg]  # typeshed gives ref only __new__
        self._hash = hash(value) if _is_hashable(value) else id(value)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, _Weakly):
            return self is other
        mine, its = self(), other()
        return mine is not None and (mine is its or bool(mine == its))

    def __hash__(self) -> int:
        return self._hash


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _revealed(part: Any) -> Any:
    """The parameter value that a part of a key stands for."""
    if isinstance(part, _Weakly):
        return part()
    return part.value if isinstance(part, _ByIdentity) else part


class Demanded(AbstractSet[Combination]):
    """The demand set of a query: the combinations of demand-parameter values of interest (paper, section 2).

    A read-only, live set of tuples. `keep` says how combinations come and go: None keeps every one asked, an
    `lru` the most recent ones, "weak" those whose objects are alive, "explicit" those that the program names.
    """

    __slots__ = ("_keep", "_keys")

    def __init__(self, keep: lru | str | None) -> None:
        self._keep = keep
        self._keys: dict[tuple[Any, ...], None] = {}  # in order of use

    def ask(self, combination: Combination) -> None:
        """Note that a query was asked."""
        if self._keep != "explicit":
            self.demand(combination)

    def demand(self, combination: Combination) -> None:
        key = self._key(combination, self._forget if self._keep == "weak" else None)
        if isinstance(self._keep, lru):
            self._keys.pop(key, None)
            self._keys[key] = None
            if len(self._keys) > self._keep.size:
                del self._keys[next(iter(self._keys))]
        else:
            self._keys.setdefault(key)

    def release(self, combination: Combination) -> None:
        self._keys.pop(self._key(combination), None)

    def _forget(self, key: tuple[Any, ...]) -> None:
        self._keys.pop(key, None)

    def _key(
        self, combination: Combination, forget: Callable[[tuple[Any, ...]], None] | None = None
    ) -> tuple[Any, ...]:
        if self._keep != "weak":
            if _is_hashable(combination):
                return combination
            return tuple(v if _is_hashable(v) else _ByIdentity(v) for v in combination)
        made: list[tuple[Any, ...]] = []

        def dead(_: object) -> None:
            if forget is not None:
                forget(made[0])

        made.append(tuple(_weak_part(value, dead) for value in combination))
        return made[0]

    def __contains__(self, combination: object) -> bool:
        return isinstance(combination, tuple) and self._key(combination) in self._keys

    def __iter__(self) -> Iterator[Combination]:
        for key in list(self._keys):
            yield tuple(_revealed(part) for part in key)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"

    @classmethod
    def _from_iterable(cls, elements: Iterable[T]) -> Set[T]:
        return Set(elements)


def _weak_part(value: Any, dead: Callable[[Any], None]) -> Any:
    try:
        return _Weakly(value, dead)
    except TypeError:  # numbers, strings and tuples take no weak references
        return value if _is_hashable(value) else _ByIdentity(value)


class View(AbstractSet[T]):
    """A read-only live view of the answer of a set query; it says so when iterated across an update."""

    __slots__ = ("_answer",)

    def __init__(self, answer: Callable[[], Any]) -> None:
        self._answer = answer

    def _now(self) -> AbstractSet[T]:
        answer = self._answer()
        if not isinstance(answer, set | frozenset):
            raise TypeError("only a set query has a view")
        return answer

    def __contains__(self, element: object) -> bool:
        return element in self._now()

    def __iter__(self) -> Iterator[T]:
        answer = self._now()
        yield from answer
        if answer != self._now():
            raise _fault("IQ304", "the answer changed while its view was iterated")

    def __len__(self) -> int:
        return len(self._now())

    def __repr__(self) -> str:
        return f"View({set(self._now())})"

    @classmethod
    def _from_iterable(cls, elements: Iterable[Any]) -> Set[Any]:
        return Set(elements)


class Query:
    """A query function or method. Calling it gives its answer: a `Set` of its own, a dict, or a value."""

    __name__: str
    __qualname__: str
    __wrapped__: Any  # the function

    def __init__(
        self,
        function: Callable[..., Any],
        demand: str | Iterable[str] | None = None,
        keep: lru | str | None = None,
        assume: str | Iterable[str] = (),
    ) -> None:
        assert isinstance(function, FunctionType)
        self.__wrapped__ = function
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.params = _parameters(function)
        self.demand_params = self.params if demand is None else _demand_parameters(function, demand)
        self.keep = _policy(keep)
        self.assume = (assume,) if isinstance(assume, str) else tuple(assume)
        self.demanded = Demanded(self.keep)
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.demanded.ask(self._asked(args, kwargs))
        return self.answer(*args, **kwargs)

    def answer(self, *args: Any, **kwargs: Any) -> Any:
        """What a call gives, without a change of the demand."""
        if self._compiled is None:
            from incoq.evaluator import compile_function

            self._compiled = compile_function(self.__wrapped__, self.demand_params)
        return self._compiled(*args, **kwargs)

    def view(self, *args: Any, **kwargs: Any) -> View[Any]:
        """A read-only live view of the answer; it costs no copy."""
        self.demanded.ask(self._asked(args, kwargs))
        view: View[Any] = View(lambda: self.answer(*args, **kwargs))
        view._now()  # a fault shows here
        return view

    def demand(self, *args: Any, **kwargs: Any) -> None:
        """Have the answer maintained for these values of the demand parameters."""
        self.demanded.demand(self._named(args, kwargs))

    def release(self, *args: Any, **kwargs: Any) -> None:
        """Have it maintained no longer; of values that are not demanded, nothing happens."""
        self.demanded.release(self._named(args, kwargs))

    def _asked(self, args: Combination, kwargs: Mapping[str, Any]) -> Combination:
        """The values of the demand parameters in a call."""
        if kwargs or len(args) != len(self.params):
            args = _bound(self.__wrapped__, args, kwargs)
        if self.demand_params is self.params:
            return args
        return tuple(args[self.params.index(name)] for name in self.demand_params)

    def _named(self, args: Combination, kwargs: Mapping[str, Any]) -> Combination:
        """The values that the program names as demand."""
        names = self.demand_params
        if not kwargs and len(args) == len(names):
            return args
        if names == self.params:
            return _bound(self.__wrapped__, args, kwargs)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if len(args) + len(kwargs) != len(names) or set(given) != set(names):
            raise _fault("IQ305", f"the demand parameters of {self.__name__} are {', '.join(names)}")
        return tuple(given[name] for name in names)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else BoundQuery(self, instance)

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<query {self.__qualname__}({', '.join(self.params)})>"


class BoundQuery:
    """A query method with its `self`."""

    __slots__ = ("__func__", "__self__")

    def __init__(self, func: Query, instance: Any) -> None:
        self.__func__, self.__self__ = func, instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)

    def view(self, *args: Any, **kwargs: Any) -> View[Any]:
        return self.__func__.view(self.__self__, *args, **kwargs)

    def demand(self, *args: Any, **kwargs: Any) -> None:
        self.__func__.demand(*self._with_self(args), **kwargs)

    def release(self, *args: Any, **kwargs: Any) -> None:
        self.__func__.release(*self._with_self(args), **kwargs)

    @property
    def demanded(self) -> AbstractSet[Combination]:
        """The combinations demanded of this object, `self` left out."""
        demanded, place = self.__func__.demanded, self._place
        if place is None:
            return demanded
        mine = Demanded(None)
        for combination in demanded:
            if combination[place] is self.__self__:
                mine.demand(combination[:place] + combination[place + 1 :])
        return mine

    @property
    def _place(self) -> int | None:
        """Where `self` stands among the demand parameters."""
        names, own = self.__func__.demand_params, self.__func__.params[0]
        return names.index(own) if own in names else None

    def _with_self(self, args: Combination) -> Combination:
        place = self._place
        return args if place is None else (*args[:place], self.__self__, *args[place:])

    @property
    def __wrapped__(self) -> MethodType:
        return MethodType(self.__func__.__wrapped__, self.__self__)

    @property
    def __name__(self) -> str:
        return self.__func__.__name__

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # the query's, not this class's
        return self.__func__.__doc__

    def __repr__(self) -> str:
        return f"<bound query {self.__func__.__qualname__} of {self.__self__!r}>"


def _parameters(function: FunctionType) -> tuple[str, ...]:
    code = function.__code__
    if code.co_flags & _VARIADIC or code.co_kwonlyargcount:
        raise _fault("IQ210", f"`{function.__name__}` has starred or keyword-only parameters")
    return code.co_varnames[: code.co_argcount]


def _demand_parameters(function: FunctionType, demand: str | Iterable[str]) -> tuple[str, ...]:
    names = (demand,) if isinstance(demand, str) else tuple(demand)
    for name in names:
        if name not in _parameters(function):
            raise _fault("IQ208", f"`{name}` is not a parameter of `{function.__name__}`")
    return names


def _policy(keep: lru | str | None) -> lru | str | None:
    if keep is None or keep == "ask":
        return None
    if isinstance(keep, lru) or keep in ("weak", "explicit"):
        return keep
    raise _fault("IQ208", f'keep is lru(n), "weak" or "explicit", not {keep!r}')


def _bound(function: FunctionType, args: Combination, kwargs: Mapping[str, Any]) -> Combination:
    """The values of all parameters, with defaults; TypeError as a call would raise it."""
    import inspect

    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return tuple(bound.arguments.values())


def query(
    value: Any = _MISSING,
    /,
    *,
    demand: str | Iterable[str] | None = None,
    keep: lru | str | None = None,
    assume: str | Iterable[str] = (),
) -> Any:
    """Mark a query: `@query`, `@query(demand=("group",), keep=lru(1000))`, or inline `query({... for ...})`.

    Inline, the argument has been evaluated by Python already, and is the answer.

    >>> query({x for x in (1, 2)})
    Set({1, 2})
    """
    if value is _MISSING:
        return lambda function: query(function, demand=demand, keep=keep, assume=assume)
    if isinstance(value, FunctionType):
        return Query(value, demand, keep, assume)
    if isinstance(value, staticmethod | classmethod):
        return type(value)(Query(value.__func__, demand, keep, assume))
    if isinstance(value, str):
        raise _fault("IQ208", f"`@query({value!r})`: options are named")
    return Set(value) if type(value) is set else value
