"""Print generated statements with their comments.

Expressions and simple statements are printed by `ast.unparse`; this adds comment lines before a
statement, a comment at the end of its first line, and blank lines between definitions.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

_INDENT = "    "
_COMPARISONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.BitOr: "|"}


@dataclass(frozen=True)
class Printed:
    """The text of a statement at module level, and the names that it binds, or whose object it changes."""

    text: str
    binds: frozenset[str]
    begins_apart: bool  # by two blank lines
    is_definition: bool


def print_statements(
    statements: Sequence[ast.stmt], lasting: Collection[ast.stmt] = ()
) -> tuple[Printed, ...]:
    """The texts of module-level statements; those that are `lasting` are the same in every program."""
    return tuple(_printed_once(s) if s in lasting else _printed(s) for s in statements)


def _printed(node: ast.stmt) -> Printed:
    lines: list[str] = []
    _statement(node, 0, lines)
    is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
    apart = is_definition or getattr(node, "after_definition", False)
    return Printed("\n".join(lines), frozenset(_bound(node)), apart, is_definition)


_printed_once = cache(_printed)


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)
        case ast.Assign(targets=targets):
            yield from (n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))
        case _:
            yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def joined(printed: Sequence[Printed]) -> str:
    """A module of these statements, with blank lines around definitions."""
    pieces: list[str] = []
    after: Printed | None = None
    for piece in printed:
        if after is not None:
            pieces.append("\n\n\n" if piece.begins_apart else "\n\n" if after.is_definition else "\n")
        pieces.append(piece.text)
        after = piece
    return "".join(pieces) + "\n"


def _block(statements: Sequence[ast.stmt], depth: int, lines: list[str]) -> None:
    for number, statement in enumerate(statements):
        if number and isinstance(statement, ast.FunctionDef):
            lines.append("")
        _statement(statement, depth, lines)


def _statement(node: ast.stmt, depth: int, lines: list[str]) -> None:
    pad = _INDENT * depth
    for comment in getattr(node, "comments", ()):
        lines.append(f"{pad}# {comment}")
    tail = getattr(node, "trailing", "")
    tail = f"  # {tail}" if tail else ""
    match node:
        case ast.If():
            _if(node, "if", depth, lines, tail)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            lines.append(f"{pad}for {_target(target)} in {_text(iterable)}:{tail}")
            _block(body, depth + 1, lines)
            if orelse:
                lines.append(f"{pad}else:")
                _block(orelse, depth + 1, lines)
        case ast.While(test=test, body=body):
            lines.append(f"{pad}while {_text(test)}:{tail}")
            _block(body, depth + 1, lines)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            lines.append(f"{pad}try:{tail}")
            _block(body, depth + 1, lines)
            for handler in handlers:
                kind = f" {_text(handler.type)}" if handler.type is not None else ""
                named = f" as {handler.name}" if handler.name else ""
                lines.append(f"{pad}except{kind}{named}:")
                _block(handler.body, depth + 1, lines)
            if orelse:
                lines.append(f"{pad}else:")
                _block(orelse, depth + 1, lines)
            if finalbody:
                lines.append(f"{pad}finally:")
                _block(finalbody, depth + 1, lines)
        case ast.FunctionDef(name=name, args=args, body=body, decorator_list=decorators):
            for decorator in decorators:
                lines.append(f"{pad}@{_text(decorator)}")
            lines.append(f"{pad}def {name}({_text(args)}):{tail}")
            _block(body, depth + 1, lines)
        case ast.ClassDef(name=name, bases=bases, body=body):
            shown = f"({', '.join(map(_text, bases))})" if bases else ""
            lines.append(f"{pad}class {name}{shown}:{tail}")
            _block(body, depth + 1, lines)
        case ast.Expr(value=ast.Constant(value=str(text))):
            lines.append(f"{pad}{_docstring(text)}")
        case _:
            for number, line in enumerate(_text(node).split("\n")):
                lines.append(f"{pad}{line}{tail if number == 0 else ''}")


def _if(node: ast.If, word: str, depth: int, lines: list[str], tail: str) -> None:
    pad = _INDENT * depth
    lines.append(f"{pad}{word} {_text(node.test)}:{tail}")
    _block(node.body, depth + 1, lines)
    match node.orelse:
        case []:
            return
        case [ast.If() as inner] if not getattr(inner, "comments", ()):
            _if(inner, "elif", depth, lines, "")
        case orelse:
            lines.append(f"{pad}else:")
            _block(orelse, depth + 1, lines)


def _text(node: ast.AST) -> str:
    """What `ast.unparse` gives. Here are the forms that make up most of the output, since it is slow."""
    match node:
        case ast.Assign(targets=[target], value=value):
            left, right = _atom(target), _expression(value)
            if left is not None and right is not None and not isinstance(target, ast.Tuple):
                return f"{left} = {right}"
        case ast.AugAssign(target=target, op=op, value=value):
            left, symbol, right = _atom(target), _OPERATORS.get(type(op)), _expression(value)
            if left and symbol and right:
                return f"{left} {symbol}= {right}"
        case ast.Return(value=None) | ast.Raise(exc=None) | ast.Pass():
            return type(node).__name__.lower()
        case ast.Return(value=ast.expr() as value) | ast.Raise(exc=ast.expr() as value, cause=None):
            if quick := _expression(value):
                return f"{type(node).__name__.lower()} {quick}"
        case ast.Delete(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target]):
            if quick := _atom(target):
                return f"del {quick}"
        case ast.arguments(posonlyargs=[], args=args, vararg=None, kwonlyargs=[], kwarg=None, defaults=[]):
            if not any(argument.annotation for argument in args):
                return ", ".join(argument.arg for argument in args)
        case _:
            quick = _expression(node.value if isinstance(node, ast.Expr) else node)
            if quick is not None:
                return quick
    if isinstance(node, ast.Assign):
        node.lineno = 1  # `unparse` looks for a comment there
    elif isinstance(node, ast.stmt):
        ast.fix_missing_locations(node)
    return ast.unparse(node)


def _expression(node: ast.AST) -> str | None:
    """The text of an expression that stands where no parentheses are needed around it."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            first, second, symbol = _atom(left), _atom(right), _COMPARISONS.get(type(op))
            return f"{first} {symbol} {second}" if first and second and symbol else None
        case ast.BoolOp(op=op, values=values):
            word, soon = (" and ", 1) if isinstance(op, ast.And) else (" or ", 2)
            shown = [_operand(value, number - soon) for number, value in enumerate(values)]
            return None if None in shown else word.join(filter(None, shown))
        case ast.BinOp(left=left, op=op, right=right):
            first, operator, second = _atom(left), _OPERATORS.get(type(op)), _atom(right)
            return f"{first} {operator} {second}" if first and operator and second else None
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            denied = _atom(operand)
            return denied and f"not {denied}"
        case ast.IfExp(test=ast.Compare() | ast.Call() | ast.Name() as test, body=body, orelse=orelse):
            first, middle, second = _atom(body), _expression(test), _atom(orelse)
            if first is None and isinstance(body, ast.Compare):
                first = _expression(body)
            return f"{first} if {middle} else {second}" if first and middle and second else None
    return _atom(node)


