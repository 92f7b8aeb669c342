"""Tuples that a loop takes apart are kept where the same ones are made again, and nowhere else."""

from __future__ import annotations

import ast

import pytest

from incoq.codegen.keep_rows import keep_rows


def kept(text: str) -> str:
    return "\n".join(ast.unparse(s) for s in keep_rows(ast.parse(text).body, "row"))


def test_a_tuple_of_the_same_parts_is_the_row() -> None:
    assert kept("for a, b in s:\n    if a:\n        image.add((a, b))") == (
        "for row in s:\n    a, b = row\n    if a:\n        image.add(row)"
    )


def test_a_row_of_which_no_part_is_read_is_not_taken_apart() -> None:
    assert kept("for a, b in s:\n    image.add((a, b))") == "for row in s:\n    image.add(row)"


@pytest.mark.parametrize(
    "text",
    [
        "for a, b in s:\n    image.add((b, a))",
        "for a, b in s:\n    image.add((a, b, c))",
        "for a, b in s:\n    b = f(b)\n    image.add((a, b))",
        "for a in s:\n    image.add((a,))",
        "for a, a in s:\n    image.add((a, a))",
        "for a, (b, c) in s:\n    image.add((a, b, c))",
    ],
)
def test_another_tuple_is_made(text: str) -> None:
    assert kept(text) == ast.unparse(ast.parse(text))


def test_of_loops_in_loops_the_outer_one_keeps_its_row() -> None:
    text = "for a, b in s:\n    for c, d in t:\n        image.add((a, b))\n        image.add((c, d))"
    assert kept(text) == (
        "for row in s:\n    for c, d in t:\n        image.add(row)\n        image.add((c, d))"
    )


def test_code_that_stands_in_several_functions_stays_as_it_was() -> None:
    tree = ast.parse("for a, b in s:\n    image.add((a, b))")
    before = ast.dump(tree)
    keep_rows(tree.body, "row")
    assert ast.dump(tree) == before
