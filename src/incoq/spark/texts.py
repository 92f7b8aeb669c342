"""Texts of values as Spark expressions: equality, JSON, and the conditions that mean the same there.

A column holds the text of a value (`values.py`): `su1`, `j5`, `j["u1",2]`. A condition becomes a Boolean
column that is null where Python would raise; what is null is left out, as what raises is skipped.

    u_loc == 'NYC'                  v3 = 'sNYC'
    u_age > 30 and not u_gone       left to Python: the truth of a value may depend on what a set holds
    u_age > 30 or u_loc != 'Oslo'   case when v4 is a number then v4 > 30 end, or, ...
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from incoq.spark.values import as_key, as_text

# A string inside JSON, which nothing may change; without the last `+`, Java runs out of stack on a long one.
_STRING = r'("(?:[^"\\]|\\.)*+")'
_EXACT = 2**53  # whole numbers below are floats too, so that comparing as floats is exact


def key(column: Any) -> Any:
    """The text that equal values share: 1, 1.0 and True are one."""
    from pyspark.sql import functions as f

    return f.when(column.startswith("j"), _canonical(column)).otherwise(column)


def json_key(column: Any) -> Any:
    """The same of the text of a result's JSON."""
    from pyspark.sql import functions as f

    return f.when(column.rlike(r'^[^"]*$|^\['), _canonical(column)).otherwise(column)


def _canonical(column: Any) -> Any:
    from pyspark.sql import functions as f

    numbers = rf"{_STRING}|-(0)\.0(?=[,\] ]|$)|(-?[0-9]+)\.0(?=[,\] ]|$)"
    whole = f.regexp_replace(column, numbers, "$1$2$3")
    whole = f.when(column.contains(".0"), whole).otherwise(column)
    # What a Boolean is replaced with has to stand in the text: it is put behind it, and taken away.
    begin = r"(?:\b|(?<=^j))"  # the mark of a text is a letter, too
    tokens = rf"{_STRING}|{begin}true\b(?=.*(1)0$)|{begin}false\b(?=.*1(0)$)"
    marked = f.regexp_replace(f.concat(whole, f.lit("\n10")), f"(?s){tokens}", "$1$2$3")
    plain = f.regexp_replace(marked, "\n10$", "")
    return f.when(column.contains("true") | column.contains("false"), plain).otherwise(whole)


def json_text(column: Any) -> Any:
    """The JSON of a value, as `shown_text` writes it."""
    from pyspark.sql import functions as f

    string = column.substr(f.lit(2), f.length(column))
    escaped = f.replace(f.replace(string, f.lit("\\"), f.lit("\\\\")), f.lit('"'), f.lit('\\"'))
    for code in range(32):
        escaped = f.replace(escaped, f.lit(chr(code)), f.lit(_escape(code)))
    needs = string.rlike(r'[\x00-\x1f"\\]')
    quoted = f.concat(f.lit('"'), f.when(needs, escaped).otherwise(string), f.lit('"'))
    # A comma between two values gets a space, which has to stand in the text: it is put behind it.
    spaced = f.regexp_replace(f.concat(string, f.lit("\n ")), rf"(?s){_STRING}|(,)(?=.*\n( )$)", "$1$2$3")
    spaced = f.regexp_replace(spaced, "\n $", "")
    plain = f.when(string.contains(","), spaced).otherwise(string)
    return f.when(column.startswith("s"), quoted).otherwise(plain)


def json_list(columns: list[Any]) -> Any:
    """A list of values as JSON."""
    from pyspark.sql import functions as f

    parts: list[Any] = []
    for number, column in enumerate(columns):
        parts += [f.lit(", ")] if number else []
        parts.append(json_text(column))
    return f.concat(f.lit("["), *parts, f.lit("]"))


def _escape(code: int) -> str:
    return {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}.get(code, f"\\u{code:04x}")


def identity(column: Any) -> Any:
    """The id that a text is, or null."""
    from pyspark.sql import functions as f

    return f.when(column.startswith("s"), column.substr(f.lit(2), f.length(column)))


