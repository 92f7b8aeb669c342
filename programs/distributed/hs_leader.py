"""Hirschberg and Sinclair's election on a ring: candidates probe the distances 1, 2, 4, … both ways.

A probe is turned back by its last hop and swallowed by a greater identity; one that comes home from the other
side has passed everybody.
"""

import random
import sys

from simulator import Process, Simulator, print_trace

from incoq import Set, query


class Candidate(Process):
    def __init__(self, id, left, right):
        self.id = id
        self.left, self.right = left, right
        self.leader = None
        self.received = Set()  # (message, sender), of the current distance

    @query
    def has_passed_all(self):
        """An own probe has come home."""
        return any(v == self.id for ((kind, v, _), _) in self.received if kind == "Out")

    def run(self):
        distance = 1
        while self.leader is None:
            self.send(("Out", self.id, distance), self.left, self.right)
            yield lambda: self.has_passed_all() or self.leader is not None or self.both_returned()
            if self.has_passed_all():
                self.leader = self.id
                self.send(("Leader", self.id), self.left, self.right)
            elif self.leader is None:
                distance *= 2
                self.received.clear()
        self.note("leader", self.leader)

    def both_returned(self):
        returned = ("In", self.id)
        return (returned, self.left) in self.received and (returned, self.right) in self.received

    def onwards(self, sender):
        """The neighbour on the side that a message does not come from."""
        return self.right if sender == self.left else self.left

    def on_out(self, sender, v, distance):
        if v > self.id and distance > 1:
            self.send(("Out", v, distance - 1), self.onwards(sender))
        elif v > self.id:
            self.send(("In", v), sender)

    def on_in(self, sender, v):
        if v > self.id:
            self.send(("In", v), self.onwards(sender))

    def on_leader(self, sender, leader):
        self.leader = leader
        if leader != self.id:
            self.send(("Leader", leader), self.onwards(sender))

    def record_received(self, message, sender):
        self.received.add((message, sender))


def simulate(seed, size):
    ring = list(range(size))
    random.Random(seed).shuffle(ring)
    around = [*ring, ring[0]]
    return Simulator(seed, [Candidate(p, ring[i - 1], around[i + 1]) for i, p in enumerate(ring)]).run()


def main(seed=1, size=8):
    print_trace(simulate(seed, size))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
