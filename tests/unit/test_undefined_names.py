"""Every name that a generated program reads is defined in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoq import compile_path, compile_source
from incoq.codegen.build_package import package_files
from incoq.names import free_names

PROGRAMS = sorted(Path(__file__).parents[2].glob("programs/*.py"))


def test_a_name_that_nothing_defines_is_found_in_any_scope() -> None:
    code = "import os\nx = [1]\ndef f(a):\n    y = a\n    return lambda: (os, len, x, y, z)\n"
    assert free_names(code) == {"z"}


def test_a_global_that_a_function_sets_is_defined() -> None:
    assert free_names("def f():\n    global g\n    g = 1\ndef h():\n    return g\n") == set()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
@pytest.mark.parametrize("strategy", ["tags", "join"])
def test_a_compiled_program_defines_every_name_that_it_reads(program: Path, strategy: str) -> None:
    compiled = compile_source(program.read_text(), str(program), strategy=strategy)
    assert free_names(compiled.code) == set()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_a_program_apart_from_its_support_code_imports_every_name_that_it_reads(program: Path) -> None:
    files = package_files(compile_path(program), "_support")
    assert len(files) == 2
    assert {name: free_names(text) for name, text in files.items()} == {name: set() for name in files}
