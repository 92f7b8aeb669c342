"""Load a compiled program in memory: what `run` and `verify` execute.

The new text of a module is compiled with the positions of the original, so that tracebacks and debuggers
show the lines of the user's own files. The support code is a module of its own, its text in `linecache`.

Before:    set_loc("Oslo", ann)        line 31 of the new text
After:     ann.loc = "Oslo"            line 24 of the user's file, in every traceback
"""

from __future__ import annotations

import ast
import bisect
import linecache
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from itertools import count
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any
from weakref import WeakValueDictionary

from incoq.codegen.build_package import (
    is_package,
    names_needed,
    provide,
    relative_path,
    standalone_support,
    support_module,
)
from incoq.codegen.build_program import RewrittenModule, header
from incoq.codegen.text_edits import SourceText
from incoq.compile import Compiled
from incoq.errors import CompileError
from incoq.frontend.program import called

_NEWLINE = re.compile(r"\r\n|\r|\n")
_BEGIN = "<begin>"  # no name of any program


class LoadedProgram:
    """A compiled program in this process: its support module, and its modules as they get imported."""

    def __init__(
        self, compiled: Compiled, prepare: Callable[[ast.Module], Mapping[str, Any]] | None = None
    ) -> None:
        """`prepare` may change the support code, to count in it, and gives the names that this needs."""
        self.compiled = compiled
        self.support = self._support_module(prepare)
        self.globals: dict[str, dict[str, Any]] = {}  # file, as the program names it -> names of its module
        # The files by their names, and by where they are: a program may go to another directory.
        self._modules = {Path(m.module.filename): m for m in compiled.modules}
        self._modules |= {_real(path): m for path, m in self._modules.items()}

    def _support_module(self, prepare: Callable[[ast.Module], Mapping[str, Any]] | None) -> ModuleType:
        program = self.compiled.program
        text = standalone_support(program, self.compiled.support)
        filename = f"<incoq support of {Path(program.modules[0].filename).name}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        module = ModuleType(support_module(program))
        module.__file__ = filename
        sys.modules[module.__name__] = module
        tree = ast.parse(text)
        if prepare is not None:
            module.__dict__.update(prepare(tree))
        exec(compile(tree, filename, "exec", dont_inherit=True), module.__dict__)
        module.__dict__[_BEGIN] = self._begin
        return module

    def namespace(self, filename: str) -> dict[str, Any]:
        """The names of the module of a file; empty until it is imported."""
        return self.globals.get(filename, {})

    def run(self, argv: Sequence[str], entry: str | None = None) -> None:
        """Execute the program as `__main__`, as `python PROGRAM ARGS` would; its exceptions pass through."""
        rewritten = self._entry(entry)
        script = Path(rewritten.module.filename)
        program = self.compiled.program
        main = ModuleType("__main__")
        main.__file__ = str(script.absolute())  # the program may go to another directory
        sys.argv = [str(script), *argv]
        folder = script.resolve().parent
        if is_package(program):
            assert program.root is not None
            package = ".".join([called(program.root), *relative_path(program, rewritten).parts[:-1]])
            main.__package__ = package
            folder = Path(os.path.abspath(program.root)).parent
        sys.path.insert(0, str(folder))
        _serve(self)
        sys.modules["__main__"] = main
        exec(self.code(rewritten), main.__dict__)

    def code(self, rewritten: RewrittenModule) -> CodeType:
        """What a module executes; first of all, its namespace gets the names of the support code."""
        filename = rewritten.module.filename
        place = f"__import__('sys').modules[{self.support.__name__!r}].__dict__[{_BEGIN!r}]"
        (begin,) = ast.parse(f"{place}({filename!r})").body
        return code_with_original_positions(rewritten, begin)

    def _begin(self, filename: str) -> None:
        """Note where the module that calls this has its names, and provide those of the support code."""
        namespace = self.globals[filename] = sys._getframe(1).f_globals
        names = names_needed(self._modules[Path(filename)], self.compiled.support)
        provide(namespace, names, self.compiled.support, vars(self.support))

    def module_of(self, origin: str) -> RewrittenModule | None:
        """The module of the program that a file is."""
        return self._modules.get(Path(origin)) or self._modules.get(_real(origin))

    def _entry(self, entry: str | None) -> RewrittenModule:
        program = self.compiled.program
        if program.root is None:
            return self.compiled.modules[0]
        wanted = (entry or "__main__").removesuffix(".py").replace("\\", "/").replace("/", ".")
        for rewritten in self.compiled.modules:
            if rewritten.module.name == wanted:
                return rewritten
        names = [r.module.name or "__init__" for r in self.compiled.modules]
        way = f"name one before the program: `--entry {names[0]} {program.root}`"
        if len(names) > 1:
            way += f"; there are {', '.join(names[:10])}{', …' if len(names) > 10 else ''}"
        raise CompileError("IQ100", f"no module `{wanted}` to run in {program.root}", None, way)


