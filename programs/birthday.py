"""Birthday: do two persons share a birthday? A possible world is a set of (person, day) pairs.

Sampling resamples one person at a time and asks again; the frequency of the event estimates its probability.
"""

import random
import sys

from incoq import Set, query

DAYS = Set()
BIRTHDAYS = Set()


@query
def shared_days():
    """The number of days that are the birthday of more than one person."""
    return len({d for d in DAYS if len({p for (p, day) in BIRTHDAYS if day == d}) > 1})


def add_day(day):
    DAYS.add(day)


def born(person, day):
    BIRTHDAYS.add((person, day))


def forget(person, day):
    BIRTHDAYS.remove((person, day))


def forget_all():
    BIRTHDAYS.clear()


class World:
    """A possible world: the birthday of every person, drawn at random."""

    def __init__(self, rng, persons, days):
        self.rng, self.persons, self.days = rng, persons, days
        for day in range(days):
            add_day(day)
        self.draw_all()

    def draw_all(self):
        forget_all()
        self.birthday = [self.rng.randrange(self.days) for _ in range(self.persons)]
        for person, day in enumerate(self.birthday):
            born(person, day)

    def resample(self, person):
        forget(person, self.birthday[person])
        self.birthday[person] = self.rng.randrange(self.days)
        born(person, self.birthday[person])


def frequency(seed, persons, days, samples):
    """How often somebody shares a birthday, over `samples` resamplings of one person."""
    world = World(random.Random(seed), persons, days)
    hits = 0
    for sample in range(samples):
        world.resample(sample % persons)
        hits += shared_days() > 0
    return hits / samples


def main(seed=1, persons=20, days=100, steps=200):
    rng = random.Random(seed)
    world = World(rng, persons, days)
    for _ in range(steps):
        if rng.randrange(50) == 0:
            world.draw_all()
        else:
            world.resample(rng.randrange(persons))
        print(shared_days())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
