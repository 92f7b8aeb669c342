"""The command line: `incoq compile`, `run`, `explain`, `verify`, `profile`, `stats`, `growth`, and two more.

`evaluate` and `spark` have files of their own.

Faults of the program are shown with file, line and column on the standard error and end with status 1, wrong
usage with 2. The compiler is imported by the command that needs it, so that `incoq --help` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

if TYPE_CHECKING:
    from incoq.compile import Compiled

PASS_ARGUMENTS = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def _planning(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose what is maintained."""
    command = click.option(
        "--strategy", type=click.Choice(["auto", "tags", "first-clause", "join"]), default="auto",
        show_default=True, help="How demand is propagated in filtered mode.",
    )(command)  # fmt: skip
    return click.option(
        "--mode", type=click.Choice(["filtered", "incremental"]), default="filtered", show_default=True,
        help="Maintain over what the demand reaches, or over all data.",
    )(command)  # fmt: skip


class _Place(click.Path):
    """A file or directory; an empty name, as of a variable that is not set, is none."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if value == "":
            self.fail("the name of a file is empty", param, context)
        return super().convert(value, param, context)


PLACE = _Place()
PROGRAM = click.argument("program", type=PLACE)
ENTRY = click.option("--entry", metavar="MODULE", help="The module of a directory to run; default __main__.")
UNMARKED = click.option("--all", "unmarked", is_flag=True, help="Take unmarked comprehensions, too.")


class _Doors(click.Group):
    """The commands, with those of heavy parts, which are imported when they are asked for."""

    LATE: ClassVar = {
        "evaluate": ("incoq.evaluate.cli", "Run the paper's experiments, and report on its claims."),
        "spark": ("incoq.spark.cli", "The same queries at scale: maintained over tables, on Spark."),
    }

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted([*super().list_commands(context), *self.LATE])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.LATE:
            return super().get_command(context, name)
        command: click.Command = getattr(import_module(self.LATE[name][0]), name)
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and Path(args[0]).suffix == ".py" and self.get_command(context, args[0]) is None:
            context.fail(f"No such command {args[0]!r}. To run a program: incoq run {args[0]}")
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        rows = []
        for name in self.list_commands(context):
            command = super().get_command(context, name)
            rows.append((name, command.get_short_help_str(60) if command else self.LATE[name][1]))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(cls=_Doors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="incoq")
def main() -> None:
    """Queries over live Python objects and sets, compiled to code that keeps their answers up to date.

    PROGRAM is a Python file or a directory, whose modules are compiled together.
    """


@main.command("compile")
@PROGRAM
@click.option(
    "-o", "--output", required=True, type=PLACE,
    help="The file, or for a directory the directory, to write.",
)  # fmt: skip
@click.option("--native", is_flag=True, help="Build the maintenance as C, where Cython and a compiler are.")
@UNMARKED
@_planning
def compile_(program: Path, output: Path, native: bool, unmarked: bool, mode: str, strategy: str) -> None:
    """Write the standalone program, which runs without incoq."""
    with _reported(program):
        from incoq.output import check_output, write_program

        if program.is_dir() and os.path.exists(output) and not os.path.isdir(output):
            raise click.BadParameter(f"{output} is not a directory", param_hint="-o")
        check_output(program, output)
        compiled = _compiled(program, mode, strategy, unmarked=unmarked)
        if unmarked:
            click.echo(_taken(compiled), err=True)
        written = write_program(compiled, program, output, is_apart=native)
        for place in written:
            click.echo(f"wrote {place}", err=True)
        if native:
            from incoq.native import build

            for outcome in build(written):
                click.echo(outcome, err=True)


@main.command(context_settings=PASS_ARGUMENTS)
@ENTRY
@UNMARKED
@_planning
@PROGRAM
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(
    program: Path, args: tuple[str, ...], entry: str | None, unmarked: bool, mode: str, strategy: str
) -> None:
    """Compile PROGRAM in memory and run it with ARGS."""
    _check_entry(program, entry)
    with _reported(program):
        from incoq.loading import LoadedProgram

        loaded = LoadedProgram(_compiled(program, mode, strategy, unmarked=unmarked))
        with _traced():
            loaded.run(args, entry)


@main.command(short_help="Show what is maintained, and what every update costs.")
@PROGRAM
@click.option("--json", "as_json", is_flag=True, help="Print JSON; docs/explain-schema.md says what.")
@click.option("--html", type=PLACE, metavar="FILE", help="Write a page instead.")
@click.option("--steps", is_flag=True, help="Show each pass that changed something, before and after.")
@UNMARKED
@_planning
def explain(
    program: Path, as_json: bool, html: Path | None, steps: bool, unmarked: bool, mode: str, strategy: str
) -> None:
    """Show what is maintained, how it was chosen and what every update costs."""
    with _reported(program):
        from incoq.explain import explain_html, explain_json, explain_text
        from incoq.output import check_page

        if as_json and html is not None:
            raise click.UsageError("--json prints and --html writes a page: give one of them.")
        check_page(program, html)
        compiled = _compiled(program, mode, strategy, quiet=True, unmarked=unmarked)
        if html is not None:
            _write_page(html, explain_html(compiled, steps))
        elif as_json:
            import json

            _print(json.dumps(explain_json(compiled, steps), indent=2, ensure_ascii=False) + "\n")
        else:
            terminal = sys.stdout.isatty()
            color = terminal and not os.environ.get("NO_COLOR")
            width = max(60, min(os.get_terminal_size().columns, 120)) if terminal else 80
            _print(explain_text(compiled, color, width, steps))


@main.command(context_settings=PASS_ARGUMENTS, short_help="Run PROGRAM with every answer checked.")
@ENTRY
@click.option(
    "--every", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
    help="Check after every N-th update or query.",
)  # fmt: skip
@_planning
@PROGRAM
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def verify(
    program: Path, args: tuple[str, ...], entry: str | None, every: int, mode: str, strategy: str
) -> None:
    """Run PROGRAM with ARGS; after each update and query check every answer and invariant."""
    _check_entry(program, entry)
    with _reported(program):
        from incoq.verified_run import VerifiedRun

        verified = VerifiedRun(_compiled(program, mode, strategy), every)
        try:
            with _traced():
                verified.run(args, entry)
        finally:
            click.echo(verified.summary(), err=True)


@main.command(context_settings=PASS_ARGUMENTS, short_help="Run PROGRAM; show what it costs and saves.")
@ENTRY
@click.option("--html", type=PLACE, metavar="FILE", help="Write a page with plots too.")
@click.option("--json", "as_json", type=PLACE, metavar="FILE", help="Write all figures too.")
@UNMARKED
@_planning
@PROGRAM
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def profile(
    program: Path, args: tuple[str, ...], entry: str | None, html: Path | None, as_json: Path | None,
    unmarked: bool, mode: str, strategy: str,
) -> None:  # fmt: skip
    """Run PROGRAM with ARGS; show what queries and updates cost, and whether it is worth it."""
    _check_entry(program, entry)
    if html is not None and html == as_json:
        raise click.UsageError("--json and --html write a file each: give two places.")
    with _reported(program):
        from incoq.compile import SEEN
        from incoq.output import check_page
        from incoq.profile import ProfiledRun, profile_html, profile_json, profile_text

        check_page(program, html)
        check_page(program, as_json)
        profiled = ProfiledRun(_compiled(program, mode, strategy, unmarked=unmarked, without=SEEN))
        try:
            with _traced():
                profiled.run(args, entry)
        finally:
            data = profile_json(profiled.compiled, profiled.profile)
            click.echo(profile_text(data, sys.stderr.isatty()), err=True, nl=False)
            if html is not None:
                _write_page(html, profile_html(data))
            if as_json is not None:
                import json

                _write_page(as_json, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


@main.command(short_help="Count lines, queries and updates; time the compiler.")
@click.argument("programs", nargs=-1, required=True, type=PLACE)
def stats(programs: tuple[Path, ...]) -> None:
    """Count lines, queries and updates, and time the transformation, beside the paper's table."""
    with _reported(programs[0]):
        from incoq.stats import table

        _print(table(list(programs)))


