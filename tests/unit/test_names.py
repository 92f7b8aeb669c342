"""Whatever the program calls its things, generated names are others."""

from __future__ import annotations

import keyword

import pytest
from both_ways import MODES, compile_in, same_both_ways, source

from incoq import CompileError, compile_source
from incoq.names import NameSupply

# Names that generated code would use, names of its prelude, and builtins that it calls.
AWKWARD = [
    "tag_u",
    "tag_s",
    "r_q",
    "r_query_2",
    "fil_inv_member",
    "inv_member",
    "inv_n",
    "demand_q",
    "ask_q",
    "set_n",
    "del_n",
    "add_tag_u",
    "keep_q",
    "drop_q",
    "view_q",
    "release_q",
    "demanded_q",
    "Set_2",
    "PlainSet",
    "same",
    "plain",
    "equal",
    "contains",
    "elements",
    "holds",
    "stored",
    "steady",
    "keyable",
    "watchable",
    "MISSING",
    "REFUSED",
    "SOURCES",
    "View",
    "Demanded",
    "set_add",
    "set_discard",
    "unkeyed",
    "refuse",
    "x",
    "x_2",
    "o",
    "value",
    "old",
    "image",
    "answer",
    "result",
    "count",
    "ok",
    "item",
    "self",
    "cls",
    "s_n",
    "u_n",
    "u_n_now",
    "u_again",
    "any_1",
    "value_1",
    "part_1",
    "adopt",
    "ADOPTED",
    "SETTERS",
    "DELETERS",
    "set_attribute",
    "delete_attribute",
    "maintain_r_q",
    "IncoqRuntimeError",
    "AbstractSet",
    "k",
    "v",
    "T",
    "N",
]
BUILTINS = [
    "len",
    "tuple",
    "set",
    "list",
    "dict",
    "isinstance",
    "getattr",
    "hash",
    "any",
    "map",
    "print",
    "type",
    "AttributeError",
    "Exception",
    "TypeError",
    "frozenset",
    "range",
    "filter",
    "next",
    "iter",
    "super",
]

# NAME is a parameter, another query's variable and a global, one after the other.
AS_PARAMETER = """
class O:
    def __init__(self, n):
        self.n = n
    def __repr__(self):
        return f"O({self.n})"

@query
def q(NAME, u_):
    return {NAME.n + u_.n for x_ in NAME.f if x_ in u_.f if x_.n > 0}

def main(show):
    a, b, c = O(1), O(2), O(3)
    a.f, b.f = Set([c]), Set([c])
    show(q(a, b))
    c.n = 0
    show(q(a, b))
    c.n, a.n = 5, 7
    show(q(a, b), q(b, a))
    a.f.remove(c)
    show(q(a, b))
    a.f.add(c)
    del c.n
    show(q(a, b), len(q.demanded))
    q.release(a, b)
    show(len(q.demanded))
"""
AS_VARIABLE = """
class O:
    def __init__(self, n):
        self.n = n

@query
def q(p, t):
    return {NAME.n for NAME in p if NAME in t if NAME.n > 0 if (NAME, 1) not in t}

def main(show):
    a, b = O(1), O(2)
    p, t = Set([a, b]), Set([a, b])
    show(q(p, t))
    a.n = 5
    t.discard(b)
    show(q(p, t))
    t.add((a, 1))
    show(q(p, t))
    t.remove((a, 1))
    p.clear()
    show(q(p, t))
"""
AS_FIELD = """
class O:
    def __init__(self, n):
        self.NAME = n

@query
def q(p, t):
    return {u.NAME for u in p if u.NAME > 0 if u.NAME not in t}

def main(show):
    a, b = O(1), O(2)
    p, t = Set([a, b]), Set()
    show(q(p, t))
    a.NAME = 5
    t.add(2)
    show(q(p, t))
    setattr(b, "NAME", 7)
    del a.NAME
    show(q(p, t))
"""
AS_GLOBAL = """
NAME = 10

class O:
    def __init__(self, n):
        self.n = n

@query
def q(p):
    return {u.n for u in p if u.n > NAME}

def main(show):
    a, b = O(11), O(2)
    p = {a, b}
    show(q(p), NAME)
    b.n = 12
    show(q(p), NAME)
    p -= {a}
    show(q(p))
"""
AS_QUERY = """
class O:
    def __init__(self, n):
        self.n = n

@query
def NAME(p):
    return {u.n for u in p if u.n > 1}

def main(show):
    a, b = O(11), O(2)
    p = Set([a, b])
    show(NAME(p))
    b.n = 0
    show(NAME(p), len(NAME.view(p)), len(NAME.demanded))
"""


