"""A plugin of pytest: which test runs which lines, the support code that programs embed among them.

Coverage is told the name of each test as its context, and how long each took goes to a file. Compiled
programs hold the functions of `prelude.py` and its kin as text of their own: where a function of a program is
one of those, its code is given the lines and the file that it came from, so that running it counts there.
"""

import __future__

import ast
import builtins
import json
import os
import sys
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import CodeType
from typing import Any

import coverage
import pytest

from incoq.codegen import aggregates, batches, embed_prelude, prelude, weak

TESTS = "INCOQ_TRUST_TESTS"  # the file that is told of tests, as an environment variable
SHIFT = 10_000_000  # what is added to lines of the support code, so that they are known for what they are
FILES = tuple(str(module.__file__) for module in (prelude, aggregates, batches, weak))

Functions = dict[str, tuple[ast.FunctionDef, int]]

real_compile, real_exec = builtins.compile, builtins.exec


class Tests:
    """Tells coverage of each test, and notes its seconds and whether it passed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.began = 0.0
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.began = sum(os.times()[:4])
        measuring = coverage.Coverage.current()
        if measuring is not None:
            measuring.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] = sum(os.times()[:4]) - self.began  # of CPU, of commands that were run too

    def pytest_sessionfinish(self) -> None:
        passed = {name: round(took, 4) for name, took in self.seconds.items() if name not in self.failed}
        self.path.write_text(json.dumps({"passed": passed, "failed": sorted(self.failed)}))


def pytest_configure(config: pytest.Config) -> None:
    """Begin to note."""
    config.pluginmanager.register(Tests(Path(os.environ[TESTS])))
    known = support_functions()

    @lru_cache(64)  # some tests load one program many times
    def compile_program(source: str, filename: str, flags: int) -> CodeType:
        tree = at_origin(ast.parse(source), known)
        return from_files(real_compile(tree, filename, "exec", flags, True))

    def compile_measured(
        source: Any,
        filename: Any,
        mode: str,
        flags: int = 0,
        dont_inherit: bool = False,
        *rest: Any,
        **more: Any,
    ) -> Any:
        if not dont_inherit:  # what the caller's module says about annotations holds, not what this one says
            flags |= sys._getframe(1).f_code.co_flags & __future__.annotations.compiler_flag
        if not (is_program(source) and mode == "exec") or flags & ast.PyCF_ONLY_AST:
            return real_compile(source, filename, mode, flags, True, *rest, **more)
        return compile_program(source, filename, flags)

    def exec_measured(source: Any, names: Any = None, /, *rest: Any) -> None:
        if names is None:
            frame = sys._getframe(1)
            names, rest = frame.f_globals, (frame.f_locals,)
        real_exec(
            compile_measured(source, "<string>", "exec") if is_program(source) else source, names, *rest
        )

    builtins.compile, builtins.exec = compile_measured, exec_measured  # type: ignore[assignment]


def is_program(source: Any) -> bool:
    """Whether this is the text of a compiled program."""
    return isinstance(source, str) and "IncoqRuntimeError" in source


def support_functions() -> Functions:
    """The functions of the support code by what they say, with the number of their file."""
    found: Functions = {}
    for number, filename in enumerate(FILES, 1):
        own = Path(filename).name
        marked = (embed_prelude.prelude_of_marked(own, some) for some in (True, False))
        for statement in chain(embed_prelude.prelude_of(own), *marked):
            for node in ast.walk(statement):
                if isinstance(node, ast.FunctionDef):
                    found.setdefault(ast.dump(node), (node, number))
    return found


def at_origin(tree: ast.Module, known: Functions) -> ast.Module:
    """The program with functions of the support code at the lines where they were written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno < SHIFT:
            original, number = known.get(ast.dump(node), (None, 0))
            if original is not None:
                for new, old in zip(ast.walk(node), ast.walk(original), strict=True):
                    if isinstance(old, ast.stmt | ast.expr | ast.excepthandler):
                        new.lineno = new.end_lineno = old.lineno + number * SHIFT  # type: ignore[attr-defined]
    return tree


def from_files(code: CodeType) -> CodeType:
    """The code with the files of what came from the support code."""
    number, line = divmod(code.co_firstlineno, SHIFT)
    inner = tuple(from_files(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    if not number:
        return code.replace(co_consts=inner)
    return code.replace(co_consts=inner, co_firstlineno=line, co_filename=FILES[number - 1])
