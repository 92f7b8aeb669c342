"""What a condition looks into is maintained, or refused, also where another expression chooses it."""

from __future__ import annotations

import pytest
from both_ways import MODES, run_compiled, run_plain, same_both_ways, source

FIELDS = """
class O:
    def __init__(self, v):
        self.v = v

@query
def q(s):
    return {RESULT for x in s if CONDITION}

def main(show):
    c = O(3)
    c.p, c.q, c.c = Set([1]), Set(), True
    s = Set([c])
    show(q(s))
    c.p.clear()
    show(q(s))
    c.c = False
    c.q.add(1)
    show(q(s))
    c.q.add(2)
    show(q(s))
    c.q = Set([1])
    show(q(s))
    c.p, c.c = Set([5, 1, 2]), True
    show(q(s))
    c.p.discard(5)
    show(q(s))
    c.q, c.c = (1, 2), False
    show(q(s))
    del c.p
    show(q(s))
    c.c = True
    show(q(s))
"""
MAINTAINED = [
    ("x.v", "1 not in (x.p if x.c else x.q)"),
    ("x.v", "1 in (x.p if x.c else x.q)"),
    ("x.v", "1 in (x.p or x.q)"),
    ("x.v", "x.v in (x.p if x.c else x.q) or x.c"),
    ("len(x.p if x.c else x.q)", "True"),
    ("x.v", "len(x.p or x.q) > 1"),
    ("x.v", "1 < len(x.p if x.c else x.q) < 3"),
    ("x.v", "(x.p or x.q)"),
    ("x.v", "(x.p if x.c else x.q)"),
    ("x.v", "not (x.p and x.q)"),
    ("x.v", "len(getattr(x, 'p', ())) > 1"),
    ("x.v", "2 in getattr(x, 'p', ())"),
    ("x.v", "getattr(x, 'p', ())"),
    ("x.v", "bool(x.p or x.q)"),
    ("bool(x.p)", "bool(x.p) == bool(x.q) or x.c"),
]
REFUSED = [
    ("str(x.p if x.c else x.q)", "True"),
    ("f'{x.p or x.q}'", "True"),
    ("x.v", "x.v not in (x.p, x.q)[0]"),
    ("x.v", "len((x.p, x.q)[0]) > 1"),
    ("max(x.p if x.c else x.q, default=0)", "True"),
]


@pytest.mark.parametrize(("result", "condition"), MAINTAINED)
def test_a_chosen_source_is_maintained(result: str, condition: str) -> None:
    same_both_ways(FIELDS.replace("RESULT", result).replace("CONDITION", condition))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("result", "condition"), REFUSED)
def test_a_computed_source_that_cannot_be_watched_is_refused(result: str, condition: str, mode: str) -> None:
    text = source(FIELDS.replace("RESULT", result).replace("CONDITION", condition))
    assert run_compiled(text, mode) == [("IncoqRuntimeError", "IQ301")]
    assert len(run_plain(text)) > 1


ENTRIES = """
@query
def q(s, m, n):
    return {k for k in s if CONDITION}

def main(show):
    m, n, s = {3: 1, -1: 2, "2": 3}, {2: 3}, Set([2])
    show(q(s, m, n))
    m[3] = 7
    show(q(s, m, n))
    m[-1] = 7
    show(q(s, m, n))
    m[3] = 0
    show(q(s, m, n))
    n[2] = -1
    show(q(s, m, n))
    del m[-1]
    show(q(s, m, n))
"""


@pytest.mark.parametrize("condition", ["m[n[k]] == 7", "m[-1] == 7", "m[n[k]]", "m[3] == 7 or m[n[k]] == 7"])
def test_an_entry_whose_key_is_an_entry_is_maintained(condition: str) -> None:
    same_both_ways(ENTRIES.replace("CONDITION", condition))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("condition", ["m[k + 1] == 7", "m[k, 1] == 7", "m[str(k)] == 7", "m[f'{k}'] == 7"])
def test_an_entry_whose_key_is_computed_is_refused(condition: str, mode: str) -> None:
    assert run_compiled(source(ENTRIES.replace("CONDITION", condition)), mode) == [
        ("IncoqRuntimeError", "IQ301")
    ]


