"""Generated statements print as the text that they mean, with their comments."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pytest

from incoq.codegen.print_python import joined, print_statements
from incoq.codegen.quote import commented, quote, quote_expr, trailing
from incoq.ir.expressions import name


def print_python(statements: Sequence[ast.stmt]) -> str:
    return joined(print_statements(statements))


SNIPPETS = [
    "x = 1\n",
    "for a, b in m.get(k, ()):\n    f(a)\nelse:\n    g(b)\n",
    "while x:\n    x = h(x)\n",
    "if a:\n    f()\nelif b:\n    g()\nelse:\n    h()\n",
    "if a:\n    f()\nelse:\n    g()\n    if b:\n        h()\n",
    "try:\n    f()\nexcept (A, B) as e:\n    g(e)\nexcept C:\n    pass\nelse:\n    h()\nfinally:\n    i()\n",
    'def f(a, /, b=1, *c, d, **e):\n    """Says what."""\n    return a\n',
    "class A(B, C):\n    x = 1\n\n    def f(self):\n        pass\n",
    "@d\ndef f():\n    pass\n",
    "del a[b], c.d\n",
    "global g\n",
    "raise E from None\n",
    "def f(a, b):\n    return\n",
    "def f(a: int, *, b=1):\n    raise\n",
    "del a\ndel b[c]\ndel (d, e)\n",
    "a |= b\nc *= d\ne[f] -= 1\n",
]


@pytest.mark.parametrize("text", SNIPPETS)
def test_what_is_printed_parses_to_what_was_printed(text: str) -> None:
    tree = ast.parse(text)
    printed = print_python(tree.body)
    assert ast.dump(ast.parse(printed)) == ast.dump(ast.parse(text))


EXPRESSIONS = [
    "x", "1", "-1", "1.5", "'a'", '"it\'s"', "None", "True", "...", "(1).real", "1[0]", "()", "(a,)",
    "(a, b)", "a.b.c", "a[b]", "a[b, c]", "a[b,]", "a[1:2]", "a[(b, c), d]", "f()", "f(a, b)", "f(a)(b)",
    "f(*a)", "f(x=1)", "f(a == b)", "(a == b).c", "a == b", "a < b < c", "a is not None", "a not in b",
    "(a, b) in c",
    "(a in b) == c", "not a in b", "a and b", "a == b and c in d", "a and b == c", "a and b and c == d",
    "a == b or c == d and e", "(a or b) and c == d", "a if b else c", "a in b if c else d(a)",
    "(a if b else c) if d else e", "a if b or c else d", "f(a if b else c)", "[a, b]", "{a}", "{a: b}",
    "lambda x: x", "[a for a in b]", "a + b == c", "(yield a)", "(a := b)",
    "a and b and c", "a or b or c", "a in b and c in d and e in f", "a in b or c in d or e in f or g in h",
    "not a", "not f(a)", "not (a and b)", "not a and b", "a and not b", "a or not b", "a or b or not c",
    "a and (b or c)", "a and (b if c else d)", "a or (lambda: b)", "(a or b) or c", "a and (not b) in c",
    "a + b", "a - b", "a | b", "a * b", "a + b + c", "a + (b if c else d)", "a + (b and c)", "f(a)[b] + 1",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_is_printed_as_python_would(text: str) -> None:
    simple = (
        "E",
        "t = E",
        "t = u = E",
        "t[E] = x",
        "t += E",
        "f(E)",
        "raise E",
        "raise E from x",
        "return E",
    )
    for form in (*simple, "if E:\n    pass", "for t in E:\n    pass", "not E", "E and x", "x or E"):
        tree = ast.parse(form.replace("E", f"({text})"))
        assert print_python(tree.body) == ast.unparse(tree) + "\n"


@pytest.mark.parametrize("text", SNIPPETS)
def test_printing_is_steady(text: str) -> None:
    once = print_python(ast.parse(text).body)
    assert print_python(ast.parse(once).body) == once


def test_a_string_of_many_lines_survives() -> None:
    text = "x = 'a\\nb'\ny = '''c\n  d'''\n"
    printed = print_python(
        ast.parse("def f():\n    x = 'a\\nb'\n    y = 'c\\n  d'\n    return (x, y)\n").body
    )
    namespace: dict[str, object] = {}
    exec(printed, namespace)
    assert namespace["f"]() == ("a\nb", "c\n  d")  # type: ignore[operator]
    assert print_python(ast.parse(text).body).startswith("x = ")


@pytest.mark.parametrize("doc", ['ends with "', 'holds """ inside', "a \\ backslash", "two\nlines", "plain"])
def test_any_docstring_survives(doc: str) -> None:
    function = quote("def f():\n    pass")[0]
    assert isinstance(function, ast.FunctionDef)
    function.body.insert(0, ast.Expr(ast.Constant(doc)))
    parsed = ast.parse(print_python([function])).body[0]
    assert isinstance(parsed, ast.FunctionDef)
    assert (ast.get_docstring(parsed, clean=False) or "").rstrip() == doc


def test_comments_stand_before_and_behind_a_statement() -> None:
    loop = quote("for x in s:\n    f(x)")
    text = print_python(trailing(commented(loop, "r = {x : x in s}", "kept"), "#s"))
    assert text == "# r = {x : x in s}\n# kept\nfor x in s:  # #s\n    f(x)\n"


def test_a_commented_if_is_not_folded_into_elif() -> None:
    [outer] = quote("if a:\n    f()\nelse:\n    if b:\n        g()")
    assert isinstance(outer, ast.If)
    commented(outer.orelse, "why")
    text = print_python([outer])
    assert "# why" in text
    assert "elif" not in text


def test_definitions_are_set_apart_by_two_lines() -> None:
    text = print_python(quote("x = 1\ndef f():\n    pass\ndef g():\n    pass\ny = 2"))
    assert "\n\n\ndef g" in text
    assert "\n\n\n\n" not in text


# Quasi-quotation


def test_a_hole_takes_an_expression_a_name_or_statements() -> None:
    filled = quote("if X in TAG:\n    BODY", X=quote_expr("a.b"), TAG="tag_u", BODY=quote("f()\ng()"))
    assert print_python(filled) == "if a.b in tag_u:\n    f()\n    g()\n"


def test_holes_name_functions_arguments_and_attributes() -> None:
    filled = quote("def F(A):\n    return A.ATTR", F="get", A="o", ATTR="loc")
    assert print_python(filled) == "def get(o):\n    return o.loc\n"


def test_a_snippet_is_not_changed_by_filling_it() -> None:
    first = print_python(quote("X = Y", X="a", Y=name("b")))
    second = print_python(quote("X = Y", X="c", Y=name("d")))
    assert (first, second) == ("a = b\n", "c = d\n")


def test_what_fills_a_hole_is_not_filled_again() -> None:
    assert ast.unparse(quote_expr("f(X, Y)", X=name("Y"), Y=name("X"))) == "f(Y, X)"


def test_comments_of_statements_in_a_hole_are_kept() -> None:
    inner = commented(quote("f()"), "why")
    assert "# why" in print_python(quote("if a:\n    BODY", BODY=inner))
