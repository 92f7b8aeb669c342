"""The paper's Table 3: the size of programs and the time of their transformation, beside the paper's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from incoq.evaluate.checks import FAILS, HOLDS, Finding, order_holds
from incoq.evaluate.claims import Claim, Verdict
from incoq.evaluate.statistics import fit_power
from incoq.output import write_text
from incoq.stats import measure
from incoq.stats_paper import PAPER, Figures

SOURCE = "Table 3"
_FEW, _FEW_SECONDS, _ALL_SECONDS = 8, 30.0, 150.0


@dataclass(frozen=True)
class Transformed:
    """A program with our figures and the paper's."""

    name: str
    ours: Figures
    paper: Figures


def measure_programs(programs: Path, kept: Path, note: Callable[[str], None]) -> None:
    """Measure the programs of the paper's table that are not in the file yet."""
    known = read_figures(kept)
    for name in PAPER:
        path = next(
            (p for p in (programs / f"{name}.py", programs / "distributed" / f"{name}.py") if p.exists()),
            None,
        )
        if path is not None and name not in known:
            note(f"transformation of {name}")
            known[name] = measure(path)
            text = json.dumps({name: asdict(figures) for name, figures in known.items()}, indent=1)
            write_text(kept, text + "\n")


def read_figures(kept: Path) -> dict[str, Figures]:
    """What was measured so far."""
    if not kept.exists():
        return {}

    def pair(value: list[float] | None) -> tuple[int, float] | None:
        return None if value is None else (int(value[0]), float(value[1]))

    found = json.loads(kept.read_text(encoding="utf-8"))
    return {
        name: Figures(f["lines"], f["queries"], f["updates"], pair(f["incremental"]), pair(f["filtered"]))
        for name, f in found.items()
    }


def beside_the_papers(figures: Mapping[str, Figures]) -> list[Transformed]:
    return [Transformed(name, figures[name], PAPER[name]) for name in PAPER if name in figures]


def verdicts(figures: Mapping[str, Figures]) -> list[Verdict]:
    """The paper's claims on transformation, judged by these figures."""
    points = [
        (f.queries, *result) for f in figures.values() for result in (f.incremental, f.filtered) if result
    ]
    if len(points) < 3:
        return []
    rests = f"the table of transformations: {len(figures)} programs, two modes each"
    few = max(seconds for queries, _, seconds in points if queries <= _FEW)
    most = max(seconds for _, _, seconds in points)
    quick = Finding(
        f"at most {few:.2f} s with up to {_FEW} queries, {most:.2f} s with more",
        HOLDS if few <= _FEW_SECONDS and most <= _ALL_SECONDS else FAILS,
        rests,
    )
    exponent, width = fit_power([(lines, seconds) for _, lines, seconds in points])
    linear = Finding(
        f"time over lines of the generated program: exponent {exponent:.2f} ± {width:.2f}, claimed 1",
        order_holds(1, exponent, width),
        rests,
    )
    return [
        Verdict(
            Claim(
                "Programs with up to 8 queries are transformed in about half a minute or less, the others in "
                "less than two and a half",
                SOURCE,
                (),
            ),
            (quick,),
        ),
        Verdict(
            Claim("Transformation time is consistent with linear in program size", SOURCE, ()), (linear,)
        ),
    ]
