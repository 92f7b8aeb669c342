"""A query may ask one of another module: the one that its import means, with that module's globals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_packages import compile_to, python

import incoq
from incoq.compile import compile_path

START = "from incoq import Set, query\n"
ONE = f"{START}@query\ndef members(of): return {{x for x in of.a}}\n"
TWO = f"{START}@query\ndef members(of): return {{x for x in of.b}}\n"
ASKING = """
class Club:
    def __init__(self):
        self.a, self.b = Set([1]), Set([2, 3])

@query
def everybody(clubs):
    return {{x for club in clubs for x in {name}(club)}}

def main():
    club = Club()
    clubs = Set([club])
    print(sorted(everybody(clubs)))
    club.a.add(5)
    club.b.discard(2)
    print(sorted(everybody(clubs)))

main()
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def shown(root: Path, files: dict[str, str], *command: str) -> str:
    """What a program prints uncompiled, and the same compiled."""
    program = write(root / "source" / "app", files)
    place = {"PYTHONPATH": os.pathsep.join((str(Path(incoq.__file__).parent.parent), str(program.parent)))}
    plain = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=program, env=place)
    assert compile_to(program, root / "out" / "app") == 0
    ran = subprocess_of(root, command)
    assert (ran.stdout, ran.stderr) == (plain.stdout, "")
    return plain.stdout


def subprocess_of(root: Path, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    is_module = command[0] == "-m"
    return python(*command, cwd=root / "out" if is_module else root / "out" / "app")


@pytest.mark.parametrize(
    ("line", "name", "printed"),
    [
        ("from two.queries import members", "members", "[2, 3]\n[3]\n"),
        ("from one.queries import members as of_one", "of_one", "[1]\n[1, 5]\n"),
    ],
)
def test_of_modules_whose_names_end_alike_the_imported_one_is_asked(
    line: str, name: str, printed: str, tmp_path: Path
) -> None:
    files = {
        "one/__init__.py": "", "one/queries.py": ONE, "two/__init__.py": "", "two/queries.py": TWO,
        "main.py": f"{START}{line}\n{ASKING.format(name=name)}",
    }  # fmt: skip
    assert shown(tmp_path, files, "main.py") == printed


@pytest.mark.parametrize(
    "line",
    ["from .two.queries import members", "from app.two.queries import members", "from . import members"],
)
def test_a_module_of_the_package_is_known_by_where_it_stands(line: str, tmp_path: Path) -> None:
    files = {
        "__init__.py": TWO, "queries.py": ONE, "two/__init__.py": "", "two/queries.py": TWO,
        "__main__.py": f"{START}{line}\n{ASKING.format(name='members')}",
    }  # fmt: skip
    assert shown(tmp_path, files, "-m", "app") == "[2, 3]\n[3]\n"


def refused(root: Path, files: dict[str, str]) -> incoq.CompileError:
    with pytest.raises(incoq.CompileError) as caught:
        compile_path(write(root, files))
    return caught.value


@pytest.mark.parametrize(
    "line",
    [
        "from elsewhere.queries import members",  # of no module of the program
        "from one.queries import plain as members",  # no query
        "from one.queries import nothing as members",
    ],
)
def test_what_is_imported_and_no_query_of_the_program_is_refused(line: str, tmp_path: Path) -> None:
    files = {
        "one/__init__.py": "from one.queries import members\n",
        "one/queries.py": f"{ONE}def plain(x): pass\n",
        "main.py": f"{START}{line}\n{ASKING.format(name='members')}",
    }  # fmt: skip
    error = refused(tmp_path, files)
    assert (error.code, error.message) == ("IQ203", "cannot maintain the source `members(club)`")


def test_a_module_that_may_be_two_is_in_doubt(tmp_path: Path) -> None:
    files = {
        "queries.py": ONE, "sub/queries.py": TWO,
        "sub/main.py": f"{START}from queries import members\n{ASKING.format(name='members')}",
    }  # fmt: skip
    assert refused(tmp_path, files).code == "IQ203"


LIMITED = """
limit = Set([1, 2])
@query
def members(of): return {x for x in of.b if x in limit}
"""


def test_a_query_that_reads_a_global_of_its_module_is_asked_where_that_is_imported_too(
    tmp_path: Path,
) -> None:
    files = {
        "model.py": START + LIMITED,
        "main.py": f"{START}from model import limit, members\n{ASKING.format(name='members')}",
    }
    assert shown(tmp_path, files, "main.py") == "[2]\n[]\n"


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("from model import members", "limit = Set([3])\n"),
        ("from model import members", ""),
        ("from model import members, other as limit", ""),
        ("from other import limit\nfrom model import members", ""),
        ("from model import members, limit", "def reset():\n    global limit\n    limit = Set()\n"),
        ("from model import members, limit\nimport model", "def reset(): model.limit = Set()\n"),
    ],
)
def test_a_query_that_reads_a_global_of_its_module_is_not_asked_with_another(
    line: str, more: str, tmp_path: Path
) -> None:
    files = {
        "model.py": f"{START}{LIMITED}other = Set()\n", "other.py": f"{START}limit = Set()\n",
        "main.py": f"{START}{line}\n{more}{ASKING.format(name='members')}",
    }  # fmt: skip
    error = refused(tmp_path, files)
    assert (error.code, error.message) == ("IQ209", "`members` reads the global `limit` of another module")


def test_one_name_for_two_modules_of_functions_is_refused(tmp_path: Path) -> None:
    query = "@query\ndef {name}(s): return {{sqrt(x) for x in s}}\n"
    real, complex_ = START + query.format(name="real"), START + query.format(name="of_complex")
    real = f"from math import sqrt\n{real}"
    error = refused(tmp_path, {"a.py": real, "b.py": f"from cmath import sqrt\n{complex_}"})
    assert error.code == "IQ209"
    assert error.message == "`sqrt` is cmath.sqrt here and math.sqrt in another query"
    write(tmp_path, {"b.py": f"from math import sqrt\n{complex_}"})
    assert len(compile_path(tmp_path).plan.queries) == 2


