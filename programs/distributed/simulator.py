"""A deterministic discrete-event simulator of processes that send each other messages.

A process is a coroutine: its `run` yields a condition where it waits (or a `Wait` with a timeout), and goes
on when the condition holds. The scheduler repeatedly picks, by a seeded random choice, a message to deliver
or a process that can go on. A delivery records the message, runs its handler at once, and evaluates the
condition of the receiver anew.

The simulator holds no set that a query reads: every process keeps its own logs.
"""

import random
from collections import deque
from dataclasses import dataclass


class Crash(Exception):  # noqa: N818  # what happens to a process, not a fault of the program
    """Raised in a process that crashes while it sends."""


@dataclass(frozen=True)
class Wait:
    """Wait for a condition, or for so many steps of the scheduler: `held = yield Wait(condition, 100)`."""

    condition: object
    timeout: int


class Process:
    """What all processes share: a Lamport clock, sending, receiving. Algorithms add `id`, `run`, handlers.

    A message ("ack", c, p) from a sender is handled by `on_ack(sender, c, p)`. `record_received` and
    `record_sent` are called with every message, before its handler runs and before it is sent.
    """

    clock = 0
    network = None

    def send(self, message, *receivers):
        """Send to each receiver; every message carries the clock, which one sending moves on by one."""
        self.clock += 1
        for receiver in receivers:
            self.record_sent(message, receiver)
            self.network.send(self.id, receiver, (self.clock, message))

    def receive(self, sender, envelope):
        carried, message = envelope
        self.clock = max(self.clock, carried) + 1
        self.record_received(message, sender)
        handler = getattr(self, f"on_{message[0].lower()}", None)
        if handler is not None:
            handler(sender, *message[1:])

    def record_received(self, message, sender):
        """Keep a log of messages, where queries read one."""

    def record_sent(self, message, receiver):
        """Keep a log of messages, where queries read one."""

    def note(self, *event):
        """Write an event to the output log."""
        self.network.trace.append((self.id, *event))

    def run(self):
        yield from ()


class _Pool:
    """Things to choose from, with constant-time addition, removal and random choice."""

    def __init__(self):
        self.items, self.position = [], {}

    def add(self, item):
        if item not in self.position:
            self.position[item] = len(self.items)
            self.items.append(item)

    def discard(self, item):
        at = self.position.pop(item, None)
        if at is not None:
            last = self.items.pop()
            if at < len(self.items):
                self.items[at] = last
                self.position[last] = at


class Simulator:
    """Runs processes to the end; `trace` is the output log.

    `crash_after` gives, for a process that is to crash, the number of messages that it sends before; `watch`
    is called with the simulator after every step.
    """

    def __init__(self, seed, processes, fifo=True, crash_after=None, watch=None):
        self.rng, self.fifo, self.watch = random.Random(seed), fifo, watch
        self.processes = {process.id: process for process in processes}
        self.crash_after = dict(crash_after or {})
        self.channels, self.choices = {}, _Pool()
        self.tasks, self.waits, self.deadlines = {}, {}, {}
        self.steps, self.messages, self.trace, self.crashed = 0, 0, [], []
        for process in processes:
            process.network = self
            self.tasks[process.id] = process.run()
            self.waits[process.id] = None
            self.choices.add(("process", process.id))

    # -- what processes call ----------------------------------------------------------------------

    def send(self, sender, receiver, envelope):
        if sender in self.crash_after:
            self.crash_after[sender] -= 1
            if self.crash_after[sender] < 0:
                raise Crash
        self.messages += 1
        self.channels.setdefault((sender, receiver), deque()).append(envelope)
        self.choices.add(("channel", (sender, receiver)))

    # -- scheduling -------------------------------------------------------------------------------

    def run(self, limit=1_000_000):
        """Deliver and resume, one thing at a time, until nothing is left to do."""
        while self.steps < limit and (self.choices.items or self.deadlines):
            self.steps = self.steps + 1 if self.choices.items else min(self.deadlines.values())
            for timed_out in [p for p, deadline in self.deadlines.items() if deadline <= self.steps]:
                self.choices.add(("process", timed_out))
            kind, which = self.rng.choice(self.choices.items)
            if kind == "process":
                self._resume(which)
            else:
                self._deliver(which)
            if self.watch is not None:
                self.watch(self)
        return self

    def run_in_rounds(self, rounds):
        """Synchronously: all processes go on, then all messages arrive, then crashes become known."""
        for _ in range(rounds + 1):
            known = len(self.crashed)
            for kind in ("process", "channel"):
                batch = [item for item in self.choices.items if item[0] == kind]
                self.rng.shuffle(batch)
                for _, which in batch:
                    self._resume(which) if kind == "process" else self._deliver_all(which)
            for crashed in self.crashed[known:]:
                for process in self.processes.values():
                    process.on_crash(crashed)
            for waiting in list(self.waits):
                self._evaluate(waiting)
        return self

    def _resume(self, which):
        wait = self.waits[which]
        held = wait is None or bool(_condition(wait)())
        self.choices.discard(("process", which))
        self.deadlines.pop(which, None)
        try:
            self.waits[which] = self.tasks[which].send(held if wait is not None else None)
        except StopIteration:
            del self.waits[which]
            return
        except Crash:
            self._crash(which)
            return
        if isinstance(self.waits[which], Wait):
            self.deadlines[which] = self.steps + self.waits[which].timeout
        self._evaluate(which)

    def _evaluate(self, which):
        """A waiting process can go on when its condition holds."""
        if which not in self.waits:
            return
        wait = self.waits[which]
        late = self.deadlines.get(which, self.steps + 1) <= self.steps
        if wait is None or late or _condition(wait)():
            self.choices.add(("process", which))
        else:
            self.choices.discard(("process", which))

    def _deliver(self, channel):
        sender, receiver = channel
        waiting = self.channels[channel]
        if not self.fifo:
            waiting.rotate(-self.rng.randrange(len(waiting)))
        envelope = waiting.popleft()
        if not waiting:
            self.choices.discard(("channel", channel))
        if receiver in self.crashed:
            return
        try:
            self.processes[receiver].receive(sender, envelope)
        except Crash:
            self._crash(receiver)
        else:
            self._evaluate(receiver)

    def _deliver_all(self, channel):
        while self.channels[channel]:
            self._deliver(channel)

    def _crash(self, which):
        self.crashed.append(which)
        self.waits.pop(which, None)
        self.deadlines.pop(which, None)
        self.choices.discard(("process", which))
        self.trace.append((which, "crash"))


def _condition(wait):
    return wait.condition if isinstance(wait, Wait) else wait


def print_trace(simulator):
    """The output log: one line for each event, then the totals."""
    for event in simulator.trace:
        print(*event)
    print("messages", simulator.messages, "steps", simulator.steps)
