"""Each mistake that a newcomer is likely to make is answered by a message that tells what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import incoq
from incoq.codegen.prelude import WAYS_OUT
from incoq.errors import CODES

START = """\
from incoq import Set, query


class User:
    def __init__(self, name):
        self.name = name


"""
MISTAKES = {
    "the import is missing": (
        "@query\ndef q(s):\n    return {u for u in s}\n",
        "`query` is not imported; begin with `from incoq import Set, query`",
    ),
    "the package is not imported": (
        "@incoq.query\ndef q(s):\n    return {u for u in s}\n",
        "begin with `import incoq`",
    ),
    "a decorator that incoq does not have": (
        "import incoq\n\n@incoq.Query\ndef q(s):\n    return {u for u in s}\n",
        "a query is marked `@incoq.query`",
    ),
    "a name that incoq does not have": (
        "from incoq import Query\n",
        "a compiled program imports Set, query, lru",
    ),
    "options that are not named": (
        START + "@query('s')\ndef q(s):\n    return {u for u in s}\n",
        "write `@query`, or `@query(demand=...",
    ),
    "a loop for a query": (
        START + "@query\ndef q(s):\n    a = set()\n    for u in s:\n        a.add(u)\n    return a\n",
        "a loop that collects is such a comprehension",
    ),
    "a list for an answer": (
        START + "@query\ndef q(s):\n    return [u.name for u in s]\n",
        "write `{...}` for `[...]`",
    ),
    "a sorted answer": (
        START + "@query\ndef q(s):\n    return sorted(u.name for u in s)\n",
        "return the set itself, and order it where it is used",
    ),
    "a generator for a parameter": (
        START + "@query\ndef q(s):\n    return {x for x in s}\n\nq(x for x in (1, 2))\n",
        "hold the elements in a Set, a list or a tuple",
    ),
    "a misspelt field": (
        START + "@query\ndef q(s):\n    return {u.nmae for u in s}\n\nq(Set([User('a')]))\n",
        "nothing assigns the field `nmae`; did you mean `name`?",
    ),
    "a method in a condition": (
        START + "@query\ndef q(s):\n    return {u for u in s if u.is_old()}\n",
        "read the fields that it reads in the query itself",
    ),
    "a look-up by get": (
        START + "@query\ndef q(s, m):\n    return {u for u in s if m.get(u) == 1}\n",
        "write `m[k]`",
    ),
    "a dataclass": (
        "from dataclasses import dataclass\nfrom incoq import query\n\n@dataclass\nclass U:\n    age: int\n\n"
        "@query\ndef q(s):\n    return {u for u in s if u.age > 3}\n",
        "use `@dataclass(eq=False)`",
    ),
    "a name that nothing binds": (
        START + "@query\ndef q(s):\n    return {u.name for u in users}\n",
        "make it a parameter",
    ),
    "a return that is missing": (
        START + "@query\ndef q(s):\n    {u.name for u in s}\n",
        "program.py:11:5: error[IQ200]: the body of `q` is not one return\n"
        "        {u.name for u in s}\n        ^\n  help: write `return` before it",
    ),
    "a local variable": (
        START + "@query\ndef q(s):\n    old = 60\n    return {u.name for u in s if u.age > old}\n",
        "write what `old` is where it is used",
    ),
    "a policy that is not imported": (
        START + "@query(keep=lru(9))\ndef q(s):\n    return {u for u in s}\n",
        "`lru` is not imported from incoq",
    ),
    "a policy of nothing": (
        START + "from incoq import lru\n@query(keep=lru(0))\ndef q(s):\n    return {u for u in s}\n",
        "n of lru(n) is a positive number",
    ),
    "a demand parameter that there is not": (
        START + "@query(demand='t')\ndef q(s):\n    return {u for u in s}\n",
        "program.py:9:15: error[IQ208]: `t` is not a parameter of `q`",
    ),
    "an asynchronous query": (
        START + "@query\nasync def q(s):\n    return {u for u in s}\n",
        "write `def`; asynchronous functions ask a query as they call any function",
    ),
    "a class for a query": (START + "@query\nclass Q:\n    pass\n", "`query` of incoq is used as a value"),
    "another name for query": (START + "ask = query\n", "`query` of incoq is used as a value"),
    "a policy that is kept": (
        START + "from incoq import lru\nPOLICY = lru(9)\n",
        "`lru` of incoq is used as a value",
    ),
    "an inline query of two arguments": (
        START + "def f(s):\n    return query({u for u in s}, 2)\n",
        "ask in place: `query({... for ... in ...})`",
    ),
    "a property that is a query": (
        START + "class C:\n    @property\n    @query\n    def q(self):\n        return {u for u in self.s}\n",
        "leave `@property` out, or put it on a function that asks the query",
    ),
    "a query that is called with too few arguments": (
        START + "@query\ndef r(s, n):\n    return {u for u in s if u.age > n}\n\n"
        "@query\ndef q(s):\n    return {u.name for u in r(s)}\n",
        "error[IQ209]: `r` has 2 parameters, and is given 1",
    ),
    "what time it is": (
        START + "import time\n@query\ndef q(s):\n    return {u for u in s if u.due < time.time()}\n",
        "call it where the query is asked, and pass what it gives",
    ),
    "the largest by a key": (
        START + "@query\ndef q(s):\n    return max(s, key=lambda u: u.age)\n",
        "put the key first",
    ),
    "a range for a source": (
        START + "@query\ndef q(n):\n    return {i for i in range(n)}\n",
        "pass it as a parameter",
    ),
    "a helper with a statement": (
        START + "def old(u):\n    limit = 60\n    return u.age > limit\n\n"
        "@query\ndef q(s):\n    return {u for u in s if old(u)}\n",
        "write `old` as one `return`",
    ),
    "a list by position": (
        START + "@query\ndef q(s):\n    return {u.friends[0] for u in s}\n\n"
        "u = User('a')\nu.friends = [u]\nq(Set([u]))\n",
        "(keep what stands there in a field or a dict, or hold a tuple)",
    ),
    "a list that other code made": (
        START + "import json\n@query\ndef q(s):\n    return {x for x in s}\n\nq(json.loads('[1]'))\n",
        "whose changes cannot be seen (other code made it: hold a copy of your own, `list(x)`)",
    ),
    "a list that other code made, beside a set": (
        START + "import json\n@query\ndef q(t, s):\n    return {x for x in s if x in t}\n\n"
        "q(Set(), json.loads('[1]'))\n",
        "q was asked for a list, whose changes cannot be seen (other code made it",
    ),
    "what cannot be a key, beside a set": (
        START + "@query\ndef q(s, v):\n    return {x for x in s if x == v}\n\nq(Set(), bytearray(b'1'))\n",
        "[IQ303] q was asked for a value that cannot be a dict key",
    ),
    "no query at all": ("print(1)\n", "program.py: notice: no query was found, so nothing is maintained"),
    "what only Python's scopes show": (
        START + "x = 1\nreturn x\n",
        "program.py:10:1: error[IQ101]: syntax error: 'return' outside function",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_tells_what_to_do(mistake: str, tmp_path: Path) -> None:
    text, told = MISTAKES[mistake]
    (tmp_path / "program.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "incoq.cli", "run", "program.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert told in done.stderr
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(("made", "grown"), [("{1, 2}", "add"), ("set([1, 2])", "add"), ("[1, 2]", "append")])
def test_plain_sets_and_lists_need_no_message_because_they_work(made: str, grown: str) -> None:
    text = (
        "from incoq import query\n\n@query\ndef q(s):\n    return {x for x in s if x > 1}\n\n"
        f"s = {made}\na = len(q(s))\ns.{grown}(7)\nb = len(q(s))\n"
    )
    names: dict[str, object] = {}
    exec(incoq.compile_source(text).code, names)
    assert (names["a"], names["b"]) == (1, 2)


def test_fields_of_other_peoples_objects_are_no_slip() -> None:
    text = "from incoq import query\n@query\ndef q(days):\n    return {d.month for d in days}\n"
    assert incoq.compile_source(text).notices == ()


def test_a_field_that_is_only_read_by_name_with_a_default_is_no_slip() -> None:
    text = START + "@query\ndef q(s):\n    return {getattr(u, 'nmae', 0) for u in s}\n"
    assert incoq.compile_source(text).notices == ()


def test_compiled_programs_tell_the_same_way_out() -> None:
    assert {code: CODES[code][1] for code in WAYS_OUT} == WAYS_OUT
