"""Run a compiled program and show what its queries cost, beside what evaluating them each time would cost.

`run.py` runs and measures, `text.py` and `page.py` show what was measured.
"""

from __future__ import annotations

from incoq.profile.data import profile_json
from incoq.profile.figures import Profile
from incoq.profile.page import profile_html
from incoq.profile.run import ProfiledRun
from incoq.profile.text import profile_text

__all__ = ["Profile", "ProfiledRun", "profile_html", "profile_json", "profile_text"]
