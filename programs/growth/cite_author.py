"""Worlds in which the costs of the program that counts publications grow."""

from cite_author import attribute, by_einstein, publish, withdraw, withdraw_all

from incoq import Set


def many_publications(n):
    """n publications by Einstein; n other sets hold one of them."""
    publications = [publish("Einstein") for _ in range(n)]
    shelves = [Set(publications[:1]) for _ in range(n)]
    yield
    by_einstein()
    yield
    attribute(publications[0], "Bohr")
    attribute(publications[0], "Einstein")
    yield
    withdraw(publications[0])
    yield
    publish("Einstein")
    yield
    shelves[0].add(publications[1])
    yield
    by_einstein()
    yield
    withdraw_all()
