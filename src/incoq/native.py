"""Build a compiled program as C extensions, through Cython.

Before:    program.py, _program_support.py       the program, and what it maintains, as Python
After:     the same files, and beside each an extension (program.cpython-311-x86_64-linux-gnu.so), which
           Python imports in its place
Invariant: the same text gives the same answers; where an extension is missing, or fits another interpreter,
           Python takes the text
Cost:      half a minute of compiling; no package is needed when the program runs

Cython takes the text as it is. What makes it pay is to tell it which globals are dicts, sets and lists for
good: the structures that are maintained are looked up without a detour through the module's own dict. And the
class of a value is at hand in C, where to read `__class__` is to look an attribute up.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

# Sets of classes whose values need no closer look; what is not in them is looked at, so that a set that says
# it has another class than it has costs time alone.
_USUAL = frozenset(("REFLEXIVE", "HASHABLE", "FITTING", "COMPARED"))
_DIRECTIVES = "# cython: language_level=3, annotation_typing=False, infer_types=False\n"
_FLAGS = "-O2 -g0"
_HOLE = "cdef_"  # stands before a local name with its type until the text is printed
SUPPORT = "_support"


def build(program: list[Path]) -> Iterator[str]:
    """Build an extension beside each file of a program; a sentence for each says what came of it.

    A package's `__init__` and `__main__` stay as they are: they only start what the others hold.
    """
    if importlib.util.find_spec("Cython") is None:
        yield "not built: Cython is missing, so the program runs as Python; pip install 'incoq[native]'"
        return
    compiler = c_compiler()
    if compiler is not None and shutil.which(compiler) is None:
        yield f"not built: no C compiler ({compiler}) is found, so the program runs as Python"
        return
    places = [p for p in program if p.suffix == ".py" and not p.stem.startswith("__")]
    texts = {place: place.read_text(encoding="utf-8") for place in places}
    kinds = {
        name: kind
        for place, text in texts.items()
        if place.stem.endswith(SUPPORT)
        for name, kind in _containers(ast.parse(text))
    }
    for place, text in texts.items():
        yield _built(place, typed(text, kinds, is_support=place.stem.endswith(SUPPORT)))


def _built(place: Path, text: str) -> str:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="incoq-native-") as folder:
        source = Path(folder, f"{place.stem}.pyx")
        source.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", str(source)]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "CFLAGS": _FLAGS}, capture_output=True, text=True
        )
        built = source.with_name(place.stem + sysconfig.get_config_var("EXT_SUFFIX"))
        if done.returncode or not built.exists():
            lines = [line for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
            return "\n".join([f"not built: {place} runs as Python; the build said:", *lines[-5:]])
        target = place.with_name(built.name)
        shutil.copyfile(built, f"{target}.new")
        os.replace(f"{target}.new", target)  # a running program keeps the one that it has loaded
    return f"built {target} in {time.perf_counter() - start:.0f} s"


def c_compiler() -> str | None:
    """The compiler that this Python builds extensions with; None where its platform does not name one."""
    words = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
    return words[0] if words else None


def typed(text: str, kinds: Mapping[str, str], is_support: bool = False) -> str:
    """The text for Cython: each name of `kinds`, a dict, set or list for good, has an alias with its type.

    `tag_u = set()` stays what other modules import; `cdef set c_tag_u = tag_u` is the same object. Local
    names of the support code that only ever mean a dict or set out of such a structure have types, too.
    """
    tree = ast.parse(text)
    if is_support:
        tree = _Classes().visit(tree)
    taken = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    aliases = {n: f"c_{n}" for n in kinds if f"c_{n}" not in taken}
    parts = [_DIRECTIVES]
    values = _values(tree, aliases)
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            for node in ast.walk(statement):
                if isinstance(node, ast.FunctionDef) and is_support:
                    told = [f"{_HOLE}{kind}_{local}" for local, kind in _locals(node, values)]
                    node.body[:0] = [ast.Expr(ast.Name(one, ast.Load())) for one in told]
                if isinstance(node, ast.Name) and node.id in aliases:
                    node.id = aliases[node.id]
        parts.append(re.sub(rf"\b{_HOLE}(dict|set)_", r"cdef \1 ", ast.unparse(statement)))
        parts += [f"cdef {kinds[n]} {aliases[n]} = {n}" for n in _defined(statement) if n in aliases]
    return "\n".join(parts) + "\n"


class _Classes(ast.NodeTransformer):
    """`v.__class__ in HASHABLE` becomes `type(v) in HASHABLE`, and what asks for a tuple asks once."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        match node:
            case ast.Compare(
                left=ast.Attribute(value=value, attr="__class__"),
                ops=[ast.In() | ast.NotIn()],
                comparators=[ast.Name(id=name)],
            ) if name in _USUAL:
                return ast.Compare(
                    ast.Call(ast.Name("type", ast.Load()), [value], []), node.ops, node.comparators
                )
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        match node:
            case ast.BoolOp(
                op=ast.Or(),
                values=[
                    ast.Compare(ops=[ast.Is()], comparators=[ast.Name(id="tuple")]),
                    ast.Call(func=ast.Name(id="isinstance")) as asked,
                ],
            ):
                return asked
        return self.generic_visit(node)


