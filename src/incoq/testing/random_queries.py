"""Make random queries: clauses, conditions and results of every form, in any order.

To make answers that are seldom empty, every program gives its fields habits (`a` mostly holds sets, `b`
objects, `c` numbers), which both the queries and the updates follow most of the time, and break the rest of
it; and a query that answers nothing in a few random worlds is made again.
"""

from __future__ import annotations

import contextlib
import heapq
import random
import re
import statistics
from dataclasses import dataclass
from typing import Any

from incoq.testing import oracle

FIELDS = ("a", "b", "c", "d")
SECOND_GLOBAL = 50_000_000  # programs of earlier seeds stay as they were
COUNTING = 70_000_000  # seeds from here on count in global relations
CHOOSING = 90_000_000  # and these look into sets that a condition chooses
VALUES = 98_000_000  # and these have queries that are one expression
SELECTING = 110_000_000  # and these select from a global relation by a field or a part
CALLING = 120_000_000  # and these call methods of what expressions give
HOLDING = 131_000_000  # and these have lists and dicts in tuples and as parameters
STARTING = 132_000_000  # and these have sums that start with a number
PLACING = 133_000_000  # and these ask what stands where in tuples and strings

HELPERS = """\
def odd(x):
    return x % 2 == 1


def number(x):
    return type(x) is int or type(x) is bool


def pair(x, y):
    return (y, x)
"""


@dataclass(frozen=True)
class QuerySpec:
    """A query function in parts, so that clauses can be dropped when a failure is shrunk."""

    name: str
    params: tuple[str, ...]
    kinds: tuple[str, ...]
    result: str
    clauses: tuple[str, ...]
    wrap: str = "{%s}"
    demand: tuple[str, ...] = ()
    keep: str = ""
    method: bool = False
    strict_types: bool = True

    @property
    def body(self) -> str:
        """The comprehension or aggregate; its first clause is a `for`, as Python's grammar wants."""
        clauses = list(self.clauses)
        for index, clause in enumerate(clauses):
            if clause.startswith("for "):
                clauses.insert(0, clauses.pop(index))
                break
        return self.wrap % " ".join((self.result, *clauses))

    @property
    def text(self) -> str:
        """The whole function."""
        options = []
        if self.demand:
            options.append("demand=(" + "".join(f'"{p}", ' for p in self.demand).rstrip() + ")")
        if self.keep:
            options.append(f"keep={self.keep}")
        decorator = f"@query({', '.join(options)})" if options else "@query"
        return f"{decorator}\ndef {self.name}({', '.join(self.params)}):\n    return {self.body}\n"

    @property
    def shape(self) -> str:
        """The text with the query's own name left out, to count distinct shapes."""
        return self.text.replace(self.name, "q")


class Thing:
    """An object of the worlds in which queries are tried."""


