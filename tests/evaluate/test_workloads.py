"""Workload data: seeded, the same at any parallelism, distinct where they must be, and Zipf where asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from incoq.evaluate.workloads import ZIPF, Column, Table, generate, place_of, read

TABLES = {
    "users": Table(
        300,
        {
            "place": Column(20),
            "others": Column(300, 5),
            "liked": Column(300, 5, ZIPF),
            "one": Column(99, None, ZIPF),
        },
    )
}


def made(spark: Any, place: Path, seed: int, partitions: int) -> dict[str, list[Any]]:
    generate(spark, "users", TABLES["users"], seed, place, partitions)
    return read(place)


def test_data_are_the_same_at_any_parallelism_and_others_with_another_seed(
    spark: Any, tmp_path: Path
) -> None:
    one = made(spark, tmp_path / "one", 7, 1)
    assert made(spark, tmp_path / "five", 7, 5) == one
    assert made(spark, tmp_path / "other", 8, 5) != one


def test_draws_are_distinct_in_range_and_skewed_where_asked(spark: Any, tmp_path: Path) -> None:
    data = made(spark, tmp_path, 7, 2)
    for name in ("others", "liked"):
        assert {len(set(draw)) for draw in data[name]} == {5}
        assert all(0 <= number < 300 for draw in data[name] for number in draw)
    uniform = Counter(number for draw in data["others"] for number in draw)
    zipf = Counter(number for draw in data["liked"] for number in draw)
    assert zipf.most_common(1)[0][0] == 0
    assert zipf[0] > 5 * uniform.most_common(1)[0][1]
    assert set(data["place"]) == set(range(20))
    assert max(data["one"]) < 99


def test_what_was_half_written_is_made_again(spark: Any, tmp_path: Path) -> None:
    whole = made(spark, tmp_path, 7, 2)
    (tmp_path / "_SUCCESS").unlink()
    next(tmp_path.glob("part-*.parquet")).unlink()
    assert made(spark, tmp_path, 7, 2) == whole


def test_tables_that_are_drawn_alike_lie_in_one_place(tmp_path: Path) -> None:
    table = TABLES["users"]
    assert place_of(tmp_path, "users", table) == place_of(tmp_path, "users", Table(300, dict(table.columns)))
    assert place_of(tmp_path, "users", table) != place_of(tmp_path, "users", Table(301, table.columns))
    assert place_of(tmp_path, "users", table) != place_of(tmp_path, "steps", table)
