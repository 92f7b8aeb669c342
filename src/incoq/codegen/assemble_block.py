"""Nest the operations of a block as statements (paper, appendix B).

Before:    u_loc = u.loc | if u_loc == 'NYC' | for group in fil_inv_member_2.get(u, ()) | change the head
After:     try:
               u_loc = u.loc
               ok = u_loc == 'NYC'
           except Exception as error:
               ok = doubted(error)
           if ok:
               for group in fil_inv_member_2.get(u, ()):
                   ...
Invariant: a combination whose reading or test raises is skipped; what nests too deep for Python is a function
           of the local names that it reads
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from incoq.codegen.quote import Holes, quote, quote_expr, trailing
from incoq.ir.expressions import name, names_in
from incoq.ir.invariants import Invariant
from incoq.ir.relational import Kind

if TYPE_CHECKING:
    from incoq.codegen.lower_tests import Support
    from incoq.codegen.render_block import Renderer

Body = Callable[["Scope"], list[ast.stmt]]

MAX_DEPTH = 13  # Python nests at most 20 loops and tries


@dataclass(frozen=True)
class Event:
    """A tuple added or deleted: the expressions of its columns; for `member` the source and the element."""

    columns: tuple[ast.expr, ...]
    kinds: frozenset[Kind] = frozenset({Kind.MEMBER, Kind.CONTENT})  # what an update of a container changes
    fixed: str = ""  # the fixed set that the event is about, where that is known, or NO_FIXED
    after: ast.expr | None = None  # what the last column becomes, where that decides one condition only
    successor: ast.expr | None = None  # what takes the place of the last column, see `replace_element`


@dataclass
class Scope:
    """Variables bound so far, and how generated code names them."""

    bound: dict[str, ast.expr] = field(default_factory=dict)
    kept: str = ""  # the local name of what is kept for the demanded combination, where it was fetched

    def get(self, variable: str) -> ast.expr:
        return self.bound[variable]


@dataclass(frozen=True)
class Assign:
    """`target = value`, skipped as a whole when the field is missing."""

    target: str
    value: ast.expr
    is_field: bool = True  # what else is read may raise anything


@dataclass(frozen=True)
class If:
    test: ast.expr
    safe: bool = True
    unkeyed: ast.expr | None = None  # what stands for a look-up of a value without a hash


@dataclass(frozen=True)
class Turn:
    """Go on where a condition holds before and not after, or after and not before."""

    before: ast.expr
    after: ast.expr
    safe: bool


@dataclass(frozen=True)
class Keyable:
    """Skip, and refuse, a value that cannot be a key."""

    value: ast.expr


@dataclass(frozen=True)
class For:
    target: ast.expr
    iterable: ast.expr
    cost: str


@dataclass(frozen=True)
class Plain:
    """A statement that cannot fail, before the rest."""

    statement: ast.stmt


@dataclass(frozen=True)
class Unpack:
    """`p, d = x` of a tuple, which may have another length."""

    statement: ast.stmt


@dataclass(frozen=True)
class Found:
    """Go on where a map or a set holds a value; see `ask_first`."""

    value: ast.expr
    container: ast.expr
    kept: str = ""  # what the map has for the value becomes this local name


Op = Assign | If | For | Plain | Keyable | Turn | Found | Unpack


def ask_first(ops: list[Op], support: Support) -> list[Op]:
    """Look a value up before asking whether it can be a key at all: most values are not there.

    Before:    if old.__class__ in HASHABLE or keyable(old):              two look-ups
                   if old in r_q: ...
    After:     try:
                   found = old in r_q                                     one
               except Exception:
                   found = keyable(old) and old in r_q
               if found: ...
    Before:    if old.__class__ in REFLEXIVE or is_reflexive(old):        does it equal itself?
                   if old.__class__ in HASHABLE or keyable(old):
                       if old in r_q: ...
    After:     if old in r_q if old.__class__ in REFLEXIVE else is_reflexive(old) and keyable(old) and ...
               and where nothing is looked up yet
               if old.__class__ in REFLEXIVE or is_reflexive(old) and keyable(old): ...
    Invariant: what cannot be a key is refused as before: looking it up raises TypeError. Whether it equals
               itself is asked before, since a list that a query has reached is a key, and yet is refused. All
               values of the classes in REFLEXIVE can be keys.
    """
    found: list[Op] = []
    at = 0
    while at < len(ops):
        match ops[at : at + 3]:
            case [
                If(
                    ast.BoolOp(
                        values=[
                            ast.Compare(comparators=[ast.Name(id=classes)]) as is_usual,
                            ast.Call(args=[ast.Name(id=value)]) as is_reflexive,
                        ]
                    ),
                    True,
                ),
                Keyable(ast.Name(id=key)),
                If(ast.Compare(left=ast.Name(id=asked), ops=[ast.In()]) as look_up, True),
            ] if classes == support.REFLEXIVE and value == key == asked:
                unusual = quote_expr(
                    "R and K(V) and L", R=is_reflexive, K=support.keyable, V=value, L=look_up
                )
                found.append(If(ast.IfExp(is_usual, look_up, unusual)))
                at += 3
            case [
                If(
                    ast.BoolOp(
                        values=[
                            ast.Compare(comparators=[ast.Name(id=classes)]) as is_usual,
                            ast.Call(args=[ast.Name(id=value)]) as is_reflexive,
                        ]
                    ),
                    True,
                ),
                Keyable(ast.Name(id=key)),
                *_,
            ] if classes == support.REFLEXIVE and value == key:
                found.append(
                    If(quote_expr("U or R and K(V)", U=is_usual, R=is_reflexive, K=support.keyable, V=value))
                )
                at += 2
            case [
                Keyable(ast.Name(id=value) as name_),
                If(ast.Compare(left=ast.Name(id=asked), ops=[ast.In()], comparators=[container]), True),
                *_,
            ] if asked == value:
                found.append(Found(name_, container))
                at += 2
            case [
                Keyable(ast.Name(id=value) as name_),
                Plain(
                    ast.Assign(
                        targets=[ast.Name(id=kept)],
                        value=ast.Call(
                            func=ast.Attribute(value=container, attr="get"), args=[ast.Name(id=asked)]
                        ),
                    )
                ),
                If(ast.Compare(left=ast.Name(id=tested), ops=[ast.IsNot()]), True),
            ] if asked == value and tested == kept:
                found.append(Found(name_, container, kept))
                at += 3
            case _:
                found.append(ops[at])
                at += 1
    return found


class Assembler:
    """Nests operations; what nests too deep moves into a function of its own."""

    def __init__(
        self, owner: Renderer, ops: list[Op], body: Body, scope: Scope, invariant: Invariant, event: Event
    ) -> None:
        self.owner, self.ops, self.body, self.scope = owner, ask_first(ops, owner.support), body, scope
        self.label, self.query, self.event = invariant.name, invariant.query, event
        self.is_empty = False  # nothing is done for a combination: then nothing looks for one

    def assemble(self) -> list[ast.stmt]:
        statements = self._from(0, self.owner.depth)
        if self.is_empty:
            return []
        self.owner.note_entry(self.ops)
        return statements

    def _from(self, index: int, depth: int) -> list[ast.stmt]:
        if index == len(self.ops):
            outside, self.owner.depth = self.owner.depth, depth
            self.owner.nested += 1
            try:
                statements = self.body(self.scope)
            finally:
                self.owner.depth = outside
                self.owner.nested -= 1
            self.is_empty = not statements
            return statements
        if depth >= MAX_DEPTH:
            return self._outlined(index)
        match self.ops[index]:
            case Plain(statement):
                return [statement, *self._from(index + 1, depth)]
            case Unpack(statement):
                return quote(
                    "try:\n    UNPACK\nexcept ValueError:\n    pass\nelse:\n    REST",
                    UNPACK=[statement], REST=self._from(index + 1, depth + 1),
                )  # fmt: skip
            case For(target, iterable, cost):
                loop = ast.For(target, iterable, self._from(index + 1, depth + 1), [])
                return trailing([loop], cost)
            case If(test, True):
                tests = [test]
                while index + 1 < len(self.ops):
                    following = self.ops[index + 1]
                    if not (isinstance(following, If) and following.safe):
                        break
                    tests.append(following.test)
                    index += 1
                joined = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
                return [ast.If(joined, self._from(index + 1, depth + 1), [])]
            case Keyable(value):
                return quote(
                    "if V.__class__ in HASHABLE or KEYABLE(V):\n    REST",
                    KEYABLE=self.owner.support.keyable, HASHABLE=self.owner.support.HASHABLE, V=value,
                    REST=self._from(index + 1, depth + 1),
                )  # fmt: skip
            case Found():
                return self._found(self.ops[index], self._from(index + 1, depth + 1))  # type: ignore[arg-type]
            case Turn(before, after, safe):
                ok, now = self.owner.supply_local("ok"), self.owner.supply_local("now_ok")
                if safe:
                    return quote(
                        "NOW = AFTER\nif (BEFORE) is not NOW:\n    REST", NOW=now, BEFORE=before, AFTER=after,
                        REST=self._from(index + 1, depth + 1),
                    )  # fmt: skip
                holes = self.owner.skipping(self.query)
                return quote(
                    "try:\n    OK = bool(BEFORE)\nexcept Exception as ERROR:\n    OK = SKIP(ERROR)\n"
                    "try:\n    NOW = bool(AFTER)\nexcept Exception as ERROR:\n    NOW = SKIP(ERROR)\n"
                    "if OK is not NOW:\n    REST",
                    OK=ok, NOW=now, BEFORE=before, AFTER=after, **holes,
                    REST=self._from(index + 1, depth + 1),
                )  # fmt: skip
            case If() | Assign():
                return self._attempt(index, depth)
        raise AssertionError(self.ops[index])

    def _found(self, op: Found, rest: list[ast.stmt]) -> list[ast.stmt]:
        found = op.kept or self.owner.supply_local("found")
        ask = "M.get(V)" if op.kept else "V in M"
        keyable = quote_expr("KEYABLE(V)", KEYABLE=self.owner.support.keyable, V=op.value)
        holes: Holes = {
            "F": found, "V": op.value, "M": op.container, "REST": rest,
            "MAY": keyable, "IS": quote_expr("F is not None" if op.kept else "F", F=found),
        }  # fmt: skip
        again = f"{ask} if MAY else None" if op.kept else f"MAY and {ask}"
        return quote(f"try:\n    F = {ask}\nexcept Exception:\n    F = {again}\nif IS:\n    REST", **holes)

    def _attempt(self, index: int, depth: int) -> list[ast.stmt]:
        """A run of field reads and at most one test, tried together."""
        statements: list[ast.stmt] = []
        test: ast.expr | None = None
        unkeyed: ast.expr | None = None
        fields_only = True
        while index < len(self.ops):
            op = self.ops[index]
            if isinstance(op, Assign):
                statements += quote("X = Y", X=op.target, Y=op.value)
                fields_only = fields_only and op.is_field
            elif isinstance(op, If) and (statements or not op.safe):
                test, unkeyed = op.test, op.unkeyed
                index += 1
                break
            else:
                break
            index += 1
        if test is None:
            rest = self._from(index, depth + 1)
            handler = "except AttributeError:\n    pass\n"
            if not fields_only:
                handler = "except Exception as ERROR:\n    SKIP(ERROR)\n"
            return quote(
                f"try:\n    READS\n{handler}else:\n    REST", READS=statements, REST=rest,
                **self.owner.skipping(self.query),
            )  # fmt: skip
        ok = self.owner.supply_local("ok")
        rest = self._from(index, depth + 1)
        holes = self.owner.skipping(self.query)
        if not self._gives_bool(test):  # whose truth may raise
            test = quote_expr("True if TEST else False", TEST=test)
        asked = quote("OK = TEST", OK=ok, TEST=test)
        if unkeyed is not None:
            asked = quote(
                "try:\n    ASKED\nexcept TypeError:\n    OK = TEST", ASKED=asked, OK=ok, TEST=unkeyed
            )
        return quote(
            "try:\n    READS\n    ASKED\nexcept Exception as ERROR:\n    OK = SKIP(ERROR)\nif OK:\n    REST",
            READS=statements, ASKED=asked, OK=ok, REST=rest, **holes,
        )  # fmt: skip

    def _gives_bool(self, test: ast.expr) -> bool:
        """Is a test true or false, and no value whose truth is still to be asked?"""
        support = self.owner.support
        match test:
            case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Constant():
                return True
            case ast.BoolOp(values=values):
                return all(map(self._gives_bool, values))
            case ast.IfExp(body=body, orelse=orelse):
                return self._gives_bool(body) and self._gives_bool(orelse)
            case ast.Call(func=ast.Name(id=function)):
                own = (support.same, support.contains, support.holds, support.is_reflexive, support.keyable)
                return function in (*own, "isinstance", "bool", "any", "all")
        return False

    def _outlined(self, index: int) -> list[ast.stmt]:
        """The rest as a function of the local names that it reads."""
        rest = self._from(index, 0)  # a function begins at no depth
        if self.is_empty:
            return []
        function = self.owner.supply.fresh(f"maintain_{self.label}")
        read = {n for statement in rest for n in names_in(statement)}
        params = sorted(read & self._bound_before(index))
        self.owner.outline(function, params, rest)
        return [ast.Expr(ast.Call(name(function), [name(p) for p in params], []))]

    def _bound_before(self, index: int) -> set[str]:
        found = {n for column in self.event.columns for n in names_in(column)}
        if self.event.successor is not None:
            found |= names_in(self.event.successor)
        if self.event.after is not None:
            found |= names_in(self.event.after) | {self.owner.supply_local("now_ok")}
        for op in self.ops[:index]:
            match op:
                case Found(kept=kept) if kept:
                    found.add(kept)
                case Assign(target=target):
                    found.add(target)
                case For(target, _, _):
                    found |= names_in(target)
                case Plain(ast.Assign(targets=[target])) | Unpack(ast.Assign(targets=[target])):
                    found |= names_in(target)
        return found
