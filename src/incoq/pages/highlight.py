"""Python text as highlighted HTML, line by line."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape


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
    anchor = escape(prefix)
    for number, line in enumerate(highlighted(code), first):  # all parts are markup or numbers already
        note = notes[number - first] if number - first < len(notes) else ""
        place = f' id="{anchor}{number}"' if prefix else ""
        chips = f'<span class="chips">{note}</span>' if note else ""
        rows.append(
            f'<span class="line"{place}><span class="no">{number}</span><code>{line}</code>{chips}</span>'
        )
    return Markup(f'<div class="listing">{"".join(rows)}</div>')
