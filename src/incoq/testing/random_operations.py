"""Make random operations on the world of a program.

An operation is one call of an update function, an ask, a demand or a release, with arguments named
symbolically (`o0`, `s1`, `o0.a`), so that a run can be printed, replayed and shrunk.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from incoq.testing.random_programs import Program
from incoq.testing.random_queries import HOLDING
from incoq.testing.update_forms import RARE


@dataclass(frozen=True, slots=True)
class Ref:
    """A thing of the world by name: `o0`, `s1`, `m0` (dict), `l0` (list), or the present value of `o0.a`."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Op:
    """One operation: `kind` is new, call, ask, use, demand or release."""

    kind: str
    name: str
    args: tuple[Any, ...] = ()
    target: str = ""

    def __str__(self) -> str:
        arguments = ", ".join(map(repr, self.args))
        match self.kind:
            case "new":
                return f"{self.target} = {self.name}({arguments})"
            case "demand" | "release":
                return f"{self.name}.{self.kind}({arguments})"
            case _:
                return f"{self.name}({arguments})"


class Operations:
    """Random operations on the world of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.rng = rng = random.Random(program.seed * 7919 + 1)
        self.objects = [f"o{i}" for i in range(rng.choice((2, 2, 3, 3, 4)))]
        self.sets = [f"s{i}" for i in range(rng.choice((2, 2, 3, 3, 4)))]
        self.maps = ["m0", "m1"] if program.with_maps else []
        self.lists = ["l0", "l1"] if program.with_lists else []
        self.held = self.maps + self.lists if program.seed >= HOLDING else []
        self.stable = [Ref(name) for name in self.objects + self.sets]
        self.combinations = {
            q.name: [tuple(self.argument(kind) for kind in q.kinds) for _ in range(rng.choice((2, 3, 3, 4)))]
            for q in program.queries
        }
        self.calls = [u for u in program.updates if u.form != "new"]
        self.weights = [
            RARE.get(u.form.removesuffix("_{f}"), 1.0) * {"L": 2.0, "M": 0.4}.get(u.args[0][0], 1.0)
            for u in self.calls
        ]

    def argument(self, kind: str) -> Any:
        """An argument of a query."""
        rng = self.rng
        if rng.random() < 0.06:
            return rng.choice(self.program.atoms)
        if self.held and rng.random() < 0.1:
            return Ref(rng.choice(self.held))
        if kind == "any":
            kind = rng.choice(("set", "obj"))
        if kind == "int":
            return rng.choice(self.program.atoms)
        return Ref(rng.choice(self.sets if kind == "set" else self.objects))

    def initial(self) -> Iterator[Op]:
        """Make the world: objects, sets, and most fields."""
        rng = self.rng
        for name in self.objects:
            yield Op("new", "new_obj", (), name)
        for name in self.sets:
            yield Op("new", rng.choice(("new_set", "new_plain")), (), name)
        for name in self.maps:
            yield Op("new", "new_map", (), name)
        for name in self.lists:
            yield Op("new", "new_list", (), name)
        if rng.random() < 0.3:
            yield self.ask()
        for name in self.objects:
            for f in self.program.fields:
                if rng.random() < 0.85:
                    yield Op("call", f"set_{f}", (Ref(name), self.value("v" + f)))
        for name in self.sets:
            for _ in range(rng.randrange(1, 5)):
                yield Op("call", "add", (Ref(name), self.value("e")))

    def ask(self) -> Op:
        """Ask, demand or release one of the combinations."""
        rng = self.rng
        q = rng.choice(self.program.queries)
        args = rng.choice(self.combinations[q.name])
        if "explicit" in q.keep and rng.random() < 0.65:
            chosen = tuple(a for p, a in zip(q.params, args, strict=True) if not q.demand or p in q.demand)
            return Op(rng.choice(("demand", "demand", "release")), q.name, chosen)
        if not q.keep and rng.random() < 0.1:
            chosen = tuple(a for p, a in zip(q.params, args, strict=True) if not q.demand or p in q.demand)
            return Op("release", q.name, chosen)
        return Op("ask", q.name, args)

    def value(self, kind: str) -> Any:
        """A value for an argument of that kind."""
        rng = self.rng
        roll = rng.random()
        match kind[0]:
            case "O":
                return Ref(rng.choice(self.objects)) if roll < 0.97 else Ref(f"{rng.choice(self.objects)}.b")
            case "S":
                if roll < 0.8:
                    return Ref(rng.choice(self.sets))
                names = [f for f in self.program.fields if self.program.habits[f] == "set"]
                return Ref(f"{rng.choice(self.objects)}.{rng.choice(names or self.program.fields)}")
            case "M":
                return Ref(rng.choice(self.maps))
            case "L":
                return Ref(rng.choice(self.lists))
            case "i":
                return rng.choice((1, 1, 2, -1, 0)) if roll < 0.95 else rng.choice((None, (1,)))
            case "k":
                return rng.choice((1, 1, 2, 0)) if roll < 0.6 else Ref(rng.choice(self.objects + self.sets))
            case "n":
                return rng.choice(self.program.fields)
            case "v":
                habit = self.program.habits[kind[1]]
                if self.held and rng.random() < 0.08:
                    pair = (Ref(rng.choice(self.held)), Ref(rng.choice(self.objects)))
                    return pair if roll < 0.7 else (1, pair)
                return self.of_kind(habit if roll < 0.88 else rng.choice(("set", "obj", "int", "tuple")))
            case "t":
                if kind == "two":
                    return (self.value("e"), self.value("e"))
                return Ref(rng.choice(self.sets)) if roll < 0.85 else (self.value("e"), self.value("e"))
            case _:
                return self.of_kind(
                    rng.choices(
                        ("obj", "int", "set", "tuple"), (5, 1.5, 1.5, 5 if self.program.tuples else 0.7)
                    )[0]
                )

    def of_kind(self, kind: str) -> Any:
        """A value with that habit."""
        rng = self.rng
        match kind:
            case "obj":
                return Ref(rng.choice(self.objects))
            case "set":
                return Ref(rng.choice(self.sets))
            case "map":
                return Ref(rng.choice(self.maps))
            case "list":
                return Ref(rng.choice(self.lists))
            case "int":
                return rng.choice(self.program.atoms)
            case _:
                first = Ref(rng.choice(self.objects if rng.random() < 0.8 else self.sets))
                second = rng.choice((0, 1, 2, first, first, *self.stable))
                if rng.random() < 0.15:
                    return (first, (second, 1))
                return (second, first) if rng.random() < 0.1 else (first, second)

    def next(self) -> Op:
        """The next operation."""
        rng = self.rng
        if rng.random() < 0.08:
            return self.ask()
        update = rng.choices(self.calls, self.weights)[0]
        args: list[Any] = []
        for kind in update.args:
            if kind == "q":
                args += rng.choice(self.combinations[update.use])
            else:
                args.append(self.value(kind))
        return Op("call", update.name, tuple(args))


def operations(program: Program, count: int) -> list[Op]:
    """The first `count` operations of a program, those that make its world included."""
    source = Operations(program)
    made = list(source.initial())
    made.append(source.ask())
    while len(made) < count:
        made.append(source.next())
    return made[:count]
