"""The commands on a real session: bootstrap, run, results, status, compact, verify."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from incoq.cli import main
from incoq.spark.results import result_lines
from incoq.spark.store import Store
from tests.spark.pipelines import RUNNING, lines


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(RUNNING)
    return path


def command(*args: Any, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["spark", *map(str, args)])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result.output


def tables(folder: Path) -> Path:
    folder.mkdir()

    def write(name: str, **columns: Any) -> None:
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")

    write("field_loc", o=["u1", "u2", "u3"], x=["NYC", "Oslo", "NYC"])
    write("field_followers", o=["c1"], x=["s1"])
    write("member", s=["s1", "s1", "s1", "g1", "g1", None], x=["u1", "u2", "u3", "u1", "u2", "u9"])
    (folder / "field_email.csv").write_text("o,x\nu1,a@b.org\nu2,c@d.org\nu3,e@f.org\n")
    (folder / "demand_nyc_fans.json").write_text('{"celeb": "c1", "group": "g1"}\n')
    return folder


def test_the_smallest_pipeline_from_tables_to_results(spark: Any, tmp_path: Path, program: Path) -> None:
    store, changes = tmp_path / "store", tmp_path / "changes"
    changes.mkdir()
    command("bootstrap", program, "--store", store, "--from", tables(tmp_path / "tables"), "--partitions", 2)
    assert command("results", "--store", store, "--query", "nyc_fans", "--format", "jsonl") == (
        '{"params": ["c1", "g1"], "result": "a@b.org"}\n'
    )
    events = [
        ("field_loc", "assign", "u2", "NYC"),
        ("member", "add", "g1", "u3"),
        ("demand_nyc_fans", "add", "c1", "s1"),
    ]
    (changes / "1.jsonl").write_text("\n".join([*lines(events), "nonsense"]))
    told = command("run", "--store", store, "--changes", changes, "--once")
    heading, progress = (line.split() for line in told.splitlines()[-2:])
    shown = dict(zip(heading, progress, strict=True))
    assert (shown["batch"], shown["events"], shown["rejected"], shown["source"]) == ("1", "3", "1", "1.jsonl")
    expected = [
        f'{{"params": ["c1", "{group}"], "result": "{mail}"}}'
        for group in ("g1", "s1")
        for mail in ("a@b.org", "c@d.org", "e@f.org")
    ]
    assert list(result_lines(Store(store), "nyc_fans")) == expected
    assert "the results are what the data says" in command("verify", "--store", store)
    command("compact", "--store", store)
    assert list(result_lines(Store(store), "nyc_fans")) == expected
    (changes / "2.jsonl").write_text("\n".join(lines([("member", "remove", "s1", "u1")], 10)))
    command("run", "--store", store, "--changes", changes, "--once")
    assert list(result_lines(Store(store), "nyc_fans")) == [e for e in expected if "a@b" not in e]
    status = json.loads(command("status", "--store", store, "--json"))
    assert (status["batch"], status["events"], status["rejected"]) == (2, 4, 2)
    assert status["rejected_reasons"] == {"1 rows of member have no owner": 1, "not a line of JSON": 1}
    assert "2 rejected" in command("status", "--store", store)


def test_mistakes_are_told_plainly(tmp_path: Path, program: Path) -> None:
    missing = tmp_path / "nothing"
    assert "holds no pipeline" in command("results", "--store", missing, "--query", "q", code=1)
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "field_lco.csv").write_text("o,x\n")
    told = command("bootstrap", program, "--store", tmp_path / "s", "--from", folder, code=1)
    assert "no relation of the program is called field_lco; it has field_email" in told
    command("init", program, "--store", tmp_path / "t")
    told = command("init", program, "--store", tmp_path / "t", code=1)
    assert "holds a pipeline already" in told
    told = command("results", "--store", tmp_path / "t", "--query", "nobody", code=1)
    assert "no query is called nobody; the program has nyc_fans" in told


def test_values_of_every_type_survive_the_bootstrap(spark: Any, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("from incoq import query\n@query\ndef q(s):\n    return {(u, u.n) for u in s}\n")
    values: dict[str, Any] = {"b": True, "t": [2.5, 3.0]}
    for number, (owner, value) in enumerate(values.items()):
        # A column has one type, so each of them is a pipeline of its own.
        one = tmp_path / f"tables{number}"
        one.mkdir()
        pq.write_table(pa.table({"q": ["s"]}), one / "demand_q.parquet")
        pq.write_table(pa.table({"s": ["s"], "x": [owner]}), one / "member.parquet")
        pq.write_table(pa.table({"o": [owner], "x": [value]}), one / "field_n.parquet")
        command("bootstrap", program, "--store", tmp_path / f"store{number}", "--from", one)
        (line,) = result_lines(Store(tmp_path / f"store{number}"), "q")
        assert json.loads(line) == {"params": ["s"], "result": [owner, value]}


LOOSE = """
from incoq import Set, query
R = Set()

