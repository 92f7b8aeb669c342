"""Render one maintenance block as nested statements (paper, sections 5.1 and 6, appendix B).

Before:    update (user, loc) in field_loc; steps: email, inverse member, demand, followers, member
After:     try:
               u_email = u.email
           except AttributeError:
               pass
           else:
               for group in fil_inv_member_2.get(u, ()):  # #fil_inv_member_2{u}
                   for celeb in demand_2_1.get(group, ()):  # #demand.1{2=group}
                       ...
Invariant: the innermost statements run once for each combination of variables that the update's tuple is
           part of, whatever is aliased: an earlier clause of the same relation must not be met by that
           same tuple (the paper's rule 4).
"""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from incoq.codegen.assemble_block import (
    Assembler,
    Assign,
    Body,
    Event,
    For,
    If,
    Keyable,
    Op,
    Plain,
    Scope,
    Turn,
    Unpack,
)
from incoq.codegen.kept_answers import Form, form_of
from incoq.codegen.lower_tests import Support, is_safe, lower_test
from incoq.codegen.quote import Holes, quote, quote_expr
from incoq.invariants.find_echoes import find_echoes
from incoq.invariants.index_demanded import holds_demanded
from incoq.ir.covers import Access, Step
from incoq.ir.expressions import name, names_in
from incoq.ir.invariants import Block, Guard, Invariant, Plan, Store
from incoq.ir.objects import Pattern, TuplePattern, Value, Variable
from incoq.ir.relational import CONTENT, COUNT, ITEM, MEMBER, SUBSCRIPT, Clause, Kind, Test
from incoq.names import NameSupply

Outline = Callable[[str, Sequence[str], list[ast.stmt]], None]

NO_FIXED = "-"  # of an event: it is known to be about no fixed set


@dataclass
class Renderer:
    """Renders blocks of one plan."""

    plan: Plan
    support: Support
    supply: NameSupply
    result_keys: dict[str, str]  # query -> name of its result map, which is its demand set too
    outline: Outline
    fallible: frozenset[str] = frozenset()  # nested aggregates that may have no value
    visible: dict[str, str] = field(default_factory=dict)  # nested query -> the map that others read
    fixed: dict[str, str] = field(default_factory=dict)  # fixed set -> the name that the code has for it
    whole: dict[str, str] = field(default_factory=dict)  # nested count that is kept whole -> its map
    answer: str = "answer"  # the local name of what is kept for a combination
    depth: int = 0  # of the statements around the block that is rendered
    assumed: frozenset[Test] = frozenset()  # conditions that are known to hold
    nested: int = 0  # the blocks around the one that is rendered
    noted: list[list[Op]] = field(default_factory=list)  # the operations of blocks that others are nested in
    _locals: dict[str, str] = field(default_factory=dict)
    _echoes: dict[str, frozenset[str]] = field(default_factory=dict)

    def supply_local(self, prefix: str) -> str:
        """A local name that is no module-level name and no variable of a query."""
        if prefix not in self._locals:
            self._locals[prefix] = self.supply.fresh(prefix)
        return self._locals[prefix]

    def equal_themselves(self, counted: str, parts: Sequence[ast.expr]) -> ast.expr | None:
        """Whether the parameters of a count that is kept whole are such that it is not 0 for that alone."""
        query = next(q for q in self.plan.queries if q.name == counted)
        tests = [
            lower_test(quote_expr("X == X", X="x"), self.support, {"x": parts[query.rest.index(parameter)]})
            for parameter in query.reflexive
        ]
        return ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0] if tests else None

    def note_entry(self, ops: list[Op]) -> None:
        """Remember how a block that an update runs by itself begins, see `find_entry`."""
        if not self.nested:
            self.noted.append(ops)

    def block(
        self,
        invariant: Invariant,
        block: Block,
        event: Event,
        body: Body,
        known: frozenset[str] = frozenset(),
    ) -> list[ast.stmt]:
        return _BlockRenderer(self, invariant, block, event, body, known).render()

    def echoes(self, invariant: Invariant) -> frozenset[str]:
        """The indices that a change of an invariant changes in turn: no loop around it may be over them."""
        if invariant.name not in self._echoes:
            self._echoes[invariant.name] = find_echoes(self.plan, invariant)
        return self._echoes[invariant.name]

    def readings(self, invariant: Invariant, scope: Scope) -> dict[str, ast.expr]:
        """How tests and results read the variables: a nested aggregate may have no value."""
        read = dict(scope.bound)
        for clause in invariant.clauses:
            if clause.relation.kind is Kind.VALUE and clause.relation.name in self.fallible:
                value = clause.args[-1]
                if value in read:
                    read[value] = quote_expr("PRESENT(V)", PRESENT=self.support.present, V=read[value])
        return read

    def numbers(self, invariant: Invariant) -> frozenset[str]:
        """The variables that hold a number, being what a nested query counts."""
        counting = {q.name for q in self.plan.queries if form_of(self.plan, q) in (Form.NUMBER, Form.COUNTS)}
        return frozenset(
            c.args[-1]
            for c in invariant.clauses
            if c.relation.kind is Kind.VALUE and c.relation.name in counting
        )

    def keeps_objects(self, query: str) -> bool:
        """Is what is kept for a combination changed in place?"""
        [found] = (q for q in self.plan.queries if q.name == query)
        return bool(found.rest) or form_of(self.plan, found) is not Form.NUMBER

    def held_once(self, counted: Sequence[Clause], scope: Scope) -> ast.expr:
        """Sources that hold every element once at most, as sets do."""
        return _all(
            quote_expr("S.__class__ in SOURCES", S=scope.get(c.args[0]), SOURCES=self.support.SOURCES)
            for c in counted
        )

    def times(self, counted: Sequence[Clause], scope: Scope) -> ast.expr:
        """How often there is a combination: the product of how often sources hold its elements."""
        factors = [
            quote_expr(
                "TIMES(S, X)", TIMES=self.support.times, S=scope.get(c.args[0]),
                X=_build(c.pattern or Variable(c.args[-1]), scope),
            )
            for c in counted
        ]  # fmt: skip
        return reduce(lambda a, b: ast.BinOp(a, ast.Mult(), b), factors)

    def is_usual(self, query: str) -> bool:
        """Is a query an unmarked one?"""
        return any(q.usual for q in self.plan.queries if q.name == query)

    def skipping(self, query: str) -> Holes:
        """What handles a combination that raises: in an unmarked query whatever it raises is skipped, since
        the query itself then gives what Python gives."""
        skip = self.support.skipped if self.is_usual(query) else self.support.doubted
        return {"ERROR": self.supply_local("error"), "SKIP": skip}

    def local(self, variable: str) -> str:
        """The local name of a query variable: its own, unless that would hide a builtin."""
        if variable in _BUILTINS or keyword.iskeyword(variable):
            return self.supply_local(f"{variable}_")
        return variable


