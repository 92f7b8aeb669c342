"""Lamport's mutual exclusion (1978): requests are served in the order of their logical time.

A process asks all others, and enters when its request is the first in its queue and everybody has answered
with something later. Channels are FIFO.
"""

import sys

from simulator import Process, Simulator, print_trace

from incoq import Set, lru, query


class Mutex(Process):
    def __init__(self, id, others, rounds):
        self.id = id
        self.rounds = rounds
        self.others = Set(others)
        self.requests = Set()  # ("request", time, process)
        self.received = Set()  # (message, sender)

    @query(keep=lru(64))  # one wait at a time, of each of up to 64 processes
    def is_first(self, c):
        """No request known here is earlier than the own one of time c."""
        return all((c2, p) == (c, self.id) or (c, self.id) < (c2, p) for (_, c2, p) in self.requests)

    @query(keep=lru(64))
    def is_acknowledged(self, c):
        """Everybody has sent an acknowledgement later than c."""
        return all(
            any(c2 > c for ((kind, c2, sender), _) in self.received if kind == "ack" if sender == p)
            for p in self.others
        )

    @query
    def requests_of(self, p):
        """The requests of a process that are known here."""
        return {("request", c, p2) for (_, c, p2) in self.requests if p2 == p}

    def run(self):
        for _ in range(self.rounds):
            c = self.clock
            self.send(("request", c, self.id), *sorted(self.others))
            self.requests.add(("request", c, self.id))
            yield lambda c=c: self.is_first(c) and self.is_acknowledged(c)
            self.note("enter", c)
            yield lambda: True
            self.note("leave", c)
            self.requests.remove(("request", c, self.id))
            self.send(("release", self.clock, self.id), *sorted(self.others))

    def on_request(self, sender, c, p):
        self.requests.add(("request", c, p))
        self.send(("ack", self.clock, self.id), p)

    def on_release(self, sender, c, p):
        for request in self.requests_of(p):
            self.requests.remove(request)

    def record_received(self, message, sender):
        self.received.add((message, sender))


def simulate(seed, size, rounds, fifo=True):
    everybody = range(size)
    processes = [Mutex(p, [q for q in everybody if q != p], rounds) for p in everybody]
    return Simulator(seed, processes, fifo).run()


def main(seed=1, size=4, rounds=3):
    print_trace(simulate(seed, size, rounds))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
