"""Imports point one way, so that each layer can be read without those above it."""

from __future__ import annotations

import ast
from pathlib import Path

import incoq

ROOT = Path(incoq.__file__).parent

# From the bottom: a module may import what stands in its own layer or below.
LAYERS: list[tuple[str, ...]] = [
    ("errors", "names"),
    ("ir",),
    ("frontend",),
    ("relational",),
    ("planning",),
    ("invariants",),
    ("codegen",),
    ("compile",),
    (
        "counting",
        "evaluate",
        "explain",
        "growth",
        "loading",
        "native",
        "output",
        "pages",
        "profile",
        "spark",
        "stats",
        "verified_run",
        "verify",
    ),
    ("cli",),
    ("__main__",),
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
APART = {"evaluator", "objects"}  # programs run them without the compiler
OUTSIDE = {"testing", "__init__"}  # they use everything


def modules() -> dict[str, Path]:
    return {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in sorted(ROOT.rglob("*.py"))}


def without_type_checking(tree: ast.Module) -> ast.Module:
    """The tree without what only a type checker imports: no layer needs it to run."""
    blocks = [
        n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test).endswith("TYPE_CHECKING")
    ]
    for block in blocks:
        block.body = [ast.Pass()]
    return tree


def imported(path: Path) -> set[str]:
    """What a file imports of incoq, as dotted names below it."""
    found: set[str] = set()
    for node in ast.walk(without_type_checking(ast.parse(path.read_text()))):
        match node:
            case ast.Import(names=aliases):
                found |= {a.name for a in aliases if a.name.split(".")[0] == "incoq"}
            case ast.ImportFrom(module=str(module), level=0, names=aliases) if (
                module.split(".")[0] == "incoq"
            ):
                found |= {f"{module}.{a.name}" for a in aliases} if module == "incoq" else {module}
            case ast.ImportFrom(level=level) if level:
                raise AssertionError(f"{path}: imports are written in full")
    return {name.removeprefix("incoq").lstrip(".") or "__init__" for name in found}


def layer(module: str) -> str:
    """The first part of a name; `explain_text` belongs to `explain`, `verify_tests` to `verify`."""
    name = module.split(".")[0]
    return name if name in LEVEL else name.split("_")[0] if name[0] != "_" else name


def test_every_module_has_a_place() -> None:
    known = LEVEL.keys() | APART | OUTSIDE
    assert {layer(m) for m in modules()} - known == set()


def test_imports_point_down() -> None:
    wrong = [
        f"{module} imports {other}"
        for module, path in modules().items()
        if layer(module) in LEVEL
        for other in sorted(imported(path))
        if layer(other) in LEVEL and LEVEL[layer(other)] > LEVEL[layer(module)]
    ]
    assert wrong == []


def test_siblings_of_one_level_do_not_import_each_other() -> None:
    wrong = [
        f"{module} imports {other}"
        for module, path in modules().items()
        if layer(module) in LEVEL
        for other in sorted(imported(path))
        if layer(other) != layer(module) and LEVEL.get(layer(other)) == LEVEL[layer(module)]
    ]
    doors = set(LAYERS[LEVEL["explain"]])  # they may use one another
    assert [w for w in wrong if layer(w.split()[0]) not in doors] == []


def test_what_programs_run_imports_nothing_of_the_compiler() -> None:
    for module in sorted(APART):
        used = {layer(m) for m in imported(ROOT / f"{module}.py")}
        assert used <= {"errors", "evaluator", "objects"}, module


def test_the_evaluator_shares_no_code_with_planning_or_maintenance() -> None:
    assert {layer(m) for m in imported(ROOT / "evaluator.py")} <= {"errors", "objects"}


def test_the_prelude_stands_alone() -> None:
    assert imported(ROOT / "codegen" / "prelude.py") == set()


def test_nothing_but_spark_imports_spark() -> None:
    for module, path in modules().items():
        if layer(module) != "spark":
            assert "pyspark" not in path.read_text(), module


def test_the_compiler_does_not_need_what_only_tests_use() -> None:
    for module, path in modules().items():
        if layer(module) != "testing":
            assert not {m for m in imported(path) if layer(m) == "testing"}, module
