"""The distributed algorithms: a whole simulation, from a seed; all versions must leave the same trace."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from incoq.evaluate.drivers.base import ALL, Data, Driver, Point, Prepared


def _simulated(program: Any, data: Data, point: Point) -> Prepared:
    arguments = [point.size if given == "size" else given for given in point.options["arguments"]]
    ended: list[Any] = []

    def answers() -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            program.print_trace(*ended)
        return printed.getvalue()

    return Prepared({ALL: lambda: ended.append(program.simulate(1, *arguments))}, answers)


_NAMES = (
    "la_mutex", "ra_mutex", "ra_token", "sk_token", "cr_leader", "hs_leader", "two_phase_commit", "ds_crash",
    "cl_paxos",
)  # fmt: skip

DISTRIBUTED = {name: Driver(f"distributed/{name}", lambda point: {}, _simulated) for name in _NAMES}
