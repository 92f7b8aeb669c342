"""Count loop iterations: give Python code a counter for each of its loops.

Before:    for group in inv_member.get(u, ()):
               ...
After:     for group in inv_member.get(u, ()):
               counts[3] += 1
               ...
Invariant: the code does what it did; `counts[n]` is how often the body of loop n was entered.
Cost:      one list update for each iteration

A loop is a `for`, a `while` or a clause of a comprehension. `counts` is a list of the caller's, which must be
in the namespace that the code runs in under the name given here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Loop:
    """A loop of the code: the function around it (`Set.add`; empty at module level), and its line."""

    function: str
    line: int


def count_loops(tree: ast.Module, counts: str, first: int = 0) -> list[Loop]:
    """Put a counter into every loop of `tree`, in place; loop n of the list counts in `counts[first + n]`."""
    counter = _Counter(counts, first)
    counter.visit(tree)
    ast.fix_missing_locations(tree)
    return counter.loops


class _Counter(ast.NodeTransformer):
    def __init__(self, counts: str, first: int) -> None:
        self.counts, self.first = counts, first
        self.loops: list[Loop] = []
        self.around: list[str] = []

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.around.append(name)
                self.generic_visit(node)
                self.around.pop()
                return node
            case ast.For() | ast.AsyncFor() | ast.While():
                number = self._loop(node.lineno)
                self.generic_visit(node)
                node.body.insert(
                    0, ast.AugAssign(self._place(number, ast.Store()), ast.Add(), ast.Constant(1))
                )
                return node
            case ast.comprehension():
                number = self._loop(getattr(node.target, "lineno", 0))
                self.generic_visit(node)
                node.ifs.insert(0, self._always(number))
                return node
        return self.generic_visit(node)

    def _loop(self, line: int) -> int:
        self.loops.append(Loop(".".join(self.around), line))
        return self.first + len(self.loops) - 1

    def _place(self, number: int, context: ast.expr_context) -> ast.Subscript:
        return ast.Subscript(ast.Name(self.counts, ast.Load()), ast.Constant(number), context)

    def _always(self, number: int) -> ast.expr:
        """A condition that counts and holds: `counts.__setitem__(n, counts[n] + 1) is None`."""
        set_item = ast.Attribute(ast.Name(self.counts, ast.Load()), "__setitem__", ast.Load())
        more = ast.BinOp(self._place(number, ast.Load()), ast.Add(), ast.Constant(1))
        return ast.Compare(
            ast.Call(set_item, [ast.Constant(number), more], []), [ast.Is()], [ast.Constant(None)]
        )
