"""The probabilistic queries: one piece of the world is drawn again, then the event is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from incoq.evaluate.drivers.base import ALL, Data, Driver, Point, Prepared
from incoq.evaluate.workloads import Column, Table


def _resampled_tables(below: int) -> Callable[[Point], dict[str, Table]]:
    def tables(point: Point) -> dict[str, Table]:
        return {
            "world": Table(point.size, {"value": Column(below)}),
            "steps": Table(point.operations, {"which": Column(1 << 30), "value": Column(below)}),
        }

    return tables


def _steps(data: Data, point: Point) -> list[tuple[int, int]]:
    """What is drawn again, and what it becomes; the draws are the same at every size."""
    return [(which % point.size, value) for which, value in zip(*data["steps"].values(), strict=True)]


def _birthday(program: Any, data: Data, point: Point) -> Prepared:
    for day in range(100):
        program.add_day(day)
    birthdays = list(data["world"]["value"])
    for person, day in enumerate(birthdays):
        program.born(person, day)
    steps = _steps(data, point)
    ask, born, forget = program.shared_days, program.born, program.forget
    ask()

    def run() -> None:
        for person, day in steps:
            forget(person, birthdays[person])
            birthdays[person] = day
            born(person, day)
            ask()

    return Prepared({ALL: run}, ask)


def _cite_author(program: Any, data: Data, point: Point) -> Prepared:
    at_hand = [program.publish(program.AUTHORS[value]) for value in data["world"]["value"]]
    steps = [(which, program.AUTHORS[value]) for which, value in _steps(data, point)]
    ask, publish, withdraw = program.by_einstein, program.publish, program.withdraw
    ask()

    def run() -> None:
        for which, author in steps:
            withdraw(at_hand[which])
            at_hand[which] = publish(author)
            ask()

    return Prepared({ALL: run}, ask)


def _cite_exist(program: Any, data: Data, point: Point) -> Prepared:
    def made(value: int) -> Any:
        authors = program.AUTHORS
        source, target = (
            program.Publication(authors[value % 10], 1900),
            program.Publication(authors[value // 10], 1901),
        )
        return program.cite(source, target)

    at_hand = [made(value) for value in data["world"]["value"]]
    steps = _steps(data, point)
    ask, withdraw = program.einstein_cites_galileo, program.withdraw
    ask()

    def run() -> None:
        for which, value in steps:
            withdraw(at_hand[which])
            at_hand[which] = made(value)
            ask()

    return Prepared({ALL: run}, ask)


WORLDS = {
    "birthday": Driver("birthday", _resampled_tables(100), _birthday),
    "cite_author": Driver("cite_author", _resampled_tables(10), _cite_author),
    "cite_exist": Driver("cite_exist", _resampled_tables(100), _cite_exist),
}
