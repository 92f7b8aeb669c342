"""Phase 1: transform an object query into a relational query with its demand (paper, section 4).

Before:    {u.email : u in celeb.followers, u in group, u.loc == 'NYC'}
After:     {u_email : (celeb, group) in demand, (celeb, celeb_followers) in field_followers,
                      (celeb_followers, u) in member, (group, u) in member,
                      (u, u_loc) in field_loc, (u, u_email) in field_email, u_loc == 'NYC'}
Invariant: a combination satisfies the clauses and tests exactly when it satisfies the object query.

A selector that is surely evaluated becomes a joined clause. One that a short-circuit may skip becomes a
watched clause: the test reads it live, and a change of it has the test evaluated anew. So do
`x not in s`, `len(s)` and the truth of a set: they watch the content of `s`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from incoq.errors import CompileError
from incoq.frontend.pure import MODULE_PREFIX, PURE_MODULES, given_all, where
from incoq.ir import expressions
from incoq.ir.expressions import Expr, name, names_in, shallow, substitute
from incoq.ir.objects import (
    Condition,
    Membership,
    ObjectQuery,
    Pattern,
    TuplePattern,
    Value,
    Variable,
    Wildcard,
    pattern_variables,
)
from incoq.ir.relational import (
    CONTENT,
    COUNT,
    ITEM,
    MEMBER,
    SUBSCRIPT,
    Clause,
    Kind,
    Relation,
    RelationalQuery,
    Test,
    field_relation,
    pattern_columns,
)


def flatten_query(
    query: ObjectQuery,
    joins_equalities: bool = True,
    aggregates: Collection[str] = (),
    nested: bool = False,
    usual: bool = False,
    faults: tuple[str, ...] = (),
) -> RelationalQuery:
    """Flatten one query; `joins_equalities` is false where the program defines `__eq__` of its own, and
    `aggregates` names the queries whose calls give one value."""
    flat = _Flattener(query, joins_equalities and not usual, aggregates).flatten()
    return replace(flat, nested=nested, usual=usual, faults=faults)


@dataclass
class _Flattener:
    query: ObjectQuery
    joins_equalities: bool
    aggregates: Collection[str] = ()
    clauses: dict[Clause, None] = field(default_factory=dict)
    selectors: dict[tuple[str, str], str] = field(default_factory=dict)  # (variable, field) -> variable
    watched: dict[tuple[str, str], str] = field(default_factory=dict)
    tests: list[ast.expr] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    counts_repeats: bool = False
    repeating: list[Membership] = field(default_factory=list)  # clauses that take an element several times

    def flatten(self) -> RelationalQuery:
        query = self.query
        self.counts_repeats = query.aggregate is not None and query.aggregate.counts_repeats
        if self.counts_repeats:
            self.repeating = _binding(query)
        self.used = {*query.all_params, *query.variables, *_read_names(query)}
        demand = Clause(Relation(Kind.DEMAND, f"demand_{query.name}"), query.demand)
        conditions = [c.expr.node for c in query.clauses if isinstance(c, Condition)]
        equalities = [c for c in conditions if self._is_join(c)]
        asked: list[Membership] = []
        for clause in query.clauses:
            if isinstance(clause, Membership) and (clause not in asked or _has_wildcard(clause.pattern)):
                self._membership(clause)
                asked.append(clause)
        for condition in conditions:
            self._strict(condition)
        self._strict(query.result.node)
        renaming = self._join_equalities(equalities)
        for condition in conditions:
            if condition not in equalities:
                self._test(self._lower(condition, truth=True))
        result = self._lower(query.result.node, truth=_counts_truth(query))
        clauses = [demand, *self.clauses]
        bound = {v for clause in clauses for v in clause.args} | set(query.all_params) | set(query.fixed)
        tests = [_make_test(node, bound) for node in self.tests]
        return _renamed(query, clauses, tests, _make_test(result, bound), renaming, self.selectors)

    # -- memberships ------------------------------------------------------------------------------

    def _membership(self, clause: Membership) -> None:
        pattern = self._flat_pattern(clause.pattern)
        columns = pattern_columns(pattern, [])
        shown = None if isinstance(pattern, Variable) else pattern
        match clause.source.node:
            case ast.Call(func=ast.Constant(value=called), args=args):
                given = tuple(self._selector(a) for a in args)
                relation = Relation(Kind.ANSWER, str(called))
                self.clauses.setdefault(Clause(relation, (*given, *columns), shown, arity=len(given)))
            case ast.Call(func=ast.Attribute(value=mapping, attr=part)):
                if part == "values" and self.counts_repeats and clause not in self.repeating:
                    message = f"`{clause}` looks for what is bound elsewhere, and would count it"
                    way = "look for it in a set, `if x in {v for v in m.values()}`"
                    raise CompileError("IQ209", message, self.query.position, way)
                self._part_of_mapping(self._selector(mapping), part, pattern)
            case source:
                member = Clause(MEMBER, (self._selector(source), *columns), shown)
                self.clauses.setdefault(member)
                if clause in self.repeating:
                    self.clauses.setdefault(replace(member, relation=COUNT, watch=True))

    def _part_of_mapping(self, mapping: str, part: str, pattern: Pattern) -> None:
        """`k, v in m.items()`, `k in m.keys()`, `v in m.values()`."""
        if part == "keys":
            shown = None if isinstance(pattern, Variable) else pattern
            self.clauses.setdefault(Clause(MEMBER, (mapping, *pattern_columns(pattern, [])), shown))
            self._test(ast.parse(f"isinstance({mapping}, dict)", mode="eval").body)  # a set has no keys
            return
        match part, pattern:
            case "items", TuplePattern((first, second)):
                key, value = self._part(first, "key"), self._part(second, "item")
            case "values", _:
                key, value = self._fresh("key"), self._part(pattern, "item")
            case _:
                raise CompileError(
                    "IQ209", f"`{pattern}` in .{part}(): write a key and a value", self.query.position
                )
        self.clauses.setdefault(Clause(ITEM, (mapping, key, value)))

    def _part(self, pattern: Pattern, prefix: str) -> str:
        """The variable for what a part of an entry must match; the parts of a tuple are entries of it."""
        if isinstance(pattern, Variable):
            return pattern.name
        whole = self._fresh(prefix, plain=True)
        if isinstance(pattern, TuplePattern):  # it is that or a wildcard: a `for` compares with no value
            text = f"isinstance({whole}, tuple) and len({whole}) == {len(pattern.items)}"
            self._test(ast.parse(text, mode="eval").body)
            for position, item in enumerate(pattern.items):
                args = (whole, self._part(item, f"{whole}_{position}"))
                at = Value(Expr.of(ast.Constant(position)))
                self.clauses.setdefault(Clause(ITEM, args, at, arity=SUBSCRIPT))
        return whole

    def _flat_pattern(self, pattern: Pattern) -> Pattern:
        match pattern:
            case Variable():
                return pattern
            case Wildcard():
                return Variable(self._fresh("any"))
            case TuplePattern(items):
                return TuplePattern(tuple(self._flat_pattern(item) for item in items))
            case Value(expr):
                if isinstance(expr.node, ast.Constant):
                    return pattern
                if selector_root(expr.node) is not None:
                    return Variable(self._selector(expr.node))
                variable = self._fresh("value")
                self._strict(expr.node)
                computed = self._lower(expr.node, truth=False)
                self._test(ast.Compare(name(variable), [ast.Eq()], [computed]))
                return Variable(variable)
        raise AssertionError(pattern)

    def _selector(self, node: ast.expr) -> str:
        """The variable for a selector that is surely evaluated."""
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Subscript):
            return self._item(self._selector(node.value), node.slice)
        assert isinstance(node, ast.Attribute)
        return self._field(self._selector(node.value), node.attr)

    def _item(self, mapping: str, key: ast.expr) -> str:
        """The variable for `m[k]` that is surely evaluated."""
        found = (mapping, f"[{ast.unparse(key)}]")
        if found not in self.selectors:
            value = self.selectors[found] = self._fresh(f"{mapping}_item", plain=True)
            self.clauses.setdefault(self._item_clause(mapping, key, value, False))
        return self.selectors[found]

    def _item_clause(self, mapping: str, key: ast.expr, value: str, watch: bool) -> Clause:
        if isinstance(key, ast.Constant):
            return Clause(ITEM, (mapping, value), Value(Expr.of(key)), watch, SUBSCRIPT)
        return Clause(ITEM, (mapping, self._selector(key), value), None, watch, SUBSCRIPT)

    def _field(self, source: str, field_name: str) -> str:
        key = (source, field_name)
        if key not in self.selectors:
            self.selectors[key] = self._fresh(f"{source}_{field_name}", plain=True)
            self.clauses.setdefault(Clause(field_relation(field_name), (source, self.selectors[key])))
        return self.selectors[key]

    def _fresh(self, prefix: str, plain: bool = False) -> str:
        number = 1
        candidate = prefix if plain else f"{prefix}_1"
        while candidate in self.used:
            number += 1
            candidate = f"{prefix}_{number}"
        self.used.add(candidate)
        return candidate

    # -- conditions and results -------------------------------------------------------------------

    def _strict(self, node: ast.AST) -> None:
        """Join a clause for every selector that is evaluated whenever `node` is."""
        match node:
            case ast.BoolOp(values=[first, *_]):
                self._strict(first)
            case ast.IfExp(test=test):
                self._strict(test)
            case ast.Compare(left=left, comparators=[first, *_]):
                self._strict(left)
                self._strict(first)
            case ast.Attribute() | ast.Subscript() if selector_root(node) is not None:
                self._selector(node)
            case ast.Call(func=ast.Constant(), args=args):
                for argument in args:
                    self._selector(argument)
            case ast.Call(func=ast.Name(id=expressions.RAISES)):
                pass  # what it reads may be missing: that is what is asked
            case ast.Call(func=func, args=args, keywords=keywords):
                if _reads_field(node):
                    self._strict(args[0])
                    return
                if isinstance(func, ast.Attribute) and not is_module(func.value):
                    self._strict(func.value)
                for argument in (*args, *(k.value for k in keywords)):
                    self._strict(argument)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._strict(child)

    def _lower(self, node: ast.expr, truth: bool) -> ast.expr:
        """The test with strict selectors replaced by their variables and the rest watched; where its `truth`
        counts, the content of what it gives is, too."""
        match node:
            case ast.Name(id=identifier):
                if truth and identifier in self.used:
                    self._watch_content(identifier)
                return node
            case ast.Attribute() | ast.Subscript() if selector_root(node) is not None:
                variable, live = self._read(node)
                if truth:
                    self._watch_content(variable)
                return live
            case ast.BoolOp(op=op, values=values):
                *before, last = values
                parts = [self._lower(v, True) for v in before]
                if isinstance(op, ast.And):
                    parts = [p for p in parts if not self._is_there(p)]
                parts.append(self._lower(last, truth))
                return parts[0] if len(parts) == 1 else ast.BoolOp(op, parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ast.UnaryOp(ast.Not(), self._lower(operand, True))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return ast.IfExp(
                    self._lower(test, True), self._lower(body, truth), self._lower(orelse, truth)
                )
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                lowered = [self._lower(c, False) for c in (left, *comparators)]
                previous: ast.expr = left
                for number, (compared, right) in enumerate(zip(ops, comparators, strict=True), 1):
                    if isinstance(compared, ast.In | ast.NotIn):
                        if selector_root(right) is None:
                            lowered[number] = self._lower(right, True)
                        else:
                            self._watch_membership(previous, right)
                    previous = right
                return ast.Compare(lowered[0], ops, lowered[1:])
            case ast.Call(func=ast.Constant(value=called), args=args):
                return name(self._nested_value(str(called), args))
            case ast.Call(args=[argument, *_]) if _reads_field(node):
                assert isinstance(node.args[1], ast.Constant)
                if selector_root(argument) is None:
                    raise AssertionError("checked by the frontend")
                source, live = self._read(argument)
                variable = self._watch_field(source, str(node.args[1].value))
                rest = [self._lower(a, False) for a in node.args[1:]]
                if isinstance(node.func, ast.Name) and node.func.id == "getattr":
                    if truth:
                        self._watch_content(variable)
                    if variable in self.selectors.values():  # joined, so that the field is there
                        return where(given_all(rest), name(variable))  # the default is evaluated all the same
                return ast.Call(node.func, [live, *rest], [])
            case ast.Call(func=ast.Name(id="bool"), args=[argument], keywords=[]):
                return ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), self._lower(argument, True)))
            case ast.Call(func=ast.Name(id="len"), args=[argument]) if selector_root(argument) is not None:
                variable, live = self._read(argument)
                self._watch_content(variable)
                return ast.Call(node.func, [live], [])
            case ast.Call(func=ast.Name(id="len"), args=[argument]):
                return ast.Call(node.func, [self._lower(argument, True)], [])
            case _:
                copied = shallow(node)  # its parts are lowered one by one
                for key, value in ast.iter_fields(node):
                    if key == "func" and isinstance(value, ast.Attribute):
                        if not is_module(value.value):
                            copied.func = ast.Attribute(  # type: ignore[attr-defined]
                                self._lower(value.value, False), value.attr, ast.Load()
                            )
                    elif isinstance(value, ast.expr) and key != "func":
                        setattr(copied, key, self._lower(value, False))
                    elif isinstance(value, list):
                        setattr(copied, key, [self._lower_item(v) for v in value])
                return copied

    def _is_there(self, node: ast.expr) -> bool:
        """Is it a tuple of fields and entries that are joined, so that it is true?"""
        joined = self.selectors.values()
        items = node.elts if isinstance(node, ast.Tuple) else []
        return bool(items) and all(isinstance(i, ast.Name) and i.id in joined for i in items)

    def _nested_value(self, called: str, args: list[ast.expr]) -> str:
        """The variable that holds the value of a nested aggregate."""
        given = tuple(self._selector(a) for a in args)
        for clause in self.clauses:
            if clause.relation == Relation(Kind.VALUE, called) and clause.args[:-1] == given:
                return clause.args[-1]
        value = self._fresh(called, plain=True)
        self.clauses.setdefault(Clause(Relation(Kind.VALUE, called), (*given, value), arity=len(given)))
        return value

    def _lower_item(self, item: object) -> object:
        if isinstance(item, ast.keyword):
            return ast.keyword(item.arg, self._lower(item.value, False))
        return self._lower(item, False) if isinstance(item, ast.expr) else item

    def _read(self, node: ast.expr) -> tuple[str, ast.expr]:
        """A selector read in a test: its variable, and the expression that reads it."""
        if isinstance(node, ast.Name):
            return node.id, node
        if isinstance(node, ast.Subscript):
            return self._read_item(node)
        assert isinstance(node, ast.Attribute)
        source, live = self._read(node.value)
        variable = self.selectors.get((source, node.attr))
        if variable is not None:
            return variable, name(variable)
        variable = self._watch_field(source, node.attr)
        return variable, ast.Attribute(live, node.attr, ast.Load())

    def _read_item(self, node: ast.Subscript) -> tuple[str, ast.expr]:
        mapping, live = self._read(node.value)
        key = (mapping, f"[{ast.unparse(node.slice)}]")
        if key in self.selectors:
            return self.selectors[key], name(self.selectors[key])
        index = node.slice if isinstance(node.slice, ast.Constant) else self._read(node.slice)[1]
        if key not in self.watched:
            self.watched[key] = self._fresh(f"{mapping}_item", plain=True)
            named = node.slice if isinstance(node.slice, ast.Constant) else name(self._read(node.slice)[0])
            self.clauses.setdefault(self._item_clause(mapping, named, self.watched[key], True))
        return self.watched[key], ast.Subscript(live, index, ast.Load())

    def _watch_field(self, source: str, field_name: str) -> str:
        if (source, field_name) in self.selectors:
            return self.selectors[source, field_name]
        key = (source, field_name)
        if key not in self.watched:
            self.watched[key] = self._fresh(f"{source}_{field_name}", plain=True)
            args = (source, self.watched[key])
            self.clauses.setdefault(Clause(field_relation(field_name), args, watch=True))
        return self.watched[key]

    def _watch_content(self, variable: str) -> None:
        self.clauses.setdefault(Clause(CONTENT, (variable,), watch=True))

    def _watch_membership(self, left: ast.expr, right: ast.expr) -> None:
        source, _ = self._read(right)
        if selector_root(left) is not None:
            element, _ = self._read(left)
            self.clauses.setdefault(Clause(MEMBER, (source, element), watch=True))
        else:
            self._watch_content(source)

    # -- equalities -------------------------------------------------------------------------------

    def _is_join(self, node: ast.expr) -> bool:
        if not self.joins_equalities and not self._binds_parameter(node):
            return False
        match node:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                return selector_root(left) is not None and selector_root(right) is not None
        return False

    def _binds_parameter(self, node: ast.expr) -> bool:
        """Is a parameter that is no demand parameter bound by this equality alone?"""
        free = set(self.query.all_params) - set(self.query.demand) - set(self.query.variables)
        return isinstance(node, ast.Compare) and any(
            isinstance(side, ast.Name) and side.id in free for side in (node.left, *node.comparators)
        )

    def _join_equalities(self, equalities: list[ast.expr]) -> dict[str, str]:
        """Equal variables become one; `v == v` stays, since NaN is not equal to itself. Where that would make
        one of two clauses that count what lists hold (`for x in l for y in l`), the equality stays a test."""
        leader: dict[str, str] = {}
        counting = [clause.args for clause in self.clauses if clause.relation == COUNT]

        def find(variable: str) -> str:
            while variable in leader:
                variable = leader[variable]
            return variable

        order = [*self.query.all_params, *self.query.variables]
        rank = {v: i for i, v in enumerate(order)}
        for equality in equalities:
            assert isinstance(equality, ast.Compare)
            left = find(self._selector(equality.left))
            right = find(self._selector(equality.comparators[0]))
            if left != right:
                keep, drop = sorted((left, right), key=lambda v: (rank.get(v, len(rank)), v))
                if keep in self.query.all_params and drop in self.query.all_params:
                    self._test(ast.Compare(name(left), [ast.Eq()], [name(right)]))
                    continue
                apart = len({tuple(map(find, args)) for args in counting})
                leader[drop] = keep
                if len({tuple(map(find, args)) for args in counting}) < apart:
                    del leader[drop]
                    self._test(ast.Compare(name(left), [ast.Eq()], [name(right)]))
                    continue
            kept = find(left)
            self._test(ast.Compare(name(kept), [ast.Eq()], [name(kept)]))
        return {v: find(v) for v in leader}

    def _test(self, node: ast.expr) -> None:
        self.tests.append(node)


def _binding(query: ObjectQuery) -> list[Membership]:
    """The `for` clauses that bind a variable: what a list holds twice they take twice. One that finds all its
    variables bound is a test."""
    found: list[Membership] = []
    bound = set(query.all_params)
    waiting = [c for c in query.clauses if isinstance(c, Membership)]
    while waiting:
        ready = [c for c in waiting if c.source.names & set(query.variables) <= bound]
        clause = next((c for c in ready if c.each), ready[0] if ready else waiting[0])
        waiting.remove(clause)
        new = set(pattern_variables(clause.pattern)) - bound
        if clause.each and (new or _has_wildcard(clause.pattern)):
            found.append(clause)
        bound |= new
    return found


def _has_wildcard(pattern: Pattern) -> bool:
    return isinstance(pattern, Wildcard) or (
        isinstance(pattern, TuplePattern) and any(map(_has_wildcard, pattern.items))
    )


def _counts_truth(query: ObjectQuery) -> bool:
    """Does only the truth of the elements count?"""
    return query.aggregate is not None and query.aggregate.kind in ("any", "all")


def _renamed(
    query: ObjectQuery,
    clauses: list[Clause],
    tests: list[Test],
    result: Test,
    renaming: dict[str, str],
    selectors: dict[tuple[str, str], str],
) -> RelationalQuery:
    def of(variable: str) -> str:
        return renaming.get(variable, variable)

    def rename_test(test: Test) -> Test:
        if not test.names & renaming.keys():
            return test
        node = substitute(test.expr.node, {v: name(k) for v, k in renaming.items()})
        return _make_test(node, set(map(of, test.names)))

    def rename_pattern(pattern: Pattern | None) -> Pattern | None:
        match pattern:
            case Variable(identifier):
                return Variable(of(identifier))
            case TuplePattern(items):
                return TuplePattern(tuple(p for i in items if (p := rename_pattern(i)) is not None))
        return pattern

    def rename_clause(clause: Clause) -> Clause:
        args, pattern = tuple(map(of, clause.args)), rename_pattern(clause.pattern)
        return replace(clause, args=args, pattern=pattern)

    renamed = dict.fromkeys(map(rename_clause, clauses))
    joined = {(c.relation, c.args) for c in renamed if not c.watch and c.relation.kind is Kind.FIELD}
    kept = [c for c in renamed if not (c.watch and (c.relation, c.args) in joined)]
    unique_tests = dict.fromkeys(map(rename_test, tests))
    texts = tuple((_selector_text(selectors, key), of(v)) for key, v in selectors.items())
    flat = RelationalQuery(
        query.name, query.params, query.hidden, query.demand, rename_test(result), tuple(kept),
        tuple(unique_tests), query.keep, query.facts, texts, query.aggregate, fixed=query.fixed,
    )  # fmt: skip
    flat.check()
    return flat


def _selector_text(selectors: dict[tuple[str, str], str], key: tuple[str, str]) -> str:
    source, field_name = key
    for other, variable in selectors.items():
        if variable == source:
            return f"{_selector_text(selectors, other)}.{field_name}"
    return f"{source}.{field_name}"


def _make_test(node: ast.expr, variables: Collection[str]) -> Test:
    ast.fix_missing_locations(node)
    return Test(Expr.of(node), names_in(node) & frozenset(variables))


def _read_names(query: ObjectQuery) -> set[str]:
    nodes = [query.result.node]
    for clause in query.clauses:
        nodes.append(clause.expr.node if isinstance(clause, Condition) else clause.source.node)
    return {n for node in nodes for n in names_in(node)}


def _reads_field(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("hasattr", "getattr")
        and len(node.args) >= 2
    )


def _is_key(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) or selector_root(node) is not None


def selector_root(node: ast.AST) -> str | None:
    """The variable at the root of `x.f.g`, `m[k].f` or `m[n[k]]`, or None if `node` is no selector."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript) and not _is_key(node.slice):
            return None
        node = node.value
    return node.id if isinstance(node, ast.Name) and not is_module(node) else None


def is_module(node: ast.AST) -> bool:
    """Is it the name of a module of functions, rather than a variable?"""
    return isinstance(node, ast.Name) and (node.id in PURE_MODULES or node.id.startswith(MODULE_PREFIX))
