"""Blocks with the same tests become one, and answers are fetched once, where nothing between changes them."""

from __future__ import annotations

import ast

import pytest

from incoq.codegen.fetch_once import fetch_once
from incoq.codegen.merge_blocks import merge_blocks


def merged(text: str, *quiet: str) -> str:
    made = ast.Module(merge_blocks(ast.parse(text).body, quiet), [])
    return ast.unparse(ast.fix_missing_locations(made))


def joined(test: str, *bodies: str) -> str:
    return f"if {test}:\n" + "".join(f"    {body}\n" for body in bodies)


def apart(test: str, *bodies: str) -> str:
    return "".join(f"if {test}:\n    {body}\n" for body in bodies)


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(x, tuple)",
        "x is y",
        "x is not None",
        "x == 1",
        "len(x) == 2",
        "x.__class__ is tuple",
        "x.__class__ is tuple and len(x) == 2",
        "x is not None or y",
        "x",
    ],
)
def test_neighbours_with_the_same_test_are_one(test: str) -> None:
    text = apart(test, "a.add(1)", "b.discard(2)", "c[1] = 2")
    assert merged(text) == joined(test, "a.add(1)", "b.discard(2)", "c[1] = 2").strip()


@pytest.mark.parametrize(
    "text",
    [
        apart("x in s", "s.discard(x)", "b()"),
        apart("x in s and x is not None", "a()", "b()"),
        apart("x.f == 1", "a()", "b()"),
        apart("f(x)", "a()", "b()"),
        apart("len(x.f) == 1", "a()", "b()"),
        apart("x < 1", "a()", "b()"),
        apart("not x", "a()", "b()"),
        apart("isinstance(x, list)", "a()", "b()"),
        "if x is y:\n    a()\nif x is z:\n    b()",
        "if x is y:\n    a()\nelse:\n    c()\nif x is y:\n    b()",
        "if x is y:\n    a()\nif x is y:\n    b()\nelse:\n    c()",
        "if x is y:\n    a()\nc()\nif x is y:\n    b()",
        "if x is y:\n    x = 1\nif x is y:\n    b()",
        "if x is y:\n    for x in z:\n        a()\nif x is y:\n    b()",
        "if x:\n    f()\nif x:\n    b()",
        "if x and y is z:\n    f()\nif x and y is z:\n    b()",
        "if x:\n    s.clear()\nif x:\n    b()",
        "if x:\n    f()()\nif x:\n    b()",
    ],
)
def test_blocks_stay_apart_where_a_test_may_turn_between_them(text: str) -> None:
    assert merged(text) == ast.unparse(ast.parse(text))


def test_a_tag_is_asked_once_where_what_is_called_changes_nothing_that_is_maintained() -> None:
    text = apart("x", "f()", "b()")
    assert merged(text, "f") == joined("x", "f()", "b()").strip()
    assert merged(text, "b") == ast.unparse(ast.parse(text))
    unknown = apart("x", "f()()", "b()")
    assert merged(unknown, "f") == ast.unparse(ast.parse(unknown))


def test_what_was_read_before_is_not_read_again() -> None:
    text = (
        "if x is y:\n    p, d = x\n    q = x[0]\n    a(p)\nif x is y:\n    p, d = x\n    q = x[0]\n    b(d)\n"
    )
    assert merged(text) == "if x is y:\n    p, d = x\n    q = x[0]\n    a(p)\n    b(d)"
    more = "if x is y:\n    p, d = x\n    q = 1\nif x is y:\n    p, d = x\n    q = x[0]\n    b(q)\n"
    assert merged(more) == "if x is y:\n    p, d = x\n    q = 1\n    q = x[0]\n    b(q)"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("p, d = x; p = 1", "p, d = x; b(p)"),
        ("p, d = x; a()", "d, p = x; b()"),
        ("p = f(x); a()", "p = f(x); b()"),
        ("p = x.f; a()", "p = x.f; b()"),
        ("p = x[i]; a()", "p = x[i]; b()"),
        ("a(); p, d = x", "p, d = x; b()"),
    ],
)
def test_what_may_be_another_value_is_read_again(first: str, second: str) -> None:
    whole = [*first.split("; "), *second.split("; ")]
    assert merged(f"if x is y: {first}\nif x is y: {second}") == joined("x is y", *whole).strip()


TRY = "try:\n    p, d = x\nexcept ValueError:\n    pass\nelse:\n    {}\n"


def test_a_tuple_is_unpacked_once() -> None:
    text = TRY.format("a()") + TRY.format("b()")
    assert merged(text) == (TRY.format("a()") + "    b()").strip()


@pytest.mark.parametrize(
    "text",
    [
        TRY.format("a()") + TRY.format("b()").replace("ValueError", "TypeError"),
        TRY.format("a()") + TRY.format("b()").replace("p, d", "d, p"),
        TRY.format("p = 1") + TRY.format("b()"),
        TRY.format("x = 1") + TRY.format("b()"),
        (TRY.format("a()") + TRY.format("b()")).replace("p, d = x", "p = f(x)"),
        (TRY.format("a()") + TRY.format("b()")).replace("p, d = x", "p, d = x\n    c()"),
        TRY.format("a()").replace("p, d = x", "p, d = x\n    c()") + TRY.format("b()"),
        TRY.format("a()") + TRY.format("b()").replace("p, d = x", "p, d = x\n    c()"),
    ],
)
def test_a_tuple_is_unpacked_again_where_the_names_or_what_happens_differ(text: str) -> None:
    assert merged(text) == ast.unparse(ast.parse(text))