@main.command(short_help="Count iterations as data grows, beside the printed costs.")
@click.argument("programs", nargs=-1, required=True, type=PLACE)
@click.option(
    "--sizes", default="4,13,40,126,400", show_default=True, metavar="N,N,…",
    help="The sizes at which each world runs.",
)  # fmt: skip
@click.option(
    "--mode", type=click.Choice(["filtered", "incremental", "both"]), default="both", show_default=True,
    help="The mode of the maintenance code that is counted.",
)  # fmt: skip
@click.option(
    "--budget", type=click.FloatRange(min=0), metavar="SECONDS",
    help="Begin no further program after so many seconds.",
)  # fmt: skip
def growth(programs: tuple[Path, ...], sizes: str, mode: str, budget: float | None) -> None:
    """Count the iterations of every update as data grows, and compare with what explain prints.

    The data of a program are its worlds: growth/NAME.py beside PROGRAM, or one level up.
    """
    try:
        wanted = sorted(int(size) for size in sizes.split(","))
    except ValueError:
        raise click.BadParameter(
            "give whole numbers with commas between them", param_hint="--sizes"
        ) from None
    if len(wanted) < 3 or wanted[0] < 1:
        raise click.BadParameter("three positive sizes are the least", param_hint="--sizes")
    with _reported(programs[0]):
        from incoq.growth import check, table

        modes = ("filtered", "incremental") if mode == "both" else (mode,)
        failures = rows = 0
        for report in check(programs, wanted, modes, budget):
            click.echo(table(report))
            rows += len(report.rows)
            failures += len(report.failures)
        click.echo(f"{rows} costs checked, {failures} not as printed")
    if failures:
        sys.exit(1)


