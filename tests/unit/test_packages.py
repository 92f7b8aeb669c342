"""Programs of several modules: compiled together, they share one support module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_cli import in_process

from incoq.cli import main
from incoq.codegen.build_package import package_files
from incoq.compile import compile_path

MODEL = '''\
"""The model."""
from __future__ import annotations
from incoq import Set, query


class User:
    def __init__(self, email, loc):
        self.email = email
        self.loc = loc
        self.followers = Set()


@query
def fans(celeb, group):
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}
'''
REPORT = """\
import math as m
from incoq import query
from {dot}model import fans


@query
def far(celeb):
    return {{u.email for u in celeb.followers if u.loc != "NYC"}}


def long_names(celeb, limit):
    return len(query({{u for u in celeb.followers if m.sqrt(len(u.email)) > limit}}))
"""
UPDATES = """\
def follow(user, celeb):
    celeb.followers.add(user)


def move(user, place):
    user.loc = place
"""
MAIN = """\
import sys
from incoq import Set
from {pkg}model import User, fans
from {pkg}report import far, long_names
from {sub}updates import follow, move

ann, bob = User("ann", "NYC"), User("barbara", "Oslo")
group = Set([ann, bob])
follow(ann, bob)
print(sorted(fans(bob, group)), sorted(far(bob)), long_names(bob, 1), long_names(bob, 2))
move(ann, "Lima")
follow(bob, bob)
print(sorted(fans(bob, group)), sorted(far(bob)), long_names(bob, 1), long_names(bob, 2), sys.argv[1:])
"""
OUTPUT = "['ann'] [] 1 0\n[] ['ann', 'barbara'] 2 1 ['x']\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = tmp_path / "source" / "app"
    (root / "sub").mkdir(parents=True)
    (root / "__init__.py").write_text('"""An application."""\n')
    (root / "sub" / "__init__.py").write_text("")
    (root / "model.py").write_text(MODEL)
    (root / "report.py").write_text(REPORT.format(dot="."))
    (root / "sub" / "updates.py").write_text(UPDATES)
    (root / "__main__.py").write_text(MAIN.format(pkg="app.", sub="app.sub."))
    (root / "data.txt").write_text("data\n")
    return root


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    root = tmp_path / "source" / "scripts"
    (root / "sub").mkdir(parents=True)
    (root / "model.py").write_text(MODEL)
    (root / "report.py").write_text(REPORT.format(dot=""))
    (root / "sub" / "__init__.py").write_text("")
    (root / "sub" / "updates.py").write_text(UPDATES)
    (root / "main.py").write_text(MAIN.format(pkg="", sub="sub."))
    return root


def compile_to(program: Path, out: Path) -> int:
    return CliRunner().invoke(main, ["compile", str(program), "-o", str(out)]).exit_code


def python(*args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Python with incoq out of reach."""
    (cwd / "sitecustomize.py").write_text("import sys; sys.modules['incoq'] = None\n")
    command = [sys.executable, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={"PYTHONPATH": str(cwd)})


def test_a_compiled_package_runs_without_incoq(package: Path, tmp_path: Path) -> None:
    assert compile_to(package, tmp_path / "out") == 0
    ran = python("-m", "app", "x", cwd=tmp_path / "out")
    assert (ran.stdout, ran.stderr) == (OUTPUT, "")


def test_a_compiled_directory_of_scripts_runs_without_incoq(scripts: Path, tmp_path: Path) -> None:
    assert compile_to(scripts, tmp_path / "out") == 0
    ran = python("main.py", "x", cwd=tmp_path / "out")
    assert (ran.stdout, ran.stderr) == (OUTPUT, "")


def test_a_module_of_the_program_may_be_called_like_one_that_runs_texts(tmp_path: Path) -> None:
    root = tmp_path / "app"
    root.mkdir()
    (root / "profile.py").write_text("def run(text): return [text]\n")
    (root / "queue.py").write_text("class Queue:\n    def __init__(self): self.queue = []\n")
    (root / "main.py").write_text("""
from profile import run
import queue
from incoq import query

@query
def large(q): return {x for x in q.queue if x > 1}

q = queue.Queue()
print(sorted(large(q)), run("q.queue = 1"))
q.queue = [1]
q.queue.append(2)
print(sorted(large(q)))
""")
    assert compile_to(root, tmp_path / "out") == 0
    ran = python("main.py", cwd=tmp_path / "out")
    assert (ran.stdout, ran.stderr) == ("[] ['q.queue = 1']\n[2]\n", "")


