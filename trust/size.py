"""Large programs: an answer that plain Python gives too, or a coded refusal, in limited time and memory.

Every program is compiled by the command in a process of its own, whose CPU seconds and memory are measured;
then the original and the output run, and print the same.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trust import record
from trust.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
SECONDS, MEGABYTES = 180, 2_000
HEAD = "from incoq import Set, query\n\n\nclass O:\n    pass\n\n\n"
WORLD = "\n\no = O()\no.a = o.b = 3\no.f = Set({o})\no.n = o\ns = Set({o})\n"


def query(params: str, body: str) -> str:
    """A query `q` as text."""
    return f"@query\ndef q({params}):\n    return {{x0.a for x0 in {body}}}\n"


def clauses(n: int) -> str:
    conditions = " ".join(f"if x0.a{i} > {i}" for i in range(n - 1))
    fields = "".join(f"o.a{i} = {i + 1}\n" for i in range(n - 1))
    return HEAD + query("s", f"s {conditions}") + WORLD + fields + "print(q(s))\n"


def loops(n: int) -> str:
    inner = " ".join(f"for x{i} in x{i - 1}.f" for i in range(1, n))
    return HEAD + query("s", f"s {inner}") + WORLD + "print(q(s))\no.f.add(1)\nprint(q(s))\n"


def sets(n: int) -> str:
    params = ", ".join(f"s{i}" for i in range(n))
    tests = " ".join(f"if x0 in s{i}" for i in range(1, n))
    asked = f"print(q({', '.join('s' for _ in range(n))}))\n"
    return HEAD + query(params, f"s0 {tests}") + WORLD + asked + "s.discard(o)\n" + asked


def selector(n: int) -> str:
    return HEAD + query("s", f"s if x0{'.n' * n}.a == 3") + WORLD + "print(q(s))\no.a = 4\nprint(q(s))\n"


def operators(n: int) -> str:
    return HEAD + query("s", f"s if x0.a < {' + '.join(['1'] * n)}") + WORLD + "print(q(s))\n"


def signs(n: int) -> str:
    return HEAD + query("s", f"s if x0.a > {'- ' * n}1") + WORLD + "print(q(s))\n"


def choices(n: int) -> str:
    return HEAD + query("s", f"s if ({'1 if x0.a == 9 else ' * n}x0.a) == 3") + WORLD + "print(q(s))\n"


def parentheses(n: int) -> str:
    return HEAD + query("s", f"s if x0.a > {'(1 + ' * n}1{')' * n}") + WORLD + "print(q(s))\n"


def statements(n: int) -> str:
    updates = "".join(
        f"def f{i}(o, s, x):\n    o.a = x\n    s.add(o)\n    y = [o, x]\n    return y\n"
        for i in range(n // 5)
    )
    return HEAD + query("s", "s if x0.b > 1") + updates + WORLD + "print(q(s))\nf7(o, s, 5)\nprint(q(s))\n"


def queries(n: int) -> str:
    made = "".join(
        f"@query\ndef q{i}(s):\n    return {{x.a{i} for x in s if x.b > {i % 5}}}\n" for i in range(n)
    )
    asked = f"for f in ({''.join(f'q{i}, ' for i in range(n))}):\n    print(f(s))\n"
    return HEAD + made + WORLD + "o.a1 = 7\n" + asked + "o.b = 2\no.a2 = 4\n" + asked


@dataclass(frozen=True)
class Case:
    """A program of some size."""

    make: Callable[[int], str]
    size: int
    quick: bool = False  # cheap enough for the ordinary tests

    def __str__(self) -> str:
        return f"{self.make.__name__} {self.size:,}"


CASES = (
    Case(clauses, 200, True), Case(clauses, 60), Case(loops, 25, True), Case(loops, 50),
    Case(loops, 200, True), Case(sets, 40), Case(sets, 200, True), Case(selector, 50),
    Case(selector, 1_000, True), Case(operators, 1_000, True), Case(signs, 1_000, True),
    Case(choices, 1_000, True), Case(parentheses, 1_000, True), Case(statements, 50_000), Case(queries, 500),
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What became of a case in one mode."""

    case: Case
    mode: str
    what: str
    seconds: float = 0.0
    megabytes: float = 0.0
    fault: str = ""

    @property
    def row(self) -> tuple[str, ...]:
        """Its row in the table."""
        return str(self.case), self.mode, self.what, f"{self.seconds:.1f}", f"{self.megabytes:.0f}"


