"""One Spark session for all tests of a process; without the extra these tests are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from incoq.spark.session import session

    running = session("incoq tests", "local[2]")
    yield running
    running.stop()
