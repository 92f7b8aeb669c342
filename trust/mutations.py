"""Small changes of the source, one at a time: cosmic-ray's operators, and three that it lacks.

Of operators that replace one sign by any other, those are taken that are hardest to see (`<` by `<=`, `is` by
`is not`): most others end in a TypeError at once. What only types or docstrings say is left alone.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "incoq"
PHASES = ("planning", "invariants", "codegen")

Position = tuple[int, int]

BINARY = (
    "Add_Sub",
    "Sub_Add",
    "Mul_Add",
    "FloorDiv_Mul",
    "Mod_Add",
    "BitOr_BitAnd",
    "BitAnd_BitOr",
    "BitXor_BitOr",
)
COMPARED = (
    "Eq_NotEq", "NotEq_Eq", "Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt",
    "Is_IsNot", "IsNot_Is",
)  # fmt: skip
OTHERS = (
    "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub", "AddNot", "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer", "RemoveDecorator",
    "ZeroIterationForLoop",
)  # fmt: skip


class Replaced(Operator):  # type: ignore[misc]
    """An operator that writes other text in place of a node's child."""

    def places(self, node: Any) -> Iterator[tuple[int, str]]:
        """The children to replace, each with its text."""
        raise NotImplementedError

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        """Where it applies."""
        for index, _ in self.places(node):
            yield node.children[index].start_pos, node.children[index].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """The node with the text in place."""
        child, text = list(self.places(node))[index]
        node.children[child] = parso.parse(node.children[child].get_first_leaf().prefix + text)
        return node

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        """None: only cosmic-ray's own tests ask for them."""
        return ()


class NegateMembership(Replaced):
    """`x in s` becomes `x not in s`, and the other way round."""

    def places(self, node: Any) -> Iterator[tuple[int, str]]:
        """The signs of a comparison that ask for membership."""
        if node.type == "comparison":
            for index, child in enumerate(node.children[1::2]):
                found = " ".join(child.get_code().split())
                if found in ("in", "not in"):
                    yield 2 * index + 1, "not in" if found == "in" else "in"


class NegateFilter(Replaced):
    """`for x in s if p` becomes `for x in s if not (p)`."""

    def places(self, node: Any) -> Iterator[tuple[int, str]]:
        """The condition of a comprehension."""
        if node.type == "comp_if":
            yield 1, f"not ({node.children[1].get_code().strip()})"


class DropStatement(Replaced):
    """A call, or an assignment of a field or an item, that stands alone becomes `pass`."""

    def places(self, node: Any) -> Iterator[tuple[int, str]]:
        """The statement of a line."""
        if node.type == "simple_stmt":
            inner = node.children[0]
            target = inner.children[0] if inner.type == "expr_stmt" else inner
            if target.type == "atom_expr" and (inner is target or inner.children[1].type != "annassign"):
                yield 0, "pass"


OWN = {operator.__name__: operator for operator in (NegateMembership, NegateFilter, DropStatement)}
OPERATORS = (
    *(f"ReplaceBinaryOperator_{pair}" for pair in BINARY),
    *(f"ReplaceComparisonOperator_{pair}" for pair in COMPARED),
    *OTHERS,
    *OWN,
)


@dataclass(frozen=True)
class Mutant:
    """A change: which of an operator's, in which file; known by its line's text, whatever else changes."""

    file: str
    operator: str
    occurrence: int
    line: int
    text: str  # of the line
    column: int
    number: int  # among those that say the same

    @property
    def key(self) -> str:
        """What it is known by."""
        return f"{self.file} | {self.operator} | {self.text} | {self.column} | {self.number}"

    def place(self, seed: int) -> str:
        """Where it stands in the order of a seed."""
        return hashlib.sha256(f"{seed} {self.key}".encode()).hexdigest()

    def source(self) -> str:
        """The text of the file with the change."""
        changed: str = mutate_code(
            (SOURCE / self.file).read_text(encoding="utf-8"), made(self.operator), self.occurrence
        )
        return changed


def made(name: str) -> Any:
    """An operator by its name."""
    return OWN[name]() if name in OWN else get_operator(f"core/{name}")()


def mutants(phases: tuple[str, ...] = PHASES) -> list[Mutant]:
    """All mutants of the phases."""
    found = []
    for phase in phases:
        for path in sorted((SOURCE / phase).glob("*.py")):
            found += mutants_of(path)
    return found


def mutants_of(path: Path) -> list[Mutant]:
    """The mutants of one file."""
    text = path.read_text(encoding="utf-8")
    lines, silent = text.splitlines(), unsaid(ast.parse(text))
    nodes = list(ast_nodes(get_ast(text)))
    found: list[Mutant] = []
    seen: Counter[tuple[str, str, int]] = Counter()
    for name in OPERATORS:
        operator = made(name)
        positions = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, (line, column) in enumerate(positions):
            said = lines[line - 1].strip()
            if any(first <= (line, column) < last for first, last in silent):
                continue
            indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
            same = (name, said, column - indent)
            file = str(path.relative_to(SOURCE))
            found.append(Mutant(file, name, occurrence, line, said, column - indent, seen[same]))
            seen[same] += 1
    return found


def unsaid(tree: ast.Module) -> list[tuple[Position, Position]]:
    """What does nothing when a program is compiled: annotations, aliases of types, what cannot be reached."""
    found = []
    for node in ast.walk(tree):
        silent: list[ast.AST | None] = []
        match node:
            case ast.FunctionDef(returns=returns):
                silent = [returns]
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                silent = [annotation]
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp()) if name[
                :1
            ].isupper():
                silent = [node] if node in tree.body else []  # `Order = tuple[int, ...]`
            case ast.Assert() | ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
                silent = [node]
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                silent = [node]
        for one in silent:
            if one is not None:
                first, last = (one.lineno, one.col_offset), (one.end_lineno, one.end_col_offset)  # type: ignore[attr-defined]
                found.append((first, last))
    return found