class Cell(set[Any]):
    """A set of those worlds."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # set declares itself unhashable


class QueryMaker:
    """Makes the queries of one program from one seed."""

    def __init__(self, seed: int, forms: str) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.all = forms in ("all", "more")
        self.more = forms == "more"  # apart from `all`, so that its seeds stay what they are
        self.forms: set[str] = set()
        self.fields = tuple(sorted(self.rng.sample(FIELDS, self.rng.choice((2, 3, 3, 4)))))
        self.with_maps = self.all and self.rng.random() < 0.3
        self.with_lists = self.all and self.rng.random() < 0.25
        self.with_global = self.all and self.rng.random() < 0.2
        kinds = ["set", "obj", "int", "set"]
        self.habits = {f: kinds[i] if i < 2 else self.rng.choice(kinds) for i, f in enumerate(self.fields)}
        if self.with_maps:
            self.habits[self.fields[-1]] = "map"
        if self.with_lists:
            self.forms.add("source: list")
            self.habits[self.fields[self.rng.randrange(len(self.fields))]] = "list"
        self.mixed = self.rng.random() < 0.1
        atoms: list[Any] = [0, 1, 2, 3, None]
        if self.mixed:
            atoms += [True, False, 1.0]
        elif self.rng.random() < 0.08:
            atoms += ["p", "q"]
            self.forms.add("value: string")
        if not self.all and self.rng.random() < 0.05:
            atoms += [float("nan")]
            self.forms.add("value: nan")
        self.placing = self.all and self.seed >= PLACING and self.rng.random() < 0.4
        if self.placing:
            atoms += ["pq", "p", "qp"]
        self.atoms = tuple(atoms)
        self.tuples = self.rng.random() < 0.4
        self.counting = self.all and self.seed >= COUNTING and self.rng.random() < 0.25
        if self.counting:
            self.with_global = self.tuples = True
        self.selecting = self.all and self.seed >= SELECTING and self.rng.random() < 0.4
        if self.selecting:
            self.with_global = True
        self.made: list[QuerySpec] = []
        self.unused: list[str] = []

    def chance(self, probability: float, form: str) -> bool:
        """Whether to use a form, counted when it is."""
        if self.rng.random() < probability:
            self.forms.add(form)
            return True
        return False

    def lively_query(self, name: str) -> QuerySpec:
        """A query that answers something in a few worlds, after some attempts at most."""
        before = set(self.forms)
        size = self.rng.choice((1, 2, 2, 3, 3, 4, 4, 5, 6))
        for _ in range(12):
            self.forms = set(before)
            made = self.query(name, size)
            if self.rng.random() < 0.05 or self.liveliness(made) >= 3:
                break
        return made

    def liveliness(self, made: QuerySpec) -> int:
        """In how many of 15 random cases the query has an answer that is not empty."""
        rng = self.rng
        scope: dict[str, Any] = {"heapq": heapq, "statistics": statistics, "R": Cell(), "T": Cell()}
        relations = [scope["R"], scope["T"]] if self.seed >= SECOND_GLOBAL else [scope["R"]]
        exec(HELPERS, scope)
        text = "\n".join(q.text for q in (*self.made, made))
        try:
            reference = oracle.build(text, scope)[made.name]
        except oracle.NotWellFormed:
            return 0
        count = 0
        for _ in range(5):
            objects, sets = [Thing() for _ in range(3)], [Cell() for _ in range(3)]

            def pick(kind: str, objects: list[Thing] = objects, sets: list[Cell] = sets) -> Any:
                match kind:
                    case "obj":
                        return rng.choice(objects)
                    case "int":
                        return rng.choice((0, 1, 2))
                    case "map":
                        return {1: rng.choice(objects), rng.choice(objects): 1}
                    case "list":
                        return [rng.choice(objects), 1]
                    case "tuple":
                        return (rng.choice(objects), rng.choice((0, 1, *objects)))
                    case _:
                        return rng.choice(sets)

            for thing in objects:
                for f in self.fields:
                    setattr(thing, f, pick(self.habits[f]))
            for cell in (*sets, *relations):
                for _ in range(3):
                    cell.add(
                        pick(
                            rng.choices(
                                ("obj", "int", "set", "tuple"), (5, 1.5, 1.5, 5 if self.tuples else 0.7)
                            )[0]
                        )
                    )
            for _ in range(3):
                with contextlib.suppress(ValueError):
                    count += bool(reference.bag(*(pick(kind) for kind in made.kinds)))
        return count

    def query(self, name: str, size: int) -> QuerySpec:
        """One query over one to three parameters with so many clauses."""
        rng = self.rng
        count = rng.choice((1, 1, 2, 2, 3))
        params = tuple(f"p{i}" for i in range(count))
        kinds = tuple(rng.choice(("set", "set", "obj", "obj", "any")) for _ in params)
        if kinds.count("any") == count:
            kinds = ("set", *kinds[1:])
        method = self.all and self.chance(0.08, "query: method")
        if method:
            params, kinds = ("self", *params[1:]), ("obj", *kinds[1:])
        scope = dict(zip(params, kinds, strict=True))
        self.unused = list(params)
        clauses, scope = self.clauses(scope, size, "v")
        if count > 1 and size > 1 and rng.random() < 0.25:
            first, second = rng.sample(params, 2)
            clauses.append(f"if {second} in {self.selector({first: scope[first]}, 'set', source=True)}")
        result = self.result(scope)
        wrap, strict = "{%s}", True
        if self.all and rng.random() < (0.6 if self.with_lists else 0.3):
            wrap, result, more = self.aggregate(scope)
            clauses += more
        joined = [m.group(1) for c in clauses for m in re.finditer(r"(?:for|if) (\w+) in", c)]
        if demand_only := [p for p in params if p not in " ".join(clauses)]:
            self.forms.add(f"parameters unused: {len(demand_only)}")
        if len(set(joined)) < len(joined) or any(
            "==" in c or " is " in c or "(" in c or "if" in c for c in clauses
        ):
            strict = False
        rng.shuffle(clauses)
        if clauses and clauses[0].startswith("if"):
            self.forms.add("order: if before for")
        demand: tuple[str, ...] = ()
        if count > 1 and rng.random() < 0.8:
            demand = self.demand(params, clauses)
        keep = ""
        if self.chance(0.12, "keep: lru"):
            keep = "lru(2)"
        elif self.chance(0.15, "keep: explicit"):
            keep = '"explicit"'
        elif self.all and self.chance(0.08, "keep: weak"):
            keep = '"weak"'
        self.forms.add(f"clauses: {len(clauses)}")
        return QuerySpec(name, params, kinds, result, tuple(clauses), wrap, demand, keep, method, strict)

    def counting_query(self, name: str) -> QuerySpec:
        """A query over one global relation that counts in the other one."""
        rng = self.rng
        self.forms.add("query: counts in a global relation")
        target = rng.choice(("g", "g", "(g, h)", "(h, g)", "(g, g)"))
        value = rng.choice(("g", "g", "h")) if "h" in target else "g"
        other = rng.choice(("0", "1", "h")) if "h" in target else rng.choice(("0", "1", "g"))
        counted = rng.choice(
            (
                f"i for (i, k) in T if k == {value}", f"i for (k, i) in T if k == {value}",
                f"(i, k) for (i, k) in T if {value} == k", f"i for i in T if i == {value}",
                f"i for (i, k) in T if k == {value} if (i, {other}) in T",
                f"i for (i, k) in T for (j, i) in T if k == {value} if j == {other}",
                f"i for (i, (k, m)) in T if k == {value} if m != {other}",
                f"g for (k, g) in T if k == {value}", "h for (k, h) in T for (k, i) in T if i == g",
            )
        )  # fmt: skip
        count = f"len({{{counted}}})"
        test = f"if {count} {rng.choice(('> 0', '> 1', '== 1', '!= 2', '<= 1', f'>= {other}'))}"
        clauses = [f"for {target} in R", test]
        result = rng.choice(("g", "g", f"(g, {other})"))
        if rng.random() < 0.25:
            clauses, result = clauses[:1], f"(g, {count})"
        params: tuple[str, ...] = ()
        if rng.random() < 0.4:
            params = ("p0",)
            clauses.append(
                rng.choice(("if g != p0", "if g == p0", f"if g.{self.fields[0]} == p0", "if g in p0"))
            )
        wrap = "len({%s})" if rng.random() < 0.3 else "{%s}"
        kinds = tuple(rng.choice(("set", "obj")) for _ in params)
        return QuerySpec(name, params, kinds, result, tuple(clauses), wrap, (), "", False, False)

    def selecting_query(self, name: str) -> QuerySpec:
        """A query that selects from a global relation by its parameter: most elements concern nobody."""
        rng = self.rng
        self.forms.add("query: selects from a global relation")
        f, g = rng.choice(self.fields), rng.choice(self.fields)
        clauses = rng.choice(
            (
                ["for x in R", f"if x.{f} == p0"], ["for x in R", f"if p0 == x.{f}", f"if x.{g} in T"],
                ["for (x, y) in T", "if x == p0"], ["for (y, x) in T", "if x == p0", "if y in R"],
                ["for x in R", f"for y in x.{g}", f"if x.{f} == p0"], ["for x in T", f"if x.{f} is p0"],
                ["for (x, y) in T", f"if x.{f} == p0"], ["for (x, y, p0) in T", "if x in R"],
                ["for x in R", f"if x.{f} == p0", "for y in T", f"if x.{g} == y"],
                ["for x in R", f"if x.{f} == p0", "for y in R", f"if y.{g} == x"],
                ["for (x, p0) in T", f"if x.{f} == p0"],
            )
        )  # fmt: skip
        result = rng.choice(("x", "y", "(x, y)", f"x.{g}")) if "y" in " ".join(clauses) else "x"
        if rng.random() < 0.3:
            clauses.append(rng.choice((f"if x.{g} != 1", f"if x.{f} in p1", "if x in p1", f"if x.{g} == 2")))
        params = ("p0", "p1") if "p1" in " ".join(clauses) else ("p0",)
        wrap = rng.choice(("{%s}", "{%s}", "{%s}", "len({%s})", "any(%s)"))
        kinds = ("any", "set")[: len(params)]
        return QuerySpec(name, params, kinds, result, tuple(clauses), wrap, (), "", False, False)

    def value_query(self, name: str) -> QuerySpec:
        """A query that is no comprehension: sizes, truths and choices."""
        self.forms.add("query: an expression")
        params, kinds = ("p0", "p1"), (self.rng.choice(("set", "obj")), "obj")
        scope = dict(zip(params, kinds, strict=True))
        one, two = (self.selector(scope, "set", source=True) for _ in range(2))
        n = self.selector(scope, "int")
        result = self.rng.choice(
            (
                f"len({one})", f"not {one}", f"bool({one})", f"len({one}) + len({two})",
                f"len({one} or {two})", f"len({one}) if {n} == 1 else {n}", f"1 if {one} else 2",
                f"p1 in {one}", f"{n} not in {one} or not {two}",
                f"len(getattr(p1, {self.field('set')!r}, ()))",
            )
        )  # fmt: skip
        return QuerySpec(name, params, kinds, result, (), "%s", (), "", False, False)

    def clauses(self, scope: dict[str, str], count: int, prefix: str) -> tuple[list[str], dict[str, str]]:
        """Clauses over a scope, which grows; the first binds."""
        rng = self.rng
        scope = dict(scope)
        made: list[str] = []
        for index in range(count):
            if index == 0 or rng.random() < 0.45:
                made.append(self.membership(scope, f"{prefix}{len(scope)}"))
            elif rng.random() < 0.25:
                made.append(self.test(scope))
            else:
                made.append("if " + self.condition(scope))
        return made, scope

    def membership(self, scope: dict[str, str], name: str) -> str:
        """A `for` clause; its new variables join the scope."""
        rng = self.rng
        source = self.source(scope)
        if self.chance(0.45 if self.tuples else 0.02, "pattern: tuple"):
            target = self.pattern(scope, name)
            return f"for {target} in {source}"
        if self.all and self.with_maps and self.chance(0.15, "dict: items"):
            selector = self.selector(scope, "map")
            scope[name + "k"], scope[name] = "int", "any"
            return f"for ({name}k, {name}) in {selector}.items()"
        if self.more and self.with_maps and self.chance(0.3, "dict: keys or values"):
            selector, view = self.selector(scope, "map"), rng.choice(("keys", "values"))
            scope[name] = "any"
            return f"for {name} in {selector}.{view}()"
        if self.all and self.made and self.chance(0.08, "query: called as source"):
            other = rng.choice(self.made)
            if other.wrap == "{%s}" and not other.method:
                source = f"{other.name}({', '.join(self.variable(scope) for _ in other.params)})"
        elif self.all and self.chance(0.05, "query: nested source"):
            inner = f"{name}n"
            source = f"{{{inner}.{rng.choice(self.fields)} for {inner} in {source}}}"
        bound = [v for v in scope if v.startswith("v")]
        if self.all and bound and self.chance(0.03, "pattern: rebound by another for"):
            return f"for {rng.choice(bound)} in {source}"
        scope[name] = rng.choices(("obj", "any", "set"), (7, 2, 1.5))[0]
        return f"for {name} in {source}"

    def pattern(self, scope: dict[str, str], name: str) -> str:
        """A tuple pattern with one or two new variables, repeated ones, `_` and nested ones."""
        rng = self.rng
        parts: list[str] = []
        fresh = [name]
        scope[name] = rng.choice(("obj", "any"))
        for index in range(2 if rng.random() < 0.85 else 3):
            roll = rng.random()
            if index == 0:
                parts.append(name)
            elif roll < 0.45:
                other = f"{name}{'xyz'[index]}"
                scope[other] = "any"
                fresh.append(other)
                parts.append(other)
            elif roll < 0.6:
                self.forms.add("pattern: repeated variable")
                parts.append(rng.choice(fresh))
            elif roll < 0.75:
                self.forms.add("pattern: wildcard")
                parts.append("_")
            elif roll < 0.85:
                self.forms.add("pattern: nested")
                other = f"{name}n"
                scope[other] = "any"
                parts.append(f"({other}, _)")
            else:
                other = f"{name}{'xyz'[index]}"
                scope[other] = "int"
                parts.append(other)
        rng.shuffle(parts)
        return f"({', '.join(parts)})"

    def test(self, scope: dict[str, str]) -> str:
        """An `if ... in ...` clause, over variables bound elsewhere."""
        rng = self.rng
        source = self.source(scope)
        roll = rng.random()
        if self.all and self.with_maps and self.chance(0.15, "dict: key test"):
            return f"if {self.variable(scope)} in {self.selector(scope, 'map')}"
        if roll < (0.6 if self.tuples else 0.85):
            self.forms.add("test: variable in")
            return f"if {self.variable(scope)} in {source}"
        if roll < 0.75:
            self.forms.add("test: selector in")
            return f"if {self.selector(scope)} in {source}"
        if roll < 0.9:
            self.forms.add("test: tuple with constant in")
            return f"if ({self.variable(scope)}, {rng.choice((0, 1, 2))}) in {source}"
        if self.all and roll < 0.93:
            self.forms.add("test: tuple with wildcard in")
            return f"if (_, {self.variable(scope)}) in {source}"
        self.forms.add("test: tuple in")
        return f"if ({self.variable(scope)}, {self.selector(scope)}) in {source}"

    def source(self, scope: dict[str, str]) -> str:
        """A selector that mostly holds a set."""
        if self.with_global and self.chance(0.25, "global relation"):
            second = self.seed >= SECOND_GLOBAL and len(self.forms) % 3 == 0
            return "T" if second else "R"
        return self.selector(
            scope, "list" if self.with_lists and self.rng.random() < 0.6 else "set", source=True
        )

    def variable(self, scope: dict[str, str]) -> str:
        """Any variable in scope; parameters not used so far and later variables more often."""
        names = list(scope)
        if any(p in scope for p in self.unused) and self.rng.random() < 0.5:
            chosen = next(p for p in self.unused if p in scope)
            self.unused.remove(chosen)
            return chosen
        return max(self.rng.choice(names), self.rng.choice(names), key=names.index)

    def selector(self, scope: dict[str, str], kind: str = "any", source: bool = False) -> str:
        """A variable with no, one or two fields, whose habits end in `kind` most of the time."""
        rng = self.rng
        name = self.variable(scope)
        if rng.random() < 0.1:
            text = name + "".join("." + rng.choice(self.fields) for _ in range(rng.randrange(3)))
        elif source and scope[name] == "set":
            text = name
        else:
            text = name
            if rng.random() < 0.15:
                text += "." + self.field("obj")
            if not source or scope[name] != "set":
                text += "." + self.field(kind)
        self.forms.add(f"selector: {text.count('.')} fields")
        return text

    def field(self, kind: str) -> str:
        """A field with that habit, or any."""
        names = [f for f in self.fields if self.habits[f] == kind]
        return self.rng.choice(names if names and self.rng.random() < 0.9 else self.fields)

    def chosen(self, scope: dict[str, str], x: str, n: str, f: str) -> list[tuple[str, str, int]]:
        """Conditions on what another expression chooses: `x in (a.s or b.s)`."""
        one, two = self.selector(scope, "set"), self.selector(scope, "set")
        either = self.rng.choice((f"({one} or {two})", f"({one} if {n} == 1 else {two})"))
        forms = [
            ("in a chosen source", f"{x} in {either}", 2),
            ("not in a chosen source", f"{x} not in {either}", 2),
            ("len of a chosen source", f"len({either}) > {self.rng.choice((0, 1))}", 2),
            ("truth of a chosen source", f"not {either}", 1),
            ("len of getattr", f"len(getattr({x}, '{f}', ())) > 0", 1),
            ("in getattr", f"{x} in getattr({x}, '{f}', ())", 1),
        ]
        if self.with_maps:
            m = self.selector(scope, "map")
            forms.append(("dict: value of a value", f"{m}[{m}[{x}]] == {n}", 3))
        return forms

    def condition(self, scope: dict[str, str]) -> str:
        """A condition of a random form."""
        rng = self.rng
        x, y = self.variable(scope), self.variable(scope)
        s = self.selector(scope, rng.choice(("any", "obj", "obj")))
        t, n = self.selector(scope, rng.choice(("any", "obj"))), self.selector(scope, "int")
        f, g = rng.choice(self.fields), rng.choice(self.fields)
        constant = rng.choice((0, 1, 2, None))
        forms = [
            ("selector == variable", f"{s} == {y}", 4),
            ("selector == selector", f"{s} == {t}", 4),
            ("variable == variable", f"{x} == {y}", 2),
            ("selector == constant", f"{n} == {constant}", 4),
            ("constant == selector", f"{constant} == {n}", 1),
            ("selector > constant", f"{n} > {rng.choice((0, 1))}", 3),
            ("selector != selector", f"{s} != {t}", 2),
            ("variable != variable", f"{x} != {y}", 1),
            ("not in", f"{x} not in {self.source(scope)}", 4),
            ("selector or selector", f"{x}.{f} or {x}.{g}", 2),
            ("short-circuit or", f"{x}.{f} == 1 or {x}.{g} == {y}", 3),
            ("short-circuit and", f"{x}.{f} and {x}.{g} == 1", 1),
            ("not", f"not ({s} == {rng.choice((t, y, '1'))})", 2),
            ("not or", f"not ({n} == 1 or {s} == {y})", 1),
            ("is", f"{x} is {y}" if not self.mixed else f"{x} == {y}", 1),
            ("is not None", f"{s} is not None", 1),
            ("chained comparison", f"0 <= {n} < {rng.choice((2, 3))}", 1),
            ("chained equality", f"{s} == {t} == {y}", 1),
            ("arithmetic", f"({x}.{f} + {x}.{g}) > 1", 1),
            ("raises", f"1 // {n} > 0", 1),
            ("conditional expression", f"({x}.{f} if {n} == 1 else {y}.{g}) == {constant}", 1),
            ("helper", f"odd({n})", 1),
            ("helper isinstance", f"isinstance({s}, int)", 1),
            ("membership in or", f"{x} in {self.source(scope)} or {n} == 1", 1),
            ("constant true", rng.choice(("True", "1 == 1")), 1),
            ("in constant tuple", f"{n} in (1, 2, None)", 1),
        ]
        if self.all:
            inner, source = f"i{len(scope)}", self.source(scope)
            forms += [
                ("not selector", f"not {s}", 2),
                ("truth of selector", f"{s}", 1),
                ("truth of variable", f"{x}", 1),
                ("len of selector", f"len({self.selector(scope, 'set')}) > {rng.choice((0, 1))}", 3),
                ("order of selectors", f"{s} < {t}", 1),
                ("any", f"any({inner}.{f} == {y} for {inner} in {source})", 3),
                ("all", f"all({inner}.{f} == {rng.choice((y, '1'))} for {inner} in {source})", 3),
                ("not any", f"not any({inner} == {y} for {inner} in {source})", 1),
                ("len of nested", f"len({{{inner}.{f} for {inner} in {source} if {inner} != {y}}}) > 0", 2),
                ("sum of nested", f"sum({inner}.{f} for {inner} in {source} if {inner}.{f} > 0) == 2", 1),
                (
                    "quantifiers nested",
                    f"all(any(k.{f} == {inner} for k in {source}) for {inner} in {source})",
                    1,
                ),
            ]
            if self.with_maps:
                m = self.selector(scope, "map")
                forms += [("dict: value", f"{m}[{x}] == {y}", 3), ("dict: constant key", f"{m}[1] == {s}", 2)]
                forms += [("dict: not in", f"{x} not in {m}", 1)]
                forms += [("dict: short-circuit", f"{n} == 1 or {m}[{x}] == {y}", 3)]
                forms += [("dict: value of a condition", f"({m}[{x}] if {n} == 1 else {y}) == {y}", 1)]
            if self.seed >= CHOOSING:
                forms += self.chosen(scope, x, n, f)
            if self.seed >= CALLING:
                forms += [
                    ("method of a sum", f"({n} + 1).bit_length() > 1", 2),
                    ("method of a method", f"{n}.bit_length().bit_length() == 1", 2),
                    ("method of a choice", f"({n} if {x} == {y} else {s}).bit_length() == 1", 1),
                    ("in a list of variables", f"{s} in [{y}, {t}, 1]", 1),
                ]
            if self.placing:
                place = rng.choice((0, 0, 1, -1))
                forms += [
                    ("part at a place", f"{n}[{place}] == {rng.choice((y, t, repr('p')))}", 5),
                    ("part of a variable at a place", f"{x}[{place}] == {rng.choice((y, t, repr('p')))}", 3),
                    ("part of a part", f"{n}[{place}][0] == {y}", 1),
                ]
            others = [q for q in self.made if not q.method]
            if others:
                other = rng.choice(others)
                call = f"{other.name}({', '.join(self.variable(scope) for _ in other.params)})"
                if other.wrap == "{%s}":
                    forms += [
                        ("query: called in test", f"{x} in {call}", 2),
                        ("query: len", f"len({call}) > 0", 2),
                    ]
                else:
                    forms += [("query: called in comparison", f"{call} == {rng.choice((1, 'True'))}", 2)]
        name, text, _ = rng.choices(forms, [w for _, _, w in forms])[0]
        self.forms.add(f"condition: {name}")
        return text

    def result(self, scope: dict[str, str]) -> str:
        """A result expression."""
        rng = self.rng
        x, y, s, n = (
            self.variable(scope),
            self.variable(scope),
            self.selector(scope),
            self.selector(scope, "int"),
        )
        forms = [
            ("variable", x, 6), ("selector", s, 5), ("tuple", f"({x}, {s})", 3),
            ("tuple of variables", f"({x}, {y})", 2),
            ("expression", f"{n} + 1", 1), ("constant", "1", 1), ("helper", f"pair({x}, {s})", 1),
            ("nested tuple", f"({x}, ({y}, 0))", 1), ("comparison", f"{s} == {y}", 1),
            ("or", f"{n} or {y}", 1),
        ]  # fmt: skip
        if self.all:
            i, source = f"r{len(scope)}", self.source(scope)
            forms += [
                ("aggregate", f"({x}, len({{{i} for {i} in {source}}}))", 1),
                ("len", f"({x}, len({s}))", 1),
            ]
            if self.seed >= CALLING:
                forms += [("method", f"({n} + 1).bit_length()", 2)]
        name, text, _ = rng.choices(forms, [w for _, _, w in forms])[0]
        self.forms.add(f"result: {name}")
        return text

    def aggregate(self, scope: dict[str, str]) -> tuple[str, str, list[str]]:
        """An aggregate around the comprehension: the wrapping, the result and the clauses that it needs."""
        rng = self.rng
        if self.with_lists and self.chance(0.5, "aggregate: sum of ones"):
            return "sum(%s)", rng.choice(("1", "2")), []
        if self.more and rng.random() < 0.5:
            return self.further_aggregate(scope)
        name = rng.choice(("len", "sum", "min", "max", "any", "all"))
        bag = rng.random() < 0.5 and name != "len"
        self.forms.add(f"aggregate: {name} of a {'bag' if bag else 'set'}")
        inner = "%s" if bag else "{%s}"
        if name in ("any", "all"):
            return f"{name}({inner})", f"{self.selector(scope)} == {self.variable(scope)}", []
        if name == "len":
            return "len({%s})", self.result(scope), []
        value = self.selector(scope, "int")
        more = [f"if number({value})"]
        if name == "sum":
            start = rng.choice(("", "", ", 10", ", start=-1")) if self.seed >= STARTING else ""
            return f"sum({'(%s)' if bag and start else inner}{start})", value, more
        default = rng.choice(("", ", default=None", ", default=-1"))
        return f"{name}({'(%s)' if bag and default else inner}{default})", value, more

    def further_aggregate(self, scope: dict[str, str]) -> tuple[str, str, list[str]]:
        """The mean, or the smallest few."""
        value = self.selector(scope, "int")
        forms = ["statistics.mean(%s)"]
        if not self.mixed:  # of equal values that are not alike, which comes first is not defined
            forms += ["sorted({%s})[:2]", "sorted(%s)[:1]"]
            forms += ["heapq.nsmallest(2, {%s})", "heapq.nsmallest(2, (%s))"]
        wrap = self.rng.choice(forms)
        self.forms.add(f"aggregate: {wrap}")
        return wrap, value, [f"if number({value})"]

    def demand(self, params: tuple[str, ...], clauses: list[str]) -> tuple[str, ...]:
        """A smaller set of demand parameters that reaches the others, if there is one."""
        for keep in range(1, len(params)):
            chosen = self.rng.sample(params, keep)
            reached = set(chosen)
            before = -1
            while len(reached) > before:
                before = len(reached)
                for clause in clauses:
                    match = re.fullmatch(r"(?:for|if) ((?:\w+)|\([\w, ]+\)) in (\w+)[\w.]*", clause)
                    if match and match.group(2) in reached:
                        reached |= set(re.findall(r"[a-z]\w*", match.group(1)))
            if set(params) <= reached:
                self.forms.add("demand: subset")
                return tuple(p for p in params if p in chosen)
        return ()
