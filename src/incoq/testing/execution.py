"""Run one random program, compiled, and compare it with straightforward evaluation after every operation.

The compiled program and the reference look at the same live objects: the reference functions are made from
the original text (`oracle`), and the package's own evaluator is asked now and then too. An update also runs
uncompiled on copies of what it changes, so that its result, exception and new contents are known
beforehand.
"""

from __future__ import annotations

import importlib
import linecache
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from incoq.names import free_names
from incoq.testing import oracle
from incoq.testing.random_operations import Op, Ref
from incoq.testing.random_programs import Program
from incoq.testing.random_queries import FIELDS, QuerySpec
from incoq.testing.update_forms import SHRINKING, Update

EVALUATE_EVERY = 16
CHECK_EVERY = 8
LARGEST = 6
LIMITS = ("IQ104", "IQ106")  # a program nests too deep, or is too large


# Of values that are equal and not alike (1, 1.0, True) an answer holds one; which one is not defined.
STRICT_TYPES = False


class Failure(Exception):  # noqa: N818  # a finding, not an error of this code
    """The compiled program did what the original would not; `kind` is kept while a failure is shrunk."""

    def __init__(self, kind: str, message: str, step: int = -1) -> None:
        super().__init__(message)
        self.kind, self.message, self.step = kind, message, step


class Refused(Exception):  # noqa: N818
    """The program was refused with a code, at compile time or while it ran."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Skip(Exception):  # noqa: N818
    """The operation has no meaning in the present world."""


@dataclass
class Counters:
    """What a run did."""

    operations: int = 0
    checks: int = 0
    nonempty: int = 0
    changed: int = 0
    evaluated: int = 0
    verified: int = 0
    raised: int = 0


@dataclass
class Asked:
    """What must be compared after every step, for one query."""

    spec: QuerySpec
    reference: oracle.OracleQuery
    combinations: dict[tuple[Any, ...], tuple[Any, ...]] = field(default_factory=dict)
    demanded: dict[tuple[Any, ...], tuple[Any, ...]] = field(default_factory=dict)

    def key(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The demand parameters' values among the arguments, as a key."""
        demand = self.spec.demand or self.spec.params
        return tuple(as_key(a) for p, a in zip(self.spec.params, args, strict=True) if p in demand)

    def touch(self, args: tuple[Any, ...]) -> None:
        """Note an ask; with `lru(2)` only the last two demands are compared, oldest first."""
        self.combinations.pop(as_key(args), None)
        self.combinations[as_key(args)] = args
        if "lru" in self.spec.keep:
            recent = list(dict.fromkeys(map(self.key, reversed(self.combinations.values()))))[:2]
            self.combinations = {k: a for k, a in self.combinations.items() if self.key(a) in recent}


@lru_cache(maxsize=4)
def compile_once(text: str, mode: str, strategy: str) -> tuple[Any, str]:
    """What the compiler makes of a text, and its code; shrinking runs the same text many times."""
    package = importlib.import_module("incoq")
    compiled = package.compile_source(text, "<program>", mode=mode, strategy=strategy)
    return compiled, compiled.code


def load(text: str, name: str) -> dict[str, Any]:
    """Execute a module's text, with its lines at hand for `inspect` and for tracebacks."""
    filename = f"<{name} program>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": name}
    exec(compile(text, filename, "exec"), namespace)
    return namespace


