"""What a user might take instead: other libraries, which keep the running example's data.

Each module has a class `Peer`, which is made from a `World` and has the methods `ask`, `move`, `follow`,
`unfollow`, `join` and `leave`; the group is the first one, celebrities are numbered as demanded. Each is used
as its documentation advises, with indices where it has them, and only where it is installed.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

OPTIMAL = "optimal"
PEERS = {
    OPTIMAL: "re-query, the smaller set first",
    "sqlite": "SQLite, re-query with indices",
    "sqlite-triggers": "SQLite, answers kept by triggers",
    "duckdb": "DuckDB, re-query",
    "polars": "Polars, re-query",
    "reaktiv": "reaktiv, signals",
    "ducks": "ducks, indexed objects",
    "pathway": "Pathway, streaming",
}
_NEEDED = {
    "duckdb": "duckdb",
    "polars": "polars",
    "reaktiv": "reaktiv",
    "ducks": "ducks",
    "pathway": "pathway",
}
THREADED = frozenset({"duckdb", "polars", "pathway"})  # they start threads, so a process cannot be forked


def is_installed(mode: str) -> bool:
    """Whether this mode can run here; one that is no peer can."""
    return mode not in _NEEDED or find_spec(_NEEDED[mode]) is not None


def load_peer(mode: str) -> Any:
    """The module of a peer."""
    return import_module(f"incoq.evaluate.peers.by_{mode.replace('-', '_')}")