HEADS = ("program", "mode", "ends in", "CPU seconds", "MB")


def run(budget_seconds: float, seed: int) -> Outcome:
    """The cases in both modes, until all are measured or the time is over; the next run goes on after them.

    Of those that a run does not come to, the rows of the runs before stay.
    """
    start = time.perf_counter()
    everything = [(case, mode) for mode in ("filtered", "incremental") for case in CASES]
    first = seed % len(everything)
    done: list[Measured] = []
    for case, mode in everything[first:] + everything[:first]:
        if not done or time.perf_counter() - start < budget_seconds:
            done.append(measure(case, mode))
    failures = [f"{m.case} ({m.mode}): {m.fault}" for m in done if m.fault]
    known = {(row[0], row[1]): tuple(row) for row in record.read().get("size", {}).get("rows", ())}
    known |= {(str(m.case), m.mode): m.row for m in done}
    rows = [known[str(case), mode] for case, mode in everything if (str(case), mode) in known]
    seconds, megabytes = (max(float(row[column]) for row in rows) for column in (3, 4))
    figure = (
        f"{len(rows)} of {len(everything)} programs; at most {seconds:.0f} s of CPU and {megabytes:,.0f} MB;"
        f" {len(failures)} failed"
    )
    limit = f"an answer or a coded refusal in {SECONDS} s and {MEGABYTES:,} MB"
    return Outcome("size", figure, limit, tuple(failures), rows=(HEADS, *rows), next_seed=first + len(done))


def measure(case: Case, mode: str) -> Measured:
    """Compile a case, run it, and compare with plain Python."""
    with tempfile.TemporaryDirectory() as place:
        program, out = Path(place) / "program.py", Path(place) / "out.py"
        program.write_text(case.make(case.size))
        given = ["compile", str(program), "--mode", mode, "-o", str(out)]
        compiling = f"from incoq.cli import main\nmain({given!r})"
        done, seconds, megabytes = command(["-c", compiling])
        if done.returncode:
            code = re.search(r"error\[(IQ\d+)\]", done.stderr)
            fault = "" if code else f"the compiler broke off: {done.stderr[-400:]}"
            what = f"refused {code[1]}" if code else "nothing"
        else:
            plain, compiled = command([str(program)])[0], command([str(out)])[0]
            what = "an answer"
            fault = "" if compiled.stdout and plain.stdout == compiled.stdout else (
                f"plain Python prints {plain.stdout[-200:]}{plain.stderr[-300:]}, compiled"
                f" {compiled.stdout[-200:]}{compiled.stderr[-300:]}"
            )  # fmt: skip
        if seconds > SECONDS or megabytes > MEGABYTES:
            fault = fault or f"{seconds:.0f} s and {megabytes:.0f} MB"
        return Measured(case, mode, what, seconds, megabytes, fault)


def command(arguments: list[str]) -> tuple[subprocess.CompletedProcess[str], float, float]:
    """Run Python, with the CPU seconds and the largest memory of the process."""
    tail = (
        "import atexit, resource, sys\n"
        "def tell():\n"
        "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    print('\\nUSED', used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=sys.stderr)\n"
        "atexit.register(tell)\n"
    )
    if arguments[0] == "-c":
        arguments = ["-c", tail + arguments[1]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS)),
    )  # fmt: skip
    used = re.search(r"USED ([\d.]+) ([\d.]+)", done.stderr)
    return done, float(used[1]) if used else 0.0, float(used[2]) if used else 0.0
