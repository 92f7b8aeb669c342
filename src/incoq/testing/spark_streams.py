"""Random streams of changes through the pipeline, against straightforward evaluation after every batch.

    python -m incoq.testing.spark_streams --shapes 40 --batches 300 --seed 1

The oracle is a world of plain objects and sets to which the same events are applied one by one, and the
package's evaluator. Ids play several roles at once: a set that is an element, has fields and stands on two
edges. Partitions are 1, 2 and 8; engines are dropped and started anew, tasks are tried again after they were
done, and the log is folded, at random. Without `--spark` the tasks run in this process, and what the engines
hold is compared with the store; with it, the workers lose their engines just so. A difference prints the
shape, the seed and the events that lead to it.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from incoq.errors import CompileError, IncoqError
from incoq.objects import Query, Set
from incoq.spark import worker
from incoq.spark.deployment import deploy_source
from incoq.spark.lookup import Lookup
from incoq.spark.pipeline import Pipeline, Runner
from incoq.spark.results import result_lines
from incoq.spark.session import in_process
from incoq.spark.store import NoJoins, Store
from incoq.spark.values import as_key, shown
from incoq.testing.random_programs import program as random_program

OBJECTS = tuple(f"o{i}" for i in range(5))
SETS = tuple(f"s{i}" for i in range(5))
MAPS = ("m0", "m1")
SHAPES: tuple[tuple[str, str], ...] = (
    ("{u.b for u in celeb.a if u in group if u.c == 1}", "celeb, group"),
    ("{u.b for u in s}", "s"),
    ("{(u, v) for u in s for v in u.a if v in s}", "s"),
    ("{v.b for u in s for v in t if u.c == v.c}", "s, t"),
    ("{u for u in s if u not in t}", "s, t"),
    ("{u for u in s if not u.a}", "s"),
    ("{u for u in s if len(u.a) < 2}", "s"),
    ("{u.b for u in s if u.c == 1 or u.d}", "s"),
    ("{getattr(u, 'b', 0) for u in s if not hasattr(u, 'c')}", "s"),
    ("len({u.b for u in s})", "s"),
    ("sum(u.c for u in s if u.d == 1)", "s"),
    ("max((u.c for u in s), default=0)", "s"),
    ("min(u.c for u in s)", "s"),
    ("any(u.c == k for u in s)", "s, k"),
    ("all(u in t for u in s)", "s, t"),
    ("all(any(u in g for u in s) for g in t)", "s, t"),
    ("{u for u in s if len({f.b for f in u.a}) > 0}", "s"),
    ("{f.b for f in {v for u in s for v in u.a} if f.c == 1}", "s"),
    ("{(u, sum(f.c for f in u.a)) for u in s}", "s"),
    ("{(x, z) for (x, y) in s for (y, z) in t}", "s, t"),
    ("{x for (x, (y, _)) in s if y in t}", "s, t"),
    ("{x for (x, x) in s}", "s"),
    ("{v for (u, v) in R if u == k}", "k"),
    ("{u for u in R for u in s}", "s"),
    ("{u.b for u in s if m[u] == k}", "s, m, k"),
    ("{k for k, v in m.items() if v == 1}", "m"),
    ("{u.b for u in m[k]}", "m, k"),
    ("{u for u in s if u in m}", "s, m"),
    ("{u.b.b for u in s if u.a.a == u.b}", "s"),
    ("{u for u in s.a.a if u.c == s.c}", "s"),
)


_HEAD = """\
from incoq import Set, lru, query

R = Set()


class Obj:
    def __init__(self):
        self.a = Set()


