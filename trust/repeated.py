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
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import click.utils
import pytest
from _pytest.runner import runtestprotocol
from click._compat import get_text_stderr, get_text_stdout

NOTED = "INCOQ_TRUST_BLOCKS"  # the file that is told of what tests leave, as an environment variable
TIMES, DOUBTED = 2, 8  # that are counted, after two that fill caches; more of them where each left something
LONG = 2.0  # seconds of CPU: a test that takes longer is not repeated


class Repeats:
    """Runs tests more often than asked, and notes what each time left."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left: dict[str, list[int]] = {}  # blocks, of the times that were counted
        self.long: list[str] = []
        self.failed: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Instead of once; what belongs to the module stays set up until the last time is over."""
        began = sum(os.times()[:2])
        reports = runtestprotocol(item, log=False, nextitem=item)
        took = sum(os.times()[:2]) - began
        if not all(report.passed for report in reports):
            if not any(report.skipped for report in reports):
                self.failed.append(item.nodeid)
        elif took > LONG:
            self.long.append(item.nodeid)
        else:
            left = list(islice(self._grown(item), TIMES))
            self.left[item.nodeid] = left if min(left) <= 0 else list(islice(self._grown(item), DOUBTED))
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def _grown(self, item: Any) -> Iterator[int]:
        """By how many blocks a run after the other grows what is in use."""
        for before, after in pairwise(self._used(item)):
            yield after - before

    def _used(self, item: Any) -> Iterator[int]:
        while True:
            item._initrequest()
            runtestprotocol(item, log=False, nextitem=item)
            item._report_sections.clear()
            linecache.clearcache()  # the text of every program that was loaded from a file
            gc.collect()
            sys._clear_type_cache()  # it holds a name for each attribute that was asked for of late
            yield sys.getallocatedblocks()

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps({"left": self.left, "long": self.long, "failed": self.failed}))


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count; click, which would keep every stream that a test has it write to, is made not to."""
    vars(click.utils).update(_default_text_stdout=get_text_stdout, _default_text_stderr=get_text_stderr)
    config.pluginmanager.register(Repeats(Path(os.environ[NOTED])))
