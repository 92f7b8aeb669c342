"""The last figures of every gate, as data and as the table of `docs/trust.md`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trust.outcome import Outcome
from trust.registry import GATES

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "trust.json"
PAGE = ROOT / "docs" / "trust.md"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"

Figures = dict[str, dict[str, Any]]


def read() -> Figures:
    """The recorded figures by gate."""
    figures: Figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    return figures


def with_totals(outcome: Outcome) -> Outcome:
    """With what the recorded runs counted."""
    before = read().get(outcome.gate, {})
    return outcome.with_totals(before.get("counts", {}), before.get("most", {}))


def write(outcome: Outcome, seconds: float, seed: int) -> None:
    """Put a new figure, its totals in it, in place of the old; make the page's table again."""
    figures = read()
    before = figures.get(outcome.gate, {})
    reached = max(outcome.next_seed, before.get("next_seed", 0))
    totals = {"counts": outcome.counts, "most": outcome.most, "next_seed": reached}
    kept = {key: value or before.get(key) for key, value in totals.items()}  # also where a run broke off
    figures[outcome.gate] = {
        "figure": outcome.figure,
        "limit": outcome.limit,
        "failures": len(outcome.failures),
        "seconds": round(seconds),
        "seed": seed,
        **{key: value for key, value in {**kept, "rows": outcome.rows}.items() if value},
    }
    ordered = {gate.name: figures[gate.name] for gate in GATES if gate.name in figures}
    FIGURES.write_text(json.dumps(ordered, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), ordered), encoding="utf-8")


def with_table(page: str, figures: Figures) -> str:
    """The page with its table made again."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(figures)}{END}{after}"


def table(figures: Figures) -> str:
    """One row for each gate that has a figure."""
    rows = ["| gate | what it does | last figure | limit | verdict |", "|---|---|---|---|---|"]
    for gate in GATES:
        if (row := figures.get(gate.name)) is not None:
            verdict = f"{row['failures']} failed" if row["failures"] else "holds"
            rows.append(f"| `{gate.name}` | {gate.subject} | {row['figure']} | {row['limit']} | {verdict} |")
    for gate in GATES:
        if (own := figures.get(gate.name, {}).get("rows")) is not None:
            head, *rest = own
            rows += ["", f"`{gate.name}`, one by one:", ""]
            rows += ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rest)]
    return "\n".join(rows) + "\n"
