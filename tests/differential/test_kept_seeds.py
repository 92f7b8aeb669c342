"""Seeds that once found a fault: each program must now answer as evaluation does, or be refused.

`kept_seeds.json` has them, with what was wrong; `python3 dev.py trust --only volume` adds what it finds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from incoq.testing.driver import Report, Settings, run_seed

KEPT = json.loads(Path(__file__).with_name("kept_seeds.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept['seed']}-{kept['forms']}-{kept['strategy']}")
def test_a_seed_that_once_found_a_fault_finds_none(kept: dict[str, Any]) -> None:
    settings = Settings(
        each=kept.get("each", 320), mode=kept["mode"], strategy=kept["strategy"], forms=kept["forms"]
    )
    found = run_seed(kept["seed"], settings, Report())
    assert found is None, found.render() if found else ""
