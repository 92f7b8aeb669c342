"""Explain a compiled program: what is maintained, how each order was chosen, what every update costs.

`explain_json` gives everything as plain data; `explain_text` and `explain_html` show that data to people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incoq.explain.data import explain_json

if TYPE_CHECKING:
    from incoq.compile import Compiled

__all__ = ["explain_html", "explain_json", "explain_text"]


def explain_text(compiled: Compiled, color: bool = False, width: int = 80, steps: bool = False) -> str:
    """Everything for people to read, in lines of at most `width` characters."""
    from incoq.explain.text import render

    return render(explain_json(compiled, steps), color, width)


def explain_html(compiled: Compiled, steps: bool = False) -> str:
    """Everything as one page that needs nothing else: no network, no further files."""
    from incoq.explain.page import page

    return page(compiled, steps)