@query
def q(s):
    return {(u, u.n) for u in s}

@query
def bag(s):
    return sum(len(u.n) for u in s)

@query
def entries(m):
    return {(k, v) for k, v in m.items()}

@query
def pairs():
    return {(a, b) for (a, b) in R}
"""


def loaded(spark: Any, folder: Path, road: str = "auto", **files: str) -> Any:
    """A pipeline over tables of text; of each file, the name and what it holds."""
    from incoq.spark import create, opened
    from incoq.spark.status import status_of

    (folder / "program.py").write_text(LOOSE)
    (folder / "tables").mkdir()
    for name, text in files.items():
        table, _, suffix = name.rpartition("_")
        (folder / "tables" / f"{table}.{suffix}").write_text(text)
    create(folder / "store", folder / "program.py", spark, folder / "tables", partitions=2, road=road)
    with opened(folder / "store", spark) as made:
        assert made.verify() == []
        found = {
            name: [(row["params"], row["result"]) for row in map(json.loads, result_lines(made.store, name))]
            for name in ("q", "bag", "entries", "pairs")
        }
        return found, status_of(made.store)["rejected_reasons"]


def test_the_values_of_json_tables_keep_their_types_and_their_columns(spark: Any, tmp_path: Path) -> None:
    found, rejected = loaded(
        spark, tmp_path,
        demand_q_jsonl='{"s": "s"}\n', demand_entries_jsonl='{"m": "m"}\n', demand_pairs_jsonl="{}\n",
        member_jsonl='{"s": "s", "x": "u"}\nno row\n{"x": "v", "s": "s"}\n\n{"s": "s", "x": "w"}\n{"y": 1}\n',
        field_n_jsonl='{"o": "u", "x": ["a", 1]}\n{"o": "v", "x": true}\n'
        '{"x": 2.5, "o": "w"}\n{"o": "u9", "x": {}}',
        item_jsonl='{"m": "m", "k": "a", "v": 1}\n{"m": "m", "k": "b"}\n',
        R_jsonl='{"b": 1, "a": "x"}\n{"a": "y", "b": 2.0}\n',
    )  # fmt: skip
    assert repr(found["q"]) == repr([(["s"], ["u", ["a", 1]]), (["s"], ["v", True]), (["s"], ["w", 2.5])])
    assert found["entries"] == [(["m"], ["a", 1]), (["m"], ["b", None])]
    assert repr(found["pairs"]) == repr([([], [1, "x"]), ([], [2.0, "y"])])
    assert rejected == {
        "1 rows of member are not a line of JSON": 1,
        "1 rows of member do not only have the columns s, x": 1,
        "1 rows of field_n: an object is no value: give its id": 1,
    }


def test_csv_tables_have_numbers_where_nothing_is_lost_by_it(spark: Any, tmp_path: Path) -> None:
    found, rejected = loaded(
        spark, tmp_path,
        demand_q_csv="s\ns\n", member_csv="x,s\nu,s\nv,s\n",
        field_n_csv='x,o\n01234,u\n"a ""b""",v\n', item_csv="m,k,v\nm,1,2.5\nm,2,3\n",
        demand_entries_csv="m\nm\n",
    )  # fmt: skip
    assert found["q"] == [(["s"], ["u", "01234"]), (["s"], ["v", 'a "b"'])]
    assert repr(found["entries"]) == repr([(["m"], [1, 2.5]), (["m"], [2, 3.0])])
    assert rejected == {}


def test_a_csv_may_have_texts_of_several_lines_and_rows_of_another_width_are_none(
    spark: Any, tmp_path: Path
) -> None:
    found, rejected = loaded(
        spark, tmp_path,
        demand_q_csv="s\ns\n", member_csv="s,x\ns,u\ns,v\ns,w\ns,y\n",
        field_n_csv='o,x\nu,"New\nYork"\nv,New York, NY\nw\ny,2\n',
    )  # fmt: skip
    assert found["q"] == [(["s"], ["u", "New\nYork"]), (["s"], ["y", "2"])]
    assert list(rejected) == ["2 rows of field_n have another width than the header"]


