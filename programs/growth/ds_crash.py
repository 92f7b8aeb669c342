"""Worlds in which the costs of Dolev and Strong's agreement grow."""

from ds_crash import Peer

from incoq import Set


def _updates(peer, size):
    peer.values.add(-1)
    yield
    peer.alive.add(-1)
    yield
    peer.alive.remove(-1)
    yield
    peer.record_received(("Value", Set(range(size)), 1), 1)
    yield
    peer.record_sent(("Value", Set(range(size)), 0), 1)
    yield
    sent = Set()
    peer.record_sent(("Value", sent, 0), 2)
    yield
    sent.add(-1)
    yield
    heard = Set()
    peer.record_received(("Value", heard, 2), 2)
    yield
    heard.add(-1)
    yield
    peer.values = Set(peer.values)
    yield
    peer.alive = Set(peer.alive)
    yield
    peer.sent = Set(peer.sent)
    yield
    peer.received = Set(peer.received)
    yield
    _asked(peer)


def _asked(peer):
    peer.fresh_values()
    peer.heard_from_all()
    peer.heard_values()


def many_peers(n):
    """A message from each of n peers, with a few values."""
    peer = Peer(0, range(n), 0, 1)
    _asked(peer)
    for p in range(n):
        peer.record_received(("Value", Set([p, -p]), p), p)
        peer.record_sent(("Value", Set([p]), 0), p)
    yield
    yield from _updates(peer, 2)


def many_values(n):
    """n values in each of two messages."""
    peer = Peer(0, [0, 1], 0, 1)
    _asked(peer)
    for v in range(n):
        peer.values.add(v)
    for p in (0, 1):
        peer.record_received(("Value", Set(range(n)), p), p)
        peer.record_sent(("Value", Set(range(n)), 0), p)
    yield
    yield from _updates(peer, n)


def shared_sets(n):
    """n peers hold the very same sets."""
    peers = [Peer(p, [], 0, 1) for p in range(n)]
    values, alive, sent, received = Set([1]), Set([1]), Set(), Set()
    for peer in peers:
        peer.values, peer.alive, peer.sent, peer.received = values, alive, sent, received
        _asked(peer)
    yield
    yield from _updates(peers[0], 2)


def one_message_to_all(n):
    """The same set of values goes to n peers, and comes from n peers."""
    peer, values = Peer(0, range(n), 0, 1), Set([0])
    _asked(peer)
    for p in range(n):
        peer.record_sent(("Value", values, 0), p)
        peer.record_received(("Value", values, p), p)
    yield
    values.add(1)
    yield
    values.remove(0)
    yield
    peer.values.add(1)


def asked_late(n):
    """Nothing is asked before everything has arrived."""
    peer = Peer(0, range(n), 0, 1)
    k = round(n**0.5)
    for p in range(k):
        peer.values.add(p)
        peer.record_sent(("Value", Set(range(k)), 0), p)
    for p in range(n):
        peer.record_received(("Value", Set(range(k)), p), p)
    yield
    peer.fresh_values()
    yield
    peer.heard_from_all()
    yield
    peer.heard_values()
