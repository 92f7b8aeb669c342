"""Load a program in one of the modes that are compared, with its loops counted or not.

`original` is the program with the library taken out of it: a plain `set`, and a query that is a plain
function, run as written at each call. `osq` is the filtered program with demand passed on by the first
clause that binds a variable, which emulates OSQ's strategy; `jql` is the original with a cache kept as JQL
keeps it, an emulation too.
"""

from __future__ import annotations

import ast
import linecache
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from incoq.compile import Compiled, compile_source
from incoq.counting import count_loops
from incoq.evaluate.emulations import CACHES
from incoq.growth_counting import Tally

_IMPORT = "from incoq import Set, query\n"
_WITHOUT_LIBRARY = """def query(*functions, **options):
    return functions[0] if functions else lambda function: function


Set = set
"""
GENERATED: dict[str, dict[str, Any]] = {
    "incremental": {"mode": "incremental"},
    "filtered": {"mode": "filtered", "strategy": "tags"},
    "osq": {"mode": "filtered", "strategy": "first-clause"},
}
LABELS = {"osq": "OSQ's strategy (emulated)", "jql": "JQL, always caching (emulated)"}
_TALLY = "_evaluate_tally"


@dataclass(frozen=True)
class Version:
    """A loaded program: its functions are attributes of `module`; `tally` counts iterations, if asked for."""

    module: Any
    compiled: Compiled | None
    tally: Tally | None

    def extra_space(self) -> int:
        """Entries that were added to the program's own data, as the paper counts them."""
        if self.compiled is not None:
            return self.compiled.extra_space(vars(self.module))
        kept = getattr(self.module, "CACHE", {})
        return len(kept) + sum(map(len, kept.values()))


def load(programs: Path, name: str, mode: str, counted: bool = False) -> Version:
    """The program as a fresh module, whose relations are empty."""
    path = programs / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    compiled = None
    if mode in GENERATED:
        compiled = compile_source(text, filename=str(path), **GENERATED[mode])
        text = compiled.code
    else:
        if text.count(_IMPORT) != 1:
            raise ValueError(f"{path} should contain {_IMPORT!r} once")
        text = text.replace(_IMPORT, _WITHOUT_LIBRARY)
        if mode == "jql":
            text += CACHES[name]
    tree = ast.parse(text)
    module = ModuleType(f"evaluated_{path.stem}_{mode}")
    tally = None
    if counted:
        count_loops(tree, _TALLY)
        tally = Tally()
        vars(module)[_TALLY] = tally
    filename = f"<{mode} {path.name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    sys.modules[module.__name__] = module
    sys.path[:0] = [str(programs), str(programs / "distributed")]  # what it imports lies there
    exec(compile(tree, filename, "exec"), vars(module))
    return Version(module, compiled, tally)
