"""Loops are counted, one by one, and the code does what it did."""

from __future__ import annotations

import ast

from incoq.counting import Loop, count_loops

CODE = """\
def products(rows):
    total = 0
    for row in rows:
        for x in row:
            total += x
    while total > 100:
        total -= 100
    return total

class Shown:
    def odd(self, rows):
        return [x for row in rows for x in row if x % 2]

found = {n for n in range(5) if n > 2}
"""


def test_each_loop_has_a_counter_and_nothing_else_changes() -> None:
    tree = ast.parse(CODE)
    loops = count_loops(tree, "counts")
    counts = [0] * len(loops)
    counted: dict[str, object] = {"counts": counts}
    exec(compile(tree, "<counted>", "exec"), counted)
    plain: dict[str, object] = {}
    exec(CODE, plain)
    rows = [[1, 2, 3], [], [150, 5]]
    assert counted["products"](rows) == plain["products"](rows) == 61  # type: ignore[operator]
    assert counted["Shown"]().odd(rows) == plain["Shown"]().odd(rows) == [1, 3, 5]  # type: ignore[operator]
    assert counted["found"] == plain["found"] == {3, 4}
    assert list(zip(loops, counts, strict=True)) == [
        (Loop("products", 3), 3),
        (Loop("products", 4), 5),
        (Loop("products", 6), 1),
        (Loop("Shown.odd", 12), 3),
        (Loop("Shown.odd", 12), 5),
        (Loop("", 14), 5),
    ]


def test_counters_may_begin_anywhere_in_a_list_that_several_codes_share() -> None:
    tree = ast.parse("for x in 'ab':\n    pass\n")
    assert count_loops(tree, "counts", 2) == [Loop("", 1)]
    counts = [0, 0, 0]
    exec(compile(tree, "<counted>", "exec"), {"counts": counts})
    assert counts == [0, 0, 2]
