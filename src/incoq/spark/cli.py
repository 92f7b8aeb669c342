"""`incoq spark`: the pipeline from the shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from incoq.spark.deployment import Deployment
    from incoq.spark.mapping import Mapping
    from incoq.spark.pipeline import Pipeline, Progress
    from incoq.spark.store import Store

STORE = click.option(
    "--store", required=True, type=click.Path(path_type=Path), help="The directory that holds the pipeline."
)


def _keep_settings(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> None:
    """Note the settings of Spark's for `_session`."""
    wrong = [setting for setting in given if "=" not in setting]
    if wrong:
        raise click.BadParameter(f"{wrong[0]} is not KEY=VALUE", context, option)
    context.meta["incoq.spark.settings"] = dict(setting.split("=", 1) for setting in given)


def MASTER(command: Callable[..., Any]) -> Callable[..., Any]:  # used like the other options
    """Where Spark runs, and how."""
    command = click.option(
        "--conf", multiple=True, metavar="KEY=VALUE", expose_value=False, callback=_keep_settings,
        help="A setting of Spark's; may be repeated.",
    )(command)  # fmt: skip
    return click.option("--master", default="local[*]", show_default=True, help="Spark's master.")(command)


MAPPING = click.option(
    "--mapping", type=click.Path(path_type=Path), help="How classes map to tables: a TOML or JSON file."
)
PARTITIONS = click.option(
    "--partitions",
    type=click.IntRange(min=1),
    help="Over how many parts demand is spread; default: all cores.",
)


ROAD = click.option(
    "--road", type=click.Choice(["auto", "engines", "joins"]), default="auto", show_default=True,
    help="Have engines apply changes, or joins answer everything anew; auto takes what is cheaper.",
)  # fmt: skip


@click.group()
def spark() -> None:
    """The same queries at scale: maintained over tables and a stream of changes, on Spark."""
    check_installed()


def check_installed() -> None:
    """End with a clear message where the extra is not installed."""
    missing = [name for name in ("pyspark", "pyarrow") if not _is_installed(name)]
    if missing:
        raise click.UsageError(f"this needs {' and '.join(missing)}: pip install 'incoq[spark]'")


def _is_installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


@spark.command(short_help="Load tables and answer what they demand.")
@click.argument("program", type=click.Path(path_type=Path))
@STORE
@click.option(
    "--from",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    help="The directory of relation tables.",
)
@MAPPING
@PARTITIONS
@ROAD
@MASTER
def bootstrap(
    program: Path,
    store: Path,
    folder: Path,
    mapping: Path | None,
    partitions: int | None,
    road: str,
    master: str,
) -> None:
    """Compile PROGRAM, load the tables of a directory and answer what they demand."""
    with _reported(program):
        from incoq.spark.deployment import deploy
        from incoq.spark.session import parallelism, runner

        deployment = deploy(program)
        with _new_store(store, deployment) as place:
            from incoq.spark.pipeline import Pipeline
            from incoq.spark.recompute import by_joins
            from incoq.spark.tables import find_tables, write_tables

            mapped = _mapped(place, mapping, deployment)
            find_tables(folder, deployment, mapped)  # say what is wrong before Spark starts
            with _session(f"incoq bootstrap {program.name}", master) as running:
                at_once = running.sparkContext.defaultParallelism
                pipeline = Pipeline(
                    place, runner(running), joins=by_joins(running, place), road=road, at_once=at_once
                )
                manifest = pipeline.begin(
                    partial(write_tables, running, folder, deployment, mapped),
                    partitions or parallelism(master),
                )
        rows = sum(entry.rows for entry in manifest.feed)
        results = "1 result" if rows == 1 else f"{rows:,} results"
        click.echo(f"{manifest.base.rows:,} rows loaded, {results}", err=True)


