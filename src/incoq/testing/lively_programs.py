"""Make random programs that are faithful to habits, as those of users are: every field of a class holds one
kind of thing, the elements of a set are of one kind, and the queries ask for what is there.

Worlds are small, so that everything aliases; what adds and what removes is in balance, so that sets stay
about half full and most updates matter.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from incoq.testing.lively_queries import LivelyQueries
from incoq.testing.lively_schemas import INTS, Schema, make_schema, parts
from incoq.testing.random_operations import Op, Ref
from incoq.testing.random_programs import Program, asked_in_a_batch, uses
from incoq.testing.random_queries import HELPERS
from incoq.testing.update_forms import (
    BATCH_UPDATES,
    FIELD_UPDATES,
    FIELD_UPDATES_ALL,
    LIST_FIELD_UPDATES,
    LIST_UPDATES,
    MAP_UPDATES,
    SET_UPDATES,
    SET_UPDATES_ALL,
    VIEW_UPDATES,
    Form,
    Update,
)

WEIGHTS = {
    "add": 5.0, "discard": 4.0, "guarded": 6.0, "assign": 5.0, "ixor": 2.0, "symmetric": 2.0, "drain": 0.1,
    "clear": 0.1, "fresh_{f}": 0.3, "del_{f}": 0.3, "delattr_{f}": 0.3, "clear_map": 0.2, "clear_list": 0.2,
    "put": 4.0, "pop": 0.5, "twice": 0.3, "made_{f}": 0.5, "literal_{f}": 1.0, "update2": 0.3,
    "iand": 0.3, "intersect": 0.3, "batch_back_{f}": 0.3, "batch_in_batch_{f}": 0.3, "batch_clear": 0.5,
}  # fmt: skip

FIRST = {"{": "Set()", "i": "0", "O": "self"}  # what a constructor gives a field, by how its kind begins

# Which of the updates of fields suit only what the field holds; all others suit any field.
OF_SETS = frozenset((
    "fresh_{f}", "literal_{f}", "made_{f}", "built_{f}", "addto_{f}", "ior_{f}", "isub_{f}", "union_{f}",
    "copy_{f}",
))  # fmt: skip
OF_NUMBERS = frozenset(("aug_{f}",))
BYPASSES = frozenset(("dunder_{f}", "vars_{f}", "object_{f}", "escaped", "mapped"))  # refused, or may be


class Never(random.Random):
    """Chooses to do nothing."""

    def random(self) -> float:
        return 1.0


class LivelyMaker(LivelyQueries):
    """Makes one program from one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.rng = random.Random(f"lively {seed}")
        self.later = random.Random(f"later {seed}")  # for what came later, so that a seed makes what it made
        self.asking = random.Random(f"asking {seed}") if seed % 5 == 4 else Never()
        self.forms = set()
        self.schema = make_schema(self.rng)
        self.fields = tuple(self.schema.fields)

    def program(self) -> Program:
        """The whole program."""
        rng, schema = self.rng, self.schema
        for index in range(rng.choice((1, 1, 2, 2, 3))):
            self.query(f"q{index}")
        queries = tuple(q for q, _ in self.specs)
        read = " ".join(q.body for q in queries)
        self.read = {f for f in self.fields if f".{f}" in read}
        seen = [*(schema.fields[f] for f in self.read), *(k for q in queries for k in q.kinds)]
        held = {n: k for n, k in schema.containers.items() if any(k in s for s in seen)}
        schema = self.schema = replace(schema, containers=held, answers={q.name: k for q, k in self.specs})
        constructor = [
            f"self.{f} = {FIRST.get(k[0], 'None')}"
            for f, k in schema.fields.items()
            if "Obj" in schema.owners[f] and rng.random() < 0.4
        ]
        classes = "class Item:\n    pass\n" if "Item" in schema.objects.values() else ""
        return Program(
            self.seed, (), tuple(constructor), HELPERS, queries, tuple(self.all_updates()), self.fields,
            schema.fields, INTS, False, False, False, bool(schema.relations), True, frozenset(self.forms),
            classes, schema,
        )  # fmt: skip

    def all_updates(self) -> Iterator[Update]:
        """The update functions: those that build the world, and some of the others."""
        rng, schema = self.rng, self.schema
        held = "".join({kind[0] for kind in schema.containers.values()})
        for name in ("Obj", "Item") if "Item" in schema.objects.values() else ("Obj",):
            yield Update(
                f"new_{name.lower()}", f"def new_{name.lower()}():\n    return {name}()\n", (), "new"
            )
        yield Update("new_set", "def new_set(*xs):\n    return Set(xs)\n", (), "new")
        yield Update("new_plain", "def new_plain(*xs):\n    s = set(xs)\n    return s\n", (), "new")
        yield Update("add", "def add(s, x):\n    s.add(x)\n", ("S", "e"), "add")
        yield Update("discard", "def discard(s, x):\n    return s.discard(x)\n", ("S", "e"), "discard")
        yield from self.chosen(SET_UPDATES + (SET_UPDATES_ALL if self.chance(0.3) else ()), 6)
        if "<" in held:
            yield Update("new_map", "def new_map():\n    return {}\n", (), "new")
            yield from self.chosen(MAP_UPDATES[:1], 1)
            yield from self.chosen(MAP_UPDATES[1:], 4)
        if "[" in held:
            yield Update("new_list", "def new_list():\n    return []\n", (), "new")
            yield from self.chosen(LIST_UPDATES, 7)
        for f, kind in schema.fields.items():
            yield Update(f"set_{f}", f"def set_{f}(o, v):\n    o.{f} = v\n", ("O", f"v{f}"), "assign")
            if f not in self.read:
                continue
            further = FIELD_UPDATES_ALL if self.chance(0.15) else ()
            further += LIST_FIELD_UPDATES[:-1] if kind[0] == "[" else ()
            fitting = [
                form
                for form in FIELD_UPDATES + further
                if (kind[0] == "{" or form[0] not in OF_SETS) and (kind == "int" or form[0] not in OF_NUMBERS)
            ]
            yield from self.chosen(tuple(fitting), 3, f)
        if self.chance(0.4):
            yield from self.chosen(BATCH_UPDATES, 3, rng.choice(self.fields))
            for q, _ in self.specs:
                yield from asked_in_a_batch(rng, self.fields, q)
        of_sets = [f for f, kind in schema.fields.items() if kind[0] == "{" and f in self.read]
        if of_sets and self.later.random() < 0.1:
            yield from self.chosen(VIEW_UPDATES, 2, self.later.choice(of_sets), self.later)
        for relation in schema.relations:
            for change in ("add", "discard"):
                name = f"{change}_{relation.lower()}"
                text = f"def {name}(x):\n    {relation}.{change}(x)\n"
                yield Update(name, text, ("e",), f"global {change}", shadow=False)
        for q, kind in self.specs:
            for update in uses(rng, q):
                if update.form != "use: iterate across updates" or kind in schema.containers.values():
                    yield update

    def chosen(
        self, forms: tuple[Form, ...], count: int, f: str = "", rng: random.Random | None = None
    ) -> Iterator[Update]:
        """Some updates of the forms given, those of fields for that field."""
        rng = rng or self.rng
        forms = tuple(form for form in forms if form[0] not in BYPASSES)
        for name, text, args in rng.sample(forms, min(count, len(forms))):
            alike = [g for g in self.fields if f and self.schema.fields[g] == self.schema.fields[f]
                     and set(self.schema.owners[g]) >= set(self.schema.owners[f])]  # fmt: skip
            text = text.replace("{f}", f).replace("{g}", rng.choice(alike) if alike else "")
            self.forms.add(f"update: {name}")
            filled = tuple(a.replace("{f}", f) for a in args)
            yield Update((name if name != "slice" else "slice_").replace("{f}", f), text, filled, name)


