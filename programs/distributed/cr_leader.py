"""Chang and Roberts's election on a ring: only the greatest identity comes all the way around."""

import random
import sys

from simulator import Process, Simulator, print_trace

from incoq import Set, query


class Candidate(Process):
    def __init__(self, id, left):
        self.id = id
        self.left = left
        self.leader = None
        self.received = Set()  # (message, sender)
        self.sent = Set()  # (message, receiver)

    @query
    def is_elected(self):
        """A leader has been announced."""
        return any(kind == "Leader" for ((kind, _), _) in self.received)

    def run(self):
        self.stand()
        yield lambda: self.is_elected()
        self.note("leader", self.leader)

    def stand(self):
        """Send the own identity around, once."""
        if (("Election", self.id), self.left) not in self.sent:
            self.send(("Election", self.id), self.left)

    def on_election(self, sender, p):
        if p > self.id:
            self.send(("Election", p), self.left)
        elif p < self.id:
            self.stand()
        else:
            self.send(("Leader", self.id), self.left)

    def on_leader(self, sender, leader):
        self.leader = leader
        if leader != self.id:
            self.send(("Leader", leader), self.left)

    def record_received(self, message, sender):
        self.received.add((message, sender))

    def record_sent(self, message, receiver):
        self.sent.add((message, receiver))


def simulate(seed, size):
    ring = list(range(size))
    random.Random(seed).shuffle(ring)
    return Simulator(seed, [Candidate(p, ring[i - 1]) for i, p in enumerate(ring)]).run()


def main(seed=1, size=8):
    print_trace(simulate(seed, size))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