class Execution:
    """One program, loaded compiled and plain, with its world; answers are compared after every operation, or
    after `every` so many: what an operation left wrong is seen then, unless another one has mended it."""

    def __init__(
        self, program: Program, mode: str, strategy: str, counters: Counters | None = None, every: int = 1
    ) -> None:
        self.program, self.every = program, every
        self.counters = counters or Counters()
        self.world: dict[str, Any] = {}
        self.sets: list[Any] = []
        self.objects: list[Any] = []
        self.step_number = 0
        self.kept: tuple[Any, frozenset[Any]] | None = None
        self.last: dict[tuple[str, tuple[Any, ...]], Any] = {}
        self.copies: dict[int, tuple[Any, Any]] = {}  # of what the last update changes, as it must be then
        self.updates = {u.name: u for u in program.updates}
        text = program.text
        self.plain = load(text, "plain")
        if mode == "uncompiled":
            self.live = load(text, "live")
            self.checker: Any = None
            self.extra_space: Callable[[dict[str, Any]], int] | None = None
        else:
            self.live, self.checker = self.load_compiled(text, mode, strategy)
        self.classes = tuple(self.live[name] for name in ("Obj", "Item") if name in self.live)
        self.fields = tuple(dict.fromkeys((*FIELDS, *program.fields)))
        helpers = {k: self.plain[k] for k in ("odd", "number", "pair")}
        if program.with_global:
            self.plain.update((k, self.live[k]) for k in ("R", "T") if k in self.live)
        try:
            references = oracle.build(text, {**self.live, **helpers})
        except oracle.NotWellFormed as error:
            raise Refused("not well-formed", str(error)) from None
        self.asked = {q.name: Asked(q, references[q.name]) for q in program.queries}
        self.live.update({f"seen_{name}": self.seen(asked) for name, asked in self.asked.items()})
        self.evaluate = self.evaluator()

    def seen(self, asked: Asked) -> Callable[..., None]:
        """What a program calls with an answer in the middle of an update: it must be right there and then."""

        def check(answer: Any, *args: Any) -> None:
            expected = set(asked.reference.bag(*args))
            if set(map(without_nan, answer)) != set(map(without_nan, expected)):
                raise Failure(
                    "answer", f"{asked.spec.name}{show(args)} is {show(answer)}, not {show(expected)}"
                )

        return check

    def load_compiled(self, text: str, mode: str, strategy: str) -> tuple[dict[str, Any], Any]:
        """Compile the text and execute what came out."""
        try:
            compiled, code = self.compile(text, mode, strategy)
        except Exception as error:
            refuse(error)
            raise Failure("compiler crash", f"{type(error).__name__}: {error}") from error
        try:
            live = self.load_code(code)
        except Exception as error:
            raise Failure("load", f"{type(error).__name__}: {error}\n{code}") from error
        # A name that nothing defines raises inside a condition, and the combination is skipped in silence.
        if undefined := free_names(code):
            raise Failure("undefined names", ", ".join(sorted(undefined)))
        try:
            verify = importlib.import_module("incoq.verify")
            checker = verify.Checker(compiled, live, sets=self.sets, objects=self.objects)
        except (ImportError, AttributeError):
            checker = None
        self.extra_space = getattr(compiled, "extra_space", None) if mode == "filtered" else None
        return live, checker

    def compile(self, text: str, mode: str, strategy: str) -> tuple[Any, str]:
        """The compiled program and its code."""
        return compile_once(text, mode, strategy)

    def load_code(self, code: str) -> dict[str, Any]:
        """Execute the compiled code."""
        return load(code, "compiled")

    def evaluator(self) -> Callable[..., Any] | None:
        """The package's own straightforward evaluator."""
        try:
            evaluate: Callable[..., Any] = importlib.import_module("incoq.evaluator").evaluate
        except (ImportError, AttributeError):
            return None
        return evaluate

    # Operations

    def run(self, operations: list[Op]) -> None:
        """All the operations, compared after each or after so many."""
        for index, op in enumerate(operations):
            self.step_number = index
            try:
                self.step(op)
            except Failure as failure:
                failure.step = index
                raise
        if self.every > 1:
            self.compare()
        if self.checker is not None:
            self.verify()
        if self.extra_space is not None:
            self.release_all(self.extra_space)

    def release_all(self, extra_space: Callable[[dict[str, Any]], int]) -> None:
        """Without demand there is no extra space left."""
        for asked in self.asked.values():
            handle = self.handle(asked.spec)
            try:
                for combination in list(handle.demanded):
                    handle.release(*combination)
            except Exception as error:
                refuse(error)
                raise Failure("exception", f"releasing all raised {type(error).__name__}: {error}") from error
        if extra_space(self.live):
            raise Failure("space", f"{extra_space(self.live)} elements are left when all demand is released")

    def step(self, op: Op) -> None:
        """One operation, then every comparison."""
        self.counters.operations += 1
        try:
            self.apply(op)
        except Skip:
            return
        if self.step_number % self.every == 0:
            self.compare()

    def resolve(self, value: Any) -> Any:
        """The thing that a symbolic argument stands for."""
        if type(value) is Ref:
            name, _, attribute = value.text.partition(".")
            thing = self.world.get(name)
            return getattr(thing, attribute, None) if attribute else thing
        if type(value) is tuple:
            return tuple(map(self.resolve, value))
        return value

    def apply(self, op: Op) -> None:
        """Carry out an operation, its own outcome compared."""
        args = tuple(map(self.resolve, op.args))
        match op.kind:
            case "new":
                thing = self.world[op.target] = self.live[op.name](*args)
                if not isinstance(thing, (list, dict)):
                    (self.sets if isinstance(thing, set) else self.objects).append(thing)
            case "ask":
                self.asked_for(op, args)
            case "demand" | "release":
                self.demand(op, args)
            case _:
                update = self.updates.get(op.name)
                if update is None:
                    raise Skip
                if update.use and update.shadow:
                    self.use(op, update, args)
                elif any(len(a) > LARGEST for a in args if isinstance(a, (set, list, dict))) and (
                    update.form not in SHRINKING
                ):
                    raise Skip
                else:
                    self.update(op, update, args)

    def handle(self, spec: QuerySpec) -> Any:
        """The compiled query itself, of the class where it is a method."""
        return getattr(self.live["Obj"], spec.name) if spec.method else self.live[spec.name]

    def call_query(self, spec: QuerySpec, args: tuple[Any, ...]) -> tuple[Any, type[BaseException] | None]:
        """The compiled answer, or the type of what was raised."""
        try:
            if spec.method:
                return getattr(args[0], spec.name)(*args[1:]), None
            return self.live[spec.name](*args), None
        except Exception as error:
            refuse(error)
            return error, type(error)

    def asked_for(self, op: Op, args: tuple[Any, ...]) -> None:
        """Ask one combination; from now on it is compared."""
        asked = self.asked.get(op.name)
        if asked is None or unhashable(as_key(args)):
            raise Skip
        if asked.spec.method and not isinstance(args[0], self.live["Obj"]):
            raise Skip
        asked.touch(args)
        if "explicit" in asked.spec.keep:
            self.check(asked, args)

    def demand(self, op: Op, args: tuple[Any, ...]) -> None:
        """Demand or release one combination."""
        asked = self.asked.get(op.name)
        if asked is None or unhashable(as_key(args)):
            raise Skip
        if asked.spec.method and not isinstance(args[0], self.live["Obj"]):
            raise Skip
        handle = self.handle(asked.spec)
        if not hasattr(handle, op.kind):
            raise Skip
        explicit = "explicit" in asked.spec.keep
        known = asked.demanded.keys() if explicit else set(map(asked.key, asked.combinations.values()))
        if (op.kind == "release") != (as_key(args) in known):
            raise Skip
        try:
            getattr(handle, op.kind)(*args)
        except Exception as error:
            refuse(error)
            raise Failure("exception", f"{op} raised {type(error).__name__}: {error}") from error
        if op.kind == "demand":
            asked.demanded[as_key(args)] = args
        else:
            asked.demanded.pop(as_key(args), None)
            if not explicit:
                kept = {k: a for k, a in asked.combinations.items() if asked.key(a) != as_key(args)}
                asked.combinations = kept
        if explicit and hasattr(handle, "demanded") and len(handle.demanded) != len(asked.demanded):
            message = f"demanded holds {len(handle.demanded)} combinations, not {len(asked.demanded)}"
            raise Failure("demanded", message)

    def use(self, op: Op, update: Update, args: tuple[Any, ...]) -> None:
        """A function of the program that uses an answer without changing the world."""
        asked = self.asked[update.use]
        count = len(asked.spec.params)
        combination = args[len(args) - count :]
        if unhashable(args) or (asked.spec.method and not isinstance(combination[0], self.live["Obj"])):
            raise Skip
        answer = set(asked.reference.bag(*combination))
        try:
            got = self.live[op.name](*args)
        except Exception as error:
            refuse(error)
            raise Failure("exception", f"{op} raised {type(error).__name__}: {error}") from error
        match update.form:
            case "use: in":
                expected: Any = args[0] in answer
            case "use: len":
                expected = len(answer)
            case "use: truth":
                expected = bool(answer)
            case "use: iterate":
                expected, got = (len(answer), answer), (len(got), set(got))
            case _:
                expected = answer | {99}
        if got != expected and "value: nan" not in self.program.forms:
            raise Failure("use", f"{op} gave {show(got)}, not {show(expected)}")
        if "explicit" not in asked.spec.keep:
            asked.touch(combination)

    def update(self, op: Op, update: Update, args: tuple[Any, ...]) -> None:
        """Run an update twice: live, and plain on copies; results, exceptions and contents must agree."""
        live = self.live[op.name]
        if update.use:
            count = len(self.asked[update.use].spec.params)
            if unhashable(args[-count:]) or not isinstance(args[0], set):
                raise Skip
        if not update.shadow:
            try:
                live(*args)
            except (AttributeError, TypeError):
                self.counters.raised += 1
            except Exception as error:
                refuse(error)
                raise Failure("exception", f"{op} raised {type(error).__name__}: {error}") from error
            return
        copies = self.copies = {}
        for kind, arg in zip(update.args, args, strict=True):
            if kind[0] == "O":
                if isinstance(arg, (set, list, dict)):
                    raise Skip
                if isinstance(arg, self.classes) and id(arg) not in copies:
                    copies[id(arg)] = (arg, self.copy_object(arg))
                if len(kind) > 1 and isinstance(inner := getattr(arg, kind[2:], None), (set, list)):
                    copies[id(inner)] = (inner, copy_container(inner))
                    setattr(copies[id(arg)][1], kind[2:], copies[id(inner)][1])
            elif kind[0] in "SML" and isinstance(arg, (set, list, dict)):
                copies.setdefault(id(arg), (arg, copy_container(arg)))
            elif unhashable(arg) and kind[0] in "ek":
                raise Skip
        before = set(args[0]) if update.name == "pop" and isinstance(args[0], set) else None
        shadows = [
            copies[id(arg)][1] if id(arg) in copies and kind[0] not in "ekv" else arg
            for kind, arg in zip(update.args, args, strict=True)
        ]
        expected, expected_error = attempt(self.plain[op.name], shadows)
        got, actual_error = attempt(live, args)
        if actual_error is not expected_error:
            found = f"{name(actual_error)} ({show(got)})"
            raise Failure("exception", f"{op} ended in {found}, plain Python in {name(expected_error)}")
        if actual_error is not None:
            self.counters.raised += 1
        if before is not None and actual_error is None:
            if got not in before or set(args[0]) != before - {got}:
                left = show(set(args[0]))
                raise Failure("state", f"{op} gave {show(got)} of {show(before)}, leaving {left}")
            return
        if actual_error is None and got != expected:
            raise Failure("result", f"{op} returned {show(got)}, not {show(expected)}")
        for real, copy in copies.values():
            if isinstance(copy, (set, list, dict)):
                if len(real) != len(copy) or not same_content(real, copy):
                    raise Failure("state", f"{op} left {show(copy_container(real))}, not {show(copy)}")
            else:
                self.compare_fields(op, real, copy, copies)

    def copy_object(self, real: Any) -> Any:
        """An object of the plain class with the same fields."""
        copy = object.__new__(self.plain[type(real).__name__])
        own = vars(real) if hasattr(real, "__dict__") else self.fields
        for f in self.fields:
            if f in own and hasattr(real, f):
                setattr(copy, f, getattr(real, f))
        return copy

    def compare_fields(self, op: Op, real: Any, copy: Any, copies: dict[int, tuple[Any, Any]]) -> None:
        """An object and its copy after an update."""
        for f in self.fields:
            got, expected = getattr(real, f, Skip), getattr(copy, f, Skip)
            if got is expected:
                continue
            if isinstance(got, (set, list, dict)) and isinstance(expected, (set, list, dict)):
                known = copies.get(id(got))
                if known is not None and known[1] is expected:
                    continue
                if known is None and same_content(got, expected):
                    continue
            elif type(got) is type(expected) and without_nan(got) == without_nan(expected):
                continue
            raise Failure("state", f"{op} left .{f} as {show(got)}, not {show(expected)}")

    # Comparisons

    def compare(self) -> None:
        """Every combination that must be right now."""
        for asked in self.asked.values():
            explicit = "explicit" in asked.spec.keep
            for args in list(asked.combinations.values()):
                if not explicit or asked.key(args) in asked.demanded:
                    self.check(asked, args)
            if explicit and len(asked.key(asked.spec.params)) == len(asked.spec.params):
                for args in asked.demanded.values():
                    self.check(asked, args)
        if self.kept is not None:
            answer, content = self.kept
            if answer != content:
                message = f"an earlier answer became {show(answer)}, was {show(content)}"
                raise Failure("answer not the caller's", message)
            self.kept = None
        if self.checker is not None and self.step_number % CHECK_EVERY == 0:
            self.verify()

    def verify(self) -> None:
        """The invariants against their definitions."""
        self.counters.verified += 1
        try:
            self.checker.check()
        except AssertionError as error:
            raise Failure("invariant", str(error)) from error
        except Exception as error:
            raise Failure("checker crash", f"{type(error).__name__}: {error}") from error

    def check(self, asked: Asked, args: tuple[Any, ...]) -> None:
        """One answer against the reference."""
        spec, counters = asked.spec, self.counters
        counters.checks += 1
        expected: Any
        try:
            expected, expected_error = asked.reference.bag(*args), None
        except Exception as error:
            expected, expected_error = error, type(error)
        got, error_type = self.call_query(spec, args)
        both_raise = error_type is not None and expected_error is not None
        if error_type is not expected_error and not (both_raise and not spec.clauses):  # a value has no error
            raise Failure(
                "answer raised" if error_type else "answer should raise",
                f"{spec.name}{show(args)} gave {name(error_type)} {show(got)}, "
                f"not {name(expected_error)} {show(expected)}",
            )
        if error_type is not None:
            return
        if asked.reference.is_set:
            answer = set(expected)
            if not isinstance(got, (set, frozenset)) or (
                got != answer and set(map(without_nan, got)) != set(map(without_nan, answer))
            ):
                raise Failure("answer", f"{spec.name}{show(args)} is {show(got)}, not {show(answer)}")
            if STRICT_TYPES and self.program.mixed and spec.strict_types:
                types = {canonical(e) for e in expected}
                if not {canonical(e) for e in got} <= types:
                    message = f"{spec.name}{show(args)} is {show(got)}, not {show(answer)}"
                    raise Failure("answer type", message)
            if self.kept is None and self.step_number % 3 == 0:
                self.kept = (got, frozenset(got))
            elif (
                isinstance(got, set)
                and self.step_number % 7 == 0
                and self.kept is not None
                and got is not self.kept[0]
            ):
                got.clear()
        else:
            answer = expected
            if got != answer or (type(got) is not type(answer) and not self.program.mixed):
                raise Failure("answer", f"{spec.name}{show(args)} is {show(got)}, not {show(answer)}")
        counters.nonempty += bool(answer)
        key = (spec.name, as_key(args))
        if key in self.last and self.last[key] != answer:
            counters.changed += 1
        self.last[key] = answer
        if self.evaluate is not None and counters.checks % EVALUATE_EVERY == 0:
            self.cross_check(asked, args, answer)

    def cross_check(self, asked: Asked, args: tuple[Any, ...], answer: Any) -> None:
        """The package's evaluator against the reference of this folder."""
        assert self.evaluate is not None
        spec = asked.spec
        self.counters.evaluated += 1
        query = getattr(self.plain["Obj"], spec.name) if spec.method else self.plain[spec.name]
        try:
            with self.checker.values.as_in_python() if self.checker is not None else nullcontext():
                got = self.evaluate(query, *args)
        except Exception as error:
            refuse(error)
            message = f"{spec.name}{show(args)}: {type(error).__name__}: {error}"
            raise Failure("evaluator raised", message) from error
        if got != answer and not (
            asked.reference.is_set and set(map(without_nan, got)) == set(map(without_nan, answer))
        ):
            message = f"evaluate({spec.name}){show(args)} is {show(got)}, not {show(answer)}"
            raise Failure("evaluator", message)


