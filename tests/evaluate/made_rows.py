"""Rows as samples leave them, made up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from incoq.evaluate.rows import Row


def row(
    experiment: str = "birthday", mode: str = "filtered", part: str = "all", size: int = 100, run: int = 1,
    seconds: float | None = 1.0, iterations: int | None = None, space: int = 0, answers: str = "same",
    failure: str = "", operations: int = 1000, repeats: int = 1,
) -> Row:  # fmt: skip
    return Row(
        experiment, "program", mode, part, size, 1, run, seconds, operations, iterations, space, 1 << 20,
        answers, failure, 1.0, "a machine", "3.x", "0", "2026-01-01T00:00:00+00:00", repeats,
    )  # fmt: skip


def series(
    sizes: Iterable[int], seconds: Callable[[int], float], *, mode: str = "filtered", part: str = "all",
    experiment: str = "birthday", spread: float = 0.01,
) -> list[Row]:  # fmt: skip
    """Three timed runs of each size, about `seconds`, and a counted one."""
    rows = []
    for size in sizes:
        place = {"experiment": experiment, "mode": mode, "part": part, "size": size, "space": size * size}
        for run, off in enumerate((-spread, 0.0, spread), 1):
            rows.append(row(**place, run=run, seconds=seconds(size) * (1 + off)))  # type: ignore[arg-type]
        rows.append(row(**place, run=0, seconds=None, iterations=3 * size))  # type: ignore[arg-type]
    return rows
