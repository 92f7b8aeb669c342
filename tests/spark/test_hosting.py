"""The generated code hosted over ids: every kind of relation, and the meaning inside a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spark.pipelines import WORLD, lines, pipeline, results

HEAD = "from incoq import Set, lru, query\nR = Set()\nLIMIT = 2\n"


def answers(folder: Path, query: str, *batches: list[tuple[Any, ...]]) -> list[list[tuple[list[Any], Any]]]:
    """The results of `q` after each batch."""
    made = pipeline(folder, HEAD + query)
    found, first = [], 1
    for batch in batches:
        made.run_batch(lines(batch, first), "batch")
        first += len(batch)
        found.append(results(made, "q"))
    return found


def test_a_field_that_changes_changes_the_answer(tmp_path: Path) -> None:
    made = pipeline(tmp_path)
    made.run_batch(lines(WORLD), "a")
    assert results(made) == [(["c1", "g1"], "a@b.org")]
    made.run_batch(lines([("field_loc", "assign", "u2", "NYC"), ("field_loc", "unassign", "u1")], 50), "b")
    assert results(made) == [(["c1", "g1"], "c@d.org")]


def test_several_changes_of_one_tuple_end_as_the_last_says(tmp_path: Path) -> None:
    query = "@query\ndef q(s):\n    return {x for x in s}\n"
    first, second, third = answers(
        tmp_path, query,
        [("member", "add", "s", 1), ("member", "remove", "s", 1), ("demand_q", "add", "s")],
        [("member", "remove", "s", 1), ("member", "add", "s", 1), ("member", "add", "s", 2)],
        [("demand_q", "remove", "s"), ("demand_q", "add", "s"), ("demand_q", "add", "t"),
         ("demand_q", "remove", "t")],
    )  # fmt: skip
    assert first == []
    assert second == third == [(["s"], 1), (["s"], 2)]


def test_one_set_on_two_edges_counts_once(tmp_path: Path) -> None:
    query = "@query\ndef q(c, g):\n    return {u.b for u in c.a if u in g}\n"
    first, second = answers(
        tmp_path, query,
        [("field_a", "assign", "c", "s"), ("demand_q", "add", "c", "s"), ("member", "add", "s", "s"),
         ("field_b", "assign", "s", 7)],
        [("member", "remove", "s", "s")],
    )  # fmt: skip
    assert first == [(["c", "s"], 7)]
    assert second == []


def test_one_id_is_an_object_a_set_and_a_dict_at_once(tmp_path: Path) -> None:
    query = "@query\ndef q(x):\n    return {(x.n, y, x[y]) for y in x}\n"
    first, second, third = answers(
        tmp_path, query,
        [("field_n", "assign", "x", "name"), ("member", "add", "x", "k"), ("item", "assign", "x", "k", 5),
         ("item", "assign", "x", "l", 6), ("demand_q", "add", "x")],
        [("item", "unassign", "x", "l"), ("member", "remove", "x", "k")],
        [("item", "assign", "x", "k", 8)],
    )  # fmt: skip
    assert first == [(["x"], ["name", "k", 5]), (["x"], ["name", "l", 6])]
    assert second == [(["x"], ["name", "k", 5])]
    assert third == [(["x"], ["name", "k", 8])]


def test_an_aggregate_has_a_row_for_every_demanded_combination(tmp_path: Path) -> None:
    query = "@query\ndef q(s):\n    return max(u.n for u in s)\n"
    first, second = answers(
        tmp_path, query,
        [("demand_q", "add", "s"), ("demand_q", "add", "t"), ("member", "add", "s", "u"),
         ("field_n", "assign", "u", 3)],
        [("demand_q", "remove", "s")],
    )  # fmt: skip
    assert first == [(["s"], 3), (["t"], None)]
    assert second == [(["t"], None)]


def test_a_nested_query_follows_its_own_data(tmp_path: Path) -> None:
    query = "@query\ndef q(s):\n    return {u for u in s if len({f.loc for f in u.fans}) > 1}\n"
    first, second = answers(
        tmp_path, query,
        [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("field_fans", "assign", "u", "f"),
         ("member", "add", "f", "v"), ("member", "add", "f", "w"), ("field_loc", "assign", "v", "Rome")],
        [("field_loc", "assign", "w", "Oslo")],
    )  # fmt: skip
    assert first == []
    assert second == [(["s"], "u")]


def test_a_query_that_another_calls_shows_only_what_is_demanded_of_it(tmp_path: Path) -> None:
    query = "@query\ndef p(s):\n    return {u.n for u in s}\n"
    query += "@query\ndef q(s):\n    return {x for x in p(s) if x > LIMIT}\n"
    made = pipeline(tmp_path, HEAD + query)
    events = [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("field_n", "assign", "u", 3)]
    made.run_batch(lines(events), "a")
    assert results(made, "q") == [(["s"], 3)]
    assert results(made, "p") == []
    made.run_batch(lines([("demand_p", "add", "s"), ("demand_q", "remove", "s")], 10), "b")
    assert results(made, "q") == []
    assert results(made, "p") == [(["s"], 3)]


def test_tuples_and_global_relations(tmp_path: Path) -> None:
    query = "@query\ndef q(who):\n    return {(v, w) for (u, (v, w)) in R if u == who}\n"
    (first,) = answers(
        tmp_path, query,
        [("R", "add", "u", ["v", 1]), ("member", "add", "R", ["u", ["x", 2]]), ("demand_q", "add", "u")],
    )  # fmt: skip
    assert first == [(["u"], ["v", 1]), (["u"], ["x", 2])]


def test_a_field_with_the_name_of_a_method_of_strings_may_be_missing(tmp_path: Path) -> None:
    query = "@query\ndef q(s):\n    return {u.title for u in s}\n"
    (first,) = answers(
        tmp_path, query,
        [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("member", "add", "s", "v"),
         ("field_title", "assign", "u", "Dr")],
    )  # fmt: skip
    assert first == [(["s"], "Dr")]


@pytest.mark.parametrize("field", ["content", "entries", "is_container", "load", "items", "get"])
def test_a_field_may_be_called_as_one_likes(tmp_path: Path, field: str) -> None:
    query = f"@query\ndef q(s):\n    return {{(u.{field}, k, v) for u in s for k, v in u.m.items()}}\n"
    first, second = answers(
        tmp_path, query,
        [("member", "add", "s", "u"), (f"field_{field}", "assign", "u", "hello"), ("demand_q", "add", "s"),
         ("field_m", "assign", "u", "d"), ("item", "assign", "d", "k", 1)],
        [(f"field_{field}", "unassign", "u")],
    )  # fmt: skip
    assert first == [(["s"], ["hello", "k", 1])]
    assert second == []


@pytest.mark.parametrize("result", ["u.n", "(u, u.n)", "(u, (u.n, u.n))"])
def test_equal_numbers_of_other_types_are_other_results(tmp_path: Path, result: str) -> None:
    query = f"@query\ndef q(s):\n    return {{{result} for u in s}}\n"
    query += "@query\ndef m(s):\n    return max(u.n for u in s)\n"
    made = pipeline(tmp_path, HEAD + query)
    demand = [(f"demand_{name}", "add", "s") for name in "qm"]
    made.run_batch(lines([*demand, ("member", "add", "s", "u"), ("field_n", "assign", "u", 1)]), "a")
    for number, value in enumerate((True, 1.0, 1, 1.0, 0.0, -0.0, False)):
        made.run_batch(lines([("field_n", "assign", "u", value)], 10 + number), "b")
        for query in "qm":
            ((_, found),) = results(made, query)
            assert repr(value) in repr(found)
        made.compact() if number % 2 else None
        assert made.verify() == []


def test_elements_keep_their_types(tmp_path: Path) -> None:
    query = "@query\ndef q(s):\n    return {x for x in s}\n"
    found = answers(
        tmp_path, query,
        [("demand_q", "add", "s"), ("member", "add", "s", [1, 2])],
        [("member", "remove", "s", [1, 2]), ("member", "add", "s", [True, 2])],
    )  # fmt: skip
    assert repr(found) == repr([[(["s"], [1, 2])], [(["s"], [True, 2])]])


def test_demanded_values_keep_their_types(tmp_path: Path) -> None:
    from incoq.spark import worker

    query = "@query\ndef q(s, k):\n    return {(u.n, k) for u in s if u.n >= k}\n"
    made = pipeline(tmp_path, HEAD + query, snapshot_every=2)
    demand = [("demand_q", "add", "s", value) for value in (True, 2.0)]
    facts = [("member", "add", "s", "v"), ("field_n", "assign", "v", 2)]
    made.run_batch(lines([*demand, *facts]), "a")
    expected = [(["s", 2.0], [2, 2.0]), (["s", True], [2, True])]
    assert repr(results(made, "q")) == repr(expected)
    for number in range(3):  # from the log, from a snapshot, from the base
        worker.ENGINES.clear()
        made.run_batch(lines([("field_n", "unassign", "v")], 50 + 2 * number), "b")
        made.run_batch(lines([("field_n", "assign", "v", 2)], 51 + 2 * number), "b")
        assert repr(results(made, "q")) == repr(expected)
        made.compact() if number == 1 else None
    made.run_batch(lines([("demand_q", "remove", "s", 1)], 90), "c")
    assert results(made, "q") == [(["s", 2.0], [2, 2.0])]


def test_what_is_demanded_again_is_spelled_as_the_last_time(tmp_path: Path) -> None:
    from incoq.spark import worker

    made = pipeline(tmp_path, HEAD + "@query\ndef q(s, k):\n    return {str(k) for u in s}\n")
    made.run_batch(lines([("demand_q", "add", "s", 1), ("member", "add", "s", "u")]), "a")
    for number, value in enumerate((1.0, True, 1), 1):
        made.run_batch(lines([("demand_q", "add", "s", value)], 10 * number), "b")
        assert repr(results(made, "q")) == repr([(["s", value], str(value))])
        assert made.verify() == []
        worker.ENGINES.clear()
    made.run_batch(lines([("demand_q", "remove", "s", 1.0)], 90), "c")
    assert results(made, "q") == []


def test_a_text_may_look_like_a_number_and_a_number_may_be_large(tmp_path: Path) -> None:
    made = pipeline(tmp_path, HEAD + "@query\ndef q(s):\n    return {u.n for u in s}\n")
    values = ["v2.0 beta", "10.0.0.1", "true", "1.0", "1e+16", 1.0, 1e16, "is false", [1e300, "e+1", "1e+2"]]
    fields = [("field_n", "assign", f"u{n}", value) for n, value in enumerate(values)]
    members = [("member", "add", "s", f"u{n}") for n in range(len(values))]
    made.run_batch(lines([("demand_q", "add", "s"), *fields, *members]), "a")
    expected = {repr(value) for value in values}
    for step in range(3):
        assert {repr(row) for _, row in results(made, "q")} == expected
        made.compact()
        replaced = 10**16 if step else 1  # another spelling of what is there
        made.run_batch(lines([("field_n", "assign", "u6" if step else "u5", replaced)], 100 + step), "b")
        expected = (expected - {repr(float(replaced))}) | {repr(replaced)}
    assert made.verify() == []


def test_a_whole_number_may_have_more_digits_than_python_writes_unasked(tmp_path: Path) -> None:
    from incoq.spark.results import result_lines

    query = "@query\ndef q(s):\n    return {u * u for u in s}\n"
    query += "@query\ndef p(s):\n    return sum(u * u for u in s)\n"
    made = pipeline(tmp_path, HEAD + query)
    events = [("member", "add", "s", 10**4000), ("demand_q", "add", "s"), ("demand_p", "add", "s")]
    made.run_batch(lines([*events, ("member", "add", "s", 1.0)]), "a")
    long = "1" + "0" * 8000
    assert long in "".join(result_lines(made.store, "q"))
    made.run_batch(lines([("member", "remove", "s", 1), ("member", "add", "s", True)], 10), "b")
    assert list(result_lines(made.store, "p")) == [f'{{"params": ["s"], "result": {long[:-1]}1}}']


def test_a_dict_as_a_result_may_hold_booleans(tmp_path: Path) -> None:
    query = "@query\ndef q(s):\n    return {u.n: u.flag for u in s}\n"
    events = [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("field_n", "assign", "u", "a")]
    (first,) = answers(tmp_path, query, [*events, ("field_flag", "assign", "u", True)])
    assert first == [(["s"], {"a": True})]


def test_strings_are_values_too(tmp_path: Path) -> None:
    query = (
        '@query\ndef q(s):\n    return {u.n.upper()[0] for u in s if u.n.startswith("b") if len(u.n) > 2}\n'
    )
    (first,) = answers(
        tmp_path, query,
        [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("field_n", "assign", "u", "bob"),
         ("member", "add", "s", "v"), ("field_n", "assign", "v", "ann")],
    )  # fmt: skip
    assert first == [(["s"], "B")]


def test_an_empty_set_is_known_by_the_program_and_by_its_past(tmp_path: Path) -> None:
    typed = "class U:\n    def __init__(self):\n        self.fans = Set()\n"
    query = f"{typed}@query\ndef q(s):\n    return {{u for u in s if not u.fans}}\n"
    first, second = answers(
        tmp_path, query,
        [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("field_fans", "assign", "u", "f")],
        [("member", "add", "f", "u")],
    )  # fmt: skip
    assert first == [(["s"], "u")]
    assert second == []


def test_removed_from_a_set_that_the_program_itself_never_shrinks(tmp_path: Path) -> None:
    query = "@query\ndef q(s):\n    return {u.n for u in s}\n"
    first, second = answers(
        tmp_path, query,
        [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("member", "add", "s", "v"),
         ("field_n", "assign", "u", 1), ("field_n", "assign", "v", 1)],
        [("member", "remove", "s", "u")],
    )  # fmt: skip
    assert first == second == [(["s"], 1)]


def test_what_the_program_cannot_answer_is_an_error_that_changes_nothing(tmp_path: Path) -> None:
    from incoq.errors import IncoqError

    made = pipeline(tmp_path, HEAD + "@query\ndef q(m, k):\n    return {x for x in m[k]}\n")
    before = made.store.manifest()
    with pytest.raises(IncoqError, match="IQ302"):
        made.run_batch(lines([("demand_q", "add", "a string", 0)]), "a")
    assert made.store.manifest() == before


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ('@query\ndef q(s):\n    return {u for u in s if "@" in u.mail}', "IQ203", "'@' in ….mail"),
        ('@query\ndef q(s):\n    return {u for u in s if "@" not in u.mail}', "IQ203", "'@' in ….mail"),
        ('@query\ndef q(s):\n    return {u for u in s if u.n or "@" in u.mail}', "IQ203", "'@' in ….mail"),
        (
            'def at(m):\n    return "@" in m\n@query\ndef q(s):\n    return {at(u.mail) for u in s}',
            "IQ203",
            "'@'",
        ),
        ('BAD = {"a"}\n@query\ndef q(s):\n    return {u for u in s if u.n in BAD}', "IQ202", "begins with"),
        (
            'BAD = Set(["a"])\n@query\ndef q(s):\n    return {u for u in s if u in BAD}',
            "IQ202",
            "begins with",
        ),
        ("M = {1: 2}\n@query\ndef q(s):\n    return {M[u.n] for u in s}", "IQ202", "begins with"),
        ("L = []\n@query\ndef q(s):\n    return {u for u in s if u in L}", "IQ202", "changes"),
        ("L = [1]\nL.append(2)\n@query\ndef q(s):\n    return {u for u in s if u in L}", "IQ202", "changes"),
        ("def f(s):\n    return query({u.n for u in s})", "IQ202", "inline query reads the variable `s`"),
        (
            "class A:\n    n = 1\n@query\ndef q(s):\n    return {u for u in s if u.n == A.n}",
            "IQ202",
            "neither",
        ),
    ],
)
def test_what_only_running_the_program_would_tell_is_refused(text: str, code: str, message: str) -> None:
    from incoq.errors import CompileError
    from incoq.spark.deployment import deploy_source

    with pytest.raises(CompileError, match=message) as found:
        deploy_source(HEAD + text)
    assert found.value.code == code
    assert found.value.position is not None
    assert "query" in found.value.position.text or "def q" in found.value.position.text


def test_a_constant_may_be_an_element_where_the_program_tells_of_a_set(tmp_path: Path) -> None:
    typed = "from dataclasses import dataclass, field\n@dataclass(eq=False)\nclass U:\n"
    typed += "    roles: Set = field(default_factory=Set)\n    n: int = 0\n"
    query = f'{typed}@query\ndef q(s):\n    return {{u for u in s if "admin" in u.roles}}\n'
    query += "@query\ndef r(s):\n    return {u for u in s if not u.roles}\n"
    made = pipeline(tmp_path, HEAD + query)
    events = [(f"demand_{name}", "add", "s") for name in "qr"]
    events += [
        ("member", "add", "s", "u"),
        ("field_roles", "assign", "u", "admins"),
        ("field_n", "assign", "u", 1),
    ]
    made.run_batch(lines(events), "a")
    assert (results(made, "q"), results(made, "r")) == ([], [(["s"], "u")])
    made.run_batch(lines([("member", "add", "admins", "admin")], 10), "b")
    assert (results(made, "q"), results(made, "r")) == ([(["s"], "u")], [])


def test_a_place_in_a_text_is_a_character(tmp_path: Path) -> None:
    query = "@query\ndef q(s):\n    return {(u, u.n[0], str(u.n).find('b')) for u in s if u.n[-1] == 'c'}\n"
    first, second = answers(
        tmp_path, query,
        [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("field_n", "assign", "u", "abc"),
         ("member", "add", "s", "v"), ("field_n", "assign", "v", ["x", "c"])],
        [("field_n", "assign", "u", "")],
    )  # fmt: skip
    assert first == [(["s"], ["u", "a", 1]), (["s"], ["v", "x", -1])]
    assert second == [(["s"], ["v", "x", -1])]


def test_constants_and_dicts_of_the_module(tmp_path: Path) -> None:
    query = 'M = {}\nGOOD = frozenset({"a", "b"})\n'
    query += "@query\ndef q(s):\n    return {M[u.n] for u in s if u.n in GOOD}\n"
    (first,) = answers(
        tmp_path, query,
        [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("field_n", "assign", "u", "a"),
         ("item", "assign", "M", "a", 5), ("M", "add", "a", 6)],
    )  # fmt: skip
    assert first == [(["s"], 5)]
