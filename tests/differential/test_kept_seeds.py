"""Seeds that once found a fault: each program must now answer as evaluation does, or be refused.

`kept_seeds.json` has them, with what was wrong; `python3 dev.py trust --only volume` adds what it finds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from incoq.testing.driver import Report, Settings, run_seed

# (seed, forms, mode, strategy): what was wrong
KEPT = [
    (6, "core", "filtered", "tags"),  # equal values of different types
    (705, "core", "filtered", "join"),  # a join that nothing looks up when it is released
    (731, "core", "filtered", "join"),  # a field is looked up by its value in no index of a join
    (1737, "core", "filtered", "join"),  # a field of an element that must equal a parameter
    (35, "core", "filtered", "tags"),  # a tuple that holds an element twice
    (60, "core", "incremental", "tags"),  # a tuple as a source that no event fills
    (1085, "core", "filtered", "first-clause"),  # a block nested so deep that it is outlined
    (2073, "core", "filtered", "tags"),  # a set that is a component of its own elements
    (1174, "core", "incremental", "tags"),  # a computed NaN
    (2304, "core", "incremental", "tags"),  # sets inside tuples are compared by identity
    (1071, "core", "filtered", "tags"),  # builtins are no hidden parameters
    (3000122, "core", "filtered", "tags"),  # an index of sets only where other values are looked up
    (86, "all", "incremental", "tags"),  # a query parameter named self
    (106, "all", "filtered", "first-clause"),  # an aggregate with parameters that are not demanded
    (109, "all", "filtered", "tags"),  # a nested answer that changes while it is passed on
    (192, "all", "filtered", "tags"),  # demanded shows what the program asked, not what queries need
    (9614, "all", "filtered", "tags"),  # a nested query called with one variable twice
    (31075, "all", "filtered", "tags"),  # a value that a field gives may be no key
    (31128, "all", "filtered", "first-clause"),  # .items() of something that has none
    (31215, "all", "filtered", "tags"),  # a tag that holds sets only must not prune
    (41106, "all", "filtered", "tags"),  # a nested query that feeds itself, in the cost
    (8268, "all", "filtered", "tags"),  # the length of a list that no query had reached
    (20147, "all", "incremental", "tags"),  # a list that two memberships of one variable range over
    (71044, "all", "incremental", "tags"),  # a selector compared with itself by !=
    (8000366, "all", "filtered", "join"),  # the larger of two sets, where the walk of the smaller is outlined
]
KEPT = json.loads(Path(__file__).with_name("kept_seeds.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept['seed']}-{kept['forms']}-{kept['strategy']}")
def test_a_seed_that_once_found_a_fault_finds_none(kept: dict[str, Any]) -> None:
    settings = Settings(
        each=kept.get("each", 320), mode=kept["mode"], strategy=kept["strategy"], forms=kept["forms"]
    )
    found = run_seed(kept["seed"], settings, Report())
    assert found is None, found.render() if found else ""
