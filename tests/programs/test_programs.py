"""The paper's programs: the same output in every version, and the oracle of each from its specification."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import math
import operator
import os
import random
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import incoq

PROGRAMS = Path(__file__).parents[2] / "programs"
MODES = ("incremental", "filtered")
VERSIONS = ("original", *MODES)
SEEDS = (1, 2, 3)
NAMES = sorted(
    str(path.relative_to(PROGRAMS).with_suffix(""))
    for path in PROGRAMS.rglob("*.py")
    if path.name != "simulator.py" and path.parent.name not in ("growth", "shared")
)
MUTEX = ("distributed/la_mutex", "distributed/ra_mutex")
RBAC = ("core_rbac", "access")

_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def _helpers_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A program that is run as a script finds the simulator, or what is shared, beside it."""
    monkeypatch.syspath_prepend(str(PROGRAMS))
    monkeypatch.syspath_prepend(str(PROGRAMS / "distributed"))
    yield
    sys.modules.pop("simulator", None)


@cache
def compiled(name: str, mode: str) -> types.CodeType:
    path = PROGRAMS / f"{name}.py"
    code = incoq.compile_source(path.read_text(), str(path), mode=mode).code
    return compile(code, f"<{mode} {path.name}>", "exec")


def load(name: str, version: str) -> Any:
    """The program as a new module, whose relations are empty."""
    module_name = f"program_{next(_numbers)}"
    path = PROGRAMS / f"{name}.py"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if version == "original":
        spec.loader.exec_module(module)
    else:
        exec(compiled(name, version), vars(module))
    return module


def output(module: Any, *args: int) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        module.main(*args)
    return text.getvalue()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, mode) for name in NAMES for mode in MODES],
)
def test_a_compiled_program_prints_what_the_original_prints(name: str, mode: str, seed: int) -> None:
    expected = output(load(name, "original"), seed)
    assert len(set(expected.splitlines())) > 1, "the answers change"
    assert output(load(name, mode), seed) == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_program_needs_no_incoq(name: str) -> None:
    path = PROGRAMS / f"{name}.py"
    for mode in MODES:
        names = compiled(name, mode).co_names
        assert "incoq" not in names, f"{path.name} in mode {mode}"


SMALL = {"core_rbac": (1, 3, 12), "rbac_instances": (1, 3, 12, 2), "access": (1, 3, 40)}


@pytest.mark.parametrize("name", NAMES)
def test_verifying_a_program_finds_no_difference(name: str) -> None:
    args = [str(a) for a in SMALL.get(name, (1,))]
    for mode in MODES:
        command = [
            "-m",
            "incoq.cli",
            "verify",
            "--mode",
            mode,
            "--every",
            "10",
            f"{PROGRAMS / name}.py",
            *args,
        ]
        run = subprocess.run(
            [sys.executable, *command],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(incoq.__file__).parents[1])},
        )
        assert run.returncode == 0, run.stderr
        assert "verify: no differences" in run.stderr
        assert "refused" not in run.stderr


# -- social queries, JQL, WiFi, authorization ------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_fans_are_the_followers_in_the_group_who_are_in_new_york(version: str) -> None:
    program = load("running", version)
    rng = random.Random(5)
    users, celebs, groups = program.make_world(rng, 15)
    for _ in range(150):
        program.step(rng, users, celebs, groups)
        for celeb, group in itertools.product(celebs, groups):
            fans = {u.email for u in users if u in celeb.followers and u in group and u.loc == "NYC"}
            assert program.nyc_fans(celeb, group) == fans


def attended(program: Any, name: str, course: Any) -> list[Any]:
    """The answer of a JQL query, found by looking at every attendance."""
    found = [a for a in program.ATTENDS if a.course is course]
    if name == "jql1":
        return found
    if name == "jql2":
        return [(a, a.student) for a in found]
    return [(a, a.student, course) for a in found]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["jql1", "jql2", "jql3"])
def test_a_course_is_joined_with_those_who_attend_it(name: str, version: str) -> None:
    program = load(name, version)
    rng = random.Random(6)
    students = [program.make_student(f"s{i}") for i in range(8)]
    courses = [program.make_course(f"c{i}") for i in range(4)]
    attends = [program.make_attends(rng.choice(students), rng.choice(courses)) for _ in range(10)]
    query = program.attendances if name == "jql1" else program.attending
    for _ in range(100):
        i = rng.randrange(len(attends))
        attends[i] = program.replace_attends(attends[i], rng.choice(students), rng.choice(courses))
        for course in courses:
            assert query(course) == set(attended(program, name, course))


