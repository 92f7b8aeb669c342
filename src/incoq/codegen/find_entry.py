"""Find the look-up that decides whether an update concerns a block at all.

Before:    course = x.course | if course equals itself | if course in r_attending | s = x.student | ...
After:     x.course in r_attending
Invariant: where the look-up finds nothing, the block does nothing: it may stand in place of the update, and
           spare a call. If it raises, the update is to be looked at closely. It may find something for
           nothing: a value that does not equal itself, a tuple of another length
Cost:      linear in the block

A block that does something before it has looked anything up concerns every update; so does one that goes
through a set first. Whether a fixed set has an element decides little: most have.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from incoq.codegen.assemble_block import Assign, For, Found, If, Op, Plain, Turn, Unpack
from incoq.ir.expressions import names_in

MAX_ENTRIES = 3  # more look-ups than these are no better than a call


@dataclass(frozen=True)
class Entry:
    """The look-ups of which one must find something for an update to matter, over the names of its parts:
    the object and its old and new value, or the element."""

    look_ups: tuple[ast.expr, ...]
    names: tuple[str, ...]

    def of(self, *parts: ast.expr, items: Sequence[ast.expr] = ()) -> ast.expr:
        """The condition for an update of these parts; `items` are those of a tuple that is the last one.

        >>> entry = Entry((ast.parse("x[1] in index", mode="eval").body,), ("x",))
        >>> ast.unparse(entry.of(ast.Name("t"), items=[ast.Name("a"), ast.Name("b")]))
        'b in index'

        Of several structures some belong to queries that nobody asks: then there is nothing to look up.

        >>> several = Entry((ast.parse("x in a").body[0].value, ast.parse("x in b").body[0].value), ("x",))
        >>> ast.unparse(several.of(ast.Name("t")))
        'a and t in a or (b and t in b)'
        """
        given = dict(zip(self.names, parts, strict=True))
        last = self.names[-1] if items else ""
        tests = [_substituted(test, given, last, items) for test in self.look_ups]
        if len(self.structures()) > 1:
            tests = list(map(_if_any, tests))
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)

    def reads_fields(self) -> bool:
        """Is a field read? Then an equal object does not stand for another one."""
        return any(isinstance(node, ast.Attribute) for test in self.look_ups for node in ast.walk(test))

    def structures(self) -> set[str]:
        """The names of what is looked into."""
        return {name for test in self.look_ups for name in names_in(test)} - {*self.names}


def common_entry(found: Sequence[ast.expr | None], names: tuple[str, ...]) -> Entry | None:
    """The entry of an update that several blocks depend on, each with its look-up."""
    look_ups = {ast.dump(test): test for test in found if test is not None}
    if not look_ups or None in found or len(look_ups) > MAX_ENTRIES:
        return None
    return Entry(tuple(look_ups.values()), names)


def find_entry(ops: Sequence[Op], names: Sequence[str], structures: Collection[str]) -> ast.expr | None:
    """The first look-up in one of `structures`, over `names`, that must find something for a block to do
    anything; of several names the first is an object of which a guard has told enough."""
    known: dict[str, ast.expr] = {}

    def bind(target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            known[target.id] = _substituted(value, known)

    for op, following in zip_longest(ops, ops[1:]):
        tests: list[ast.expr] = []
        match op, following:
            case ((For() | Turn()), _):
                return None
            case Assign(target, ast.Attribute(value=ast.Name()) as read), _:
                bind(ast.Name(target), read)
            case Plain(ast.Assign(targets=[target], value=ast.Subscript() as read)), _:
                bind(target, read)
            case Unpack(ast.Assign(targets=[ast.Tuple(elts=targets)], value=whole)), _:
                for position, target in enumerate(targets):
                    bind(target, ast.Subscript(whole, ast.Constant(position), ast.Load()))
            case (
                Plain(
                    ast.Assign(value=ast.Call(func=ast.Attribute(value=container, attr="get"), args=[key]))
                ),
                If(ast.Compare(ops=[ast.IsNot()])),
            ):
                tests.append(ast.Compare(key, [ast.In()], [container]))
            case Found(value, container), _:
                tests.append(ast.Compare(value, [ast.In()], [container]))
            case If(test), _:
                tests += _needed(test)
        for test in tests:
            match test:
                case ast.Compare(ops=[ast.In()], comparators=[ast.Name(id=structure)]) if (
                    structure in structures
                ):
                    asked = _substituted(test, known)
                    over = names_in(asked) - {structure}
                    if over <= {*names} and over & {*names[-2:]}:
                        return asked
    return None


def _if_any(test: ast.expr) -> ast.expr:
    """A look-up in what may be empty."""
    assert isinstance(test, ast.Compare)
    return ast.BoolOp(ast.And(), [*test.comparators, test])


def _needed(test: ast.expr) -> list[ast.expr]:
    """The parts of a condition that must hold, all of them; of a choice the usual arm."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return [part for value in values for part in _needed(value)]
        case ast.IfExp(body=usual):
            return _needed(usual)
    return [test]


def _substituted(
    node: ast.expr, given: Mapping[str, ast.expr], whole: str = "", items: Sequence[ast.expr] = ()
) -> ast.expr:
    found: ast.expr = _Substitution(given, whole, items).visit(copy.deepcopy(node))
    return found


class _Substitution(ast.NodeTransformer):
    def __init__(self, given: Mapping[str, ast.expr], whole: str, items: Sequence[ast.expr]) -> None:
        self.given, self.whole, self.items = given, whole, items

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(value=ast.Name(id=whole), slice=ast.Constant(value=int(position))) if (
                self.items and whole == self.whole and position < len(self.items)
            ):
                return self.items[position]
        return self.generic_visit(node)  # type: ignore[return-value]  # an expression

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)
