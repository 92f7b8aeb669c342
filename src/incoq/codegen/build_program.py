"""Put a compiled program together: the user's text, rewritten in place, and the support code.

Before:    @query
           def nyc_fans(celeb, group):
               return {u.email for u in celeb.followers if u in group if u.loc == "NYC"}
After:     def nyc_fans(celeb, group):
               return Set(ask_nyc_fans(celeb, group))
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from incoq.codegen.build_support import SupportCode
from incoq.codegen.elide_copies import elide_copies
from incoq.codegen.rewrite_updates import CAUGHT_IN_PLACE, InPlace, UpdateNames, rewrite_updates
from incoq.codegen.shadowed_names import binds_anywhere
from incoq.codegen.text_edits import Edit, SourceText, Unsupported, apply_edits
from incoq.frontend.find_queries import QuerySite
from incoq.frontend.program import Module
from incoq.ir.objects import ObjectQuery
from incoq.names import NameSupply


@dataclass(frozen=True)
class RewrittenModule:
    """A module's new text without the support code, and where the support code goes."""

    module: Module
    text: str
    edits: tuple[Edit, ...]
    header_end: int  # offset after docstring and __future__ imports, in the new text


def rewrite_module(
    module: Module,
    sites: Sequence[QuerySite],
    support: SupportCode,
    supply: NameSupply,
    tracked: Collection[str],
    private: Collection[ast.AST],
    without: Collection[str] = (),
    bound: Collection[ast.AST] = (),
    made: Mapping[str, ast.expr] = MappingProxyType({}),
    doubtful: Mapping[ast.ClassDef, Sequence[str]] = MappingProxyType({}),
    followed: Collection[ast.ClassDef] = (),
) -> RewrittenModule:
    """Rewrite queries, updates and imports of one module; `tracked` names the builtin containers whose
    changes are to be seen, `private` holds expressions that make some which no query reaches, `bound` the
    methods whose companions are asked of objects, `made` what makes the fixed sets, `doubtful` the classes of
    which the run has to show whether they compute some fields, `followed` those whose fields code outside the
    program may assign."""
    source = SourceText(module.source)
    edits: list[Edit] = []
    replaced: dict[ast.AST, str] = {}
    skip: list[ast.AST] = []
    for site in sites:
        if isinstance(site.node, ast.FunctionDef):
            skip.append(site.node)
            edits += _define(source, site, site.node, support, site.node in bound)
        elif site.node is None:
            continue
        elif site.faults:
            replaced[site.node] = _unmarked(module, source, site.query, site.node, support)
        else:
            replaced[site.node] = _answer(site.query, support)
    if "copies" not in without:
        replaced.update(elide_copies(module, sites, support.ask, support.at_once, support.acting))
    for fixed, value in made.items():
        edits.append(Edit(source.start(value), source.start(value), f"{support.fixers[fixed]}("))
        edits.append(Edit(source.end(value), source.end(value), ")"))
    after: list[Edit] = []  # what follows a class comes after all that its last statement becomes
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef) and node in doubtful:
            check = f"{support.names['check_fields']}({', '.join((node.name, *map(repr, doubtful[node])))})"
            after.insert(0, _after_class(source, node, check))  # and after an inner class's
        if isinstance(node, ast.ClassDef) and node in followed:
            after.insert(0, _after_class(source, node, f"{support.follow}({node.name})"))
        edit = _import(module, source, node, support)
        if edit is not None:
            skip.append(node)
            edits.append(edit)
    names = UpdateNames(
        support.setters, support.deleters, support.setattr_, support.delattr_,
        support.names["PlainSet"] if "set" in tracked else None,
        support.names["List"] if "list" in tracked else None,
        support.names["Dict"] if "dict" in tracked else None, supply.fresh,
        support.names["fresh_set"] if "set" in tracked else None,
        support.names["fresh"] if "list" in tracked else None,
        support.names["through"] if "list" in tracked else None,
        support.names["named"] if support.setters else None,
        routes={kind: support.names[f"{kind}_routes"] for kind in sorted(tracked)},
        changers=support.changers,
        is_key=support.names["is_key"],
        alone=support.names["ALONE"],
        shown_class=support.names["shown_class"],
        past={
            "__setattr__": support.past.set, "__delattr__": support.past.delete,
        },
        making={
            "__setattr__": support.past.make, "__delattr__": support.past.unmake,
        },
    )  # fmt: skip
    try:
        in_place = InPlace()
        if "inlining" not in without and not support.follow:
            in_place = InPlace(sets=frozenset(support.own_classes.values()))
            if not binds_anywhere(module.tree, CAUGHT_IN_PLACE):
                in_place = InPlace(
                    support.guards,
                    support.entries,
                    in_place.sets,
                    support.set_entries,
                    support.bound,
                    {support.fixed[f]: own["has"] for f, own in support.bound.items()},
                )
        edits += rewrite_updates(module.source, module.tree, names, skip, replaced, private, in_place)
    except Unsupported as fault:
        raise module.error("IQ220", fault.reason, fault.node) from None
    edits += after
    edits.sort(key=lambda e: (e.start, e.end))
    text = apply_edits(module.source, edits)
    return RewrittenModule(module, text, tuple(edits), _header_end(module, source, edits))