def test_a_package_has_no_module_that_is_called_like_one_that_runs_texts(tmp_path: Path) -> None:
    root = tmp_path / "app"
    root.mkdir()
    (root / "profile.py").write_text("def run(text): return [text]\n")
    (root / "__init__.py").write_text("from incoq import query\n@query\ndef q(o): return {x for x in o.n}\n")
    (root / "__main__.py").write_text("import profile\nprofile.run('o.n = 1')\n")
    assert compile_to(root, tmp_path / "out") == 1


def test_a_package_goes_below_the_output_unless_that_has_its_name(package: Path, tmp_path: Path) -> None:
    assert compile_to(package, tmp_path / "out") == 0
    assert compile_to(package, tmp_path / "other" / "app") == 0
    below, named = tmp_path / "out" / "app", tmp_path / "other" / "app"
    files = sorted(p.relative_to(below).as_posix() for p in below.rglob("*") if p.is_file())
    assert files == [
        "__init__.py", "__main__.py", "_incoq_support.py", "data.txt", "model.py", "report.py",
        "sub/__init__.py", "sub/updates.py",
    ]  # fmt: skip
    assert files == sorted(p.relative_to(named).as_posix() for p in named.rglob("*") if p.is_file())
    assert (below / "data.txt").read_text() == "data\n"


def test_every_module_imports_only_what_it_uses(package: Path) -> None:
    files = package_files(compile_path(package, strategy="tags"))
    assert files["__init__.py"] == '"""An application."""\n'
    assert files["sub/updates.py"].startswith(
        "from .._incoq_support import change_loc, is_key, tag_u, tag_u_3\ndef follow"
    )
    head = '"""The model."""\nfrom __future__ import annotations\nfrom ._incoq_support import '
    assert files["model.py"].startswith(head)
    assert "\nimport math as _incoq_math\n" in files["_incoq_support.py"]


def test_the_support_module_takes_a_name_that_is_free(package: Path) -> None:
    (package / "_incoq_support.py").write_text("")
    assert "_incoq_support_2.py" in package_files(compile_path(package))


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_run_and_verify_see_all_modules_of_a_package(package: Path, mode: str, tmp_path: Path) -> None:
    ran = in_process("run", "--mode", mode, package, "x", cwd=tmp_path)
    assert (ran.stdout, ran.stderr) == (OUTPUT, "")
    checked = in_process("verify", "--mode", mode, package, "x", cwd=tmp_path)
    assert checked.stdout == OUTPUT
    assert "no differences" in checked.stderr


def test_run_takes_the_entry_of_a_directory_of_scripts(scripts: Path) -> None:
    assert in_process("run", "--entry", "main", scripts, "x").stdout == OUTPUT
    missing = in_process("run", scripts)
    assert missing.returncode == 1
    assert f"name one before the program: `--entry main {scripts}`; there are main, " in missing.stderr


def test_a_traceback_names_the_module_of_the_package(package: Path) -> None:
    (package / "sub" / "updates.py").write_text(UPDATES.replace("user.loc = place", "user.loc = place[99]"))
    ran = in_process("run", package)
    assert ran.returncode == 1
    assert f'File "{package}/sub/updates.py", line 6, in move' in ran.stderr


@pytest.mark.parametrize("out", ["app", "app/build", "app/sub", "."])
def test_output_onto_or_inside_the_package_is_refused(package: Path, out: str) -> None:
    before = {p: p.read_bytes() for p in package.rglob("*") if p.is_file()}
    result = CliRunner().invoke(main, ["compile", str(package), "-o", str(package.parent / out)])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{package}:1:1: error[IQ102]: ")
    assert before == {p: p.read_bytes() for p in package.parent.rglob("*") if p.is_file()}


