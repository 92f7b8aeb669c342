"""The running example as a pipeline on Spark: generated tables, then changes in files, a batch each.

The same updates go to the compiled program in this process; at the end its answers are compared with the
result table of the pipeline, pair by pair.
"""

import json
import random
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.versions import PROGRAM, load
from bench.world import PLACES

USERS, GROUPS, PAIRS, BATCHES, CHANGES = 2_000, 20, 30, 4, 1_000


class Both:
    """One world twice: live objects of the compiled program, and relations."""

    def __init__(self) -> None:
        self.program = load("filtered").module
        self.rng = rng = random.Random(3)
        self.relations: dict[str, list[list[str]]] = {
            name: [] for name in ("field_email", "field_loc", "field_followers", "member", "demand_nyc_fans")
        }
        self.events: list[str] = []
        self.users = [self._user(number) for number in range(USERS)]
        self.groups = [self.program.new_group() for _ in range(GROUPS)]
        for celeb in range(10):
            for fan in rng.sample(range(USERS), USERS // 4):
                self.program.follow(self.users[fan], self.users[celeb])
                self.relations["member"].append([f"u{celeb}.followers", f"u{fan}"])
        for group in range(GROUPS):
            for user in rng.sample(range(USERS), USERS // 4):
                self.program.join(self.users[user], self.groups[group])
                self.relations["member"].append([f"g{group}", f"u{user}"])
        self.pairs = [(n % 10, n % GROUPS) for n in range(PAIRS)]
        for celeb, group in self.pairs:
            self.program.nyc_fans(self.users[celeb], self.groups[group])
        self.pairs = sorted(set(self.pairs))
        self.relations["demand_nyc_fans"] = [[f"u{c}", f"g{g}"] for c, g in self.pairs]

    def _user(self, number: int) -> Any:
        email, place = f"user{number}@example.org", self.rng.choice(PLACES)
        self.relations["field_email"].append([f"u{number}", email])
        self.relations["field_loc"].append([f"u{number}", place])
        self.relations["field_followers"].append([f"u{number}", f"u{number}.followers"])
        return self.program.User(email, place)

    def change(self) -> None:
        """One random update, here and as an event."""
        user = self.rng.randrange(USERS)
        if self.rng.random() < 0.7:
            place = self.rng.choice(PLACES)
            self.program.move(self.users[user], place)
            self._event("field_loc", "assign", f"u{user}", place)
        else:
            group = self.rng.randrange(GROUPS)
            if self.users[user] in self.groups[group]:
                self.groups[group].discard(self.users[user])
                self._event("member", "remove", f"g{group}", f"u{user}")
            else:
                self.program.join(self.users[user], self.groups[group])
                self._event("member", "add", f"g{group}", f"u{user}")

    def _event(self, relation: str, op: str, *values: str) -> None:
        event = {"seq": len(self.events) + 1, "rel": relation, "op": op, "values": values}
        self.events.append(json.dumps(event))

    def answers(self) -> list[tuple[list[str], str]]:
        return sorted(
            ([f"u{c}", f"g{g}"], email)
            for c, g in self.pairs
            for email in self.program.nyc_fans(self.users[c], self.groups[g])
        )


def main() -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from incoq.spark.deployment import deploy
    from incoq.spark.pipeline import Pipeline, Progress
    from incoq.spark.results import result_lines
    from incoq.spark.session import parallelism, runner, session
    from incoq.spark.store import Store
    from incoq.spark.tables import write_tables

    print("the same program on Spark: starting a local session", flush=True)
    spark = session("incoq demo")
    both, shown = Both(), list[Progress]()
    with tempfile.TemporaryDirectory() as folder:
        tables, changes = Path(folder) / "tables", Path(folder) / "changes"
        tables.mkdir()
        changes.mkdir()
        for name, rows in both.relations.items():
            columns = {f"c{n}": [row[n] for row in rows] for n in range(2)}
            pq.write_table(pa.table(columns), tables / f"{name}.parquet")
        store = Store(Path(folder) / "store")
        store.path.mkdir()
        store.deploy(deploy(PROGRAM))
        pipeline = Pipeline(store, runner(spark), shown.append)
        manifest = pipeline.begin(
            partial(write_tables, spark, tables, pipeline.deployment, None), parallelism("local[*]")
        )
        print(f"{manifest.base.rows:,} rows of tables loaded, {len(both.pairs)} pairs demanded", flush=True)
        for number in range(BATCHES):
            first = len(both.events)
            for _ in range(CHANGES):
                both.change()
            (changes / f"{number}.jsonl").write_text("\n".join(both.events[first:]))
        pipeline.run_directory(changes)
        found = sorted(
            (row["params"], row["result"]) for row in map(json.loads, result_lines(store, "nyc_fans"))
        )
    table = Table(title=f"{BATCHES} batches of {CHANGES:,} changes", title_justify="left")
    for heading in ("batch", "changes", "rows routed", "result changes", "seconds"):
        table.add_column(heading, justify="right")
    for p in shown:
        table.add_row(str(p.batch), f"{p.events:,}", f"{p.routed:,}", f"{p.changes:,}", f"{p.seconds:.2f}")
    Console().print(table)
    equal = found == both.answers()
    verdict = "equal to" if equal else "DIFFERENT FROM"
    print(f"result table: {len(found):,} rows, {verdict} the answers in process")
    spark.stop()
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
