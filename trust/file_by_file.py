"""What is measured of the tests, one file of them after another: kept until the file or the code changes.

So a run goes on with the files that the last one did not come to.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def measured(
    place: Path, files: Iterable[Path], code: bytes, measure: Callable[[Path], Any], budget_seconds: float
) -> tuple[dict[str, Any], list[str]]:
    """What each file was measured to do with this code, as JSON has it, and the files that are left."""
    start = time.perf_counter()
    place.mkdir(parents=True, exist_ok=True)
    ledger = place / "parts.json"
    known: dict[str, dict[str, Any]] = json.loads(ledger.read_text()) if ledger.exists() else {}
    current: dict[str, dict[str, Any]] = {}
    left: list[str] = []
    for path in files:
        name = str(path.relative_to(ROOT))
        key = hashlib.sha256(code + path.read_bytes()).hexdigest()
        if known.get(name, {}).get("key") == key:
            current[name] = known[name]
        elif time.perf_counter() - start < budget_seconds:
            current[name] = {"key": key, "data": measure(path)}
            ledger.write_text(json.dumps({**known, **current}, indent=1))
        else:
            left.append(name)
    return {name: part["data"] for name, part in current.items()}, left
