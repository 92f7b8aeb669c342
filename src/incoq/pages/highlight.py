"""Python text as highlighted HTML, line by line."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup


def highlighted(code: str) -> list[Markup]:
    """The lines of a Python text, each a complete piece of HTML."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    lexer = PythonLexer(stripnl=False, ensurenl=False)
    shown = highlight(code, lexer, HtmlFormatter(nowrap=True, classprefix="p-"))
    return [Markup(line) for line in shown.split("\n")[: code.count("\n") + 1]]


def numbered(code: str, notes: Sequence[Markup] = (), prefix: str = "", first: int = 1) -> Markup:
    """A listing with line numbers; `notes`, one for each line, follow the code."""
    rows = []
    for number, line in enumerate(highlighted(code)):
        note = notes[number] if number < len(notes) else Markup("")
        place = Markup(' id="{}{}"').format(prefix, number + first) if prefix else Markup("")
        rows.append(
            Markup('<span class="line"{}><span class="no">{}</span><code>{}</code>{}</span>').format(
                place, number + first, line, note
            )
        )
    return Markup('<div class="listing">{}</div>').format(Markup("").join(rows))
