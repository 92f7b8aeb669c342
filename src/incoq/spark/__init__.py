"""The same queries at scale, on Spark: `pip install incoq[spark]`. Nothing else imports pyspark.

`session` gives a Spark session that suits it, `create` and `opened` a pipeline, `result_table` and
`change_feed` what it answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incoq.spark.session import session  # not later: the module has the same name

if TYPE_CHECKING:
    from incoq.spark.api import change_feed, create, opened, result_table
    from incoq.spark.streaming import feed_source, stream

__all__ = ["change_feed", "create", "feed_source", "opened", "result_table", "session", "stream"]

_PLACES = {"stream": "streaming", "feed_source": "streaming"}


def __getattr__(name: str) -> Any:
    """Loaded when first used, so that `incoq spark` can say what is missing."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"incoq.spark.{_PLACES.get(name, 'api')}"), name)
    raise AttributeError(f"module 'incoq.spark' has no attribute {name!r}")
