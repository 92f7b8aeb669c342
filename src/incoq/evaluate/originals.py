"""The original of a program: the library taken out of it, its queries run as written at each call.

Before:    from incoq import Set, lru, query
           any(c2 > c for ((kind, c2, sender), _) in self.received if kind == "ack")
After:     Set, lru, query = …                     # a plain set, and decorators that do nothing
           any(c2 > c for row in self.received
               if type(row) is tuple and len(row) == 2 and type(row[0]) is tuple and len(row[0]) == 3
               for ((kind, c2, sender), _) in (row,) if kind == "ack")
Invariant: where no row has another form than its pattern, the program does what plain Python does; a row of
           another form is passed over, as a query passes it over
Cost:      the tests of the form, for each row; Python does not build the tuple of one element

Sets that are elements of messages are compared by identity, which a plain `set` does not do: a program that
needs it gets a subclass.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_IMPORT = re.compile(r"^from incoq import .*\n", re.MULTILINE)
_DECORATORS = """def query(*functions, **options):
    return functions[0] if functions else lambda function: function


def lru(size):
    return size


"""
PLAIN_SET = "Set = set\n"
SET_BY_IDENTITY = """class Set(set):
    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__
"""
_ROW = "_row"


def original(text: str, name: str, *, by_identity: bool, forms: bool) -> ast.Module:
    """The tree of the program without the library; `forms` says whether rows may be of other forms."""
    if len(_IMPORT.findall(text)) != 1:
        raise ValueError(f"{name} should import from incoq in one line")
    without = _IMPORT.sub(lambda _: _DECORATORS + (SET_BY_IDENTITY if by_identity else PLAIN_SET), text)
    tree = ast.parse(without)
    if forms:
        tree = _Forms().visit(tree)
    return ast.fix_missing_locations(tree)


class _Forms(ast.NodeTransformer):
    """Puts a test of the form before each pattern of a comprehension."""

    def __init__(self) -> None:
        self.depth = 0

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._visit_comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._visit_comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._visit_comprehension(node)

    def _visit_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> ast.AST:
        self.depth += 1
        node.generators = [part for clause in node.generators for part in self._tested(clause)]
        self.depth -= 1
        self.generic_visit(node)
        return node

    def _tested(self, clause: ast.comprehension) -> Iterator[ast.comprehension]:
        if not isinstance(clause.target, ast.Tuple):
            yield clause
            return
        row = f"{_ROW}{self.depth}_{clause.target.lineno}_{clause.target.col_offset}"
        tests = [ast.parse(test, mode="eval").body for test in _tests(clause.target, row)]
        yield ast.comprehension(ast.Name(row, ast.Store()), clause.iter, tests, 0)
        one = ast.Tuple([ast.Name(row, ast.Load())], ast.Load())
        yield ast.comprehension(clause.target, one, clause.ifs, 0)


def _tests(pattern: ast.Tuple, place: str) -> Iterator[str]:
    """What must hold of a value for it to fit the pattern, from the outside in."""
    yield f"type({place}) is tuple and len({place}) == {len(pattern.elts)}"
    for number, element in enumerate(pattern.elts):
        if isinstance(element, ast.Tuple):
            yield from _tests(element, f"{place}[{number}]")
