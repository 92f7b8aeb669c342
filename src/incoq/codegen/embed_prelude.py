"""Take the support code from its files: without types, and renamed where the program uses its names."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from incoq.ir.expressions import clone, name, names_in, substitute


def needed_classes(used: set[str]) -> list[ast.stmt]:
    """The aggregates that a program uses, with what they are made of."""
    if not used:
        return []
    statements = prelude_of("aggregates.py")
    wanted = {*used, "Distinct"}
    for statement in reversed(statements):
        match statement:
            case ast.ClassDef(name=identifier, bases=bases) if identifier in wanted:
                wanted |= {b.id for b in bases if isinstance(b, ast.Name)}
                wanted |= {"Greater"} if identifier == "Max" else set()
    return [
        s
        for s in statements
        if not (isinstance(s, ast.ClassDef) and s.name not in wanted)
        and not (isinstance(s, ast.Assign) and isinstance(s.value, ast.Dict))
    ]


@cache
def prelude_of(filename: str) -> tuple[ast.stmt, ...]:
    """The statements of a file beside this one, but for docstrings and imports for types."""
    text = Path(__file__).with_name(filename).read_text()
    return tuple(_untyped(s) for s in ast.parse(text).body if not _is_for_types(s))


@cache
def prelude_of_marked(filename: str, some_unmarked: bool) -> tuple[ast.stmt, ...]:
    """The same for a program with marked queries, which have no use for what stands under `UNMARKED`, nor
    under `SOME_UNMARKED`, if there are no others."""
    needless = {"UNMARKED"} if some_unmarked else {"UNMARKED", "SOME_UNMARKED"}
    return tuple(_Without(needless).visit(clone(s)) for s in prelude_of(filename))


class _Without(ast.NodeTransformer):
    def __init__(self, needless: set[str]) -> None:
        self.needless = needless

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        needed = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        return node.orelse if any(isinstance(n, ast.Name) and n.id in self.needless for n in needed) else node


def _is_for_types(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.ImportFrom(module="__future__" | "typing" | "incoq.codegen.prelude"):
            return True
        case ast.ImportFrom(module="collections.abc", names=[ast.alias(asname=None), *_]):
            return True
    return False


class _Untype(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        for extra in (node.args.vararg, node.args.kwarg):
            if extra is not None:
                extra.annotation = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None
        return ast.Assign([node.target], node.value, lineno=node.lineno)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.bases = [b.value if isinstance(b, ast.Subscript) else b for b in node.bases]
        return self.generic_visit(node)


def _untyped(node: ast.stmt) -> ast.stmt:
    result = _Untype().visit(node)
    assert isinstance(result, ast.stmt)
    return result


def defined(prelude: tuple[ast.stmt, ...]) -> list[str]:
    """The names that it binds."""
    found: list[str] = []
    for statement in prelude:
        match statement:
            case ast.ClassDef(name=identifier) | ast.FunctionDef(name=identifier):
                found.append(identifier)
            case ast.Assign(targets=[ast.Name(id=identifier)]):
                found.append(identifier)
            case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                found += [t.id for t in targets if isinstance(t, ast.Name)]
            case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                found += [a.asname or a.name for a in aliases]
    return found


def renamed(node: ast.stmt, names: dict[str, str]) -> ast.stmt:
    """A statement with its names as they are called in the program."""
    changed = {k: v for k, v in names.items() if k != v}
    if isinstance(node, ast.ImportFrom | ast.Import):
        aliases = [ast.alias(a.name, names[a.asname or a.name]) for a in node.names]
        return (
            ast.ImportFrom(node.module, aliases, 0)
            if isinstance(node, ast.ImportFrom)
            else ast.Import(aliases)
        )
    if isinstance(node, ast.ClassDef):
        body = [_renamed_inner(s, changed) for s in node.body]
        bases = [substitute(b, {k: name(v) for k, v in changed.items()}) for b in node.bases]
        return ast.ClassDef(names[node.name], bases, [], body, [])
    if isinstance(node, ast.FunctionDef):
        renamed = _renamed_inner(node, changed)
        assert isinstance(renamed, ast.FunctionDef)
        if renamed.name != names[node.name]:
            renamed = clone(renamed)
            renamed.name = names[node.name]
        return renamed
    return _renamed_inner(node, changed)


@cache
def _names_of(node: ast.stmt) -> frozenset[str]:
    """The names in a statement of the prelude, which is parsed once."""
    return names_in(node)


class _RenameNames(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Parameters keep their names, and hide what is called like them."""
        around = self.names
        parameters = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        self.names = {k: v for k, v in around.items() if k not in parameters}
        self.generic_visit(node)
        self.names = around
        return node


def _renamed_inner(node: ast.stmt, names: dict[str, str]) -> ast.stmt:
    if names.keys().isdisjoint(_names_of(node)):
        return node  # as it is in the prelude: nobody changes it
    result = _RenameNames(names).visit(clone(node))
    assert isinstance(result, ast.stmt)
    return result