def test_an_output_that_is_a_file_is_wrong_usage(package: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    assert compile_to(package, tmp_path / "out") == 2


def test_a_bad_module_stops_the_whole_output(package: Path, tmp_path: Path) -> None:
    (package / "zzz.py").write_text("def f(:\n")
    result = CliRunner().invoke(main, ["compile", str(package), "-o", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{package}/zzz.py:1:7: error[IQ101]: ")
    assert not (tmp_path / "out").exists()


def test_compiling_again_replaces_the_files(package: Path, tmp_path: Path) -> None:
    assert compile_to(package, tmp_path / "out") == 0
    (package / "data.txt").write_text("new\n")
    assert compile_to(package, tmp_path / "out") == 0
    assert (tmp_path / "out" / "app" / "data.txt").read_text() == "new\n"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_what_is_had_from_incoq_may_be_listed_for_an_import_of_everything(tmp_path: Path) -> None:
    package = tmp_path / "app"
    (package / "core").mkdir(parents=True)
    (package / "core" / "base.py").write_text('from incoq import Set, query\n__all__ = ["Set", "query"]\n')
    (package / "core" / "__init__.py").write_text(
        'from .base import Set, query, query as asks\n__all__ = ["Set", "query"]\n__all__ += ["asks"]\n'
    )
    (package / "__main__.py").write_text(
        "from core import *\n"
        "from core.base import query\n"
        "@query\ndef above(s, n): return {x for x in s if x > n}\n"
        "s = Set([1, 2])\nprint(above(s, 1))\ns.add(3)\nprint(sorted(above(s, 1)))\n"
    )
    assert compile_to(package, tmp_path / "out") == 0
    assert python(str(tmp_path / "out"), cwd=tmp_path).stdout == "Set({2})\n[2, 3]\n"


HELD = """\
from incoq import Set, query


class Item:
    def __init__(self):
        self.size = 2


@query
def sizes(items):
    return {i.size for i in items}


item = Item()
items = Set([item])
"""
PLUGIN = "def grow(item):\n    item.size += 1\n"


def by_place(name: str) -> str:
    """Load a module as plugins are loaded."""
    place = f"os.path.join(os.path.dirname(__file__), {name!r})"
    return (
        f"import importlib.util, os\nspec = importlib.util.spec_from_file_location('plugin', {place})\n"
        "plugin = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(plugin)\n"
    )


@pytest.mark.parametrize("command", ["run", "verify"])
@pytest.mark.parametrize(
    "load",
    [
        by_place("plugin.py"),
        "import importlib\nplugin = importlib.import_module('app.plugin')\n",
        "import runpy, types\nplugin = types.SimpleNamespace(**runpy.run_module('app.plugin'))\n",
    ],
)
def test_a_module_is_compiled_however_the_program_loads_it(load: str, command: str, tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    (app / "__init__.py").write_text("")
    (app / "model.py").write_text(HELD)
    (app / "plugin.py").write_text(PLUGIN)
    asked = "print(sizes(items))\nplugin.grow(item)\nprint(sizes(items))\n"
    (app / "__main__.py").write_text(f"from app.model import item, items, sizes\n{load}{asked}")
    ran = in_process(command, app, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "Set({2})\nSet({3})\n"), ran.stderr


def test_files_of_a_package_are_found_beside_its_modules(tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    (app / "__init__.py").write_text("")
    (app / "names.txt").write_text("ann")
    reading = "print(importlib.resources.files('app').joinpath('names.txt').read_text())"
    (app / "__main__.py").write_text(f"import importlib.resources\n{reading}\n")
    assert in_process("run", app, cwd=tmp_path).stdout == "ann\n"


def test_folders_that_links_lead_to_belong_to_the_package(tmp_path: Path) -> None:
    app, shared = tmp_path / "app", tmp_path / "shared"
    for folder in (app, shared):
        folder.mkdir()
        (folder / "__init__.py").write_text("")
    (app / "model.py").write_text(HELD)
    (shared / "plugin.py").write_text(PLUGIN)
    (app / "plugins").symlink_to("../shared")
    (app / "all").symlink_to("..")  # which holds the package
    (shared / "back").symlink_to("../app")
    imports = "from .model import item, items, sizes\nfrom .plugins import plugin\n"
    (app / "__main__.py").write_text(
        f"{imports}print(sizes(items))\nplugin.grow(item)\nprint(sizes(items))\n"
    )
    assert in_process("run", app, cwd=tmp_path).stdout == "Set({2})\nSet({3})\n"
    assert compile_to(app, tmp_path / "out") == 0
    written = sorted(p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*.py"))
    assert [p for p in written if "_incoq" not in p] == [
        "app/__init__.py",
        "app/__main__.py",
        "app/model.py",
        "app/plugins/__init__.py",
        "app/plugins/plugin.py",
    ]


def test_a_package_has_the_name_of_the_link_that_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "app_1_0").mkdir()
    (tmp_path / "app_1_0" / "__init__.py").write_text("")
    (tmp_path / "app_1_0" / "__main__.py").write_text("import app\nprint(app.__name__)\n")
    (tmp_path / "app").symlink_to("app_1_0")
    assert in_process("run", tmp_path / "app").stdout == "app\n"
    assert compile_to(tmp_path / "app", tmp_path / "out") == 0
    assert (tmp_path / "out" / "app" / "__main__.py").exists()