def _operand(node: ast.AST, late: int) -> str | None:
    """An operand of `and` or `or`: `unparse` puts parentheses around the later ones, and around `not x` one
    earlier than around comparisons."""
    match node:
        case ast.UnaryOp():
            shown, bare = _expression(node), late < 0
        case ast.Compare():
            shown, bare = _expression(node), late < 1
        case _:
            return _atom(node)
    return shown if bare or shown is None else f"({shown})"


def _atom(node: ast.AST) -> str | None:
    """The text of an expression that never needs (further) parentheses around it."""
    match node:
        case ast.Name(id=identifier):
            return identifier
        case ast.Attribute(value=value, attr=attr) if not isinstance(value, ast.Constant):
            of = _atom(value)
            return of and f"{of}.{attr}"
        case ast.Constant(value=str() | int() | None as value):
            return repr(value)
        case ast.Call(func=func, args=args, keywords=[]):
            shown = [_atom(func), *map(_expression, args)]
            return None if None in shown else f"{shown[0]}({', '.join(filter(None, shown[1:]))})"
        case ast.Subscript(value=value, slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            if isinstance(index, ast.Tuple) and len(parts) < 2:
                return None
            shown = [None if isinstance(value, ast.Constant) else _atom(value), *map(_atom, parts)]
            return None if None in shown else f"{shown[0]}[{', '.join(filter(None, shown[1:]))}]"
        case ast.Tuple(elts=[]):
            return "()"
        case ast.Tuple(elts=elements):
            shown = [*map(_atom, elements)]
            inside = ", ".join(filter(None, shown)) + ("," if len(shown) == 1 else "")
            return None if None in shown else f"({inside})"
    return None


def _target(node: ast.expr) -> str:
    text = _text(node)
    return text[1:-1] if isinstance(node, ast.Tuple) and len(node.elts) > 1 else text


def _docstring(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if plain.endswith('"'):
        plain += " "
    return f'"""{plain}"""'
