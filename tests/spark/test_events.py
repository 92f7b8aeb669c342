"""Events: what is understood, what is rejected with which reason, and what a batch leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incoq.spark.deployment import deploy_source
from incoq.spark.events import Reader
from tests.spark.pipelines import RUNNING, WORLD, lines, pipeline, results

READER = Reader(deploy_source(RUNNING))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not a line of JSON"),
        ("[1]", "an event is a JSON object"),
        ('{"rel": "member", "op": "add", "values": ["s", "x"]}', "`seq` is missing"),
        ('{"seq": "1", "rel": "member", "op": "add", "values": ["s", "x"]}', "`seq` is a whole number"),
        ('{"seq": true, "rel": "member", "op": "add", "values": ["s", "x"]}', "`seq` is a whole number"),
        ('{"seq": 1, "rel": "membr", "op": "add", "values": ["s", "x"]}', "unknown relation 'membr'"),
        ('{"seq": 1, "rel": "member", "op": "assign", "values": ["s", "x"]}', "`op` is add or"),
        ('{"seq": 1, "rel": "member", "op": "add", "values": "s"}', "`values` is a list"),
        ('{"seq": 1, "rel": "member", "op": "add", "values": ["s"]}', "2 values are needed, not 1"),
        ('{"seq": 1, "rel": "member", "op": "add", "values": [null, "x"]}', "the set is null"),
        ('{"seq": 1, "rel": "member", "op": "add", "values": [7, "x"]}', "the set is an id, a string, not 7"),
        ('{"seq": 1, "rel": "member", "op": "add", "values": ["s", {}]}', "an object is no value"),
        ('{"seq": 1, "rel": "field_loc", "op": "assign", "values": ["u"]}', "2 values are needed, not 1"),
        ('{"seq": 1, "rel": "demand_nyc_fans", "op": "add", "values": ["c"]}', "2 values are needed, not 1"),
        ('{"seq": 1, "rel": "demand_nyc_fans", "op": "add", "values": ["c", null]}', "a parameter is null"),
        ('{"seq": 1, "rel": "demand_nyc_fans", "op": "add", "values": ["c", {}]}', "an object is no value"),
        ('{"seq": 1, "rel": "member", "op": "add", "values": ["s", NaN]}', "nan is no number of JSON"),
        ('{"seq": 1, "rel": "member", "op": "add", "values": ["s", [1e999]]}', "inf is no number of JSON"),
        ('{"seq": 1, "rel": "member", "op": "add", "values": ["s", "\\ud800"]}', "a text is not Unicode"),
        ('{"seq": 1, "rel": "member", "op": "add", "values": ["s", "\udcff"]}', "a text is not Unicode"),
        (
            f'{{"seq": 1, "rel": "member", "op": "add", "values": ["s", {"[" * 400 + "]" * 400}]}}',
            "lists are nested more than 100 deep",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_rejected_with_its_reason(line: str, reason: str) -> None:
    batch = READER.read([line], None)
    assert batch.rows == []
    assert [r.reason for r in batch.rejected] == [batch.rejected[0].reason]
    assert batch.rejected[0].reason.startswith(reason)
    assert batch.rejected[0].line == line


def test_events_apply_in_sequence_order_whatever_the_order_of_lines() -> None:
    told = lines([("field_loc", "assign", "u", place) for place in ("Rome", "Lima", "Oslo")])
    assert READER.read(reversed(told), None).rows == [("field_loc", "u", "", "sOslo", True)]


def test_a_sequence_number_that_was_seen_before_is_rejected_and_the_rest_goes_on() -> None:
    told = lines([("field_loc", "assign", "u", place) for place in ("Rome", "Lima", "Oslo")])
    batch = READER.read([*told, told[1]], after=1)
    assert [r.reason for r in batch.rejected] == [
        "sequence 1 was seen before (up to 1)",
        "sequence 2 was seen before (up to 2)",
    ]
    assert batch.events == 2
    assert batch.last == 3


def test_numbers_that_are_equal_are_one_element() -> None:
    told = lines([("member", "add", "s", 1), ("member", "remove", "s", 1.0)])
    assert ("member", "s", "j1", "j1.0", False) in READER.read(told, None).rows


def test_a_file_may_begin_with_a_mark_and_hold_bytes_that_are_no_text(tmp_path: Path) -> None:
    from incoq.spark.status import status_of

    made = pipeline(tmp_path)
    folder = tmp_path / "changes"
    folder.mkdir()
    wrong = '{"seq": 99, "rel": "field_loc", "op": "assign", "values": ["u2", "N\udcffC"]}'
    text = "\ufeff" + "\r\n".join([*lines(WORLD), "", wrong])
    (folder / "a.jsonl").write_bytes(text.encode(errors="surrogateescape"))
    made.run_directory(folder)
    assert results(made) == [(["c1", "g1"], "a@b.org")]
    assert status_of(made.store)["rejected_reasons"] == {"a text is not Unicode": 1}


def test_rejected_events_are_kept_counted_and_harm_nothing(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from incoq.spark.status import status_of

    made = pipeline(tmp_path)
    made.run_batch([*lines(WORLD), "nonsense", *lines(WORLD[:1])], "one.jsonl")
    assert results(made) == [(["c1", "g1"], "a@b.org")]
    status = status_of(made.store)
    assert status["rejected"] == 2
    assert set(status["rejected_reasons"]) == {"not a line of JSON", "sequence 1 was seen before (up to 1)"}
    (entry,) = made.store.manifest().rejected
    kept = pq.read_table(made.store.path / entry.path).to_pylist()
    assert {(row["line"], row["source"]) for row in kept} >= {("nonsense", "one.jsonl")}


def test_every_relation_of_the_program_takes_events() -> None:
    reader = Reader(
        deploy_source(
            "from incoq import Set, query\nR = Set()\n@query\ndef q(m, k):\n"
            "    return {v for (u, v) in R if m[u] == k}\n"
        )
    )
    told = lines(
        [("R", "add", "u1", "v1"), ("item", "assign", "m1", "u1", 3), ("item", "unassign", "m1", "u2")]
    )
    batch = reader.read(told, None)
    assert batch.rejected == []
    assert ("member", "R", 'j["u1","v1"]', None, True) in batch.rows
    assert ("item", "m1", "su1", "j3", True) in batch.rows
    assert json.loads(told[0])["rel"] == "R"