def attempt(function: Callable[..., Any], args: Any) -> tuple[Any, type[BaseException] | None]:
    """The result and the type of the exception."""
    try:
        return function(*args), None
    except Exception as error:
        refuse(error)
        return error, type(error)


def refuse(error: Exception) -> None:
    """A coded error is a refusal, not a wrong answer; but no random program is too large for the compiler."""
    code = getattr(error, "code", None)
    if code in LIMITS:
        raise Failure("limit", str(error)) from None
    if isinstance(code, str) and code.startswith("IQ"):
        raise Refused(code, str(error)) from None


def as_key(value: Any) -> Any:
    """A value as a key: lists and dicts by identity."""
    if isinstance(value, tuple):
        return tuple(map(as_key, value))
    return ("id", id(value)) if isinstance(value, (list, dict)) else value


def unhashable(value: Any) -> bool:
    """Whether a value, or a part of a tuple, is a list or a dict, or cannot be a key."""
    if isinstance(value, (list, dict)):
        return True
    if isinstance(value, tuple):
        return any(map(unhashable, value))
    return type(value).__hash__ is None


def copy_container(value: Any) -> Any:
    """A plain copy of a set, list or dict."""
    return set(value) if isinstance(value, set) else list(value) if isinstance(value, list) else dict(value)


