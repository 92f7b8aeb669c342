"""Load the versions of a case's program: each is a module with the same functions."""

import importlib.util
import itertools
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.hand_written.cases import Case

ROOT = Path(__file__).resolve().parents[2]
IMPORT = "from incoq import Set, query\n"
WITHOUT_LIBRARY = """def query(*functions, **options):
    return functions[0] if functions else lambda function: function


Set = set
"""

HAND, NAIVE, REQUERY = "by hand", "naive", "re-query"
GENERATED: dict[str, dict[str, Any]] = {
    "incremental": {"mode": "incremental"},
    "filtered": {"mode": "filtered", "strategy": "tags"},
    "join": {"mode": "filtered", "strategy": "join"},
    "auto": {"mode": "filtered", "strategy": "auto"},
}
VERSIONS = (HAND, NAIVE, REQUERY, *GENERATED)
_numbers = itertools.count()
sys.path.append(str(ROOT / "programs"))  # where programs find what they share


def load(case: Case, version: str) -> tuple[Any, Any]:
    """The program and, of a generated one, what the compiler knows about it."""
    if version == HAND:
        name = case.name.replace(" ", "_")
        path = Path(__file__).with_name("by_hand") / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"by_hand_{next(_numbers)}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module, None
    text = (ROOT / case.program).read_text() + case.extra
    if version in (NAIVE, REQUERY):
        if text.count(IMPORT) != 1:
            raise ValueError(f"{case.program} should contain {IMPORT!r} once")
        text = text.replace(IMPORT, WITHOUT_LIBRARY)
        module = _execute(version, text + (case.requery if version == REQUERY else ""))
        for name in ("demand", "release"):  # nothing is kept, so nothing is demanded
            vars(module).pop(name, None)
        return module, None
    return compiled(case, **GENERATED[version])


def compiled(case: Case, **options: Any) -> tuple[Any, Any]:
    """The program as the compiler makes it."""
    from incoq import compile_source

    text = (ROOT / case.program).read_text() + case.extra
    made = compile_source(text, filename=case.program, **options)
    return _execute(str(options), made.code), made


def extra_space(program: Any, compiled: Any) -> int:
    """Entries of what is kept beside the program's own data: elements of sets, keys and images of maps."""
    if compiled is not None:
        return int(compiled.extra_space(vars(program)))
    return sum(map(_entries, getattr(program, "STRUCTURES", ())))


def _entries(structure: Any) -> int:
    if isinstance(structure, dict):
        return len(structure) + sum(map(_entries, structure.values()))
    return len(structure) if isinstance(structure, set) else 0


def _execute(version: str, text: str) -> ModuleType:
    module = ModuleType(f"version_{next(_numbers)}")
    filename = f"<{version}, {module.__name__}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    sys.modules[module.__name__] = module
    programs = str(ROOT / "programs")  # where the programs find what they share
    if programs not in sys.path:
        sys.path.append(programs)
    exec(compile(text, filename, "exec"), vars(module))
    return module
