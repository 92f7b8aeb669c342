"""Load a program in one of the modes that are compared, with its loops counted or not.

`original` is the program without the library (see `originals`). `osq` is the filtered program with demand
passed on by the first clause that binds a variable, which emulates OSQ's strategy; `jql` is the original with
a cache kept as JQL keeps it, an emulation too. `no-…` is the filtered program without one of the savings of
generated code, and `…-gc` the program with the garbage collector on. The modes of `peers` are no versions of
the program: they answer the same query by another library.
"""

from __future__ import annotations

import ast
import linecache
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from incoq.compile import SAVINGS, Compiled, compile_source
from incoq.counting import count_loops
from incoq.evaluate.emulations import CACHES, OPTIMA
from incoq.evaluate.originals import original
from incoq.evaluate.peers import OPTIMAL, PEERS, load_peer
from incoq.growth_counting import Tally

GENERATED: dict[str, dict[str, Any]] = {
    "incremental": {"mode": "incremental"},
    "filtered": {"mode": "filtered", "strategy": "tags"},
    "osq": {"mode": "filtered", "strategy": "first-clause"},
    "no-counts": {"mode": "filtered", "strategy": "tags", "without": ("counts",)},
    "no-guards": {"mode": "filtered", "strategy": "tags", "without": ("guards",)},
    "no-indices": {"mode": "filtered", "strategy": "tags", "without": ("indices",)},
    "no-savings": {"mode": "filtered", "strategy": "tags", "without": SAVINGS},
}
COLLECTING = "-gc"  # how a mode ends that runs with the garbage collector on
LABELS = {
    "osq": "OSQ's strategy (emulated)",
    "jql": "JQL, always caching (emulated)",
    "no-counts": "filtered without counting elimination",
    "no-guards": "filtered without guard removal (type checks)",
    "no-indices": "filtered without dead-index removal",
    "no-savings": "filtered without any saving",
    "incremental-gc": "incremental, garbage collector on",
    "filtered-gc": "filtered, garbage collector on",
    **PEERS,
}
# The paper analyses the case in which each set of followers belongs to one user; its system chose the order
# of loops for it by itself, ours is told.
FACTS = {"running": {"@query\n": '@query(assume=("one celeb per celeb.followers",))\n'}}
_SETS_IN_MESSAGES = ("distributed/ds_crash",)
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


@cache
def text_of(programs: Path, name: str, mode: str) -> tuple[str, Compiled | None]:
    """What is executed in this mode; compiled once, however many processes execute it."""
    path = programs / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    if mode in GENERATED:
        for plain, with_fact in FACTS.get(name, {}).items():
            if text.count(plain) != 1:
                raise ValueError(f"{path} should contain {plain!r} once")
            text = text.replace(plain, with_fact)
        compiled = compile_source(text, filename=str(path), **GENERATED[mode])
        return compiled.code, compiled
    return text + {"jql": CACHES, OPTIMAL: OPTIMA}.get(mode, {}).get(name, ""), None


@cache
def code_of(programs: Path, name: str, mode: str, counted: bool) -> tuple[CodeType, Compiled | None]:
    """The code of a mode, with its loops counted or not; made once too."""
    text, compiled = text_of(programs, name, mode)
    if compiled is not None:
        tree = ast.parse(text)
    else:
        forms = name.startswith("distributed/")
        tree = original(text, name, by_identity=name in _SETS_IN_MESSAGES, forms=forms)
    if counted:
        count_loops(tree, _TALLY)
    filename = f"<{mode} {name}.py>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return compile(tree, filename, "exec"), compiled


def is_program(mode: str) -> bool:
    """Whether a mode is a version of the program, which has code; other peers have none."""
    return mode not in PEERS or mode == OPTIMAL


def load(programs: Path, name: str, mode: str, counted: bool = False) -> Version:
    """The program as a fresh module, whose relations are empty."""
    mode = mode.removesuffix(COLLECTING)
    if not is_program(mode):
        return Version(load_peer(mode), None, None)
    code, compiled = code_of(programs, name, mode, counted)
    module = ModuleType(f"evaluated_{Path(name).name}_{mode}")
    tally = None
    if counted:
        vars(module)[_TALLY] = tally = Tally()
    sys.modules[module.__name__] = module
    for folder in (programs / "distributed", programs):  # what it imports lies there
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    exec(code, vars(module))
    return Version(module, compiled, tally)