def test_rows_with_a_text_that_is_not_unicode_are_none(spark: Any, tmp_path: Path) -> None:
    from incoq.spark.deployment import deploy_source
    from incoq.spark.tables import encode, read_table

    deployment = deploy_source(LOOSE)
    wrong = b'{"o": "u", "x": "\\ud800"}\n{"o": "v", "x": 1}\n' + b'{"o": "w", "x": "Z\xfcrich"}\n'
    (tmp_path / "lines.jsonl").write_bytes(wrong)
    texts = pa.array([b"a", b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"o": ["v", "w"], "x": texts}), tmp_path / "texts.parquet")
    for name, good in (("lines.jsonl", "j1"), ("texts.parquet", "sa")):
        rows = encode(read_table(spark, tmp_path / name), "field_n", deployment)
        assert [(r["o"], r["x"]) for r in rows.where("fault is null").collect()] == [("v", good)]
        faults = {r["fault"] for r in rows.select("fault").where("fault is not null").collect()}
        assert faults == {" hold a text that is not Unicode"}


def test_an_empty_table_needs_no_types(spark: Any, tmp_path: Path) -> None:
    from incoq.spark.deployment import deploy_source
    from incoq.spark.tables import encode, read_table

    pq.write_table(pa.table({name: pa.nulls(0) for name in "mkv"}), tmp_path / "item.parquet")
    assert encode(read_table(spark, tmp_path / "item.parquet"), "item", deploy_source(LOOSE)).isEmpty()


def test_a_table_may_repeat_one_row_often(spark: Any, tmp_path: Path) -> None:
    found, rejected = loaded(
        spark, tmp_path,
        demand_q_csv="s\n" + "s\n" * 10_001, member_csv="s,x\n" + "s,u\n" * 20_001,
        field_n_csv="o,x\nu,a\n",
    )  # fmt: skip
    assert found["q"] == [(["s"], ["u", "a"])]
    assert rejected == {}


def test_a_query_without_parameters_is_demanded_by_a_row(spark: Any, tmp_path: Path) -> None:
    from incoq.spark.deployment import deploy_source
    from incoq.spark.tables import encode

    deployment = deploy_source(
        "from incoq import Set, query\nR = Set()\n@query\ndef q():\n    return {x for x in R}\n"
    )
    (row,) = encode(spark.sql("select 1 as any"), "demand_q", deployment).collect()
    assert (row["rel"], row["o"], row["fault"]) == ("demand_q", "[]", None)


def test_a_table_that_cannot_be_read_is_named(spark: Any, tmp_path: Path) -> None:
    from incoq.spark.store import StoreError
    from incoq.spark.tables import read_table

    (tmp_path / "field_n.parquet").write_bytes(b"")
    with pytest.raises(StoreError, match=r"field_n\.parquet cannot be read: .*UNABLE_TO_INFER_SCHEMA"):
        read_table(spark, tmp_path / "field_n.parquet")


@pytest.mark.parametrize("road", ["engines", "joins"])
def test_a_key_that_a_table_has_twice_counts_once(spark: Any, tmp_path: Path, road: str) -> None:
    found, rejected = loaded(
        spark, tmp_path, road,
        demand_q_csv="s\ns\ns\n", demand_bag_csv="s\ns\n", member_csv="s,x\ns,u\ns,u\ns,v\n",
        field_n_csv="o,x\nu,abc\nu,ab\nv,x\nv,x\n",
    )  # fmt: skip
    assert found["q"] == [(["s"], ["u", "abc"]), (["s"], ["v", "x"])]
    assert found["bag"] == [(["s"], 4)]
    assert rejected == {"1 rows of field_n say something else than another of the same key": 1}


def test_columns_that_are_no_values_are_refused_and_decimals_are_numbers(spark: Any, tmp_path: Path) -> None:
    from incoq.spark.deployment import deploy_source
    from incoq.spark.store import StoreError
    from incoq.spark.tables import encode

    deployment = deploy_source(LOOSE)
    frame = spark.sql("select 'u' o, cast('a' as binary) x")
    with pytest.raises(StoreError, match="field_n: column x is binary, which is no value: cast it to string"):
        encode(frame, "field_n", deployment)
    frame = spark.sql("select 'u' o, cast(1.50 as decimal(9,2)) x union all select 'v', null")
    assert sorted(row["x"] for row in encode(frame, "field_n", deployment).collect()) == ["j1.5", "jnull"]
    frame = spark.sql("select 's' s, double('nan') x union all select null, 1.5d union all select 's', 2.5d")
    found = {(row["x"], row["k"], row["fault"]) for row in encode(frame, "member", deployment).collect()}
    expected = {
        (None, None, ": nan is no number of JSON"),
        (None, None, " have no owner"),
        (None, "j2.5", None),
    }
    assert found == expected


