"""What was measured as plain data, and the verdict on it; docs/profile-schema.md says what each key holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from incoq.compile import Compiled
from incoq.explain.costs import demand_cost, original_cost
from incoq.profile.figures import Profile

SCHEMA = 1


def profile_json(compiled: Compiled, profile: Profile) -> dict[str, Any]:
    """Everything as plain data; times are in nanoseconds."""
    by_name = {q.name: q for q in compiled.plan.queries}
    return {
        "schema": SCHEMA,
        "mode": compiled.plan.mode,
        "strategy": compiled.plan.strategy,
        "files": [m.filename for m in compiled.program.modules],
        "events": profile.events,
        "asking": profile.asking,
        "maintenance": profile.maintenance,
        "naive": round(profile.naive),
        "verdict": verdict(profile),
        "queries": [
            {
                **asdict(figures),
                "naive_iterations": round(figures.naive_iterations),
                "naive_nanoseconds": round(figures.naive_nanoseconds),
                "first_time_cost": demand_cost(compiled.plan, by_name[name]),
                "original_cost": original_cost(compiled.plan, by_name[name]),
            }
            for name, figures in profile.queries.items()
        ],
        "asked": [asdict(p) for p in _busiest(profile.asked)],
        "updated": [asdict(p) for p in _busiest(profile.updated)],
        "moments": profile.moments,
        "structures": [
            {
                "name": i.name,
                "kind": i.store.value,
                "largest": profile.largest[i.name],
                "sizes": profile.sizes[i.name],
            }
            for i in compiled.plan.invariants
            if i.name in profile.sizes
        ],
        "loops": dict(sorted(profile.blocks.items(), key=lambda item: (-item[1], item[0]))),
    }


def verdict(profile: Profile) -> str:
    """Was maintaining the answers worth it in this run?"""
    if not any(q.calls for q in profile.queries.values()):
        return "No query was asked: nothing is gained by maintaining its answers."
    compiled = profile.asking + profile.maintenance
    sums = (
        f"{duration(profile.asking)} asking and {duration(profile.maintenance)} in updates, "
        f"against about {duration(profile.naive)} for evaluating at each call"
    )
    ratio = profile.naive / max(compiled, 1)
    if ratio >= 1.1:
        return f"Worth it in this run, {ratio:,.1f} times as fast: {sums}."
    if ratio > 0.9:
        return f"As fast as evaluating in this run: {sums}."
    return (
        f"Not worth it in this run, {1 / ratio if ratio else 0:,.1f} times as slow: {sums}. "
        "It pays with more questions for each update, or with more data for each question."
    )


def duration(nanoseconds: float) -> str:
    """A time in the unit that fits it."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def _busiest(places: Any) -> list[Any]:
    return sorted(places.values(), key=lambda p: (-p.nanoseconds, p.file, p.line, p.name))
