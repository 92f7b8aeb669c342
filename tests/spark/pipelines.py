"""Small pipelines for tests: a program, events as tuples, and tasks that run in the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from incoq.spark.deployment import deploy_source
from incoq.spark.pipeline import Pipeline
from incoq.spark.results import result_lines
from incoq.spark.session import in_process
from incoq.spark.store import Store

RUNNING = """
from incoq import Set, query

class User:
    def __init__(self, email, loc):
        self.email, self.loc, self.followers = email, loc, Set()

@query
def nyc_fans(celeb, group):
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}
"""

WORLD = [
    ("field_followers", "assign", "c1", "s1"),
    ("field_loc", "assign", "u1", "NYC"),
    ("field_loc", "assign", "u2", "Oslo"),
    ("field_email", "assign", "u1", "a@b.org"),
    ("field_email", "assign", "u2", "c@d.org"),
    ("member", "add", "s1", "u1"),
    ("member", "add", "s1", "u2"),
    ("member", "add", "g1", "u1"),
    ("member", "add", "g1", "u2"),
    ("demand_nyc_fans", "add", "c1", "g1"),
]


def lines(events: list[tuple[Any, ...]], first: int = 1) -> list[str]:
    return [
        json.dumps({"seq": first + number, "rel": relation, "op": op, "values": list(values)})
        for number, (relation, op, *values) in enumerate(events)
    ]


def pipeline(folder: Path, text: str = RUNNING, partitions: int = 2, **options: Any) -> Pipeline:
    store = Store(folder / "store")
    store.path.mkdir(parents=True)
    store.deploy(deploy_source(text))
    made = Pipeline(store, in_process, **options)
    made.init(partitions)
    return made


def results(made: Pipeline | Store, query: str = "nyc_fans") -> list[tuple[list[Any], Any]]:
    store = made.store if isinstance(made, Pipeline) else made
    found = [json.loads(line) for line in result_lines(store, query)]
    return [(row["params"], row["result"]) for row in found]
