"""Running the support code inside a compiled program counts as running the file that it came from."""

from __future__ import annotations

import ast
from types import CodeType

from incoq import compile_source
from incoq.codegen import prelude
from trust.measured import at_origin, from_files, support_functions

PROGRAM = "from incoq import Set, query\n@query\ndef q(s, t):\n    return {x for x in s if x in t}\n"


def codes(code: CodeType) -> list[CodeType]:
    return [code, *(c for inner in code.co_consts if isinstance(inner, CodeType) for c in codes(inner))]


def test_functions_of_the_support_code_have_their_own_file_and_lines() -> None:
    tree = at_origin(ast.parse(compile_source(PROGRAM).code), support_functions())
    made = codes(from_files(compile(tree, "<compiled>", "exec")))
    [update] = [c for c in made if c.co_qualname == "Set.update"]
    assert update.co_filename == prelude.__file__
    assert update.co_firstlineno == prelude.Set.update.__code__.co_firstlineno
    [ask] = [c for c in made if c.co_qualname == "ask_q"]
    assert ask.co_filename == "<compiled>"
