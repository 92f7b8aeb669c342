"""Find the indices that a change of an invariant's head changes in turn (paper, section 5.2).

    need_q1_len = {(p2, v5) : ..., (p2, p0, v3, v4) in q0, ...}     q1_len asks for q0(p2, p2, v5)
    echoes: fil_q0_4_123, whose tuples the blocks of need_q1_len go through

An object that becomes tagged has its edges entered, a nested query that is newly needed has its answer
entered. Where a block changes such a head in the midst of its loops, one of them may go through what is
being entered. Nothing new is a combination of that block: what is newly needed was needed by nobody, and
what is newly tagged is an event of its own. So it does not matter whether a loop comes to it, but the loop
must not be over the index itself.
"""

from __future__ import annotations

from incoq.invariants.event_costs import caused
from incoq.ir.invariants import Invariant, Plan, Store


def find_echoes(plan: Plan, invariant: Invariant) -> frozenset[str]:
    """The names of the indices that may change when the head of an invariant does."""
    seen: set[str] = set()
    found: set[str] = set()
    waiting = [invariant]
    while waiting:
        changed = waiting.pop()
        for inner, _ in caused(plan, changed):
            if changed.store is Store.RESULT and inner.store not in (Store.TAG, Store.INDEX):
                continue  # an answer that begins to be kept is no event, and any other is passed on later
            if inner.store is Store.INDEX:
                found.add(inner.name)
            elif inner.name not in seen:
                seen.add(inner.name)
                waiting.append(inner)
    return frozenset(found)
