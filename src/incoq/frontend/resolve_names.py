"""Find out what names mean beyond the text of one module.

Before:    base.py: from incoq import query          app.py: from base import query      config.LIMIT = 5
After:     app's `query` is incoq's; LIMIT of config is no constant
Invariant: a name that a module has from incoq, through whatever modules of the program, is known as such; a
           name that something other than the text of its own module may bind is not taken for a constant
Cost:      one walk over each module
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from incoq.frontend.program import Module, Program


def resolve_names(program: Program) -> None:
    """Tell each module what it has from incoq, and which names may be bound from outside."""
    nodes = {id(module): list(ast.walk(module.tree)) for module in program.modules}
    _follow_imports(program, nodes)
    rebound = _rebound(node for module in program.modules for node in nodes[id(module)])
    for module in program.modules:
        module.rebound = rebound
        for node in nodes[id(module)]:
            _note_assignment(module, node)


def _note_assignment(module: Module, node: ast.AST) -> None:
    """A function of a module to which something else is assigned, as tests do, is not bound once; neither is
    one that gets another body."""
    home: Module | None
    match node:
        case ast.Attribute(ast.Name(id=identifier), "__code__" | "__defaults__", ast.Store() | ast.Del()):
            home = module
        case ast.Attribute(ast.Name(id=identifier), "__kwdefaults__"):
            home = module
        case ast.Attribute(ast.Name(id=imported), identifier, ast.Store() | ast.Del()):
            home = module.imports.get(imported)
        case ast.Call(ast.Name(id="setattr"), [ast.Name(id=imported), ast.Constant(str(identifier)), *_]):
            home = module.imports.get(imported)
        case ast.Subscript(ast.Call(ast.Name(id="globals")), ast.Constant(str(identifier)), ast.Store()):
            home = module
        case _:
            return
    if home is not None and identifier in home.bindings:
        home.bindings[identifier] = replace(home.bindings[identifier], once=False)


def _follow_imports(program: Program, nodes: dict[int, list[ast.AST]]) -> None:
    """What is imported from a module that has it from incoq is incoq's, too."""
    imports = [
        (module, node)
        for module in program.modules
        for node in nodes[id(module)]
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    known = -1
    while known != (known := sum(len(m.incoq_names) + len(m.imports) for m in program.modules)):
        for module, node in imports:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    origin = program.imported(module, ast.ImportFrom(alias.name, [], 0))
                    if origin is not None and (alias.asname or "." not in alias.name):
                        module.imports[alias.asname or alias.name] = origin
            else:
                _follow(program, module, node)


def _follow(program: Program, module: Module, node: ast.ImportFrom) -> None:
    origin = program.imported(module, node)
    for alias in node.names:
        local = alias.asname or alias.name
        below = ".".join(filter(None, (node.module, alias.name)))
        inner = program.imported(module, ast.ImportFrom(below, [], node.level))
        if inner is not None:
            module.imports[local] = inner
        if origin is None or origin is module:
            continue
        if alias.name == "*":
            for name, original in origin.incoq_names.items():
                if not name.startswith("_"):
                    module.incoq_names.setdefault(name, original)
        elif alias.name in origin.incoq_names:
            module.incoq_names[local] = module.reexported[alias] = origin.incoq_names[alias.name]


def _rebound(nodes: Iterator[ast.AST]) -> frozenset[str] | None:
    """The names that something may assign as an attribute, of a module perhaps; None where that is any."""
    found: set[str] = set()
    listed: set[ast.AST] = set()
    called: set[ast.AST] = set()
    for node in nodes:  # a call comes before its function
        if _may_rebind(node) or (_sets_attributes(node) and node not in called):
            return None
        match node:
            case ast.Call(func=func):
                called.add(func)
            case ast.keyword(arg=str(argument)):
                found.add(argument)  # `vars(config).update(LIMIT=5)`
            case ast.Assign(
                targets=[ast.Name(id="__all__")], value=ast.List(elts=items) | ast.Tuple(elts=items)
            ):
                listed.update(items)
            case ast.Attribute(value=ast.Name(id="self")):
                pass
            case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()):
                found.add(attr)
            case ast.Constant(value=str(text)) if node not in listed and len(text) < 200:
                found.add(text.rpartition(".")[2])  # `patch("config.LIMIT", 5)`
    return frozenset(found)


def _sets_attributes(node: ast.AST) -> bool:
    """Is it a function that sets any attribute, which under another name it would set unseen?"""
    return isinstance(node, ast.Name) and node.id in ("setattr", "delattr")


def _may_rebind(node: ast.AST) -> bool:
    """May a part of the program bind a global that its text does not show?"""
    match node:
        case ast.Name(id="globals" | "locals" | "exec" | "eval" | "__import__"):
            return True
        case ast.Attribute(attr="modules" | "__globals__" | "f_globals") | ast.alias(name="*"):
            return True
        case ast.Import(names=names):
            return any(alias.name.split(".")[0] in ("importlib", "builtins") for alias in names)
        case ast.ImportFrom(module=str(source)):
            return source.split(".")[0] in ("importlib", "builtins")
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=args):
            named = len(args) > 1 and isinstance(args[1], ast.Constant)
            return not named and not (args and isinstance(args[0], ast.Name) and args[0].id == "self")
    return False
