"""Classes mapped to tables: the declaration, whole tables, and rows that change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from incoq.spark.deployment import deploy_source
from incoq.spark.mapping import RowReader, make_mapping, read_mapping
from incoq.spark.pipeline import Pipeline
from incoq.spark.session import in_process, runner
from incoq.spark.store import Store, StoreError
from incoq.spark.tables import write_frames
from tests.spark.pipelines import RUNNING, results

DECLARED = """
[classes.User]
table = "users"
id = "id"
prefix = "u"
fields = { email = "mail", loc = "city" }
sets = { followers = { table = "follows", owner = "celeb", member = "fan", class = "User" } }

[classes.Group]
table = "groups"
id = "id"
prefix = "g"
members = { column = "users", class = "User" }

[demand.nyc_fans]
table = "watched"
columns = [{ column = "celeb", class = "User" }, { column = "grp", class = "Group" }]
"""
DEPLOYMENT = deploy_source(RUNNING)

USERS = [(1, "a@b.org", "NYC"), (2, "c@d.org", "Oslo"), (3, "e@f.org", "NYC")]
FOLLOWS = [(3, 1), (3, 2)]
GROUPS = [(1, [1, 2])]
WATCHED = [(3, 1)]


def declared(folder: Path, text: str = DECLARED) -> Any:
    path = folder / "mapping.toml"
    path.write_text(text)
    return read_mapping(path, DEPLOYMENT)


def change(seq: int, table: str, op: str, before: Any = None, after: Any = None) -> str:
    columns = {
        "users": ("id", "mail", "city"),
        "follows": ("celeb", "fan"),
        "groups": ("id", "users"),
        "watched": ("celeb", "grp"),
    }[table]
    images = {
        name: dict(zip(columns, image, strict=True))
        for name, image in (("before", before), ("after", after))
        if image is not None
    }
    return json.dumps({"seq": seq, "table": table, "op": op, **images})


CHANGES = [
    change(1, "users", "update", USERS[1], (2, "c@d.org", "NYC")),
    change(2, "users", "update", USERS[0], (1, "new@b.org", "NYC")),
    change(3, "users", "insert", None, (4, "g@h.org", "NYC")),
    change(4, "groups", "update", GROUPS[0], (1, [2, 4])),
    change(5, "follows", "insert", None, (3, 4)),
    change(6, "follows", "delete", FOLLOWS[1]),
    change(7, "groups", "insert", None, (2, [1])),
    change(8, "watched", "insert", None, (3, 2)),
]


def check(made: Pipeline) -> None:
    """The results before and after the changes."""
    assert results(made) == [(["u3", "g1"], "a@b.org")]
    made.run_batch(CHANGES, "changes")
    assert results(made) == [(["u3", "g1"], "g@h.org"), (["u3", "g2"], "new@b.org")]
    made.run_batch(
        [change(9, "watched", "delete", (3, 1)), change(10, "users", "delete", (1, "new@b.org", "NYC"))], "x"
    )
    assert results(made) == []


def store_of(folder: Path, mapping: Any) -> Store:
    store = Store(folder / "store")
    store.path.mkdir()
    store.deploy(DEPLOYMENT)
    store.declare(mapping.source)
    return store


def test_a_mapping_of_a_beginning_that_came_to_nothing_is_not_kept(tmp_path: Path) -> None:
    store = store_of(tmp_path, declared(tmp_path))
    assert store.mapping()
    store.deploy(DEPLOYMENT)
    assert store.mapping() == {}


def test_rows_that_change_are_changes_of_relations(tmp_path: Path) -> None:
    made = Pipeline(store_of(tmp_path, declared(tmp_path)), in_process)
    made.init(2)
    tables = {"users": USERS, "follows": FOLLOWS, "groups": GROUPS, "watched": WATCHED}
    rows = [(table, row) for table, content in tables.items() for row in content]
    told = [change(n - 100, table, "insert", None, row) for n, (table, row) in enumerate(rows)]
    made.run_batch(told, "tables")
    check(made)


def test_mapped_tables_are_loaded_as_they_are(spark: Any, tmp_path: Path) -> None:
    mapping = declared(tmp_path)
    frames = {
        "users": spark.createDataFrame(USERS, "id int, mail string, city string"),
        "follows": spark.createDataFrame(FOLLOWS, "celeb int, fan int"),
        "groups": spark.createDataFrame(GROUPS, "id int, users array<int>"),
        "watched": spark.createDataFrame(WATCHED, "celeb int, grp int"),
    }
    made = Pipeline(store_of(tmp_path, mapping), runner(spark))
    made.begin(lambda place: write_frames(spark, frames, DEPLOYMENT, mapping, place, small=True), 2)
    check(made)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('email = "mail", ', "", "the queries read email, which no class maps"),
        ("loc =", "lco =", "classes.User: the program has no field lco; it has email, followers, loc"),
        ('table = "users"\n', "", "classes.User: no `table`"),
        ("prefix", "prefx", "classes.User: `prefx` is not known; there is table, id, prefix"),
        ('member = "fan", ', "", "classes.User.sets.followers: a set has `column`, or `table`,"),
        ('class = "Group"', 'class = "Grp"', "demand.nyc_fans.columns: no class Grp is mapped"),
        (', { column = "grp", class = "Group" }', "", "demand.nyc_fans: 2 columns are needed, not 1"),
        ("[demand.nyc_fans]", "[demand.fans]", "fans is no query and no global set of the program"),
        ("[classes.User]", "[classes.User", "mapping.toml: "),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in DECLARED
    with pytest.raises(StoreError, match=r"mapping\.toml: ") as found:
        declared(tmp_path, DECLARED.replace(old, new))
    assert message in str(found.value)


def test_tables_that_do_not_fit_the_declaration_are_told(spark: Any, tmp_path: Path) -> None:
    frames = {
        "users": spark.createDataFrame(USERS, "id int, mail string, town string"),
        "follows": spark.createDataFrame(FOLLOWS, "celeb int, fan int"),
        "groups": spark.createDataFrame([(1, "x")], "id int, users string"),
        "watched": spark.createDataFrame(WATCHED, "celeb int, grp int"),
    }

    def told(text: str = DECLARED, **others: Any) -> str:
        with pytest.raises(StoreError) as found:
            write_frames(spark, frames | others, DEPLOYMENT, declared(tmp_path, text), tmp_path / "x")
        return str(found.value)

    assert told() == "table users has no column city; it has id, mail, town"
    renamed = frames["users"].withColumnRenamed("town", "city")
    assert told(users=renamed) == "classes.Group: column users of groups is no array"
    unprefixed = DECLARED.replace('prefix = "u"\n', "").replace('prefix = "g"\n', "")
    assert (
        told(unprefixed, users=renamed) == "User and Group number their rows alike: give them a `prefix` each"
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (change(1, "users", "replace", USERS[0]), "`op` is insert or update or delete here, not 'replace'"),
        ('{"seq": 1, "table": "nobody", "op": "insert", "after": {}}', "unknown table 'nobody'"),
        ('{"seq": 1, "table": "users", "op": "insert"}', "`after` is a row, a JSON object"),
        ('{"seq": 1, "table": "users", "op": "insert", "after": {"id": 1}}', "`after` has no column city"),
        (change(1, "users", "insert", None, (None, "a", "b")), "the id is null"),
    ],
)
def test_a_row_that_cannot_be_understood_is_rejected(tmp_path: Path, line: str, reason: str) -> None:
    from incoq.spark.events import Reader

    mapping = make_mapping(declared(tmp_path).source)
    batch = Reader(DEPLOYMENT, RowReader(mapping).rows).read([line], None)
    assert [r.reason for r in batch.rejected] == [reason]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"table": ["users"], "op": "insert", "after": {}}, "unknown table ['users']"),
        ({"table": "groups", "op": "insert", "after": {"id": 1, "users": 5}}, "`users` is a list, not 5"),
        ({"table": "groups", "op": "insert", "after": {"id": 1, "users": "a"}}, "`users` is a list, not 'a'"),
        ({"table": "groups", "op": "insert", "after": {"id": [1], "users": []}}, "`id` is no id: [1]"),
        ({"table": "groups", "op": "insert", "after": {"id": 1, "users": [{}]}}, "`users` is no id: {}"),
        ({"table": "watched", "op": "insert", "after": {"celeb": 1, "grp": None}}, "a parameter is null"),
    ],
)  # fmt: skip
def test_a_row_of_the_wrong_types_is_rejected(tmp_path: Path, event: dict[str, Any], reason: str) -> None:
    made = Pipeline(store_of(tmp_path, declared(tmp_path)), in_process)
    batch = made.reader.read([json.dumps({"seq": 1, **event})], None)
    assert (batch.rows, [r.reason for r in batch.rejected]) == ([], [reason])


def test_an_update_of_a_row_that_was_rejected_is_taken(tmp_path: Path) -> None:
    made = Pipeline(store_of(tmp_path, declared(tmp_path)), in_process)
    event = {"seq": 1, "table": "watched", "op": "update"}
    event |= {"before": {"celeb": 1, "grp": None}, "after": {"celeb": 1, "grp": 2}}
    batch = made.reader.read([json.dumps(event)], None)
    assert batch.rows == [("demand_nyc_fans", '["u1","g2"]', "", None, True)]