@pytest.mark.parametrize("name", [*AWKWARD, *BUILTINS])
def test_a_variable_may_have_any_name(name: str) -> None:
    same_both_ways(AS_VARIABLE.replace("NAME", name), ("filtered",))


@pytest.mark.parametrize("name", [*AWKWARD[::2], *BUILTINS])
def test_a_parameter_may_have_any_name(name: str) -> None:
    same_both_ways(AS_PARAMETER.replace("NAME", name), ("filtered",))


@pytest.mark.parametrize("name", [n for n in AWKWARD if n != "self"][::3] + BUILTINS[::3])
def test_a_field_may_have_any_name(name: str) -> None:
    same_both_ways(AS_FIELD.replace("NAME", name), ("filtered",))


@pytest.mark.parametrize("name", [n for n in AWKWARD if n not in ("x", "u_n")][::3])
def test_a_global_may_have_any_name(name: str) -> None:
    same_both_ways(AS_GLOBAL.replace("NAME", name), ("incremental",))


@pytest.mark.parametrize("name", [*AWKWARD[::4], "Query", "_private", "é"])
def test_a_query_may_have_any_name(name: str) -> None:
    same_both_ways(AS_QUERY.replace("NAME", name), ("filtered",))


def test_a_parameter_may_be_called_set() -> None:
    program = """
    @query
    def q(Set, t):
        return {x for x in Set if x in t}

    def main(show):
        a, b = make([1, 2]), make([2, 3])
        show(q(a, b))
        a.add(3)
        show(q(a, b))
    """
    same_both_ways(program, MODES, header="from incoq import Set, query\nmake = Set\n")


def test_a_program_may_have_a_class_called_set_of_its_own() -> None:
    program = """
    class Set:
        pass

    @query
    def q(t):
        return {x.n for x in t}

    def main(show):
        o = Set()
        o.n = 1
        t = IncoqSet([o])
        show(q(t))
        o.n = 2
        show(q(t), type(o).__name__)
    """
    same_both_ways(program, MODES, header="from incoq import Set as IncoqSet, query\n")


def test_a_name_and_the_same_name_with_an_underscore_stay_two() -> None:
    program = """
    @query
    def q(len, len_):
        return {(tuple, tuple_) for tuple in len for tuple_ in len_ if tuple < tuple_}

    def main(show):
        a, b = Set([1, 2]), Set([2, 3])
        show(q(a, b))
        a.add(0)
        b.discard(3)
        show(q(a, b))
    """
    same_both_ways(program)


def test_underscored_prelude_names_stay_two() -> None:
    program = """
    @query
    def q(x, x_2, self):
        return {o for o in x if o in x_2 if o in self}

    def main(show):
        a, b, c = Set([1, 2]), Set([2, 3]), Set([2])
        show(q(a, b, c))
        a.add(3); c.add(3); b.discard(2)
        show(q(a, b, c))
    """
    same_both_ways(program)


def test_the_program_may_use_a_name_of_incoq_under_another() -> None:
    program = """
    @iq.query
    def q(s):
        return {x + 1 for x in s}

    def main(show):
        s = iq.Set([1])
        show(q(s))
        s.add(5)
        show(q(s))
    """
    same_both_ways(program, MODES, header="import incoq as iq\n")


def test_errors_of_incoq_are_caught_by_whatever_name_they_have() -> None:
    program = """
    @iq.query
    def q(s):
        return {x + 1 for x in s}

    def main(show):
        try:
            q(iter([1]))
        except iq.IncoqError as error:
            show(error.code, math.floor(1.5))
    """
    same_both_ways(program, MODES, header="import math, incoq as iq\n")


def test_what_a_compiled_program_has_not_of_incoq_is_refused() -> None:
    with pytest.raises(CompileError, match=r"2:7: error\[IQ209\]: `compile_path` of incoq") as fault:
        compile_source("import incoq\nuse = incoq.compile_path\n")
    assert "imports Set, query, " in fault.value.help


def test_a_supply_never_gives_a_name_twice_nor_a_taken_one_nor_a_keyword_nor_a_builtin() -> None:
    supply = NameSupply({"a", "a_2", "tag"})
    given = [supply.fresh(p) for p in ["a", "a", "tag", "for", "len", "len", "b"]]
    assert given == ["a_3", "a_4", "tag_2", "for_2", "len_2", "len_3", "b"]
    assert not any(map(keyword.iskeyword, given))


def test_every_global_of_the_output_is_new_to_the_program() -> None:
    text = source(AS_VARIABLE.replace("NAME", "u"))
    code = compile_in(text, "filtered").code
    assert code.count("\ndef q(") == 1
    assert code.count("\nclass O") == 1
