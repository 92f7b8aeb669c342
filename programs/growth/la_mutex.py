"""Worlds in which the costs of Lamport's mutual exclusion grow."""

from la_mutex import Mutex

from incoq import Set


def _updates(mutex, peer):
    mutex.received.add((("ack", 10**6, peer), peer))
    yield
    mutex.requests.add(("request", 10**6, peer))
    yield
    mutex.requests.remove(("request", 10**6, peer))
    yield
    mutex.others.add(-1)
    yield
    mutex.others.remove(-1)
    yield
    mutex.received.remove((("ack", 10**6, peer), peer))
    yield
    mutex.id = -5
    mutex.id = 0
    yield
    mutex.others = Set(mutex.others)
    yield
    mutex.received = Set(mutex.received)
    yield
    mutex.requests = Set(mutex.requests)
    yield
    mutex.is_first(-1)
    yield
    mutex.is_acknowledged(-1)
    yield
    mutex.requests_of(-2)
    yield
    mutex.is_first(-1)
    mutex.is_acknowledged(-1)
    mutex.requests_of(-2)


def many_peers(n):
    """n peers, each with a request and an acknowledgement."""
    mutex = Mutex(0, range(1, n + 1), 1)
    mutex.is_first(0)
    mutex.is_acknowledged(0)
    for p in range(1, n + 1):
        mutex.requests.add(("request", p, p))
        mutex.received.add((("ack", p, p), p))
        mutex.requests_of(p)
    yield
    yield from _updates(mutex, 1)


def long_waits(n):
    """n acknowledgements and requests from each of two peers, and many own times that are asked for."""
    mutex = Mutex(0, [1, 2], 1)
    for c in range(min(60, round(n**0.6))):
        mutex.is_first(c)
        mutex.is_acknowledged(c)
    mutex.requests_of(1)
    for c in range(n):
        for p in (1, 2):
            mutex.requests.add(("request", c, p))
            mutex.received.add((("ack", c, p), p))
    yield
    yield from _updates(mutex, 1)


def shared_sets(n):
    """Many processes hold the very same sets."""
    k = min(30, round(n**0.6))
    processes = [Mutex(i, [], 1) for i in range(k)]
    others, requests, received = Set([1, 2, 3]), Set(), Set()
    for mutex in processes:
        mutex.others, mutex.requests, mutex.received = others, requests, received
        mutex.is_first(0)
        mutex.is_acknowledged(0)
        mutex.requests_of(1)
    for p in (1, 2, 3):
        requests.add(("request", 1, p))
        received.add((("ack", 1, p), p))
    yield
    yield from _updates(processes[0], 1)
