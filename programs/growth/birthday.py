"""Worlds in which the costs of the birthday program grow."""

from birthday import add_day, born, forget, forget_all, shared_days


def many_persons(n):
    """n persons, all born on one day."""
    add_day(0)
    for person in range(n):
        born(person, 0)
    shared_days()
    yield
    forget(0, 0)
    born(0, 0)
    yield
    add_day(1)
    yield
    shared_days()
    yield
    forget_all()


def many_days(n):
    """n days, each the birthday of two persons."""
    for day in range(n):
        add_day(day)
        born(2 * day, day)
        born(2 * day + 1, day)
    yield
    shared_days()
    yield
    forget(0, 0)
    born(0, 0)
    yield
    add_day(n)
    yield
    shared_days()
    yield
    forget_all()
