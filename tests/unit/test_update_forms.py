"""Every way to update a field or a set keeps the answers right, and its own result and exceptions."""

from __future__ import annotations

import linecache
from functools import cache
from types import CodeType

import pytest
from both_ways import MODES, compile_in, outputs, run_compiled, same_both_ways, source

# An operation works on a world `w` of users, celebrities and groups; every query is shown after it.
WORLD = """
class User:
    def __init__(self, email, loc, followers=None):
        self.email, self.loc = email, loc
        self.followers = Set() if followers is None else followers
        self.points = 0
    def __repr__(self):
        return self.email

@query
def fans(celeb, group):
    return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}

@query
def rich(group):
    return {u for u in group if u.points > 1}

@query
def absent(celeb, group):
    return {u for u in group if u not in celeb.followers}

class World:
    def __init__(self):
        self.a, self.b, self.c = User("a", "NYC"), User("b", "NYC"), User("c", "LA")
        self.group = Set([self.a, self.b])
        self.a.followers.add(self.b)
        self.a.followers.add(self.c)
        self.other = Set([self.b, self.c])

def main(show):
    w = World()
    def answers():
        show(sorted(fans(w.a, w.group)), sorted(fans(w.b, w.group)), sorted(fans(w.a, w.other)))
        show(sorted(map(repr, rich(w.group))), sorted(map(repr, absent(w.a, w.group))))
    answers()
    for attempt in range(2):
        try:
            operation(w, show)
        except Exception as error:
            show(type(error).__name__, str(error))
        answers()
    w.a.loc = w.b.loc = w.c.loc = "NYC"
    answers()
"""

FIELD_UPDATES = {
    "assignment": "w.b.loc = 'LA'",
    "assignment_of_the_same_value": "w.b.loc = w.b.loc",
    "assignment_of_an_equal_value": "w.b.points = 2; w.b.points = 2.0; w.b.points = True",
    "overwritten_set": "w.a.followers = Set([w.a])",
    "overwritten_by_a_non_set": "w.a.followers = None",
    "overwritten_by_a_number": "w.a.followers = 3",
    "overwritten_by_a_tuple": "w.a.followers = (w.a, w.b)",
    "overwritten_by_a_frozenset": "w.a.followers = frozenset([w.b])",
    "overwritten_by_a_plain_set": "w.a.followers = {w.a, w.b}",
    "overwritten_by_the_group": "w.a.followers = w.group",
    "shared_by_two_objects": "w.a.followers = w.b.followers = Set([w.b])",
    "chained": "w.a.loc = w.b.loc = w.c.loc = 'LA'",
    "tuple": "w.a.loc, w.b.points = 'LA', 5",
    "nested_tuple": "(w.a.loc, (w.b.points, x)), w.c.loc = ('LA', (5, 6)), 'NYC'; show(x)",
    "starred": "w.a.points, *w.b.loc = 5, 'N', 'Y'",
    "list_target": "[w.a.points, x] = [7, 8]; show(x)",
    "swap": "w.a.loc, w.c.loc = w.c.loc, w.a.loc",
    "local_and_field": "x, w.a.points = 1, 2; show(x)",
    "augmented": "w.a.points += 1; w.b.points -= -5; w.c.points |= 6",
    "augmented_once": "box = [w.a, w.b]; box.pop().points += 3; show(len(box))",
    "augmented_failing": "w.a.loc += 1",
    "augmented_set": "w.a.followers |= {w.a}",
    "augmented_set_removal": "w.a.followers -= {w.b}",
    "annotated": "w.a.points: int = 4",
    "setattr": "setattr(w.b, 'loc', 'LA')",
    "setattr_result": "show(setattr(w.b, 'points', 9))",
    "setattr_computed": "for f, v in [('loc', 'LA'), ('points', 3)]: setattr(w.b, f, v)",
    "del": "del w.b.loc",
    "del_twice": "del w.b.loc; del w.b.loc",
    "del_two": "del w.a.loc, w.b.points",
    "del_set": "del w.a.followers",
    "delattr": "delattr(w.b, 'points')",
    "del_and_set": "del w.b.loc; w.b.loc = 'NYC'",
    "for_target": "for w.b.points in range(5): pass",
    "with_target": "import contextlib\n    with contextlib.nullcontext(7) as w.b.points: pass",
    "walrus_inside": "w.a.points = (x := 4) + 1; show(x)",
    "conditional": "(w.a if w.b.loc == 'NYC' else w.b).loc = 'LA'",
    "through_a_call": "def pick(): return w.b\n    pick().loc = 'LA'",
    "new_object": "w.group.add(User('n', 'NYC')); w.a.followers.update(w.group)",
    "same_email": "w.c.email = w.a.email = 'same'; w.b.email = 'same'; w.group.add(w.c)",
    "exception_in_a_condition": "w.b.points = 'many'; w.a.points = 5",
    "right_side_raises": "w.b.loc = 1 / 0",
    "right_side_reads_the_query": "w.b.points = len(fans(w.a, w.group)) + 1",
}
SET_UPDATES = {
    "add": "show(w.group.add(w.c))",
    "add_twice": "w.group.add(w.c); w.group.add(w.c)",
    "add_unhashable": "w.group.add([])",
    "discard": "show(w.group.discard(w.b))",
    "discard_absent": "w.group.discard(w.c); w.group.discard(99)",
    "remove": "show(w.group.remove(w.b))",
    "remove_absent": "w.group.remove(w.c)",
    "remove_absent_value": "w.group.remove('nobody')",
    "pop": "x = w.b.followers.pop()",
    "pop_one": "w.other.discard(w.c); show(w.other.pop())",
    "clear": "show(w.group.clear())",
    "update": "show(w.group.update([w.c], {w.a}, (w.b,)))",
    "update_nothing": "w.group.update()",
    "update_itself": "w.group.update(w.group)",
    "update_by_a_generator": "w.group.update(u for u in (w.a, w.c))",
    "update_by_what_cannot_be_iterated": "w.group.update([w.c], 3)",
    "difference_update": "w.group.difference_update([w.a], [w.c])",
    "difference_update_itself": "w.group.difference_update(w.group)",
    "intersection_update": "w.group.intersection_update(w.other)",
    "intersection_update_two": "w.group.intersection_update([w.a, w.b], [w.b])",
    "symmetric_difference_update": "w.group.symmetric_difference_update(w.other)",
    "symmetric_difference_update_itself": "w.group.symmetric_difference_update(w.group)",
    "or": "w.group |= w.other",
    "and": "w.group &= w.other",
    "minus": "w.group -= w.other",
    "xor": "w.group ^= w.other",
    "or_itself": "w.group |= w.group",
    "minus_itself": "w.group -= w.group",
    "and_itself": "w.group &= w.group",
    "or_of_a_list": "w.group |= [w.c]",
    "local_alias": "s = w.group; s |= {w.c}; s.add(w.a); show(s is w.group)",
    "union_is_new": "x = w.group | w.other; x.add(1); show(len(x), len(w.group))",
    "copy_is_new": "x = w.group.copy(); x.clear(); show(len(w.group))",
    "bound_method": "f = w.group.add; f(w.c)",
    "map_of_a_method": "list(map(w.group.add, [w.c, w.a]))",
    "unbound_method": "Set.add(w.group, w.c)",
    "loop": "for u in list(w.group): w.group.remove(u); w.other.add(u)",
    "while": "while w.other: w.other.pop()",
    "a_number": "w.group.add(1); w.group.add(1.0); w.group.add(True)",
    "aliased_sets": "w.a.followers = w.group; w.group.add(w.c); w.group.discard(w.b)",
    "group_replaced": "w.group = Set([w.c, w.a])",
    "read_only": "show(w.a in w.group, len(w.group), w.group == w.other, w.group <= w.other, bool(w.group))",
}


