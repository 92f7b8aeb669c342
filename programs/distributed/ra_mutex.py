"""Ricart and Agrawala's mutual exclusion (1981): an answer is a permission, and is deferred while it must be.

A process asks all others, and enters when everybody has answered. It answers at once the requests that are
earlier than its own outstanding one, and the rest when it leaves. Channels need not be FIFO.
"""

import sys

from simulator import Process, Simulator, print_trace

from incoq import Set, lru, query


class Mutex(Process):
    def __init__(self, id, others, rounds):
        self.id = id
        self.rounds = rounds
        self.others = Set(others)
        self.own = Set()  # the times of the own outstanding requests
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
    def may_answer(self, c, p):
        """The request of p at time c is earlier than every own outstanding one."""
        return all((c, p) < (c2, self.id) for c2 in self.own)

    def run(self):
        for _ in range(self.rounds):
            ownc = self.clock
            self.own.add(ownc)
            self.send(("request", ownc, self.id), *sorted(self.others))
            yield lambda ownc=ownc: self.is_acknowledged(ownc)
            self.note("enter", ownc)
            yield lambda: True
            self.note("leave", ownc)
            self.own.remove(ownc)
            self.send(("ack", self.clock, self.id), *sorted(self.deferred(ownc)))

    def on_request(self, sender, c, p):
        if self.may_answer(c, p):
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