@pytest.mark.parametrize("version", VERSIONS)
def test_strong_access_points_are_those_above_the_threshold(version: str) -> None:
    program = load("wifi", version)
    rng = random.Random(7)
    wifi, points = program.Wifi(5), []
    for _ in range(200):
        program.step(rng, wifi, points)
        assert wifi.strong() == {p.ssid for p in points if p.strength > wifi.threshold}


@pytest.mark.parametrize("version", VERSIONS)
def test_permissions_come_from_the_active_groups_of_a_user(version: str) -> None:
    program = load("auth", version)
    rng = random.Random(8)
    users = program.Set()
    members = [program.User(i) for i in range(6)]
    groups = [program.Group(i % 2 == 0) for i in range(4)]
    perms = [program.Perm(f"may{i}") for i in range(6)]
    for user in members:
        program.register(user, users)
    for _ in range(200):
        program.step(rng, members, groups, perms)
        for user in members:
            expected = {p.name for g in user.groups if g.active for p in g.perms}
            assert program.permissions(users, user.id) == expected


# -- role-based access control ---------------------------------------------------------------------


def assert_integrity(rbac: Any) -> None:
    """No relation mentions what does not exist; a session has one user, and only roles of that user."""
    assert all(u in rbac.USERS and r in rbac.ROLES for u, r in rbac.UR)
    assert all(op in rbac.OPS and o in rbac.OBJS and r in rbac.ROLES for op, o, r in rbac.PR)
    assert sorted(s for s, _ in rbac.SU) == sorted(rbac.SESSIONS)
    user_of = dict(rbac.SU)
    assert all(u in rbac.USERS for u in user_of.values())
    assert all((user_of[s], r) in rbac.UR and r in rbac.ROLES for s, r in rbac.SR)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", RBAC)
def test_rbac_keeps_its_integrity_and_checks_access_by_active_roles(name: str, version: str) -> None:
    program = load(name, version)
    rng = random.Random(9)
    names = program.Names(rng, 4)
    for _ in range(250):
        program.step(rng, names)
        assert_integrity(program)
        user, op, obj = names.one("u"), names.one("op"), names.one("o")
        assert program.assigned_roles(user) == {r for u, r in program.UR if u == user}
        if op in program.OPS and obj in program.OBJS:
            for session in program.SESSIONS:
                allowed = any((op, obj, r) in program.PR for s, r in program.SR if s == session)
                assert program.check_access(session, op, obj) is allowed


def test_core_rbac_has_the_16_queries_and_21_update_places_of_the_paper() -> None:
    text = (PROGRAMS / "core_rbac.py").read_text()
    assert text.count("@query") == 16
    assert text.count(".add(") + text.count(".remove(") == 21


@pytest.mark.parametrize("instances", [1, 2, 5, 10])
def test_rbac_instances_that_share_collections_print_the_same_in_all_versions(
    instances: int,
) -> None:
    args = (4, 4, 40 * instances, instances)
    expected = output(load("rbac_instances", "original"), *args)
    for mode in MODES:
        assert output(load("rbac_instances", mode), *args) == expected, mode


def test_one_rbac_instance_alone_keeps_its_integrity() -> None:
    program = load("rbac_instances", "filtered")
    rng = random.Random(10)
    names, rbac = program.Names(rng, 4), program.RBAC()
    for _ in range(250):
        program.step(rng, names, rbac)
        assert_integrity(rbac)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("name", "prefix"), [("ssd", "SSD"), ("dsd", "DSD")])
def test_violations_are_exactly_the_pairs_with_c_or_more_roles_of_a_constraint(
    name: str, prefix: str, version: str
) -> None:
    program = load(name, version)
    holders, held = (program.USERS, program.UR) if name == "ssd" else (program.SESSIONS, program.SR)
    limits, members = vars(program)[f"{prefix}NC"], vars(program)[f"{prefix}NR"]
    rng, found = random.Random(11), 0
    for _ in range(250):
        program.step(rng, 5)
        roles = {h: {r for x, r in held if x == h} for h in holders}
        sets = {n: {r for x, r in members if x == n} for n, _ in limits}
        expected = {(h, n) for h in holders for n, c in limits if len(roles[h] & sets[n]) >= c}
        assert program.violations() == expected
        found += len(expected)
    assert found > 100


# -- distributed algorithms ------------------------------------------------------------------------


def mutex_faults(trace: list[tuple[Any, ...]], size: int, rounds: int, ordered: bool = True) -> list[str]:
    """What is wrong with the entries to the critical section, if anything."""
    faults, inside, last = [], None, (-1, -1)
    for process, event, c in trace:
        if event == "leave":
            inside = None
            continue
        if inside is not None:
            faults.append(f"{process} enters while {inside} is inside")
        if ordered and (c, process) <= last:
            faults.append(f"{process} enters out of order")
        inside, last = process, (c, process)
    if len(trace) != 2 * size * rounds:
        faults.append("some round is not complete")
    return faults


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", MUTEX)
def test_processes_enter_one_at_a_time_in_the_order_of_their_requests(name: str, version: str) -> None:
    for seed in range(6):
        assert mutex_faults(load(name, version).simulate(seed, 4, 3).trace, 4, 3) == []


