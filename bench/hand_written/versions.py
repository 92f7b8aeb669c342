"""Load the versions of a case's program: each is a module with the same functions."""

import importlib.util
import itertools
import linecache
import sys
import sysconfig
import tempfile
import weakref
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
NATIVE = "native"  # `auto`, built as C; only on demand, for it takes a while to build
VERSIONS = (HAND, NAIVE, REQUERY, *GENERATED)
ALL = (*VERSIONS, NATIVE)
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
    if version == NATIVE:
        return native(case)
    return compiled(case, **GENERATED[version])


def native(case: Case) -> tuple[Any, Any]:
    """The program with its support code built as an extension, as `incoq compile --native` leaves it."""
    from incoq import compile_path
    from incoq.native import build
    from incoq.output import write_program

    folder = Path(tempfile.mkdtemp(prefix="incoq-bench-"))
    program = folder / f"{case.name.replace(' ', '_')}_{next(_numbers)}.py"
    program.write_text((ROOT / case.program).read_text() + case.extra)
    target = folder / f"native_{program.name}"
    made = compile_path(program, mode="filtered", strategy="auto")
    written = write_program(made, program, target, is_apart=True)
    for outcome in build(written):
        print(outcome, file=sys.stderr)
    sys.path.insert(0, str(folder))
    module, kept = (importlib.import_module(place.stem) for place in written)
    for built in (module, kept):
        assert (built.__file__ or "").endswith(sysconfig.get_config_var("EXT_SUFFIX")), (
            "there is no native build"
        )
    vars(module).update({i.name: vars(kept)[i.name] for i in made.plan.structures()})  # to be measured
    return module, made


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
    weakref.finalize(module, linecache.cache.pop, filename, None)
    programs = str(ROOT / "programs")  # where the programs find what they share
    if programs not in sys.path:
        sys.path.append(programs)
    sys.modules[module.__name__] = module  # where `dataclass` looks
    try:
        exec(compile(text, filename, "exec"), vars(module))
    finally:
        del sys.modules[module.__name__]
    return module
