"""Incremental queries over live Python objects: write a comprehension, get its answer in constant time.

`Set`, `query`, `lru` and `batch` are what programs use; `compile_source` and `compile_path` are the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incoq.errors import CompileError, IncoqError, IncoqRuntimeError, Notice
from incoq.objects import Set, batch, lru, query

if TYPE_CHECKING:
    from incoq.compile import Compiled, compile_path, compile_source

__version__ = "0.1.0"
__all__ = [
    "CompileError",
    "Compiled",
    "IncoqError",
    "IncoqRuntimeError",
    "Notice",
    "Set",
    "batch",
    "compile_path",
    "compile_source",
    "lru",
    "query",
]


def __getattr__(name: str) -> Any:
    """The compiler is loaded when first used: programs that only run need none of it."""
    if name in ("Compiled", "compile_path", "compile_source"):
        from incoq import compile as compiler

        return getattr(compiler, name)
    raise AttributeError(f"module 'incoq' has no attribute {name!r}")
