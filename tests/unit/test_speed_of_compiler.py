"""The compiler imports in 0.2 s of CPU and transforms the running example in 0.3 s; shown by `pytest -s`.

These are promises in seconds, so the limits here leave room for a slow or busy machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import incoq

PROGRAMS = Path(__file__).parents[2] / "programs"
FACTOR = 4  # a busy machine of two shared cores was seen to need twice the time of an idle one
PROGRAM = """
from incoq import Set, query

class User:
    def __init__(self, email, loc):
        self.email, self.loc, self.followers = email, loc, Set()

@query
def nyc_fans(celeb, group):
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}

def follow(a, b):
    b.followers.add(a)

def move(user, place):
    user.loc = place
"""
SCRIPT = """
import sys, time
text = sys.stdin.read()
start = time.process_time()
import incoq
incoq.compile_source
imported = time.process_time()
incoq.compile_source(text).code
print(imported - start, time.process_time() - imported)
"""


def measure() -> tuple[float, float]:
    """CPU seconds of the import and of the first transformation, in a process of their own."""
    environment = {**os.environ, "PYTHONPATH": str(Path(incoq.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=PROGRAM,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    imported, transformed = map(float, run.stdout.split())
    return imported, transformed


def test_the_compiler_imports_and_transforms_the_running_example_at_once() -> None:
    measure()  # the first run may write bytecode
    runs = [measure() for _ in range(3)]
    imported, transformed = (min(column) for column in zip(*runs, strict=True))
    print(
        f"import {imported:.3f} s of CPU (promised 0.2), running example {transformed:.3f} s (promised 0.3)"
    )
    assert imported < 0.2 * FACTOR
    assert transformed < 0.3 * FACTOR


CHAIN = " ".join(f"for a{i + 1} in a{i}.f{i}" for i in range(20))
LARGE = {
    "several RBAC instances": ((PROGRAMS / "rbac_instances.py").read_text(), 1.0),
    "Core RBAC": ((PROGRAMS / "core_rbac.py").read_text(), 2.0),
    "van Renesse's Paxos": ((PROGRAMS / "distributed" / "vr_paxos.py").read_text(), 1.0),
    "a query of 20 clauses": (
        f"from incoq import query\n@query\ndef q(a0):\n    return {{a20 {CHAIN}}}\n",
        2.0,
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_programs_transform_within_what_was_promised(name: str) -> None:
    text, promised = LARGE[name]
    start = time.process_time()
    _ = incoq.compile_source(text).code
    spent = time.process_time() - start
    print(f"{name}: {spent:.2f} s of CPU (promised {promised})")
    assert spent < promised * FACTOR


def test_a_program_that_only_runs_does_not_load_the_compiler() -> None:
    script = "import sys, incoq; print([m for m in sys.modules if m.startswith('incoq.')])"
    environment = {**os.environ, "PYTHONPATH": str(Path(incoq.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert "codegen" not in run.stdout
    assert "planning" not in run.stdout
