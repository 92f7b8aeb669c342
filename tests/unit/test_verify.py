"""The checker of invariants: it accepts what is right and finds what was made wrong."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_cli import in_process

import incoq
from incoq.verify import Checker, Difference

PROGRAM = """
import math
from incoq import Set, query

class User:
    def __init__(self, email, loc):
        self.email, self.loc, self.followers = email, loc, Set()

@query
def fans(celeb, group):
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}

@query(demand=("celeb",))
def pairs(celeb, u):
    return {(u.loc, x) for x in u.followers for u in celeb.followers}

ann, bob, cid = User("a", "NYC"), User("b", "NYC"), User("a", "NYC")
group = Set([ann, bob, cid])
for user in (ann, bob, cid):
    bob.followers.add(user)
ann.followers.add(cid)
fans(bob, group)
pairs(bob, ann)
"""


class World:
    """A compiled program, loaded."""

    def __init__(self, text: str, **options: Any) -> None:
        self.compiled = incoq.compile_source(text, **{"strategy": "tags", **options})
        self.names: dict[str, Any] = {"__name__": "program"}
        exec(compile(self.compiled.code, "<compiled>", "exec"), self.names)
        self.checker = Checker(self.compiled, self.names)

    def check(self) -> None:
        self.checker.check()

    def __getitem__(self, name: str) -> Any:
        return self.names[name]

    def run(self, code: str) -> None:
        """Execute code of the program's, with its updates as the compiler renders them."""
        exec(code, self.names)


MODES = [{}, {"strategy": "first-clause"}, {"mode": "incremental"}, {"without": ["counts"]}]


@pytest.mark.parametrize("options", MODES, ids=str)
def test_a_right_program_passes(options: dict[str, Any]) -> None:
    world = World(PROGRAM, **options)
    world.check()
    world.run("set_loc('Oslo', ann); bob.followers.discard(cid); group.clear(); fans.release(bob, group)")
    world.check()