def lively_program(seed: int) -> Program:
    """The lively program of a seed."""
    return LivelyMaker(seed).program()


class LivelyOperations:
    """Random operations on the world of a lively program; arguments are of the kinds that they should be."""

    def __init__(self, program: Program) -> None:
        assert isinstance(program.schema, Schema)
        self.program, self.schema = program, program.schema
        self.rng = rng = random.Random(f"operations {program.seed}")
        self.loose = rng.random() < 0.3  # whether a value is now and then of another kind
        self.combinations = {
            q.name: [tuple(self.value(k) for k in q.kinds) for _ in range(rng.choice((2, 2, 3, 4)))]
            for q in program.queries
        }
        self.calls = [u for u in program.updates if u.form != "new"]
        read = " ".join(q.body for q in program.queries)
        self.weights = [
            0.2 if u.form == "assign" and f".{u.name[-1]}" not in read else WEIGHTS.get(u.form, 1.0)
            for u in self.calls
        ]

    def value(self, kind: str) -> Any:
        """A value of a kind, by the names of the world."""
        if kind[0] == "(":
            return tuple(map(self.value, parts(kind)))
        names = self.schema.named(kind)
        return Ref(self.rng.choice(names)) if names else self.rng.choice(INTS)

    def held(self, kind: str) -> Any:
        """What a field or a container is given: mostly of that kind, sometimes None."""
        roll = self.rng.random()
        if roll < 0.03:
            return None
        if roll < 0.06 and self.loose:
            return self.rng.choice((0, 1, Ref("o0"), (Ref("o0"), 1)))
        return self.value(kind)

    def owned(self, field: str) -> Ref:
        """An object that has a field."""
        return self.value(self.rng.choice(self.schema.owners[field]))  # type: ignore[no-any-return]

    def initial(self) -> Iterator[Op]:
        """Make the world: objects, containers and their elements, and most fields."""
        rng, schema = self.rng, self.schema
        for name, kind in schema.objects.items():
            yield Op("new", f"new_{kind.lower()}", (), name)
        for name, kind in schema.containers.items():
            made = {"{": rng.choice(("new_set", "new_plain")), "[": "new_list", "<": "new_map"}[kind[0]]
            yield Op("new", made, (), name)
        if rng.random() < 0.3:
            yield self.ask()
        for name, kind in schema.objects.items():
            for f in schema.of(kind):
                if rng.random() < 0.92:
                    yield Op("call", f"set_{f}", (Ref(name), self.held(schema.fields[f])))
        for name, kind in schema.containers.items():
            for _ in range(rng.randrange(1, 4)):
                if kind[0] == "{":
                    yield Op("call", "add", (Ref(name), self.held(parts(kind)[0])))
                elif kind[0] == "<":
                    yield Op("call", "put", (Ref(name), *map(self.held, parts(kind))))

    def ask(self) -> Op:
        """Ask, demand or release one of the combinations."""
        rng = self.rng
        q = rng.choice(self.program.queries)
        args = rng.choice(self.combinations[q.name])
        chosen = tuple(a for p, a in zip(q.params, args, strict=True) if not q.demand or p in q.demand)
        if "explicit" in q.keep and rng.random() < 0.65:
            return Op(rng.choice(("demand", "demand", "release")), q.name, chosen)
        if not q.keep and rng.random() < 0.1:
            return Op("release", q.name, chosen)
        return Op("ask", q.name, args)

    def container(self, letter: str, kind: str) -> tuple[Any, str]:
        """A container that starts with a letter, of a kind if it is given: by name, or what a field holds."""
        rng, schema = self.rng, self.schema
        start = {"S": "{", "M": "<", "L": "["}[letter]
        found = [(n, k) for n, k in schema.containers.items() if (k == kind if kind else k[0] == start)]
        fields = [(f, k) for f, k in schema.fields.items() if (k == kind if kind else k[0] == start)]
        if fields and (not found or rng.random() < 0.25):
            f, kind = rng.choice(fields)
            return Ref(f"{self.owned(f)}.{f}"), kind
        name, kind = rng.choice(found) if found else ("o0", kind or "{int}")
        return Ref(name), kind

    def next(self) -> Op:
        """The next operation."""
        rng, schema = self.rng, self.schema
        if rng.random() < 0.06:
            return self.ask()
        update = rng.choices(self.calls, self.weights)[0]
        f = update.name[-1] if update.name[-2] == "_" and update.name[-1] in schema.fields else ""
        f = f or next((a[1:] for a in update.args if a[0] == "v"), "")
        kind = schema.fields.get(f, "")
        around = kind if "{f}" in update.form and not update.form.startswith("batch") else ""
        around = schema.relations.get(update.name[-1].upper(), "") if "global" in update.form else around
        if update.form == "use: iterate across updates":
            around = schema.answers[update.use]
        letter = next((a for a in update.args if a in ("S", "M", "L")), "")
        first = None
        if letter:
            first, around = self.container(letter, around)
        inside = parts(around) if around else ()
        args: list[Any] = []
        for argument in update.args:
            match argument:
                case "S" | "M" | "L":
                    args.append(first if first is not None else self.container(argument, around)[0])
                    first = None
                case "q":
                    args += rng.choice(self.combinations[update.use])
                case "k":
                    args.append(self.held(inside[0]))
                case "i" if update.form == "drop":
                    args.append(self.held(inside[0]))
                case "i":
                    args.append(rng.choice((1, 1, 0, -1)))
                case "n":
                    args.append(rng.choice([g for g in self.program.fields if schema.fields[g] == kind]))
                case "t" | "two":
                    element = inside[0] if inside else kind
                    several = argument == "two" or rng.random() < 0.15
                    pair = (self.held(element), self.held(element))
                    args.append(pair if several else self.container("S", around)[0])
                case "e":
                    args.append(self.held(inside[-1] if inside else "Obj"))
                case _ if argument[0] == "v":
                    args.append(self.held(kind))
                case _:
                    args.append(self.owned(f) if f else Ref(rng.choice(list(schema.objects))))
        return Op("call", update.name, tuple(args))


def lively_operations(program: Program, count: int) -> list[Op]:
    """The first `count` operations of a program, those that make its world included."""
    source = LivelyOperations(program)
    made = list(source.initial())
    made.append(source.ask())
    while len(made) < count:
        made.append(source.next())
    return made[:count]
