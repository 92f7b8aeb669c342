"""Read a program: one module or a package, parsed, with what its names mean.

Nothing of the user's is imported or executed.
"""

from __future__ import annotations

import ast
import io
import os
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from incoq.errors import CompileError, Position

QUERY, SET, LRU = "query", "Set", "lru"


@dataclass(frozen=True)
class Binding:
    """What a module-level name stands for: the statement that binds it, and whether it is the only one."""

    kind: str  # function, class, import, value, query
    node: ast.AST
    once: bool


@dataclass
class Module:
    """One source file: text, tree and module-level names."""

    name: str
    filename: str
    source: str
    tree: ast.Module
    bindings: dict[str, Binding] = field(default_factory=dict)
    incoq_names: dict[str, str] = field(default_factory=dict)  # local name -> query/Set/lru/batch/incoq
    values: dict[str, ast.expr] = field(default_factory=dict)  # name -> last value assigned at the top
    is_package: bool = False
    # What `resolve_names` finds:
    imports: dict[str, Module] = field(default_factory=dict)  # local name -> module of the program
    reexported: dict[ast.alias, str] = field(default_factory=dict)  # imported from such a module
    rebound: frozenset[str] | None = frozenset()  # names that others may bind; None: any

    def constant(self, identifier: str) -> ast.Constant | None:
        """The literal that a name bound once, at the top of the module, stands for."""
        if self.rebound is None or identifier in self.rebound:
            return None
        binding, value = self.bindings.get(identifier), self.values.get(identifier)
        if binding is None or not binding.once:
            return None
        match value:
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() | complex() as number)):
                return ast.copy_location(ast.Constant(-number), value)
        return value if isinstance(value, ast.Constant) else None

    def position(self, node: ast.AST) -> Position:
        line = getattr(node, "lineno", 1)
        lines = self.source.split("\n")
        text = lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else ""
        byte = getattr(node, "col_offset", 0)
        column = len(text.encode()[:byte].decode(errors="ignore")) + 1
        return Position(self.filename, line, column, text)

    def error(self, code: str, message: str, node: ast.AST, help: str | None = None) -> CompileError:
        return CompileError(code, message, self.position(node), help)

    def uses_batches(self) -> bool:
        """Does it name `batch` of the incoq package?"""
        return any(self.is_incoq(node, "batch") for node in ast.walk(self.tree)) or (
            "batch" in self.incoq_names.values()
        )

    def is_incoq(self, node: ast.AST, what: str) -> bool:
        """Is this expression the name `what` of the incoq package?"""
        match node:
            case ast.Name(id=identifier):
                return self.incoq_names.get(identifier) == what
            case ast.Attribute(value=ast.Name(id=identifier), attr=attr):
                if self.incoq_names.get(identifier) == "incoq":
                    return attr == what
                through = self.imports.get(identifier)
                return through is not None and through.incoq_names.get(attr) == what
        return False


@dataclass
class Program:
    """All modules that are compiled together."""

    modules: list[Module]
    root: Path | None = None

    def classes(self) -> Iterator[tuple[Module, ast.ClassDef]]:
        for module in self.modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.ClassDef):
                    yield module, node

    def imported(self, importer: Module, node: ast.ImportFrom) -> Module | None:
        """The module of the program that `from m import ...` means; None where that is none, or in doubt."""
        around = importer.name.split(".") if importer.is_package else importer.name.split(".")[:-1]
        if node.level:
            around = around[: len(around) + 1 - node.level]
        sibling = ".".join(filter(None, [*around, node.module or ""]))
        found = [m for m in self.modules if m.name == sibling]
        if not node.level and node.module is not None:
            absolute = f".{node.module}"  # may begin with the name of the directory, and what that is in
            root = called(self.root) if self.root is not None else ""
            found += [
                m
                for m in self.modules
                if m not in found
                and (m.name == node.module or absolute.endswith(f".{root}.{m.name}".rstrip(".")))
            ]
        return found[0] if len(found) == 1 else None

    def origin(self, module: Module, identifier: str) -> tuple[Module, Binding] | None:
        """Where a name of a module is defined, through whatever imports; None where that is in doubt."""
        seen: set[tuple[str, str]] = set()
        while (module.name, identifier) not in seen:
            seen.add((module.name, identifier))
            binding = module.bindings.get(identifier)
            if binding is None or not binding.once:
                return None
            if not isinstance(binding.node, ast.ImportFrom):
                return module, binding
            home = self.imported(module, binding.node)
            if home is None:
                return None
            names = binding.node.names
            module, identifier = home, next(a.name for a in names if (a.asname or a.name) == identifier)
        return None

    def identifiers(self) -> set[str]:
        """Every identifier of the program, for the name generator."""
        found: set[str] = set()
        for module in self.modules:
            for node in ast.walk(module.tree):
                for key in ("id", "attr", "name", "arg", "asname", "module"):
                    value = getattr(node, key, None)
                    if isinstance(value, str):
                        found.update(value.split("."))
                if isinstance(node, ast.Global | ast.Nonlocal):
                    found.update(node.names)
        return found


