"""Cite author: how many of the publications at hand are Einstein's? The world is resampled piece by piece."""

import random
import sys

from incoq import Set, query

AUTHORS = ("Bohr", "Curie", "Dirac", "Einstein", "Faraday", "Galileo", "Hertz", "Maxwell", "Newton", "Planck")
PUBLICATIONS = Set()


class Publication:
    def __init__(self, author):
        self.author = author


@query
def by_einstein():
    """The number of publications by Einstein."""
    return len({p for p in PUBLICATIONS if p.author == "Einstein"})


def publish(author):
    publication = Publication(author)
    PUBLICATIONS.add(publication)
    return publication


def withdraw(publication):
    PUBLICATIONS.remove(publication)


def withdraw_all():
    PUBLICATIONS.clear()


def attribute(publication, author):
    publication.author = author


def main(seed=1, size=50, steps=200):
    rng = random.Random(seed)
    at_hand = [publish(rng.choice(AUTHORS)) for _ in range(size)]
    for _ in range(steps):
        i, kind = rng.randrange(size), rng.randrange(40)
        if kind == 0:
            withdraw_all()
            at_hand = [publish(rng.choice(AUTHORS)) for _ in range(size)]
        elif kind < 20:
            withdraw(at_hand[i])
            at_hand[i] = publish(rng.choice(AUTHORS))
        else:
            attribute(at_hand[i], rng.choice(AUTHORS))
        print(by_einstein())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
