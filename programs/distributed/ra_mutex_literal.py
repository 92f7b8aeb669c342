"""Ricart and Agrawala's mutual exclusion as the paper's table has it; for counts and timings only.

The condition for an immediate answer ranges over own requests among *received* messages. There are none, so
it always holds, and mutual exclusion fails; `ra_mutex.py` is the corrected program.
"""

import sys

from simulator import Process, Simulator, print_trace

from incoq import Set, lru, query


class Mutex(Process):
    def __init__(self, id, others, rounds):
        self.id = id
        self.rounds = rounds
        self.others = Set(others)
        self.ownc = 0
        self.received = Set()  # (message, sender)

    @query(keep=lru(64))  # one wait at a time, of each of up to 64 processes
    def is_acknowledged(self, ownc):
        """Everybody has sent an acknowledgement later than the own request."""
        return all(
            any(c > ownc for ((kind, c, sender), _) in self.received if kind == "ack" if sender == p)
            for p in self.others
        )

    @query(keep=lru(64))
    def deferred(self, ownc):
        """Those whose request came after the own one, and still lacks its answer."""
        return {
            p
            for p in self.others
            if any(
                (c, p) >= (ownc, self.id)
                for ((kind, c, sender), _) in self.received
                if kind == "request"
                if sender == p
            )
        }

    @query(keep=lru(64))
    def may_answer(self, c, p, ownc):
        """As published: every own request of that time, among the received, is later than that of p."""
        return all(
            (c, p) < (ownc, self.id)
            for ((kind, c2, p2), _) in self.received
            if kind == "request"
            if c2 == c
            if p2 == self.id
        )

    def run(self):
        for _ in range(self.rounds):
            ownc = self.ownc = self.clock
            self.send(("request", ownc, self.id), *sorted(self.others))
            yield lambda ownc=ownc: self.is_acknowledged(ownc)
            self.note("enter", ownc)
            yield lambda: True
            self.note("leave", ownc)

            self.send(("ack", self.clock, self.id), *sorted(self.deferred(ownc)))

    def on_request(self, sender, c, p):
        if self.may_answer(c, p, self.ownc):
            self.send(("ack", self.clock, self.id), p)

    def record_received(self, message, sender):
        self.received.add((message, sender))


def simulate(seed, size, rounds):
    everybody = range(size)
    processes = [Mutex(p, [q for q in everybody if q != p], rounds) for p in everybody]
    return Simulator(seed, processes, fifo=False).run()


def main(seed=1, size=4, rounds=3):
    print_trace(simulate(seed, size, rounds))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
