"""Make random programs in the input language.

A program is the text of a module: a class `Obj`, one to three queries and one small function for every form
of update that it uses; the same seed gives the same program, always.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from incoq.testing.lively_schemas import Schema
from incoq.testing.random_queries import FIELDS, HELPERS, SECOND_GLOBAL, VALUES, QueryMaker, QuerySpec
from incoq.testing.update_forms import (
    BATCH_UPDATES,
    FIELD_UPDATES,
    FIELD_UPDATES_ALL,
    LIST_FIELD_UPDATES,
    LIST_UPDATES,
    MAP_UPDATES,
    SET_UPDATES,
    SET_UPDATES_ALL,
    Update,
)

BATCHES = 60_000_000  # seeds from here on have batches; what earlier ones give stays as it was


@dataclass(frozen=True)
class Program:
    """A random program with what is needed to run it."""

    seed: int
    class_lines: tuple[str, ...]
    constructor: tuple[str, ...]
    helpers: str
    queries: tuple[QuerySpec, ...]
    updates: tuple[Update, ...]
    fields: tuple[str, ...]
    habits: dict[str, str] = field(hash=False)
    atoms: tuple[Any, ...]
    mixed: bool
    with_maps: bool
    with_lists: bool
    with_global: bool
    tuples: bool
    forms: frozenset[str]
    other_class: str = ""
    schema: Schema | None = field(default=None, hash=False)

    @property
    def text(self) -> str:
        """The module."""
        names = ["lru"] if any("lru" in q.keep for q in self.queries) else []
        names += ["batch"] if any("with batch()" in u.text for u in self.updates) else []
        parts = [f"from incoq import {', '.join(['Set', *sorted(names), 'query'])}\n"]
        parts += [f"import {m}\n" for m in ("heapq", "statistics") if any(m in q.wrap for q in self.queries)]
        if self.with_global:
            second = self.seed >= SECOND_GLOBAL or self.schema is not None
            parts.append("R = Set()\n" + ("T = set()\n" if second else ""))
        parts.append(self.helpers)
        methods = "".join("\n" + _indent(q.text) for q in self.queries if q.method)
        body = list(self.class_lines)
        if self.constructor:
            body += ["def __init__(self):", *("    " + line for line in self.constructor)]
        lines = "\n".join("    " + line for line in body)
        parts.append(
            "class Obj:\n"
            + (lines + "\n" if lines else "")
            + methods
            + ("" if lines or methods else "    pass\n")
        )
        parts.append(self.other_class)
        parts += [q.text for q in self.queries if not q.method]
        parts += [u.text for u in self.updates]
        return "\n\n".join(p for p in parts if p)


def _indent(text: str) -> str:
    return "".join("    " + line + "\n" for line in text.splitlines())


class Maker(QueryMaker):
    """Makes one program from one seed."""

    def program(self) -> Program:
        """The whole program."""
        rng = self.rng
        for index in range(rng.choice((1, 1, 1, 2, 2, 3))):
            self.made.append(self.lively_query(f"q{index}"))
        if self.counting:
            self.made.append(self.counting_query(f"q{len(self.made)}"))
        if self.all and self.seed >= VALUES and self.rng.random() < 0.3:
            alone = rng.random() < 0.4  # where no other query watches what it reads
            self.made = [self.value_query("q0")] if alone else [*self.made, self.value_query("q9")]
        if self.selecting:
            alone = rng.random() < 0.7  # where no other query looks at every set
            more = [self.selecting_query(f"q{7 + i}") for i in range(rng.choice((1, 1, 2)))]
            self.made = more if alone else [*self.made, *more]
        class_lines: list[str] = []
        if self.all and rng.random() < 0.1:
            class_lines.append(f"{rng.choice(self.fields)} = {rng.choice((0, 1, None))}")
            self.forms.add("class attribute")
        elif self.all and rng.random() < 0.08:
            class_lines.append(f"__slots__ = ({''.join(repr(f) + ', ' for f in FIELDS)}'__weakref__')")
            self.forms.add("slots")
        constructor: list[str] = []
        for f in self.fields:
            if rng.random() < 0.3:
                constructor.append(
                    f"self.{f} = {rng.choice(('Set()', 'set()', '0', 'None', 'self', '(1, self)'))}"
                )
        return Program(
            self.seed, tuple(class_lines), tuple(constructor), HELPERS, tuple(self.made), self.updates(),
            self.fields, self.habits, self.atoms, self.mixed, self.with_maps, self.with_lists,
            self.with_global, self.tuples, frozenset(self.forms),
        )  # fmt: skip

    def updates(self) -> tuple[Update, ...]:
        """The update functions: those that build the world, and some of all the other forms."""
        rng = self.rng
        made = [
            Update("new_obj", "def new_obj():\n    return Obj()\n", (), "new"),
            Update("new_set", "def new_set(*xs):\n    return Set(xs)\n", (), "new"),
            Update("new_plain", "def new_plain(*xs):\n    s = set(xs)\n    return s\n", (), "new"),
            Update("add", "def add(s, x):\n    s.add(x)\n", ("S", "e"), "add"),
            Update("discard", "def discard(s, x):\n    return s.discard(x)\n", ("S", "e"), "discard"),
        ]
        for f in self.fields:
            made.append(Update(f"set_{f}", f"def set_{f}(o, v):\n    o.{f} = v\n", ("O", f"v{f}"), "assign"))
        for f in rng.sample(self.fields, min(2, len(self.fields))):
            templates = FIELD_UPDATES + (FIELD_UPDATES_ALL if self.all and rng.random() < 0.3 else ())
            for name, text, args in rng.sample(templates, 4):
                g = rng.choice(self.fields)
                text = text.replace("{f}", f).replace("{g}", g)
                made.append(
                    Update(name.replace("{f}", f), text, tuple(a.replace("{f}", f) for a in args), name)
                )
        templates = SET_UPDATES + (SET_UPDATES_ALL if self.all and rng.random() < 0.3 else ())
        made += [Update(name, text, args, name) for name, text, args in rng.sample(templates, 7)]
        if self.with_maps:
            made.append(Update("new_map", "def new_map():\n    return {}\n", (), "new"))
            made += [Update(name, text, args, name) for name, text, args in rng.sample(MAP_UPDATES, 5)]
        if self.with_lists:
            made.append(Update("new_list", "def new_list():\n    return []\n", (), "new"))
            made += [
                Update(name if name != "slice" else "slice_", text, args, name)
                for name, text, args in rng.sample(LIST_UPDATES, 6)
            ]
            f = rng.choice(self.fields)
            for name, text, args in rng.sample(LIST_FIELD_UPDATES, 2):
                alone = "deeper" in name  # a list that holds itself has no plain copy to compare with
                made.append(
                    Update(name.replace("{f}", f), text.replace("{f}", f), args, name, shadow=not alone)
                )
        if self.with_global:
            made.append(Update("add_r", "def add_r(x):\n    R.add(x)\n", ("e",), "global add", shadow=False))
            made.append(
                Update("drop_r", "def drop_r(x):\n    R.discard(x)\n", ("e",), "global discard", shadow=False)
            )
        if self.with_global and self.seed >= SECOND_GLOBAL:
            made.append(Update("add_t", "def add_t(x):\n    T.add(x)\n", ("e",), "global add", shadow=False))
            drop = "def drop_t(x):\n    T.discard(x)\n"
            made.append(Update("drop_t", drop, ("e",), "global discard", shadow=False))
        if self.selecting:
            for change, method in (("add", "add"), ("drop", "discard")):
                for relation in "RT":
                    text = f"def {change}_pair_{relation}(x, y):\n    {relation}.{method}((x, y))\n"
                    named = f"{change}_pair_{relation}"
                    made.append(Update(named, text, ("e", "e"), f"global {method} of a pair", shadow=False))
        if rng.random() < 0.2:
            f = rng.choice(self.fields)
            text = f"def set_all(s, v):\n    for x in s:\n        x.{f} = v\n"
            made.append(Update("set_all", text, ("S", f"v{f}"), "assign in a loop", shadow=False))
        for q in self.made:
            made += uses(rng, q)
        if self.all and self.seed >= BATCHES and rng.random() < 0.3:
            for name, text, args in rng.sample(BATCH_UPDATES, 3):
                f, g = rng.choice(self.fields), rng.choice(self.fields)
                text = text.replace("{f}", f).replace("{g}", g)
                made.append(
                    Update(name.replace("{f}", f), text, tuple(a.replace("{f}", f) for a in args), name)
                )
            made += [u for q in self.made for u in asked_in_a_batch(rng, self.fields, q)]
        for update in made:
            self.forms.add(f"update: {update.form}")
        return tuple(made)


def asked_in_a_batch(rng: random.Random, fields: Sequence[str], q: QuerySpec) -> Iterator[Update]:
    """A function that asks between the updates of a batch."""
    if q.wrap != "{%s}" or q.method:
        return
    f, params = rng.choice(fields), ", ".join(q.params)
    ask = f"seen_{q.name}({q.name}({params}), {params})"
    inside = ("s.add(x)", ask, "s.discard(x)", f"o.{f} = v", ask, "s.add(x)")
    text = f"def seen_{q.name}(answer, {params}):\n    pass\n\n\n"  # the execution puts a check in its place
    text += f"def batch_{q.name}(s, o, x, v, {params}):\n    with batch():\n"
    text += "".join(f"        {line}\n" for line in inside)
    args = ("S", "O", "e", f"v{f}", "q")
    yield Update(f"batch_{q.name}", text, args, "ask in a batch", shadow=False, use=q.name)


def uses(rng: random.Random, q: QuerySpec) -> Iterator[Update]:
    """Functions that use a query's answer: where it escapes, where it does not, where it changes."""
    params = ", ".join(q.params)
    call = f"self.{q.name}({', '.join(q.params[1:])})" if q.method else f"{q.name}({params})"
    if q.wrap != "{%s}":
        return
    if rng.random() < 0.25:
        yield Update(
            f"has_{q.name}",
            f"def has_{q.name}(x, {params}):\n    return x in {call}\n",
            ("e", "q"),
            "use: in",
            use=q.name,
        )
    if rng.random() < 0.25:
        yield Update(
            f"len_{q.name}",
            f"def len_{q.name}({params}):\n    return len({call})\n",
            ("q",),
            "use: len",
            use=q.name,
        )
    if rng.random() < 0.2:
        text = f"def truth_{q.name}({params}):\n    if {call}:\n        return True\n    return False\n"
        yield Update(f"truth_{q.name}", text, ("q",), "use: truth", use=q.name)
    if rng.random() < 0.2:
        text = f"def each_{q.name}({params}):\n    return [x for x in {call}]\n"
        yield Update(f"each_{q.name}", text, ("q",), "use: iterate", use=q.name)
    if rng.random() < 0.2:
        text = f"def across_{q.name}(s, {params}):\n    for x in {call}:\n        s.add(x)\n"
        yield Update(
            f"across_{q.name}", text, ("S", "q"), "use: iterate across updates", shadow=False, use=q.name
        )
    if rng.random() < 0.2:
        text = f"def keep_{q.name}({params}):\n    r = {call}\n    r.add(99)\n    return r\n"
        yield Update(f"keep_{q.name}", text, ("q",), "use: keep and change", use=q.name)


def program(seed: int, forms: str = "core") -> Program:
    """The random program of a seed; `forms` is core or all."""
    return Maker(seed, forms).program()


def without_clause(program: Program, name: str, index: int) -> Program:
    """The program with one clause of one query dropped."""
    queries = tuple(
        replace(q, clauses=q.clauses[:index] + q.clauses[index + 1 :]) if q.name == name else q
        for q in program.queries
    )
    return replace(program, queries=queries)


def without_query(program: Program, name: str) -> Program:
    """The program with one query dropped, and the functions that use it."""
    return replace(
        program,
        queries=tuple(q for q in program.queries if q.name != name),
        updates=tuple(u for u in program.updates if u.use != name),
    )


def only_updates(program: Program, names: set[str]) -> Program:
    """The program with the update functions of those names alone."""
    return replace(program, updates=tuple(u for u in program.updates if u.name in names))
