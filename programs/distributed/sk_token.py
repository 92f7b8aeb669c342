"""Suzuki and Kasami's token algorithm (1985): the token carries the queue of those who wait for it.

Every process counts the requests that it knows of; the token carries the last served request of each process.
A request that is one ahead of the last served one is outstanding.
"""

import sys

from simulator import Process, Simulator, print_trace

from incoq import Set, query


class Served(dict):
    """The last served request of each process; a map that, like a `Set`, is told apart by identity."""

    __hash__ = object.__hash__


class Mutex(Process):
    def __init__(self, id, everybody, rounds):
        self.id = id
        self.everybody = everybody
        self.rounds = rounds
        self.original = id == 0  # the token is here from the beginning
        self.idle = True
        self.requested = dict.fromkeys(everybody, 0)
        self.served = Served((p, 0) for p in everybody)
        self.queue = []
        self.received = Set()  # (message, sender)
        self.sent = Set()  # (message, receiver)

    @query
    def never_passed_on(self):
        """The token has never been sent from here."""
        return not any(kind == "token" for ((kind, _, _), _) in self.sent)

    @query
    def came_and_stayed(self):
        """The token has been received, and not been sent since."""
        return any(
            kind == "token"
            and not any(kind2 == "token" and l2[self.id] > l1[self.id] for ((kind2, _, l2), _) in self.sent)
            for ((kind, _, l1), _) in self.received
        )

    def is_present(self):
        return (self.original and self.never_passed_on()) or self.came_and_stayed()

    def run(self):
        others = [p for p in self.everybody if p != self.id]
        for number in range(self.rounds):
            self.idle = False
            if not self.is_present():
                self.requested[self.id] += 1
                self.send(("request", self.id, self.requested[self.id]), *others)
                yield lambda: self.is_present()
            self.note("enter", number)
            yield lambda: True
            self.note("leave", number)
            self.idle = True
            self.served[self.id] = self.requested[self.id]
            self.queue += [p for p in others if p not in self.queue and self.is_outstanding(p)]
            if self.queue:
                self.pass_on(self.queue.pop(0))

    def is_outstanding(self, p):
        return self.requested[p] == self.served[p] + 1

    def pass_on(self, p):
        self.send(("token", tuple(self.queue), Served(self.served)), p)

    def on_token(self, sender, queue, served):
        self.queue, self.served = list(queue), Served(served)  # the log keeps the token as it came

    def on_request(self, sender, p, number):
        self.requested[p] = max(self.requested[p], number)
        if self.idle and self.is_present() and self.is_outstanding(p):
            self.pass_on(p)

    def record_received(self, message, sender):
        self.received.add((message, sender))

    def record_sent(self, message, receiver):
        self.sent.add((message, receiver))


def simulate(seed, size, rounds, watch=None):
    everybody = list(range(size))
    return Simulator(seed, [Mutex(p, everybody, rounds) for p in everybody], watch=watch).run()


def main(seed=1, size=4, rounds=3):
    print_trace(simulate(seed, size, rounds))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