UPDATES = {
    **{f"field_{name}": text for name, text in FIELD_UPDATES.items()},
    **{f"set_{name}": text for name, text in SET_UPDATES.items()},
}


@cache
def program(mode: str) -> CodeType:
    """All operations in one program, compiled once; every test runs it afresh."""
    text = source(WORLD + "".join(f"\ndef {name}(w, show):\n    {code}\n" for name, code in UPDATES.items()))
    code = text if mode == "plain" else compile_in(text, mode).code
    filename = f"<{mode} updates>"
    linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)  # for `inspect`
    return compile(code, filename, "exec")


def run(mode: str, operation: str) -> list[object]:
    namespace: dict[str, object] = {"__name__": mode}
    exec(program(mode), namespace)
    namespace["operation"] = namespace[operation]
    return outputs(namespace)


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
@pytest.mark.parametrize("operation", UPDATES)
def test_an_update_does_what_python_does_and_answers_follow(operation: str, mode: str) -> None:
    expected = run("plain", operation)
    assert len(expected) > 6
    assert run(mode, operation) == expected


def test_the_right_side_is_evaluated_once_and_before_anything_else() -> None:
    program = """
    class O:
        pass

    @query
    def q(o):
        return {x for x in o.f}

    def main(show):
        calls = []
        def make():
            calls.append(1)
            return Set([len(calls)])
        def where():
            calls.append("where")
            return o
        o = O()
        o.f = make()
        show(q(o), calls)
        where().f = make()
        show(q(o), calls)
        setattr(where(), "f", make())
        show(q(o), calls)
        o.f = Set()
        show(q(o))
        s = o.f
        s.add(7)
        show(q(o), s is o.f)
    """
    same_both_ways(program)


