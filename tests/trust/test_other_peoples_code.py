"""A small package through the gate of other people's code: its tests end the same, or it is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trust import packages
from trust.packages import Package, compare

SHELF = """
class Book:
    def __init__(self, title, year):
        self.title, self.year, self.tags = title, year, set()

class Shelf:
    def __init__(self):
        self.books = set()

    def titles(self, after):
        return {book.title for book in self.books if book.year > after}

    def words(self):
        return {word for book in self.books for word in book.title.split()}

    def tagged(self):
        return any(book.tags for book in self.books)
"""
TESTS = """
from shelf import Book, Shelf

def filled():
    shelf = Shelf()
    shelf.books.update({Book("a b", 1990), Book("c", 2000)})
    return shelf

def test_titles_follow():
    shelf = filled()
    assert shelf.titles(1995) == {"c"}
    for book in shelf.books:
        book.year += 10
    assert shelf.titles(1995) == {"a b", "c"}
    shelf.books.clear()
    assert shelf.titles(0) == set()

def test_words():
    assert filled().words() == {"a", "b", "c"}

def test_tags():
    shelf = filled()
    assert not shelf.tagged()
    next(iter(shelf.books)).tags.add("x")
    assert shelf.tagged()

def test_exact_class():
    assert type(filled().books) is set

def test_that_fails_in_any_case():
    assert filled().titles(0) == set()
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    monkeypatch.setattr(packages, "PLACE", tmp_path)
    monkeypatch.setattr(packages, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(packages, "TIMED", ())
    monkeypatch.setattr(packages, "fetch", lambda package: None)
    package = Package("shelf", "1.0", "shelf", "tests")
    for name, text in (("shelf/__init__.py", SHELF), ("tests/test_shelf.py", TESTS)):
        place = package.root / name
        place.parent.mkdir(parents=True)
        place.write_text(text)
    return package


def test_the_tests_of_a_package_end_the_same_in_both_modes(shelf: Package) -> None:
    both = list(compare(shelf, []))
    assert [ran.mode for ran in both] == ["filtered", "incremental"]
    for ran in both:
        assert ran.taken > 0
        assert ran.taken + sum(ran.left.values()) == 3
        assert ran.tests == 5
        assert ran.differ == []
        assert ran.known == 1
    assert list(compare(shelf, both)) == both, "code that comes out the same is not tested again"


def test_a_test_that_ends_differently_is_told(shelf: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = packages.compiled

    def broken(package: Package, mode: str, ran: packages.Ran) -> Path | None:
        place = honest(package, mode, ran)
        assert place is not None
        module = place / "shelf" / "__init__.py"
        module.write_text(module.read_text().replace("book.title.split()", "book.title"))
        return place

    monkeypatch.setattr(packages, "compiled", broken)
    assert [ran.differ for ran in compare(shelf, [])] == [
        ["shelf-1.0.tests.test_shelf::test_words: passed plain, failure compiled"]
    ] * 2
