"""Release what is garbage but for the maintained structures (keep="weak"), embedded into programs as source.

The structures refer to parameter objects, so that no weak reference to one ever dies. But the collector of
CPython can be asked who refers to whom: a reference that does not come from the structures, nor from what
they lead to, keeps an object alive, and so does every object that is kept alive. What remains is garbage.

The collector calls in whatever thread it ran in, at any time. So where there is another thread, or an update
under way, the walk waits for the next question that demands something new: who asks has the turn. Code that
was built natively has no frames, which would tell that an update is under way: there the walk always waits.

Cost: nothing at updates and queries; after each full collection one walk over what the structures lead to.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable
from functools import partial
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from incoq.codegen.prelude import Demanded

# A build without the global lock has one generation, and says 0 of what it collects by itself.
FULL = 0 if "free-threading build" in sys.version else 2

ALWAYS_ALIVE = (type, ModuleType, FunctionType, BuiltinFunctionType, CodeType, FrameType)


def outside_references(found: dict[int, Any], inside: dict[int, int]) -> Iterable[Any]:
    """The objects to which something else refers as well, and an excess that every object has."""
    for x in found.values():
        if sys.getrefcount(x) - inside[id(x)] > EXCESS:
            yield x


def excess() -> int:
    """How many references the count itself adds: of an object that nothing else refers to."""
    found = {0: [0]}
    for x in found.values():
        return sys.getrefcount(x)
    raise AssertionError


EXCESS = excess()


def garbage(structures: Iterable[Any]) -> set[int]:
    """The identities of the objects that nothing but the structures leads to."""
    found: dict[int, Any] = {}
    inside: dict[int, int] = {}
    pending = list(structures)
    while pending:
        for x in gc.get_referents(pending.pop()):
            if gc.is_tracked(x) and not isinstance(x, ALWAYS_ALIVE):
                inside[id(x)] = inside.get(id(x), 0) + 1
                if id(x) not in found:
                    found[id(x)] = x
                    pending.append(x)
        x = None
    dead = set(found)
    pending = list(outside_references(found, inside))
    dead.difference_update(map(id, pending))
    while pending:
        for x in gc.get_referents(pending.pop()):
            if id(x) in dead:
                dead.discard(id(x))
                pending.append(x)
    return dead


class Weakly:
    """Releases the combinations of some queries of which a parameter is garbage."""

    def __init__(self, structures: list[Any], queries: list[tuple[Any, int, Any]], code: list[Any]) -> None:
        self.structures, self.queries = structures, queries
        self.busy = {f.__code__ for f in code if isinstance(f, FunctionType)}  # none of a native build
        self.is_due = False  # garbage was collected since the last release
        # Nothing of this may keep the program alive: a function would, by the names around it.
        callback = partial(weakref.proxy(self))  # type: ignore[misc]  # it is, as this class is
        gc.callbacks.append(callback)
        weakref.finalize(
            self, gc.callbacks.remove, callback
        )  # or at exit, where the last collection still calls

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        """Called by the collector, whose thread need not have the turn among the program's threads: beside
        others, or in the midst of an update, it only notes that it was."""
        if phase == "stop" and info["generation"] >= FULL and any(answers for answers, _, _ in self.queries):
            self.is_due = True
            if self.busy and len(sys._current_frames()) == 1 and not self.is_under_way():
                self.release()

    def is_under_way(self) -> bool:
        """Does this thread maintain or ask something?"""
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code not in self.busy:
            frame = frame.f_back
        return frame is not None

    def release(self) -> None:
        self.is_due = False
        dead = garbage(self.structures)
        if dead:
            for answers, width, drop in self.queries:
                for key in [k for k in answers if self.is_gone(k, width, dead)]:
                    drop(*((key,) if width == 1 else key))

    def is_gone(self, key: Any, width: int, dead: set[int]) -> bool:
        """Is a parameter garbage? What takes no weak references (a tuple, say) stays."""
        parts = (key,) if width == 1 else key
        return any(id(part) in dead and part.__class__.__weakrefoffset__ for part in parts)


class WeaklyDemanded(Demanded):
    """The demanded combinations of such a query; who looks at them sees none that are due to be released."""

    __slots__ = ("_weakly",)

    def __init__(self, answers: Any, shown: int, width: int, weakly: Any) -> None:
        super().__init__(answers, shown, width)
        self._weakly = weakly  # gives what releases them, which is made after this

    def _keys(self) -> list[Any]:
        if self._weakly().is_due:
            self._weakly().release()
        return super()._keys()
