"""What a name means, across modules and scopes: what comes from incoq, and what is no constant."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from both_ways import run_compiled, run_plain, same_both_ways

from incoq.compile import compile_path, compile_source
from incoq.errors import CompileError
from incoq.output import write_program

MAIN = """
def main():
    s = Set([1, 2, 3])
    print(sorted(large(s)))
    s.add(9)
    config.LIMIT = 5
    print(sorted(large(s)), sorted(inline(s)), sorted(config.limited()))
"""
CONFIG = """
from incoq import Set, query
LIMIT = 1
KEPT = Set([1, 5, 7])

@query
def limited():
    return {x for x in KEPT if x > LIMIT}
"""
WAYS_OF_IMPORT = [
    ("from base import Set, query, lru", "query"),
    ("from base import *", "query"),
    ("import base\nfrom base import Set", "base.query"),
    ("import base as b\nfrom base import Set", "b.query"),
    ("from base import Set, query as asked, other", "asked"),
]


def printed_both_ways(source: Path, mode: str = "filtered") -> str:
    """What `app.py` of a folder prints, compiled and uncompiled."""
    compiled = source.parent / "compiled"
    write_program(compile_path(source, mode), source, compiled)
    outputs = {
        subprocess.run(
            [sys.executable, "app.py"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout
        for folder in (source, compiled)
    }
    (output,) = outputs
    return output


@pytest.mark.parametrize("mode", ["filtered", "incremental"])
@pytest.mark.parametrize(("imports", "query"), WAYS_OF_IMPORT)
def test_what_a_module_passes_on_from_incoq_is_known(
    imports: str, query: str, mode: str, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "base.py").write_text("from incoq import Set, query, lru\nother = 1\n")
    (source / "config.py").write_text(CONFIG)
    (source / "app.py").write_text(
        f"{imports}\nimport config\n\n@{query}\ndef large(s):\n    return {{x for x in s if x > 1}}\n\n"
        f"def inline(s):\n    return {query}({{x for x in s if x > 2}})\n{MAIN}\nmain()\n"
    )
    assert printed_both_ways(source, mode) == "[2, 3]\n[2, 3, 9] [3, 9] [7]\n"
    assert "import incoq" not in (tmp_path / "compiled" / "app.py").read_text()


def test_a_query_of_another_module_is_found_by_the_whole_name_of_that_module(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for package, result in (("a", "x"), ("b", "-x")):
        (source / package).mkdir(parents=True)
        (source / package / "__init__.py").write_text("")
        (source / package / "util.py").write_text(
            f"from incoq import query\n@query\ndef q(s):\n    return {{{result} for x in s}}\n"
        )
    (source / "app.py").write_text(
        "from incoq import Set, query\nfrom b.util import q\n@query\ndef r(s): return {x for x in q(s)}\n"
        "print(sorted(r(Set([1, 2]))))\n"
    )
    assert printed_both_ways(source) == "[-2, -1]\n"


@pytest.mark.parametrize(
    "rebind",
    [
        "globals()['LIMIT'] = 2",
        "setattr(sys.modules[__name__], 'LIMIT', 2)",
        "me = sys.modules[__name__]; me.LIMIT = 2",
        "sys._getframe().f_globals['limit'.upper()] = 2",
        "[LIMIT := x for x in (2,)]",
        "rebind(2)",
    ],
)
def test_a_name_that_something_rebinds_is_no_constant(rebind: str) -> None:
    text = f"""
import sys
LIMIT = 1

@query
def large(s):
    return {{x for x in s if x > LIMIT}}

def rebind(value):
    global LIMIT
    LIMIT = value

{rebind}
def main(show):
    s = Set([1, 2, 3])
    show(large(s))
"""
    if "__name__" in rebind:  # the program is not imported under a name of its own here
        compiled = compile_source("from incoq import Set, query\n" + text)
        assert "large(s, LIMIT)" in compiled.code
    else:
        same_both_ways(text)


def test_a_variable_of_a_comprehension_around_a_query_is_passed_to_it() -> None:
    same_both_ways("""
x = 100
def each(s):
    return [query({y for y in s if y > x}) for x in (0, 2)]

def main(show):
    s = Set([1, 2, 3])
    show(each(s), {z: len(query({y for y in s if y > z})) for z in (0, 2)})
    s.add(7)
    show(each(s), sorted(len(query({y for y in s if y > z})) for z in (0, 5)))
""")


def test_a_local_name_that_hides_a_builtin_is_called() -> None:
    text = """
def own_len(s, len=lambda x: 42):
    return len({x for x in s})

def own_sum(s):
    sum = lambda g: 77
    return sum(x for x in s)

def own_max(s):
    def max(g):
        return "mine"
    return max(x for x in s)

def main(show):
    s = {1, 2}
    show(own_len(s), own_sum(s), own_max(s))
"""
    assert run_compiled(text, "filtered", unmarked=True) == run_plain(text)
    for body in ("len({x for x in s})", "{x for x in s if len({y for y in s if y > x}) > 1}"):
        with pytest.raises(CompileError) as refused:
            compile_source(f"from incoq import query\ndef f(s, len): return query({body})\n")
        assert refused.value.code in ("IQ202", "IQ209")


def test_in_the_body_of_a_class_a_query_sees_its_names_in_the_first_source_only() -> None:
    text = """