"""


@dataclass(frozen=True)
class Shape:
    """A program with one or more queries."""

    name: str
    text: str


def shapes(count: int, seed: int) -> Iterator[Shape]:
    """The hand-written shapes, then random ones without end."""
    found = 0
    for body, params in SHAPES:
        if found < count:
            found += 1
            yield Shape(body, f"{_HEAD}@query\ndef q({params}):\n    return {body}\n")
    while found < count:
        seed += 1
        made = random_program(seed, "all")
        if made.class_lines or made.with_lists or any(isinstance(a, str) for a in made.atoms):
            continue
        if any(q.demand and q.wrap != "{%s}" for q in made.queries):
            continue  # which rows an aggregate has for the other parameters the evaluator does not say
        found += 1
        queries = "\n".join(q.text for q in made.queries)
        yield Shape(f"random program {seed}", f"{_HEAD}{made.helpers}\n{queries}")


# -- the oracle --------------------------------------------------------------------------------------------


class _Named:
    """A thing with an id; ids are compared as the strings that they are."""

    name: str

    def __lt__(self, other: Any) -> bool:
        return self.name < _name(other)

    def __gt__(self, other: Any) -> bool:
        return self.name > _name(other)

    def __le__(self, other: Any) -> bool:
        return self.name <= _name(other)

    def __ge__(self, other: Any) -> bool:
        return self.name >= _name(other)


def _name(other: Any) -> str:
    if not isinstance(other, _Named):
        raise TypeError("not an id")
    return other.name


class Group(_Named, Set[Any]):
    """A set, with fields like any object."""


class Thing(Group):
    """An object: as a set it is empty, and its length and truth are those of its id."""

    def __len__(self) -> int:
        return len(self.name)


class Map(_Named, dict[Any, Any]):
    """A dict, with fields like any object."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class World:
    """Plain objects and sets to which events are applied one after the other."""

    def __init__(self, text: str) -> None:
        self.namespace: dict[str, Any] = {"__name__": "oracle"}
        self.things: dict[str, Any] = {}
        with _source(text) as filename:
            exec(compile(text, filename, "exec"), self.namespace)
            self.queries = {n: q for n, q in self.namespace.items() if isinstance(q, Query)}
            for query in self.queries.values():
                try:
                    query.answer(*(None for _ in query.params))
                except Exception:  # it is read now; what it answers to nothing does not matter
                    continue
        self.demanded: dict[str, dict[str, list[Any]]] = {name: {} for name in self.queries}
        self.things["R"] = self.namespace["R"]

    def thing(self, name: str) -> Any:
        if name not in self.things:
            kinds: dict[str, Callable[[], Any]] = {"o": Thing, "s": Group, "m": Map}
            self.things[name] = made = kinds[name[0]]()
            made.name = name
        return self.things[name]

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.thing(value)
        return tuple(map(self.value, value)) if isinstance(value, list) else value

    def apply(self, relation: str, op: str, values: list[Any]) -> None:
        """What the program would do."""
        if relation.startswith("demand_"):
            demanded = self.demanded[relation.removeprefix("demand_")]
            if op == "add":
                demanded[as_key(values)] = values
            else:
                demanded.pop(as_key(values), None)
            return
        if relation == "R":
            relation, values = "member", ["R", values if len(values) > 1 else values[0]]
        o, *rest = map(self.value, values)
        match op:
            case "assign" if relation == "item":
                o[rest[0]] = rest[1]
            case "unassign" if relation == "item":
                o.pop(rest[0], None)
            case "assign":
                setattr(o, relation.removeprefix("field_"), rest[0])
            case "unassign":
                if hasattr(o, relation.removeprefix("field_")):
                    delattr(o, relation.removeprefix("field_"))
            case "add":
                o.add(rest[0])
            case _:
                o.discard(rest[0])

    def answers(self) -> dict[str, set[str]]:
        """Every row of every query."""
        found: dict[str, set[str]] = {}
        for name, query in self.queries.items():
            rows = found[name] = set()
            for values in self.demanded[name].values():
                for params in self._asked(query, values):
                    rows |= _rows(query, params, [self.value(p) for p in params])
        return found

    def _asked(self, query: Query, values: list[Any]) -> Iterator[list[Any]]:
        """The demanded values with all that the other parameters could be."""
        given = dict(zip(query.demand_params, values, strict=True))
        rest = [p for p in query.params if p not in given]
        choices: list[Any] = [*OBJECTS, *SETS, *MAPS, 0, 1, 2, 3, None]

        def fill(number: int) -> Iterator[list[Any]]:
            if number == len(rest):
                yield [given[p] for p in query.params]
                return
            for choice in choices:
                given[rest[number]] = choice
                yield from fill(number + 1)

        yield from fill(0)