class _BlockRenderer:
    def __init__(
        self,
        owner: Renderer,
        invariant: Invariant,
        block: Block,
        event: Event,
        body: Body,
        known: frozenset[str],
    ) -> None:
        self.known = known
        self.owner, self.support = owner, owner.support
        self.invariant, self.block, self.event, self.body = invariant, block, event, body
        self.scope = Scope({v: name(owner.fixed[v]) for v in owner.plan.fixed})
        if event.fixed in owner.plan.fixed:
            self.scope.bound[event.fixed] = event.columns[0]
        self.ops: list[Op] = []
        self.pending = [test for test in invariant.tests if test not in owner.assumed]
        self.exclusions = self._exclusions()
        self.temporaries = 0
        self._guarded: list[Guard] = []
        self.keyable: set[str] = set(owner.plan.fixed)  # variables whose values are known to be hashable
        self.present: dict[tuple[str, str], bool] = {}  # (index, key that it has) -> was that just asked?
        self.demanded = False  # an index told that the combination is demanded
        self.swapped: dict[int, ast.expr] = {}  # clause -> the set to look up in, where that is the larger

    def render(self) -> list[ast.stmt]:
        if self.exclusions is None or self._concerns_another():
            return []
        self._bind_event()
        if self.owner.plan.mode == "incremental":
            self._ask_first()
        self._flush()
        for step in self.block.covers.best.steps:
            self._step(step)
            self._flush()
        assert not self.pending, [str(t) for t in self.pending]
        if self.invariant.sets_only:
            test = "V.__class__ not in NO_SETS and W(V)"
            holes = {"W": self.support.watchable, "NO_SETS": self.support.NO_SETS}
            self.ops.append(If(quote_expr(test, V=self.scope.get(self.invariant.head[0]), **holes)))
        elif self.invariant.store is not Store.RESULT and not set(self.invariant.head) <= self.keyable:
            for variable in self._unkeyed():
                self.ops.append(Keyable(self.scope.get(variable)))
        return Assembler(self.owner, self.ops, self.body, self.scope, self.invariant, self.event).assemble()

    def _concerns_another(self) -> bool:
        """Is it known that another fixed set is changed than the one that the block is about?"""
        clause = self.invariant.clauses[self.block.clause]
        own = clause.args[0] if clause.args and clause.args[0] in self.owner.plan.fixed else ""
        return bool(self.event.fixed) and bool(own) and own != self.event.fixed

    def _unkeyed(self) -> list[str]:
        """Head variables that a field gives, which may hold anything."""
        given = self._given() - {value for value, _, _ in self.invariant.told}
        if not any(c.relation.kind is Kind.TAG for c in self.invariant.clauses):
            given |= {c.args[0] for c in self.invariant.clauses if c.relation.kind is Kind.FIELD}
        return [v for v in dict.fromkeys(self.invariant.head) if v in given and v not in self.keyable]

    # -- the event --------------------------------------------------------------------------------

    def _bind_event(self) -> None:
        clause = self.invariant.clauses[self.block.clause]
        columns = self.event.columns
        splits = clause.relation.kind in (Kind.MEMBER, Kind.ANSWER) and not clause.watch
        if splits or clause.relation.kind is Kind.COUNT:
            self.keyable.update(clause.args)
            for variable, value in zip(clause.args[: clause.given], columns, strict=False):
                self._bind(variable, value)
                self._guard(variable)
                self._ask_tag(variable)
            self._match(clause.pattern or Variable(clause.args[-1]), columns[-1])
        elif clause.relation.kind is Kind.ITEM and isinstance(clause.pattern, Value):
            self._bind(clause.args[0], columns[0])
            self._guard(clause.args[0])
            self._match(clause.pattern, columns[1])
            self._bind(clause.args[1], columns[2])
        else:
            for variable, value in zip(clause.args, columns, strict=False):
                self._bind(variable, value)
        self.keyable.update(_hashable_columns(clause, bool(self.block.guards) or bool(self.known)))
        for guard in self.block.guards:
            self._guard(guard.variable)

    def _guard(self, variable: str) -> None:
        for guard in self.block.guards:
            if guard.variable == variable and guard not in self._guarded:
                self._guarded.append(guard)
                if guard.tag in self.known and variable == self._object():
                    self._has(guard.tag, variable, False)
                    continue
                if "guards" not in self.owner.plan.without and self._looks_up_first(guard.tag, variable):
                    continue  # which finds nothing for what the guard would turn away
                self._keyed(variable)
                self.ops.append(If(self._in_tag(variable, guard.tag)))
                self._has(guard.tag, variable, True)

    def _ask_first(self) -> None:
        """Without guards, ask the indices that the block looks its event up in before anything else than
        fields is read: that may be refused, which only what a combination holds should be."""
        for step in self.block.covers.best.steps:
            if step.access is Access.LOOKUP and len(step.key) == 1:
                variable = self.invariant.clauses[step.clause].args[step.key[0]]
                index = self.invariant.index_for(step.clause, step.key)
                if variable not in self.scope.bound or self._looks_up_first(index, variable):
                    continue
                self._keyed(variable)
                self.ops.append(If(self._has_key(index, self.scope.get(variable))))
                self._has(index, variable, True)

    def _has(self, tag: str, variable: str, just_asked: bool) -> None:
        """Note that a tag, or the index that stands for it, has the value of a variable. Where that was asked
        before an assignment, a hash that reads the field may have become another one."""
        if isinstance(value := self.scope.get(variable), ast.Name):
            self.present[tag, value.id] = just_asked

    def _ask_tag(self, variable: str) -> None:
        """Ask the tag of a fixed set first, so that blocks about the set begin alike."""
        for clause in self.invariant.clauses:
            if (
                clause.relation.kind is Kind.TAG
                and clause.args == (variable,)
                and variable in self.owner.fixed
            ):
                if clause.relation.name not in self.known:
                    self.ops.append(If(self._in_tag(variable, clause.relation.name)))
                self.known |= {clause.relation.name}

    def _in_tag(self, variable: str, tag: str) -> ast.expr:
        if variable in self.owner.plan.fixed:  # the one element that the tag may have
            return name(tag)
        if tag in self.owner.fixed:
            return quote_expr("V in S", V=self.scope.get(variable), S=self.owner.fixed[tag])
        return self._has_key(tag, self.scope.get(variable))

    def _has_key(self, structure: str, key: ast.expr) -> ast.expr:
        """Whether a structure has a key; one for sets alone has none where other values are usual."""
        asked = "S and K in S" if self.owner.plan.invariant(structure).sets_only else "K in S"
        return quote_expr(asked, K=key, S=structure)

    def _looks_up_first(self, index: str, variable: str) -> bool:
        """Does the block look a variable up in an index, and before that read nothing but fields? What else
        is read may be refused, which only what is demanded should be; so may what a condition looks into."""
        bound = {*self.scope.bound}
        for step in self.block.covers.best.steps:
            if any(test.names <= bound for test in self.pending):
                return False
            clause = self.invariant.clauses[step.clause]
            if (
                step.access is Access.LOOKUP
                and len(step.key) == 1
                and clause.args[step.key[0]] == variable
                and self.invariant.index_for(step.clause, step.key) == index
            ):
                return True
            if clause.relation.kind is not Kind.FIELD:
                return False
            bound.update(clause.args)
        return False

    def _object(self) -> str:
        """The variable of the updated object."""
        return self.invariant.clauses[self.block.clause].args[0]

    def _bind(self, variable: str, value: ast.expr) -> None:
        if variable in self.owner.plan.fixed:
            if ast.dump(value) != ast.dump(self.scope.get(variable)):
                self.ops.append(If(quote_expr("A is B", A=value, B=self.scope.get(variable))))
        elif variable in self.scope.bound:
            self._same(self.scope.get(variable), value)
        else:
            self.scope.bound[variable] = value

    def _same(self, left: ast.expr, right: ast.expr) -> None:
        if ast.dump(left) != ast.dump(right):
            if self._is_walked_for(left, right):
                return
            test = "SAME(A, B)"
            if isinstance(left, ast.Name) and isinstance(right, ast.Name):  # no call for most values
                test = "A is B or (A == B if A.__class__ in C and B.__class__ in C else SAME(A, B))"
            compared, same = self.support.COMPARED, self.support.same
            self.ops.append(If(quote_expr(test, SAME=same, C=compared, A=left, B=right)))

    def _is_walked_for(self, left: ast.expr, right: ast.expr) -> bool:
        """Where a whole set is walked for the elements with one value, a look-up in a set of that value tells
        them from the others: equal objects have equal hashes, and most have none in common."""
        first = next((at for at, op in enumerate(self.ops) if isinstance(op, For)), None)
        keys = {v.id for k in self.keyable if isinstance(v := self.scope.bound.get(k), ast.Name)}
        given = {c.id for c in self.event.columns if isinstance(c, ast.Name)} & keys
        if first is None or not (isinstance(left, ast.Name) and isinstance(right, ast.Name)):
            return False
        if (left.id in given) is (right.id in given):
            return False
        one, other = (left, right) if left.id in given else (right, left)
        wanted = self.owner.supply_local(f"wanted_{one.id}")  # the same in walks inside this one
        if not any(isinstance(op, Plain) and wanted in names_in(op.statement) for op in self.ops):
            self.ops.insert(first, Plain(quote("W = {V}", W=wanted, V=one)[0]))
        test = quote_expr("V in W", V=other, W=wanted)
        if other.id in keys:
            self.ops.append(If(test))
        else:
            unkeyed = quote_expr("SAME(A, B)", SAME=self.support.same, A=other, B=one)
            self.ops.append(If(test, False, unkeyed))
        return True

    def _match(self, pattern: Pattern, value: ast.expr) -> None:
        """Split an element by a pattern; one that does not match is skipped."""
        match pattern:
            case Variable(identifier):
                self._bind(identifier, value)
            case Value(expr):
                self.ops.append(If(quote_expr("SAME(A, B)", SAME=self.support.same, A=value, B=expr.node)))
            case TuplePattern(items):
                if self._unpack(items, value):
                    return
                test = quote_expr("isinstance(T, tuple) and len(T) == N", T=value, N=ast.Constant(len(items)))
                self.ops.append(If(test))
                for position, item in enumerate(items):
                    component = quote_expr("T[I]", T=value, I=ast.Constant(position))
                    if isinstance(item, Variable) and item.name not in self.scope.bound:
                        local = self._fresh(item.name)
                        self.ops.append(Plain(quote("X = Y", X=local, Y=component)[0]))
                        self.scope.bound[item.name] = name(local)
                        self.keyable.add(item.name)
                    else:
                        if isinstance(item, TuplePattern):
                            local = self._temporary()
                            self.ops.append(Plain(quote("X = Y", X=local, Y=component)[0]))
                            component = name(local)
                        self._match(item, component)

    def _unpack(self, items: Sequence[Pattern], value: ast.expr) -> bool:
        """Split a tuple at once, where all its parts are new variables; its length shows when it is tried."""
        variables = [item.name for item in items if isinstance(item, Variable)]
        if len(variables) < len(items) or len(set(variables)) < len(items):
            return False
        if any(v in self.scope.bound for v in variables):
            return False
        parts: list[ast.expr] = [ast.Name(self._fresh(v), ast.Store()) for v in variables]
        if not parts:
            return False
        target = ast.Tuple(parts, ast.Store())
        self.ops.append(If(quote_expr("T.__class__ is tuple or isinstance(T, tuple)", T=value)))
        self.ops.append(Unpack(ast.Assign([target], value, lineno=0)))
        self.scope.bound |= {v: name(self._fresh(v)) for v in variables}
        self.keyable.update(variables)
        return True

    def _fresh(self, variable: str) -> str:
        return self.owner.local(variable)

    def _temporary(self) -> str:
        self.temporaries += 1
        return self.owner.supply_local(f"part_{self.temporaries}")

    # -- rule 4 -----------------------------------------------------------------------------------

    def _exclusions(self) -> list[int] | None:
        """Earlier clauses of the same relation, which must not be met by the event's own tuple.
        None when one of them always is: then an earlier block does all the work."""
        own = self.invariant.clauses[self.block.clause]
        earlier = []
        for index in _occurrence_order(self.invariant.clauses, own, self.event.kinds):
            if index == self.block.clause:
                break
            other = self.invariant.clauses[index]
            if _key(other) == _key(own) and other.pattern == own.pattern:
                return None
            sources = {c.args[0] for c in (own, other) if c.args} & self.owner.plan.fixed
            if len(sources) < 2:  # two fixed sets are never one
                earlier.append(index)
        return earlier

    def _flush(self) -> None:
        """Place tests and exclusions as soon as their variables are bound."""
        assert self.exclusions is not None
        bound = self.scope.bound
        for index in list(self.exclusions):
            clause = self.invariant.clauses[index]
            if all(v in bound for v in _key(clause)):
                self.exclusions.remove(index)
                self.ops.append(If(self._differs(clause)))
        for test in sorted(self.pending, key=lambda t: len(t.expr.text)):
            if test.names <= bound.keys():
                self.pending.remove(test)
                readings = self.owner.readings(self.invariant, self.scope)
                usual = self.owner.is_usual(self.invariant.query)
                numbers = self.owner.numbers(self.invariant)
                lowered = lower_test(test.expr.node, self.support, readings, True, usual, numbers)
                safe = is_safe(test.expr.node, lowered, self.support, numbers)
                value = self.invariant.clauses[self.block.clause].args[-1:]
                if self.event.after is not None and set(value) <= test.names:
                    then = Scope({**bound, value[0]: self.event.after})
                    readings = self.owner.readings(self.invariant, then)
                    later = lower_test(test.expr.node, self.support, readings, True, usual, numbers)
                    self.ops.append(Turn(lowered, later, safe))
                else:
                    self.ops.append(If(lowered, safe))

    def _differs(self, clause: Clause) -> ast.expr:
        """The clause's tuple is not the event's."""
        columns = self.event.columns
        if clause.relation.kind in (Kind.VALUE, Kind.ANSWER):
            own = [self.scope.get(v) for v in clause.source]
            if clause.relation.kind is Kind.ANSWER:
                own.append(self._element(clause))
            tests = [
                quote_expr("not SAME(A, B)", SAME=self.support.same, A=a, B=b)
                for a, b in zip(own, columns, strict=False)
                if ast.dump(a) != ast.dump(b)
            ]
            if not tests:
                return ast.Constant(False)
            return tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
        source = quote_expr("A is not B", A=self.scope.get(clause.args[0]), B=columns[0])
        if clause.relation.kind is Kind.ITEM:
            constant = clause.pattern
            element = constant.expr.node if isinstance(constant, Value) else self.scope.get(clause.args[1])
        elif clause.relation.kind in (Kind.MEMBER, Kind.COUNT):
            element = self._element(clause)
        else:
            return source
        other = quote_expr("not SAME(A, B)", SAME=self.support.same, A=element, B=columns[1])
        own_source = self.scope.get(clause.args[0])
        if ast.dump(own_source) == ast.dump(columns[0]):
            return other
        if ast.dump(element) == ast.dump(columns[1]):
            return source
        return ast.BoolOp(ast.Or(), [source, other])

    def _element(self, clause: Clause) -> ast.expr:
        """The element of a member clause, rebuilt from its variables."""
        return _build(clause.pattern or Variable(clause.args[-1]), self.scope)

    # -- steps ------------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        clause = self.invariant.clauses[step.clause]
        cost = step.factor.text if step.factor is not None else ""
        match clause.relation.kind:
            case Kind.FIELD:
                self._field(clause, step, cost)
            case Kind.ITEM:
                self._item(clause, step, cost)
            case Kind.MEMBER | Kind.COUNT if clause.watch:
                pass
            case Kind.MEMBER:
                self._member(clause, step, cost)
            case Kind.VALUE:
                self._value(clause, step, cost)
            case Kind.ANSWER:
                self._answer(clause, step, cost)
            case Kind.DEMAND:
                self._demand(clause, step, cost)
            case Kind.JOIN:
                self._lookup(clause, step, cost)
            case Kind.TAG if clause.relation.name in self.known and clause.args[0] == self._object():
                pass
            case Kind.TAG:
                self._keyed(clause.args[0])
                self.ops.append(If(self._in_tag(clause.args[0], clause.relation.name)))

    def _field(self, clause: Clause, step: Step, cost: str) -> None:
        source, target = clause.args
        if step.access is Access.LOOKUP:
            self._lookup(clause, step, cost)
            return
        receiver = self.scope.get(source)
        if clause.watch:
            if step.access is Access.FORWARD and not self._is_read(target, step.clause):
                self.scope.bound[target] = ast.Constant(None)
                return
            live = quote_expr(
                "FIELD(O, F)" if self.support.unmarked else "getattr(O, F, MISSING)",
                O=receiver if self.support.unmarked else self.support.storing(receiver, clause.field),
                FIELD=self.support.followed_field,
                F=ast.Constant(clause.field),
                MISSING=self.support.MISSING,
            )
        else:
            live = self.support.field_of(receiver, clause.field)
        if step.access is Access.FORWARD:
            local = self._fresh(target)
            if clause.watch:
                self.ops.append(Plain(quote("X = Y", X=local, Y=live)[0]))
            else:
                self.ops.append(Assign(local, live))
            self.scope.bound[target] = name(local)
            if source == target:
                raise AssertionError("a field clause binds a new variable")
        else:
            local = self.owner.supply_local(f"{self.owner.local(source)}_{clause.field}_now")
            if clause.watch:
                self.ops.append(Plain(quote("X = Y", X=local, Y=live)[0]))
            else:
                self.ops.append(Assign(local, live))
            self._same(name(local), self.scope.get(target))

    def _item(self, clause: Clause, step: Step, cost: str) -> None:
        """`m[k]`: of a dict whose changes are seen, or of something that does not change."""
        if step.access is Access.LOOKUP:
            self._lookup(clause, step, cost)
            return
        mapping, value = clause.args[0], clause.args[-1]
        if step.access is Access.SCAN:
            entries = self.support.entries if clause.arity == SUBSCRIPT else self.support.items
            pairs = quote_expr("ITEMS(M)", ITEMS=entries, M=self.scope.get(mapping))
            self._loop_over(clause, tuple(range(1, len(clause.args))), pairs, cost, hashable=False)
            return
        key = (
            clause.pattern.expr.node if isinstance(clause.pattern, Value) else self.scope.get(clause.args[1])
        )
        if clause.watch and step.access is Access.FORWARD and not self._is_read(value, step.clause):
            self.scope.bound[value] = ast.Constant(None)
            return
        function = self.support.item if clause.arity == SUBSCRIPT else self.support.dict_item
        function = self.support.item_or_missing if clause.watch else function
        live = quote_expr("ITEM(M, K)", ITEM=function, M=self.scope.get(mapping), K=key)
        local = self._fresh(value) if step.access is Access.FORWARD else self.owner.supply_local("item_now")
        if clause.watch:
            self.ops.append(Plain(quote("X = Y", X=local, Y=live)[0]))
        else:
            self.ops.append(Assign(local, live, is_field=False))
        if step.access is Access.FORWARD:
            self.scope.bound[value] = name(local)
        else:
            self._same(name(local), self.scope.get(value))

    def _is_read(self, variable: str, clause_index: int) -> bool:
        """Does any other clause, test or head use the variable?"""
        for index, clause in enumerate(self.invariant.clauses):
            if index != clause_index and variable in clause.args:
                return True
        reads = set(self.invariant.head)
        for test in self.invariant.tests:
            reads |= test.names
        if self.invariant.result is not None:
            reads |= self.invariant.result.names
        return variable in reads

    def _member(self, clause: Clause, step: Step, cost: str) -> None:
        if step.access is Access.LOOKUP:
            self._lookup(clause, step, cost)
            return
        source = self.scope.get(clause.args[0])
        if step.access is Access.TEST:
            source = self.swapped.get(step.clause, source)
            element = self._element(clause)
            is_fixed = clause.args[0] in self.owner.plan.fixed and step.clause not in self.swapped
            if is_fixed and clause.args[0] in self.known and clause.args[1:] == (self._object(),):
                self.keyable.update(clause.args)
                return
            keyable = is_fixed or all(v in self.keyable for v in clause.args[1:])
            test = "X in S if S.__class__ in SOURCES else CONTAINS(S, X)" if keyable else "CONTAINS(S, X)"
            if is_fixed or step.clause in self.swapped:  # what cannot be a key is in no set
                test = "X in S"
            support = self.support
            self.ops.append(
                If(
                    quote_expr(test, CONTAINS=support.contains, SOURCES=support.SOURCES, S=source, X=element),
                    safe=False,
                )
            )
            if is_fixed:
                self.keyable.update(clause.args)
            return
        own, source = source, self._smaller(clause, source)
        elements = source
        if own is source and clause.args[0] not in self.owner.plan.fixed:
            elements = quote_expr(
                "S if S.__class__ in SOURCES else ELEMENTS(S)",
                S=source, SOURCES=self.support.SOURCES, ELEMENTS=self.support.elements,
            )  # fmt: skip
        if clause.pattern is None:
            variable = clause.args[1]
            local = self._fresh(variable)
            self.ops.append(For(ast.Name(local, ast.Store()), elements, cost))
            self.scope.bound[variable] = name(local)
            self.keyable.add(variable)
        else:
            local = self.owner.supply_local("element")
            self.ops.append(For(ast.Name(local, ast.Store()), elements, cost))
            self._match(clause.pattern, name(local))

    def _smaller(self, clause: Clause, source: ast.expr) -> ast.expr:
        """Where another set must hold the elements too, walk the smaller one and look up in the larger."""
        if self.invariant.store is not Store.JOIN or clause.pattern is not None:
            return source
        for step in self.block.covers.best.steps:
            other = self.invariant.clauses[step.clause]
            if (
                step.access is Access.TEST
                and other.relation.kind is Kind.MEMBER
                and other.pattern is None
                and other.args[1] == clause.args[1]
                and other.args[0] in self.scope.bound
                and other.args[0] != clause.args[0]
            ):
                # A name for each variable that is walked: the walks of the stages stand inside one another.
                walked = self.owner.local(clause.args[1])
                small = self.owner.supply_local(f"smaller_set_{walked}")
                large = self.owner.supply_local(f"larger_set_{walked}")
                pick = quote(
                    "A, B = PICK(X, Y)", A=small, B=large, PICK=self.support.smaller, X=source,
                    Y=self.scope.get(other.args[0]),
                )  # fmt: skip
                self.ops.append(Plain(pick[0]))
                self.swapped[step.clause] = name(large)
                return name(small)
        return source

    def _value(self, clause: Clause, step: Step, cost: str) -> None:
        """The value of a nested aggregate."""
        if step.access is Access.LOOKUP:
            self._lookup(clause, step, cost)
            return
        for parameter in clause.source:
            self._keyed(parameter)
        parts = [self.scope.get(v) for v in clause.source]
        key = _tuple(parts)
        counts = self.owner.whole.get(clause.relation.name)
        if counts is None:
            shown = self.owner.visible[clause.relation.name]
            live = quote_expr("M.get(K, MISSING)", M=shown, K=key, MISSING=self.support.MISSING)
        else:
            live = quote_expr("M.get(K, 0)", M=counts, K=key)
            if (test := self.owner.equal_themselves(clause.relation.name, parts)) is not None:
                live = quote_expr("N if TEST else 0", N=live, TEST=test)
        variable = clause.args[-1]
        if step.access is Access.TEST:
            local = self.owner.supply_local(f"{self.owner.local(variable)}_now")
            self.ops.append(Plain(quote("X = Y", X=local, Y=live)[0]))
            self._same(name(local), self.scope.get(variable))
        else:
            local = self._fresh(variable)
            self.ops.append(Plain(quote("X = Y", X=local, Y=live)[0]))
            self.scope.bound[variable] = name(local)
            if (
                counts is None and clause.relation.name not in self.owner.fallible
            ):  # then nobody demands this combination
                self.ops.append(If(quote_expr("X is not M", X=local, M=self.support.MISSING)))

    def _answer(self, clause: Clause, step: Step, cost: str) -> None:
        """An element of the answer of a nested set query."""
        if step.access is Access.LOOKUP:
            self._lookup(clause, step, cost)
            return
        for parameter in clause.source:
            self._keyed(parameter)
        key = _tuple([self.scope.get(v) for v in clause.source])
        image = quote_expr("M.get(K, ())", M=self.owner.visible[clause.relation.name], K=key)
        pattern = clause.pattern or Variable(clause.args[-1])
        if step.access is Access.TEST:
            element = _build(pattern, self.scope)
            self.ops.append(If(quote_expr("X in I", X=element, I=image), False))
            return
        local = self.owner.supply_local("element") if clause.pattern else self._fresh(clause.args[-1])
        self.ops.append(For(ast.Name(local, ast.Store()), image, cost))
        if clause.pattern is None:
            self.scope.bound[clause.args[-1]] = name(local)
            self.keyable.add(clause.args[-1])
        else:
            self._match(clause.pattern, name(local))

    def _lookup(self, clause: Clause, step: Step, cost: str) -> None:
        index = self.invariant.index_for(step.clause, step.key)
        for position in step.key:
            self._keyed(clause.args[position])
        key = _tuple(
            [self.scope.get(v) for i in step.key if (v := clause.args[i]) not in self.owner.plan.fixed]
        )
        self.demanded |= holds_demanded(self.owner.plan.invariant(index))
        if not step.new:
            self.ops.append(If(self._has_key(index, key)))
            return
        image = quote_expr("INDEX.get(KEY, ())", INDEX=index, KEY=key)
        if isinstance(key, ast.Name) and not any(isinstance(op, For) for op in self.ops):
            # Most updates concern nobody: a test costs them less than a loop over nothing.
            just_asked = self.present.get((index, key.id))
            if just_asked is None:
                self.ops.append(If(self._has_key(index, key)))
            if just_asked is not False:
                image = quote_expr("INDEX[KEY]", INDEX=index, KEY=key)
        if index in self.owner.echoes(self.invariant):
            image = quote_expr("list(IMAGE)", IMAGE=image)
        if clause.relation.kind is not Kind.JOIN:
            self._loop_over(clause, step.new, image, cost)
            return
        held = self.owner.plan.invariant(index).head
        self._loop_over(clause, [i for i in step.new if clause.args[i] in held], image, cost)
        self._read_told(clause.relation.name, [clause.args[i] for i in step.new])

    def _read_told(self, join: str, columns: Sequence[str]) -> None:
        """Read what an index of a join leaves out, since a field tells it."""
        for value, owner, field_name in self.owner.plan.invariant(join).told:
            if value in columns and value not in self.scope.bound:
                local = self._fresh(value)
                self.ops.append(Assign(local, self.support.field_of(self.scope.get(owner), field_name)))
                self.scope.bound[value] = name(local)

    def _keyed(self, variable: str) -> None:
        """A value that a field gave may be no key at all."""
        if variable not in self.keyable and variable in self._given():
            self.ops.append(Keyable(self.scope.get(variable)))
            self.keyable.add(variable)

    def _given(self) -> set[str]:
        kinds = (Kind.FIELD, Kind.VALUE, Kind.ITEM)
        return {c.args[-1] for c in self.invariant.clauses if c.relation.kind in kinds}

    def _loop_over(
        self, clause: Clause, new: Sequence[int], image: ast.expr, cost: str, hashable: bool = True
    ) -> None:
        targets, repeated = [], []
        for position in new:
            variable = clause.args[position]
            if variable in self.scope.bound:
                local = self.owner.supply_local(f"{self.owner.local(variable)}_again")
                repeated.append((variable, local))
            else:
                local = self._fresh(variable)
                self.scope.bound[variable] = name(local)
                if hashable:
                    self.keyable.add(variable)
            targets.append(ast.Name(local, ast.Store()))
        target = targets[0] if len(targets) == 1 else ast.Tuple(list(targets), ast.Store())
        self.ops.append(For(target, image, cost))
        for variable, local in repeated:
            self._same(self.scope.get(variable), name(local))

    def _is_demanded(self, demand: Clause) -> bool:
        """Is it known, since a fixed set is tagged, that a query without parameters is demanded?"""
        tags = [self.owner.plan.invariant(tag) for tag in self.known if tag not in self.owner.fixed]
        return any(tag.clauses[0].relation == demand.relation for tag in tags)

    def _demand(self, clause: Clause, step: Step, cost: str) -> None:
        demanded = self.owner.result_keys[self.invariant.query]
        match step.access:
            case Access.TEST | Access.SCAN if not clause.args:  # the one combination that there is
                if not self._is_demanded(clause):
                    self.ops.append(If(name(demanded)))
            case Access.TEST:
                for variable in clause.args:
                    self._keyed(variable)
                key = _tuple([self.scope.get(v) for v in clause.args])
                # An index that holds demanded tuples tests like the result, whose block is the next one.
                asks = self.invariant.store is Store.RESULT or holds_demanded(self.invariant)
                if asks and self.owner.keeps_objects(self.invariant.query):
                    result = self.owner.plan.result_of(self.invariant.query)
                    by_rest = len(result.head) > result.key
                    kept = self.owner.supply_local("rows") if by_rest else self.owner.answer
                    find = "A = R[K]" if self.demanded else "A = R.get(K)"
                    self.ops.append(Plain(quote(find, A=kept, R=demanded, K=key)[0]))
                    if not self.demanded:
                        self.ops.append(If(quote_expr("A is not None", A=kept)))
                    self.scope.kept = kept
                elif not self.demanded:
                    self.ops.append(If(quote_expr("KEY in DEMAND", KEY=key, DEMAND=demanded)))
            case Access.SCAN:
                self._loop_over(clause, step.new, quote_expr("list(DEMAND)", DEMAND=demanded), cost)
            case _:
                self._lookup(clause, step, cost)


