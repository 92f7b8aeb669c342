"""Worlds in which the costs of Castro and Liskov style Paxos grow."""

from cl_paxos import Acceptor, Proposer

from incoq import Set

B = (1, 9)  # a ballot


def _ask_proposer(proposer, n):
    proposer.promised(n)
    proposer.safe_votes(n, 0)
    proposer.voted(n, "v")


def _ask_acceptor(acceptor, n):
    acceptor.promises()
    acceptor.safe_votes(n, 0)
    acceptor.votes()
    acceptor.has_voted(n)
    acceptor.unannounced(1)
    acceptor.all_done()


def _proposer_updates(proposer):
    proposer.record_received(("Promise", B, B, "v", -1), -1)
    yield
    proposer.record_received(("TwoAv", B, "v", -1), -1)
    yield
    proposer.received = Set(proposer.received)
    yield
    proposer.promised((2, 9))
    yield
    proposer.safe_votes((2, 9), 0)
    yield
    proposer.voted((2, 9), "v")
    yield
    _ask_proposer(proposer, (2, 9))


def _acceptor_updates(acceptor):
    acceptor.record_received(("Promise", B, B, "v", -1), -1)
    yield
    acceptor.record_received(("TwoAv", B, "v", -1), -1)
    yield
    acceptor.record_received(("Done",), -1)
    yield
    acceptor.record_sent(("Promise", B, B, "v", 0), -1)
    yield
    acceptor.record_sent(("TwoAv", B, "v", 0), -1)
    yield
    acceptor.record_sent(("TwoB", B, "v"), -1)
    yield
    acceptor.id = -2
    acceptor.id = 0
    yield
    acceptor.proposers.add(-1)
    yield
    acceptor.proposers = Set(acceptor.proposers)
    yield
    acceptor.received = Set(acceptor.received)
    yield
    acceptor.sent = Set(acceptor.sent)
    yield
    acceptor.safe_votes((2, 9), 0)
    yield
    acceptor.has_voted((2, 9))
    yield
    acceptor.unannounced(2)
    yield
    _ask_acceptor(acceptor, (2, 9))


def many_acceptors(n):
    """n acceptors have all promised and voted alike."""
    proposer, acceptor = Proposer(9, range(n), range(n), "v", 1), Acceptor(0, range(n), range(n))
    _ask_proposer(proposer, B)
    _ask_acceptor(acceptor, B)
    for a in range(n):
        for message in (("Promise", B, B, "v", a), ("TwoAv", B, "v", a)):
            proposer.record_received(message, a)
            acceptor.record_received(message, a)
        acceptor.record_sent(("Promise", B, B, "v", 0), a)
        acceptor.record_sent(("TwoAv", B, "v", 0), a)
        acceptor.record_received(("Done",), a)
    yield
    yield from _proposer_updates(proposer)
    yield
    yield from _acceptor_updates(acceptor)


def many_ballots(n):
    """Many ballots, in each of which one acceptor has promised and voted."""
    proposer, acceptor = Proposer(9, [0], [0], "v", 1), Acceptor(0, [0], [9])
    for i in range(n):
        _ask_proposer(proposer, (i, 9))
        _ask_acceptor(acceptor, (i, 9))
        for message in (("Promise", (i, 9), (i, 9), "v", 0), ("TwoAv", (i, 9), "v", 0)):
            proposer.record_received(message, 0)
            acceptor.record_received(message, 0)
            acceptor.record_sent(message, 0)
        acceptor.record_sent(("TwoB", (i, 9), "v"), 0)
    yield
    yield from _proposer_updates(proposer)
    yield
    yield from _acceptor_updates(acceptor)


def shared_sets(n):
    """Many processes hold the very same logs."""
    proposers = [Proposer(9, [0], [0], "v", 1) for _ in range(n)]
    acceptors = [Acceptor(0, [0], [9]) for _ in range(n)]
    received, sent, done = Set(), Set(), Set([9])
    for proposer, acceptor in zip(proposers, acceptors, strict=True):
        proposer.received = acceptor.received = received
        acceptor.sent, acceptor.proposers = sent, done
        _ask_proposer(proposer, B)
        _ask_acceptor(acceptor, B)
    yield
    yield from _proposer_updates(proposers[0])
    yield
    yield from _acceptor_updates(acceptors[0])


def asked_late(n):
    """Nothing is asked before everybody has promised and voted."""
    proposer, acceptor = Proposer(9, range(n), range(n), "v", 1), Acceptor(0, range(n), range(n))
    for a in range(n):
        for message in (("Promise", B, B, "v", a), ("TwoAv", B, "v", a)):
            proposer.record_received(message, a)
            acceptor.record_received(message, a)
        acceptor.record_sent(("Promise", B, B, "v", 0), a)
        acceptor.record_sent(("TwoAv", B, "v", 0), a)
    yield
    _ask_proposer(proposer, B)
    yield
    acceptor.promises()
    yield
    acceptor.safe_votes(B, 0)
    yield
    acceptor.votes()
    yield
    acceptor.has_voted(B)
    yield
    acceptor.unannounced(1)
    yield
    acceptor.all_done()