def test_a_kept_answer_does_not_change_and_is_the_callers() -> None:
    program = """
    @query
    def q(s):
        return {x for x in s if x > 1}

    def main(show):
        s = Set([1, 2, 3])
        kept = q(s)
        s.add(9)
        show(kept, q(s))
        kept.add(100)
        kept.discard(2)
        show(kept, q(s))
        for x in q(s):
            s.discard(x)
        show(q(s))
    """
    same_both_ways(program)


def test_two_users_with_one_email_are_counted() -> None:
    program = """
    class U:
        def __init__(self, e):
            self.e = e

    @query
    def q(s):
        return {u.e for u in s}

    def main(show):
        a, b = U("x"), U("x")
        s = Set([a, b])
        show(q(s))
        s.remove(a)
        show(q(s))
        b.e = "y"
        show(q(s))
        s.add(a)
        a.e = "y"
        s.discard(b)
        show(q(s))
    """
    same_both_ways(program)


def test_an_exception_in_a_condition_skips_the_combination_and_never_leaves_an_update() -> None:
    program = """
    class U:
        def __init__(self, n):
            self.n = n

    @query
    def q(s):
        return {10 // u.n for u in s if 100 % u.n >= 0}

    def main(show):
        a, b = U(0), U(5)
        s = Set([a, b])
        show(q(s))
        b.n = "text"
        show(q(s))
        b.n = None
        a.n = 2
        show(q(s))
        del a.n
        show(q(s))
        a.n = 3
        s.add(17)
        show(q(s))
    """
    same_both_ways(program)


def test_a_truth_that_an_object_computes_never_escapes_from_an_update_and_is_refused_by_the_query() -> None:
    program = """
    class Sour:
        def __bool__(self):
            raise ValueError("sour")

    class U:
        def __init__(self, n):
            self.n = n

    @query
    def q(s):
        return {u.k for u in s if u.n}

    def main(show):
        a, b = U(1), U(2)
        a.k, b.k = 1, 2
        s = Set([a, b])
        show(q(s))
        b.n = Sour()
        try:
            show(q(s))
        except Exception as error:
            show(error.code)
    """
    for mode in MODES:
        assert run_compiled(source(program), mode)[-1:] == [("'IQ301'",)], mode


def test_updates_inside_methods_loops_and_nested_functions_are_seen() -> None:
    program = """
    class Tree:
        def __init__(self, value):
            self.value, self.children = value, Set()
        def grow(self, value):
            child = Tree(value)
            self.children.add(child)
            return child
        def bump(self):
            self.value += 1
            for child in self.children:
                child.bump()

    @query
    def q(t):
        return {g.value for c in t.children for g in c.children if g.value > c.value}

    def main(show):
        root = Tree(0)
        show(q(root))
        def fill():
            for i in range(3):
                middle = root.grow(i)
                (lambda: [middle.grow(j) for j in range(4)])()
        fill()
        show(q(root))
        root.bump()
        show(q(root))
        for child in root.children:
            for grand in child.children:
                grand.value = -grand.value
        show(q(root))
        [setattr(c, "value", -9) for c in root.children]
        show(q(root))
    """
    same_both_ways(program)


def test_a_view_is_live_and_an_answer_is_not() -> None:
    program = """
    @query
    def q(s):
        return {x * 2 for x in s}

    def main(show):
        s = Set([1])
        view, answer = q.view(s), q(s)
        s.add(2)
        show(set(view), answer, len(view), 4 in view)
        s.clear()
        show(set(view), answer)
    """
    same_both_ways(program)


def test_what_an_update_in_place_raises_goes_on_and_is_raised_once() -> None:
    same_both_ways(
        """
class O:
    def __init__(self):
        self.f = 0

class Counting:
    tried = 0

    @property
    def f(self):
        return 1

    @f.setter
    def f(self, value):
        Counting.tried += 1
        raise AttributeError("never")

class NoKey:
    __hash__ = None

class Late:
    def __hash__(self):
        return self.number

@query
def q(s):
    return {o.f for o in s}

def put(o, value):
    o.f = value

def main(show):
    o = O()
    s = Set([o])
    show(q(s))
    put(o, 2)
    show(q(s))
    for other in (Counting(), 3, None, NoKey(), Late()):
        try:
            put(other, 4)
        except (TypeError, AttributeError) as error:
            show(type(error).__name__, Counting.tried)
        else:
            show(other.f)
    show(q(s))
""",
        modes=("filtered",),
    )


def test_a_view_is_asked_about_what_has_no_hash_as_a_set_is() -> None:
    program = """
@query
def q(s): return {x for x in s}
def main(show):
    view = q.view(Set([1]))
    show(1 in view, 2 in view)
    for x in ([], {}, bytearray()):
        try:
            show(x in view)
        except TypeError:
            show("no hash")
"""
    same_both_ways(program)
