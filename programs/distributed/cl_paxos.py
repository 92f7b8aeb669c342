"""Castro and Liskov style Paxos: proposers and acceptors agree on a value, with quorums that bear f liars.

A ballot is a pair of a number and a proposer. An acceptor promises by telling everybody what it voted for
last; a value is safe in a ballot if more than f promises report it. Acceptors have smaller identities than
proposers, so that a report of no vote never wins over a proposer's own value.
"""

import sys

from simulator import Process, Simulator, Wait, print_trace

from incoq import Set, query


class Proposer(Process):
    def __init__(self, id, acceptors, everybody, value, rounds):
        self.id = id
        self.acceptors, self.everybody = acceptors, everybody
        self.faults = (len(acceptors) - 1) // 3
        self.quorum = len(acceptors) // 2 + self.faults
        self.value, self.rounds = value, rounds
        self.received = Set()  # (message, sender)

    @query
    def promised(self, n):
        """The acceptors that have promised ballot n."""
        return {a for ((kind, n2, _, _, a), _) in self.received if kind == "Promise" if n2 == n}

    @query
    def safe_votes(self, n, f):
        """The votes that more than f promises of ballot n report."""
        return {
            (m, v)
            for ((kind, n2, m, v, _), _) in self.received
            if kind == "Promise"
            if n2 == n
            if len(
                {
                    a
                    for ((kind3, n3, m3, v3, a), _) in self.received
                    if kind3 == "Promise"
                    if n3 == n
                    if m3 == m
                    if v3 == v
                }
            )
            > f
        }

    @query
    def voted(self, n, v):
        """The acceptors that have voted for v in ballot n."""
        return {a for ((kind, n2, v2, a), _) in self.received if kind == "TwoAv" if n2 == n if v2 == v}

    def run(self):
        number = 0
        for _ in range(self.rounds):
            while not (yield from self.ballot((number, self.id))):
                number += 1
        self.send(("Done",), *self.acceptors)

    def ballot(self, n):
        """One attempt; true if it succeeds."""
        self.send(("Prepare", n, self.id), *self.acceptors)
        if not (yield Wait(lambda: len(self.promised(n)) > self.quorum, self.patience())):
            return False
        _, v = max(self.safe_votes(n, self.faults) | {((-1, self.id), self.value)})
        self.send(("OneC", n, v, self.id), *self.acceptors)
        if not (yield Wait(lambda: len(self.voted(n, v)) > self.quorum, self.patience())):
            return False
        self.note("chosen", v)
        return True

    def patience(self):
        """A random number of steps, so that proposers do not hinder each other for ever."""
        return self.network.rng.randrange(20, 40 * len(self.everybody))

    def record_received(self, message, sender):
        self.received.add((message, sender))


class Acceptor(Process):
    def __init__(self, id, acceptors, proposers):
        self.id = id
        self.everybody = [*acceptors, *proposers]
        self.faults = (len(acceptors) - 1) // 3
        self.quorum = len(acceptors) // 2 + self.faults
        self.proposers = Set(proposers)
        self.received = Set()  # (message, sender)
        self.sent = Set()  # (message, receiver)

    @query
    def promises(self):
        """The ballots that this acceptor has promised."""
        return {n for ((kind, n, _, _, _), _) in self.sent if kind == "Promise"}

    @query
    def safe_votes(self, n, f):
        """The votes that more than f promises of ballot n report."""
        return {
            (m, v)
            for ((kind, n2, m, v, _), _) in self.received
            if kind == "Promise"
            if n2 == n
            if len(
                {
                    a
                    for ((kind3, n3, m3, v3, a), _) in self.received
                    if kind3 == "Promise"
                    if n3 == n
                    if m3 == m
                    if v3 == v
                }
            )
            > f
        }

    @query
    def votes(self):
        """What this acceptor has voted for."""
        return {(n, v) for ((kind, n, v, a), _) in self.sent if kind == "TwoAv" if a == self.id}

    @query
    def has_voted(self, n):
        """This acceptor has voted in ballot n."""
        return any(kind == "TwoAv" and n2 == n and a == self.id for ((kind, n2, _, a), _) in self.sent)

    @query
    def unannounced(self, quorum):
        """The votes of a quorum that this acceptor has not announced."""
        return {
            (n, v)
            for ((kind, n, v, _), _) in self.received
            if kind == "TwoAv"
            if len({a for ((kind2, n2, v2, a), _) in self.received if kind2 == "TwoAv" if n2 == n if v2 == v})
            > quorum
            if not any(n3 == n and v3 == v for ((kind3, n3, v3), _) in self.sent if kind3 == "TwoB")
        }

    @query
    def all_done(self):
        """Every proposer is done."""
        return all((("Done",), p) in self.received for p in self.proposers)

    def run(self):
        while True:
            yield lambda: self.unannounced(self.quorum) or self.all_done()
            if not self.unannounced(self.quorum):
                break
            n, v = min(self.unannounced(self.quorum))
            self.note("announce", v)
            self.send(("TwoB", n, v), *self.everybody)

    def newest_promise(self):
        return max(self.promises() | {(-2, self.id)})

    def on_prepare(self, sender, n, p):
        if n > self.newest_promise():
            last, value = max(self.votes() | {((-1, self.id), None)})
            self.send(("Promise", n, last, value, self.id), *self.everybody)

    def on_onec(self, sender, n, v, p):
        if n >= self.newest_promise() and self.is_legal(n, v) and not self.has_voted(n):
            self.send(("TwoAv", n, v, self.id), *self.everybody)

    def is_legal(self, n, v):
        """If the promises show a vote, only its value may be voted for."""
        safe = self.safe_votes(n, self.faults)
        value = max(safe)[1] if safe else None
        return value is None or v == value

    def record_received(self, message, sender):
        self.received.add((message, sender))

    def record_sent(self, message, receiver):
        self.sent.add((message, receiver))


def simulate(seed, acceptors, proposers, rounds=1):
    below = tuple(range(acceptors))
    above = tuple(range(acceptors, acceptors + proposers))
    processes = [
        *(Acceptor(a, below, above) for a in below),
        *(Proposer(p, below, below + above, 100 + p, rounds) for p in above),
    ]
    return Simulator(seed, processes).run()


def main(seed=1, acceptors=3, proposers=3, rounds=1):
    print_trace(simulate(seed, acceptors, proposers, rounds))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
