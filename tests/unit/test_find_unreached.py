"""Which containers stay of Python's own classes where no query is marked: names lead from them to none."""

from __future__ import annotations

import ast

import pytest

from incoq.codegen.find_unreached import find_unreached

QUERY = "def ask(o): return {x for x in o.kept}\n"

REACHED = {
    "assigned": "def f(o): o.kept = ['yes']",
    "assigned with a type": "def f(o):\n    o.kept: object = ['yes']",
    "assigned in a tuple": "def f(o): o.other, o.kept = ['no'], ['yes']",
    "unpacked": "def f(o, pair):\n    pair = [['yes']]\n    *o.other, o.kept = pair",
    "by an operator": "def f(o): o.kept += ['yes']",
    "by a walrus": "def f(o):\n    if (made := ['yes']):\n        o.kept = made",
    "by a loop": "def f(o):\n    for o.kept in [['yes']]: pass",
    "by an asynchronous loop": "async def f(o):\n    async for o.kept in [['yes']]: pass",
    "by a context manager": "def f(o, open_):\n    with open_(['yes']) as o.kept: pass",
    "through a variable": "def f(o):\n    made = ['yes']\n    other = ['no']\n    o.kept = made",
    "through a variable of the module": "made = ['yes']\ndef f(o): o.kept = made",
    "through a parameter": "def g(o, made, other): o.kept = made\ndef f(o): g(o, ['yes'], ['no'])",
    "through a keyword": "def g(o, *, made): o.kept = made\ndef f(o): g(o, made=['yes'], other=['no'])",
    "through a default": "def g(o, made=['yes'], *, other=['no'], last): o.kept = made",
    "through the default of a keyword": "def g(o, *, made=['yes'], last): o.kept = made",
    "through the rest of the parameters": "def g(o, *made): o.kept = made[0]\ndef f(o): g(o, ['yes'])",
    "through spread arguments": "def g(o, made): o.kept = made\ndef f(o): g(*[o, ['yes']])",
    "through spread keywords": "def g(o, made): o.kept = made\ndef f(o): g(o, **{'made': ['yes']})",
    "through a constructor": "class C:\n    def __init__(self, made): self.kept = made\nC(['yes'])",
    "through a method": "class C:\n    def put(self, made): self.kept = made\nC().put(['yes'])",
    "through a base": "class C(B):\n    def __init__(self): B.__init__(self, ['yes'])\n"
    "class B:\n    def __init__(self, made): self.kept = made",
    "from a function": "def made(): return ['yes']\ndef other(): return ['no']\ndef f(o): o.kept = made()",
    "from a generator": "def made(): yield ['yes']\ndef f(o): o.kept = next(made())",
    "from an inner function's variable": "def f(o):\n    made = ['yes']\n    def g(): o.kept = made\n    g()",
    "of a global": "def f(o):\n    global made\n    made = ['yes']\ndef g(o): o.kept = made",
    "put into it": "def f(o):\n    o.kept.append(['yes'])\n    o.other.append(['no'])",
    "put at a key": "def f(o): o.kept['k'] = ['yes']",
    "chosen": "def f(o, p): o.kept = ['yes'] if p else ('yes', list())",
    "the first that is true": "def f(o): o.kept = o.given or ['yes']",
    "in a comprehension": "def f(o): o.kept = [['yes'] for i in o.numbers]",
    "in a comprehension of a dict": "def f(o): o.kept = {k: ['yes'] for k in o.numbers}",
    "at a key of a table": "table = {'k': ['yes']}\ndef f(o): o.kept = table['k']",
    "got from a table": "table = {'k': ['yes']}\ndef f(o): o.kept = table.get('k')",
    "a factory": "def f(o): o.kept = defaultdict(list)",
    "by the variable of a comprehension": "def f(o): o.kept = [made for made in [['yes']]]",
    "from an inner function": "def f(o):\n    def made(): return ['yes']\n    o.kept = made()",
    "from another module": "made = ['yes']\ndef f(o, m): o.kept = m.made",
    "through the first of the parameters": "def g(o, made, other): o.kept = made\n"
    "def f(o): g(o, ['yes'], ['no'])",
    "through the last of the parameters": "def g(o, other, made): o.kept = made\n"
    "def f(o): g(o, ['no'], ['yes'])",
    "through the first parameter of a method": "class C:\n    def put(self, made, other): self.kept = made\n"
    "C().put(['yes'], ['no'])",
    "through the last parameter of a method": "class C:\n    def put(self, other, made): self.kept = made\n"
    "C().put(['no'], ['yes'])",
    "through the first parameter beside spread arguments": "class C:\n"
    "    def put(self, made, other): self.kept = made\nC().put(['yes'], *['no'])",
    "a field of a class": "class C:\n    kept = ['yes']",
}
MADE = {"['yes']", "list", "list()"}
PLAIN = {
    "another field": "def f(o): o.other = ['no']",
    "what is compared": "def f(o): o.kept = o.x == ['no']",
    "the condition of a choice": "def f(o): o.kept = 1 if ['no'] else 2",
    "a function that makes one": "def f(o): o.kept = lambda: ['no']",
    "an index": "def f(o): o.kept = o.table[tuple(['no'])]",
    "another variable of the name": "def f(o):\n    made = ['no']\ndef g(o, made): o.kept = made",
    "a variable of the name in another function": "def f():\n    made = ['no']\n"
    "def g(o):\n    made = o.x\n    o.kept = made",
    "a variable of the name in an inner function": "def g(o):\n    made = o.x\n"
    "    def f():\n        made = ['no']\n    o.kept = made",
    "what a function of the field's name gives": "def made(): return ['no']\ndef f(o): o.kept = o.made",
    "what a class gets that has no constructor for it": "class C:\n"
    "    def put(self, made): self.kept = made\nC(['no'])",
    "a factory": "def f(o): o.other = defaultdict(list)",
    "a call of a call": "def f(o): o.other = o.make()(['no'])",
    "sorted": "def f(o): o.other = sorted('no')",
    "split": "def f(o): o.other = o.text.split()",
    "a slice": "def f(o): o.other = o.text[1:]",
}


@pytest.mark.parametrize("text", REACHED.values(), ids=REACHED)
def test_what_comes_to_a_query_is_maintained(text: str) -> None:
    tree = ast.parse(QUERY + text)
    plain = {ast.unparse(node) for node in find_unreached([tree], [tree.body[0].body[0].value])}  # type: ignore[attr-defined]
    assert not plain & MADE
    assert ("['no']" in plain) == ("['no']" in text)


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_what_does_not_come_to_a_query_stays_plain(text: str) -> None:
    tree = ast.parse(QUERY + text)
    plain = find_unreached([tree], [tree.body[0].body[0].value])  # type: ignore[attr-defined]
    assert len(plain) == 1


def test_other_modules_are_followed_too() -> None:
    asking = ast.parse(QUERY)
    making = ast.parse("import asking\ndef f(o): o.kept = g()\ndef g(): return ['yes'] + ['no'][:1]")
    query = asking.body[0].body[0].value  # type: ignore[attr-defined]
    assert not find_unreached([asking, making], [query])
