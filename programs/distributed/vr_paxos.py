"""Van Renesse's multi-Paxos (2011): replicas perform the same commands in the same order.

Clients ask replicas; a replica proposes a command for a slot to all leaders; a leader whose ballot a majority
of acceptors has adopted asks them to accept its proposals, and announces what a majority has accepted. A
message of an acceptor carries the whole set of what it has accepted. Where an existential needs its witness
("some decision for this slot", "some proposal that a majority has accepted", "some ballot beyond the own
one") the query is a `min` or `max` with `default=None`.
"""

import sys

from simulator import Process, Simulator, Wait, print_trace

from incoq import Set, query


class Client(Process):
    """Asks for its commands, one after another: a command is (client, number)."""

    def __init__(self, id, replicas, leaders, rounds):
        self.id = id
        self.replicas, self.leaders = replicas, leaders
        self.rounds = rounds
        self.received = Set()  # (message, sender)

    @query
    def is_answered(self, command):
        """Some replica has performed the command."""
        return any(kind == "response" and c == command for ((kind, c, _), _) in self.received)

    def run(self):
        for number in range(self.rounds):
            command = (self.id, number)
            self.send(("request", command), *self.replicas)
            yield lambda command=command: self.is_answered(command)
            self.note("answered", number)
        self.send(("done",), *self.leaders)

    def record_received(self, message, sender):
        self.received.add((message, sender))


class Replica(Process):
    def __init__(self, id, leaders):
        self.id = id
        self.leaders = leaders
        self.slot = 1  # the next one to perform
        self.performed = 0
        self.proposals = Set()  # (slot, command)
        self.received = Set()  # (message, sender)

    @query
    def decision(self, slot):
        """The command that is decided for the slot."""
        return min(
            (c for ((kind, s, c), _) in self.received if kind == "decision" if s == slot), default=None
        )

    @query
    def is_decided(self, command):
        """The command is decided for some slot."""
        return any(kind == "decision" and c == command for ((kind, _, c), _) in self.received)

    @query
    def is_decided_before(self, command, slot):
        """The command is decided for an earlier slot too."""
        return any(kind == "decision" and c == command and s < slot for ((kind, s, c), _) in self.received)

    @query
    def displaced(self, slot, command):
        """An own proposal for the slot that is not the command decided there."""
        return min((c for (s, c) in self.proposals if s == slot if c != command), default=None)

    @query
    def last_proposed(self):
        return max((s for (s, _) in self.proposals), default=0)

    @query
    def last_decided(self):
        return max((s for ((kind, s, _), _) in self.received if kind == "decision"), default=0)

    def propose(self, command):
        if not self.is_decided(command):
            slot = 1 + max(self.last_proposed(), self.last_decided())
            self.proposals.add((slot, command))
            self.send(("propose", slot, command), *self.leaders)

    def on_request(self, sender, command):
        self.propose(command)

    def on_decision(self, sender, slot, command):
        while (decided := self.decision(self.slot)) is not None:
            displaced = self.displaced(self.slot, decided)
            if displaced is not None:
                self.propose(displaced)
            if not self.is_decided_before(decided, self.slot):
                self.perform(decided)
            self.slot += 1

    def perform(self, command):
        self.performed += 1
        self.note("perform", command)
        client, _ = command
        self.send(("response", command, self.performed), client)

    def record_received(self, message, sender):
        self.received.add((message, sender))