from incoq import Set, query
def make():
    lim = 2
    class C:
        s, lim = Set([5, 6]), 5
        w = query({y for y in s if CONDITION})
    return C.w
"""
    assert compile_source(text.replace("CONDITION", "y > 5")).sites
    with pytest.raises(CompileError, match="reads `lim`, which that class binds") as refused:
        compile_source(text.replace("CONDITION", "y > lim"))
    assert refused.value.code == "IQ209"


def test_a_program_is_compiled_without_what_it_does_not_use() -> None:
    compiled = compile_source("""
from incoq import Set, query

@query
def large(s):
    return {x for x in s if x > 1}

def make():
    return Set((1, 2, 3))
""")
    assert "def through" in compiled.support.text
    assert "def through" not in compiled.code
    assert 'class List(list):\n    """The program makes none that a query could reach."""\n' in compiled.code
    assert len(compiled.code.splitlines()) < 0.6 * len(compiled.support.text.splitlines())


def test_a_set_that_is_asked_for_before_it_is_made_is_missing_in_the_output_too() -> None:
    same_both_ways("""
@query
def all_of():
    return {x for x in KEPT}

try:
    early = all_of()
except Exception:
    early = "missing"
KEPT = Set([1, 2])

def main(show):
    show(early, all_of())
""")


MODEL = """
from incoq import Set
LIMIT, FIXED = 0, 2
KEPT = Set([1, 5])

def set_limit(value):
    global LIMIT
    LIMIT = value
"""


def test_a_global_of_another_module_is_read_if_nothing_rebinds_it(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "model.py").write_text(MODEL.replace("LIMIT, FIXED = 0, 2", "LIMIT = 0\nFIXED = 2"))
    text = (
        "import model\nfrom incoq import Set, query\n"
        "@query\ndef kept(s): return {x for x in s if x > model.FIXED if x in model.KEPT}\n"
        "s = Set([1, 2, 5])\nprint(kept(s))\nmodel.KEPT.discard(5)\nprint(kept(s))\n"
    )
    (source / "app.py").write_text(text)
    assert printed_both_ways(source) == "Set({5})\nSet()\n"
    (source / "app.py").write_text(text.replace("FIXED", "LIMIT"))
    with pytest.raises(CompileError, match=r"the module rebinds `model.LIMIT`") as refused:
        compile_path(source)
    assert refused.value.code == "IQ202"


def test_a_view_follows_a_global_and_a_variable_that_are_rebound() -> None:
    same_both_ways("""
LIMIT = 1

def set_limit(value):
    global LIMIT
    LIMIT = value

@query
def large(s):
    return {x for x in s if x > LIMIT}

def made(s):
    least = 1
    @query
    def above(t):
        return {x for x in t if x > least}
    def raise_it():
        nonlocal least
        least += 1
    return above.view(s), raise_it

def main(show):
    s = Set([1, 2, 3])
    view, (other, raise_it) = large.view(s), made(s)
    show(set(view), set(other))
    set_limit(2)
    raise_it()
    show(set(view), set(other), large(s))
    s.add(9)
    show(set(view), set(other))
""")


@pytest.mark.parametrize(
    "rebinding",
    [
        "put = setattr\ndef apply(m, **kw):\n    for k in kw: put(m, k, kw[k])\napply(config, LIMIT=15)",
        "list(map(setattr, [config], ['LIM' + 'IT'], [15]))",
        "from functools import partial\npartial(setattr, config)('LIM' + 'IT', 15)",
    ],
)
def test_a_constant_that_is_set_by_a_function_under_another_name_is_none(
    tmp_path: Path, rebinding: str
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "config.py").write_text("LIMIT = 10\n")
    (source / "app.py").write_text(f"""
import config
from incoq import Set, query

@query
def q(s):
    return {{x for x in s if x > config.LIMIT}}

s = Set([1, 11, 21])
print(sorted(q(s)))
{rebinding}
print(sorted(q(s)))
""")
    assert printed_both_ways(source) == "[11, 21]\n[21]\n"


RULES = """
from incoq import Set, query

class O:
    def __init__(self, v):
        self.v = v

@query
def large(s):
    return {x for x in s if x.v > 1}

def shown(s):
    return len(large(s)), sorted(x.v for x in large(s))
"""


@pytest.mark.parametrize("how", ["rules.large = fake", "setattr(rules, 'large', fake)"])
def test_a_query_to_which_another_module_assigns_is_asked_by_its_name(tmp_path: Path, how: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "rules.py").write_text(RULES)
    (source / "app.py").write_text(
        f"import rules\nfake = lambda s: set(s)\ns = rules.Set([rules.O(1), rules.O(2)])\n"
        f"print(rules.shown(s))\n{how}\nprint(rules.shown(s))\n"
    )
    assert printed_both_ways(source) == "(1, [2])\n(2, [1, 2])\n"


@pytest.mark.parametrize(
    "change",
    ["large.__code__ = small.__code__", "large.__defaults__ = (2,)", "large.__kwdefaults__['limit'] = 3"],
)
def test_a_function_that_gets_another_body_is_none_that_a_query_reads(change: str) -> None:
    program = """
from incoq import query

def large(x, limit=1): return x > limit
def small(x, limit=1): return x < limit

@query
def q(s): return {x for x in s if large(x)}

def later():
    """
    with pytest.raises(CompileError) as caught:
        compile_source(f"{program}{change}\n")
    assert caught.value.code == "IQ202"