FETCH = "answer = r.get(k)\nif answer is not None:\n    {}\n"


def test_an_answer_that_was_got_and_tested_is_not_got_again() -> None:
    text = FETCH.format("answer.add(1)") + FETCH.format("answer.add(2)")
    assert merged(text) == (FETCH.format("answer.add(1)") + "    answer.add(2)").strip()
    assert merged("c()\n" + text) == ("c()\n" + FETCH.format("answer.add(1)") + "    answer.add(2)").strip()
    other = FETCH.format("f(answer)") + FETCH.format("answer.add(2)")
    assert merged(other, "f") == (FETCH.format("f(answer)") + "    answer.add(2)").strip()


@pytest.mark.parametrize(
    "text",
    [
        FETCH.format("answer.add(1)") + FETCH.format("answer.add(2)").replace("(k)", "(j)"),
        FETCH.format("answer = 1") + FETCH.format("b()"),
        FETCH.format("k = 1") + FETCH.format("b()"),
        FETCH.format("r = {}") + FETCH.format("b()"),
        FETCH.format("f(answer)") + FETCH.format("b()"),
        (FETCH.format("a.add(1)") + FETCH.format("b()")).replace("get(k)", "get(k, 1)"),
        (FETCH.format("a.add(1)") + FETCH.format("b()")).replace("get(k)", "pop(k)"),
        FETCH.format("a.add(1)") + "answer = r.get(k)\nif answer is None:\n    b()",
        FETCH.format("a.add(1)") + "answer = r.get(k)\nb()",
        "answer = r.get(k)\nc()\nanswer = r.get(k)\nif answer is not None:\n    b()",
        "answer = r.get(k)\nif answer is not None:\n    b()",
    ],
)
def test_an_answer_is_got_again_where_it_may_be_another(text: str) -> None:
    assert merged(text) == ast.unparse(ast.parse(text))


def fetched(body: str, *quiet: str) -> str:
    made = fetch_once(ast.parse(f"def f(k, s):\n    for x in s:\n{body}").body, "answer", quiet)
    return ast.unparse(ast.fix_missing_locations(ast.Module(made, [])))


def test_a_loop_fetches_the_answer_that_it_changes_once() -> None:
    assert fetched("        if x:\n            answer = r[k]\n            answer.add(x)\n") == (
        "def f(k, s):\n    answer = None\n    for x in s:\n        if x:\n            if answer is None:\n"
        "                answer = r[k]\n            answer.add(x)"
    )


def test_of_loops_in_loops_the_outermost_fetches_once_for_all_turns() -> None:
    made = fetched("        for y in x:\n            answer = r[k]\n            answer.add(y)\n")
    assert made.index("answer = None") < made.index("for x in s")
    made = fetched("        for y in x:\n            answer = r[x]\n            answer.add(y)\n")
    assert made.index("for x in s") < made.index("answer = None") < made.index("for y in x")


def test_a_fetch_inside_a_try_and_its_handler_is_made_once() -> None:
    made = fetched("        try:\n            answer = r[k]\n        except E:\n            answer = r[k]\n")
    assert made.count("if answer is None:") == 2


@pytest.mark.parametrize(
    "body",
    [
        "        answer = r[x]\n        answer.add(x)\n",
        "        y = x.f\n        answer = r[y]\n        answer.add(x)\n",
        "        answer = r[k]\n        answer.add(x)\n        answer = r[j]\n",
        "        answer = r[k]\n        answer = x\n",
        "        answer = r[k]\n        r[k] = {}\n",
        "        answer = r[k]\n        del r[k]\n",
        "        answer = r[k]\n        g(x)\n",
        "        answer = r[k]\n        x.method()\n",
        "        other = r[k]\n        other.add(x)\n",
        "        answer = r.get(k)\n",
    ],
)
def test_a_loop_fetches_in_every_turn_what_may_be_another_answer(body: str) -> None:
    assert fetched(body) == ast.unparse(ast.parse(f"def f(k, s):\n    for x in s:\n{body}"))


def test_functions_that_begin_and_end_to_keep_nothing_may_be_called_in_between() -> None:
    body = "        answer = r[k]\n        g(x)\n        q[x] = 1\n"
    assert "answer = None" in fetched(body, "g")


def test_what_is_said_about_a_loop_and_a_fetch_is_said_once() -> None:
    [function] = ast.parse("def f(k, s):\n    for x in s:\n        answer = r[k]\n").body
    assert isinstance(function, ast.FunctionDef)
    [loop] = function.body
    assert isinstance(loop, ast.For)
    loop.comments, loop.body[0].comments = ("the loop",), ("the fetch",)  # type: ignore[attr-defined]
    [made] = fetch_once([function], "answer", ())
    said = [line for node in ast.walk(made) for line in getattr(node, "comments", ())]
    assert sorted(said) == ["the fetch", "the loop"]