class Leader(Process):
    def __init__(self, id, acceptors, replicas, clients):
        self.id = id
        self.acceptors, self.clients = Set(acceptors), Set(clients)
        self.replicas = replicas
        self.ballot = (0, id)
        self.active = False
        self.proposed = {}  # slot -> command
        self.received = Set()  # (message, sender)
        self.sent = Set()  # (message, receiver)

    @query
    def adopted_by(self, b):
        """The acceptors that have adopted ballot b."""
        return {a for ((kind, b2, _), a) in self.received if kind == "p1b" if b2 == b}

    @query
    def newest_accepted(self, b):
        """What those that adopted ballot b have accepted for each slot in the greatest ballot."""
        return {
            (s, c)
            for ((kind, b2, accepted), _) in self.received
            if kind == "p1b"
            if b2 == b
            for (n, s, c) in accepted
            if not any(
                m > n
                for ((kind2, b3, others), _) in self.received
                if kind2 == "p1b"
                if b3 == b
                for (m, s2, _) in others
                if s2 == s
            )
        }

    @query
    def unannounced(self, b):
        """A slot and a command that a majority has accepted in ballot b, and that are not announced."""
        return min(
            (
                (s, c)
                for ((kind, b2, s, c), _) in self.received
                if kind == "p2b"
                if b2 == b
                if 2 * len({a for a in self.acceptors if (("p2b", b, s, c), a) in self.received})
                > len(self.acceptors)
                if not any(s2 == s for ((kind2, s2, _), _) in self.sent if kind2 == "decision")
            ),
            default=None,
        )

    @query
    def preempted_by(self, b):
        """The greatest ballot beyond b that an acceptor has told of."""
        return max((b2 for ((kind, b2), _) in self.received if kind == "preempted" if b2 > b), default=None)

    @query
    def is_over(self):
        """Every client is done."""
        return all((("done",), c) in self.received for c in self.clients)

    def run(self):
        while not self.is_over():
            b = self.ballot
            self.send(("p1a", b), *sorted(self.acceptors))
            yield lambda b=b: self.is_over() or self.has_majority(b) or self.preempted_by(b) is not None
            if self.has_majority(b):
                yield from self.lead(b)
            if not self.is_over():
                number, _ = self.preempted_by(b)
                self.ballot = (number + 1, self.id)
                yield Wait(lambda: self.is_over(), self.patience(number))

    def lead(self, b):
        """Have proposals accepted, and announce those that are, until another leader comes before."""
        self.note("lead", b)
        self.proposed.update(self.newest_accepted(b))
        self.active = True
        for slot in sorted(self.proposed):
            self.send(("p2a", b, slot, self.proposed[slot]), *sorted(self.acceptors))
        while not self.is_over() and self.preempted_by(b) is None:
            yield (
                lambda: self.is_over() or self.preempted_by(b) is not None or self.unannounced(b) is not None
            )
            while (decision := self.unannounced(b)) is not None:
                self.send(("decision", *decision), *self.replicas)
        self.active = False

    def has_majority(self, b):
        return 2 * len(self.adopted_by(b)) > len(self.acceptors)

    def patience(self, number):
        """A random number of steps, greater in later ballots, so that somebody gets through."""
        return self.network.rng.randrange(20, 40 * len(self.network.processes) * (number + 1))

    def on_propose(self, sender, slot, command):
        if slot not in self.proposed:
            self.proposed[slot] = command
            if self.active:
                self.send(("p2a", self.ballot, slot, command), *sorted(self.acceptors))

    def record_received(self, message, sender):
        self.received.add((message, sender))

    def record_sent(self, message, receiver):
        self.sent.add((message, receiver))


class Acceptor(Process):
    def __init__(self, id):
        self.id = id
        self.adopted = (-1, id)
        self.accepted = Set()  # (ballot, slot, command)

    def on_p1a(self, sender, b):
        if b > self.adopted:
            self.adopted = b
            self.send(("p1b", b, Set(self.accepted)), sender)
        else:
            self.send(("preempted", self.adopted), sender)

    def on_p2a(self, sender, b, slot, command):
        if b >= self.adopted:
            self.adopted = b
            self.accepted.add((b, slot, command))
            self.send(("p2b", b, slot, command), sender)
        else:
            self.send(("preempted", self.adopted), sender)


def simulate(seed, clients=2, rounds=2, acceptors=3, leaders=2, replicas=2, crash_after=None):
    """Acceptors have the identities 0, 1, …, then come leaders, replicas and clients."""
    ids = iter(range(acceptors + leaders + replicas + clients))
    accepting, leading, replicating, asking = (
        [next(ids) for _ in range(size)] for size in (acceptors, leaders, replicas, clients)
    )
    processes = [
        *(Acceptor(p) for p in accepting),
        *(Leader(p, accepting, replicating, asking) for p in leading),
        *(Replica(p, leading) for p in replicating),
        *(Client(p, replicating, leading, rounds) for p in asking),
    ]
    return Simulator(seed, processes, fifo=False, crash_after=crash_after).run()


def main(seed=1, clients=2, rounds=2):
    print_trace(simulate(seed, clients, rounds))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
