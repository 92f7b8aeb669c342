"""Worlds in which the costs of two-phase commit grow."""

from two_phase_commit import Coordinator

from incoq import Set


def _asked(coordinator, tid):
    coordinator.all_voted(tid)
    coordinator.one_refuses(tid)
    coordinator.ready(tid)
    coordinator.all_ready(tid)
    coordinator.all_done(tid)


def _updates(coordinator):
    coordinator.record_received(("vote", "abort", "t"), 1)
    yield
    coordinator.record_received(("done", "t"), 1)
    yield
    coordinator.cohorts.add(-1)
    yield
    coordinator.cohorts = Set(coordinator.cohorts)
    yield
    coordinator.received = Set(coordinator.received)
    yield
    coordinator.all_voted("new")
    yield
    coordinator.one_refuses("new")
    yield
    coordinator.ready("new")
    yield
    coordinator.all_ready("new")
    yield
    coordinator.all_done("new")
    yield
    _asked(coordinator, "new")


def many_cohorts(n):
    """n cohorts that have all voted."""
    coordinator = Coordinator("t", range(1, n + 1))
    _asked(coordinator, "t")
    for c in range(2, n + 1):
        coordinator.record_received(("vote", "ready", "t"), c)
    yield
    yield from _updates(coordinator)


def many_transactions(n):
    """Two cohorts that have voted on n transactions."""
    coordinator = Coordinator("t", [1, 2])
    for t in range(n):
        _asked(coordinator, t)
        coordinator.record_received(("vote", "ready", t), 1)
        coordinator.record_received(("vote", "ready", t), 2)
    yield
    yield from _updates(coordinator)


def shared_sets(n):
    """n coordinators hold the very same sets."""
    coordinators, cohorts, received = [Coordinator("t", []) for _ in range(n)], Set([1, 2]), Set()
    for coordinator in coordinators:
        coordinator.cohorts, coordinator.received = cohorts, received
        _asked(coordinator, "t")
    yield
    yield from _updates(coordinators[0])


def asked_late(n):
    """Nothing is asked before everybody has voted."""
    coordinator = Coordinator("t", range(1, n + 1))
    for c in range(1, n + 1):
        coordinator.record_received(("vote", "ready", "t"), c)
    yield
    coordinator.all_voted("t")
    yield
    coordinator.one_refuses("t")
    yield
    coordinator.ready("t")
    yield
    coordinator.all_ready("t")
    yield
    coordinator.all_done("t")
