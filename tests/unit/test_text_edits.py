"""Editing text by positions: what stands between two nodes, how lines end, what needs parentheses."""

from __future__ import annotations

import ast

import pytest

from incoq.codegen.text_edits import Edit, SourceText, apply_edits, as_argument, in_one_statement


def value(text: str) -> ast.expr:
    [statement] = ast.parse(text).body
    assert isinstance(statement, ast.Expr | ast.Assign)
    return statement.value


def test_edits_that_overlap_or_leave_the_text_are_refused() -> None:
    text = "abcdef"
    assert apply_edits(text, [Edit(4, 6, "Z"), Edit(0, 2, "X"), Edit(2, 2, "Y")]) == "XYcdZ"
    assert apply_edits(text, [Edit(2, 3, "")], 1, 5) == "bde"
    assert apply_edits(text, [Edit(1, 5, "-")], 1, 5) == "-"
    for edits in ([Edit(0, 3, ""), Edit(2, 4, "")], [Edit(5, 7, "")], [Edit(3, 2, "")], [Edit(-1, 2, "")]):
        with pytest.raises(ValueError, match="overlaps"):
            apply_edits(text, edits)
    for edit in (Edit(0, 2, ""), Edit(4, 6, "")):
        with pytest.raises(ValueError, match="1 to 5"):
            apply_edits(text, [edit], 1, 5)


def test_positions_are_found_in_lines_of_any_letters_and_breaks() -> None:
    for newline in ("\n", "\r\n", "\r"):
        text = newline.join(["x = 'é', (1)", "y = 'é'", "", "z = [2]  # é"])
        source, tree = SourceText(text), ast.parse(text)
        found = [text[source.start(s) : source.end(s)] for s in tree.body]
        assert found == ["x = 'é', (1)", "y = 'é'", "z = [2]"]
        assert [source.newline(source.start(s)) for s in tree.body] == [newline] * 3
        assert text[: source.line_end(0)] == "x = 'é', (1)"
        assert source.line_end(len(text)) == len(text)
    assert SourceText("x").newline(0) == "\n"
    assert SourceText("x\r\ny\nz").newline(0) == "\r\n"
    assert SourceText("x\r\ny\nz").newline(3) == "\n"
    assert SourceText("x\r\ny\nz").newline(5) == "\r\n", "the last line has none: the first one's counts"


def test_a_statement_is_indented_where_nothing_else_precedes_it_in_its_line() -> None:
    text = "if x:\n \t y = 1; z = 2\nw = \\\n  3"
    source = SourceText(text)
    assert source.indentation(0) == ""
    assert source.indentation(text.index("y =")) == " \t "
    assert source.indentation(text.index("z =")) is None
    assert source.indentation(text.index("3")) is None, "the line before goes on"
    assert source.line_indentation(text.index("z =")) == " \t "
    assert source.line_indentation(text.index("w =") + 2) == ""
    assert SourceText("\\\nx").indentation(2) is None
    assert SourceText("\nx").indentation(1) == ""
    assert SourceText("x = 1\\").indentation(0) == "", "the last line does not go on in the first"


def test_comments_and_breaks_between_tokens_are_passed_over() -> None:
    text = "(f  # ) no\n  \\\n ) = x"
    source = SourceText(text)
    assert [char for _, char in source.significant(2, len(text))] == [")", "=", "x"]
    assert [*source.significant(2, text.index("="))] == [(text.index(" ) =") + 1, ")")]
    assert source.find(")", 2, len(text)) == text.index(") =")
    assert source.skip_blanks(2, len(text)) == text.index(") =")
    assert source.skip_blanks(2, 5) == 5
    assert SourceText("a b").skip_blanks(2, 3) == 2


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("((x)), (y)", "((x))"),
        ("((x) ) , (y)", "((x) )"),
        ("((x)  # )\n) , (y)", "((x)  # )\n)"),
        ("x, (y)", "x"),
    ],
)
def test_the_parentheses_that_close_after_a_node_are_part_of_it(text: str, whole: str) -> None:
    source, pair = SourceText(text), value(text)
    assert isinstance(pair, ast.Tuple)
    assert text[: source.end_with_parentheses(pair.elts[0], len(text))] == whole
    assert source.end_with_parentheses(pair.elts[0], source.end(pair.elts[0])) == source.end(pair.elts[0])


def test_what_follows_in_a_line_may_be_a_comment_alone() -> None:
    for text in ("x", "x \t", "x # y", "x\ny", "x  # y\nz", "x\r\ny"):
        assert SourceText(text).is_blank_after(1), text
    for text in ("x y", "x; y", "x \\\n"):
        assert not SourceText(text).is_blank_after(1), text


def test_an_edit_does_not_grow_together_with_words_around_it() -> None:
    def edited(text: str, start: int, end: int, new: str) -> str:
        return apply_edits(text, [SourceText(text).edit(start, end, new)])

    assert edited("return[1]", 6, 9, "List()") == "return List()"
    assert edited("return[1]", 6, 9, "[2]") == "return[2]"
    assert edited("[1]if x", 0, 3, "y") == "y if x"
    assert edited("return[1]", 6, 9, "x()") == "return x()"
    assert edited("[1]if x", 0, 3, "()y") == "()y if x"
    assert edited("[1]if x", 0, 3, "y()") == "y()if x"
    assert edited("[1]_x", 0, 3, "y") == "y _x"
    assert edited("é[1]", 1, 4, "y") == "é y"
    assert edited("[1] + 2", 0, 3, "y") == "y + 2"
    assert edited("(1)", 1, 2, "y") == "(y)"
    assert edited("x", 0, 1, "y") == "y"


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("x, y", "(x, y)"),
        ("(x, y)", "(x, y)"),
        ("()", "()"),
        ("(x), (y)", "((x), (y))"),
        ("(x), y", "((x), y)"),
        ("(x,\n y)", "(x,\n y)"),
        ("x + 1", "x + 1"),
        ("lambda: 1", "lambda: 1"),
    ],
)
def test_an_argument_has_parentheses_where_it_needs_them(text: str, argument: str) -> None:
    assert as_argument(text, value(text)) == argument


def test_what_yields_or_binds_has_parentheses_as_an_argument() -> None:
    for text in ("yield x", "yield from x", "y := x"):
        node = value(f"({text})")
        assert as_argument(text, node) == f"({text})"
        assert as_argument(f"({text})", node) == f"({text})"


def test_several_lines_have_parentheses_where_they_are_not_one_statement() -> None:
    assert in_one_statement("x + y") == "x + y"
    assert in_one_statement("f(x,\n  y)") == "f(x,\n  y)"
    assert in_one_statement("x\n+ y") == "(x\n+ y)"
    assert in_one_statement("x +\n y") == "(x +\n y)"
    assert in_one_statement("(x)\n.y", ".z") == "((x)\n.y)"
    assert in_one_statement("f(\n)", ".z = 1") == "f(\n)"
