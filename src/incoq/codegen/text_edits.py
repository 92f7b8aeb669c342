"""Edit the text of a module by the positions of its syntax tree, leaving everything else byte for byte.

Before:    x = {1}  # three            with Edit(4, 4, "Set(") and Edit(7, 7, ")")
After:     x = Set({1})  # three
Invariant: edits do not overlap; at one place insertions come first, in their order
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

_NEWLINE = re.compile(r"\r\n|\r|\n")
_REST_OF_LINE_IS_EMPTY = re.compile(r"[ \t\f]*(#[^\r\n]*)?(?=[\r\n]|\Z)")


class Unsupported(Exception):  # noqa: N818  # what a program is, not what went wrong
    """A program cannot be rewritten without changing its meaning; `node` is to blame."""

    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


@dataclass(frozen=True)
class Edit:
    """Replace the characters from `start` to `end` (exclusive) by `text`."""

    start: int
    end: int
    text: str


def apply_edits(source: str, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """The text of `source` (or of its part from `start` to `end`) with the edits made.

    >>> apply_edits("x = {1}  # three", [Edit(7, 7, ")"), Edit(4, 4, "Set(")])
    'x = Set({1})  # three'
    """
    end = len(source) if end is None else end
    pieces: list[str] = []
    at = start
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not at <= edit.start <= edit.end <= end:
            raise ValueError(f"{edit} overlaps another edit or leaves the text ({at} to {end})")
        pieces += source[at : edit.start], edit.text
        at = edit.end
    return "".join([*pieces, source[at:end]])


def verbatim(text: str) -> ast.expr:
    """An expression rendered as `text`: a segment of the source moved into new code as it is."""
    return ast.Name(text, ast.Load())


def render(node: ast.AST) -> str:
    """The text of new code.

    >>> render(ast.Call(verbatim("f"), [verbatim("x +  1")], []))
    'f(x +  1)'
    """
    return ast.unparse(ast.fix_missing_locations(node))


class Positioned(Protocol):
    """What the places of a syntax node look like."""

    @property
    def lineno(self) -> int: ...
    @property
    def col_offset(self) -> int: ...
    @property
    def end_lineno(self) -> int | None: ...
    @property
    def end_col_offset(self) -> int | None: ...


class SourceText:
    """A module's text; turns syntax positions (lines, columns in UTF-8 bytes) into offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        breaks = list(_NEWLINE.finditer(text))
        self._starts = [0, *(found.end() for found in breaks)]
        self._ends = [*(found.start() for found in breaks), len(text)]
        self._newline = breaks[0].group() if breaks else "\n"

    def start(self, node: Positioned) -> int:
        """Where a node begins; parentheses around it are not part of it."""
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: Positioned) -> int:
        """Where a node ends (exclusive)."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def line_end(self, offset: int) -> int:
        """Where the line of `offset` ends, its line break excluded."""
        return self._ends[self._line(offset)]

    def newline(self, offset: int) -> str:
        """The line break of the line of `offset`, or that of the file where it is the last line."""
        line = self._line(offset)
        return (
            self.text[self._ends[line] : self._starts[line + 1]]
            if line + 1 < len(self._starts)
            else self._newline
        )

    def indentation(self, offset: int) -> str | None:
        """What precedes `offset` in its line, if that is white space and the line before has ended."""
        line = self._line(offset)
        before = self.text[self._starts[line] : offset]
        continued = line > 0 and self.text.endswith("\\", 0, self._ends[line - 1])
        return before if not before.strip(" \t\f") and not continued else None

    def line_indentation(self, offset: int) -> str:
        """The white space at the beginning of the line of `offset`."""
        start = self._starts[self._line(offset)]
        return self.text[start : offset - len(self.text[start:offset].lstrip(" \t\f"))]

    def is_blank_after(self, offset: int) -> bool:
        """Whether only white space or a comment follows in the line."""
        return _REST_OF_LINE_IS_EMPTY.match(self.text, offset) is not None

    def significant(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The characters between two tokens that are not white space, line continuations or comments."""
        at = start
        while at < end:
            char = self.text[at]
            if char == "#":
                at = self.line_end(at)
            elif not (char.isspace() or char == "\\"):
                yield at, char
            at += 1

    def find(self, char: str, start: int, end: int) -> int:
        """Where `char` first stands as a token between two nodes; comments do not count."""
        return next(at for at, found in self.significant(start, end) if found == char)

    def end_with_parentheses(self, node: Positioned, limit: int) -> int:
        """The end of a node with the parentheses that close after it and before `limit`."""
        end = self.end(node)
        for at, char in self.significant(end, limit):
            if char != ")":
                break
            end = at + 1
        return end

    def skip_blanks(self, start: int, end: int) -> int:
        """Where the first token at or after `start` begins."""
        return next((at for at, _ in self.significant(start, end)), end)

    def edit(self, start: int, end: int, text: str) -> Edit:
        """An edit whose text does not grow together with a word before or after it (`return[1]`)."""
        left = self.text[start - 1 : start] if start else ""
        right = self.text[end : end + 1]
        before = " " if _is_word(left) and _is_word(text[:1]) else ""
        after = " " if _is_word(right) and _is_word(text[-1:]) else ""
        return Edit(start, end, before + text + after)

    def _line(self, offset: int) -> int:
        return bisect.bisect_right(self._starts, offset) - 1

    def _offset(self, lineno: int, column: int) -> int:
        start, end = self._starts[lineno - 1], self._ends[lineno - 1]
        line = self.text[start:end]
        return start + (column if line.isascii() else len(line.encode()[:column].decode()))


def _is_word(char: str) -> bool:
    return char == "_" or char.isalnum() or char > "\x7f"


def as_argument(text: str, node: ast.expr) -> str:
    """A segment as an argument of a call, in parentheses where it needs them.

    >>> as_argument("1, 2", ast.parse("1, 2", mode="eval").body)
    '(1, 2)'
    """
    bare = {ast.Tuple: (1, 0), ast.Yield: (1, 1), ast.YieldFrom: (1, 1), ast.NamedExpr: (1, 1)}.get(
        type(node)
    )
    if bare is None:
        return text
    inside = ast.parse(f"({text}\n)", mode="eval").body
    return f"({text})" if (inside.lineno, inside.col_offset) == bare else text


def in_one_statement(text: str, suffix: str = "") -> str:
    """A segment that may hold line breaks, in parentheses unless it can stand in a statement."""
    if not _NEWLINE.search(text):
        return text
    try:
        return text if len(ast.parse(text + suffix).body) == 1 else f"({text})"
    except SyntaxError:
        return f"({text})"
