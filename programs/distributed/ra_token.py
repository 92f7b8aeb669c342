"""Ricart and Agrawala's token algorithm (1983): one token goes around, and whoever holds it may enter.

The token is a map from a process to its last served request; it travels whole in a message. A process that
leaves the critical section passes the token to the next process on the ring whose request is pending.
"""

import sys

from simulator import Process, Simulator, print_trace

from incoq import Set, query


class Token(dict):
    """The last served request of each process; a map that, like a `Set`, is told apart by identity."""

    __hash__ = object.__hash__


class Mutex(Process):
    def __init__(self, id, everybody, rounds):
        self.id = id
        self.everybody = everybody
        self.rounds = rounds
        self.original = id == 0  # the token is here from the beginning
        self.idle = True
        self.requests = 0
        self.token = Token((p, 0) for p in everybody)
        self.received = Set()  # (message, sender)
        self.sent = Set()  # (message, receiver)

    @query
    def is_pending(self, p):
        """A request of p has not been served, as far as the token here tells."""
        return any(
            c > self.token[p] for ((kind, c, sender), _) in self.received if kind == "request" if sender == p
        )

    @query
    def never_passed_on(self):
        """The token has never been sent from here."""
        return not any(kind == "access" for ((kind, _), _) in self.sent)

    @query
    def came_and_stayed(self):
        """The token has been received, and not been sent since."""
        return any(
            kind == "access"
            and not any(kind2 == "access" and t2[self.id] > t1[self.id] for ((kind2, t2), _) in self.sent)
            for ((kind, t1), _) in self.received
        )

    def is_present(self):
        return (self.original and self.never_passed_on()) or self.came_and_stayed()

    def run(self):
        for number in range(self.rounds):
            self.idle = False
            if not self.is_present():
                self.requests += 1
                others = [p for p in self.everybody if p != self.id]
                self.send(("request", self.requests, self.id), *others)
                yield lambda: self.is_present()
            self.token[self.id] = self.requests
            self.note("enter", number)
            yield lambda: True
            self.note("leave", number)
            self.idle = True
            self.pass_on(self.everybody[self.id + 1 :] + self.everybody[: self.id])

    def pass_on(self, candidates):
        """Send the token to the first candidate that waits for it."""
        for p in candidates:
            if self.is_present() and self.is_pending(p):
                self.send(("access", Token(self.token)), p)
                return

    def on_access(self, sender, token):
        self.token = Token(token)  # the log keeps the token as it came

    def on_request(self, sender, c, p):
        if self.idle:
            self.pass_on([p])

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
