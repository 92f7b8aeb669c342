"""Values as text: how a column of any type is stored, compared and sent.

    "u1"         su1            a string, which may be an id
    5            j5             every other value as canonical JSON
    ("u1", 2)    j["u1",2]      a tuple as a list

Equal values have equal `key` texts: 1, 1.0 and True are one element of a set, and one key of a dict. No whole
number is written with an exponent, so that a text tells what its key is: 1e16 is `10000000000000000.0`.
"""

from __future__ import annotations

import json
import math
import re
import sys
import threading
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

_LARGE = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.]*e\+[0-9]+')  # a string, or a float of 1e16 and more
_DIGITS = threading.Lock()


def _writer(**options: Any) -> Callable[[Any], str]:
    encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, **options).encode

    def write(value: Any) -> str:
        try:
            text = encode(value)
        except ValueError:
            text = _of_any_length(encode, value)
        return _LARGE.sub(_in_full, text) if "e+" in text else text

    return write


def _in_full(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else f"{int(float(found[0]))}.0"


def _of_any_length(convert: Callable[[Any], Any], value: Any) -> Any:
    """Convert what holds a whole number of more digits than Python converts unasked: a query computed it."""
    with _DIGITS:
        most = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(0)
        try:
            return convert(value)
        finally:
            sys.set_int_max_str_digits(most)


_dumps = _writer(separators=(",", ":"))
_spaced = _writer()


def read_json(text: str) -> Any:
    """What a text says that was written here."""
    try:
        return json.loads(text)
    except ValueError:
        return _of_any_length(json.loads, text)


DEEPEST = 100  # lists in lists: whoever reads a value must not run out of stack


class NotAValue(ValueError):  # noqa: N818  # what was found, not what went wrong
    """A JSON object, or what JSON cannot say, which is no value of a relation."""


def given_text(value: Any) -> str:
    """The text of a value that comes from outside, if it is one."""
    return "s" + value if value.__class__ is str else as_text(checked(value))


def given_key(value: Any) -> str:
    """The key of a value that comes from outside, if it is one."""
    return "s" + value if value.__class__ is str else as_key(checked(value))


def checked(value: Any, depth: int = 0) -> Any:
    """A value that comes from outside, if it can be told as JSON, and by whoever reads it."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotAValue(f"{value} is no number of JSON")
    elif isinstance(value, list | tuple):
        if depth == DEEPEST:
            raise NotAValue(f"lists are nested more than {DEEPEST} deep")
        for part in value:
            checked(part, depth + 1)
    elif isinstance(value, dict):
        raise NotAValue("an object is no value: give its id")
    return value


def is_unicode(text: str, value: Any) -> bool:
    """Can what a line of JSON says be written?

    Half a surrogate pair cannot, and stands for a byte that is not UTF-8.
    """
    escaped = "\\ud" in text or "\\uD" in text
    if not escaped and text.isascii():
        return True
    try:
        text.encode()
        if escaped:
            json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


def as_text(value: Any) -> str:
    """The text of a JSON value."""
    if value.__class__ is str:
        return "s" + value
    return "j" + _dumps(value)


def as_key(value: Any) -> str:
    """The same text for all equal values."""
    return "s" + value if value.__class__ is str else "j" + _dumps(_canonical(value))


def json_key(text: str) -> str:
    """The JSON of a result, the same for all equal values."""
    return _spaced(_canonical(read_json(text)))


def from_text(text: str, make: Callable[[str], Any] = str) -> Any:
    """The value of a text: lists are tuples, and every string is what `make` makes of it."""
    return make(text[1:]) if text[0] == "s" else _made(read_json(text[1:]), make)


def shown(value: Any) -> Any:
    """A result as JSON: an object is its id, a tuple a list, a set a sorted list."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return value
    if isinstance(value, tuple | list):
        return [shown(part) for part in value]
    if isinstance(value, AbstractSet):
        return sorted((shown(part) for part in value), key=_dumps)
    if isinstance(value, Mapping):
        pairs = sorted(([shown(k), shown(v)] for k, v in value.items()), key=_dumps)
        return dict(pairs) if all(isinstance(k, str) for k, _ in pairs) else pairs
    return str(value)


def shown_text(value: Any) -> str:
    """A result as the text of its JSON."""
    return _spaced(shown(value))


def _canonical(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_canonical(part) for part in value]
    if isinstance(value, dict):  # a result
        return {key: _canonical(part) for key, part in value.items()}
    return value


def _made(value: Any, make: Callable[[str], Any]) -> Any:
    if isinstance(value, str):
        return make(value)
    if isinstance(value, list):
        return tuple(_made(part, make) for part in value)
    return value
