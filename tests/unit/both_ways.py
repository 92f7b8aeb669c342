"""Run a program uncompiled and compiled and compare what it prints.

A program is text whose `main(show)` calls `show(...)` with whatever it wants compared. Uncompiled it is
imported from a real file, since `inspect` must find its source.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
import tempfile
import textwrap
import types
from pathlib import Path
from typing import Any

import incoq

MODES = ("filtered", "incremental", "first-clause", "join", "tags")
HEADER = "from incoq import Set, query, lru\n"

_numbers = itertools.count(1)


def shown(value: Any) -> Any:
    """What a program shows, comparable across runs: sets by their elements, other objects by their text."""
    if isinstance(value, set | frozenset):
        return ("set", frozenset(map(shown, value)))
    if isinstance(value, tuple | list):
        kind = "list" if isinstance(value, list) else type(value).__name__  # a compiled list is a subclass
        return (kind, *map(shown, value))
    if isinstance(value, int | float | complex):
        return (type(value).__name__, repr(value))  # 1, 1.0 and True are equal and not the same
    return repr(value)


def source(program: str, header: str = HEADER) -> str:
    return header + textwrap.dedent(program)


def outputs(namespace: dict[str, Any]) -> list[Any]:
    """What `main` shows, and the exception that ended it, if one did."""
    found: list[Any] = []

    def show(*values: Any) -> None:
        found.append(tuple(map(shown, values)))

    try:
        namespace["main"](show)
    except Exception as error:
        found.append((type(error).__name__, getattr(error, "code", "")))
    return found


def run_plain(text: str) -> list[Any]:
    name = f"uncompiled_{next(_numbers)}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.py")
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
            return outputs(vars(module))
        finally:
            del sys.modules[name]


def compile_in(text: str, mode: str, **options: Any) -> incoq.Compiled:
    if mode in ("tags", "first-clause", "join", "auto"):
        return incoq.compile_source(text, strategy=mode, **options)
    return incoq.compile_source(text, mode=mode, **options)


def load(code: str) -> dict[str, Any]:
    """Run compiled code as a module; it must not need incoq."""
    assert "import incoq" not in code
    assert "from incoq" not in code
    module = types.ModuleType(f"compiled_{next(_numbers)}")
    sys.modules[module.__name__] = module  # `dataclass` looks its module up
    try:
        exec(compile(code, "<compiled>", "exec"), vars(module))
    finally:
        del sys.modules[module.__name__]
    return vars(module)


def run_compiled(text: str, mode: str, **options: Any) -> list[Any]:
    return outputs(load(compile_in(text, mode, **options).code))


def same_both_ways(program: str, modes: tuple[str, ...] = MODES, header: str = HEADER) -> list[Any]:
    """Assert that a program shows the same uncompiled and compiled; give what it shows."""
    text = source(program, header)
    expected = run_plain(text)
    assert expected, "the program shows something"
    for mode in modes:
        assert run_compiled(text, mode) == expected, mode
    return expected
