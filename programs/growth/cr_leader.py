"""Worlds in which the costs of Chang and Roberts's election grow."""

from cr_leader import Candidate

from incoq import Set


def long_log(n):
    """A candidate that has received n messages."""
    candidate = Candidate(0, 1)
    for p in range(n):
        candidate.record_received(("Election", p), 1)
    yield
    candidate.is_elected()
    yield
    candidate.record_received(("Leader", n), 1)
    yield
    candidate.received = Set(candidate.received)
    yield
    candidate.is_elected()


def shared_log(n):
    """n candidates hold the very same log."""
    candidates, received = [Candidate(p, 1) for p in range(n)], Set()
    for candidate in candidates:
        candidate.received = received
        candidate.is_elected()
    yield
    candidates[0].record_received(("Leader", n), 1)
