"""A plugin of pytest: each test again and again, and the blocks of memory that each time leaves behind.

Every object has a block of its own at least. A test leaks where each of many times leaves more than there was
before: what fills a cache, or is loaded once, does not go on like that.
"""

from __future__ import annotations

import gc
import json
import linecache
import os
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from itertools import pairwise
from pathlib import Path
from typing import Any

import click.utils
import pytest
from _pytest.runner import runtestprotocol
from click._compat import get_text_stderr, get_text_stdout
from hypothesis import settings
from hypothesis.strategies._internal.utils import clear_strategy_cache

NOTED = "INCOQ_TRUST_BLOCKS"  # the file that is told of what tests leave, as an environment variable
TIMES, DOUBTED = 1, 8  # that are counted, after two that fill caches; the more where one left something
LONG = 1.0  # seconds of CPU: a test that takes longer is not repeated,
WAITS = 10.0  # nor one that takes longer by the clock, since it starts processes that take time of their own


class Repeats:
    """Runs tests more often than asked, and notes what each time left."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left: dict[str, list[int]] = {}  # blocks, of the times that were counted
        self.long: list[str] = []
        self.failed: list[str] = []
        self.modules = 0
        self.caches: list[Any] = []
        self.used = array("q", [0] * (DOUBTED + 1))  # of which no number is an object that is counted, too

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Instead of once; what belongs to the module stays set up until the last time is over."""
        began, started = sum(os.times()[:2]), time.monotonic()
        reports = self._run(item)
        took, waited = sum(os.times()[:2]) - began, time.monotonic() - started
        if any(report.skipped for report in reports):
            pass
        elif not all(report.passed for report in reports):
            self.failed.append(item.nodeid)
        elif took > LONG or waited > WAITS:
            self.long.append(item.nodeid)
        else:
            gc.collect()
            gc.freeze()  # what is there now need not be looked through after every run
            left = self._grown(item, TIMES)
            left = left if min(left) <= 0 else self._grown(item, DOUBTED)
            if item.nodeid not in self.failed:
                self.left[item.nodeid] = left
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def _run(self, item: Any) -> list[pytest.TestReport]:
        """Once: what the test asked for is taken down after it, what belongs to its module stays."""
        return runtestprotocol(item, log=False, nextitem=item.parent)

    def _grown(self, item: Any, times: int) -> list[int]:
        """By how many blocks each run after the last grows what is in use."""
        for index in range(times + 1):
            if not all(report.passed for report in self._run(item)) and item.nodeid not in self.failed:
                self.failed.append(item.nodeid)
            item._report_sections.clear()
            forget_files()
            self._empty_caches()
            gc.collect()
            sys._clear_type_cache()  # it holds a name for each attribute that was asked for of late
            self.used[index] = sys.getallocatedblocks()
        return [after - before for before, after in pairwise(self.used[: times + 1])]

    def _empty_caches(self) -> None:
        """Of functions that remember so many answers and no more; who remembers all of them leaks."""
        if len(sys.modules) != self.modules:
            self.modules = len(sys.modules)
            self.caches = [
                named
                for module in list(sys.modules.values())
                for named in vars(module).values()
                if isinstance(named, _lru_cache_wrapper)
                and named.__module__.startswith("incoq")
                and named.cache_parameters()["maxsize"] is not None
            ]
        for function in self.caches:
            function.cache_clear()
        clear_strategy_cache()

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps({"left": self.left, "long": self.long, "failed": self.failed}))


def forget_files() -> None:
    """Put away the text of each program that came from a file; what a test registered itself stays, since it
    may rely on it."""
    for name in list(linecache.cache):
        if not name.startswith("<"):
            del linecache.cache[name]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In place of pytest's own, which remembers something of every place that it has given."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place).resolve()


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count; click, which would keep every stream that a test has it write to, is made not to, and
    Hypothesis gives the same examples each time, since it remembers some thousands of their parts."""
    settings.register_profile("repeated", derandomize=True)
    settings.load_profile("repeated")
    vars(click.utils).update(_default_text_stdout=get_text_stdout, _default_text_stderr=get_text_stderr)
    config.pluginmanager.register(Repeats(Path(os.environ[NOTED])))
