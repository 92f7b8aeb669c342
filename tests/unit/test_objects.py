"""What a plain program imports: sets with identity, query functions, demand and views."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import subprocess
import sys
import weakref
from typing import Any

import pytest

import incoq.objects
from incoq.errors import IncoqRuntimeError
from incoq.objects import BoundQuery, Query, Set, lru, query


class User:
    def __init__(self, email: str, loc: str) -> None:
        self.email, self.loc, self.followers = email, loc, Set[Any]()


@query
def nyc_fans(celeb: Any, group: Any) -> Any:
    """Fans in the city."""
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}


@query
def large(s, limit=2):  # type: ignore[no-untyped-def]
    return {x for x in s if x > limit}


@query
def total(s):  # type: ignore[no-untyped-def]
    return sum(x for x in s)


class Group:
    def __init__(self, *members: int) -> None:
        self.members = Set(members)
        self.__floor = 1

    @query
    def above(self, limit):  # type: ignore[no-untyped-def]
        return {x for x in self.members if x > limit}

    @query
    def above_floor(self):  # type: ignore[no-untyped-def]
        return {x for x in self.members if x > self.__floor}

    @query(demand=("limit",))
    def anywhere(self, limit):  # type: ignore[no-untyped-def]
        return {x for x in limit.members if self in limit.groups}

    @staticmethod
    @query
    def positive(s):  # type: ignore[no-untyped-def]
        return {x for x in s if x > 0}


@pytest.fixture(autouse=True)
def _no_demand() -> None:
    for asked in (*globals().values(), *(getattr(Group, name) for name in vars(Group))):
        if isinstance(asked, Query):
            for combination in list(asked.demanded):
                asked.release(*combination)


# -- Set -----------------------------------------------------------------------------------------------------


def test_a_set_hashes_by_identity_and_stays_found_when_it_changes() -> None:
    inner = Set({1})
    outer = Set({inner})
    inner.add(2)
    assert inner in outer
    assert Set({1, 2}) not in outer


def test_equality_of_sets_is_by_value_outside_queries() -> None:
    assert Set({1, 2}) == {2, 1}
    assert Set() == set() == Set()
    assert Set({1}) != Set({2})


def test_a_set_can_contain_itself() -> None:
    s = Set[Any]()
    s.add(s)
    assert s in s


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Set({1, 2}) | {3}, {1, 2, 3}),
        (Set({1, 2}) & {2, 3}, {2}),
        (Set({1, 2}) - {2}, {1}),
        (Set({1, 2}) ^ {2, 3}, {1, 3}),
        ({3} | Set({1, 2}), {1, 2, 3}),
        ({2, 3} & Set({1, 2}), {2}),
        ({2, 3} - Set({1, 2}), {3}),
        ({2, 3} ^ Set({1, 2}), {1, 3}),
        (Set({1}) | Set({2}), {1, 2}),
        (Set({1, 2}).copy(), {1, 2}),
        (Set({1}).union([2], (3,)), {1, 2, 3}),
        (Set({1, 2, 3}).intersection([1, 2], [2]), {2}),
        (Set({1, 2, 3}).difference([1], [2]), {3}),
        (Set({1, 2}).symmetric_difference([2, 3]), {1, 3}),
    ],
)
def test_operations_of_a_set_give_a_set_with_identity(made: Any, expected: set[int]) -> None:
    assert type(made) is Set
    assert made == expected


def test_operators_refuse_what_the_operators_of_set_refuse() -> None:
    for operation in ("or", "and", "sub", "xor"):
        assert getattr(Set(), f"__{operation}__")([1]) is NotImplemented
        assert getattr(Set(), f"__r{operation}__")([1]) is NotImplemented
    with pytest.raises(TypeError):
        Set() | [1]  # type: ignore[operator]


def test_an_augmented_assignment_keeps_the_object() -> None:
    s = t = Set({1, 2})
    s |= {3}
    s -= {1}
    s &= {2, 3, 4}
    s ^= {4}
    assert s is t
    assert t == {2, 3, 4}


def test_a_set_prints_as_it_is_written() -> None:
    assert repr(Set({1, 2})) == "Set({1, 2})"
    assert repr(Set()) == "Set()"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_set_survives_pickle_even_inside_itself(protocol: int) -> None:
    s = Set[Any]({1, 2})
    s.add(s)
    t = pickle.loads(pickle.dumps(s, protocol))
    assert type(t) is Set
    assert len(t) == 3
    assert t in t
    assert t >= {1, 2}


def test_copies_of_a_set_are_sets_of_their_own() -> None:
    inner = Set({1})
    s = Set[Any]({inner})
    shallow, deep = copy.copy(s), copy.deepcopy(s)
    assert type(shallow) is type(deep) is Set
    assert shallow is not s
    assert inner in shallow
    assert inner not in deep
    assert [set(element) for element in deep] == [{1}]


def test_attributes_of_a_subclass_are_copied_and_pickled() -> None:
    s = Named([1])
    s.name = "n"
    for twin in (copy.copy(s), pickle.loads(pickle.dumps(s))):
        assert type(twin) is Named
        assert twin == {1}
        assert twin.name == "n"


class Named(Set[int]):
    name: str


def test_a_set_takes_weak_references() -> None:
    s = Set({1})
    assert weakref.ref(s)() is s


# -- query ---------------------------------------------------------------------------------------------------


def test_the_running_example_answers() -> None:
    celeb, ann, bob = User("c@x", "LA"), User("a@x", "NYC"), User("b@x", "LA")
    celeb.followers.update({ann, bob})
    group = Set({ann, bob})
    assert nyc_fans(celeb, group) == {"a@x"}
    bob.loc = "NYC"
    assert nyc_fans(celeb, group=group) == {"a@x", "b@x"}
    group.remove(ann)
    assert nyc_fans(celeb, group) == {"b@x"}


def test_an_answer_is_a_fresh_set_of_the_caller() -> None:
    s = Set({3, 4})
    first = large(s)
    first.clear()
    assert type(first) is Set
    assert large(s) == {3, 4}


def test_a_query_keeps_the_name_and_documentation_of_its_function() -> None:
    assert isinstance(nyc_fans, Query)
    assert nyc_fans.__name__ == "nyc_fans"
    assert nyc_fans.__doc__ == "Fans in the city."
    assert nyc_fans.__module__ == __name__
    assert list(inspect.signature(nyc_fans).parameters) == ["celeb", "group"]
    assert nyc_fans.__wrapped__.__code__.co_name == "nyc_fans"
    assert repr(nyc_fans) == "<query nyc_fans(celeb, group)>"


def test_a_query_pickles_and_copies_as_a_function_does() -> None:
    assert pickle.loads(pickle.dumps(nyc_fans)) is nyc_fans
    assert copy.deepcopy(nyc_fans) is nyc_fans


def test_default_parameters_are_filled_in() -> None:
    s = Set({1, 2, 3})
    assert large(s) == {3}
    assert large(s, limit=1) == {2, 3}
    assert large.demanded == {(s, 2), (s, 1)}


def test_a_wrong_number_of_arguments_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        large()
    with pytest.raises(TypeError):
        large(1, 2, 3)
    assert len(large.demanded) == 0


def test_an_inline_query_gives_its_value() -> None:
    assert query(5) == 5
    assert query(None) is None
    assert query({"a": 1}) == {"a": 1}
    answer = query({1, 2})
    assert type(answer) is Set
    assert answer == {1, 2}


def test_an_inline_query_gives_back_an_object_that_can_be_called() -> None:
    chosen = max({len}, key=id)
    assert query(chosen) is len


@pytest.mark.parametrize(
    "options",
    [{"keep": "forever"}, {"keep": 3}, {"demand": ("nobody",)}, {"demand": "nobody"}],
)
def test_options_that_are_not_understood_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(IncoqRuntimeError) as fault:
        query(**options)(lambda s: s)
    assert fault.value.code == "IQ208"


def test_starred_and_keyword_only_parameters_are_refused() -> None:
    for function in (lambda *sets: sets, lambda **sets: sets, lambda *, s: s):
        with pytest.raises(IncoqRuntimeError) as fault:
            query(function)
        assert fault.value.code == "IQ210"


def test_options_are_kept_on_the_query() -> None:
    made = query(demand="s", keep=lru(3), assume="one x per s")(lambda s, x: {x for x in s})
    assert made.demand_params == ("s",)
    assert made.keep == lru(3)
    assert made.assume == ("one x per s",)


# -- methods -------------------------------------------------------------------------------------------------


def test_a_method_takes_self_as_a_parameter() -> None:
    group = Group(1, 5)
    assert isinstance(group.above, BoundQuery)
    assert group.above(2) == {5}
    assert Group.above(group, 0) == {1, 5}
    assert group.above.__name__ == "above"
    assert group.above.__self__ is group
    assert group.above.__wrapped__(0) == {1, 5}


def test_a_private_field_is_read_as_in_its_class() -> None:
    assert Group(1, 2, 3).above_floor() == {2, 3}


def test_a_static_method_can_be_a_query() -> None:
    assert Group.positive({-1, 1}) == {1}
    assert Group(0).positive({-1, 2}) == {2}


def test_query_of_a_static_method_binds_nothing() -> None:
    class Holder:
        @query
        @staticmethod
        def negative(s):  # type: ignore[no-untyped-def]
            return {x for x in s if x < 0}

    assert Holder().negative({-1, 1}) == {-1}


def test_the_demand_of_a_method_is_that_of_its_object() -> None:
    one, two = Group(1), Group(2)
    one.above(0)
    two.above(1)
    one.above.demand(7)
    assert one.above.demanded == {(0,), (7,)}
    assert Group.above.demanded == {(one, 0), (two, 1), (one, 7)}
    one.above.release(0)
    assert one.above.demanded == {(7,)}


def test_a_method_may_leave_self_out_of_the_demand() -> None:
    here, group = Group(1), Group(2)
    group.groups = Set({here})  # type: ignore[attr-defined]
    assert here.anywhere(group) == {2}
    assert here.anywhere.demanded == Group.anywhere.demanded == {(group,)}
    here.anywhere.release(group)
    assert len(Group.anywhere.demanded) == 0


def test_a_view_of_a_method_is_live() -> None:
    group = Group(1, 5)
    view = group.above.view(2)
    group.members.add(9)
    assert view == {5, 9}


# -- views ---------------------------------------------------------------------------------------------------


def test_a_view_follows_the_data() -> None:
    s = Set({1, 3})
    view = large.view(s)
    assert view == {3}
    s.add(4)
    assert set(view) == {3, 4}
    assert len(view) == 2
    assert 4 in view
    assert 1 not in view
    s.clear()
    assert not view


def test_a_view_cannot_be_changed() -> None:
    view = large.view(Set({3}))
    assert not hasattr(view, "add")
    assert not hasattr(view, "remove")


def test_operations_on_a_view_give_a_set_of_the_callers_own() -> None:
    s = Set({3, 4})
    made = large.view(s) | {9}
    s.clear()
    assert type(made) is Set
    assert made == {3, 4, 9}


def test_a_view_iterated_across_an_update_says_so() -> None:
    s = Set({3, 4})
    view = large.view(s)
    with pytest.raises(IncoqRuntimeError) as fault:
        s.update(x + 2 for x in view)
    assert fault.value.code == "IQ304"


def test_an_aggregate_has_no_view() -> None:
    with pytest.raises(TypeError):
        len(total.view({1}))


def test_a_view_is_a_source_of_other_queries() -> None:
    assert large(nothing_below.view(Set({1, 3, 5})), 3) == {5}


@query
def nothing_below(s):  # type: ignore[no-untyped-def]
    return {x for x in s if x > 0}


# -- demand --------------------------------------------------------------------------------------------------


def test_a_combination_is_demanded_when_first_asked() -> None:
    s = Set({1})
    large(s, 0)
    large(s, 0)
    large.view(s, 1)
    assert large.demanded == {(s, 0), (s, 1)}
    assert (s, 0) in large.demanded
    assert (Set({1}), 0) not in large.demanded
    large.release(s, 0)
    assert list(large.demanded) == [(s, 1)]


def test_release_of_what_is_not_demanded_does_nothing() -> None:
    large.release(Set(), 3)
    assert len(large.demanded) == 0


def test_parameters_that_cannot_be_hashed_are_told_apart_by_identity() -> None:
    one, two = {1}, {1}
    large(one, 0)
    assert (one, 0) in large.demanded
    assert (two, 0) not in large.demanded
    large(two, 0)
    assert len(large.demanded) == 2
    large.release(one, 0)
    assert [params[0] is two for params in large.demanded] == [True]


def test_the_least_recently_asked_combination_gives_way() -> None:
    made = query(keep=lru(2))(large.__wrapped__)
    s = Set({1})
    for limit in (1, 2, 1, 3):
        made(s, limit)
    assert made.demanded == {(s, 1), (s, 3)}


def test_an_lru_of_no_combinations_is_refused() -> None:
    for size in (0, -1, "3"):
        with pytest.raises(IncoqRuntimeError) as fault:
            lru(size)  # type: ignore[arg-type]
        assert fault.value.code == "IQ208"
    assert repr(lru(3)) == "lru(3)"


def test_explicit_demand_is_left_to_the_program() -> None:
    made = query(keep="explicit")(large.__wrapped__)
    s = Set({1, 3})
    assert made(s, 1) == {3}
    assert len(made.demanded) == 0
    made.demand(s, 1)
    made.demand(s)
    assert made.demanded == {(s, 1), (s, 2)}
    made.release(s, limit=1)
    assert made.demanded == {(s, 2)}


@pytest.mark.parametrize("kind", [Set, set])
def test_weak_demand_goes_when_a_parameter_is_garbage(kind: type) -> None:
    made = query(keep="weak")(large.__wrapped__)
    s, t = kind({1}), kind({2})
    made(s, 1)
    made(t, 1)
    made(t, 1)
    made(t, 2)
    assert len(made.demanded) == 3
    assert (s, 1) in made.demanded
    del s
    gc.collect()
    assert [params[1] for params in made.demanded] == [1, 2]
    made.release(t, 2)
    assert [params[1] for params in made.demanded] == [1]


def test_demand_parameters_are_those_that_were_named() -> None:
    made = query(demand=("group",))(_fans_in.__wrapped__)
    celeb = User("c@x", "LA")
    group = Set({celeb})
    assert made(celeb, group) == set()
    assert made.demanded == {(group,)}
    made.demand(group=Set())
    assert len(made.demanded) == 2
    with pytest.raises(IncoqRuntimeError) as fault:
        made.demand(celeb, group)
    assert fault.value.code == "IQ305"


@query
def _fans_in(celeb, group):  # type: ignore[no-untyped-def]
    return {u.email for u in celeb.followers if celeb in group}


def test_demand_parameters_that_do_not_reach_the_others_are_refused_when_asked() -> None:
    made = query(demand=("group",))(nyc_fans.__wrapped__)
    with pytest.raises(IncoqRuntimeError) as fault:
        made(User("c@x", "LA"), Set())
    assert fault.value.code == "IQ207"


# -- import --------------------------------------------------------------------------------------------------


def test_importing_the_objects_loads_no_compiler() -> None:
    code = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('objects', {incoq.objects.__file__!r})\n"
        "spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
        "print(*sorted({'ast', 'inspect', 'dataclasses', 'incoq'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split() == []


def test_a_query_without_source_is_what_python_makes_of_it() -> None:
    scope: dict[str, Any] = {"query": query}
    exec("@query\ndef q(s):\n    return {x for x in s if x > 1}\n", scope)
    answer = scope["q"](Set({1, 2}))
    assert type(answer) is Set
    assert answer == {2}
