"""The command line: what it writes, what it refuses, what it passes on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from incoq.cli import main

PROGRAM = '''\
"""Fans."""
import sys
from incoq import Set, query


class User:
    def __init__(self, email, loc):
        self.email, self.loc, self.followers = email, loc, Set()


@query
def fans(celeb, group):
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}


ann, bob = User("ann", "NYC"), User("bob", "Oslo")
group = Set([ann, bob])
bob.followers.add(ann)
print(sorted(fans(bob, group)), sys.argv[1:])
ann.loc = "Lima"
print(sorted(fans(bob, group)))
'''
OUTPUT = "['ann'] {}\n[]\n"


def invoke(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def in_process(*args: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: `run` and `verify` take over `__main__`."""
    command = [sys.executable, "-m", "incoq.cli", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=_environment())


def isolated(path: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Python without the package in reach."""
    block = f"import sys, runpy; sys.modules['incoq'] = None; sys.argv = {[str(path), *args]!r}; "
    code = block + f"runpy.run_path({str(path)!r}, run_name='__main__')"
    return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)


def _environment() -> dict[str, str]:
    source = Path(__file__).parents[2] / "src"
    return {**os.environ, "PYTHONPATH": str(source)}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize("options", [[], ["--mode", "incremental"], ["--strategy", "first-clause"]])
def test_compiled_output_runs_isolated_and_without_incoq(program: Path, options: list[str]) -> None:
    out = program.with_name("out.py")
    assert invoke("compile", program, "-o", out, *options).exit_code == 0
    ran = isolated(out, "x")
    assert (ran.stdout, ran.stderr) == (OUTPUT.format("['x']"), "")


def test_compile_keeps_the_text_that_it_does_not_touch(program: Path) -> None:
    out = program.with_name("out.py")
    invoke("compile", program, "-o", out)
    assert "group = Set([ann, bob])\nbob.followers.add(ann)\nprint(sorted(" in out.read_text()
    assert '\nset_loc("Lima", ann)\n' in out.read_text()


def test_compile_into_a_directory_keeps_the_name(program: Path) -> None:
    (program.parent / "build").mkdir()
    assert invoke("compile", program, "-o", program.parent / "build").exit_code == 0
    assert (program.parent / "build" / "program.py").exists()


def test_compile_makes_missing_directories_and_keeps_the_mode_of_the_file(program: Path) -> None:
    program.chmod(0o755)
    out = program.parent / "a" / "b" / "out.py"
    assert invoke("compile", program, "-o", out).exit_code == 0
    assert out.stat().st_mode & 0o777 == 0o755


def test_compile_keeps_a_coding_cookie_and_its_encoding(tmp_path: Path) -> None:
    path, out = tmp_path / "latin.py", tmp_path / "out.py"
    text = PROGRAM.replace('"""Fans."""', "# -*- coding: latin-1 -*-\nprint('é')")
    path.write_bytes(text.encode("latin-1"))
    assert invoke("compile", path, "-o", out).exit_code == 0
    assert b"print('\xe9')" in out.read_bytes()
    assert isolated(out).stdout == "é\n" + OUTPUT.format("[]")


def test_compile_turns_a_cookie_that_cannot_hold_the_output_into_utf_8(tmp_path: Path) -> None:
    path, out = tmp_path / "ascii.py", tmp_path / "out.py"
    text = PROGRAM.replace('"""Fans."""\n', "# coding: ascii\n")
    path.write_text(text)
    assert invoke("compile", path, "-o", out).exit_code == 0
    assert out.read_bytes().startswith(b"# coding: utf-8\n")
    assert isolated(out).stdout == OUTPUT.format("[]")


@pytest.mark.parametrize("rest", ["\x0c", "\x1c", "\x85", "\u2028"])
def test_a_line_ends_where_python_ends_it(rest: str, tmp_path: Path) -> None:
    path, out = tmp_path / "program.py", tmp_path / "out.py"
    first = f"#!/usr/bin/env python {rest} (\n# coding: utf-8 {rest} (\n"
    path.write_text(PROGRAM.replace('"""Fans."""\n', first))
    assert invoke("compile", path, "-o", out).exit_code == 0
    assert out.read_text().startswith(first)
    assert isolated(out).stdout == OUTPUT.format("[]")


# -- refusals ----------------------------------------------------------------------------------------------

QUERY = "from incoq import Set, query\n@query\ndef q(s):\n    return {%s}\n"
BAD = {
    "a syntax error": ("def f(:\n    pass\n", "IQ101", 1, 7),
    "an unreachable variable": (QUERY % "x for x in s if y > x", "IQ201", 4, 29),
    "an impure condition": (
        "from incoq import query\ndef impure(x):\n    print(x)\n    return x\n"
        "@query\ndef q(s):\n    return {x for x in s if impure(x)}\n",
        "IQ202", 7, 29,
    ),
    "an unhashable class": (
        "from dataclasses import dataclass\nfrom incoq import query\n@dataclass\nclass User:\n    loc: str\n"
        "@query\ndef q(s):\n    return {x for x in s if x.loc == 1}\n",
        "IQ205", 4, 1,
    ),
    "an unsupported body": (QUERY.replace("return {%s}", "x = s; return x"), "IQ200", 4, 5),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("command", ["compile", "run", "explain", "verify"])
def test_a_bad_program_gives_one_message_and_no_output(what: str, command: str, tmp_path: Path) -> None:
    text, code, line, column = BAD[what]
    path, out = tmp_path / "bad.py", tmp_path / "out.py"
    path.write_text(text)
    result = invoke(command, path, *(["-o", out] if command == "compile" else []))
    assert result.exit_code == 1
    assert not out.exists()
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith(f"{path}:{line}:{column}: error[{code}]: ")
    assert lines[1] == "    " + text.splitlines()[line - 1]
    assert lines[2] == "    " + " " * (column - 1) + "^"
    assert lines[3].startswith("  help: ")
    assert len(lines) == 4


def test_a_missing_file_is_reported_with_its_name(tmp_path: Path) -> None:
    path, out = tmp_path / "none.py", tmp_path / "out.py"
    result = invoke("compile", path, "-o", out)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{path}:1:1: error[IQ100]: ")
    assert not out.exists()


def test_an_unreadable_file_is_reported(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)  # the tests may run as root, who reads everything
    result = invoke("compile", program, "-o", program.with_name("out.py"))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{program}:1:1: error[IQ100]: cannot read {program}: Permission denied")
    assert not program.with_name("out.py").exists()


def test_a_directory_without_modules_is_reported(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = invoke("compile", tmp_path / "empty", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "error[IQ100]" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_utf_8_is_reported(tmp_path: Path) -> None:
    path, out = tmp_path / "bytes.py", tmp_path / "out.py"
    path.write_bytes(b"x = '\xff'\n")
    result = invoke("compile", path, "-o", out)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{path}:1:1: error[IQ103]: ")
    assert not out.exists()


@pytest.mark.parametrize("route", ["same", "relative", "symlink", "hard link", "directory"])
def test_output_onto_the_input_is_refused_by_every_route(route: str, program: Path) -> None:
    out = program
    if route == "relative":
        (program.parent / "sub").mkdir()
        out = program.parent / "sub" / ".." / "program.py"
    elif route == "symlink":
        out = program.with_name("link.py")
        out.symlink_to(program)
    elif route == "hard link":
        out = program.with_name("hard.py")
        os.link(program, out)
    elif route == "directory":
        out = program.parent
    result = invoke("compile", program, "-o", out)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{program}:1:1: error[IQ102]: ")
    assert program.read_text() == PROGRAM


def test_output_that_cannot_be_written_leaves_nothing_behind(program: Path) -> None:
    (program.parent / "file").write_text("")
    result = invoke("compile", program, "-o", program.parent / "file" / "out.py")
    assert result.exit_code == 1
    assert "error[IQ105]" in result.stderr
    assert sorted(p.name for p in program.parent.iterdir()) == ["file", "program.py"]


@pytest.mark.parametrize(
    ("line", "caret"),
    [
        ("\treturn {%s for x in s}", "\t        ^"),
        ("    return {(x, '变量', %s) for x in s}", " " * 24 + "^"),
        ("    return {(x, 'e\u0301', %s) for x in s}", " " * 21 + "^"),
    ],
)
def test_the_caret_of_a_message_stands_below_the_fault(line: str, caret: str, tmp_path: Path) -> None:
    path, shown = tmp_path / "program.py", line % "x.f()"
    path.write_text(f"from incoq import query\n@query\ndef q(s):\n{shown}\n")
    _, text, below, _ = invoke("explain", path).stderr.splitlines()
    assert (text, below) == ("    " + shown, "    " + caret)


def test_of_a_long_line_what_stands_around_the_fault_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    names = ", ".join(f"x.f{n}" for n in range(1000))
    path.write_text(
        f"from incoq import query\n@query\ndef q(s): return {{({names}, x.g(), {names}) for x in s}}\n"
    )
    _, text, below, _ = invoke("explain", path).stderr.splitlines()
    assert (text[:5], text[-1], len(text)) == ("    …", "…", 4 + 162)
    assert text[below.index("^") :].startswith("x.g(), x.f0, ")


LONG = "x" * 300


@pytest.mark.parametrize("args", [["compile", "-o"], ["explain", "--html"], ["profile", "--json"]])
def test_a_name_that_is_too_long_for_a_file_is_reported(args: list[str], program: Path) -> None:
    result = in_process(*args, LONG, program)
    assert result.returncode == 1
    assert result.stderr.endswith(
        "File name too long\n  help: check the place given with -o and its permissions\n"
    )


@pytest.mark.parametrize("option", ["explain --html", "profile --html", "profile --json"])
def test_a_page_where_a_directory_is_refused_before_the_program_runs(option: str, program: Path) -> None:
    result = invoke(*option.split(), program.parent, program)
    assert result.exit_code == 1
    assert f"error[IQ105]: cannot write {program.parent}: Is a directory" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("option", ["explain --html", "profile --html", "profile --json"])
@pytest.mark.parametrize("route", ["same", "symlink", "module"])
def test_a_page_onto_the_program_is_refused_before_it_runs(option: str, route: str, program: Path) -> None:
    given = page = program
    if route == "symlink":
        page = program.with_name("page.html")
        page.symlink_to(program)
    elif route == "module":
        given = program.parent
        given.joinpath("__main__.py").write_text("import program\n")
    result = invoke(*option.split(), page, given)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{given}:1:1: error[IQ102]: ")
    assert result.stdout == ""
    assert program.read_text() == PROGRAM


def test_a_page_about_a_file_whose_name_is_no_text_is_written(program: Path) -> None:
    odd = os.fsdecode(os.fsencode(program.parent) + b"/odd\xff.py")
    os.rename(program, odd)
    page = program.with_name("page.html")
    result = invoke("explain", odd, "--html", page)
    assert result.exit_code == 0, result.stderr
    assert "odd\\udcff.py" in page.read_text(encoding="utf-8")


def test_output_to_a_pipe_is_written_to_it_and_leaves_it_a_pipe(program: Path) -> None:
    pipe = program.with_name("pipe")
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    result = invoke("compile", program, "-o", pipe)
    assert result.exit_code == 0
    reader.join(10)
    assert pipe.is_fifo()
    assert "Generated by incoq" in read[0]


@pytest.mark.parametrize("place", ["program", "output"])
def test_a_link_that_leads_to_itself_is_no_internal_error(place: str, program: Path) -> None:
    loop = program.with_name("loop.py")
    loop.symlink_to(loop)
    if place == "program":
        result = invoke("compile", loop, "-o", program.with_name("out.py"))
        assert result.exit_code == 1
        assert result.stderr.startswith(f"{loop}:1:1: error[IQ100]: ")
    else:
        assert invoke("compile", program, "-o", loop).exit_code == 0
        assert loop.is_file()


def test_a_file_that_stats_cannot_read_is_named(program: Path) -> None:
    result = invoke("stats", program, program.with_name("absent.py"))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{program.with_name('absent.py')}:1:1: error[IQ100]: ")


def package(folder: Path) -> Path:
    """A package of two modules, with a file of data."""
    app = folder / "app"
    app.mkdir()
    (app / "__init__.py").write_text("")
    (app / "first.py").write_text(PROGRAM)
    (app / "second.py").write_text("from .first import *\n")
    (app / "data.txt").write_text("data")
    return app


def test_what_an_editor_or_a_server_leaves_in_a_package_does_not_keep_it_from_being_compiled(
    tmp_path: Path,
) -> None:
    app = package(tmp_path)
    (app / ".#first.py").symlink_to("someone@somewhere.42")  # a lock of Emacs
    os.mkfifo(app / "pipe")
    result = invoke("compile", app, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert os.readlink(tmp_path / "out" / "app" / ".#first.py") == "someone@somewhere.42"
    assert not (tmp_path / "out" / "app" / "pipe").exists()


@pytest.mark.parametrize("was_there", [False, True])
def test_a_package_is_written_whole_or_not_at_all(was_there: bool, tmp_path: Path) -> None:
    app, out = package(tmp_path), tmp_path / "out"
    (out / "app" / "second.py").mkdir(parents=True)  # where a file has to go
    if was_there:
        (out / "app" / "first.py").write_text("as it was")
    before = sorted(out.rglob("*"))
    result = invoke("compile", app, "-o", out)
    assert result.exit_code == 1
    assert "error[IQ105]" in result.stderr
    assert sorted(out.rglob("*")) == before
    assert not was_there or (out / "app" / "first.py").read_text() == "as it was"


@pytest.mark.parametrize(
    "args",
    [
        ["compile"],
        ["compile", "p.py"],
        ["compile", "p.py", "-o", ""],
        ["compile", "", "-o", "out"],
        ["run", ""],
        ["run", "--mode", "fast", "p.py"],
        ["run", "--entry", "other", __file__],
        ["profile", "--html", "page", "--json", "page", __file__],
        ["nothing"],
        ["explain"],
    ],
)
def test_wrong_usage_ends_with_status_2(args: list[str]) -> None:
    assert invoke(*args).exit_code == 2


def test_help_imports_nothing_of_the_compiler() -> None:
    code = (
        "import sys, incoq.cli\n"
        "try: incoq.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.stderr.write(str(sorted(m for m in sys.modules if m.startswith('incoq.'))))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_environment())
    assert ran.stderr == "['incoq.cli', 'incoq.errors', 'incoq.objects']"


# -- run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_run_prints_what_plain_python_prints(mode: str, program: Path) -> None:
    ran = in_process("run", "--mode", mode, program, "--flag", "x")
    assert (ran.stdout, ran.stderr, ran.returncode) == (OUTPUT.format("['--flag', 'x']"), "", 0)


@pytest.mark.parametrize(("ending", "status"), [("sys.exit(7)", 7), ("sys.exit()", 0), ("sys.exit('no')", 1)])
def test_run_passes_the_exit_status_on(ending: str, status: int, program: Path) -> None:
    program.write_text(PROGRAM + ending + "\n")
    assert in_process("run", program).returncode == status


def test_run_shows_tracebacks_with_the_lines_of_the_file(program: Path) -> None:
    text = PROGRAM + "def later(user):\n    user.loc = (\n        user.nothing\n    )\nlater(ann)\n"
    program.write_text(text)
    ran = in_process("run", program)
    lines = text.splitlines()
    assert ran.returncode == 1
    assert f'File "{program}", line {lines.index("later(ann)") + 1}, in <module>' in ran.stderr
    assert f'File "{program}", line {lines.index("        user.nothing") + 1}, in later' in ran.stderr
    assert ran.stderr.endswith("AttributeError: 'User' object has no attribute 'nothing'\n")
    assert "incoq/" not in ran.stderr


def test_run_gives_the_program_its_own_main_module_and_folder(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("VALUE = 3\n")
    path = tmp_path / "program.py"
    path.write_text(
        "import sys, helper\nprint(__name__, helper.VALUE, sys.modules['__main__'].__file__, sys.argv)\n"
    )
    ran = in_process("run", "program.py", "a", cwd=tmp_path)
    assert ran.stdout == f"__main__ 3 {path} ['program.py', 'a']\n"


def test_a_program_may_go_to_another_directory(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("VALUE = 3\n")
    asked = (
        "for i in range(5): s.add(i)\n@query\ndef odd(s): return {x for x in s if x % 2}\nprint(len(odd(s)))"
    )
    text = f"from incoq import Set, query\nimport os\nos.chdir('/')\nimport helper\ns = Set()\n{asked}\n"
    (tmp_path / "program.py").write_text(text)
    ran = in_process("profile", "program.py", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "2\n")
    assert "program.py:6 Set.add" in ran.stderr


def test_a_module_beside_the_file_that_is_not_compiled_is_pointed_out(tmp_path: Path, program: Path) -> None:
    (tmp_path / "helper.py").write_text("def move(user):\n    user.loc = 'Oslo'\n")
    program.write_text("import helper\n" + PROGRAM)
    result = invoke("compile", program, "-o", tmp_path / "out.py")
    assert result.exit_code == 0
    assert f"{program}:1:1: notice: `helper` is not compiled with this file" in result.stderr


# -- verify and explain ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_verify_runs_the_program_and_counts_its_checks(mode: str, program: Path) -> None:
    ran = in_process("verify", "--mode", mode, program)
    assert ran.stdout == OUTPUT.format("[]")
    assert ran.returncode == 0
    assert "verify: no differences;" in ran.stderr


def test_verify_reports_the_programs_own_exception(program: Path) -> None:
    program.write_text(PROGRAM + "1 / 0\n")
    ran = in_process("verify", program)
    assert ran.returncode == 1
    assert "ZeroDivisionError" in ran.stderr
    assert "no differences" in ran.stderr


def test_explain_prints_text_without_colour_into_a_pipe(program: Path) -> None:
    ran = in_process("explain", "--strategy", "tags", program)
    assert ran.returncode == 0
    assert "\x1b" not in ran.stdout
    assert "#fil_inv_member_2{u}" in ran.stdout


def test_a_file_that_cannot_be_looked_at_is_a_fault_of_the_program(tmp_path: Path) -> None:
    loop = tmp_path / "loop.py"
    loop.symlink_to(loop)
    for command in ("compile", "run", "explain", "stats", "growth"):
        result = invoke(command, loop, *(["-o", tmp_path / "out.py"] if command == "compile" else []))
        assert result.exit_code == 1
        assert "error[IQ100]" in result.stderr


def test_growth_of_a_file_that_there_is_not_is_an_error(tmp_path: Path) -> None:
    result = invoke("growth", tmp_path / "nothing.py")
    assert result.exit_code == 1
    assert "error[IQ100]: no such file" in result.stderr


def test_a_program_for_a_command_is_told_how_to_be_run() -> None:
    result = invoke("program.py")
    assert result.exit_code == 2
    assert "To run a program: incoq run program.py" in result.stderr


def test_explain_does_not_choose_between_two_outputs(program: Path, tmp_path: Path) -> None:
    result = invoke("explain", program, "--json", "--html", tmp_path / "page.html")
    assert result.exit_code == 2
    assert not (tmp_path / "page.html").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_an_output_that_has_no_room_is_no_fault_of_ours(program: Path) -> None:
    command = [sys.executable, "-m", "incoq.cli", "explain", str(program)]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=_environment())
    assert ran.returncode == 1
    assert "error[IQ105]: cannot write the output" in ran.stderr
    assert "internal error" not in ran.stderr


def test_the_commands_are_listed_with_whole_sentences() -> None:
    commands = invoke("--help").stdout.partition("Commands:")[2].strip().splitlines()
    assert all(line.endswith(".") and not line.endswith("...") for line in commands)


UPDATES_OF_ALL_KINDS = """
from incoq import Set, query

class User:
    pass

@query
def q(s, m, l):
    return {u.n for u in s if u in m if u in l if m[u] > 1}

def grow(user):
    user.n += 1

user = User()
user.n = 0
s, m, l = {user}, {user: 3}, [user]
q(s, m, l)
for _ in range(2):
    grow(user)          # 1: in place, or by a setter
    m[user] = 2         # 2
    m[user] = 3
    l.append(user)      # 2
    l[0] = l[1] = None
    s.discard(user)     # 2
    s.add(user)
    l[:] = [user]       # 1
"""


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_verify_checks_after_updates_of_fields_in_place_and_of_dicts_and_lists(
    mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "program.py"
    path.write_text(UPDATES_OF_ALL_KINDS)
    ran = in_process("verify", "--mode", mode, path)
    assert ran.returncode == 0, ran.stderr
    events = int(ran.stderr.partition("no differences; ")[2].split()[0])
    assert events >= 1 + 2 * 9