COMPUTING = """
class Sized:
    def __len__(self):
        return self.z

class Titled:
    def title(self):
        return str(self.z)

class Number(int):
    def __add__(self, other):
        return self.z

class Text(str):
    def title(self):
        return str(self.z)

class Pair(tuple):
    def __len__(self):
        return self.z
    def __bool__(self):
        return self.z > 1

class O:
    pass

@query
def q(s):
    return {RESULT for x in s if CONDITION}

def main(show):
    c = O()
    c.v, c.c = VALUE, True
    c.v.z = 1
    s = Set([c])
    show(q(s))
    c.v.z = 5
    show(q(s))
"""
COMPUTED = [
    ("len(x.v)", "True", "Sized()"),
    ("len(x.v if x.c else ())", "True", "Sized()"),
    ("x.v.title()", "True", "Titled()"),
    ("x.v.title()", "True", "Text('a')"),
    ("x.v + 1", "True", "Number(1)"),
    ("(x.v if x.c else 0) + 1", "True", "Number(1)"),
    ("len(x.v)", "True", "Pair([1])"),
    ("1", "x.v", "Pair([1])"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("result", "condition", "value"), COMPUTED)
def test_a_value_that_computes_from_its_fields_is_refused(
    result: str, condition: str, value: str, mode: str
) -> None:
    text = COMPUTING.replace("RESULT", result).replace("CONDITION", condition).replace("VALUE", value)
    assert run_compiled(source(text), mode) == [("IncoqRuntimeError", "IQ301")]


def test_a_method_that_an_object_does_not_have_skips_it() -> None:
    text = (
        COMPUTING.replace("RESULT", "x.v.upper()").replace("CONDITION", "True").replace("VALUE", "Titled()")
    )
    same_both_ways(text)


def test_the_values_of_a_dict_need_no_hash() -> None:
    same_both_ways("""
class O:
    def __init__(self, k, v):
        self.k, self.v = k, v

@query
def by_key(s):
    return {x.k: x.v for x in s}

@query
def entries(m):
    return {k: v for k, v in m.items() if k}

def main(show):
    a, b = O("a", [1]), O("b", [1])
    s = Set([a])
    show(repr(by_key(s)))
    a.v.append(2)
    show(repr(by_key(s)))
    for value in ({1: 2}, (1, [2]), 3, [1]):
        a.v = value
        show(repr(by_key(s)))
    s.add(b)
    show(sorted(by_key(s).items()))
    b.v = a.v
    show(sorted(by_key(s).items()))
    s.discard(a)
    show(repr(by_key(s)))
    m = {1: [2], 2: 3, 0: 1}
    show(repr(entries(m)))
    m[1].append(5)
    show(repr(entries(m)))
    m[2] = [1]
    show(repr(entries(m)))
    del m[1]
    show(repr(entries(m)))
""")


def test_all_elements_of_a_tuple_are_read_before_one_is_compared() -> None:
    same_both_ways("""
class O:
    pass

@query
def found(s):
    return {x.v for x in s if x.v in (1, x.w)}

@query
def left(s):
    return {x.v for x in s if x.v not in (x.w, 2, x.u)}

def main(show):
    a = O()
    a.v = 1
    s = Set([a])
    show(found(s), left(s))
    a.w = Set()
    show(found(s), left(s))
    a.v, a.u = 3, 5
    show(found(s), left(s))
    a.w = 3
    show(found(s), left(s))
    del a.u
    show(found(s), left(s))
""")


def test_a_frozen_dataclass_is_looked_into_as_a_tuple_is() -> None:
    text = source("""
from dataclasses import dataclass

@dataclass(frozen=True)
class F:
    held: object

class O:
    pass

@query
def texts(s):
    return {str(x.v) for x in s}

def main(show):
    a = O()
    a.v = F(1)
    s = Set([a])
    show(texts(s))
    a.v = F(Set([1]))
    show(texts(s))
""")
    for mode in MODES:
        assert run_compiled(text, mode) == [*run_plain(text)[:1], ("IncoqRuntimeError", "IQ301")]


def test_a_shuffled_list_is_maintained_in_a_program_that_removes_nothing() -> None:
    same_both_ways("""
import random

@query
def odd(l):
    return {x for x in l if x % 2}

def main(show):
    l = [1, 1, 2, 3]
    show(odd(l))
    random.Random(3).shuffle(l)
    show(odd(l), sorted(l))
""")


def test_keys_are_those_of_dicts_alone() -> None:
    same_both_ways("""
class O:
    pass

@query
def q(s):
    return {k for o in s for k in o.d.keys()}

def main(show):
    o = O()
    o.d = {1: 2}
    s = Set([o])
    show(q(s))
    o.d = Set([3])
    show(q(s))
    o.d = {4: 5}
    o.d[6] = 7
    show(q(s))
""")


def test_content_read_by_getattr_of_a_field_that_is_joined_is_maintained() -> None:
    same_both_ways("""
class O:
    pass

@query
def q(o):
    return {x for x in o.a if len(getattr(o, 'a', ())) > 1}

def main(show):
    o = O()
    o.a = Set([1])
    show(q(o))
    o.a.add(2)
    show(q(o))
    o.a.discard(1)
    show(q(o))
    o.a ^= Set([3])
    show(q(o))
""")


def test_an_index_of_sets_alone_is_not_the_one_of_a_query_that_needs_all() -> None:
    same_both_ways("""
R = Set()

class O:
    def __init__(self):
        self.a = 0

@query
def filled(p):
    return all(x == p for x, y in R if len(z) > 0 for z, w in R)

@query
def sizes(p):
    return {(w, len({x for x in z.a})) for _, y in p.a for z, w in R}

def main(show):
    o, s = O(), Set()
    show(sizes(o))
    R.add((o, 0))
    s.add((None, 1))
    o.a = s
    o.a = None
    show(sizes(o))
    o.a = s
    show(sizes(o))
""")
