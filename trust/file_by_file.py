"""What is measured of the tests, file by file, two at a time: kept until the file or the code changes.

So a run goes on with the files that the last one did not come to.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WORKERS = 2


def measured(
    place: Path, files: Iterable[Path], code: bytes, measure: Callable[[Path], Any], budget_seconds: float
) -> tuple[dict[str, Any], list[str]]:
    """What each file was measured to do with this code, as JSON has it, and the files that are left."""
    start = time.perf_counter()
    place.mkdir(parents=True, exist_ok=True)
    ledger = place / "parts.json"
    known: dict[str, dict[str, Any]] = json.loads(ledger.read_text()) if ledger.exists() else {}
    keys = {path: hashlib.sha256(code + path.read_bytes()).hexdigest() for path in files}
    names = {path: str(path.relative_to(ROOT)) for path in keys}
    noting = Lock()

    def one(path: Path) -> None:
        if (
            known.get(names[path], {}).get("key") != keys[path]
            and time.perf_counter() - start < budget_seconds
        ):
            part = {"key": keys[path], "data": measure(path)}
            with noting:
                known[names[path]] = part
                ledger.write_text(json.dumps(known, indent=1))

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(one, keys))
    done = {path for path in keys if known.get(names[path], {}).get("key") == keys[path]}
    return (
        {names[path]: known[names[path]]["data"] for path in keys if path in done},
        [names[path] for path in keys if path not in done],
    )
