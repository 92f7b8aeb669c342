"""Worlds in which the costs of the literal form of Ricart and Agrawala's mutual exclusion grow."""

from ra_mutex_literal import Mutex

from incoq import Set


def _updates(mutex, peer):
    mutex.received.add((("ack", 10**6, peer), peer))
    yield
    mutex.received.add((("request", 10**6, peer), peer))
    yield
    mutex.others.add(-1)
    yield
    mutex.id = -5
    mutex.id = 0
    yield
    mutex.others = Set(mutex.others)
    yield
    mutex.received = Set(mutex.received)
    yield
    mutex.is_acknowledged(-1)
    yield
    mutex.deferred(-1)
    yield
    mutex.may_answer(-1, -1, 0)
    yield
    mutex.is_acknowledged(-1)
    mutex.deferred(-1)
    mutex.may_answer(-1, -1, 0)


def many_peers(n):
    """n peers, each with a request and an acknowledgement."""
    mutex = Mutex(0, range(1, n + 1), 1)
    mutex.is_acknowledged(0)
    mutex.deferred(0)
    mutex.may_answer(0, 1, 0)
    for p in range(1, n + 1):
        mutex.received.add((("request", p, p), p))
        mutex.received.add((("ack", p, p), p))
    yield
    yield from _updates(mutex, 1)


def long_waits(n):
    """n acknowledgements and requests from each of two peers, and many own times that are asked for."""
    mutex = Mutex(0, [1, 2], 1)
    for c in range(min(60, round(n**0.6))):
        mutex.is_acknowledged(c)
        mutex.deferred(c)
        mutex.may_answer(c, 1, 0)
    for c in range(n):
        for p in (1, 2):
            mutex.received.add((("request", c, p), p))
            mutex.received.add((("ack", c, p), p))
    yield
    yield from _updates(mutex, 1)


def shared_sets(n):
    """Many processes hold the very same sets."""
    k = min(30, round(n**0.6))
    processes = [Mutex(i, [], 1) for i in range(k)]
    others, received = Set([1, 2, 3]), Set()
    for mutex in processes:
        mutex.others, mutex.received = others, received
        mutex.is_acknowledged(0)
        mutex.deferred(0)
        mutex.may_answer(0, 1, 0)
    for p in (1, 2, 3):
        received.add((("request", 1, p), p))
        received.add((("ack", 1, p), p))
    yield
    yield from _updates(processes[0], 1)
