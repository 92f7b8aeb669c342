"""Worlds in which the costs of Lamport's Paxos grow."""

from la_paxos import Acceptor, Learner, Proposer

from incoq import Set

B = (1, 9)  # a ballot


def _ask_proposer(proposer, n):
    proposer.responded(n)
    proposer.newest_vote(n)
    proposer.is_chosen()


def _ask_acceptor(acceptor, n):
    acceptor.has_responded_from(n)
    acceptor.has_responded_beyond(n)
    acceptor.last_vote()


def _ask_learner(learner):
    learner.chosen()
    learner.told()


def _proposer_updates(proposer):
    proposer.record_received(("respond", B, ((0, 9), "v")), -1)
    yield
    proposer.record_received(("chosen", "v"), -1)
    yield
    proposer.received = Set(proposer.received)
    yield
    proposer.responded((2, 9))
    yield
    proposer.newest_vote((2, 9))
    yield
    for _ in range(20):  # the greatest element is looked for once after it was removed
        _ask_proposer(proposer, B)


def _acceptor_updates(acceptor):
    acceptor.record_sent(("respond", B, None), -1)
    yield
    acceptor.record_sent(("accepted", (2, 9), "v"), -1)
    yield
    acceptor.sent = Set(acceptor.sent)
    yield
    acceptor.has_responded_from((2, 9))
    yield
    acceptor.has_responded_beyond((2, 9))
    yield
    for _ in range(20):
        _ask_acceptor(acceptor, B)


def _learner_updates(learner):
    learner.record_received(("accepted", B, "v"), -1)
    yield
    learner.record_received(("chosen", "v"), -1)
    yield
    learner.acceptors.add(-1)
    yield
    learner.acceptors = Set(learner.acceptors)
    yield
    learner.received = Set(learner.received)
    yield
    for _ in range(20):
        _ask_learner(learner)


def many_acceptors(n):
    """n acceptors have all responded and accepted."""
    proposer, learner = Proposer(9, range(n), "v"), Learner(8, range(n), [])
    _ask_proposer(proposer, B)
    _ask_learner(learner)
    for a in range(n):
        proposer.record_received(("respond", B, ((0, a), "v")), a)
        learner.record_received(("accepted", B, "v"), a)
        learner.record_received(("chosen", f"v{a}"), a)
    yield
    yield from _proposer_updates(proposer)
    yield
    yield from _learner_updates(learner)


def many_ballots(n):
    """n ballots, each with an answer of one acceptor."""
    proposer, acceptor, learner = Proposer(9, [0], "v"), Acceptor(0, [8]), Learner(8, [0], [])
    _ask_learner(learner)
    for i in range(n):
        _ask_proposer(proposer, (i, 9))
        _ask_acceptor(acceptor, (i, 9))
        proposer.record_received(("respond", (i, 9), None), 0)
        acceptor.record_sent(("respond", (i, 9), None), 9)
        acceptor.record_sent(("accepted", (i, 9), "v"), 8)
        learner.record_received(("accepted", (i, 9), "v"), 0)
    yield
    yield from _proposer_updates(proposer)
    yield
    yield from _acceptor_updates(acceptor)
    yield
    yield from _learner_updates(learner)


def shared_sets(n):
    """Many processes hold the very same sets."""
    received, sent, acceptors = Set(), Set(), Set([0])
    proposers, answering = [Proposer(9, [], "v") for _ in range(n)], [Acceptor(0, []) for _ in range(n)]
    learners = [Learner(8, [], []) for _ in range(n)]
    for proposer, acceptor, learner in zip(proposers, answering, learners, strict=True):
        proposer.received = learner.received = received
        acceptor.sent, learner.acceptors = sent, acceptors
        _ask_proposer(proposer, B)
        _ask_acceptor(acceptor, B)
        _ask_learner(learner)
    yield
    yield from _proposer_updates(proposers[0])
    yield
    yield from _acceptor_updates(answering[0])
    yield
    yield from _learner_updates(learners[0])


def asked_late(n):
    """Nothing is asked before everything has arrived."""
    proposer, acceptor, learner = Proposer(9, range(n), "v"), Acceptor(0, range(n)), Learner(8, range(n), [])
    for a in range(n):
        proposer.record_received(("respond", B, ((0, a), "v")), a)
        acceptor.record_sent(("respond", (a, 9), None), 9)
        acceptor.record_sent(("accepted", (a, 9), "v"), a)
        learner.record_received(("accepted", B, "v"), a)
        learner.record_received(("chosen", f"v{a}"), a)
    yield
    proposer.responded(B)
    yield
    proposer.newest_vote(B)
    yield
    proposer.is_chosen()
    yield
    acceptor.has_responded_from(B)
    yield
    acceptor.has_responded_beyond(B)
    yield
    acceptor.last_vote()
    yield
    learner.chosen()
    yield
    learner.told()