def _rows(query: Query, params: list[Any], args: list[Any]) -> set[str]:
    try:
        answer = query.answer(*args)
    except IncoqError:
        raise
    except Exception:
        answer = None
    shown_params = as_key(params)
    if isinstance(answer, set) and not isinstance(answer, _Named):
        return {f"{shown_params} {as_key(_shown(x))}" for x in answer}
    return {f"{shown_params} {as_key(_shown(answer))}"}


def _shown(value: Any) -> Any:
    if isinstance(value, _Named):
        return value.name
    if isinstance(value, tuple):
        return [_shown(v) for v in value]
    return shown(value)


class _source:  # noqa: N801  # used as a function
    """A file for the text of a program, which the evaluator reads."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __enter__(self) -> str:
        self.folder = tempfile.mkdtemp()
        path = Path(self.folder) / "program.py"
        path.write_text(self.text)
        return str(path)

    def __exit__(self, *_: object) -> None:
        import linecache

        linecache.clearcache()
        shutil.rmtree(self.folder)


# -- the stream --------------------------------------------------------------------------------------------


class Stream:
    """Random events over a few ids, so that everything meets everything."""

    def __init__(self, deployment: Any, seed: int) -> None:
        self.rng = random.Random(seed)
        self.deployment = deployment
        self.sequence = 0

    def beginning(self) -> list[tuple[str, str, list[Any]]]:
        """Makes every set and every dict known as one."""
        sets: list[tuple[str, str, list[Any]]] = [
            ("member", op, [s, 99]) for s in SETS for op in ("add", "remove")
        ]
        sets += [("item", "assign", [m, 99, 99]) for m in MAPS]
        return sets + [("item", "unassign", [m, 99]) for m in MAPS]

    def batch(self) -> list[tuple[str, str, list[Any]]]:
        """Some events; now and then a tuple changes several times, and demand comes and goes."""
        events = [self._event() for _ in range(self.rng.choice((1, 2, 4, 8, 16)))]
        for _ in range(self.rng.choice((0, 0, 1, 3))):
            relation, op, values = self.rng.choice(events)
            events.insert(self.rng.randrange(len(events) + 1), self._other(relation, op, values))
        return events

    def lines(self, events: Sequence[tuple[str, str, list[Any]]]) -> list[str]:
        """The events as JSON lines, in any order: their sequence numbers tell."""
        found = []
        for relation, op, values in events:
            self.sequence += self.rng.choice((1, 1, 2))
            found.append(json.dumps({"seq": self.sequence, "rel": relation, "op": op, "values": values}))
        self.rng.shuffle(found)
        return found

    def _other(self, relation: str, op: str, values: list[Any]) -> tuple[str, str, list[Any]]:
        others = {"add": "remove", "remove": "add"}
        if op in others:
            return relation, others[op], values
        if op == "assign":
            return relation, "unassign", values[:-1]
        value = self._value() if relation == "item" else self._field_value(relation.removeprefix("field_"))
        return relation, "assign", [*values, value]

    def _event(self) -> tuple[str, str, list[Any]]:
        rng = self.rng
        kind = rng.random()
        if kind < 0.2:
            query = rng.choice(self.deployment.queries)
            values = [self._argument(p) for p in query.demand]
            return f"demand_{query.name}", rng.choice(("add", "add", "add", "remove")), values
        if kind < 0.6 and self.deployment.fields:
            field = rng.choice(self.deployment.fields)
            owner = rng.choice((*OBJECTS, *OBJECTS, *SETS))
            if rng.random() < 0.15:
                return f"field_{field}", "unassign", [owner]
            return f"field_{field}", "assign", [owner, self._field_value(field)]
        if kind < 0.7 and self.deployment.has_items:
            owner = rng.choice(MAPS)
            if rng.random() < 0.25:
                return "item", "unassign", [owner, self._value()]
            return "item", "assign", [owner, self._value(), self._value()]
        if kind < 0.75 and self.deployment.globals:
            return rng.choice(self.deployment.globals), self._adding(), self._pair()
        return "member", self._adding(), [rng.choice(SETS), self._value()]

    def _adding(self) -> str:
        return self.rng.choice(("add", "add", "remove"))

    def _pair(self) -> list[Any]:
        return [self._value(), self._value()] if self.rng.random() < 0.7 else [self._value()]

    def _argument(self, name: str) -> Any:
        if name == "m":
            return self.rng.choice(MAPS)
        if name == "k":
            value = self._value()
            return 0 if value is None else value  # a null is no key
        return self.rng.choice((*SETS, *SETS, *SETS, *OBJECTS))

    def _field_value(self, field: str) -> Any:
        if field in self.deployment.set_fields:
            return self.rng.choice((*SETS, *SETS, *SETS, 1))
        if field in ("c", "d") and self.rng.random() < 0.7:
            return self.rng.choice((0, 1, 2))
        return self._value()

    def _value(self) -> Any:
        kind = self.rng.random()
        if kind < 0.5:
            return self.rng.choice(OBJECTS)
        if kind < 0.7:
            return self.rng.choice(SETS)
        if kind < 0.85:
            return self.rng.choice((0, 1, 2, None))
        if kind < 0.95:
            return [self.rng.choice(OBJECTS), self.rng.choice((*OBJECTS, *SETS, 1))]
        return [self.rng.choice(OBJECTS), [self.rng.choice(OBJECTS), 0]]


# -- one run -----------------------------------------------------------------------------------------------


class Difference(AssertionError):  # noqa: N818  # what was found, not what went wrong
    """The pipeline answers otherwise than straightforward evaluation."""


def run_shape(
    shape: Shape,
    batches: int,
    partitions: int,
    seed: int,
    folder: Path,
    run: Runner | None = None,
    spark: Any = None,
    by_joins: float = 0.0,
) -> str:
    """Stream random batches through a pipeline; what came of it: ok, or why the shape was left out.

    With a session, `by_joins` of the batches are answered by joins of DataFrames, the others by engines.
    """
    try:
        deployment = deploy_source(shape.text, shape.name)
        world = World(shape.text)
    except CompileError as error:
        return f"refused: {error.code}"
    stream = Stream(deployment, seed)
    rng = random.Random(seed)
    store = Store(folder / f"store-{seed}")
    store.path.mkdir(parents=True)
    store.deploy(deployment)
    run = run or Disturbed(in_process, seed)
    pipeline = Pipeline(store, run, snapshot_every=3, joins=_joins(spark, store) if by_joins else None)
    pipeline.init(partitions)
    told: list[str] = []
    for number in range(batches):
        events = stream.batch() if number else stream.beginning()
        told += [f"{number}: {event}" for event in events]
        try:
            for event in events:
                world.apply(*event)
            expected = world.answers()
            if by_joins:
                pipeline.roads.told = "joins" if rng.random() < by_joins else "engines"
            pipeline.run_batch(stream.lines(events), f"batch {number}")
        except NoJoins:
            raise
        except IncoqError as error:
            return f"refused while running: {error}"[:100]
        except Exception as error:
            raise Difference(_story(shape, seed, partitions, number, repr(error), told)) from error
        for query in deployment.queries:
            lines = map(json.loads, result_lines(store, query.name))
            found = {f"{as_key(line['params'])} {as_key(line['result'])}" for line in lines}
            if found != expected[query.name]:
                missing, unexpected = expected[query.name] - found, found - expected[query.name]
                reason = f"{query.name}: missing {sorted(missing)}, unexpected {sorted(unexpected)}"
                raise Difference(_story(shape, seed, partitions, number, reason, told))
        unknown = _unknown(store)
        if unknown:
            reason = f"engines have loaded, and do not hold, {unknown[:5]}"
            raise Difference(_story(shape, seed, partitions, number, reason, told))
        if rng.random() < 0.1:
            pipeline.compact(keep_feed=rng.choice((0, 2, 100)))
    return "ok"


def _unknown(store: Store) -> list[tuple[str, str]]:
    """Fields that the store holds, and that an engine of this process takes for absent.

    No answer need tell by now: an engine may have loaded them for what only a later batch makes true.
    """
    manifest = store.manifest()
    lookup, missing = Lookup(store.path, manifest.base, manifest.log), set[tuple[str, str]]()
    for place, hosted in worker.ENGINES.items():
        if place[0] == str(store.path) and hosted.seen == manifest.token:
            needs = [need for need in hosted.engine.everything() if need[0].startswith("field_")]
            missing |= {row[:2] for row in lookup.fetch(needs)} - {row[:2] for row in hosted.engine.facts()}
    return sorted(missing)


def _joins(spark: Any, store: Store) -> Any:
    from incoq.spark.recompute import by_joins

    return by_joins(spark, store)


def _story(shape: Shape, seed: int, partitions: int, batch: int, reason: str, told: list[str]) -> str:
    """How a difference came about."""
    where = f"{shape.name}, seed {seed}, {partitions} partitions, batch {batch}"
    return "\n".join([where, reason, shape.text, *told])


@dataclass(frozen=True)
class Disturbance:
    """What befalls a task."""

    dropped: bool  # the worker on which it lands has lost its engine
    anew: bool  # the engine starts anew, as it does when a batch is large
    again: bool  # its worker is lost after it was done and before it told: it is tried again


class Disturbed:
    """A runner whose tasks find their engines gone, start them anew or are tried again, wherever they run."""

    def __init__(
        self, run: Runner, seed: int, drop: float = 0.15, anew: float = 0.3, again: float = 0.1
    ) -> None:
        self.run, self.rng, self.drop, self.anew, self.again = run, random.Random(seed), drop, anew, again
        self.dropped = 0  # engines that were there

    def __call__(self, name: str, function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        anew = self.rng.random() < self.anew
        told = [
            (task, Disturbance(self.rng.random() < self.drop, anew, self.rng.random() < self.again))
            for task in tasks
        ]
        found = self.run(name, partial(_disturbed, function), told)
        self.dropped += sum(dropped for _, dropped in found)
        return [outcome for outcome, _ in found]


def _disturbed(function: Callable[[Any], Any], told: tuple[Any, Disturbance]) -> tuple[Any, bool]:
    """A task with its disturbance, on the worker; was there an engine to drop?"""
    task, disturbance = told
    if disturbance.again:
        function(task)
    if not isinstance(task, worker.Task):
        return function(task), False
    place = task.store, task.partition, task.partitions
    dropped = disturbance.dropped and worker.ENGINES.pop(place, None) is not None
    before = worker.REBUILD_AT
    worker.REBUILD_AT = 0.01 if disturbance.anew else before
    try:
        return function(task), dropped
    finally:
        worker.REBUILD_AT = before


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="incoq.testing.spark_streams", description=__doc__.split("\n")[0])
    parser.add_argument("--shapes", type=int, default=40)
    parser.add_argument("--batches", type=int, default=300, help="in all, spread over shapes and partitions")
    parser.add_argument("--each", type=int, default=0, help="batches of each shape, instead of --batches")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--partitions", default="1,2,8")
    parser.add_argument("--budget", type=float, default=0, metavar="SECONDS", help="stop after this time")
    parser.add_argument("--spark", metavar="MASTER", help="run the tasks on this Spark, local[2] say")
    parser.add_argument(
        "--joins", type=float, default=0.0, metavar="SHARE",
        help="with --spark: this share of the batches is answered by joins of DataFrames",
    )  # fmt: skip
    chosen = parser.parse_args(arguments)
    if chosen.joins and not chosen.spark:
        parser.error("--joins needs --spark")
    counts = [int(p) for p in chosen.partitions.split(",")]
    run: Runner = in_process
    spark: Any = None
    if chosen.spark:
        from incoq.spark.session import runner, session

        spark = session("incoq streams", chosen.spark)
        run = runner(spark)
    dropped = 0
    started, outcomes = time.monotonic(), list[str]()
    each = chosen.each or max(1, -(-chosen.batches // chosen.shapes))
    for number, shape in enumerate(shapes(chosen.shapes, chosen.seed)):
        if chosen.budget and time.monotonic() - started > chosen.budget:
            print(f"the budget of {chosen.budget} s is used up after {number} shapes")
            break
        seed = chosen.seed * 1000 + number
        disturbed = Disturbed(run, seed)
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome = run_shape(
                    shape, each, counts[number % len(counts)], seed, Path(folder), disturbed, spark,
                    chosen.joins,
                )  # fmt: skip
            except Difference as difference:
                print(difference)
                return 1
        outcomes.append(outcome)
        dropped += disturbed.dropped
        if outcome != "ok":
            print(f"{shape.name}: {outcome}")
    good = outcomes.count("ok")
    print(f"{good} shapes with {each} batches each agree, {len(outcomes) - good} were refused")
    print(f"{dropped} engines were dropped on the workers that had them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
