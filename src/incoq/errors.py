"""Every fault that incoq reports, with its code, cause and way out.

A `CompileError` is the program's fault, found before anything is written; an `IncoqRuntimeError` is the
same found while the compiled (or plain) program runs; a `Notice` is advice and never stops anything.
Codes are stable: tests and users rely on them, and the reference page is generated from `CODES`.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

CODES: dict[str, tuple[str, str]] = {
    # code: (what it means, the way out)
    "IQ100": ("the file cannot be read", "check the path and its permissions"),
    "IQ101": ("the file is not valid Python", "run it with python first"),
    "IQ102": ("the output would overwrite the input", "choose another place with -o"),
    "IQ103": ("the file is not UTF-8 text (or what its coding cookie says)", "save it as UTF-8"),
    "IQ104": ("the program nests deeper than the compiler follows", "split the expression into several"),
    "IQ105": ("the output cannot be written", "check the place given with -o and its permissions"),
    "IQ106": (
        "a query is larger than the compiler takes",
        "split it into several queries; at most 120 memberships and fields of one query are compiled",
    ),
    "IQ200": (
        "a query's body is not one return of a query",
        "write the body as one `return {... for ... if ...}`; a loop that collects is such a comprehension",
    ),
    "IQ201": (
        "a variable is not reachable from a parameter",
        "bind it by a membership whose source is reachable, or make it a parameter",
    ),
    "IQ202": (
        "a condition or result reads what no relation shows, so it would go stale",
        "read fields directly in the query, or pass the value as a parameter",
    ),
    "IQ203": (
        "a source cannot be maintained",
        "iterate over a variable or a selector such as `x.f` that holds a set",
    ),
    "IQ204": (
        "the query reads a global that the program rebinds",
        "pass it as a parameter, or assign it once at module level",
    ),
    "IQ205": (
        "objects of a class that cannot be a dict key are used in queries",
        "give the class a `__hash__`, or use `@dataclass(eq=False)` or `@dataclass(frozen=True)`",
    ),
    "IQ206": (
        "a query reads a field that a class computes (property, method, descriptor, `__getattr__`)",
        "store the value in a plain field, or read the underlying fields in the query",
    ),
    "IQ207": (
        "the demand parameters do not reach every variable",
        "name more demand parameters, or drop `demand=`",
    ),
    "IQ208": (
        "the options of `@query` are not understood",
        "write `@query`, or `@query(demand=..., keep=..., assume=...)` with the values written out",
    ),
    "IQ209": (
        "this form of query is not supported",
        "write it as a set comprehension over variables, selectors and conditions",
    ),
    "IQ210": (
        "the query's parameters are not plain",
        "use plain positional parameters without `*args` or `**kwargs`",
    ),
    "IQ211": (
        "the query depends on itself",
        "queries are not recursive: write the recursion as a loop in the program",
    ),
    "IQ212": (
        "the condition or result has an effect (assignment, await, yield)",
        "keep queries free of effects",
    ),
    "IQ213": (
        "the module binds a name of Python that generated code needs",
        "give it another name, or put the queries into a package, whose support code is a module of its own",
    ),
    "IQ220": (
        "an update goes by a route that the compiler cannot see",
        "assign the field directly, or with `setattr(o, name, value)`",
    ),
    "IQ221": (
        "a class intercepts attribute access, so field updates cannot be seen",
        "remove `__setattr__`/`__delattr__`, or keep its objects' fields out of queries",
    ),
    "IQ222": (
        "a class attribute that queries read is assigned on the class",
        "assign it on the objects instead",
    ),
    "IQ223": (
        "incremental mode keeps an index over all objects and cannot see these fields being set",
        "use `--mode filtered` (the default), or assign the fields in `__init__`",
    ),
    "IQ230": (
        "an unmarked comprehension reads what does not outlive the call, so it stays as it is (`--all`)",
        "hold the object in a field or a variable of the module, or mark the comprehension as a query",
    ),
    "IQ301": (
        "a query reached something that can be iterated but not maintained",
        "hold the elements in a Set, a list or a tuple",
    ),
    "IQ302": (
        "a query reached a string where a set was expected",
        "for a substring test write `str(x).find(y) >= 0`",
    ),
    "IQ303": (
        "a value that cannot be a dict key reached a place where it must be one",
        "give its class a `__hash__`, or `@dataclass(eq=False)`; copy what other code made: `dict(d)`",
    ),
    "IQ304": (
        "a live view was iterated across an update that changed it",
        "call the query itself for an answer of your own",
    ),
    "IQ306": (
        "an element was removed in a program that was compiled as one that never removes",
        "compile the code that removes together with the program",
    ),
    "IQ307": (
        "an exception ended an update half-way, and another one the repair of the indices",
        "let the exception end the program, or use `--mode filtered` (the default)",
    ),
    "IQ308": (
        "an update or a question came in the midst of another update",
        "neither update nor ask in operators and finalizers; let threads take turns by a lock",
    ),
    "IQ305": ("a query without parameters of that kind was asked", "pass exactly the query's parameters"),
    "IQ400": (
        "verify found a structure that is not what its definition says: a fault of incoq",
        "please report it with the program",
    ),
}


class IncoqError(Exception):
    """Any fault reported by incoq; `code` is one of `CODES`."""

    code: str


class IncoqRuntimeError(IncoqError):
    """A fault of the program that only its run shows."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"[{code}] {message} ({CODES[code][1]})")
        self.code = code


@dataclass(frozen=True)
class Position:
    """A place in the user's text; lines and columns count from 1, as editors show them."""

    filename: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column}"


class CompileError(IncoqError):
    """A fault of the program found at compile time: code, position and a way out."""

    def __init__(
        self, code: str, message: str, position: Position | None = None, help: str | None = None
    ) -> None:
        """`help` is the way out of this very fault, where the code's own is too general."""
        self.code, self.message, self.position = code, message, position
        self.help = help or CODES[code][1]
        super().__init__(self.render())

    def render(self) -> str:
        """The whole message as shown to people."""
        lines = []
        if self.position is None:
            lines.append(f"error[{self.code}]: {self.message}")
        else:
            lines.append(f"{self.position}: error[{self.code}]: {self.message}")
            if self.position.text:
                text, before = _shown(self.position.text, self.position.column)
                lines += [f"    {text}", f"    {before}^"]
        lines.append(f"  help: {self.help}")
        return "\n".join(lines)


LONGEST = 160  # of a line that is shown whole


def _shown(text: str, column: int) -> tuple[str, str]:
    """A line, or what stands around the column in a long one, and the blanks that lead to the column.

    >>> _shown("\\tx = {y}", 6)
    ('\\tx = {y}', '\\t    ')
    """
    at = min(column - 1, len(text))
    if len(text) > LONGEST:
        begin = max(0, min(at - LONGEST // 2, len(text) - LONGEST))
        end = begin + LONGEST
        left, right = "…" if begin else "", "…" if end < len(text) else ""
        text, at = f"{left}{text[begin:end]}{right}", at - begin + len(left)
    blanks = (c if c == "\t" else " " * _width(c) for c in text[:at])
    return text, "".join(blanks)


def _width(char: str) -> int:
    """The columns of a terminal that it takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@dataclass(frozen=True)
class Notice:
    """Advice about a program that compiles: never an error."""

    message: str
    position: Position | None = None

    def __str__(self) -> str:
        return f"{self.position}: notice: {self.message}" if self.position else f"notice: {self.message}"
