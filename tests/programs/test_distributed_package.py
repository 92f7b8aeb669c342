"""All distributed algorithms compiled together, as a directory: the output runs alone and prints the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import incoq
from incoq.codegen.build_package import package_files
from incoq.compile import compile_path

FOLDER = Path(__file__).parents[2] / "programs" / "distributed"
SCRIPTS = sorted(p.name for p in FOLDER.glob("*.py") if p.name != "simulator.py")
RUN_ALL = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
for script in sys.argv[2:]:
    print(script)
    sys.argv = [script, "2"]
    runpy.run_path(f"{sys.path[0]}/{script}", run_name="__main__")
assert ("incoq" in sys.modules) is bool(%d), "the output needs no incoq"
"""


def printed(folder: Path, original: bool) -> str:
    path = str(Path(incoq.__file__).parents[1]) if original else ""
    run = subprocess.run(
        [sys.executable, "-s", "-c", RUN_ALL % original, str(folder), *SCRIPTS],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": path, "PYTHONHASHSEED": "0"},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def expected() -> str:
    return printed(FOLDER, True)


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_the_compiled_directory_prints_what_the_originals_print(
    mode: str, expected: str, tmp_path: Path
) -> None:
    for name, text in package_files(compile_path(FOLDER, mode)).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert {*SCRIPTS, "simulator.py"} < {p.name for p in tmp_path.iterdir()}
    assert printed(tmp_path, False) == expected
    assert all(f"{script}\n" in expected for script in SCRIPTS)