def merge(rewritten: RewrittenModule, support: SupportCode) -> str:
    """One standalone file: the support code after docstring and `__future__` imports."""
    at = rewritten.header_end
    head, tail = rewritten.text[:at], rewritten.text[at:]
    if head and not head.endswith("\n"):
        head += "\n"
    rule = "# " + "-" * 100
    return (
        f"{head}{rule}\n# Generated by incoq: what follows maintains the answers of this program's queries.\n"
        f"{rule}\n{support.text_for([rewritten.text])}{rule}\n# The program.\n{rule}\n{tail}"
    )


def _after_class(source: SourceText, node: ast.ClassDef, call: str) -> Edit:
    """Look at a class as soon as it is made."""
    at = source.line_end(source.end(node))
    indent = source.line_indentation(source.start(node))
    return Edit(at, at, f"{source.newline(at)}{indent}{call}")


def _answer(query: ObjectQuery, support: SupportCode) -> str:
    """The expression that asks: the caller's own set, or the value of an aggregate."""
    asked = f"{support.ask[query.name]}({', '.join(query.all_params)})"
    return asked if query.aggregate is not None else f"{support.names['Set']}({asked})"


def _unmarked(
    module: Module, source: SourceText, query: ObjectQuery, node: ast.expr, support: SupportCode
) -> str:
    """An unmarked comprehension: the kept answer, and beside it the program's own text."""
    own = module.source[source.start(node) : source.end(node)]
    if isinstance(node, ast.SetComp):
        own = f"{support.names['PlainSet']}({own})"
    return f"{support.usual[query.name]}({', '.join((*query.all_params, f'lambda: {own}'))})"


def bound_companions(trees: Collection[ast.Module]) -> set[ast.FunctionDef]:
    """The methods whose companions a program may ask of an object: `club.adults.view()`."""
    asked: set[str] = set()
    methods: list[ast.FunctionDef] = []
    for tree in trees:
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Attribute(attr=name), attr=companion) if (
                    companion in _COMPANIONS
                ):
                    asked.add(name)
                case ast.ClassDef(body=body):
                    methods += [inner for inner in body if isinstance(inner, ast.FunctionDef)]
    return {method for method in methods if method.name in asked and method.args.args}


def _define(
    source: SourceText, site: QuerySite, node: ast.FunctionDef, support: SupportCode, binds_self: bool
) -> list[Edit]:
    """Keep the signature and docstring; the body asks, and the function gets its companions."""
    query = site.query
    decorator = node.decorator_list[0]
    start, definition = source.start(decorator), source.start(node)
    at = source.text.rindex("@", 0, start)
    returned = node.body[-1]
    arguments = ", ".join(query.all_params)
    answer = _answer(query, support)
    body_start, body_end = source.start(returned), source.end(returned)
    newline = source.newline(definition)
    indent = source.line_indentation(definition)
    edits = [Edit(at, definition, ""), Edit(body_start, body_end, f"return {answer}")]
    params = ", ".join(query.params)
    named = ", ".join(p for p in query.demand if p not in query.hidden)
    passed = ", ".join(query.demand)
    name = node.name
    viewed = f"{support.view[query.name]}({arguments})"
    if query.hidden:  # globals and variables around are read at each use, as by a question
        viewed = f"{support.names['viewed']}(lambda: {support.ask[query.name]}({arguments}))"
    companions = [
        f"{name}.view = lambda {params}: {viewed}",
        f"{name}.demand = lambda {named}: {support.demand[query.name]}({passed})",
        f"{name}.release = lambda {named}: {support.release[query.name]}({passed})",
        f"{name}.demanded = {support.demanded[query.name]}",
    ]
    if node.args.defaults:
        companions.append(f"{name}.view.__defaults__ = {name}.__defaults__")
        if named == params:
            companions.append(f"{name}.demand.__defaults__ = {name}.__defaults__")
            companions.append(f"{name}.release.__defaults__ = {name}.__defaults__")
    if binds_self:
        place = query.demand.index(query.params[0]) if query.params[0] in query.demand else None
        companions.append(f"{name} = {support.names['QueryMethod']}({name}, {place})")
    end = source.line_end(body_end)
    text = "".join(f"{newline}{indent}{line.replace('lambda :', 'lambda:')}" for line in companions)
    edits.append(Edit(end, end, text))
    return edits


_COMPANIONS = frozenset(("view", "demand", "release", "demanded"))

# What a program may import from incoq, and the part of the support code that it becomes.
_PROVIDED = {
    "Set": "Set", "query": "", "lru": "", "batch": "batch", "IncoqError": "IncoqRuntimeError",
    "IncoqRuntimeError": "IncoqRuntimeError",
}  # fmt: skip


