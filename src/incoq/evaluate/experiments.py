"""The experiments of the paper's evaluation, as data: what runs, in which modes, at which sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from incoq.evaluate.drivers import ALL, UPDATES, Point

EVERY = ("original", "incremental", "filtered")
COMPILED = ("incremental", "filtered")
SEED = 20160901


@dataclass(frozen=True)
class Plan:
    """The sizes of a run, how many operations each sample times, and what each sample takes, in seconds."""

    sizes: tuple[int, ...]
    operations: int
    seconds: float
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One figure or table: `axis` says what the sizes are, `limits` up to which size a mode runs."""

    name: str
    title: str
    driver: str
    source: str
    axis: str
    modes: tuple[str, ...]
    full: Plan
    quick: Plan
    parts: tuple[str, ...] = (ALL,)
    limits: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    in_quick: bool = True
    """Whether a quick run has it; the others would make it too long."""

    def plan(self, quick: bool) -> Plan:
        return self.quick if quick else self.full

    def point(self, size: int, quick: bool) -> Point:
        plan = self.plan(quick)
        return Point(size, plan.operations, plan.options)

    def seed(self, size: int) -> int:
        return SEED + size

    def sizes(self, mode: str, quick: bool) -> list[int]:
        limit = self.limits.get(mode)
        return [size for size in self.plan(quick).sizes if limit is None or size <= limit]


def _range(first: int, last: int, step: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1, step))


_USERS = _range(2000, 20_000, 2000)
_FEW_USERS = (2000, 3000, 4000, 6000)
_BOTH_PARTS = (ALL, UPDATES)


