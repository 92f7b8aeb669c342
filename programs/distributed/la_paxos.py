"""Lamport's Paxos (1998): proposers, acceptors and learners choose one value, though acceptors may crash.

A ballot is a pair of a number and a proposer. An acceptor that responds to a ballot tells what it accepted
last, and accepts nothing of an earlier ballot from then on. A value is chosen when a majority has accepted it
in the same ballot. "Some vote was accepted by a majority" is asked for together with its witness: `min` and
`max` with `default=None` give one, always the same one, or None where there is none.
"""

import sys

from simulator import Process, Simulator, Wait, print_trace

from incoq import Set, query


class Proposer(Process):
    def __init__(self, id, acceptors, value):
        self.id = id
        self.acceptors = Set(acceptors)
        self.value = value
        self.received = Set()  # (message, sender)

    @query
    def responded(self, n):
        """The acceptors that have responded to ballot n."""
        return {a for ((kind, n2, _), a) in self.received if kind == "respond" if n2 == n}

    @query
    def newest_vote(self, n):
        """Of the votes that the responses to ballot n report, the one of the greatest ballot."""
        return max(
            (
                vote
                for ((kind, n2, vote), _) in self.received
                if kind == "respond"
                if n2 == n
                if vote is not None
            ),
            default=None,
        )

    @query
    def is_chosen(self):
        """A learner has told that a value is chosen."""
        return any(kind == "chosen" for ((kind, _), _) in self.received)

    def run(self):
        number = 0
        while not self.is_chosen():
            number += 1
            yield from self.ballot((number, self.id))

    def ballot(self, n):
        """One attempt, given up when it takes too long."""
        self.send(("prepare", n), *sorted(self.acceptors))
        yield Wait(lambda: self.is_chosen() or self.has_majority(n), self.patience(n))
        if self.has_majority(n) and not self.is_chosen():
            vote = self.newest_vote(n)
            _, value = (n, self.value) if vote is None else vote
            self.note("propose", n, value)
            self.send(("accept", n, value), *sorted(self.responded(n)))
            yield Wait(lambda: self.is_chosen(), self.patience(n))

    def has_majority(self, n):
        return 2 * len(self.responded(n)) > len(self.acceptors)

    def patience(self, n):
        """A random number of steps, greater in later ballots, so that somebody gets through."""
        return self.network.rng.randrange(20, 40 * len(self.network.processes) * n[0])

    def record_received(self, message, sender):
        self.received.add((message, sender))


class Acceptor(Process):
    def __init__(self, id, learners):
        self.id = id
        self.learners = learners
        self.sent = Set()  # (message, receiver)

    @query
    def has_responded_from(self, n):
        """A response to ballot n or a later one has been sent."""
        return any(n2 >= n for ((kind, n2, _), _) in self.sent if kind == "respond")

    @query
    def has_responded_beyond(self, n):
        """A response to a ballot later than n has been sent."""
        return any(n2 > n for ((kind, n2, _), _) in self.sent if kind == "respond")

    @query
    def last_vote(self):
        """The ballot and the value that have been accepted last."""
        return max(((n, v) for ((kind, n, v), _) in self.sent if kind == "accepted"), default=None)

    def on_prepare(self, sender, n):
        if not self.has_responded_from(n):
            self.send(("respond", n, self.last_vote()), sender)

    def on_accept(self, sender, n, v):
        if not self.has_responded_beyond(n):
            self.send(("accepted", n, v), *self.learners)

    def record_sent(self, message, receiver):
        self.sent.add((message, receiver))


class Learner(Process):
    def __init__(self, id, acceptors, others):
        self.id = id
        self.acceptors = Set(acceptors)
        self.others = others
        self.received = Set()  # (message, sender)

    @query
    def chosen(self):
        """A vote that a majority has accepted: the witness that a value is chosen."""
        return min(
            (
                (n, v)
                for ((kind, n, v), _) in self.received
                if kind == "accepted"
                if 2 * len({a for a in self.acceptors if (("accepted", n, v), a) in self.received})
                > len(self.acceptors)
            ),
            default=None,
        )

    @query
    def told(self):
        """The value that another learner has found to be chosen."""
        return min((v for ((kind, v), _) in self.received if kind == "chosen"), default=None)

    def run(self):
        yield lambda: self.chosen() is not None or self.told() is not None
        chosen = self.chosen()
        value = self.told() if chosen is None else chosen[1]
        self.note("learn", value)
        self.send(("chosen", value), *self.others)

    def record_received(self, message, sender):
        self.received.add((message, sender))


def simulate(seed, acceptors=3, proposers=3, learners=2, crash_after=None):
    """Acceptors have the identities 0, 1, …, then come the proposers, then the learners."""
    everybody = range(acceptors + proposers + learners)
    accepting, others = everybody[:acceptors], everybody[acceptors:]
    proposing, learning = others[:proposers], others[proposers:]
    processes = [
        *(Acceptor(a, learning) for a in accepting),
        *(Proposer(p, accepting, 100 + p) for p in proposing),
        *(Learner(p, accepting, tuple(q for q in others if q != p)) for p in learning),
    ]
    return Simulator(seed, processes, fifo=False, crash_after=crash_after).run()


def main(seed=1, acceptors=3, proposers=3, learners=2):
    print_trace(simulate(seed, acceptors, proposers, learners))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
