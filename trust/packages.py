"""Other people's code: popular packages, compiled whole with `--all`, pass or fail their own tests as before.

The sdist of each package is fetched by pip into `.trust/packages`, with the requirements of its tests in an
environment of its own. Its tests run on the original and on what `incoq compile PACKAGE --all` wrote, in both
modes; a test that ends differently is a failure, unless it also ends differently from one run of the
original to the next, or asserts that a container's class is exactly Python's own, which is known to differ.

What became of a package is remembered in `.trust/packages/done.json`, with a checksum of what was compiled: a
package whose code comes out the same as before is not tested again. Times are seconds of CPU.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import time
import venv
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trust.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".trust" / "packages"
PYTHON = PLACE / "venv" / "bin" / "python"
MODES = ("filtered", "incremental")
SECONDS = 900  # for one run of the tests of a package
TIMED = ("--timeout=120",)  # each test of it
DONE = PLACE / "done.json"


@dataclass(frozen=True)
class Package:
    """A package of the index, where it stands in its sdist, and its tests."""

    name: str
    version: str
    source: str
    tests: str
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    known: tuple[str, ...] = ()  # parts of the names of tests that see the compiler by design

    @property
    def title(self) -> str:
        """Its name and version."""
        return f"{self.name} {self.version}"

    @property
    def root(self) -> Path:
        """Where the sdist is unpacked."""
        return PLACE / "sdist" / f"{self.name}-{self.version}"


OWN_TEXT = ("test_on_itself[3.6]", "test_on_itself[3.7]")  # it reads its own text by an older grammar
COPIED = ("TestStandalone",)  # it writes parts of its own text into a file that stands alone
FRAMES = ("testExceptionExplainVariations",)  # it names the frames of a traceback, ours among them
IN_MODULE = ("test_curried_operator",)  # it goes through all names of a module

PACKAGES = (
    Package("tinydb", "4.9.0", "tinydb", "tests", ("pyyaml",), ("-o", "addopts=")),
    Package("resolvelib", "1.2.1", "src/resolvelib", "tests", ("packaging",)),
    Package("toolz", "1.2.0", "toolz", "toolz/tests", known=IN_MODULE),
    Package("pyflakes", "4.1.0", "pyflakes", "pyflakes/test"),
    Package("marshmallow", "4.4.0", "src/marshmallow", "tests", ("simplejson",)),
    Package("parso", "0.8.7", "parso", "test", known=OWN_TEXT),
    Package("lark", "1.3.1", "lark", "tests", known=COPIED),
    Package("isort", "9.0.2", "isort", "tests/unit", ("hypothesis", "black", "colorama", "natsort")),
    Package("pyparsing", "3.3.3", "pyparsing", "tests", ("railroad-diagrams", "jinja2"), known=FRAMES),
    Package(
        "packaging",
        "26.3",
        "src/packaging",
        "tests",
        ("hypothesis", "pretend", "tomli_w"),
        ("--ignore=tests/test_version.py",),  # 51,492 pairs of versions
    ),
    Package("jinja2", "3.1.6", "src/jinja2", "tests", ("trio",)),
    Package(
        "transitions",
        "0.9.3",
        "transitions",
        "tests",
        ("six", "dill", "mock"),
        ("-o", "addopts=", "--ignore=tests/test_codestyle.py"),  # it judges the text
    ),
    Package("sqlparse", "0.6.1", "sqlparse", "tests"),
    Package("anytree", "2.13.0", "src/anytree", "tests", ("six", "test2ref"), ("-o", "addopts=")),
    Package("more_itertools", "11.2.1", "more_itertools", "tests"),
    Package("pluggy", "1.7.0", "src/pluggy", "testing"),
    Package("networkx", "3.6.1", "networkx", "networkx/classes"),
    Package("h2", "4.4.1", "src/h2", "tests", ("hypothesis",), ("-o", "addopts=")),
    Package("import_linter", "2.16", "src/importlinter", "tests/unit", ("pyyaml",)),
    Package("pycparser", "3.12", "pycparser", "tests"),
    Package(
        "python_constraint2",
        "2.9.0",
        "constraint",
        "tests",
        (),
        # they need files that the sdist leaves out
        ("-o", "addopts=", "--ignore=tests/test_constraint.py", "--ignore=tests/test_examples.py"),
    ),
)


@dataclass
class Ran:
    """What became of one package in one mode."""

    package: str  # with its version
    mode: str
    taken: int = 0
    left: dict[str, int] = field(default_factory=dict)
    tests: int = 0
    seconds: float = 0.0
    plain_seconds: float = 0.0
    compile_seconds: float = 0.0
    refused: str = ""
    checksum: str = ""
    differ: list[str] = field(default_factory=list)
    known: int = 0  # tests that differ and are expected to

    def row(self) -> tuple[str, ...]:
        """Its row of the table."""
        codes = ", ".join(f"{code} {count}" for code, count in sorted(self.left.items()))
        ratio = f"{self.seconds / self.plain_seconds:.2f}" if self.plain_seconds else "-"
        found = self.taken + sum(self.left.values())
        differ = f"{len(self.differ)}, {self.known} known" if self.known else f"{len(self.differ)}"
        return (
            self.package, self.mode, str(found), str(self.taken),
            codes or "-", f"{self.tests:,}", ratio, self.refused or differ,
        )  # fmt: skip


HEAD = ("package", "mode", "found", "taken", "left, by code", "tests", "time", "differ")


def run(budget_seconds: float, seed: int) -> Outcome:
    """Package after package, until the time is over; those that are done already are not run again."""
    start = time.perf_counter()
    chosen = [p for p in PACKAGES if p.name in os.environ.get("INCOQ_PACKAGES", p.name).split(",")]
    results = Results()
    failures: list[str] = []
    for package in chosen[seed % len(chosen) :] + chosen[: seed % len(chosen)]:
        if time.perf_counter() - start > budget_seconds:
            break
        try:
            results.add(package, list(compare(package, results.done.get(package.title, []))))
        except (OSError, subprocess.SubprocessError, RuntimeError) as error:
            failures.append(f"{package.name}: {error}")
    done = [ran for package in PACKAGES for ran in results.of(package)]
    for ran in done:
        failures += [f"{ran.package} ({ran.mode}): {test}" for test in ran.differ]
    of_one = [ran for ran in done if ran.mode == MODES[0]]
    other = {ran.package for ran in done if ran.differ or ran.known}
    figure = (
        f"{len(of_one)} packages in both modes, {sum(r.taken for r in of_one)} of"
        f" {sum(r.taken + sum(r.left.values()) for r in of_one)} comprehensions taken,"
        f" {sum(r.tests for r in of_one):,} tests of theirs;"
        f" all end the same in {len(of_one) - len(other)} packages,"
        f" {sum(r.known for r in done)} differ as documented, {sum(len(r.differ) for r in done)} otherwise"
    )
    return Outcome(
        "packages", figure, "no test ends differently but by what is documented", tuple(failures),
        rows=(HEAD, *(r.row() for r in done)),
    )  # fmt: skip


class Results:
    """What became of packages, so far."""

    def __init__(self) -> None:
        rows = json.loads(DONE.read_text()) if DONE.exists() else {}
        self.done = {title: [Ran(**row) for row in both] for title, both in rows.items()}

    def of(self, package: Package) -> list[Ran]:
        """What became of one; tests that see the compiler by design are told apart."""
        found = self.done.get(package.title, [])
        for ran in found:
            known = [test for test in ran.differ if any(part in test for part in package.known)]
            ran.differ = [test for test in ran.differ if test not in known]
            ran.known += len(known)
        return found

    def add(self, package: Package, both: list[Ran]) -> None:
        """Keep what became of one."""
        self.done[package.title] = both
        rows = {title: [asdict(ran) for ran in one] for title, one in self.done.items()}
        DONE.write_text(json.dumps(rows, indent=1))


def compare(package: Package, before: list[Ran]) -> Iterator[Ran]:
    """Run the tests of a package, plain and compiled in each mode, unless they ran on the same code."""
    fetch(package)
    plain: dict[str, str] = {}
    again: dict[str, str] | None = None
    plain_seconds = 0.0
    for mode in MODES:
        ran = Ran(package.title, mode)
        place = compiled(package, mode, ran)
        if same := [old for old in before if old.mode == mode and old.checksum == ran.checksum]:
            yield same[0]
            continue
        if not plain:
            plain, plain_seconds = outcomes(package, "plain", package.root)
            if not any(outcome == "passed" for outcome in plain.values()):
                raise RuntimeError(f"the tests of the original do not run: {Counter(plain.values())}")
        ran.plain_seconds = plain_seconds
        if place is not None:
            got, ran.seconds = outcomes(package, mode, place)
            ran.tests = len(got)
            differ = [name for name in sorted({*plain, *got}) if plain.get(name) != got.get(name)]
            if differ and again is None:
                again, _ = outcomes(package, "again", package.root)
            if again is not None:
                steady = plain.keys() == again.keys()  # or names of tests hold the time of day, say
                differ = [n for n in differ if again.get(n) == plain.get(n) and (steady or n in plain)]
            exact = asks_for_exact_class(package, mode)
            ran.known = len(exact.intersection(differ))
            ran.differ = [
                f"{name}: {plain.get(name)} plain, {got.get(name)} compiled"
                for name in differ
                if name not in exact
            ]
        yield ran


def fetch(package: Package) -> None:
    """Make the environment hold what the tests need, and unpack the sdist."""
    if not PYTHON.exists():
        venv.create(PLACE / "venv", with_pip=True)
        subprocess.run([str(PYTHON), "-m", "pip", "install", "-q", "pytest", "pytest-timeout"], check=True)
    stamp = PLACE / f"{package.name}-{package.version}.stamp"
    if stamp.exists():
        return
    pip = [str(PYTHON), "-m", "pip"]
    wanted = f"{package.name}=={package.version}"
    # For its requirements: what is tested comes first on the path. It stays, since pytest may need it.
    subprocess.run([*pip, "install", "-q", wanted, *package.needs], check=True)
    where = PLACE / "sdist"
    only = ["--no-deps", "--no-binary", package.name]
    subprocess.run([*pip, "download", "-q", *only, "-d", str(where), wanted], check=True)
    with tarfile.open(where / f"{package.name}-{package.version}.tar.gz") as archive:
        archive.extractall(where, filter="data")
    stamp.write_text("")


def compiled(package: Package, mode: str, ran: Ran) -> Path | None:
    """A copy of the sdist with the package compiled; None where the package was refused, with a code."""
    place = PLACE / mode / package.root.name
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(package.root, place)
    shutil.rmtree(place / package.source)
    command = [
        sys.executable, "-m", "incoq", "compile", str(package.root / package.source), "--all", "--mode", mode,
        "-o", str(place / package.source),
    ]  # fmt: skip
    start = used()
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
    )
    ran.compile_seconds = used() - start
    if done.returncode:
        code = re.search(r"error\[(IQ\d+)\]", done.stderr)
        if code is None:
            raise RuntimeError(f"the compiler broke off: {done.stderr[-2000:]}")
        ran.refused = ran.checksum = code[1]
        return None
    ran.taken = len(re.findall(r": taken$", done.stderr, re.MULTILINE))
    for left in re.findall(r": left as it is \[(IQ\d+)\]:", done.stderr):
        ran.left[left] = ran.left.get(left, 0) + 1
    texts = [path.read_bytes() for path in sorted((place / package.source).rglob("*.py"))]
    ran.checksum = hashlib.sha256(b"".join(texts)).hexdigest()
    return place


def asks_for_exact_class(package: Package, label: str) -> set[str]:
    """The tests that fail because a container of the program is of a subclass: `assert type(x) is dict`."""
    found = set()
    for case in ElementTree.parse(PLACE / f"{package.name}-{label}.xml").iter("testcase"):
        told = " ".join(child.get("message") or "" for child in case if child.tag == "failure")
        if re.search(r"assert <class '[\w.]*_incoq_support\.\w+'> (is|==) (list|dict|set)\b", told):
            found.add(f"{case.get('classname')}::{case.get('name')}")
    return found


def used() -> float:
    """Seconds of CPU that commands took so far."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def outcomes(package: Package, label: str, place: Path) -> tuple[dict[str, str], float]:
    """How each test ends, and how long all took."""
    report = PLACE / f"{package.name}-{label}.xml"
    report.unlink(missing_ok=True)
    (place.parent / "pytest.ini").write_text("[pytest]\n")  # or that of this checkout would count
    command = [
        str(PYTHON), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *TIMED,
        "-o", "junit_family=xunit1", *package.options, package.tests,
    ]  # fmt: skip
    environment = {
        **os.environ, "PYTHONPATH": str((place / package.source).parent), "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1", "CI": "1",  # so that hypothesis takes its time
    }  # fmt: skip
    start = used()
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    seconds = used() - start
    (PLACE / f"{package.name}-{label}.log").write_text(done.stdout + done.stderr)
    if not report.exists():
        return {"pytest itself": (done.stdout + done.stderr)[-500:]}, seconds
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[name] = kinds[0] if kinds else "passed"
    return found, seconds