def _hashable_columns(clause: Clause, is_tagged: bool) -> tuple[str, ...]:
    """Columns of an update's tuple that are keys somewhere already; a field may hold anything."""
    match clause.relation.kind:
        case Kind.FIELD | Kind.ITEM:
            return clause.args[:-1] if is_tagged else clause.args[1:-1]
        case Kind.VALUE:
            return clause.source
    return clause.args


def _all(tests: Iterable[ast.expr]) -> ast.expr:
    joined = list(tests)
    return joined[0] if len(joined) == 1 else ast.BoolOp(ast.And(), joined)


def _tuple(parts: list[ast.expr]) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())


def _build(pattern: Pattern, scope: Scope) -> ast.expr:
    match pattern:
        case Variable(identifier):
            return scope.get(identifier)
        case Value(expr):
            return expr.node
        case TuplePattern(items):
            return ast.Tuple([_build(i, scope) for i in items], ast.Load())
    raise AssertionError(pattern)


def _key(clause: Clause) -> tuple[str, ...]:
    """The columns that tell an update's tuple: the object of a field, source and element of a set."""
    if clause.relation.kind in (Kind.FIELD, Kind.CONTENT):
        return clause.args[:1]
    if clause.relation.kind is Kind.ITEM:
        return clause.args[:-1]
    return clause.source if clause.relation.kind is Kind.VALUE else clause.args


def _family(clause: Clause) -> str:
    """The updates that change a clause: what is in a set and what is known of it change together."""
    relation = MEMBER if clause.relation in (CONTENT, COUNT, ITEM) else clause.relation
    return f"{relation.kind.value} {relation.name}"


def _occurrence_order(clauses: Sequence[Clause], own: Clause, kinds: frozenset[Kind]) -> list[int]:
    """Occurrences of a relation: joined ones first, then watched ones."""
    related = [i for i, c in enumerate(clauses) if _family(c) == _family(own)]
    if _family(own) == _family(Clause(MEMBER, ())):
        related = [i for i in related if clauses[i].relation.kind in kinds]
    return sorted(related, key=lambda i: (clauses[i].watch, clauses[i].relation.kind is Kind.CONTENT))


_BUILTINS = frozenset(dir(builtins))

__all__ = ["Event", "Renderer", "Scope", "Store"]
