"""Phase 3 for conditions and results: what an expression of a query means on live objects.

Inside a query `==` on two sets is identity, and a value whose content could change unseen must not be
looked into: `equal` compares, `plain` lets through only values that cannot change.

Before:    a.x == b.y           x.n < y.n
After:     equal(a_x, b_y)      plain(x_n) < plain(y_n)
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from incoq.frontend.pure import PURE_METHODS
from incoq.ir import expressions
from incoq.ir.expressions import clone, name, substitute
from incoq.relational.flatten_query import selector_root


@dataclass(frozen=True)
class Support:
    """Names of the support code that generated code calls; see `prelude.py`."""

    names: Mapping[str, str]
    computed: frozenset[str] = frozenset()  # fields that some class computes: who is asked is looked at
    unmarked: bool = False  # all queries are unmarked: of whom any field is read is looked at

    def field_of(self, owner: ast.expr, field: str) -> ast.expr:
        """`owner.field` of an object that stores it."""
        return ast.Attribute(self.storing(owner, field), field, ast.Load())

    def storing(self, owner: ast.expr, field: str) -> ast.expr:
        """What a field is read of."""
        if self.unmarked:
            return ast.Call(name(self.names["followed"]), [owner, ast.Constant(field)], [])
        if field not in self.computed:
            return owner
        return ast.Call(name(self.names["storing"]), [owner, ast.Constant(field)], [])

    def __getattr__(self, wanted: str) -> str:
        return self.names[wanted]


_VALUE_TYPES = (ast.Constant, ast.JoinedStr)
_DISPLAYS = (ast.Constant, ast.JoinedStr, ast.Tuple, ast.List, ast.Set)


def _is_watched(node: ast.expr) -> bool:
    """Does a clause watch the content of what this gives, where it counts?"""
    match node:
        case ast.Name():
            return True
        case ast.Call(func=ast.Name(id="getattr")):
            return True
    return selector_root(node) is not None


def _is_list_of_text(node: ast.expr) -> bool:
    """Does it give a list made of a text, `x.name.split()`, which nobody else has?"""
    match node:
        case ast.Call(func=ast.Attribute(attr="split" | "rsplit" | "splitlines")):
            return True
        case ast.Subscript(value=value, slice=ast.Slice()):
            return _is_list_of_text(value)
    return False


def _is_builtin(node: ast.expr) -> bool:
    """Does an expression name builtins only?"""
    return all(hasattr(builtins, n.id) for n in ast.walk(node) if isinstance(n, ast.Name))


class _Lower(ast.NodeTransformer):
    def __init__(self, support: Support, usual: bool, numbers: Collection[str] = ()) -> None:
        self.support, self.numbers = support, numbers
        self.equal = support.usual_equal if usual else support.equal

    def _call(self, function: str, *args: ast.expr) -> ast.expr:
        return ast.Call(name(function), list(args), [])

    def truth(self, node: ast.expr) -> ast.expr:
        """An expression of which the truth counts: an object that computes its own is refused."""
        match node:
            case ast.BoolOp(op=op, values=values):
                return ast.BoolOp(op, [*map(self.truth, values)])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return ast.IfExp(*map(self.truth, (test, body, orelse)))
        lowered = self.visit(node)
        assert isinstance(lowered, ast.expr)
        if _is_watched(node):
            return self._unless(lowered, self.support.PLAIN, self._call(self.support.truth, lowered))
        return self._plain(lowered) if isinstance(node, ast.Subscript) else lowered

    def content(self, node: ast.expr) -> ast.expr:
        """An expression of which the content counts: it is watched, or must not change."""
        match node:
            case ast.BoolOp(op=op, values=values):
                return ast.BoolOp(op, [*map(self.truth, values[:-1]), self.content(values[-1])])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return ast.IfExp(self.truth(test), self.content(body), self.content(orelse))
        lowered = self.visit(node)
        assert isinstance(lowered, ast.expr)
        return lowered if _is_watched(node) else self._plain(lowered)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return ast.BoolOp(node.op, [*map(self.truth, node.values[:-1]), self.visit(node.values[-1])])

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return ast.IfExp(self.truth(node.test), self.visit(node.body), self.visit(node.orelse))

    def _plain(self, node: ast.expr, function: str = "") -> ast.expr:
        """Let through only what cannot change unseen."""
        function = function or self.support.plain
        if (isinstance(node, ast.Name) and node.id in self.numbers) or _is_list_of_text(node):
            return node
        if isinstance(node, ast.Name):
            return self._unless(node, self.support.PLAIN, self._call(function, node))
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._plain(i) for i in node.elts], ast.Load())
        if isinstance(node, ast.Attribute | ast.Subscript | ast.IfExp | ast.BoolOp) or self._gives_part(node):
            return self._call(function, node)
        return node

    def _value(self, node: ast.expr, method: str) -> ast.expr:
        """What a method is called of: a module, or a value whose methods read nothing else."""
        if isinstance(node, ast.Constant | ast.JoinedStr) or method not in PURE_METHODS:
            return node
        checked = self._call(self.support.called_of, node, ast.Constant(method))
        return self._unless(node, self.support.CALLED, checked)

    def _unless(self, node: ast.expr, classes: str, checked: ast.expr) -> ast.expr:
        """A variable as it is where its class is one of the usual ones, which saves the call."""
        if not isinstance(node, ast.Name):
            return checked
        usual = ast.Compare(ast.Attribute(node, "__class__", ast.Load()), [ast.In()], [name(classes)])
        return ast.IfExp(usual, node, checked)

    def _gives_part(self, node: ast.expr) -> bool:
        """Is it a call that gives what something holds, whatever that is?"""
        giving = ("getattr", self.support.item)
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in giving

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        left = self.visit(node.left)
        match node.ops, node.comparators:
            case [ast.In() | ast.NotIn()], [right] if _is_list_of_text(right):
                return ast.Compare(self._plain(left), node.ops, [self.visit(right)])
        parts = [
            self.content(c) if isinstance(op, ast.In | ast.NotIn) else self.visit(c)
            for op, c in zip(node.ops, node.comparators, strict=True)
        ]
        if len(node.ops) == 1:
            return self._compare(left, node.ops[0], parts[0])
        tests = [
            self._compare(a, op, b) for a, op, b in zip([left, *parts[:-1]], node.ops, parts, strict=True)
        ]
        return ast.BoolOp(ast.And(), tests)

    def _compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
        match op:
            case ast.Eq() | ast.NotEq():
                if isinstance(left, _VALUE_TYPES) or isinstance(right, _VALUE_TYPES):
                    return ast.Compare(left, [op], [right])
                if _alike(left, right):  # what an equality that became a shared variable left behind
                    if isinstance(op, ast.Eq):
                        return self._is_reflexive(left)
                    return ast.UnaryOp(ast.Not(), self._call(self.support.equals_itself, left))
                if isinstance(op, ast.NotEq) and self.equal == self.support.equal:
                    return self._call(self.support.unequal, left, right)
                test = self._call(self.equal, left, right)
                return test if isinstance(op, ast.Eq) else ast.UnaryOp(ast.Not(), test)
            case ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE():
                if isinstance(left, ast.Constant) or isinstance(right, ast.Constant):
                    function = self.support.scalar
                    return ast.Compare(self._plain(left, function), [op], [self._plain(right, function)])
                function = self.support.ordered
                return ast.Compare(self._plain(left, function), [op], [self._plain(right, function)])
            case ast.In() | ast.NotIn() if not isinstance(right, _DISPLAYS):
                test = self._call(self.support.holds, right, left)
                return test if isinstance(op, ast.In) else ast.UnaryOp(ast.Not(), test)
            case ast.In() | ast.NotIn():
                return ast.Compare(self._plain(left), [op], [right])
        return ast.Compare(left, [op], [right])

    def _is_reflexive(self, value: ast.expr) -> ast.expr:
        """NaN does not equal itself; and a list equals others by what it holds, so it cannot be shared."""
        known = ast.Compare(
            ast.Attribute(value, "__class__", ast.Load()), [ast.In()], [name(self.support.REFLEXIVE)]
        )
        return ast.BoolOp(ast.Or(), [known, self._call(self.support.is_reflexive, value)])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        return ast.BinOp(self._plain(left), node.op, self._plain(right))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id == "len":
            if _is_list_of_text(node.args[0]):
                return ast.Call(node.func, [self.visit(node.args[0])], [])
            content = self.content(node.args[0])
            sized = self._call(self.support.sized, content)
            return ast.Call(node.func, [self._unless(content, self.support.SOURCES, sized)], [])
        args = [self.visit(a) for a in node.args]
        keywords = [ast.keyword(k.arg, self._plain(self.visit(k.value))) for k in node.keywords]
        match node.func:
            case ast.Name(id=expressions.RAISES):
                nothing = ast.arguments([], [], None, [], [], None, [])
                return self._call(self.support.raises, ast.Lambda(nothing, args[0]))
            case ast.Name(id=expressions.ITERABLE):
                return self._call(self.support.iterable, args[0])
            case ast.Name(id=expressions.FITS):
                return self._fitting(args[0])
            case ast.Name(id=expressions.EXACT):
                return self._call(self.support.exact, args[0])
            case ast.Name(id="hasattr" | "getattr") if isinstance(node.args[1], ast.Constant):
                owner = self.support.storing(args[0], str(node.args[1].value))
                return ast.Call(node.func, [owner, *args[1:]], keywords)
            case ast.Name(id="isinstance") if not _is_builtin(args[1]):  # a class may compute what is one
                return ast.Call(node.func, [args[0], self._kinds(args[1])], keywords)
            case ast.Name(id="hasattr" | "getattr" | "isinstance" | "type" | "callable"):
                return ast.Call(node.func, args, keywords)
            case ast.Attribute(value=receiver, attr=attr):
                func = ast.Attribute(self._value(self.visit(receiver), attr), attr, ast.Load())
                return ast.Call(func, [self._plain(a) for a in args], keywords)
        return ast.Call(node.func, [self._plain(a) for a in args], keywords)

    def _kinds(self, node: ast.expr) -> ast.expr:
        """Let through only classes that compute nothing."""
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._kinds(i) for i in node.elts], ast.Load())
        if _is_builtin(node):
            return node
        checked = self._call(self.support.kinds, node)
        return self._unless(node, self.support.KINDS, checked) if isinstance(node, ast.Name) else checked

    def _fitting(self, value: ast.expr) -> ast.expr:
        """Raise unless a value can be in a set; the usual classes need no call."""
        checked = self._call(self.support.fits, value)
        if not isinstance(value, ast.Name):
            return checked
        usual = ast.Compare(
            ast.Attribute(value, "__class__", ast.Load()), [ast.In()], [name(self.support.FITTING)]
        )
        return ast.BoolOp(ast.Or(), [usual, checked])

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        value = self._plain(self.visit(node.value))
        return ast.FormattedValue(value, node.conversion, node.format_spec)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.support.field_of(self.visit(node.value), node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.slice, ast.Slice):
            return ast.Subscript(self._plain(self.visit(node.value)), self.visit(node.slice), ast.Load())
        value, index = self.visit(node.value), self.visit(node.slice)
        if selector_root(node) is not None:
            return self._call(self.support.item, value, index)
        return ast.Subscript(self._plain(value), index, ast.Load())

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, self.truth(node.operand))
        return ast.UnaryOp(node.op, self._plain(self.visit(node.operand)))


def lower_test(
    node: ast.expr,
    support: Support,
    renaming: Mapping[str, ast.expr],
    truth: bool = False,
    usual: bool = False,
    numbers: Collection[str] = (),
) -> ast.expr:
    """The expression as generated code evaluates it; of a condition only the truth counts. In an unmarked
    query (`usual`) sets are compared by what they hold, which cannot be maintained. `numbers` are variables
    that hold nothing but numbers."""
    lowering = _Lower(support, usual, numbers)
    lowered = lowering.truth(clone(node)) if truth else lowering.visit(clone(node))
    assert isinstance(lowered, ast.expr)
    return substitute(lowered, renaming)


def is_safe(node: ast.expr, lowered: ast.expr, support: Support, numbers: Collection[str]) -> bool:
    """Can a condition not raise? Two numbers can be compared, and a value with itself."""
    match lowered:
        case ast.BoolOp(op=ast.Or(), values=[_, ast.Call(func=ast.Name(id=function))]):
            if function == support.is_reflexive:
                return True
    match node:
        case ast.Compare(left=left, ops=[ast.cmpop() as op], comparators=[right]):
            if not isinstance(op, ast.In | ast.NotIn) and _is_number(left, numbers):
                return _is_number(right, numbers)
    return not can_raise(lowered)


def _is_number(node: ast.expr, numbers: Collection[str]) -> bool:
    match node:
        case ast.Name(id=identifier):
            return identifier in numbers
        case ast.Constant(value=value):
            return isinstance(value, int | float)
    return False


def can_raise(node: ast.expr) -> bool:
    """Could evaluating `node` raise? Names, constants, `is` and `not` cannot."""
    match node:
        case ast.Name() | ast.Constant():
            return False
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return can_raise(operand) or not isinstance(operand, ast.Compare | ast.BoolOp | ast.Constant)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            quiet = all(isinstance(op, ast.Is | ast.IsNot) for op in ops)
            return not quiet or any(map(can_raise, (left, *comparators)))
        case ast.Tuple(elts=items):
            return any(map(can_raise, items))
    return True


def _alike(left: ast.expr, right: ast.expr) -> bool:
    return isinstance(left, ast.Name) and isinstance(right, ast.Name) and left.id == right.id
