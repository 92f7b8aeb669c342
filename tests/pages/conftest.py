"""One browser for all tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import Browser, find_chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium on this machine")
    with Browser(program) as opened:
        yield opened
