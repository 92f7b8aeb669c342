"""Two-phase commit: a coordinator asks its cohorts to prepare, and commits if all of them are ready."""

import random
import sys

from simulator import Process, Simulator, print_trace

from incoq import Set, query

COORDINATOR = 0


class Coordinator(Process):
    def __init__(self, tid, cohorts):
        self.id = COORDINATOR
        self.tid = tid
        self.cohorts = Set(cohorts)
        self.received = Set()  # (message, sender)

    @query
    def all_voted(self, tid):
        """Every cohort has voted on the transaction."""
        return all(
            any(t == tid for ((kind, _, t), sender) in self.received if kind == "vote" if sender == c)
            for c in self.cohorts
        )

    @query
    def one_refuses(self, tid):
        """Some cohort has voted to abort."""
        return any((("vote", "abort", tid), c) in self.received for c in self.cohorts)

    @query
    def ready(self, tid):
        """The cohorts that have voted to commit."""
        return {c for c in self.cohorts if (("vote", "ready", tid), c) in self.received}

    @query
    def all_ready(self, tid):
        """Every cohort has voted to commit."""
        return all((("vote", "ready", tid), c) in self.received for c in self.cohorts)

    @query
    def all_done(self, tid):
        """Every cohort has confirmed the commit."""
        return all((("done", tid), c) in self.received for c in self.cohorts)

    def run(self):
        cohorts = sorted(self.cohorts)
        self.send(("prepare", self.tid), *cohorts)
        yield lambda: self.all_voted(self.tid)
        if self.one_refuses(self.tid):
            self.send(("abort", self.tid), *sorted(self.ready(self.tid)))
            self.note("abort")
        if self.all_ready(self.tid):
            self.send(("commit", self.tid), *cohorts)
            yield lambda: self.all_done(self.tid)
            self.note("commit")
        self.send(("done",), *cohorts)

    def record_received(self, message, sender):
        self.received.add((message, sender))


class Cohort(Process):
    def __init__(self, id, is_ready):
        self.id = id
        self.is_ready = is_ready
        self.stopped = False

    def run(self):
        yield lambda: self.stopped
        self.note("stop")

    def on_prepare(self, sender, tid):
        vote = "ready" if self.is_ready else "abort"
        self.note("vote", vote)
        self.send(("vote", vote, tid), sender)
        if not self.is_ready:
            self.note("abort")

    def on_abort(self, sender, tid):
        self.note("abort")

    def on_commit(self, sender, tid):
        self.send(("done", tid), sender)
        self.note("commit")

    def on_done(self, sender):
        self.stopped = True


def simulate(seed, size, failure_rate):
    rng = random.Random(seed)
    cohorts = [Cohort(p, rng.randint(0, 100) > failure_rate) for p in range(1, size + 1)]
    return Simulator(seed, [Coordinator("t1", range(1, size + 1)), *cohorts]).run()


def main(seed=1, size=10, failure_rate=10):
    print_trace(simulate(seed, size, failure_rate))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