def result_json(text: str, columns: Mapping[str, Any]) -> Any:
    """The JSON of a result that is a variable, a constant or a tuple of them; None where it is more."""
    from pyspark.sql import functions as f

    def made(node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name) if name in columns:
                return json_text(columns[name])
            case ast.Constant(value=None | bool() | int() | str() as value):
                return json_text(f.lit(as_text(value)))
            case ast.Tuple(elts=items) if items:
                parts: list[Any] = []
                for number, item in enumerate(items):
                    part = made(item)
                    if part is None:
                        return None
                    parts += [f.lit(", "), part] if number else [part]
                return f.concat(f.lit("["), *parts, f.lit("]"))
        return None

    return made(ast.parse(text, mode="eval").body)


def condition(text: str, columns: Mapping[str, Any]) -> Any:
    """A condition as a Spark expression, or None where only Python knows what it means."""
    return _condition(ast.parse(text, mode="eval").body, columns)


def _condition(node: ast.expr, columns: Mapping[str, Any]) -> Any:
    from pyspark.sql import functions as f

    match node:
        case ast.BoolOp(op=op, values=values):
            parts = [_condition(v, columns) for v in values]
            if any(part is None for part in parts):
                return None
            found = parts.pop()
            while parts:  # nothing is evaluated behind what decides; null where the first part raises
                first = parts.pop()
                if isinstance(op, ast.And):
                    found = f.when(first, found).when(~first, f.lit(False))
                else:
                    found = f.when(first, f.lit(True)).when(~first, found)
            return found
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _condition(operand, columns)
            return None if inner is None else ~inner
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _comparison(left, op, right, columns)
        case ast.Constant(value=bool() as value):
            return f.lit(value)
    return None


_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq,
}  # fmt: skip


def _comparison(left: ast.expr, op: ast.cmpop, right: ast.expr, columns: Mapping[str, Any]) -> Any:
    from pyspark.sql import functions as f

    match left, op, right:
        case ast.Name(id=a), ast.Eq() | ast.NotEq(), ast.Name(id=b) if a in columns and b in columns:
            same = key(columns[a]) == key(columns[b])
            same = same & (columns[a] != "jNaN")
            return same if isinstance(op, ast.Eq) else ~same
        case ast.Constant(), _, ast.Name() if type(op) in _MIRRORED:
            return _comparison(right, _MIRRORED[type(op)](), left, columns)
        case ast.Name(id=name), ast.Is() | ast.IsNot(), ast.Constant(value=None) if name in columns:
            none = columns[name] == "jnull"
            return none if isinstance(op, ast.Is) else ~none
        case ast.Name(id=name), ast.In() | ast.NotIn(), ast.Tuple(elts=items) if name in columns:
            if not all(_is_scalar(i) for i in items):
                return None
            texts = [as_key(ast.literal_eval(i)) for i in items]
            inside = key(columns[name]).isin(texts) if texts else f.lit(False)
            return inside if isinstance(op, ast.In) else ~inside
        case ast.Name(id=name), _, _ if name in columns and _is_scalar(right):
            return _with_constant(columns[name], op, ast.literal_eval(right))
    return None


def _with_constant(column: Any, op: ast.cmpop, value: Any) -> Any:
    from pyspark.sql import functions as f

    if value != value:
        return None
    match op:
        case ast.Eq():
            return key(column) == as_key(value)
        case ast.NotEq():
            return key(column) != as_key(value)
        case ast.Lt() | ast.Gt() | ast.LtE() | ast.GtE():
            if isinstance(value, str):
                return f.when(column.startswith("s"), _ordered(column, op, f.lit("s" + value)))
            if isinstance(value, int | float) and abs(value) < _EXACT:
                number = f.substring(key(column), 2, 400).try_cast("double")
                is_number = key(column).rlike("^j-?([0-9]|Infinity)")
                ordered = _ordered(number, op, f.lit(float(value)))
                return f.when(is_number, ordered).when(column == "jNaN", f.lit(False))
    return None


def _ordered(left: Any, op: ast.cmpop, right: Any) -> Any:
    match op:
        case ast.Lt():
            return left < right
        case ast.Gt():
            return left > right
        case ast.LtE():
            return left <= right
    return left >= right


def _is_scalar(node: ast.expr) -> bool:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return True
        case ast.Constant(value=None | bool() | int() | float() | str()):
            return True
    return False
