"""Make random queries that are typed: they ask for what the schema of their program says is there.

Every expression is made for a kind that is wanted, from the fields, entries and variables that have it, so
that answers are seldom empty and joins mostly match; one expression in fifty is of any kind.
"""

from __future__ import annotations

import random
import re
import statistics
from dataclasses import replace
from typing import Any

from incoq.testing import oracle
from incoq.testing.lively_schemas import CLASSES, INTS, Schema, parts
from incoq.testing.random_queries import HELPERS, Cell, QuerySpec, Thing

ENOUGH = 6  # different answers, of 18


class LivelyQueries:
    """Makes the queries of one program over a schema."""

    rng: random.Random
    asking: random.Random  # for conditions that came later, of one program in five
    forms: set[str]
    schema: Schema

    def __init__(self) -> None:
        self.specs: list[tuple[QuerySpec, str]] = []  # with the kind of what each answers
        self.unused: list[str] = []
        self.count = 0

    def note(self, form: str, text: str) -> str:
        """A text, its form counted."""
        self.forms.add(form)
        return text

    def fresh(self) -> str:
        """A new variable."""
        self.count += 1
        return f"v{self.count}"

    def chance(self, probability: float) -> bool:
        """Whether to do something that is done so often."""
        return self.rng.random() < probability

    # Expressions

    def paths(self, scope: dict[str, str]) -> list[tuple[str, str]]:
        """All variables and selectors of up to two fields, with their kinds."""
        found = list(scope.items())
        for name, kind in scope.items():
            for f in self.schema.of(kind):
                found.append((f"{name}.{f}", self.schema.fields[f]))
                for g in self.schema.of(self.schema.fields[f]):
                    found.append((f"{name}.{f}.{g}", self.schema.fields[g]))
        return found + list(self.schema.relations.items())

    def path(self, scope: dict[str, str], kind: str) -> str | None:
        """A variable or selector of a kind; parameters not yet used and late variables more often."""
        if self.chance(0.02):
            return self.rng.choice(self.paths(scope))[0]
        names = list(scope)
        found = [(text, text.split(".")[0]) for text, k in self.paths(scope) if k == kind]
        if not found:
            return None
        weights = [
            (4 if base in self.unused else 1) * (1 + 2 * names.index(base) if base in scope else 0.4)
            / (1, 1, 3)[text.count(".")]
            for text, base in found
        ]  # fmt: skip
        text, base = self.rng.choices(found, weights)[0]
        if base in self.unused:
            self.unused.remove(base)
        return text

    def entry(self, scope: dict[str, str], kind: str) -> str | None:
        """`m[k]` with values of a kind."""
        maps = [(t, parts(k)[0]) for t, k in self.paths(scope) if k[0] == "<" and parts(k)[1] == kind]
        if maps:
            m, key = self.rng.choice(maps)
            if (k := self.path(scope, key)) is not None:
                return self.note("dict: entry", f"{m}[{k}]")
        return None

    def call(self, scope: dict[str, str], kind: str) -> str | None:
        """A call of an earlier query that answers a kind."""
        usable = [q for q, k in self.specs if k == kind and (not q.method or scope.get("self"))]
        if usable:
            q = self.rng.choice(usable)
            args = [self.path(scope, k) for k in (q.kinds[1:] if q.method else q.kinds)]
            if None not in args:
                name = f"self.{q.name}" if q.method else q.name
                return self.note("query: called", f"{name}({', '.join(map(str, args))})")
        return None

    def value(self, scope: dict[str, str], kind: str, depth: int = 0) -> str:
        """An expression of a kind, for conditions and results."""
        roll = self.rng.random()
        if roll < 0.12 and (found := self.entry(scope, kind) or (kind[0] != "{" and self.call(scope, kind))):
            return found
        if kind == "int" and roll > 0.6 + 0.1 * depth:
            return self.number(scope, depth)
        if kind[0] == "(":
            found = self.path(scope, kind) if roll < 0.4 else None
            return found or f"({', '.join(self.value(scope, k, depth + 1) for k in parts(kind))})"
        if kind in CLASSES and roll > 0.95:
            one, two = self.value(scope, kind, depth + 1), self.value(scope, kind, depth + 1)
            return self.note("conditional expression", f"({one} if {self.condition(scope, 2)} else {two})")
        return self.path(scope, kind) or (str(self.rng.choice(INTS)) if kind == "int" else "None")

    def number(self, scope: dict[str, str], depth: int) -> str:
        """A number: a constant, arithmetic, a size or an aggregate."""
        n, m = (self.path(scope, "int") or "1" for _ in range(2))
        source = self.source(scope)[0]
        k = self.rng.choice(INTS)
        forms = [("constant", str(k)), ("arithmetic", f"{n} + {m}"), ("arithmetic", f"({n} * 2 + {k}) % 3")]
        if depth < 2:
            forms += [("len", f"len({source})")]
            forms += [("aggregate nested", self.aggregate(scope, depth + 1)) for _ in range(3)]
        return self.note(*self.rng.choice(forms))

    def aggregate(self, scope: dict[str, str], depth: int) -> str:
        """An aggregate of a nested comprehension."""
        name = self.rng.choice(("len", "len", "sum", "sum", "min", "max"))
        body, _ = self.comprehension(scope, self.anything(scope) if name == "len" else "int", depth)
        if name in ("min", "max") and self.chance(0.6):
            return self.note(f"nested {name}", f"{name}(({body}), default={self.rng.choice((0, 7))})")
        inner = f"{{{body}}}" if name == "len" or self.chance(0.5) else body
        return self.note(f"nested {name}", f"{name}({inner})")

    def anything(self, scope: dict[str, str]) -> str:
        """A kind that something in scope has, and that may be an element."""
        kinds = [k for _, k in self.paths(scope) if k[0] not in "[<"]
        return self.rng.choice((*kinds, "int", f"(Obj, {self.rng.choice(kinds or ['int'])})"))

    # Clauses

    def source(self, scope: dict[str, str]) -> tuple[str, str]:
        """What can be iterated, with the kind of its elements."""
        paths = [(t, k) for t, k in self.paths(scope) if k[0] in "{[<"]
        paths = [p for p in paths if p[0].split(".")[0] in self.unused] if self.chance(0.5) else paths
        paths = paths or [p for p in self.paths(scope) if p[1][0] in "{[<"] or [(next(iter(scope)), "{int}")]
        late = max(self.rng.randrange(len(paths)), self.rng.randrange(len(paths)))
        text, kind = paths[late]
        if text in self.unused:
            self.unused.remove(text)
        if kind[0] == "<":
            return self.note("dict: source", text), parts(kind)[0]
        return text, parts(kind)[0]

    def membership(self, scope: dict[str, str], depth: int) -> str:
        """A `for` clause; its new variables join the scope."""
        rng = self.rng
        text, kind = self.source(scope)
        maps = [(t, k) for t, k in self.paths(scope) if k[0] == "<"]
        if maps and self.chance(0.2):
            m, m_kind = rng.choice(maps)
            key, value = self.fresh(), self.fresh()
            form = rng.choice(("items", "items", "keys", "values"))
            self.forms.add(f"dict: {form}")
            if form == "items":
                scope.update({key: parts(m_kind)[0], value: parts(m_kind)[1]})
                return f"for {key}, {value} in {m}.items()"
            scope[key] = parts(m_kind)[form == "values"]
            return f"for {key} in {m}.{form}()"
        if self.chance(0.15):
            kind = rng.choice(list(self.schema.containers.values()))
            kind = parts(kind)[0] if kind[0] == "{" else rng.choice(("Obj", "int"))
            if found := self.call(scope, f"{{{kind}}}") or self.entry(scope, f"{{{kind}}}"):
                text = found
            elif depth < 2:
                body, kind = self.comprehension(scope, kind, depth + 1)
                text = self.note("nested source", f"{{{body}}}")
            else:
                text, kind = self.source(scope)
        bound = [v for v, k in scope.items() if v.startswith("v") and k == kind]
        if bound and self.chance(0.06):
            return self.note("rebound by another for", f"for {rng.choice(bound)} in {text}")
        return f"for {self.target(scope, kind, bool(depth))} in {text}"

    def target(self, scope: dict[str, str], kind: str, nested: bool) -> str:
        """A variable, or a pattern for a tuple: new variables, bound ones, constants, `_`."""
        if kind[0] != "(" or self.chance(0.1):
            name = self.fresh()
            scope[name] = kind
            return name
        made, new = [], dict(scope)
        for part in parts(kind):
            known = [v for v, k in new.items() if k == part and (not nested or v not in scope)]
            if known and self.chance(0.25):
                made.append(self.note("pattern: joined", self.rng.choice(known)))
            elif part[0] != "(" and self.chance(0.08):
                made.append(self.note("pattern: wildcard", "_"))
            else:
                made.append(self.target(new, part, nested))
        scope.update(new)
        return f"({', '.join(made)})"

    def test(self, scope: dict[str, str]) -> str:
        """An `if … in …` clause."""
        for _ in range(6):
            text, kind = self.source(scope)
            element = self.value(scope, kind, 2)
            if element != "None" and element not in map(str, INTS):
                break
        return self.note("test: in", f"if {element} in {text}")

    def condition(self, scope: dict[str, str], depth: int) -> str:
        """A condition."""
        rng = self.rng
        n, m = self.value(scope, "int", depth), self.path(scope, "int") or "1"
        k = rng.choice(INTS)
        kind = rng.choice(("int", "Obj", *[k for _, k in self.paths(scope) if k in CLASSES or k[0] in "({"]))
        x, y = self.path(scope, kind) or "None", self.value(scope, kind, 2)
        text, inner = self.source(scope)
        e = self.value(scope, inner, 2)
        forms = [
            ("equal", f"{x} == {y}", 5), ("not equal", f"{x} != {y}", 2), ("number", f"{n} == {k}", 2),
            ("order", f"{n} {rng.choice(('<', '<=', '>', '>='))} {rng.choice((k, m))}", 5),
            ("chained", f"0 < {n} <= {m}", 1), ("not in", f"{e} not in {text}", 3),
            ("or", f"({x} == {y} or {m} > {k})", 2), ("and", f"not ({x} == {y} and {m} == {k})", 1),
            ("membership in or", f"{e} in {text} or {m} == {k}", 2), ("is None", f"{x} is not None", 1),
            ("helper", f"odd({m})", 1), ("truth", rng.choice(("", "not ")) + text, 1),
        ]  # fmt: skip
        if depth < 2:
            body, _ = self.comprehension(scope, rng.choice(("Obj", "int")), depth + 1)
            holds = self.quantified(scope, depth + 1)
            among = self.comprehension(scope, inner, depth + 1)[0]
            forms += [
                ("truth of nested", rng.choice(("", "not ")) + f"{{{body}}}", 1),
                (
                    "in nested",
                    f"{e} {rng.choice(('in', 'not in'))} {{{among}}}",
                    2,
                ),
                ("quantifier", rng.choice(("", "not ")) + holds, 4),
            ]
        name, made, _ = rng.choices(forms, [w for _, _, w in forms])[0]
        if self.asking.random() < 0.5 and (asked := self.asked(scope, made)):
            return self.note("condition: an answer asked", asked)
        return self.note(f"condition: {name}", made)

    def asked(self, scope: dict[str, str], other: str) -> str | None:
        """A condition on the answer of an earlier query, or on an aggregate of what a selector holds; it
        may stand behind a short-circuit."""
        rng = self.asking
        found: list[str] = []
        paths = self.paths(scope)
        for q, kind in self.specs:
            options = [[t for t, k in paths if k == wanted] for wanted in q.kinds]
            if q.method or q.demand or not all(options):
                continue
            call = f"{q.name}({', '.join(map(rng.choice, options))})"
            elements = [t for t, k in paths if kind[0] == "{" and k == parts(kind)[0]]
            if kind[0] == "{" and q.wrap == "{%s}":
                found += [f"not {call}", f"len({call}) < {rng.choice((1, 2))}", call]
                found += [
                    f"{rng.choice(elements)} {rng.choice(('in', 'not in'))} {call}" for _ in elements[:2]
                ]
            elif kind == "int":
                found += [f"{call} {rng.choice(('<', '>', '=='))} {rng.choice((0, 1, 2))}", f"not {call}"]
        held = [t for t, k in paths if k in ("{int}", "[int]")]
        found += [f"{rng.choice(('sum(%s)', 'max(%s, default=0)')) % rng.choice(held)} > 1"] if held else []
        if not found:
            return None
        made = rng.choice(found)
        return rng.choice((made, made, f"({other} or {made})", f"not ({other} and {made})"))

    def quantified(self, scope: dict[str, str], depth: int) -> str:
        """`any(…)` or `all(…)`."""
        body, _ = self.comprehension(scope, "bool", depth)
        return self.note("quantifier", f"{self.rng.choice(('any', 'all'))}({body})")

    def comprehension(self, scope: dict[str, str], kind: str, depth: int) -> tuple[str, str]:
        """The inside of a nested comprehension whose results are of a kind, or of what there is."""
        scope = dict(scope)
        made = [self.membership(scope, depth)]
        for _ in range(self.rng.choice((0, 0, 1, 1, 2) if depth < 2 else (0, 0, 1))):
            made.append(self.clause(scope, depth))
        result = self.condition(scope, 2) if kind == "bool" else self.value(scope, kind, 2)
        if result == "None" or result.isdigit():
            result, kind = max(
                (p for p in scope.items() if p[1][0] not in "[<"), key=lambda p: (p[0][0], len(p[0]), p[0])
            )
        return f"{result} {' '.join(made)}", kind

    def clause(self, scope: dict[str, str], depth: int) -> str:
        """A further clause."""
        roll = self.rng.random()
        if roll < 0.4:
            return self.membership(scope, depth)
        return self.test(scope) if roll < 0.62 else f"if {self.condition(scope, depth)}"

    # Queries

    def query(self, name: str) -> QuerySpec:
        """A query whose answers differ in a few worlds, after some attempts at most."""
        before = set(self.forms)
        tried: list[tuple[int, QuerySpec, str, set[str]]] = []
        for _ in range(12):
            self.forms, self.count = set(before), 0
            spec, kind = self.attempt(name)
            tried.append((self.liveliness(spec), spec, kind, self.forms))
            if tried[-1][0] >= ENOUGH:
                break
        _, made, kind, self.forms = max(tried, key=lambda one: one[0])
        self.specs.append((made, kind))
        return made

    def attempt(self, name: str) -> tuple[QuerySpec, str]:
        """One query, with the kind of what it answers."""
        rng = self.rng
        known = [*self.schema.containers.values(), *CLASSES[:1] * 2, *set(self.schema.objects.values())]
        kinds = [rng.choice(known) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        kinds += ["int"] if self.chance(0.15) else []
        method = self.chance(0.12)
        kinds = ["Obj", *kinds[1:]] if method else kinds
        names = ["self" if method and not i else f"p{i}" for i in range(len(kinds))]
        scope = dict(zip(names, kinds, strict=True))
        self.unused = list(names)
        if self.chance(0.06):
            return self.expression(name, scope, method)
        clauses = [self.membership(scope, 0)]
        for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))):
            clauses.append(self.clause(scope, 0))
        if len(self.unused) and self.chance(0.8):
            clauses.append(self.clause(scope, 0))
        result_kind = self.anything(scope)
        result = self.value(scope, result_kind)
        wrap, kind = "{%s}", f"{{{result_kind}}}"
        if self.chance(0.3):
            wrap, result, kind = self.wrapped(scope, result)
        rng.shuffle(clauses)
        keep = rng.choice(("lru(2)", '"explicit"', '"weak"')) if self.chance(0.25) else ""
        if keep:
            self.forms.add(f"keep: {keep}")
        self.forms.add(f"clauses: {len(clauses)}")
        made = QuerySpec(
            name, tuple(names), tuple(kinds), result, tuple(clauses), wrap, (), keep, method, False
        )
        if len(names) > 1 and self.chance(0.6):
            made = replace(made, demand=self.demand(made))
        return made, kind

    def expression(self, name: str, scope: dict[str, str], method: bool) -> tuple[QuerySpec, str]:
        """A query that is no comprehension: a number or a truth of nested queries."""
        self.forms.add("query: an expression")
        kind = self.rng.choice(("int", "bool"))
        body = self.aggregate(scope, 0) if kind == "int" else f"not {self.quantified(scope, 0)}"
        if self.chance(0.5):
            body = (
                f"{body} + {self.number(scope, 0)}"
                if kind == "int"
                else f"{body} or {self.condition(scope, 0)}"
            )
        kinds = tuple(scope.values())
        return QuerySpec(name, tuple(scope), kinds, body, (), "%s", (), "", method, False), kind

    def demand(self, made: QuerySpec) -> tuple[str, ...]:
        """The parameters that no membership binds, if they lead to the others."""
        found = [
            (set(re.findall(r"[a-z]\w*", match[1])), match[2])
            for clause in made.clauses
            if (match := re.fullmatch(r"(?:for|if) (\w+|\([\w, ()]+\)) in (\w+)[\w.]*", clause))
        ]
        chosen = tuple(p for p in made.params if not any(p in targets for targets, _ in found))
        reached = {*chosen, *self.schema.relations}
        for _ in found:
            reached |= {v for targets, base in found if base in reached for v in targets}
        if len(chosen) in (0, len(made.params)) or not reached.issuperset(made.params):
            return ()
        self.forms.add("demand: subset")
        return chosen

    def wrapped(self, scope: dict[str, str], result: str) -> tuple[str, str, str]:
        """An aggregate around the query: the wrapping, the result, and the kind of the answer."""
        rng = self.rng
        name = rng.choice(("len", "sum", "sum", "min", "max", "any", "all", "mean", "smallest"))
        self.forms.add(f"aggregate: {name}")
        inner = "{%s}" if self.chance(0.5) else "%s"
        if name == "len":
            return "len({%s})", result, "int"
        if name in ("any", "all"):
            return f"{name}({inner})", self.condition(scope, 1), "bool"
        value = self.value(scope, "int")
        if name == "sum":
            return rng.choice(("sum(%s)", "sum({%s})", "sum((%s), 10)")), value, "int"
        if name == "mean":
            return f"statistics.mean({inner})", value, "mean"
        if name == "smallest":
            return rng.choice(("sorted({%s})[:2]", "sorted(%s)[:1]")), value, "smallest"
        if self.chance(0.4):
            return f"{name}({inner})", value, "int"
        return f"{name}((%s), default={rng.choice(('0', 'None'))})", value, "int"

    # Trying a query

    def liveliness(self, made: QuerySpec) -> int:
        """How many different answers that are not empty 18 random cases give."""
        text = "\n".join(q.text for q in (*(q for q, _ in self.specs), made))
        scope: dict[str, Any] = {"statistics": statistics}
        exec(HELPERS, scope)
        for name in self.schema.relations:
            scope[name] = Cell()
        try:
            reference = oracle.build(text, scope)[made.name]
        except oracle.NotWellFormed:
            return 0
        answers: set[Any] = set()
        for index in range(6):
            world = self.world(scope)
            for _ in range(3):
                try:
                    answer = reference.bag(*(self.pick(world, kind) for kind in made.kinds))
                    answer = (index, frozenset(answer)) if isinstance(answer, list) and answer else answer
                    answers |= {(index // 2, answer)} if answer else set()
                except (
                    TypeError,
                    ValueError,
                    AttributeError,
                    KeyError,
                    ArithmeticError,
                    statistics.StatisticsError,
                ):
                    continue
        return len(answers)

    def world(self, relations: dict[str, Any]) -> dict[str, Any]:
        """A world of a few things and containers."""
        schema, rng = self.schema, self.rng
        world: dict[str, Any] = {name: Thing() for name in schema.objects}
        for name, kind in schema.containers.items():
            world[name] = Cell() if kind[0] == "{" else [] if kind[0] == "[" else {}
        for name, kind in schema.objects.items():
            for f in schema.of(kind):
                setattr(world[name], f, self.pick(world, schema.fields[f]))
        for name, kind in (*schema.containers.items(), *schema.relations.items()):
            held = world[name] if name in world else relations[name]
            for _ in range(rng.randrange(1, 4)):
                values = [self.pick(world, k) for k in parts(kind)]
                if kind[0] == "<":
                    held[values[0]] = values[1]
                else:
                    (held.append if kind[0] == "[" else held.add)(values[0])
        return world

    def pick(self, world: dict[str, Any], kind: str) -> Any:
        """A value of a kind."""
        if kind[0] == "(":
            return tuple(self.pick(world, k) for k in parts(kind))
        names = self.schema.named(kind)
        return world[self.rng.choice(names)] if names else self.rng.choice(INTS)
