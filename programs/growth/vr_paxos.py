"""Worlds in which the costs of van Renesse's multi-Paxos grow."""

from vr_paxos import Client, Leader, Replica

from incoq import Set

B = (1, 9)  # a ballot
C = (7, 0)  # a command


def _ask_replica(replica, slot, command):
    replica.decision(slot)
    replica.is_decided(command)
    replica.is_decided_before(command, slot)
    replica.displaced(slot, command)
    replica.last_proposed()
    replica.last_decided()


def _ask_leader(leader, b):
    leader.adopted_by(b)
    leader.newest_accepted(b)
    leader.unannounced(b)
    leader.preempted_by(b)
    leader.is_over()


def _client_updates(client):
    client.record_received(("response", C, 0), -1)
    yield
    client.received = Set(client.received)
    yield
    client.is_answered((7, -1))
    yield
    client.is_answered((7, -1))


def _replica_updates(replica):
    replica.record_received(("decision", 1, C), -1)
    yield
    replica.proposals.add((1, (-1, 0)))
    yield
    replica.proposals = Set(replica.proposals)
    yield
    replica.received = Set(replica.received)
    yield
    replica.decision(-1)
    yield
    replica.is_decided((-1, 0))
    yield
    replica.is_decided_before((-1, 0), 1)
    yield
    replica.displaced(-1, C)
    yield
    for _ in range(20):  # the greatest element is looked for once after it was removed
        _ask_replica(replica, 1, C)


def _leader_updates(leader):
    leader.record_received(("p1b", B, Set([(B, -1, C)])), -1)
    yield
    leader.record_received(("p2b", B, 1, C), -1)
    yield
    leader.record_received(("preempted", (10**6, 9)), -1)
    yield
    leader.record_received(("done",), -1)
    yield
    leader.record_sent(("decision", 1, C), -1)
    yield
    leader.acceptors.add(-1)
    yield
    leader.clients.add(-1)
    yield
    leader.acceptors = Set(leader.acceptors)
    yield
    leader.clients = Set(leader.clients)
    yield
    leader.received = Set(leader.received)
    yield
    leader.sent = Set(leader.sent)
    yield
    leader.adopted_by((2, 9))
    yield
    leader.newest_accepted((2, 9))
    yield
    leader.unannounced((2, 9))
    yield
    leader.preempted_by((2, 9))
    yield
    for _ in range(20):
        _ask_leader(leader, B)


def many_slots(n):
    """n slots are proposed, accepted and decided."""
    client, replica, leader = Client(7, [], [], 1), Replica(5, []), Leader(9, [0], [], [7])
    _ask_leader(leader, B)
    for i in range(n):
        client.is_answered((7, i))
        _ask_replica(replica, i, (7, i))
        client.record_received(("response", (7, i), i), 5)
        replica.proposals.add((i, (7, i)))
        replica.record_received(("decision", i, (7, i)), 9)
        leader.record_received(("p2b", B, i, (7, i)), 0)
        leader.record_sent(("decision", i, (7, i)), 5)
    yield
    yield from _client_updates(client)
    yield
    yield from _replica_updates(replica)
    yield
    yield from _leader_updates(leader)


def many_acceptors(n):
    """n acceptors have adopted one ballot, having accepted the same before; n clients are done."""
    leader = Leader(9, range(n), [], range(n))
    _ask_leader(leader, B)
    for a in range(n):
        leader.record_received(("p1b", B, Set([((0, 9), 1, C)])), a)
        leader.record_received(("p2b", B, 1, C), a)
        leader.record_received(("preempted", (a, 9)), a)
        leader.record_received(("done",), a)
    yield
    yield from _leader_updates(leader)


def large_reports(n):
    """Two acceptors report n slots each."""
    leader = Leader(9, [0, 1], [], [])
    _ask_leader(leader, B)
    for a in (0, 1):
        leader.record_received(("p1b", B, Set(((a, 9), slot, C) for slot in range(n))), a)
    yield
    report = Set(((0, 9), slot, C) for slot in range(n))
    leader.record_received(("p1b", B, report), 2)
    yield
    report.add(((5, 9), 1, C))
    yield
    yield from _leader_updates(leader)


def shared_sets(n):
    """Many processes hold the very same sets."""
    received, sent, proposals, acceptors, done = Set(), Set(), Set(), Set([0]), Set([7])
    clients, replicas = [Client(7, [], [], 1) for _ in range(n)], [Replica(5, []) for _ in range(n)]
    leaders = [Leader(9, [], [], []) for _ in range(n)]
    for client, replica, leader in zip(clients, replicas, leaders, strict=True):
        client.received = replica.received = leader.received = received
        replica.proposals, leader.sent = proposals, sent
        leader.acceptors, leader.clients = acceptors, done
        client.is_answered(C)
        _ask_replica(replica, 1, C)
        _ask_leader(leader, B)
    yield
    yield from _client_updates(clients[0])
    yield
    yield from _replica_updates(replicas[0])
    yield
    yield from _leader_updates(leaders[0])


def asked_late(n):
    """Nothing is asked before everything has arrived."""
    client, replica, leader = Client(7, [], [], 1), Replica(5, []), Leader(9, range(n), [], range(n))
    for i in range(n):
        client.record_received(("response", (7, i), i), 5)
        replica.proposals.add((i, (7, i)))
        replica.record_received(("decision", i, (7, i)), 9)
        leader.record_received(("p1b", B, Set([((0, 9), i, C)])), i)
        leader.record_received(("p2b", B, 1, C), i)
        leader.record_received(("preempted", (i, 9)), i)
        leader.record_sent(("decision", i, (7, i)), 5)
    yield
    client.is_answered((7, 0))
    yield
    replica.decision(1)
    yield
    replica.is_decided(C)
    yield
    replica.is_decided_before(C, 1)
    yield
    replica.displaced(1, C)
    yield
    replica.last_proposed()
    yield
    replica.last_decided()
    yield
    leader.adopted_by(B)
    yield
    leader.newest_accepted(B)
    yield
    leader.unannounced(B)
    yield
    leader.preempted_by(B)
    yield
    leader.is_over()
