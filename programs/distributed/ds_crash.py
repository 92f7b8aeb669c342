"""Dolev and Strong's agreement under crashes: f + 1 rounds, in each of which everybody passes on what is new.

A message carries a whole set of values. A process may crash in the middle of a broadcast; rounds are
synchronous, so in each round everybody hears from all who have not crashed.
"""

import random
import sys

from simulator import Process, Simulator, print_trace

from incoq import Set, query


class Peer(Process):
    def __init__(self, id, everybody, value, rounds):
        self.id = id
        self.everybody = everybody
        self.rounds = rounds
        self.alive = Set(everybody)
        self.values = Set([value])
        self.received = Set()  # (message, sender), of the current round
        self.sent = Set()  # (message, receiver)

    @query
    def fresh_values(self):
        """The values that have not been sent yet."""
        return {
            v for v in self.values if not any(v in w for ((kind, w, _), _) in self.sent if kind == "Value")
        }

    @query
    def heard_from_all(self):
        """Everybody who is alive has sent a message in this round."""
        return all(
            any(kind == "Value" for ((kind, _, sender), _) in self.received if sender == p)
            for p in self.alive
        )

    @query
    def heard_values(self):
        """The values received in this round."""
        return {v for ((kind, w, _), _) in self.received if kind == "Value" for v in w}

    def run(self):
        for _ in range(self.rounds):
            self.send(("Value", Set(self.fresh_values()), self.id), *self.everybody)
            self.received.clear()
            yield lambda: self.heard_from_all()
            self.values.update(self.heard_values())
        self.note("decide", min(self.values))

    def on_crash(self, p):
        self.alive.discard(p)

    def record_received(self, message, sender):
        self.received.add((message, sender))

    def record_sent(self, message, receiver):
        self.sent.add((message, receiver))


def simulate(seed, size, failures, rounds, crash_after=None):
    """At most `failures` processes crash: after the given numbers of messages, or after random ones."""
    rng = random.Random(seed)
    everybody = list(range(size))
    values = [rng.randrange(100) for _ in everybody]
    processes = [Peer(p, everybody, values[p], rounds) for p in everybody]
    if crash_after is None:
        crash_after = {p: rng.randrange(size * rounds) for p in rng.sample(everybody, failures)}
    return Simulator(seed, processes, crash_after=crash_after).run_in_rounds(rounds)


def main(seed=1, size=6, failures=2):
    print_trace(simulate(seed, size, failures, failures + 1))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
