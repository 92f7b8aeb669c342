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
