"""Operators of the program's own classes that raise in the midst of an update: `__hash__` and `__eq__`.

For each update of a small program, an operator raises at its first call, at its second, and so on, until the
update ends without reaching it: at that call alone, or at all calls from then on, while what the update has
left is dealt with, too. After each the answers and structures are right for the data as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from incoq import compile_source
from incoq.compile import Compiled
from incoq.verify import Checker

PROGRAM = """
from incoq import Set, query

class Fault(Exception):
    pass

class Key:
    operator, left, is_lasting = "", 0, False
    def __init__(self, n):
        self.n = n
    def meet(self, operator):
        if Key.operator == operator:
            Key.left -= 1
            if Key.left == 0 or Key.is_lasting and Key.left < 0:
                raise Fault(operator)
    def __hash__(self):
        self.meet("hash")
        return hash(self.n)
    def __eq__(self, other):
        self.meet("eq")
        return isinstance(other, Key) and self.n == other.n

class User:
    def __init__(self, name, key):
        self.name, self.key, self.keys, self.log = name, key, Set(), []

@query
def with_key(group, key):
    return {u.name for u in group if u.key == key}

@query
def holding(group, key):
    return {u.name for u in group if key in u.keys}

@query
def all_keys(group):
    return {(k, u.key) for u in group for k in u.keys}

@query
def valued(m, group):
    return {(k, v) for k, v in m.items() for u in group if k in u.keys}

@query
def logged(group):
    return {k for u in group for k in u.log}

@query
def many(group):
    return {u.name for u in group if len({k for k in u.keys}) > 1}

def world():
    a, b = User("a", Key(1)), User("b", Key(2))
    a.keys.update((Key(1), Key(2)))
    b.keys.add(Key(2))
    b.log.extend((Key(3), Key(3), Key(4)))
    return a, b, Set((a, b)), {Key(1): 5, Key(2): Key(9)}

def ask(a, b, group, m):
    return (
        with_key(group, Key(1)), holding(group, Key(2)), all_keys(group), valued(m, group), logged(group),
        many(group),
    )

def assign(a, b, group, m): a.key = Key(7)
def assign_equal(a, b, group, m): a.key = Key(1)
def delete(a, b, group, m): del a.key
def replace(a, b, group, m): a.keys = Set((Key(2), Key(5)))
def add(a, b, group, m): b.keys.add(Key(1))
def discard(a, b, group, m): a.keys.discard(Key(2))
def pop(a, b, group, m): b.keys.pop()
def join(a, b, group, m): group.discard(a)
def put(a, b, group, m): m[Key(2)] = 6
def drop(a, b, group, m): del m[Key(1)]
def append(a, b, group, m): b.log.append(Key(3))
def item(a, b, group, m): b.log[0] = Key(8)
def part(a, b, group, m): b.log[1:] = [Key(5)]
def remove(a, b, group, m): b.log.remove(Key(4))
"""
UPDATES = (
    "assign", "assign_equal", "delete", "replace", "add", "discard", "pop", "join", "put", "drop", "append",
    "item", "part", "remove",
)  # fmt: skip
BATCHED = (
    PROGRAM.replace("import Set, query", "import Set, batch, query")
    + """
def batched(a, b, group, m):
    with batch():
        a.key = Key(7)
        b.keys.add(Key(1))
        a.keys.discard(Key(2))
        a.key = Key(8)
        del b.key
        group.discard(a)
"""
)
OPERATORS = ("hash", "eq")
MOST = 60


def faults(mode: str, strategy: str = "tags") -> Iterator[tuple[str, str]]:
    """Every operator at every call of every update: what was tried, and what was wrong (or nothing)."""
    yield from _faults(PROGRAM, UPDATES, mode, strategy)
    yield from _faults(BATCHED, ("batched", "add"), mode, strategy)


def _faults(text: str, updates: tuple[str, ...], mode: str, strategy: str) -> Iterator[tuple[str, str]]:
    compiled = compile_source(text, mode=mode, strategy=strategy)
    code = compile(compiled.code, "<compiled>", "exec")
    for update in updates:
        for operator in OPERATORS:
            for call in range(1, MOST):
                raised = False
                for is_lasting in (False, True):
                    names: dict[str, Any] = {"__name__": "compiled"}
                    exec(code, names)
                    raised, wrong = attempt(compiled, names, update, operator, call, is_lasting)
                    since = " and all after it" if is_lasting else ""
                    yield f"{update}, call {call}{since} of __{operator}__ ({mode}, {strategy})", wrong
                if not raised:
                    break


def attempt(
    compiled: Compiled, names: dict[str, Any], update: str, operator: str, call: int, is_lasting: bool = False
) -> tuple[bool, str]:
    """Whether the operator raised, and what was wrong then."""
    things, key = names["world"](), names["Key"]
    names["ask"](*things)
    key.operator, key.left, key.is_lasting = operator, call, is_lasting
    told = ""
    try:
        names[update](*things)
    except names["Fault"]:
        pass
    except Exception as error:
        told = f"raised {type(error).__name__}: {error}"
    raised = key.left <= 0
    key.operator = ""
    try:
        Checker(compiled, names).check()
        told = told or compare(names, things)
    except Exception as error:
        if compiled.plan.mode == "incremental" and is_lasting and getattr(error, "code", "") == "IQ307":
            return raised, told  # the repair itself met the operator, and says so
        told = told or f"{type(error).__name__}: {error}"
    return raised, told


def compare(names: dict[str, Any], things: Any) -> str:
    """The answers beside what they are of the data as they are."""
    _, _, group, m = things
    one, two = names["Key"](1), names["Key"](2)
    expected = (
        {u.name for u in group if getattr(u, "key", None) == one},
        {u.name for u in group if two in u.keys},
        {(k, u.key) for u in group for k in u.keys if hasattr(u, "key")},
        {(k, m[k]) for u in group for k in u.keys if k in m},
        {k for u in group for k in u.log},
        {u.name for u in group if len(u.keys) > 1},
    )
    got = names["ask"](*things)
    return "" if got == expected else f"{got} instead of {expected}"
