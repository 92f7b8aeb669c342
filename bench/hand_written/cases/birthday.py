"""Birthday: one number about all days and persons; one person is drawn anew at a time."""

import random
from types import SimpleNamespace
from typing import Any

from bench.hand_written.cases.case import Case, Operation, Workload, there_and_back

EXTRA = """
OTHER = Set()


def count_shared(_, __):
    return shared_days()


def add_day(day, _):
    DAYS.add(day)


def remove_day(day, _):
    DAYS.discard(day)


def born(person, day):
    BIRTHDAYS.add((person, day))


def forget(person, day):
    BIRTHDAYS.discard((person, day))


def note(person, day):
    OTHER.add((person, day))


def unnote(person, day):
    OTHER.discard((person, day))
"""

REQUERY = """
def shared_days():
    persons = {}
    for person, day in BIRTHDAYS:
        persons[day] = persons.get(day, 0) + 1
    return sum(1 for day, count in persons.items() if count > 1 and day in DAYS)
"""


def make(program: Any, size: int, rng: random.Random) -> SimpleNamespace:
    days = list(range(max(50, size // 5)))
    for day in days:
        program.add_day(day, None)
    birthdays = [rng.choice(days) for _ in range(size // 5)]
    for person, day in enumerate(birthdays):
        program.born(person, day)
    program.count_shared(None, None)
    return SimpleNamespace(days=days, birthdays=birthdays)


def workloads(program: Any, world: SimpleNamespace, rng: random.Random, count: int) -> list[Workload]:
    p, days = program, world.days
    persons = range(len(world.birthdays))
    chosen = [(rng.choice(persons), rng.choice(days)) for _ in range(count // 2)]
    strange = [(rng.choice(persons), len(days) + rng.randrange(50)) for _ in range(count // 2)]

    def births(pairs: list[tuple[int, int]]) -> list[Operation]:
        return there_and_back([(x, d, (x, d) in p.BIRTHDAYS) for x, d in pairs], p.born, p.forget)

    found = [
        Workload("query", "query", [(p.count_shared, None, None)] * count),
        Workload("BIRTHDAYS", "tagged", births(chosen)),
        Workload("BIRTHDAYS, day not in DAYS", "tagged", births(strange)),
        Workload(
            "DAYS",
            "tagged",
            [(f, d, None) for d in rng.choices(days, k=count // 10) for f in (p.remove_day, p.add_day)],
        ),
        Workload(
            "a set that no query reads",
            "untagged",
            [(f, x, d) for x, d in chosen for f in (p.note, p.unnote)],
        ),
    ]
    mixed: list[Operation] = []
    for _ in range(count):
        if rng.randrange(2):
            mixed.append((p.count_shared, None, None))
        else:
            mixed.append((rng.choice((p.born, p.forget)), rng.choice(persons), rng.choice(days)))
    found.append(Workload("mixed", "mixed", mixed))
    return found


def answers(program: Any, world: SimpleNamespace) -> Any:
    return program.count_shared(None, None)


CASE = Case("birthday", "programs/birthday.py", EXTRA, REQUERY, make, workloads, answers)
