"""Every route of mutation is maintained, or refused with a code; none is silent.

Each program of `route_list` runs uncompiled and compiled in both modes; what it shows must be the same, or
the compiler, or the run, refuses it. The page `docs/trust-routes.md` lists what came out.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
import tempfile
import types
from collections import Counter
from pathlib import Path
from typing import Any

import incoq
from trust.outcome import Outcome
from trust.route_list import ROUTES, Route

PAGE = Path(__file__).resolve().parent.parent / "docs" / "trust-routes.md"
MODES = ("filtered", "incremental")
MAINTAINED, SILENT = "maintained", "SILENT"
BEGIN, END = "<!-- routes -->", "<!-- end of routes -->"

_numbers = itertools.count(1)


def run(budget_seconds: float, seed: int) -> Outcome:
    """All routes, in both modes: the time is known beforehand."""
    verdicts = [(route, verdict(route, mode), mode) for route in every() for mode in MODES]
    counts = Counter(told.partition(" ")[0] for _, told, _ in verdicts)
    failures = tuple(
        f"{route.name} ({mode}): {told}" for route, told, mode in verdicts if told.startswith(SILENT)
    )
    figure = (
        f"{len(every())} routes in {len(MODES)} modes: {counts[MAINTAINED]} maintained,"
        f" {len(verdicts) - counts[MAINTAINED] - len(failures)} refused; {len(failures)} silent"
    )
    return Outcome("routes", figure, "0 silent", failures)


def every() -> list[Route]:
    """All routes."""
    return [route for routes in ROUTES.values() for route in routes]


def verdict(route: Route, mode: str) -> str:
    """`maintained`, the code with which it is refused, or what was shown in silence."""
    try:
        code = incoq.compile_source(route.text, mode=mode).code
    except incoq.CompileError as error:
        return error.code
    expected = shown(load(route.text, compiled=False))
    found = shown(load(code, compiled=True))
    if found == expected:
        return MAINTAINED
    if found[-1][0] == "refused" and found[:-1] == expected[: len(found) - 1]:
        return str(found[-1][1])
    return f"{SILENT}: {found}, not {expected}"


def load(text: str, compiled: bool) -> dict[str, Any]:
    """Run a program as a module of its own; `inspect` finds the source of one that is not compiled."""
    name = f"route_{next(_numbers)}"
    if compiled:
        module = types.ModuleType(name)
        sys.modules[name] = module
        exec(compile(text, f"<{name}>", "exec"), vars(module))
        return vars(module)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.py")
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        vars(module)["kept"] = shown(vars(module))
        return vars(module)


def shown(namespace: dict[str, Any]) -> list[Any]:
    """What the program's `main` shows; a refusal ends it."""
    if "kept" in namespace:
        kept: list[Any] = namespace["kept"]
        return kept
    found: list[Any] = []

    def show(*values: Any) -> None:
        found.append(tuple(sorted(v) if isinstance(v, (set, frozenset)) else v for v in values))

    try:
        namespace["main"](show)
    except Exception as error:
        code = getattr(error, "code", "")
        found.append(("refused", code) if code else ("raised", type(error).__name__))
    finally:
        sys.modules.pop(namespace["__name__"], None)
    return found


def table() -> str:
    """The routes as tables of Markdown."""
    lines: list[str] = []
    for kind, routes in ROUTES.items():
        lines += [f"## {kind.capitalize()}", "", "| route | filtered | incremental |", "|---|---|---|"]
        for route in routes:
            told = [verdict(route, mode) for mode in MODES]
            lines.append(f"| {route.name} | {' | '.join(told)} |")
        lines.append("")
    return "\n".join(lines)


def write() -> None:
    """Put the tables into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    write()
