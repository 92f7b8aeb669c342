"""The running example in its versions: the original, run by plain Python, and what the compiler makes of it.

`original` is the text of examples/running_example.py with the library taken out of it: a plain `set`, and a
query that is a plain function. A name with `+fact` declares that each follower set belongs to one user.
"""

import linecache
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

PROGRAM = Path(__file__).resolve().parent.parent / "examples" / "running_example.py"
VERSIONS = ("original", "incremental", "filtered", "incremental+fact", "filtered+fact")

IMPORT = "from incoq import Set, query\n"
WITHOUT_LIBRARY = "Set, query = set, lambda function: function\n"
QUERY = "@query\n"
QUERY_WITH_FACT = '@query(assume=("one celeb per celeb.followers",))\n'


@dataclass(frozen=True)
class Version:
    """A loaded program: its functions by attribute, and what it is able to say about itself."""

    name: str
    module: Any
    compiled: Any | None

    def extra_space(self) -> int:
        """Entries of the sets and maps that the compiler added; none in the original."""
        return 0 if self.compiled is None else int(self.compiled.extra_space(vars(self.module)))


def program_text(*, with_fact: bool) -> str:
    text = PROGRAM.read_text()
    return _replace_once(text, QUERY, QUERY_WITH_FACT) if with_fact else text


def load(name: str) -> Version:
    """Execute one version in a fresh module.

    >>> load("original").module.count_fans.__name__
    'count_fans'
    """
    if name not in VERSIONS:
        raise ValueError(f"no version {name!r}; there are {', '.join(VERSIONS)}")
    mode, _, fact = name.partition("+")
    if mode == "original":
        text = _replace_once(program_text(with_fact=False), IMPORT, WITHOUT_LIBRARY)
        return Version(name, _execute(name, text), None)
    from incoq import compile_source

    compiled = compile_source(program_text(with_fact=bool(fact)), filename=PROGRAM.name, mode=mode)
    return Version(name, _execute(name, compiled.code), compiled)


def _replace_once(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise ValueError(f"{PROGRAM.name} should contain {old!r} once")
    return text.replace(old, new)


def _execute(name: str, text: str) -> ModuleType:
    filename = f"<running example, {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    module = ModuleType("running_example_" + name.replace("+", "_"))
    sys.modules[module.__name__] = module
    exec(compile(text, filename, "exec"), vars(module))
    return module
