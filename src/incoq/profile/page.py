"""A profile as a page with plots."""

from __future__ import annotations

from typing import Any

from incoq.pages import render
from incoq.pages.draw_plot import draw_plot
from incoq.profile.data import duration


def profile_html(data: dict[str, Any]) -> str:
    """One page that needs nothing else."""
    return render(
        "profile.html",
        title=", ".join(data["files"]),
        data=data,
        duration=duration,
        plots={
            s["name"]: draw_plot(data["moments"], s["sizes"], f"entries of {s['name']}", "events")
            for s in data["structures"]
        },
        longest=max(
            [
                1,
                *(q["nanoseconds"] for q in data["queries"]),
                *(q["naive_nanoseconds"] for q in data["queries"]),
            ]
        ),
        total=max(1, sum(p["nanoseconds"] for p in (*data["asked"], *data["updated"]))),
    )