def _import(module: Module, source: SourceText, node: ast.AST, support: SupportCode) -> Edit | None:
    """Imports of incoq become the names of the support code."""
    match node:
        case ast.ImportFrom(module="incoq", level=0, names=aliases):
            text = "; ".join(_provided(module, aliases, support))
        case ast.ImportFrom(names=aliases) if any(a in module.reexported for a in aliases):
            lines = _provided(module, [a for a in aliases if a in module.reexported], support)
            rest = [a for a in aliases if a not in module.reexported]
            if rest:
                lines.insert(0, ast.unparse(ast.ImportFrom(node.module, rest, node.level)))
            text = "; ".join(lines)
        case ast.Import(names=aliases) if any(a.name == "incoq" for a in aliases):
            others = [a for a in aliases if a.name != "incoq"]
            local = next(a.asname or "incoq" for a in aliases if a.name == "incoq")
            held = ", ".join(f"{n!r}: {support.names[m]}" for n, m in _held(module, support).items())
            text = f"{local} = type('incoq', (), {{{held}}})"
            if others:
                text = f"{ast.unparse(ast.Import(others))}; {text}"
        case ast.ImportFrom(module=str(imported)) if imported.startswith("incoq."):
            raise module.error("IQ209", "import Set and query from incoq itself", node)
        case ast.Import(names=aliases) if any(a.name.startswith("incoq.") for a in aliases):
            raise module.error("IQ209", "import Set and query from incoq itself", node)
        case _:
            return None
    end = source.end(node)
    nothing = "pass  # incoq: compiled in" if source.is_blank_after(end) else "pass"
    return Edit(source.start(node), end, text or nothing)


def _held(module: Module, support: SupportCode) -> dict[str, str]:
    """What `incoq.name` may be in a module that imports incoq itself, and the part of the support code."""
    held: dict[str, str] = {name: name for name in ("Set", "batch") if name in support.names}
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=local), attr=original) if (
                module.incoq_names.get(local) == "incoq" and original not in held
            ):
                if meant := _meant(module, original, node):
                    held[original] = meant
    return held


def _meant(module: Module, original: str, node: ast.AST) -> str:
    """The part of the support code that a name of incoq becomes, if it becomes one."""
    if original not in _PROVIDED:
        way = f"a compiled program imports {', '.join(_PROVIDED)} from incoq, nothing else"
        if original.lower() == "query":
            way = f"a query is marked `@incoq.query`; {way}"
        raise module.error("IQ209", f"`{original}` of incoq in a compiled program", node, way)
    return _PROVIDED[original]


def _provided(module: Module, aliases: Sequence[ast.alias], support: SupportCode) -> list[str]:
    """Statements that give what is imported from incoq its name; most have it."""
    lines = []
    for alias in aliases:
        local, original = alias.asname or alias.name, module.reexported.get(alias, alias.name)
        meant = _meant(module, original, alias)
        if meant and local != support.names[meant]:
            lines.append(f"{local} = {support.names[meant]}")
        if not meant and _is_listed(module, local):
            lines.append(f"{local} = None")
    return lines


def _is_listed(module: Module, identifier: str) -> bool:
    """May `__all__` name it, so that an import of everything looks for it?"""
    return "__all__" in module.bindings and any(
        isinstance(node, ast.Constant) and node.value == identifier for node in ast.walk(module.tree)
    )


def provided_names(module: Module, support: SupportCode) -> set[str]:
    """The names of the support code that a module has from incoq, for others to import from it."""
    meant = (_PROVIDED.get(original) for original in module.incoq_names.values())
    return {support.names[n] for n in meant if n and n in support.names}


def header(tree: ast.Module) -> list[ast.stmt]:
    """What has to stand first in a module: its docstring and `__future__` imports."""
    found: list[ast.stmt] = []
    for statement in tree.body:
        docstring = (
            not found and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
        )  # fmt: skip
        if not (docstring or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")):
            break
        found.append(statement)
    return found


def _header_end(module: Module, source: SourceText, edits: Sequence[Edit]) -> int:
    """Where the first statement after docstring and `__future__` imports begins, in the new text."""
    first = header(module.tree)
    if not first:
        return _after_shebang(source)
    offset = source.line_end(source.end(first[-1]))
    after = module.tree.body[len(first)] if len(first) < len(module.tree.body) else None
    if after is not None and source.start(after) < offset:  # behind a semicolon
        offset = source.start(after)
    elif offset < len(module.source):
        offset += len(source.newline(offset))
    return offset + sum(len(e.text) - (e.end - e.start) for e in edits if e.start < offset)


def _after_shebang(source: SourceText) -> int:
    """Past a `#!` line and a coding cookie, which must stay on top."""
    at = 0
    for _ in range(2):
        end = source.line_end(at)
        line = source.text[at:end]
        if not (line.startswith("#!") or ("coding" in line and line.startswith("#"))):
            break
        at = min(end + len(source.newline(at)), len(source.text))
    return at
