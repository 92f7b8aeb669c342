"""Cite exist: does Einstein cite Galileo? A citation leads from one publication to another."""

import random
import sys

from incoq import Set, query

AUTHORS = ("Bohr", "Curie", "Dirac", "Einstein", "Faraday", "Galileo", "Hertz", "Maxwell", "Newton", "Planck")
DATES = tuple(range(1900, 1910))
CITATIONS = Set()


class Publication:
    def __init__(self, author, date):
        self.author = author
        self.date = date


class Citation:
    def __init__(self, source, target):
        self.source = source
        self.target = target


@query
def einstein_cites_galileo():
    """The number of citations of Galileo by Einstein."""
    return len({c for c in CITATIONS if c.source.author == "Einstein" if c.target.author == "Galileo"})


def cite(source, target):
    citation = Citation(source, target)
    CITATIONS.add(citation)
    return citation


def withdraw(citation):
    CITATIONS.remove(citation)


def withdraw_all():
    CITATIONS.clear()


def random_publication(rng):
    return Publication(rng.choice(AUTHORS), rng.choice(DATES))


def step(rng, at_hand):
    """Resample one citation: another in its place, other ends, or another author of an end."""
    i, kind = rng.randrange(len(at_hand)), rng.randrange(4)
    if kind == 0:
        withdraw(at_hand[i])
        at_hand[i] = cite(random_publication(rng), random_publication(rng))
    elif kind == 1:
        at_hand[i].source = rng.choice(at_hand).source
    elif kind == 2:
        at_hand[i].target = random_publication(rng)
    else:
        at_hand[i].source.author = rng.choice(AUTHORS)


def main(seed=1, size=60, steps=200):
    rng = random.Random(seed)
    at_hand = [cite(random_publication(rng), random_publication(rng)) for _ in range(size)]
    for number in range(steps):
        step(rng, at_hand)
        if number == steps // 2:
            withdraw_all()
            at_hand = [cite(random_publication(rng), random_publication(rng)) for _ in range(size)]
        print(einstein_cites_galileo())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
