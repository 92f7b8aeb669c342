"""Write a compiled program: whole or not at all, and never onto its input."""

from __future__ import annotations

import ast
import errno
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
from incoq.frontend.program import called, files_of

if TYPE_CHECKING:
    from incoq.compile import Compiled

_COOKIE = re.compile(r"^([ \t\f]*#.*?coding[:=][ \t]*)([-\w.]+)")


def target_of(program: Path, output: Path) -> Path:
    """Where a program goes: a file to OUT, a package to OUT/package, a directory of modules to OUT itself."""
    if not program.is_dir():
        return output / program.name if os.path.isdir(output) else output
    if not (program / "__init__.py").exists():
        return output
    name = called(program)
    return output if output.name == name else output / name


def check_output(program: Path, output: Path) -> None:
    """Refuse an output that would overwrite its input, before anything is compiled."""
    target, source = real(target_of(program, output)), real(program)
    inside = program.is_dir() and source in target.parents
    if target == source or inside or _is_same_file(target, source):
        where = "lies inside" if inside else "is"
        message = f"the output {output} {where} the program {program}"
        raise CompileError("IQ102", message, Position(str(program), 1, 1))


def check_page(program: Path, page: Path | None) -> None:
    """Refuse a page or report that would overwrite the program, before anything is compiled or run."""
    if page is None:
        return
    modules = [program] if not program.is_dir() else [p for p in files_of(program) if p.suffix == ".py"]
    if os.path.isdir(page):
        message = f"cannot write {page}: {os.strerror(errno.EISDIR)}"
        raise CompileError("IQ105", message, Position(str(page), 1, 1))
    for module in modules:
        if real(module) == real(page) or _is_same_file(module, page):
            raise CompileError("IQ102", f"{page} is the program's own {module}", Position(str(program), 1, 1))


def real(path: Path) -> Path:
    """Where a path leads; a link that leads to itself stays, and who opens it is told."""
    return Path(os.path.realpath(path))


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
        message = f"cannot write {target}: {error.strerror}"
        raise CompileError("IQ105", message, Position(str(target), 1, 1)) from None


def write_text(place: Path, text: str) -> None:
    """Write a page or a report; a place that cannot be written is the user's to mend."""
    try:
        _write_file(place, text.encode("utf-8", "backslashreplace"))  # a file's name may be no text
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


def _write_file(target: Path, data: bytes, like: Path | None = None) -> None:
    """Write a file under a temporary name and put it in place at once; what is no file (a device, a pipe) is
    written to. It gets the mode of a file that it is `like`, or of the one that it replaces."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    target = real(target)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if like is None and not target.exists():
            os.umask(mask := os.umask(0))
            os.chmod(temporary, 0o666 & ~mask)
        else:
            shutil.copymode(like or target, temporary)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_tree(texts: dict[str, str], program: Path, target: Path) -> list[Path]:
    """Build the whole tree beside its place, then move it there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    others = [p for p in files_of(program) if p.relative_to(program).as_posix() not in texts]
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
            shutil.copy2(path, place, follow_symlinks=path.exists())
        _put_in_place(names, temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return [target / name for name in names]


def _put_in_place(names: list[str], temporary: Path, target: Path) -> None:
    """Move files to where they belong; on any failure what was there before is there again."""
    former = Path(tempfile.mkdtemp(prefix="former.", dir=temporary))
    made: list[Path] = []  # directories, outermost first
    moved: list[tuple[Path, Path | None]] = []  # what is in place, and what was there
    try:
        for number, name in enumerate(names):
            place, old = target / name, None
            missing = [folder for folder in (place.parent, *place.parent.parents) if not folder.exists()]
            for folder in reversed(missing):
                folder.mkdir()
                made.append(folder)
            if place.is_dir() and not place.is_symlink():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
            if os.path.lexists(place):
                old = former / str(number)
                os.replace(place, old)
            moved.append((place, old))
            os.replace(temporary / name, place)
    except BaseException:
        for place, old in reversed(moved):
            if old is not None:
                os.replace(old, place)
            else:
                place.unlink(missing_ok=True)
        for folder in reversed(made):
            folder.rmdir()
        raise


def _check_overlap(program: Path, target: Path, names: list[str]) -> None:
    source = real(program)
    for name in names:
        place = real(target / name)
        if source in place.parents:
            message = f"the output {place} lies inside the program {program}"
            raise CompileError("IQ102", message, Position(str(program), 1, 1))


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
