"""What a loop of maintenance fetches once, and assignments that take one walk through the combinations."""

from __future__ import annotations

import ast
import textwrap

from both_ways import compile_in, same_both_ways, source

from incoq.codegen.fetch_once import fetch_once

PERMISSIONS = """
    class Thing:
        def __init__(self, name):
            self.name, self.active, self.things = name, True, Set()
    @query
    def q(users, place):
        return {p.name for g in users for p in g.things if g.active if p in place}
"""


def fetched_once(text: str, quiet: tuple[str, ...] = ()) -> str:
    body = ast.parse(f"def f(k, xs):\n{textwrap.indent(textwrap.dedent(text), '    ')}").body
    [function] = fetch_once(body, "answer", quiet)
    assert isinstance(function, ast.FunctionDef)
    return "\n".join(ast.unparse(ast.fix_missing_locations(s)) for s in function.body)


def test_an_answer_is_fetched_in_the_first_turn_that_needs_it() -> None:
    text = fetched_once("for x in xs:\n    if x:\n        answer = r_q[k]\n        answer.add(x)")
    assert text == (
        "answer = None\nfor x in xs:\n    if x:\n        if answer is None:\n            answer = r_q[k]\n"
        "        answer.add(x)"
    )


def test_of_two_loops_the_outer_one_fetches_where_the_key_does_not_depend_on_it() -> None:
    inner = "    for y in x:\n        answer = r_q[k]\n        answer.add(y)"
    assert fetched_once(f"for x in xs:\n{inner}").startswith("answer = None\nfor x in xs:")
    depending = fetched_once(f"for x in xs:\n{inner.replace('[k]', '[k, x]')}")
    assert depending.startswith("for x in xs:\n    answer = None\n    for y in x:")


def test_an_answer_is_fetched_in_every_turn_where_it_may_be_another() -> None:
    for text in (
        "for x in xs:\n    answer = r_q[x]\n    answer.add(x)",  # a key that the loop binds,
        "for x in xs:\n    answer = r_q[k]\n    answer.add(x)\n    k = x",
        "for x in xs:\n    answer = r_q[k]\n    answer.add(x)\n    answer = r_p[k]",  # two answers,
        "for x in xs:\n    r_q[k] = set()\n    answer = r_q[k]",  # a new one,
        "for x in xs:\n    demand_q(k)\n    answer = r_q[k]",  # and a function that may make one
    ):
        assert fetched_once(text) == text
    assert fetched_once("for x in xs:\n    fits(x)\n    answer = r_q[k]", ("fits",)).startswith(
        "answer = None"
    )


def test_code_that_stands_in_two_functions_is_changed_in_both() -> None:
    loop = ast.parse("for x in xs:\n    answer = r_q[k]\n    answer.add(x)").body
    arguments = ast.parse("def f(k, xs): pass").body[0].args  # type: ignore[attr-defined]
    functions: list[ast.stmt] = [ast.FunctionDef(n, arguments, loop, [], lineno=0) for n in ("f", "g")]
    first, second = (
        ast.unparse(ast.fix_missing_locations(f)).partition("\n")[2]
        for f in fetch_once(functions, "answer", ())
    )
    assert first == second
    assert first.count("if answer is None") == 1


def test_another_element_takes_one_walk() -> None:
    text = compile_in(source(PERMISSIONS), "filtered").code
    change = text[text.index("def change_name") : text.index("def set_name")]
    fast = change[
        change.index("in FITTING and value.__class__ in FITTING") : change.index("else:\n            if")
    ]
    assert sum(line.lstrip().startswith("for ") for line in fast.splitlines()) == 1
    assert "answer[old]" in fast
    assert "answer[value]" in fast


def test_a_condition_on_the_element_takes_two_walks() -> None:
    for condition in ('p.name != "x"', "g.name != p.name", "len(p.name) > 1"):
        text = compile_in(source(PERMISSIONS.replace("p in place", condition)), "filtered").code
        assert "in FITTING and value.__class__ in FITTING" not in text


def test_elements_are_replaced_whatever_they_are() -> None:
    same_both_ways(
        PERMISSIONS
        + """
    class Odd:
        __hash__ = None
    def main(show):
        groups, place = [Thing(0), Thing(1)], Set()
        users = Set(groups)
        things = [Thing(n % 3) for n in range(5)]
        for thing in things:
            place.add(thing)
            for group in groups:
                group.things.add(thing)
        nan = float("nan")
        values = [1, "a", None, nan, nan, (1, 2), [1], Odd(), 0, 2.5]
        show(q(users, place))
        for step, value in enumerate(values):
            for thing in (things[step % 5], things[0], groups[0]):
                thing.name = value
                show(q(users, place))
            groups[1].active = not groups[1].active
            show(q(users, place))
            if step % 4 == 3:
                del things[0].name
                show(q(users, place))
                things[0].name = 0
                show(q(users, place))
    """
    )


def test_an_object_that_is_its_own_element_and_group_is_replaced() -> None:
    same_both_ways(
        PERMISSIONS
        + """
    def main(show):
        thing = Thing("a")
        users = Set([thing])
        thing.things = users
        for value in ("b", "c", "b"):
            thing.name = value
            show(q(users, users))
            thing.active = value != "c"
            show(q(users, users), q(thing.things, users))
    """
    )


def test_another_element_reaches_a_walk_so_deep_that_it_is_a_function() -> None:
    program = """
    class Thing: pass
    R = Set()
    @query
    def q(k):
        return {w.c.a for (x, y) in R for v in x.c for w in v for (z, t) in R
                if all(any(u.c == i for u in z.c) for i in z.c)}
    def main(show):
        things = [Thing() for _ in range(4)]
        for number, thing in enumerate(things):
            thing.c, thing.a = things[number - 1], number
        holder, last = Thing(), Thing()
        holder.c, last.c = Set([Set(things)]), Set()
        R.add((holder, 1)); R.add((last, 1))
        show(q(1), q(2))
        for value in ("b", 7, "b"):
            things[1].a = value
            show(q(1), q(2))
    """
    assert len(same_both_ways(program)[-1][0][1]) > 1


def test_a_nested_query_that_is_needed_in_the_midst_of_a_loop_enters_what_the_loop_goes_through() -> None:
    program = """
    class Thing: pass
    @query
    def inner(source, x, y):
        return {v for v in source}
    @query(demand=("p1", "p2"))
    def q(p0, p1, p2):
        return {v for w in inner(p2, p0, v) for u in w.b.a if p0 in p1
                if len(inner(p2, p2, u)) > 0 for v in p2}
    def main(show):
        first, second = Thing(), Thing()
        s, t = Set([1]), Set([0])
        second.b = first
        t.add(second)
        show(len(q(1, s, t)))
        first.a = t
        show(len(q(1, s, t)), len(q(2, s, t)))
        t.add(3)
        first.a = s
        show(len(q(1, s, t)))
        del first.a
        show(len(q(1, s, t)))
    """
    found = same_both_ways(program, ("tags", "filtered", "incremental", "join"))
    assert [numbers[0][1] for numbers in found] == ["0", "2", "3", "0"]
