"""What each experiment does with its program: its data, what comes before the clock, and what is timed.

All versions of a program perform the same operations on the same data. A query within the timed loop finds an
answer that was demanded before.
"""

from incoq.evaluate.drivers.base import ALL, FOLLOWS, UPDATES, Data, Driver, Point, Prepared
from incoq.evaluate.drivers.benchmarks import BENCHMARKS
from incoq.evaluate.drivers.distributed import DISTRIBUTED
from incoq.evaluate.drivers.peers import PEER_DRIVERS
from incoq.evaluate.drivers.rbac import RBAC
from incoq.evaluate.drivers.running import RUNNING
from incoq.evaluate.drivers.worlds import WORLDS

__all__ = [
    "ALL", "DRIVERS", "FOLLOWS", "LIMITED", "UPDATES", "Data", "Driver", "Point", "Prepared",
]  # fmt: skip

LIMITED = frozenset({"steps", "sessions"})  # tables with a row for each operation

DRIVERS: dict[str, Driver] = {**RUNNING, **PEER_DRIVERS, **BENCHMARKS, **RBAC, **WORLDS, **DISTRIBUTED}