def test_demanded_values_and_constants_of_other_types_by_joins(spark: Any, tmp_path: Path) -> None:
    from incoq.spark import create, opened

    text = "from incoq import query\nTWO = 2.0\n"
    text += "@query\ndef q(s, k):\n    return {u for u in s if u.n == k}\n"
    text += "@query\ndef yes(s):\n    return {u for u in s if u.n == True}\n"
    text += "@query\ndef two(s):\n    return {u for u in s if u.n == TWO}\n"
    (tmp_path / "program.py").write_text(text)
    create(tmp_path / "store", tmp_path / "program.py", spark, partitions=2)
    with opened(tmp_path / "store", spark, road="joins") as made:
        demand = [
            ("demand_two", "add", "s"),
            ("demand_yes", "add", "s"),
            *(("demand_q", "add", "s", k) for k in (True, 2.0)),
        ]
        facts = [("member", "add", "s", "u"), ("field_n", "assign", "u", 1)]
        facts += [("member", "add", "s", "v"), ("field_n", "assign", "v", 2)]
        facts += [("member", "add", "s", "w"), ("field_n", "assign", "w", True)]
        made.run_batch(lines([*demand, *facts]), "a")
        one = ['{"params": ["s", true], "result": "u"}', '{"params": ["s", true], "result": "w"}']
        assert list(result_lines(made.store, "q")) == ['{"params": ["s", 2.0], "result": "v"}', *one]
        assert [json.loads(line)["result"] for line in result_lines(made.store, "yes")] == ["u", "w"]
        assert list(result_lines(made.store, "two")) == ['{"params": ["s"], "result": "v"}']
        assert made.verify() == []


def test_equal_values_of_other_types_by_joins(spark: Any, tmp_path: Path) -> None:
    from incoq.spark import create, opened, result_table

    (tmp_path / "program.py").write_text(LOOSE)
    create(tmp_path / "store", tmp_path / "program.py", spark, partitions=2)
    with opened(tmp_path / "store", spark) as made:
        made.roads.told = "engines"
        facts = [("demand_q", "add", "s"), ("member", "add", "s", "u"), ("field_n", "assign", "u", 1)]
        made.run_batch(lines(facts), "a")
        for number, (road, value) in enumerate([("joins", True), ("engines", 1.0), ("joins", 1)]):
            made.roads.told = road
            made.run_batch(lines([("field_n", "assign", "u", value)], 10 + number), "b")
            expected = json.dumps(["u", value])
            assert list(result_lines(made.store, "q")) == [f'{{"params": ["s"], "result": {expected}}}']
            assert [row["result"] for row in result_table(made.store.path, "q", spark).collect()] == [
                expected
            ]


def test_large_numbers_long_texts_and_values_that_are_missing_by_joins(spark: Any, tmp_path: Path) -> None:
    from incoq.spark import create, opened

    text = "from incoq import query\n"
    text += "@query\ndef q(s):\n    return {u.n for u in s if u.n in (1e16, 10**22) or u.n == 1e300}\n"
    text += "@query\ndef best(s):\n    return {(u, max(v.n for v in u.fans)) for u in s}\n"
    text += "@query\ndef only(s):\n    return {max(v.n for v in u.fans) for u in s}\n"
    text += "@query\ndef pairs(s):\n    return {(a, b) for (a, b) in s}\n"
    (tmp_path / "program.py").write_text(text.replace("10**22", str(10**22)))
    create(tmp_path / "store", tmp_path / "program.py", spark, partitions=2)
    values = [10**16, 1e16, 1e22, int(1e300), 10**300]
    with opened(tmp_path / "store", spark, road="joins") as made:
        events = [(f"demand_{q}", "add", "s") for q in ("q", "best", "only", "pairs")]
        events += [("member", "add", "s", f"u{n}") for n in range(len(values))]
        events += [("field_n", "assign", f"u{n}", value) for n, value in enumerate(values)]
        events += [("field_fans", "assign", "u0", "f"), ("member", "add", "f", "u4")]
        events += [("field_fans", "assign", "u1", "nobody"), ("member", "add", "nobody", "u9")]
        events += [("member", "add", "s", ["x" * 20_000 + '"' * 20_000, "b"])]
        made.run_batch(lines(events), "a")
        found = {
            q: [json.loads(r)["result"] for r in result_lines(made.store, q)] for q in made_queries(made)
        }
        assert sorted(found["q"]) == [10**16, 10**22, int(1e300)]
        assert found["best"] == [["u0", 10**300]]
        assert found["only"] == [10**300]
        assert [len(a) for a, _ in found["pairs"]] == [40_000]
        assert made.verify() == []


def made_queries(made: Any) -> list[str]:
    return [query.name for query in made.deployment.queries]