DAMAGE: dict[str, tuple[str, Callable[[World], object]]] = {
    "an element missing from an index": (
        "fil_inv_member_2", lambda w: w["fil_inv_member_2"][w["ann"]].discard(w["group"]),
    ),
    "a key missing from an index": ("fil_inv_followers", lambda w: w["fil_inv_followers"].clear()),
    "an element too many in an index": (
        "fil_inv_member_2", lambda w: w["fil_inv_member_2"][w["ann"]].add(w["ann"].followers),
    ),
    "an empty image left in an index": (
        "fil_inv_followers", lambda w: w["fil_inv_followers"].update({w["group"]: set()}),
    ),
    "a count too high in a tag": ("tag_u_1", lambda w: w["tag_u_1"].update({w["ann"]: 2})),
    "a value too many in a tag": ("tag_celeb", lambda w: w["tag_celeb"].update({w["ann"]: 1})),
    "a value missing from an intersection": ("tag_u", lambda w: w["tag_u"].discard(w["ann"])),
    "a count too low in an answer": (
        "r_fans", lambda w: w["r_fans"][w["bob"], w["group"]].update({"a": 1}),
    ),
    "an element missing from an answer": ("r_fans", lambda w: w["r_fans"][w["bob"], w["group"]].pop("b")),
    "an element too many in an answer": (
        "r_fans", lambda w: w["r_fans"][w["bob"], w["group"]].update({"z": 1}),
    ),
    "a row missing under a parameter that is not demanded": (
        "r_pairs", lambda w: w["r_pairs"][w["bob"]].pop(w["ann"]),
    ),
    "a demanded combination missing from its index": (
        "demand_fans_1_2", lambda w: w["demand_fans_1_2"].clear(),
    ),
    "a field changed without maintenance": ("r_fans", lambda w: setattr(w["ann"], "loc", "Oslo")),
    "a set changed without maintenance": ("tag_u_2", lambda w: set.discard(w["group"], w["ann"])),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_seeded_damage_is_found_and_named(what: str) -> None:
    invariant, damage = DAMAGE[what]
    world = World(PROGRAM)
    world.check()
    damage(world)
    with pytest.raises(AssertionError) as caught:
        world.check()
    assert isinstance(caught.value, Difference)
    assert caught.value.invariant.name == invariant
    message = str(caught.value)
    assert message.startswith(f"{invariant} is not what its definition says\n  definition: {invariant} = ")
    assert "expected:" in message
    assert "found:" in message


@pytest.mark.parametrize(
    ("invariant", "code"),
    [
        ("inv_member", "inv_member[ann].discard(group)"),
        ("inv_member", "inv_member[ann].add(ann.followers)"),
        ("inv_member", "del inv_member[ann]"),
        ("inv_followers", "inv_followers[bob.followers].clear()"),
    ],
)
def test_damage_to_an_index_over_all_objects_is_found(invariant: str, code: str) -> None:
    world = World(PROGRAM, mode="incremental")
    world.check()
    world.run(code)
    with pytest.raises(Difference) as caught:
        world.check()
    assert caught.value.invariant.name == invariant


def test_listed_objects_must_be_indexed_though_nothing_reaches_them() -> None:
    world = World(PROGRAM, mode="incremental")
    world.run("loner = User('x', 'y')")
    world["inv_followers"].pop(world["loner"].followers)
    world.check()
    with pytest.raises(Difference):
        Checker(world.compiled, world.names, objects=[world["loner"]]).check()


QUERIES = {
    "tuple patterns": "{(a, c) for (a, (b, c)) in o.s if (b, 1) in o.t}",
    "constants and wildcards": "{a for (a, b, c) in o.s if (a, _, 1) in o.s}",
    "repeated variables": "{a for (a, a) in o.s}",
    "a short circuit": "{x for x in o.s if o.flag or x.missing}",
    "a negated membership": "{x for x in o.s if x not in o.t}",
    "the truth of a set": "{x for x in o.s if not o.t}",
    "the length of a set": "{len(o.t) + x for x in o.s}",
    "a shared variable": "{(x, y) for x in o.s for y in o.t if x == y}",
    "a pure module": "{math.sqrt(x) for x in o.s if math.floor(x) > 0}",
    "an exception": "{1 / x for x in o.s}",
    "a nested query": "{x for x in o.s if len({y for y in o.t if y != x}) > 1}",
    "a nested extreme": "{x for x in o.s if x > min({y for y in o.t})}",
    "an aggregate": "sum(x for x in o.s if x in o.t)",
    "an aggregate that may be empty": "max({x for x in o.s if x in o.t})",
}
UPDATES = """
o = O(); o.flag = False; o.s = Set(); o.t = Set()
ask(o)
for x in (1, (1, 1), (1, 2, 1), 0, (2, (3, 4)), 2, float("nan"), 1.5, o):
    o.s.add(x); tick()
for x in (1, (3, 1), 2, o):
    o.t.add(x); tick()
o.flag = True; tick()
o.s.discard(1); tick()
o.t.clear(); tick()
o.s, o.t = o.t, o.s; tick()
del o.s; tick()
o.s = (1, 1, 2, o); tick()
o.t = frozenset({2}); tick()
o.s = None; tick()
"""


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
@pytest.mark.parametrize("what", QUERIES)
def test_every_form_of_query_passes_through_all_updates(what: str, mode: str) -> None:
    text = "import math\nfrom incoq import Set, query\nclass O: pass\n"
    text += f"@query\ndef q(o):\n    return {QUERIES[what]}\n"
    text += "def ask(o):\n    try:\n        return q(o)\n    except ValueError:\n        return None\n"
    text += "def run(tick):\n" + "".join(f"    {line}\n" for line in UPDATES.strip().splitlines())
    world = World(text, mode=mode)
    checks: list[int] = []

    def tick() -> None:
        world.check()
        checks.append(1)

    world["run"](tick)
    assert len(checks) == 21


def test_nothing_is_checked_once_the_program_reached_what_is_refused() -> None:
    world = World("from incoq import query\n@query\ndef q(s):\n    return {x for x in s}\n")
    with pytest.raises(Exception, match="IQ301"):
        world["q"](iter([1]))
    world["r_q"][5] = {1: 1}
    world.check()


def test_the_checker_shares_nothing_with_planning_and_code_generation() -> None:
    package = Path(incoq.__file__).parent
    for file in sorted(package.glob("verify*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not node.module.startswith(("incoq.planning", "incoq.codegen", "incoq.invariants")), (
                    file
                )


def test_nan_is_found_again() -> None:
    world = World(QUERY_OF_NAN)
    world["s"].add(math.nan)
    world.check()


QUERY_OF_NAN = """
from incoq import Set, query
@query
def q(s):
    return {x + 1 for x in s}
s = Set([float("nan"), 1.0])
q(s)
"""

# -- verify as a command -----------------------------------------------------------------------------------


def test_verify_stops_at_the_line_after_which_an_invariant_is_broken(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def move(user):\n    user.loc = 'Oslo'\n")  # not compiled
    extra = "try:\n    helper.move(ann)\n    cid.email = 'x'\nexcept Exception:\n    pass\nprint('after')\n"
    text = "import helper\n" + PROGRAM + extra
    path = tmp_path / "program.py"
    path.write_text(text)
    ran = in_process("verify", path)
    assert ran.returncode == 1
    assert ran.stdout == ""
    line = text.splitlines().index("    cid.email = 'x'") + 1
    assert f"{path}:{line}:1: error[IQ400]: after event " in ran.stderr
    assert "r_fans is not what its definition says" in ran.stderr
    assert "verify: DIFFERENCE;" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_verify_waits_for_the_end_of_a_batch(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from incoq import Set, batch, query\n"
        "class O: pass\n"
        "@query\ndef q(s): return {x.v for x in s}\n"
        "a = O()\na.v = 1\ns = Set([a])\nq(s)\n"
        "with batch():\n    a.v = 5\n    s.add(O())\nprint(q(s))\n"
    )
    result = in_process("verify", program)
    assert "no differences" in result.stderr
    assert "Set({5})" in result.stdout


def test_verify_checks_each_nth_event_and_the_end(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    every = in_process("verify", path).stderr
    some = in_process("verify", "--every", "1000", path).stderr
    events = int(every.split(";")[1].split()[0])
    assert f"{events} updates and queries, {events + 1} checks" in every
    assert f"{events} updates and queries, 1 checks" in some


def test_a_pattern_whose_nested_tuple_does_not_match_binds_nothing_after_it() -> None:
    world = World(
        "from incoq import Set, query\n"
        "@query\n"
        "def pairs(s):\n"
        "    return {x for ((x, _), y) in s if x == y}\n"
        "s = Set([(1, 2), ((3, 0), 3), ((4, 0), 5)])\n"
        "answer = pairs(s)\n"
    )
    assert world["answer"] == {3}
    world.check()


def test_a_set_that_only_its_own_field_leads_to_needs_no_entry_of_its_elements() -> None:
    program = (
        "from incoq import Set, query\n"
        "class Team(Set):\n"
        "    pass\n"
        "@query\n"
        "def leads(s):\n"
        "    return {v.lead for w in s for v in w.teams if v in s}\n"
        "team = Team([1])\n"
        "team.teams = 1\n"
    )
    World(program, mode="incremental").check()
    program += "team.lead = 2\nteam.teams = Set([team])\nanswer = leads(Set([team]))\n"
    world = World(program, mode="incremental")
    assert world["answer"] == {2}
    world.check()


@pytest.mark.parametrize("options", MODES[:2], ids=str)
def test_an_index_of_sets_that_a_dict_holds_is_compared_by_what_they_hold(options: dict[str, Any]) -> None:
    world = World(
        "from incoq import Set, query\n"
        "class Store: pass\n"
        "@query\n"
        "def places(o):\n"
        "    return {i.slot.place: {j.name for j in o.items if j.slot.place == i.slot.place}"
        " for i in o.items}\n"
        "o, slot, item = Store(), Store(), Store()\n"
        "o.items, slot.place, item.slot, item.name = Set(), 'a', slot, 'egg'\n"
        "places(o)\n"
        "o.items.add(item)\n",
        **options,
    )
    world.check()
    item = world["item"]
    ((_, kept),) = world["fil_places_set_2_13"][item]
    kept.add("ham")
    with pytest.raises(Difference):
        world.check()
    kept.remove("ham")
    world["fil_places_set_2_13"][item].clear()
    with pytest.raises(Difference, match="fil_places_set_2_13"):
        world.check()


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_what_a_list_is_looked_for_in_is_evaluated_as_in_python(tmp_path: Path, mode: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from incoq import Set, query\n\nclass Thing:\n    pass\n\n"
        "@query\ndef absent(s, t):\n    return {x for x in s if x.a not in t}\n\n"
        "@query\ndef chosen(s, t):\n    return {x for x in s if x.a not in (t if x.a else s)}\n\n"
        "thing = Thing()\nthing.a = [1]\nprint(len(absent(Set([thing]), Set())))\n"
        "print(len(chosen(Set([thing]), Set())))\n"
    )
    result = in_process("verify", "--mode", mode, program)
    assert result.returncode == 0, result.stderr


def test_verify_reads_private_fields_as_the_class_of_a_query_does(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "from incoq import Set, query\n"
        "class User:\n"
        "    def __init__(self, n): self.__n, self.friends = n, Set()\n"
        "    @query\n"
        "    def total(self): return sum(u.__n for u in self.friends)\n"
        "    @query\n"
        "    def numbers(self): return {u.__n for u in self.friends}\n"
        "    def least(self): return query(min((u.__n for u in self.friends), default=0))\n"
        "u = User(4)\n"
        "for _ in range(2):\n"
        "    print(u.total(), u.numbers(), u.least())\n"
        "    u.friends.add(u)\n"
    )
    result = in_process("verify", path)
    assert "no differences" in result.stderr
    assert result.stdout.splitlines() == ["0 Set() 0", "4 Set({4}) 4"]
