"""Worlds in which the costs of Ricart and Agrawala's token algorithm grow."""

from ra_token import Mutex, Token

from incoq import Set


def _message(number):
    """The token as it is when process 0 has been served so often."""
    return ("access", Token([(0, number), (1, number)]))


def _asked(mutex):
    mutex.never_passed_on()
    mutex.came_and_stayed()
    mutex.is_pending(1)


def _updates(mutex, n):
    first, second = _message(n), _message(n + 1)
    mutex.record_received(first, 1)
    yield
    mutex.record_sent(second, 1)
    yield
    first[-1][0] = n + 2
    yield
    second[-1][0] = n + 3
    yield
    mutex.record_received(("request", n, 1), 1)
    yield
    mutex.token[1] = 1
    yield
    mutex.token = Token(mutex.token)
    yield
    mutex.id = 1
    mutex.id = 0
    yield
    mutex.sent = Set(mutex.sent)
    yield
    mutex.received = Set(mutex.received)
    yield
    _asked(mutex)


def long_logs(n):
    """The token has come and gone often, and n requests of a process are known."""
    mutex = Mutex(0, [0, 1], 1)
    _asked(mutex)
    for i in range(round(n**0.6)):
        mutex.record_received(_message(i), 1)
        mutex.record_sent(_message(i + 1), 1)
    for i in range(n):
        mutex.record_received(("request", i, 1), 1)
    yield
    yield from _updates(mutex, n)


def one_token(n):
    """One token has come from n processes, and gone to n others."""
    mutex = Mutex(0, [0, 1], 1)
    _asked(mutex)
    came, went = _message(1), _message(2)
    for p in range(n):
        mutex.record_received(came, p)
        mutex.record_sent(went, p)
    yield
    came[-1][0] = 5
    yield
    went[-1][0] = 7
    yield
    yield from _updates(mutex, n)


def many_processes(n):
    """n processes of one id hold the very same logs."""
    k = round(n**0.7)
    processes, received, sent = [Mutex(0, [0, 1], 1) for _ in range(k)], Set(), Set()
    for mutex in processes:
        mutex.received, mutex.sent = received, sent
        _asked(mutex)
    yield
    yield from _updates(processes[0], n)


def large_token(n):
    """The token has n entries, of all of which one asks whether they are pending."""
    mutex = Mutex(0, range(n), 1)
    _asked(mutex)
    for p in range(n):
        mutex.is_pending(p)
    yield
    mutex.token = Token(mutex.token)
    yield
    mutex.token[1] = 9
    yield
    mutex.record_received(("access", Token(mutex.token)), 1)


def asked_late(n):
    """Nothing is asked before the token has come and gone often."""
    mutex, k = Mutex(0, range(n), 1), round(n**0.6)
    for i in range(k):
        mutex.record_received(_message(i), 1)
        mutex.record_sent(_message(i + 1), 1)
        mutex.record_received(("request", i, 1), 1)
    yield
    mutex.never_passed_on()
    yield
    mutex.came_and_stayed()
    yield
    mutex.is_pending(1)
