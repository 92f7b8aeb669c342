"""A state machine over fixed queries: any interleaving of updates, asks and releases keeps answers right."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import incoq
from incoq.testing import oracle

TEXT = """
from incoq import Set, lru, query

class Obj:
    def __init__(self):
        self.a = Set()

@query
def friends_in(o, s):
    return {x.c for x in o.a if x in s if x.c != None}

@query
def two_hops(o):
    return {(x, y) for x in o.a for y in x.a if y not in o.a}

@query(demand=("s",))
def members_of_members(o, s):
    return {x for x in o.a if o in s if x.b == o.b or x.c == 1}

@query(keep="explicit")
def pairs(s):
    return {(x, y) for (x, y) in s if x.c == y.c}

@query(keep=lru(2))
def nested(s):
    return {x for t in s for x in t if x.b in s}

def new_obj(): return Obj()
def new_set(): return Set()
def new_plain(): return set()
def set_a(o, v): o.a = v
def set_b(o, v): o.b = v
def set_c(o, v): o.c, x = v, 0
def del_a(o): del o.a
def del_c(o): delattr(o, "c")
def swap_b(o, p): o.b, p.b = p.b, o.b
def add(s, x): s.add(x)
def remove(s, x): s.remove(x)
def discard(s, x): s.discard(x)
def clear(s): s.clear()
def update(s, t): s.update(t)
def ior(s, t): s |= t
def isub(s, t): s -= t
def iand(s, t): s &= t
def ixor(s, t): s ^= t
"""

ARITY = {"friends_in": "os", "two_hops": "o", "members_of_members": "os", "pairs": "s", "nested": "s"}
OBJECTS, SETS = 3, 4
SETTINGS = [("filtered", "tags"), ("filtered", "first-clause"), ("incremental", "tags")]

objects = st.integers(0, OBJECTS - 1).map(lambda i: ("o", i))
sets = st.integers(0, SETS - 1).map(lambda i: ("s", i))
numbers = st.sampled_from([("n", 0), ("n", 1), ("n", None)])
pairs = st.tuples(objects, objects).map(lambda p: ("p", p))
values = st.one_of(objects, sets, numbers, pairs)


class Machine(RuleBasedStateMachine):
    """The world, the compiled program and the oracle."""

    code: str
    oracle_text = TEXT

    @initialize()
    def load(self) -> None:
        self.live: dict[str, Any] = {"__name__": "machine"}
        exec(compile(self.code, "<machine>", "exec"), self.live)
        self.reference = oracle.build(TEXT, self.live)
        self.objects = [self.live["new_obj"]() for _ in range(OBJECTS)]
        self.sets = [self.live["new_set" if i % 2 else "new_plain"]() for i in range(SETS)]
        self.asked: dict[tuple[str, tuple[Any, ...]], None] = {}

    def thing(self, value: Any) -> Any:
        kind, which = value
        match kind:
            case "o":
                return self.objects[which]
            case "s":
                return self.sets[which]
            case "p":
                return tuple(map(self.thing, which))
        return which

    def call(self, name: str, *args: Any) -> None:
        self.live[name](*map(self.thing, args))

    @rule(name=st.sampled_from(["set_a", "set_b", "set_c"]), o=objects, v=values)
    def assign(self, name: str, o: Any, v: Any) -> None:
        self.call(name, o, v)
        assert getattr(self.thing(o), name[-1]) == self.thing(v)

    @rule(o=objects, s=sets)
    def assign_set(self, o: Any, s: Any) -> None:
        self.call("set_a", o, s)
        assert self.thing(o).a is self.thing(s)

    @rule(name=st.sampled_from(["del_a", "del_c"]), o=objects)
    def delete(self, name: str, o: Any) -> None:
        if hasattr(self.thing(o), name[-1]):
            self.call(name, o)
        else:
            with pytest.raises(AttributeError):
                self.call(name, o)
        assert not hasattr(self.thing(o), name[-1])

    @rule(o=objects, p=objects)
    def swap(self, o: Any, p: Any) -> None:
        if hasattr(self.thing(o), "b") and hasattr(self.thing(p), "b"):
            self.call("swap_b", o, p)

    @rule(name=st.sampled_from(["add", "add", "discard"]), s=sets, x=values)
    def member(self, name: str, s: Any, x: Any) -> None:
        self.call(name, s, x)
        assert (self.thing(x) in self.thing(s)) == (name == "add")

    @rule(o=objects, x=objects)
    def member_of_field(self, o: Any, x: Any) -> None:
        held = getattr(self.thing(o), "a", None)
        if isinstance(held, set):
            self.live["add"](held, self.thing(x))

    @rule(s=sets, x=values)
    def remove(self, s: Any, x: Any) -> None:
        before = set(self.thing(s))
        if self.thing(x) in before:
            self.call("remove", s, x)
        else:
            with pytest.raises(KeyError):
                self.call("remove", s, x)
        assert set(self.thing(s)) == before - {self.thing(x)}

    @rule(name=st.sampled_from(["update", "ior", "isub", "iand", "ixor"]), s=sets, t=sets)
    def bulk(self, name: str, s: Any, t: Any) -> None:
        one, other = set(self.thing(s)), set(self.thing(t))
        self.call(name, s, t)
        wanted = {
            "update": one | other,
            "ior": one | other,
            "isub": one - other,
            "iand": one & other,
            "ixor": one ^ other,
        }
        assert set(self.thing(s)) == wanted[name]

    @rule(s=sets)
    def clear(self, s: Any) -> None:
        self.call("clear", s)
        assert not self.thing(s)

    @rule(name=st.sampled_from(["friends_in", "two_hops", "members_of_members"]), o=objects, s=sets)
    def ask(self, name: str, o: Any, s: Any) -> None:
        args = tuple(self.thing({"o": o, "s": s}[kind]) for kind in ARITY[name])
        self.asked[name, args] = None

    @rule(s=sets)
    def ask_recent(self, s: Any) -> None:
        args = (self.thing(s),)
        assert self.live["nested"](*args) == set(self.reference["nested"].bag(*args))

    @rule(s=sets)
    def demand(self, s: Any) -> None:
        args = (self.thing(s),)
        self.live["pairs"].demand(*args)
        self.asked["pairs", args] = None
        assert args in self.live["pairs"].demanded

    @rule(name=st.sampled_from(["two_hops", "pairs", "friends_in"]), o=objects, s=sets)
    def release(self, name: str, o: Any, s: Any) -> None:
        args = tuple(self.thing({"o": o, "s": s}[kind]) for kind in ARITY[name])
        if (name, args) in self.asked:
            self.live[name].release(*args)
            del self.asked[name, args]
            assert args not in self.live[name].demanded

    @invariant()
    def answers_are_right(self) -> None:
        for name, args in getattr(self, "asked", {}):
            assert self.live[name](*args) == set(self.reference[name].bag(*args)), (name, args)


@cache  # Hypothesis remembers the rules of every class of machines
def machine(mode: str, strategy: str) -> type[Machine]:
    """The machine that runs the program as compiled."""
    compiled = incoq.compile_source(TEXT, mode=mode, strategy=strategy)
    return type("Loaded", (Machine,), {"code": compiled.code})


@pytest.mark.parametrize(("mode", "strategy"), SETTINGS)
def test_any_interleaving_keeps_answers_right(mode: str, strategy: str) -> None:
    run_state_machine_as_test(
        machine(mode, strategy),
        settings=settings(
            max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