def _values(tree: ast.Module, structures: Collection[str]) -> dict[str, str]:
    """What the entries of a structure are, where all that are ever stored are new sets, or all new dicts."""
    stored: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[*targets], value=value):
                for target in targets:
                    match target:
                        case ast.Subscript(value=ast.Name(id=holder)):
                            stored.setdefault(holder, set()).add(_display(value))
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=holder))):
                stored.setdefault(holder, set()).add("")
            case ast.Call(func=ast.Attribute(value=ast.Name(id=holder), attr="update" | "setdefault")):
                stored.setdefault(holder, set()).add("")
    return {
        holder: kinds.pop()
        for holder, kinds in stored.items()
        if holder in structures and len(kinds) == 1 and "" not in kinds
    }


def _display(value: ast.expr) -> str:
    match value:
        case ast.Set() | ast.Call(func=ast.Name(id="set"), keywords=[]):
            return "set"
        case ast.Dict():
            return "dict"
    return ""


def _locals(function: ast.FunctionDef, values: Mapping[str, str]) -> list[tuple[str, str]]:
    """The local names of a function that only ever mean such an entry, or nothing, with their types."""
    nodes = list(ast.walk(function))
    if any(isinstance(node, (ast.FunctionDef, ast.Lambda)) for node in nodes[1:]):
        return []
    bound = Counter(n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    bound.update(n.arg for n in nodes if isinstance(n, ast.arg))
    meant: dict[str, list[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    meant.setdefault(target.id, []).append(_entry(node.value, values))
    return [
        (local, kind)
        for local, kinds in meant.items()
        for kind in ("dict", "set")
        if kind in kinds and {kind, "None"} >= set(kinds) and bound[local] == len(kinds)
    ]


def _entry(value: ast.expr, values: Mapping[str, str]) -> str:
    """What is assigned: an entry of a structure, a new container, or nothing."""
    match value:
        case ast.Constant(value=None):
            return "None"
        case ast.Subscript(value=ast.Name(id=holder)):
            return values.get(holder, "")
        case ast.Call(func=ast.Attribute(value=ast.Name(id=holder), attr="get"), args=[_], keywords=[]):
            return values.get(holder, "")
    return _display(value)


def _containers(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each global that holds one dict, set or list all its life, with its type."""
    names = [name for statement in tree.body for name in _defined(statement)]
    elsewhere = {
        node.id
        for statement in tree.body
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef))
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    } | {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if names.count(name) != 1 or name in elsewhere:
                    continue
            case _:
                continue
        match value:
            case ast.Dict():
                yield name, "dict"
            case ast.List():
                yield name, "list"
            case ast.Set() | ast.Call(func=ast.Name(id="set"), args=[], keywords=[]):
                yield name, "set"


def _defined(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ImportFrom(names=names):
            return [alias.asname or alias.name for alias in names]
    return []
