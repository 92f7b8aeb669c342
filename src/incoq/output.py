"""Write a compiled program: whole or not at all, and never onto its input."""

from __future__ import annotations

import ast
import io
import os
import re
import shutil
import tempfile
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from incoq.errors import CompileError, Notice, Position

if TYPE_CHECKING:
    from incoq.compile import Compiled

_COOKIE = re.compile(r"^([ \t\f]*#.*?coding[:=][ \t]*)([-\w.]+)")


def target_of(program: Path, output: Path) -> Path:
    """Where a program goes: a file to OUT, a package to OUT/package, a directory of modules to OUT itself."""
    if not program.is_dir():
        return output / program.name if output.is_dir() else output
    if not (program / "__init__.py").exists():
        return output
    name = program.resolve().name
    return output if output.name == name else output / name


def check_output(program: Path, output: Path) -> None:
    """Refuse an output that would overwrite its input, before anything is compiled."""
    target, source = target_of(program, output).resolve(), program.resolve()
    inside = program.is_dir() and source in target.parents
    if target == source or inside or _is_same_file(target, source):
        where = "lies inside" if inside else "is"
        message = f"the output {output} {where} the program {program}"
        raise CompileError("IQ102", message, Position(str(program), 1, 1))


def write_program(compiled: Compiled, program: Path, output: Path, is_apart: bool = False) -> list[Path]:
    """Write all files of the output; on any failure none is written. Returns what was written.

    The support code of a single file becomes a module of its own where it `is_apart`.
    """
    from incoq.codegen.build_package import package_files

    target = target_of(program, output)
    texts = package_files(compiled, f"_{target.stem}_support" if is_apart else "")
    try:
        if compiled.program.root is None:
            text, *support = texts.values()
            _write_file(target, _encoded(text), program)
            beside = target.with_name(f"_{target.stem}_support.py")
            for other in support:
                _write_file(beside, _encoded(other), program)
            return [target, *(beside for _ in support)]
        return _write_tree(texts, program, target)
    except OSError as error:
        message = f"cannot write {error.filename or target}: {error.strerror}"
        raise CompileError("IQ105", message, Position(str(target), 1, 1)) from None


def write_text(place: Path, text: str) -> None:
    """Write a page or a report; a place that cannot be written is the user's to mend."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CompileError(
            "IQ105", f"cannot write {place}: {error.strerror}", Position(str(place), 1, 1)
        ) from None


def left_out(compiled: Compiled) -> Iterator[Notice]:
    """Modules beside a single file that it imports: unless compiled too, their updates go unseen."""
    if compiled.program.root is not None or not compiled.sites:
        return
    module = compiled.program.modules[0]
    folder = Path(module.filename).parent
    for node in ast.walk(module.tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            first = name.split(".")[0]
            if (folder / f"{first}.py").exists() or (folder / first / "__init__.py").exists():
                message = (
                    f"`{name}` is not compiled with this file, so its updates are not seen; "
                    f"compile the directory {folder}"
                )
                yield Notice(message, module.position(node))


def _write_file(target: Path, data: bytes, like: Path) -> None:
    """Write a file under a temporary name and put it in place at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_symlink():
        target = target.resolve()
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        shutil.copymode(like, temporary)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_tree(texts: dict[str, str], program: Path, target: Path) -> list[Path]:
    """Build the whole tree beside its place, then move it there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    others = [p for p in _files(program) if p.relative_to(program).as_posix() not in texts]
    names = sorted([*texts, *(p.relative_to(program).as_posix() for p in others)])
    _check_overlap(program, target, names)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        for name, text in texts.items():
            place = temporary / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(_encoded(text))
            if (program / name).exists():
                shutil.copymode(program / name, place)
        for path in others:
            place = temporary / path.relative_to(program)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)
        for name in names:
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(temporary / name, place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return [target / name for name in names]


def _check_overlap(program: Path, target: Path, names: list[str]) -> None:
    source = program.resolve()
    for name in names:
        place = (target / name).resolve()
        if source in place.parents:
            message = f"the output {place} lies inside the program {program}"
            raise CompileError("IQ102", message, Position(str(program), 1, 1))


def _files(program: Path) -> Iterator[Path]:
    """What a directory holds, caches and hidden folders left out."""
    for folder, folders, files in os.walk(program):
        folders[:] = sorted(f for f in folders if f != "__pycache__" and not f.startswith("."))
        for file in sorted(files):
            yield Path(folder) / file


def _encoded(text: str) -> bytes:
    """A module's text in the encoding that its cookie names, or in UTF-8 where that cannot hold it."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(text.encode("utf-8")).readline)
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        lines = text.split("\n", 2)
        lines[:2] = [_COOKIE.sub(r"\1utf-8", line) for line in lines[:2]]
        return "\n".join(lines).encode("utf-8")


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