def _check_entry(program: Path, entry: str | None) -> None:
    """A program of one file has no other module to run."""
    if entry is not None and os.path.isfile(program) and entry.removesuffix(".py") != program.stem:
        raise click.BadParameter(f"{program} is one file, with no module {entry!r}", param_hint="--entry")


def _print(text: str) -> None:
    """Print what was asked for; where that cannot be written, the disk being full, is no fault of ours."""
    from incoq.errors import CompileError, Position

    try:
        click.echo(text, nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        place = Position("<stdout>", 1, 1)
        raise CompileError("IQ105", f"cannot write the output: {error.strerror}", place) from None


def _write_page(place: Path, text: str) -> None:
    from incoq.output import write_text

    write_text(place, text)
    click.echo(f"wrote {place}", err=True)


def _taken(compiled: Compiled) -> str:
    """Which comprehensions `--all` took, and which it left, with the reasons."""
    taken = [site for site in compiled.sites if site.faults]
    lines = [f"{site.query.position}: taken" for site in taken]
    for left in compiled.left_out:
        lines.append(f"{left.module.position(left.node)}: left as it is [{left.code}]: {left.reason}")
    return "\n".join(
        [*lines, f"{len(taken)} comprehensions taken, {len(compiled.left_out)} left as they are"]
    )


def _compiled(
    program: Path,
    mode: str,
    strategy: str,
    quiet: bool = False,
    unmarked: bool = False,
    without: tuple[str, ...] = (),
) -> Compiled:
    """Compile, and show the advice about the program."""
    from incoq.compile import compile_path
    from incoq.output import left_out

    compiled = compile_path(program, mode, strategy, unmarked, without)
    if not quiet:
        if not compiled.sites and not unmarked:
            message = "no query was found, so nothing is maintained; mark one by `@query`"
            click.echo(f"{program}: notice: {message}", err=True)
        for notice in (*compiled.notices, *left_out(compiled)):
            click.echo(str(notice), err=True)
    return compiled


@contextmanager
def _reported(program: Path) -> Iterator[None]:
    """Show a fault of the program, or one of ours, and end with status 1; never a traceback of ours."""
    from incoq.errors import CompileError, Position
    from incoq.frontend.program import check_there

    try:
        check_there(program)
        yield
    except CompileError as error:
        if error.position is None:
            error = CompileError(error.code, error.message, Position(str(program), 1, 1), error.help)
        click.echo(error.render(), err=True)
        sys.exit(1)
    except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
        raise
    except Exception as error:
        if os.environ.get("INCOQ_TRACEBACK"):
            raise
        click.echo(f"{program}:1:1: internal error: {type(error).__name__}: {error}", err=True)
        click.echo(
            "  help: please report it with the program; INCOQ_TRACEBACK=1 shows the traceback", err=True
        )
        sys.exit(1)


@contextmanager
def _traced() -> Iterator[None]:
    """Show an exception of the program as Python would: without the frames that started it."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        from incoq.errors import CompileError

        if isinstance(error, CompileError):
            raise
        traceback = error.__traceback__
        ours = str(Path(__file__).parent)
        while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(ours):
            traceback = traceback.tb_next
        if sys.excepthook is sys.__excepthook__:
            from traceback import print_exception  # it finds the lines of the support code too

            print_exception(type(error), error, traceback)
        else:
            sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


if __name__ == "__main__":
    main()
