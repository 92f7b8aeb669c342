"""How the documentation is built: `python3 dev.py docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import incoq

project = "incoq"
author = "incoq contributors"
release = version = incoq.__version__
extensions = ["myst_parser", "show"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_ext", "evaluation"]
myst_heading_anchors = 3
suppress_warnings = [
    "misc.highlighting_failure",
    "myst.xref_missing",  # links to files of the checkout, which the tests follow
]
html_theme = "furo"
html_title = "incoq"
html_copy_source = False
html_show_search_summary = False  # it would fetch pages, which a browser forbids without a server
html_show_sphinx = False
html_show_copyright = False
