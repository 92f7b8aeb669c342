"""Worlds in which the costs of Hirschberg and Sinclair's election grow."""

from hs_leader import Candidate

from incoq import Set


def long_log(n):
    """A candidate that has received n probes of its own."""
    candidate = Candidate(0, 1, 2)
    for d in range(n):
        candidate.record_received(("Out", 0, d), 1)
    yield
    candidate.has_passed_all()
    yield
    candidate.record_received(("Out", 0, n), 1)
    yield
    candidate.id = 1
    candidate.id = 0
    yield
    candidate.received = Set(candidate.received)
    yield
    candidate.has_passed_all()
    yield
    candidate.received.clear()


def shared_log(n):
    """n candidates hold the very same log."""
    candidates, received = [Candidate(0, 1, 2) for _ in range(n)], Set()
    for candidate in candidates:
        candidate.received = received
        candidate.has_passed_all()
    yield
    candidates[0].record_received(("Out", 0, n), 1)