@spark.command(short_help="Take change files, a batch each.")
@STORE
@click.option(
    "--changes", required=True, type=click.Path(path_type=Path), help="The directory of change files."
)
@click.option("--once", is_flag=True, help="Stop when every file has been taken.")
@click.option(
    "--every",
    default=1.0,
    type=click.FloatRange(min=0),
    show_default=True,
    metavar="SECONDS",
    help="How often to look for files.",
)
@ROAD
@MASTER
def run(store: Path, changes: Path, once: bool, every: float, road: str, master: str) -> None:
    """Take each new file of a directory, in name order, as one batch of changes."""
    with _reported(store):
        import time

        from incoq.spark.store import Store, StoreError

        Store(store).manifest()
        if not changes.is_dir():  # before Spark starts
            raise StoreError(f"{changes} is not a directory")
        with _pipeline(store, master, f"incoq run {store.name}", road) as pipeline:
            try:
                while True:
                    pipeline.run_directory(changes)
                    if once:
                        return
                    time.sleep(every)
            except KeyboardInterrupt:
                last = pipeline.store.manifest().batch
                click.echo(f"stopped after batch {last}; the same command goes on from there", err=True)
                sys.exit(130)


@spark.command(short_help="Make an empty store.")
@click.argument("program", type=click.Path(path_type=Path))
@STORE
@MAPPING
@PARTITIONS
def init(program: Path, store: Path, mapping: Path | None, partitions: int | None) -> None:
    """Compile PROGRAM and make an empty store for it; changes bring the data."""
    with _reported(program):
        from incoq.spark.deployment import deploy
        from incoq.spark.pipeline import Pipeline
        from incoq.spark.session import in_process, parallelism

        deployment = deploy(program)
        with _new_store(store, deployment) as place:
            _mapped(place, mapping, deployment)
            Pipeline(place, in_process).init(partitions or parallelism("local[*]"))
        click.echo(f"{store} is ready for changes", err=True)


@spark.command(short_help="Say where the pipeline is.")
@STORE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(store: Path, as_json: bool) -> None:
    """Say where the pipeline is: batches, events, rejected ones, sizes."""
    with _reported(store):
        import json

        from incoq.spark.status import status_of, status_text
        from incoq.spark.store import Store

        found = status_of(Store(store))
        click.echo(json.dumps(found, indent=2) if as_json else status_text(found), nl=as_json)


@spark.command(short_help="Fold the log into the base.")
@STORE
@click.option(
    "--keep-feed", type=click.IntRange(min=0), default=100, show_default=True, metavar="N",
    help="Keep the change feed of the last N batches for those who follow it.",
)  # fmt: skip
@MASTER
def compact(store: Path, keep_feed: int, master: str) -> None:
    """Fold the log into the base and the change feed into the results."""
    with _reported(store), _pipeline(store, master, f"incoq compact {store.name}") as pipeline:
        manifest = pipeline.compact(keep_feed)
        click.echo(f"the base holds {manifest.base.rows} rows as of batch {manifest.batch}", err=True)


@spark.command(short_help="Compute all answers anew and compare.")
@STORE
@MASTER
def verify(store: Path, master: str) -> None:
    """Compute all answers anew and compare them with the results; status 1 where they differ."""
    with _reported(store), _pipeline(store, master, f"incoq verify {store.name}") as pipeline:
        from pyspark.sql import SparkSession

        from incoq.spark.recompute import Recomputation

        differences = pipeline.verify()
        with Recomputation(SparkSession.getActiveSession(), pipeline.store) as anew:
            found, left_out = anew.differences()
        differences += found
        compared = [name for name, reason in left_out.items() if not reason]
        if compared:
            click.echo(f"computed as joins too: {', '.join(compared)}", err=True)
        for name in (n for n, reason in left_out.items() if reason):
            click.echo(f"not computed as joins: {name}: {left_out[name]}", err=True)
        for line in differences[:20]:
            click.echo(line)
        if differences:
            click.echo(f"{len(differences)} rows differ", err=True)
            sys.exit(1)
        click.echo("the results are what the data says", err=True)