class TokenWatch:
    """At every moment at most one process has the token; requests that are counted are never forgotten."""

    def __init__(self) -> None:
        self.steps, self.counts = 0, dict[int, list[int]]()

    def __call__(self, run: Any) -> None:
        self.steps += 1
        assert sum(process.is_present() for process in run.processes.values()) <= 1
        for process in run.processes.values():
            counts = [*vars(process).get("requested", {}).values()]
            if counts:
                assert all(map(operator.ge, counts, self.counts.get(process.id, counts)))
                self.counts[process.id] = counts


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["distributed/ra_token", "distributed/sk_token"])
def test_only_one_process_has_the_token_and_enters(name: str, version: str) -> None:
    for seed in range(6):
        watch = TokenWatch()
        run = load(name, version).simulate(seed, 4, 3, watch)
        assert mutex_faults(run.trace, 4, 3, ordered=False) == []
        assert sum(process.is_present() for process in run.processes.values()) == 1
        assert watch.steps > 20


def test_what_the_token_says_is_served_never_decreases() -> None:
    """The token that passes from process to process: its entries only grow."""
    for name, field in (("distributed/ra_token", "token"), ("distributed/sk_token", "served")):
        seen: dict[int, int] = {}

        def watch(run: Any, field: str = field, seen: dict[int, int] = seen) -> None:
            for process in run.processes.values():
                if process.is_present():
                    for p, number in getattr(process, field).items():
                        assert number >= seen.get(p, 0)
                        seen[p] = number

        load(name, "filtered").simulate(2, 4, 3, watch)
        assert sum(seen.values()) > 4


def test_la_mutex_needs_fifo_channels() -> None:
    runs = (load("distributed/la_mutex", "filtered").simulate(seed, 4, 3, False) for seed in range(20))
    assert any(mutex_faults(run.trace, 4, 3) for run in runs)


def test_the_literal_ra_mutex_fails_to_exclude() -> None:
    runs = (load("distributed/ra_mutex_literal", "filtered").simulate(seed, 4, 3) for seed in range(20))
    assert any("while" in fault for run in runs for fault in mutex_faults(run.trace, 4, 3))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["distributed/cr_leader", "distributed/hs_leader"])
def test_everybody_learns_that_the_greatest_is_the_leader(name: str, version: str) -> None:
    for seed, size in itertools.product(range(4), (3, 8, 12)):
        run = load(name, version).simulate(seed, size)
        assert sorted(run.trace) == [(p, "leader", size - 1) for p in range(size)]


def test_hs_leader_sends_in_the_order_of_n_log_n_messages() -> None:
    for size in (8, 16, 32):
        run = load("distributed/hs_leader", "filtered").simulate(1, size)
        assert run.messages <= 8 * size * (2 + math.log2(size))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("failure_rate", [-1, 10])
def test_all_commit_if_all_are_ready_and_all_abort_otherwise(failure_rate: int, version: str) -> None:
    for seed in range(5):
        trace = load("distributed/two_phase_commit", version).simulate(seed, 6, failure_rate).trace
        votes = {event[2] for event in trace if event[1] == "vote"}
        decisions = sorted((p, what) for p, what, *_ in trace if what in ("commit", "abort"))
        assert decisions == [(p, "commit" if votes == {"ready"} else "abort") for p in range(7)]
        assert sum(event[1] == "stop" for event in trace) == 6


def decisions(run: Any) -> set[int]:
    return {value for _, event, *rest in run.trace if event == "decide" for value in rest}


@pytest.mark.parametrize("version", VERSIONS)
def test_survivors_of_crashes_decide_the_same_initial_value(version: str) -> None:
    for seed in range(8):
        run = load("distributed/ds_crash", version).simulate(seed, 5, 2, 3)
        initial = set(initial_values(seed, 5))
        assert len(decisions(run)) == 1
        assert decisions(run) <= initial
        assert sum(event[1] == "decide" for event in run.trace) >= 3


def initial_values(seed: int, size: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(100) for _ in range(size)]


def test_f_rounds_are_too_few_to_agree_under_f_crashes() -> None:
    """The holder of the least value crashes after telling one other, who has no round left to pass it on."""
    program = load("distributed/ds_crash", "filtered")
    values = initial_values(1, 4)
    holder = values.index(min(values))
    after = 2 if holder == 0 else 1
    assert len(decisions(program.simulate(1, 4, 1, 1, {holder: after}))) == 2
    assert len(decisions(program.simulate(1, 4, 1, 2, {holder: after}))) == 1


