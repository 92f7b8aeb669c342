"""All distributed algorithms compiled together, as a directory: the output runs alone and prints the same."""

from __future__ import annotations

import shutil
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


# Indices over all data bring the maps of these before the conditions of the others, which is refused (IQ301).
NOT_TOGETHER = {"incremental": {"ra_token.py", "sk_token.py"}, "filtered": set[str]()}


def printed(folder: Path, scripts: list[str], original: bool) -> str:
    path = str(Path(incoq.__file__).parents[1]) if original else ""
    run = subprocess.run(
        [sys.executable, "-s", "-c", RUN_ALL % original, str(folder), *scripts],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": path, "PYTHONHASHSEED": "0"},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
def test_the_compiled_directory_prints_what_the_originals_print(mode: str, tmp_path: Path) -> None:
    scripts = [script for script in SCRIPTS if script not in NOT_TOGETHER[mode]]
    source, output = tmp_path / "source", tmp_path / "output"
    source.mkdir()
    output.mkdir()
    for name in ("simulator.py", *scripts):
        shutil.copy(FOLDER / name, source / name)
    for name, text in package_files(compile_path(source, mode)).items():
        (output / name).write_text(text, encoding="utf-8")
    assert {*scripts, "simulator.py"} < {p.name for p in output.iterdir()}
    expected = printed(source, scripts, True)
    assert all(f"{script}\n" in expected for script in scripts)
    assert printed(output, scripts, False) == expected