def test_a_module_of_functions_may_have_any_name(tmp_path: Path) -> None:
    query = "@query\ndef {name}(s): return {{m.sqrt(x) * m.pi for x in s if x < m.inf}}\n"
    ask = "s = Set([4])\nprint({name}(s))\ns.add(4.0)\ns.clear()\ns.add(9)\nprint({name}(s))\n"
    texts = {n: START + (query + ask).format(name=n) for n in ("real", "of_complex")}
    files = {
        "a.py": f"import math as m\n{texts['real']}",
        "b.py": f"import cmath as m\n{texts['of_complex']}",
        "main.py": "import a, b\n",
    }
    printed = "Set({6.283185307179586})\nSet({9.42477796076938})\n"
    printed += "Set({(6.283185307179586+0j)})\nSet({(9.42477796076938+0j)})\n"
    assert shown(tmp_path, files, "main.py") == printed


HELPERS = """
from math import floor as down
from decimal import Decimal
import datetime as time

LIMIT = 10

def small(x, than=3): return x < than < LIMIT
def early(x, *, days=1): return x.day + time.timedelta(days=days) < time.date(2024, 1, 9)
def good(x): return early(x, days=2) and small(down(x.size), than=5) and x.size > Decimal("0.5")
"""
ASKING_HELPERS = """
from datetime import date
from decimal import Decimal

class X:
    def __init__(self, number):
        self.day, self.size = date(2024, 1, number), Decimal(number)

@query
def chosen(s):
    return {{x.size for x in s if {name}(x)}}

xs = [X(number) for number in range(1, 9)]
s = Set(xs)
print(sorted(chosen(s)))
xs[0].size = Decimal("0.25")
xs[7].size, xs[7].day = Decimal("1.5"), date(2023, 1, 1)
xs[1].day = None
print(sorted(chosen(s)))
"""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from tools.helpers import good", "good"),
        ("from tools import good as fine", "fine"),  # which only imports it
        ("from tools import helpers", "helpers.good"),
        ("import tools", "tools.good"),
    ],
)
def test_a_helper_function_may_stand_in_another_module(line: str, name: str, tmp_path: Path) -> None:
    files = {
        "tools/__init__.py": "from tools.helpers import good\n",
        "tools/helpers.py": HELPERS,
        "main.py": f"{START}{line}\n{ASKING_HELPERS.format(name=name)}",
    }
    printed = "[Decimal('1'), Decimal('2'), Decimal('3'), Decimal('4')]\n"
    after = "[Decimal('1.5'), Decimal('3'), Decimal('4')]\n"
    assert shown(tmp_path, files, "main.py") == printed + after


@pytest.mark.parametrize(
    ("line", "name", "printed"),
    [
        ("from one import members", "members", "[1]\n[1, 5]\n"),  # which only imports it
        ("from one import queries", "queries.members", "[1]\n[1, 5]\n"),
        ("import one", "one.members", "[1]\n[1, 5]\n"),
    ],
)
def test_a_query_may_be_called_by_whatever_name_it_has(
    line: str, name: str, printed: str, tmp_path: Path
) -> None:
    files = {
        "one/__init__.py": "from one.queries import members\n",
        "one/queries.py": ONE,
        "main.py": f"{START}{line}\n{ASKING.format(name=name)}",
    }
    assert shown(tmp_path, files, "main.py") == printed


@pytest.mark.parametrize(
    ("helper", "code", "message"),
    [
        (
            "SEEN = []\ndef good(x): return SEEN",
            "IQ202",
            "a helper function reads the global `SEEN` of another module",
        ),
        (
            "def good(x): return any(y for y in x.a)",
            "IQ209",
            "a comprehension in a helper function of another module",
        ),
        ("def good(x): return good(x)", "IQ202", "`good` is recursive"),
    ],
)
def test_a_helper_function_of_another_module_is_refused_that_reads_what_is_not_seen(
    helper: str, code: str, message: str, tmp_path: Path
) -> None:
    query = "@query\ndef chosen(s): return {x for x in s if good(x)}\n"
    error = refused(tmp_path, {"a.py": helper, "b.py": f"{START}from a import good\n{query}"})
    assert (error.code, error.message) == (code, message)


def test_a_parameter_hides_a_module_of_the_same_name(tmp_path: Path) -> None:
    query = "@query\ndef chosen(s, tools): return {x for x in s if x < tools.limit}\n"
    error = refused(
        tmp_path,
        {
            "tools.py": "def good(x): return x > 1\n",
            "main.py": f"{START}import tools\n{query.replace('x < tools.limit', 'tools.good(x)')}",
        },
    )
    assert error.code == "IQ202"


def test_a_helper_function_may_call_one_of_the_querys_module(tmp_path: Path) -> None:
    """Its parameter is no global of that module, though one has its name."""
    files = {
        "tools.py": "import main as m\ndef good(x): return m.large(x.n)\n",
        "main.py": (
            f"{START}import tools\nn = 100\ndef large(n): return n > 3\n"
            "class X:\n    def __init__(self, n): self.n = n\n"
            "@query\ndef chosen(s): return {x.n for x in s if tools.good(x)}\n"
        ),
        "start.py": "import main\nxs = [main.X(2), main.X(7)]\ns = main.Set(xs)\nprint(main.chosen(s))\n"
        "xs[1].n, xs[0].n = 1, 5\nprint(main.chosen(s))\n",
    }
    assert shown(tmp_path, files, "start.py") == "Set({7})\nSet({5})\n"