def same_content(real: Any, copy: Any) -> bool:
    """Whether two containers of one kind hold the same things."""
    if isinstance(copy, list):
        return isinstance(real, list) and len(real) == len(copy) and all(map(oracle.same_key, real, copy))
    if isinstance(copy, dict):
        return (
            isinstance(real, dict)
            and list(real) == list(copy)
            and all(oracle.same_key(real[k], copy[k]) for k in copy)
        )
    return isinstance(real, set) and set(real) == copy


def without_nan(value: Any) -> Any:
    """A value with one stand-in for every NaN: an expression makes a new one each time."""
    if type(value) is tuple:
        return tuple(map(without_nan, value))
    return "NaN" if type(value) is float and value != value else value


def canonical(value: Any) -> Any:
    """A key that also tells 1, 1.0 and True apart."""
    if type(value) is tuple:
        return (tuple, *map(canonical, value))
    if isinstance(value, (int, float, str, type(None))):
        return (type(value), value)
    return id(value)


def name(error: type[BaseException] | None) -> str:
    """An exception type for a message."""
    return "no exception" if error is None else error.__name__


def show(value: Any, depth: int = 0) -> str:
    """A value for a message: bounded, also where sets contain themselves."""
    if isinstance(value, (set, frozenset, list, dict)) and depth < 2:
        shown = sorted(show(v, depth + 1) for v in value)
        inner = ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "")
        return f"{type(value).__name__}{{{inner}}}@{id(value) % 10000}" if depth else f"{{{inner}}}"
    if isinstance(value, tuple):
        return "(" + ", ".join(show(v, depth + 1) for v in value) + ")"
    if isinstance(value, (int, float, str, type(None), BaseException)):
        return repr(value)
    return f"{type(value).__name__}@{id(value) % 10000}"
