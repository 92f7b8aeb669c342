"""The support code goes after docstring and `__future__` imports, whatever shares a line with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from both_ways import load
from test_packages import compile_to, python

import incoq
from incoq.codegen.build_package import package_files
from incoq.compile import compile_path

QUERY = "@query\ndef q(s): return {x for x in s}\n"
MORE = "def more(): (s.append if isinstance(s, list) else s.add)(2)\n"
BEGINNINGS = {
    "a docstring and a list": '"""Doc."""; s = [1]\nfrom incoq import query\n',
    "a docstring and a set": '"""Doc.""" ; s = {1}; import sys\nfrom incoq import query\n',
    "a docstring and what is imported": '"""Doc."""; from incoq import Set, query\ns = Set([1])\n',
    "a docstring above an expression": '"""Doc."""\n[0].pop()\nfrom incoq import Set, query; s = {1}\n',
    "a docstring before an expression": '"""Doc."""; [0].append(1)\nfrom incoq import Set, query; s = {1}\n',
    "all in one": '"""Doc."""; from __future__ import annotations; from incoq import query; s = {1}\n',
    "imports on two lines": '"""Doc."""\nfrom __future__ import annotations; import sys, \\\n  os; '
    "from incoq import Set as S; from incoq import query; s = S([1])\n",
    "imports below a condition": '"""Doc."""\nif True: from incoq import query; s = {1}\n',
    "no line break at all": '"""Doc."""; from incoq import query; s = {1}; q = query({x for x in s})',
}


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_a_program_runs_that_begins_with(beginning: str, mode: str) -> None:
    text = beginning + (QUERY + MORE if beginning.endswith("\n") else "")
    scope = load(incoq.compile_source(text, mode=mode).code)
    assert scope["__doc__"] == "Doc."
    if beginning.endswith("\n"):
        assert scope["q"](scope["s"]) == {1}
        scope["more"]()
        assert scope["q"](scope["s"]) == {1, 2}
    else:
        assert scope["q"] == {1}


def test_a_program_without_queries_may_end_within_its_docstrings_line() -> None:
    assert load(incoq.compile_source('"""Doc."""').code)["__doc__"] == "Doc."


def test_the_support_code_may_be_a_module_beside_a_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f'"""Doc."""; from incoq import Set, query\n{QUERY}s = Set([1])\nprint(q(s), __doc__)\n'
    )
    files = package_files(compile_path(program), apart="support")
    assert sorted(files) == ["program.py", "support.py"]
    out = tmp_path / "out"
    out.mkdir()
    for name, text in files.items():
        (out / name).write_text(text)
    assert python("program.py", cwd=out).stdout == "Set({1}) Doc.\n"


REFUSED_LATER = """
from incoq import Set, query

S = Set()

class O:
    pass

@query
def total():
    return len({y for x in S for y in x.f})

def shown():
    return total()

o = O()
o.f = Set([1, 2])
S.add(o)
print(shown(), shown())
o.f = iter([1])
try:
    print(shown())
except Exception as error:
    print(error.code)
"""


@pytest.mark.parametrize("apart", ["", "support"])
def test_an_answer_that_was_refused_is_not_found_in_place_either(tmp_path: Path, apart: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(REFUSED_LATER)
    files = package_files(compile_path(program), apart=apart)
    assert "if shown_total else ask_total())" in files["program.py"]
    out = tmp_path / "out"
    out.mkdir()
    for name, text in files.items():
        (out / name).write_text(text)
    assert python("program.py", cwd=out).stdout == "2 2\nIQ301\n"


def test_nor_is_it_in_a_program_that_runs_in_memory(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(REFUSED_LATER)
    command = [sys.executable, "-m", "incoq", "run", str(program)]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "2 2\nIQ301\n"


def test_in_a_package_the_import_of_the_support_code_does_the_same(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "model.py").write_text(f'"""Doc."""; from incoq import Set, query; s = Set([1])\n{QUERY}')
    (source / "main.py").write_text("import model\nmodel.s.add(2)\nprint(model.q(model.s), model.__doc__)\n")
    assert compile_to(source, tmp_path / "out") == 0
    ran = python("main.py", cwd=tmp_path / "out")
    assert (ran.stdout, ran.stderr) == ("Set({1, 2}) Doc.\n", "")
