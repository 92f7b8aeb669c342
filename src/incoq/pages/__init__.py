"""Pages that need nothing else: templates, style, drawings and highlighted code.

`render` fills a template; what is not `Markup` is escaped. Nothing here knows what a page is about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup


def render(template: str, **values: Any) -> str:
    """A page from a template of this folder; the style and the script are part of it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("incoq.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["marked"] = marked
    text: str = environment.get_template(template).render(**values)
    return text


def marked(text: str) -> Markup:
    """A text in which what stands between backticks is code."""
    from markupsafe import Markup

    parts = re.split(r"`([^`]*)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else Markup("{}").format(part)
        for number, part in enumerate(parts)
    )
