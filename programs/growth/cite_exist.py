"""Worlds in which the costs of the program that counts citations grow."""

from cite_exist import Publication, cite, einstein_cites_galileo, withdraw, withdraw_all

from incoq import Set


def much_cited(n):
    """n citations of one publication by one other; n other sets hold one of the citations."""
    source, target = Publication("Einstein", 1905), Publication("Galileo", 1905)
    citations = [cite(source, target) for _ in range(n)]
    shelves = [Set(citations[:1]) for _ in range(n)]
    yield
    einstein_cites_galileo()
    yield
    source.author = "Bohr"
    source.author = "Einstein"
    yield
    target.author = "Bohr"
    target.author = "Galileo"
    yield
    citations[0].source = target
    citations[0].source = source
    yield
    citations[0].target = source
    citations[0].target = target
    yield
    withdraw(citations[0])
    yield
    cite(source, target)
    yield
    shelves[0].add(citations[1])
    yield
    einstein_cites_galileo()
    yield
    withdraw_all()
