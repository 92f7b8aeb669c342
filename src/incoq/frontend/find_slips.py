"""Look for slips that Python shows late or never: `query` without its import, a field that nothing assigns.

    @query                 notice: `query` is not imported; begin with `from incoq import Set, query`
    {u.nmae for u in s}    notice: nothing assigns the field `nmae`; did you mean `name`?

A combination whose field is missing is skipped, so a misspelt field would just give an empty answer.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator

from incoq.errors import Notice
from incoq.frontend.program import Module, Program


def find_slips(program: Program, fields: Iterable[str]) -> Iterator[Notice]:
    """Advice about what is probably a mistake; `fields` are those that queries read."""
    for module in program.modules:
        yield from _missing_imports(module)
    assigned = _assigned(program)
    for field in fields:
        if field not in assigned:
            close = difflib.get_close_matches(field, sorted(assigned), 1, 0.7)
            place = _first_use(program, field)
            if close and place is not None:
                module, node = place
                message = f"nothing assigns the field `{field}`; did you mean `{close[0]}`?"
                yield Notice(message, module.position(node))


def _missing_imports(module: Module) -> Iterator[Notice]:
    if any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in ast.walk(module.tree)):
        return
    for node in ast.walk(module.tree):
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            message = _mark_fault(module, decorator.func if isinstance(decorator, ast.Call) else decorator)
            if message:
                yield Notice(message, module.position(decorator))


def _mark_fault(module: Module, mark: ast.expr) -> str:
    """What is wrong with the mark of a query; empty if nothing is, or it is none of ours."""
    match mark:
        case ast.Name(id="query") if "query" not in module.bindings:
            return "`query` is not imported; begin with `from incoq import Set, query`"
        case ast.Attribute(value=ast.Name(id="incoq")) if "incoq" not in module.bindings:
            return "`incoq` is not imported; begin with `import incoq`"
    return ""


def _assigned(program: Program) -> set[str]:
    """Every field that some text of the program gives a value, or a class a meaning."""
    found: set[str] = set()
    for module in program.modules:
        for node in ast.walk(module.tree):
            match node:
                case ast.Attribute(attr=attr, ctx=ast.Store()):
                    found.add(attr)
                case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(attr)), _]):
                    found.add(attr)
                case ast.ClassDef(body=body):
                    found |= {n for statement in body for n in _defined(statement)}
    return found


def _defined(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets, value=value):
            yield from (t.id for t in targets if isinstance(t, ast.Name))
            for constant in ast.walk(value):  # `__slots__`
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                    yield constant.value


def _first_use(program: Program, field: str) -> tuple[Module, ast.AST] | None:
    for module in program.modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and node.attr == field and isinstance(node.ctx, ast.Load):
                return module, node
    return None
