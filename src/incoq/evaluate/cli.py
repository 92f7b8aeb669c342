"""`incoq evaluate`: the paper's evaluation in one command."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from incoq.evaluate.measure import Evaluation

QUICK_BUDGET = 240  # seconds; the report takes some of the rest of five minutes


@click.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
    help="Where data, samples and the report go; default evaluation, or evaluation-quick.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="Fewer experiments, sizes and runs: under five minutes.")
@click.option("--only", multiple=True, metavar="NAME", help="An experiment to run; may be repeated.")
@click.option("--list", "listed", is_flag=True, help="List the experiments and stop.")
@click.option("--report-only", is_flag=True, help="Measure nothing; report on the samples that are there.")
@click.option(
    "--budget", type=click.FloatRange(min=0), metavar="SECONDS",
    help="Begin no sample after so many seconds; the next call goes on from there.",
)  # fmt: skip
@click.option(
    "--programs", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
    help="The paper's programs; default: the checkout's.",
)  # fmt: skip
@click.option(
    "--publish", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Also write the report there, with all samples in one file.",
)  # fmt: skip
@click.option(
    "--readme", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
    help="Also put the claims and the peers between the marks of this file.",
)  # fmt: skip
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
def evaluate(
    output: Path | None, quick: bool, only: tuple[str, ...], listed: bool, report_only: bool,
    budget: float | None, programs: Path | None, publish: Path | None, readme: Path | None, master: str,
) -> None:  # fmt: skip
    """Measure the paper's experiments, judge its claims and write a report.

    Every sample is kept as a row. A run that was interrupted goes on where it stopped.
    """
    from incoq.evaluate.catalogue import EXPERIMENTS

    if listed:
        for experiment in EXPERIMENTS:
            click.echo(f"{experiment.name:25} {experiment.title}: {', '.join(experiment.modes)}")
        return
    _need_spark()
    unknown = set(only) - {experiment.name for experiment in EXPERIMENTS}
    if unknown:
        raise click.BadParameter(f"no experiment {min(unknown)}; --list shows them", param_hint="--only")
    from incoq.evaluate.measure import Evaluation

    chosen = tuple(e for e in EXPERIMENTS if (e.name in only if only else e.in_quick or not quick))
    place = output or Path("evaluation-quick" if quick else "evaluation")
    evaluation = Evaluation(place.resolve(), _programs(programs), chosen, quick)
    _same_settings(evaluation)
    if quick and budget is None:
        budget = QUICK_BUDGET
    if not report_only:
        _announce(evaluation, budget)
    finished = _run(evaluation, master, report_only, budget)
    _write(evaluation, master, finished, publish, readme)


def _need_spark() -> None:
    from importlib.util import find_spec

    spark = "py" + "spark"  # only `incoq.spark` imports it
    missing = [name for name in (spark, "pyarrow") if find_spec(name) is None]
    if missing:
        raise click.UsageError(f"this needs {' and '.join(missing)}: pip install 'incoq[evaluate]'")


def _programs(given: Path | None) -> Path:
    import incoq

    candidates = [given] if given else [Path("programs"), Path(incoq.__file__).parents[2] / "programs"]
    for candidate in candidates:
        if (candidate / "running.py").exists():
            return candidate.resolve()
    raise click.UsageError("the paper's programs are not here: run it in a checkout, or give --programs")


def _same_settings(evaluation: Evaluation) -> None:
    """Samples of a quick run and of a full one do not belong together."""
    kept = evaluation.settings
    settings = {"quick": evaluation.quick}
    if kept.exists() and json.loads(kept.read_text(encoding="utf-8")) != settings:
        other = "full" if evaluation.quick else "quick"
        raise click.UsageError(f"{evaluation.place} holds a {other} run: give another directory with -o")
    evaluation.place.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(settings) + "\n", encoding="utf-8")


def _announce(evaluation: Evaluation, budget: float | None) -> None:
    rows = evaluation.rows()
    count, seconds = evaluation.expected(rows)
    kept = f", {len(rows):,} are there already" if rows else ""
    click.echo(f"{len(evaluation.experiments)} experiments; at least {count:,} samples to take{kept}.")
    if evaluation.quick:
        click.echo("A quick run: fewer experiments, fewer and smaller sizes, two runs of each.")
    else:
        click.echo(f"Expected to take {_duration(seconds)}, or more where runs vary.")
    if budget is not None:
        click.echo(f"No sample begins after {_duration(budget)}.")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"about {seconds:.0f} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 7200 else f"about {seconds / 3600:.1f} hours"


def _run(evaluation: Evaluation, master: str, report_only: bool, budget: float | None) -> bool:
    """Make the data, then take the samples while Spark is stopped, so that it does not share the cores."""
    if report_only:
        return not evaluation.left(evaluation.rows())
    from incoq.evaluate.measure import Job, generate_workloads, lacks_data, measure
    from incoq.evaluate.rows import Row
    from incoq.evaluate.transformation import measure_programs

    start = time.monotonic()
    with _progress() as bar:
        task = bar.add_task("starting Spark", total=None)
        if lacks_data(evaluation):
            with _spark(master) as spark:
                generate_workloads(spark, evaluation, lambda what: bar.update(task, description=what))
        count, _ = evaluation.expected(evaluation.rows())
        bar.update(task, total=count, completed=0, description="samples")

        def show(job: Job, rows: list[Row]) -> None:
            what = f"{job.experiment.name} {job.mode} {job.size:,}"
            bar.update(task, advance=len(rows), description=what)
            for row in rows:
                if row.failure:
                    bar.console.print(f"{what}: {row.failure}", markup=False)

        finished = measure(evaluation, show, None if budget is None else start + budget)
        if not evaluation.quick:
            measure_programs(
                evaluation.programs,
                evaluation.transformations,
                lambda what: bar.update(task, description=what),
            )
        return finished


def _progress() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))


@contextmanager
def _spark(master: str) -> Iterator[Any]:
    from incoq.spark.session import session

    spark = session("incoq evaluate", master)
    try:
        yield spark
    finally:
        spark.stop()


def _publish(evaluation: Evaluation, pages: dict[str, str], place: Path) -> None:
    """The report with all its samples in one file, small enough to be kept with the code."""
    from incoq.evaluate.rows import write_rows
    from incoq.output import write_text

    samples = place / evaluation.samples.name
    samples.mkdir(parents=True, exist_ok=True)
    write_rows(samples / "all.parquet", evaluation.rows())
    for kept in (evaluation.settings, evaluation.transformations):
        if kept.exists():
            pages = pages | {kept.name: kept.read_text(encoding="utf-8")}
    for name, text in pages.items():
        write_text(place / name, text)
    click.echo(f"published in {place}", err=True)


def _write(
    evaluation: Evaluation, master: str, finished: bool, publish: Path | None, readme: Path | None
) -> None:
    """Compute everything from the rows, and write it down."""
    if not evaluation.rows():
        raise click.UsageError(f"{evaluation.place} has no samples yet")
    from incoq.evaluate.catalogue import CUT
    from incoq.evaluate.claims import CLAIMS, judge, speaking_against
    from incoq.evaluate.report import Report, html, markdown, put_into, summary
    from incoq.evaluate.statistics import compute
    from incoq.evaluate.transformation import beside_the_papers, read_figures, verdicts
    from incoq.output import write_text

    with _spark(master) as spark:
        statistics = compute(spark, evaluation.samples)
        engine = f"Spark {spark.version}"
    names = {experiment.name for experiment in evaluation.experiments}
    figures = read_figures(evaluation.transformations)
    judged = judge([claim for claim in CLAIMS if claim.experiments <= names], statistics)
    report = Report(
        evaluation.experiments, statistics, (*judged, *verdicts(figures)),
        tuple(beside_the_papers(figures)), _left_out(evaluation, finished), CUT,
        (*_facts(evaluation), ("statistics", engine)), _command(evaluation),
    )  # fmt: skip
    for line in (*report.left_out, report.less):
        click.echo(line)
    pages = {"report.html": html(report), "report.md": markdown(report), "summary.md": summary(report)}
    for name, text in pages.items():
        write_text(evaluation.place / name, text)
        click.echo(f"wrote {evaluation.place / name}", err=True)
    if readme is not None:
        write_text(readme, put_into(readme.read_text(encoding="utf-8"), pages["summary.md"]))
    if publish is not None:
        _publish(evaluation, pages, publish)
    click.echo(report.tally())
    against = speaking_against(report.verdicts)
    if against:
        click.echo("Does not hold:")
        for line in against:
            click.echo(f"  {line}")
    for problem in statistics.problems:
        click.echo(f"{problem.experiment}, {problem.size:,}: {problem.what}", err=True)
    if statistics.problems:
        sys.exit(1)


def _left_out(evaluation: Evaluation, finished: bool) -> tuple[str, ...]:
    from incoq.evaluate.catalogue import EXPERIMENTS
    from incoq.evaluate.peers import PEERS, is_installed

    lines = []
    if evaluation.quick:
        lines.append(
            "A quick run: fewer experiments, fewer and smaller sizes, fewer operations and two runs of each "
            "point, where the protocol asks for ten; Table 3 is left out. Run it without --quick for "
            "figures to rely on."
        )
    if not finished:
        least, most = evaluation.protocol.least, evaluation.protocol.most
        left: dict[tuple[str, str, int], int] = {}  # the number of a point's next run
        for job in evaluation.left(evaluation.rows()):
            point = (job.experiment.name, job.mode, job.size)
            left[point] = max(left.get(point, 0), job.runs[0][1])
        points = sum(1 for _ in evaluation.points())
        few = sum(number <= least for number in left.values())
        if few:
            lines.append(f"Not finished: {few:,} of {points:,} points have fewer than {least} runs.")
        if len(left) > few:
            lines.append(
                f"The runs of {len(left) - few:,} of {points:,} points, {least} at least, differ by more "
                f"than the protocol allows: a further call repeats them, up to {most} times."
            )
    others = [e.name for e in EXPERIMENTS if e not in evaluation.experiments]
    if others:
        lines.append(f"Experiments left out: {', '.join(others)}.")
    missing = [PEERS[mode] for mode in PEERS if not is_installed(mode)]
    if missing:
        named = ", ".join(missing)
        lines.append(f"Peers that are not installed here: {named} (the extras peers and ducks of incoq).")
    return tuple(lines)


def _facts(evaluation: Evaluation) -> tuple[tuple[str, str], ...]:
    rows = evaluation.rows()

    def values(found: Sequence[str]) -> str:
        return "; ".join(sorted(set(found)))

    return (
        ("machine", values([row.machine for row in rows])),
        ("Python", values([row.python for row in rows])),
        ("incoq", values([row.version for row in rows])),
        ("system", platform.platform()),
        ("measured", f"{min(row.started for row in rows)} to {max(row.started for row in rows)}"),
        ("runs", str(evaluation.protocol)),
        ("seed", values([str(row.seed) for row in rows]) + ", plus the number of rows of a table"),
    )


def _command(evaluation: Evaluation) -> str:
    from incoq.evaluate.catalogue import EXPERIMENTS

    words = ["incoq", "evaluate", *(["--quick"] if evaluation.quick else [])]
    if len(evaluation.experiments) < len(EXPERIMENTS):
        words += [word for e in evaluation.experiments for word in ("--only", e.name)]
    return " ".join(words)