def parse_module(source: str, filename: str, name: str = "__main__") -> Module:
    """Parse one module; a syntax error becomes a coded one."""
    try:
        tree = ast.parse(source, filename)
        with warnings.catch_warnings():  # Python tells of what it warns of where the program is run
            warnings.simplefilter("ignore")
            compile(source, filename, "exec", dont_inherit=True)  # finds what only scopes show
    except SyntaxError as error:
        line = error.lineno or 1
        text = error.text or "".join(source.splitlines()[line - 1 : line])
        place = Position(filename, line, max(error.offset or 1, 1), text.rstrip("\r\n"))
        raise CompileError("IQ101", f"syntax error: {error.msg}", place) from None
    except ValueError as error:
        raise CompileError("IQ101", f"not Python source: {error}", Position(filename, 1, 1)) from None
    except (RecursionError, MemoryError):
        raise CompileError("IQ104", "too deeply nested to parse", Position(filename, 1, 1)) from None
    module = Module(name, filename, source, tree)
    _bind_names(module)
    return module


def read_source(path: Path) -> str:
    """The text of a file, decoded as Python would."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CompileError(
            "IQ100", f"cannot read {path}: {error.strerror}", Position(str(path), 1, 1)
        ) from None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise CompileError("IQ103", f"cannot decode {path}: {error}", Position(str(path), 1, 1)) from None


def read_program(path: Path) -> Program:
    """A file, or a directory with all its `.py` files."""
    check_there(path)
    if path.is_dir():
        files = sorted(p for p in files_of(path) if p.suffix == ".py" and not p.name.startswith("."))
        if not files:
            raise CompileError("IQ100", f"no Python files under {path}", Position(str(path), 1, 1))
        modules = []
        for file in files:
            relative = file.relative_to(path)
            parts = relative.with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            module = parse_module(read_source(file), str(file), name)
            module.is_package = is_package
            modules.append(module)
        return Program(modules, path)
    return Program([parse_module(read_source(path), str(path))], None)


def check_there(path: Path) -> None:
    """Refuse a path that leads to nothing."""
    try:
        path.stat()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        message = f"no such file: {path}" if missing else f"cannot read {path}: {error.strerror}"
        raise CompileError("IQ100", message, Position(str(path), 1, 1)) from None


def called(program: Path) -> str:
    """The name of a directory, which a link may give it; `.` and `..` have that of what they lead to."""
    return os.path.basename(os.path.abspath(program))


def files_of(program: Path) -> Iterator[Path]:
    """What a directory holds, through links too: its files, and links that lead nowhere; caches and hidden
    folders left out, and what is no file (a pipe, a socket)."""
    for folder, folders, files in os.walk(program, followlinks=True):
        here = Path(folder)
        folders[:] = sorted(
            f
            for f in folders
            if f != "__pycache__" and not f.startswith(".") and not _leads_back(here / f, program)
        )
        for file in sorted(files):
            path = here / file
            if path.is_file() or path.is_symlink():
                yield path


def _leads_back(folder: Path, program: Path) -> bool:
    """Is it a link to what is on the way to it, or holds that?"""
    if not folder.is_symlink():
        return False
    passed = [p for p in folder.parents if p == program or program in p.parents]
    return any(Path(os.path.realpath(p)).is_relative_to(os.path.realpath(folder)) for p in passed)


def _bind_names(module: Module) -> None:
    counts: dict[str, int] = {}
    for node in _module_level(module.tree):
        for identifier, kind, target in _bound_by(node):
            counts[identifier] = counts.get(identifier, 0) + 1
            module.bindings[identifier] = Binding(kind, target, counts[identifier] == 1)
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=identifier)], value=value):
                module.values[identifier] = value
            case ast.AnnAssign(target=ast.Name(id=identifier), value=ast.expr() as value):
                module.values[identifier] = value
    for node in ast.walk(module.tree):
        if isinstance(node, ast.NamedExpr):  # in a comprehension it binds a name around
            module.values.pop(node.target.id, None)
        if isinstance(node, ast.Global):
            for identifier in node.names:
                module.bindings[identifier] = Binding("value", node, False)
        elif isinstance(node, ast.ImportFrom) and node.module == "incoq" and node.level == 0:
            for alias in node.names:
                module.incoq_names[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "incoq":
                    module.incoq_names[alias.asname or "incoq"] = "incoq"


_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def _module_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Statements executed at module level, inside `if`, `for`, `try`, `with` too."""
    pending: list[ast.AST] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, _SCOPES):
            continue
        pending.extend(
            reversed([c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.expr_context)])
        )


def _bound_by(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    match node:
        case ast.FunctionDef(name=identifier) | ast.AsyncFunctionDef(name=identifier):
            yield identifier, "function", node
        case ast.ClassDef(name=identifier):
            yield identifier, "class", node
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name.split(".")[0], "import", node
        case ast.Name(id=identifier, ctx=ast.Store() | ast.Del()):
            yield identifier, "value", node
        case ast.ExceptHandler(name=str(identifier)):
            yield identifier, "value", node
        case ast.MatchAs(name=str(identifier)) | ast.MatchStar(name=str(identifier)):
            yield identifier, "value", node
        case ast.MatchMapping(rest=str(identifier)):
            yield identifier, "value", node