@pytest.mark.parametrize("version", ["original", "incremental", "filtered"])
@pytest.mark.parametrize("acceptors", [1, 2, 3])
def test_paxos_chooses_one_value_that_was_proposed(acceptors: int, version: str) -> None:
    for seed in range(4):
        trace = load("distributed/cl_paxos", version).simulate(seed, acceptors, 3).trace
        chosen = [event[2] for event in trace if event[1] == "chosen"]
        announced = {event[2] for event in trace if event[1] == "announce"}
        assert len(chosen) == 3
        assert announced == set(chosen)
        assert len(announced) == 1
        assert announced <= {100 + p for p in range(acceptors, acceptors + 3)}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("crash_after", [None, {0: 3}, {2: 0}])
def test_learners_learn_one_value_that_was_proposed(crash_after: Any, version: str) -> None:
    for seed in range(5):
        run = load("distributed/la_paxos", version).simulate(seed, 3, 3, 2, crash_after)
        learned = {event[0]: event[2] for event in run.trace if event[1] == "learn"}
        assert learned.keys() == {6, 7}, "both learners make progress"
        assert len(set(learned.values())) == 1
        assert set(learned.values()) <= {103, 104, 105}


def test_proposers_of_lamport_paxos_contend_with_different_values() -> None:
    """Else agreement would be no achievement."""
    runs = [load("distributed/la_paxos", "filtered").simulate(seed) for seed in range(20)]
    proposed = [{event[3] for event in run.trace if event[1] == "propose"} for run in runs]
    assert any(len(values) == 3 for values in proposed)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("crash_after", [None, {0: 3}, {1: 0}])
def test_replicas_perform_every_command_once_and_in_the_same_order(crash_after: Any, version: str) -> None:
    for seed in range(5):
        run = load("distributed/vr_paxos", version).simulate(seed, 2, 3, crash_after=crash_after)
        performed = {p: [e[2] for e in run.trace if e[:2] == (p, "perform")] for p in (5, 6)}
        assert performed[5] == performed[6]
        assert sorted(performed[5]) == [(client, number) for client in (7, 8) for number in range(3)]
        assert sum(event[1] == "answered" for event in run.trace) == 6


def test_leaders_of_vr_paxos_take_over_from_each_other() -> None:
    runs = [load("distributed/vr_paxos", "filtered").simulate(seed) for seed in range(20)]
    assert any(len({e[0] for e in run.trace if e[1] == "lead"}) == 2 for run in runs)


# -- probabilistic queries -------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_23_persons_share_a_birthday_in_about_half_of_the_samples(mode: str) -> None:
    assert load("birthday", mode).frequency(1, 23, 365, 100_000) == pytest.approx(0.507, abs=0.03)


@pytest.mark.parametrize("version", VERSIONS)
def test_shared_days_are_the_birthdays_of_more_than_one(version: str) -> None:
    program = load("birthday", version)
    rng = random.Random(12)
    world = program.World(rng, 12, 30)
    for _ in range(150):
        world.resample(rng.randrange(12))
        assert program.shared_days() == sum(world.birthday.count(d) > 1 for d in range(30))


@pytest.mark.parametrize("version", VERSIONS)
def test_cited_authors_are_counted(version: str) -> None:
    program = load("cite_author", version)
    rng = random.Random(13)
    at_hand = [program.publish(rng.choice(program.AUTHORS)) for _ in range(20)]
    counts = set()
    for _ in range(150):
        program.attribute(rng.choice(at_hand), rng.choice(program.AUTHORS))
        program.withdraw(at_hand.pop(0))
        at_hand.append(program.publish(rng.choice(program.AUTHORS)))
        counts.add(program.by_einstein())
        assert program.by_einstein() == [p.author for p in at_hand].count("Einstein")
    assert len(counts) > 2
    program.withdraw_all()
    assert program.by_einstein() == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_citations_of_galileo_by_einstein_are_counted(version: str) -> None:
    program = load("cite_exist", version)
    rng = random.Random(14)
    draw: Callable[[], Any] = lambda: program.random_publication(rng)  # noqa: E731  # a name for one draw
    at_hand = [program.cite(draw(), draw()) for _ in range(60)]
    counts = set()
    for _ in range(200):
        program.step(rng, at_hand)
        ends = [(c.source.author, c.target.author) for c in at_hand]
        counts.add(program.einstein_cites_galileo())
        assert program.einstein_cites_galileo() == ends.count(("Einstein", "Galileo"))
    assert len(counts) > 1
    program.withdraw_all()
    assert program.einstein_cites_galileo() == 0