def _simulation(
    name: str, title: str, arguments: tuple[object, ...], axis: str, sizes: tuple[int, ...],
    few: tuple[int, ...], seconds: float,
) -> Experiment:  # fmt: skip
    """A distributed algorithm under the simulator; a figure is the time of a whole simulation."""
    options = {"arguments": arguments}
    return Experiment(
        f"{name.replace('_', '-')}-{axis}", f"{title}, varying {axis}", name,
        "Section 7 (distributed algorithms)", axis, COMPILED,
        Plan(sizes, 1, seconds, options), Plan(few, 1, 1, options), in_quick=False,
        note="One operation is a whole simulation, first demand included. There is no original: in plain "
        "Python a message of another form ends the program, where a query passes it over.",
    )  # fmt: skip


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "running-size", "Running example, varying input size", "running", "Figure “varying input size”",
        "users", EVERY, Plan(_USERS, 200_000, 12), Plan(_FEW_USERS, 20_000, 1.5), _BOTH_PARTS,
        note="Three users with n/200 followers, or the nearest to it, and one group are demanded.",
    ),
    Experiment(
        "running-demand", "Running example, varying demand set size", "running",
        "Appendix, figures “demand set size”", "demanded users", COMPILED,
        Plan((1, *_range(2000, 20_000, 2000)), 200_000, 16,
             {"users": 20_000, "demanded": "size", "tagged_only": True}),
        Plan((1, 500, 1000, 2000), 20_000, 1.2, {"users": 2000, "demanded": "size", "tagged_only": True}),
        note="The group is the one with most followers of demanded users, and only these users move.",
    ),
    Experiment(
        "running-osq", "Running example, OSQ's strategy", "running", "Figure “OSQ strategy”", "users",
        ("filtered", "osq"),
        Plan(_USERS, 200_000, 14, {"groups": 5, "demanded": "all"}),
        Plan(_FEW_USERS, 20_000, 1.6, {"groups": 5, "demanded": "all"}),
        note="OSQ is emulated: the same compiler with demand passed on by the first clause of a variable.",
        in_quick=False,
    ),
    Experiment(
        "running-zipf", "Running example, Zipf-distributed data", "running", "Section 7 (Zipf variant)",
        "users", EVERY, Plan(_USERS, 200_000, 12, {"distribution": "zipf"}),
        Plan(_FEW_USERS, 20_000, 1.5, {"distribution": "zipf"}), _BOTH_PARTS,
        note="Weights of 1/rank for who is followed and which groups are joined; the choice is ours.",
        in_quick=False,
    ),
    Experiment(
        "running-big", "Running example, big sets", "running", "not in the paper", "users", EVERY,
        Plan(_USERS, 20_000, 30, {"big": True}), Plan(_FEW_USERS, 500, 2, {"big": True}), _BOTH_PARTS,
        note="Half of all users follow each of the three demanded users, and half are in the group.",
        in_quick=False,
    ),
    Experiment(
        "jql-ratio", "JQL benchmark 2, varying query–update ratio", "jql2",
        "Figure “varying query-update ratio”", "% queries", (*EVERY, "jql"),
        Plan((0, 1, *_range(5, 100, 5)), 5000, 5, {"objects": 1000}),
        Plan((0, 10, 50, 90, 100), 500, 1, {"objects": 200}), in_quick=False,
        note="JQL is emulated: a cache, kept by scanning all other collections at each insertion.",
    ),
    Experiment(
        "jql-size", "JQL benchmark 2, varying input size", "jql2", "Figure “JQL, varying input size”",
        "objects in each collection", (*COMPILED, "jql"),
        Plan(_USERS, 5000, 3, {"percent_queries": 50}),
        Plan((500, 1000, 2000, 4000), 1000, 1, {"percent_queries": 50}),
        note="JQL is emulated: a cache, kept by scanning all other collections at each insertion.",
    ),
    *(
        Experiment(
            f"jql{number}-size", f"JQL benchmark {number}, varying input size", f"jql{number}",
            "Section 7 (JQL)", "objects in each collection", COMPILED,
            Plan(_USERS, 5000, 3, {"percent_queries": 50}),
            Plan((500, 1000, 2000, 4000), 1000, 1, {"percent_queries": 50}), in_quick=False,
        )
        for number in (1, 3)
    ),
    Experiment(
        "wifi", "WiFi", "wifi", "Section 7 (OSQ benchmarks)", "access points", (*EVERY, "osq"),
        Plan(_range(250, 2500, 250), 0, 1), Plan((250, 500, 1000, 2000), 0, 0.8), in_quick=False,
    ),
    Experiment(
        "auth", "Auth", "auth", "Section 7 (OSQ benchmarks)", "permissions", (*EVERY, "osq"),
        Plan(_range(50, 500, 50), 0, 2), Plan((50, 100, 200, 300), 0, 1),
        note="100 users in one active group.",
    ),
    Experiment(
        "auth-demand", "Auth, varying demand", "auth", "Section 7 (OSQ benchmarks)", "demanded users",
        ("incremental", "filtered", "osq"),
        Plan((1, 10, *_range(20, 300, 20)), 0, 2, {"users": 300, "perms": 500, "demanded": "size"}),
        Plan((1, 50, 150, 300), 0, 1, {"users": 300, "perms": 100, "demanded": "size"}),
        note="300 users in one active group.", in_quick=False,
    ),
    Experiment(
        "access-roles", "CheckAccess, varying roles", "access", "Section 7 (RBAC)", "roles", EVERY,
        Plan(_range(10, 100, 10), 1000, 4), Plan((10, 25, 50, 100), 50, 0.8), _BOTH_PARTS,
        note="100 checks in each session, where the published setting has 1,000.",
    ),
    Experiment(
        "access-demand", "CheckAccess, varying demanded objects", "access", "Section 7 (RBAC)",
        "demanded objects", COMPILED,
        Plan((1, *_range(50, 1000, 50)), 1000, 4,
             {"roles": 100, "objects": 1000, "permissions": 100, "demanded": "size"}),
        Plan((1, 100, 500, 1000), 50, 1,
             {"roles": 100, "objects": 1000, "permissions": 100, "demanded": "size"}),
        _BOTH_PARTS,
        note="100 roles with 100 permissions each, on 1,000 objects; 100 checks in each session.",
        in_quick=False,
    ),
    Experiment(
        "birthday", "Birthday", "birthday", "Section 7 (probabilistic queries)", "persons", EVERY,
        Plan((*_range(20, 200, 20), *_range(500, 5000, 500)), 1000, 2),
        Plan((50, 100, 200, 1000, 5000), 500, 0.8), limits={"original": 200},
        note="100 days; the original runs to 200 persons only.",
    ),
    Experiment(
        "cite-author", "Cite author", "cite_author", "Section 7 (probabilistic queries)", "publications",
        EVERY,
        Plan((*_range(100, 2000, 100), 5000), 1000, 1), Plan((500, 1000, 2000, 5000), 500, 0.8),
        in_quick=False,
    ),
    Experiment(
        "cite-exist", "Cite exist", "cite_exist", "Section 7 (probabilistic queries)", "citations", EVERY,
        Plan((*_range(100, 2000, 100), 5000), 1000, 1), Plan((500, 1000, 2000, 5000), 500, 0.8),
        in_quick=False,
    ),
    Experiment(
        "ssd", "SSD", "ssd", "Section 7 (RBAC)", "users, and constraints", EVERY,
        Plan((*_range(2, 20, 2), *_range(25, 100, 5)), 0, 3), Plan((5, 10, 20, 40), 0, 0.8),
        limits={"original": 40}, in_quick=False,
        note="Five roles; every user is given all of them. A step of the figures is one user's five.",
    ),
    _simulation("la_mutex", "La mutex", (5, "size"), "rounds", _range(100, 1000, 100), (10, 20, 40, 80), 20),
    _simulation("la_mutex", "La mutex", ("size", 5), "processes", _range(5, 50, 5), (3, 6, 9, 12), 20),
    _simulation("ra_mutex", "RA mutex", ("size", 10), "processes", _range(2, 20, 2), (2, 4, 6, 8), 5),
    _simulation("ra_token", "RA token", ("size", 10), "processes", _range(10, 70, 10), (3, 6, 9, 12), 20),
    _simulation("sk_token", "SK token", ("size", 10), "processes", _range(5, 40, 5), (3, 6, 9, 12), 10),
    _simulation("cr_leader", "CR leader", ("size",), "processes", _range(10, 80, 10), (5, 10, 20, 40), 2),
    _simulation("hs_leader", "HS leader", ("size",), "processes", _range(10, 100, 10), (5, 10, 20, 40), 2),
    _simulation("two_phase_commit", "2P commit", ("size", -1), "cohorts", _range(10, 60, 10), (5, 10, 20), 3),
    _simulation("ds_crash", "DS crash", ("size", 2, 3), "processes", (*_range(5, 40, 5),), (4, 6, 8, 12), 10),
    _simulation("cl_paxos", "CL Paxos", ("size", 3, 1), "acceptors", _range(1, 6, 1), (1, 2, 3, 4), 10),
)  # fmt: skip

NOT_COVERED = (
    "the originals of the distributed algorithms, which need the library to run",
    "the constant-factor ablation",
    "Table 3, which `incoq stats` prints beside the paper's",
    "the peers: SQLite, DuckDB, Polars, reaktiv, ducks and Pathway",
)