@spark.command(short_help="Print the answers of a query.")
@STORE
@click.option("--query", required=True, help="The query whose answers to show.")
@click.option("--format", "form", type=click.Choice(["jsonl"]), default="jsonl", show_default=True)
def results(store: Path, query: str, form: str) -> None:
    """Print the answers of a query as of the last committed batch, sorted."""
    with _reported(store):
        from incoq.spark.results import result_lines
        from incoq.spark.store import Store

        for line in result_lines(Store(store), query):
            click.echo(line)


@contextmanager
def _pipeline(store: Path, master: str, name: str, road: str = "auto") -> Iterator[Pipeline]:
    """The pipeline of a store, with the store to itself."""
    from incoq.spark.session import runner
    from incoq.spark.store import Store

    place = Store(store)
    place.manifest()  # say that there is none before Spark starts
    with place.locked():
        from incoq.spark.pipeline import Pipeline
        from incoq.spark.recompute import by_joins

        with _session(name, master) as running:
            at_once = running.sparkContext.defaultParallelism
            yield Pipeline(
                place, runner(running), _Show(), joins=by_joins(running, place), road=road, at_once=at_once
            )


@contextmanager
def _new_store(store: Path, deployment: Deployment) -> Iterator[Store]:
    """A store that holds the program and nothing else yet."""
    from incoq.spark.store import Store, StoreError

    place = Store(store)
    with place.locked():
        if place.exists:
            raise StoreError(f"{store} holds a pipeline already; choose another place")
        place.deploy(deployment)
        yield place


def _mapped(store: Store, path: Path | None, deployment: Deployment) -> Mapping | None:
    """The mapping that the user declared, kept in the store."""
    from incoq.spark.mapping import read_mapping

    if path is None:
        return None
    mapping = read_mapping(path, deployment)
    store.declare(mapping.source)
    return mapping


@contextmanager
def _session(name: str, master: str) -> Iterator[Any]:
    """A Spark session for one command; one that runs already is used, and goes on."""
    from pyspark.sql import SparkSession

    from incoq.spark.session import session

    before = SparkSession.getActiveSession()
    running = session(name, master, **click.get_current_context().meta.get("incoq.spark.settings", {}))
    try:
        yield running
    finally:
        if before is None:
            running.stop()


class _Show:
    """A line for each batch, in columns; the heads come again now and then."""

    def __init__(self) -> None:
        self.lines = 0

    def __call__(self, progress: Progress) -> None:
        if self.lines % 30 == 0:
            click.echo(" batch   events rejected   routed  fetched  changes  seconds  source", err=True)
        self.lines += 1
        by_joins = progress.road == "joins"
        routed, fetched = ("joins", "-") if by_joins else (progress.routed, progress.fetched)
        counts = (progress.events, progress.rejected, routed, fetched, progress.changes)
        cells = [f"{cell:>8,}" if isinstance(cell, int) else f"{cell:>8}" for cell in counts]
        source = progress.source if len(progress.source) <= 18 else f"{progress.source[:17]}…"
        click.echo(f"{progress.batch:>6} {' '.join(cells)} {progress.seconds:>8.2f}  {source}", err=True)


@contextmanager
def _reported(place: Path) -> Iterator[None]:
    """Show a fault of the program or of the store and end with status 1."""
    from incoq.errors import CompileError, IncoqError, Position

    try:
        yield
    except CompileError as error:
        if error.position is None:
            error = CompileError(error.code, error.message, Position(str(place), 1, 1))
        click.echo(error.render(), err=True)
        sys.exit(1)
    except IncoqError as error:
        click.echo(f"incoq spark: {error}", err=True)
        sys.exit(1)
    except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
        raise
    except Exception as error:
        if os.environ.get("INCOQ_TRACEBACK"):
            raise
        click.echo(f"incoq spark: {type(error).__name__}: {_told(error)}", err=True)
        click.echo("  help: INCOQ_TRACEBACK=1 shows the traceback", err=True)
        sys.exit(1)


def _told(error: Exception) -> str:
    """What an error says: of one in a Spark task, the cause and not the stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "incoq.errors." in line or "Error: [IQ" in line]
    return (causes or lines or ["no message"])[0]