def classes_of(namespace: Mapping[str, Any], base: type) -> list[type]:
    """A container of the support code and the classes that it derives from it."""
    found = (c for c in namespace.values() if isinstance(c, type) and issubclass(c, base))
    return list(dict.fromkeys(found))  # a class may have several names


# The programs of this process, in the order in which they began; one lives as long as its support code does.
_served: WeakValueDictionary[int, LoadedProgram] = WeakValueDictionary()
_numbers = count()
_usual_code = SourceFileLoader.get_code


def _serve(program: LoadedProgram) -> None:
    """Give the files of the program their compiled code, by whatever way Python loads them: an import, a
    place (`spec_from_file_location`), `runpy.run_module`."""
    _served[next(_numbers)] = program
    SourceFileLoader.get_code = _get_code  # type: ignore[method-assign, assignment]


def _get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
    for program in reversed([*_served.values()]):
        if (rewritten := program.module_of(loader.path)) is not None:
            return program.code(rewritten)
    return _usual_code(loader, fullname)


def _real(filename: str | Path) -> Path:
    return Path(filename).resolve()


# -- positions ---------------------------------------------------------------------------------------------


def code_with_original_positions(rewritten: RewrittenModule, begin: ast.stmt) -> CodeType:
    """The new text of a module compiled with the lines and columns of the original text, after a statement
    that begins it."""
    tree = ast.parse(rewritten.text)
    move = _mover(rewritten)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            move(node)
    tree.body.insert(len(header(tree)), begin)
    return compile(tree, rewritten.module.filename, "exec", dont_inherit=True)


def _mover(rewritten: RewrittenModule) -> Callable[[Any], None]:
    """A function that gives a node of the new text the place it has, or comes from, in the original."""
    new, source = SourceText(rewritten.text), rewritten.module.source
    starts = [0, *(found.end() for found in _NEWLINE.finditer(source))]
    edges: list[int] = []  # where each stretch of the new text begins,
    stretches: list[tuple[int, int, str | None]] = []  # what part of the original it stands for, its new text
    at = old = 0
    for edit in sorted(rewritten.edits, key=lambda e: (e.start, e.end)):
        edges += [at, at + edit.start - old]
        stretches += [(old, edit.start, None), (edit.start, edit.end, edit.text)]
        at += edit.start - old + len(edit.text)
        old = edit.end
    edges.append(at)
    stretches.append((old, len(source), None))

    def original(offset: int, is_end: bool) -> tuple[int, int]:
        probe = offset - 1 if is_end and offset else offset  # an end belongs to the character before it
        number = bisect.bisect_right(edges, probe) - 1
        start, end, text = stretches[number]
        if text is None:
            place = min(start + offset - edges[number], end)
        else:
            place = _within(source, start, end, text[: probe - edges[number]], is_end)
        line = bisect.bisect_right(starts, place) - 1
        return line + 1, len(source[starts[line] : place].encode())

    def move(node: Any) -> None:
        start = original(new.start(node), False)
        end = max(start, original(new.end(node), True))
        node.lineno, node.col_offset = start
        node.end_lineno, node.end_col_offset = end

    return move


def _within(source: str, start: int, end: int, before: str, is_end: bool) -> int:
    """The place in an edited part of the original: of the line that corresponds, its begin or its end."""
    lines = source[start:end].splitlines(keepends=True)
    number = min(len(_NEWLINE.findall(before)), len(lines) - 1)
    if number < 0:
        return start
    begin = start + sum(map(len, lines[:number]))
    line = lines[number].rstrip()
    return begin + len(line) if is_end else begin + len(line) - len(line.lstrip())
