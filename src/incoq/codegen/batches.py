"""Maintain what a batch of updates comes to (`with incoq.batch():`), embedded into programs as source.

Before:    u.loc = "NYC"; u.loc = "Rome"; group.add(u); group.discard(u)       maintained four times
After:     at the end of the batch u.loc is given its first value, unmaintained, and then "Rome"; the group
           is as it was, so it is left alone
Invariant: while updates wait, what is maintained is right for the values noted here in place of those that
           the objects have; asking a query settles what waits, so that no answer is ever out of date
Cost:      a note for each update, then one maintained update for each field and element that did change

Fields and sets wait; what changes a list or a dict first settles what waits, and is maintained at once.
"""

from __future__ import annotations

from typing import Any

from incoq.codegen.prelude import (
    HIDDEN,
    MISSING,
    REFUSED,
    SPACES,
    STALE,
    drop_field,
    recover,
    set_add,
    set_discard,
    store_field,
    stored,
)


def own_value(o: Any, field: str) -> Any:
    """The value that the object itself has, not its class."""
    own = getattr(o, "__dict__", None)
    if own is None or field not in own:
        slot = getattr(o.__class__, field, None)
        return getattr(o, field, MISSING) if hasattr(slot, "__set__") else MISSING
    return own[field]


def give(o: Any, field: str, value: Any) -> None:
    """Set or delete a field, unmaintained."""
    if value is not MISSING:
        store_field(o, field, value)
    elif own_value(o, field) is not MISSING:
        drop_field(o, field)


def hold(s: Any, x: Any, is_there: bool) -> None:
    """Add or discard an element, unmaintained."""
    (set_add if is_there else set_discard)(s, x)


def tried(change: Any, *arguments: Any) -> None:
    """Make a change, unless that raises: then what it changes stays as it is."""
    try:
        change(*arguments)
    except BaseException:
        return  # another exception is dealt with already


class Batch:
    """What updates wait, and what each field and element was before them."""

    def __init__(self) -> None:
        self.depth = 0
        self.is_open = False
        self.setters: dict[str, Any] = {}
        self.deleters: dict[str, Any] = {}
        self.fields: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.sets: dict[int, tuple[Any, dict[Any, Any]]] = {}

    def __call__(self) -> Batch:
        return self

    def __enter__(self) -> None:
        self.depth += 1
        self.is_open = True

    def __exit__(self, *error: object) -> None:
        self.depth -= 1
        if not self.depth:
            self.settle()

    def note_field(self, o: Any, field: str) -> None:
        """A field is about to change."""
        key = (id(o), field)
        if key not in self.fields:
            self.fields[key] = (o, field, own_value(o, field))

    def note_element(self, s: Any, x: Any) -> None:
        """An element is about to enter or leave a set."""
        if id(s) not in self.sets:
            self.sets[id(s)] = (s, {})
        before = self.sets[id(s)][1]
        if x not in before:
            before[x] = stored(s, x) if x in s else MISSING

    def settle(self) -> None:
        """Go back to what was noted, then make the changes that are left, maintained. Where that ends
        half-way, each field and element is as the batch left it, or as before where it cannot be."""
        fields, sets = list(self.fields.values()), list(self.sets.values())
        assigned = [(o, field) for o, field, _ in fields]
        changed: list[tuple[Any, str, Any, Any]] = []
        moved: list[tuple[Any, Any, bool]] = []
        try:
            self.is_open = False
            changed += [(o, field, old, own_value(o, field)) for o, field, old in fields]
            changed[:] = [change for change in changed if change[2] is not change[3]]
            for s, before in sets:
                for x, old in before.items():
                    now = stored(s, x) if x in s else MISSING
                    if now is not old:
                        moved += [(s, old, False)] if old is not MISSING else []
                        moved += [(s, now, True)] if now is not MISSING else []
            self.fields, self.sets = {}, {}
            for o, field, old, _ in changed:
                give(o, field, old)
            for s, x, is_there in reversed(moved):
                hold(s, x, not is_there)
            for s, x, is_there in moved:
                (s.add if is_there else s.discard)(x)
            for o, field, _, new in changed:
                if new is MISSING:
                    self.deleters[field](o)
                else:
                    self.setters[field](new, o)
        except BaseException:
            STALE[:0] = REFUSED[:0] = (None, *assigned)
            for names in SPACES:
                names |= HIDDEN
            self.fields, self.sets = {}, {}
            for o, field, _, new in changed:
                tried(give, o, field, new)
            for s, x, is_there in moved:
                tried(hold, s, x, is_there)
            recover()
            raise
        finally:
            self.is_open = self.depth > 0  # where an exception came before this, the next question settles


batch = Batch()
