"""Rewrite the text of a module so that every update that may matter calls maintenance.

Before:    self.email, self.loc = email, loc   # both        o.loc += 1
After:     (t1, t2) = email, loc                             v = o.loc
           set_email(t1, self)                               v += 1
           set_loc(t2, self)                                 set_loc(v, o)
           del t1, t2   # both                               del v
Invariant: order, results and exceptions are Python's own; text that is no update stays byte for byte
Cost:      linear in the program

Where the receiver is a name and one look-up tells that nothing depends on it, that look-up stands in place:

           user.loc = place                                  try:
                                                                 if user in tag_u:
                                                                     change_loc(place, user)
                                                                 else:
                                                                     user.loc = place
                                                             except (TypeError, AttributeError):
                                                                 if is_key(user, tag_u):
                                                                     raise
                                                                 user.loc = place

So does the look-up whether a global set that never is another one has an element:

           ROLES.add(role)                                   if role not in ROLES:
                                                                 ROLES._put_(role)

and within both the look-ups that tell whether anybody asks about the values (`find_entry`):

           ATTENDS.add(a)                                    if a not in ATTENDS:
                                                                 try:
                                                                     matters = a.course in r_attending
                                                                 except Exception:
                                                                     matters = True
                                                                 if matters:
                                                                     ATTENDS._put_(a)
                                                                 else:
                                                                     add_ATTENDS(a)

An update on a line of its own becomes several lines; where it shares one (`;`, `if c: o.f += 1`) the new
statements, all simple ones, are joined by `; `. Temporaries are deleted at once: they keep
no object alive.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from incoq.codegen.find_entry import Entry
from incoq.codegen.name_scopes import Scopes
from incoq.codegen.rewrite_displays import Choices, Rebind, Replace, UpdateNames, Wrap, choose_replacements
from incoq.codegen.text_edits import (
    Edit,
    SourceText,
    Unsupported,
    apply_edits,
    as_argument,
    in_one_statement,
    render,
    verbatim,
)

__all__ = ["Edit", "InPlace", "Unsupported", "UpdateNames", "apply_edits", "rewrite_updates"]

_HOLE = "\ue000"
MAX_GUARDS = 3  # more look-ups than these are no better than a call
_UNKEYED = ("TypeError", "AttributeError")  # what the hash of an object raises that no tag can have
CAUGHT_IN_PLACE = (*_UNKEYED, "Exception")  # by look-ups that stand in the program's own text
# what tells whether a method of a set changes anything, and the method that does so without asking again
_ASKING: dict[str, tuple[ast.cmpop, str]] = {"add": (ast.NotIn(), "_put_"), "discard": (ast.In(), "_take_")}
_LOOK_AT_LOCALS = frozenset({"locals", "vars", "eval", "exec", "dir"})
_Step = tuple[list[Edit], list[ast.AST]]  # edits, and the children that are still to be looked at


def rewrite_updates(
    source: str,
    tree: ast.Module,
    names: UpdateNames,
    skip: Collection[ast.AST] = (),
    replaced: Mapping[ast.AST, str] | None = None,
    private: Collection[ast.AST] = (),
    in_place: InPlace | None = None,
) -> list[Edit]:
    """The edits of `source`, whose syntax is `tree`, that route its updates through the functions of `names`.

    `skip` holds nodes that stay as they are; `replaced` holds nodes that the caller has a new text for
    (an inline query within an update), so that both changes come out as edits that do not overlap.
    `private` holds expressions that make containers which no query reaches (`find_private`); `in_place`
    says which look-ups may stand in place of calls.

    >>> names = UpdateNames({"f": "set_f"}, {"f": "del_f"}, "set_any", "del_any", None, None, None, str)
    >>> text = "o.f  =  x # new"
    >>> apply_edits(text, rewrite_updates(text, ast.parse(text), names))
    'set_f(x, o) # new'
    """
    scopes = Scopes(tree)
    replaced = replaced or {}
    fixed = frozenset({*skip, *replaced})
    choices = choose_replacements(tree, names, scopes, fixed, private)
    if in_place is None or any(isinstance(n, ast.Name) and n.id in _LOOK_AT_LOCALS for n in ast.walk(tree)):
        in_place = InPlace()  # a temporary that outlives its statement might be seen
    rewriter = _Rewriter(
        SourceText(source), names, scopes, names.fields, choices, fixed, replaced, in_place,
        names.fresh("matters") if in_place.entries or in_place.set_entries else "",
    )  # fmt: skip
    edits = rewriter.edits(tree)
    return sorted(edits, key=lambda edit: (edit.start, edit.end))


@dataclass(frozen=True)
class InPlace:
    """The look-ups that may stand in place of an update, and tell that it needs no call."""

    guards: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # field -> sets; one has the object
    entries: Mapping[str, Entry] = field(default_factory=dict)  # field -> what one of its values must be in
    sets: Collection[str] = ()  # global sets with methods for an element that is new or there
    set_entries: Mapping[str, Entry] = field(default_factory=dict)  # such a set -> the same of its elements
    plainly: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # and its methods, unmaintained
    has: Mapping[str, str] = field(
        default_factory=dict
    )  # those of `guards` that have a method to be asked by


@dataclass(frozen=True)
class _Rewriter:
    source: SourceText
    names: UpdateNames
    scopes: Scopes
    fields: frozenset[str]
    choices: Choices
    fixed: frozenset[ast.AST]
    replaced: Mapping[ast.AST, str]
    in_place: InPlace
    matters: str  # a name for the outcome of look-ups in place; it keeps nothing alive

    def edits(self, root: ast.AST) -> list[Edit]:
        """The edits within a node, a parent's before its children's."""
        found: list[Edit] = []
        stack = [root]
        while stack:
            node = stack.pop()
            edits, rest = self._step(node)
            found += edits
            stack += reversed(rest)
        return found

    def _step(self, node: ast.AST) -> _Step:
        if node in self.fixed:
            whole = isinstance(node, ast.expr | ast.stmt) and node in self.replaced
            return [self._replace(node, self.replaced[node])] if whole else [], []  # type: ignore[arg-type]  # as tested
        if isinstance(rebind := self.choices.get(node), Rebind):
            return self._rebound(node, rebind)
        match node:
            case ast.JoinedStr():
                return self._fstring(node), []
            case ast.expr() if isinstance(choice := self.choices.get(node), Wrap | Replace):
                return self._expression(node, choice)
            case ast.Assign() if any(map(self.updates, node.targets)):
                return self._assign(node), []
            case ast.AugAssign(target=ast.Attribute() as target) if self.updates(target):
                return self._augmented(node, target), []
            case ast.AnnAssign(target=ast.Attribute() as target, value=ast.expr() as value) if self.updates(
                target
            ):
                return self._annotated(node, target, value), []
            case ast.Delete() if any(map(self.updates, node.targets)):
                return self._delete(node), []
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method, args=[element], keywords=[])):
                if self._is_asked_in_place(node, method, element):
                    return self._ask_in_place(node, method, element), []
            case ast.For() | ast.AsyncFor() if self.updates(node.target):
                return self._for(node)
            case ast.With() | ast.AsyncWith() if any(
                item.optional_vars and self.updates(item.optional_vars) for item in node.items
            ):
                return self._with(node)
        return [], list(ast.iter_child_nodes(node))

    def updates(self, target: ast.expr) -> bool:
        """Whether a target is, or holds, one that cannot be left as it is: a field whose updates matter."""
        match target:
            case ast.Attribute():
                field_name = self.scopes.attribute(target)
                if field_name != target.attr and field_name not in self.fields and target.attr in self.fields:
                    raise Unsupported(
                        target, f"{target.attr} is private to its class: it is {field_name} elsewhere"
                    )
                return field_name in self.fields
            case ast.Tuple() | ast.List():
                return any(map(self.updates, target.elts))
            case ast.Starred(value=ast.Attribute() | ast.Subscript()) if self.names.made_list is not None:
                return True  # the list is made by Python, and stored where others may find it
            case ast.Starred():
                return self.updates(target.value)
        return False

    # Expressions.

    def _replace(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        return self.source.edit(self.source.start(node), self.source.end(node), text)

    def _expression(self, node: ast.expr, choice: Wrap | Replace) -> _Step:
        if isinstance(choice, Replace):
            return [self._replace(node, choice.name)], []
        before, after = render(ast.Call(verbatim(choice.function), [verbatim(_HOLE)], [])).split(_HOLE)
        start, end = self.source.start(node), self.source.end(node)
        return [self.source.edit(start, start, before), Edit(end, end, after)], list(
            ast.iter_child_nodes(node)
        )

    def _fstring(self, node: ast.JoinedStr) -> list[Edit]:
        """Positions in f-strings cannot be relied on: one that must change is rendered anew, as a whole."""
        changed = {found for found in ast.walk(node) if found in self.choices or found in self.replaced}
        if not changed:
            return []
        clone = copy.deepcopy(node)
        twins = dict(zip(ast.walk(clone), ast.walk(node), strict=True))
        new = _Replacer(twins, self.choices, self.replaced).visit(clone)
        try:
            text = render(new)
            ast.parse(f"({text})", mode="eval")
        except (ValueError, SyntaxError):
            raise Unsupported(node, "an f-string holds what must be rewritten; compute it before") from None
        return [self._replace(node, text)]

    def _text(self, node: ast.expr, start: int | None = None, end: int | None = None) -> str:
        """A node's text with the edits within made, or that of a wider region that holds no other node."""
        start = self.source.start(node) if start is None else start
        return apply_edits(
            self.source.text, self.edits(node), start, self.source.end(node) if end is None else end
        )

    def _after_equals(self, value: ast.expr, left: ast.expr, stmt: ast.stmt) -> tuple[str, int]:
        """The right side of an assignment, parentheses and comments in them included, and its end."""
        start = self.source.find("=", self.source.end(left), self.source.start(value)) + 1
        end = self.source.end_with_parentheses(value, self.source.end(stmt))
        return self._text(value, self.source.skip_blanks(start, end), end), end

    def _object(self, target: ast.Attribute) -> str:
        """The text of `o` in a target `o.f`."""
        end = self.source.end_with_parentheses(target.value, self.source.end(target))
        return self._text(target.value, self.source.start(target), end)

    def _end_of_source(self, node: ast.comprehension) -> int:
        """The end of what a clause iterates over, with the parentheses around it, and no others."""
        before = self.source.significant(self.source.end(node.target), self.source.start(node.iter))
        end = self.source.end(node.iter)
        for _ in range(sum(char == "(" for _, char in before)):
            end = self.source.find(")", end, len(self.source.text)) + 1
        return end

    # Statements.

    def _rebound(self, node: ast.AST, rebind: Rebind) -> _Step:
        """A list or dict that Python binds a name to becomes one that is seen, before all else."""
        stmts = [
            _assignment(verbatim(name), ast.Call(verbatim(function), [verbatim(name)], []))
            for name, function in rebind.functions
        ]
        children = list(ast.iter_child_nodes(node))
        match node:
            case ast.Assign() if any(map(self.updates, node.targets)):
                return self._assign(node, stmts), []
            case ast.Assign():
                end = self.source.end_with_parentheses(node.value, self.source.end(node))
                inner = [edit for child in children for edit in self.edits(child)]
                return [*inner, Edit(end, end, "".join(f"; {render(s)}" for s in stmts))], []
            case ast.For() | ast.AsyncFor() if self.updates(node.target):
                return self._for(node, stmts)
            case ast.For() | ast.AsyncFor():
                return self._begin_body(self.source.end(node.iter), node.body[0], stmts), children
            case ast.comprehension():
                clauses = "".join(f" {_clause_text(name, function)}" for name, function in rebind.functions)
                end = self._end_of_source(node)
                return [Edit(end, end, clauses)], children
            case ast.match_case():
                end = self.source.end(node.guard or node.pattern)
                return self._begin_body(end, node.body[0], stmts), children
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
                first = body[1:2] if _is_docstring(body[0]) else body[:1]
                return self._before(first[0], stmts) if first else [], children
        raise AssertionError(node)

    def _before(self, stmt: ast.stmt, stmts: Sequence[ast.stmt]) -> list[Edit]:
        """Insert statements before another one, on its line if that is the one of the header."""
        decorators = getattr(stmt, "decorator_list", ())
        start = self.source.start(decorators[0]) if decorators else self.source.start(stmt)
        if decorators:
            start = self.source.text.rindex("@", 0, start)
        indentation = self.source.indentation(start)
        joint = "; " if indentation is None else self.source.newline(start) + indentation
        return [Edit(start, start, "".join(render(s) + joint for s in stmts))]

    def _statements(self, start: int, end: int, stmts: Sequence[ast.stmt]) -> list[Edit]:
        """Replace a simple statement by others, one a line if it has its line for itself."""
        indentation = self.source.indentation(start)
        alone = self._is_alone(start, end)
        joint = self.source.newline(end) + (indentation or "") if alone else "; "
        texts = [
            render(s).replace("\n", joint) if isinstance(s, ast.Try | ast.If) else render(s) for s in stmts
        ]
        return [Edit(start, end, joint.join(texts))]

    def _is_alone(self, start: int, end: int) -> bool:
        return self.source.indentation(start) is not None and self.source.is_blank_after(end)

    def _assign(self, stmt: ast.Assign, then: Sequence[ast.stmt] = ()) -> list[Edit]:
        text, end = self._after_equals(stmt.value, stmt.targets[-1], stmt)
        new = _Temporaries(self.names)
        match stmt.targets:
            case [ast.Attribute() as target] if self._is_inlined(target, stmt, end):
                stmts = []
                value = verbatim(text)
                if not _is_atom(stmt.value, text):
                    value = new.name("value")
                    stmts.append(_assignment(value, verbatim(text)))
                stmts += self._set_in_place(target, value)
            case [ast.Attribute() as target]:
                stmts = [self._set(target, verbatim(as_argument(text, stmt.value)))]
            case [target]:
                stmts = self._store(target, verbatim(text), new)
            case _:
                constant = isinstance(stmt.value, ast.Constant) and "\n" not in text and "\r" not in text
                value = verbatim(text) if constant else new.name("value")
                stmts = [] if constant else [_assignment(value, verbatim(text))]
                for target in stmt.targets:
                    stmts += self._store(target, value, new)
        return self._statements(self.source.start(stmt), end, [*stmts, *then, *new.deletion()])

    def _augmented(self, stmt: ast.AugAssign, target: ast.Attribute) -> list[Edit]:
        text, end = self._after_equals(stmt.value, target, stmt)
        new = _Temporaries(self.names)
        stmts: list[ast.stmt] = []
        obj = verbatim(self._object(target))
        if not self.scopes.is_stable_local(target.value, stmt.value):
            obj = new.name("obj")
            stmts.append(_assignment(obj, verbatim(in_one_statement(self._object(target)))))
        value = new.name("value")
        stmts += [
            _assignment(value, ast.Attribute(obj, target.attr, ast.Load())),
            ast.AugAssign(value, stmt.op, verbatim(text)),  # type: ignore[arg-type]  # a name
            *(
                self._set_in_place(target, value)
                if self._is_inlined(target, stmt, end)
                else [self._set(target, value, obj)]
            ),
        ]
        return self._statements(self.source.start(stmt), end, [*stmts, *new.deletion()])

    def _annotated(self, stmt: ast.AnnAssign, target: ast.Attribute, value: ast.expr) -> list[Edit]:
        """`o.f: T = v`: Python assigns first and evaluates T last, and only outside of functions."""
        text, end = self._after_equals(value, stmt.annotation, stmt)
        stmts = [self._set(target, verbatim(as_argument(text, value)))]
        annotation = verbatim(in_one_statement(self._text(stmt.annotation)))
        if isinstance(target.value, ast.Name):
            bare = ast.Attribute(target.value, target.attr, ast.Store())
            stmts.append(ast.AnnAssign(bare, annotation, None, 0))
        elif self.scopes.scope(stmt).kind in ("module", "class") and not self.scopes.postponed_annotations:
            stmts.append(ast.Expr(annotation))
        return self._statements(self.source.start(stmt), end, stmts)

    def _delete(self, stmt: ast.Delete) -> list[Edit]:
        stmts: list[ast.stmt] = []
        for target in self._flat(stmt.targets):
            if isinstance(target, ast.Attribute) and self.updates(target):
                stmts.append(self._del(target))
                continue
            plain = verbatim(in_one_statement(self._text(target)))
            match stmts[-1:]:
                case [ast.Delete(targets=targets)]:
                    targets.append(plain)
                case _:
                    stmts.append(ast.Delete([plain]))
        return self._statements(self.source.start(stmt), self.source.end(stmt), stmts)

    def _flat(self, targets: Sequence[ast.expr]) -> list[ast.expr]:
        flat: list[ast.expr] = []
        for target in targets:
            nested = isinstance(target, ast.Tuple | ast.List) and self.updates(target)
            flat += self._flat(target.elts) if nested else [target]  # type: ignore[attr-defined]  # as tested
        return flat

    def _for(self, stmt: ast.For | ast.AsyncFor, then: Sequence[ast.stmt] = ()) -> _Step:
        new = _Temporaries(self.names)
        pattern, stmts = self._pattern(stmt.target, new)
        edits = [self._replace(stmt.target, render(pattern))]
        edits += self._begin_body(self.source.end(stmt.iter), stmt.body[0], [*stmts, *then, *new.deletion()])
        return edits, [stmt.iter, *stmt.body, *stmt.orelse]

    def _with(self, stmt: ast.With | ast.AsyncWith) -> _Step:
        """A target is assigned before the next manager is evaluated: `with a as t, (set_f(t, o), b)[-1]:`."""
        new = _Temporaries(self.names)
        edits: list[Edit] = []
        rest: list[ast.AST] = []
        pending: list[ast.stmt] = []
        for item in stmt.items:
            if pending:
                done = [step.value for step in pending if isinstance(step, ast.Expr)]
                if len(done) < len(pending):
                    raise Unsupported(
                        item, "a manager follows a target that mixes fields and others; nest the withs"
                    )
                manager = verbatim(as_argument(self._text(item.context_expr), item.context_expr))
                last = ast.Subscript(ast.Tuple([*done, manager], ast.Load()), ast.Constant(-1), ast.Load())
                edits.append(self._replace(item.context_expr, render(last)))
                pending = []
            else:
                rest.append(item.context_expr)
            if item.optional_vars is not None and self.updates(item.optional_vars):
                pattern, pending = self._pattern(item.optional_vars, new)
                edits.append(self._replace(item.optional_vars, render(pattern)))
            elif item.optional_vars is not None:
                rest.append(item.optional_vars)
        end = self.source.end(stmt.items[-1].optional_vars or stmt.items[-1].context_expr)
        edits += self._begin_body(end, stmt.body[0], [*pending, *new.deletion()])
        return edits, [*rest, *stmt.body]

    def _begin_body(self, header_end: int, first: ast.stmt, stmts: Sequence[ast.stmt]) -> list[Edit]:
        """Insert statements at the beginning of a suite, on the line of its header or below."""
        colon = self.source.find(":", header_end, len(self.source.text)) + 1
        lines = list(map(render, stmts))
        if not self.source.is_blank_after(colon):
            space = "" if self.source.text[colon].isspace() else " "
            return [Edit(colon, colon, " " + "".join(f"{line}; " for line in lines).rstrip() + space)]
        line_end = self.source.line_end(colon)
        joint = self.source.newline(line_end) + self.source.line_indentation(self.source.start(first))
        return [Edit(line_end, line_end, "".join(joint + line for line in lines))]

    # Targets.

    def _pattern(self, target: ast.expr, new: _Temporaries) -> tuple[ast.expr, list[ast.stmt]]:
        """A target that only takes apart, and the statements that then assign in Python's order.

        `x, o.f, y` gives `(x, t1, t2)` and `set_f(t1, o); y = t2`: all is unpacked before anything is
        assigned, and what precedes the first field may as well be assigned in the pattern.
        """
        if not isinstance(target, ast.Tuple | ast.List):
            name = new.name("item")
            return name, self._store(target, name, new)
        parts: list[ast.expr] = []
        stmts: list[ast.stmt] = []
        direct = True
        for element in target.elts:
            direct = direct and not self.updates(element)
            if direct:
                parts.append(verbatim(self._text(element)))
                continue
            name = new.name("item")
            inner = element.value if isinstance(element, ast.Starred) else element
            parts.append(ast.Starred(name, ast.Store()) if isinstance(element, ast.Starred) else name)
            made = self.names.made_list if isinstance(element, ast.Starred) else None
            stmts += self._store(inner, ast.Call(verbatim(made), [name], []) if made else name, new)
        return ast.Tuple(parts, ast.Store()), stmts

    def _store(self, target: ast.expr, value: ast.expr, new: _Temporaries) -> list[ast.stmt]:
        """The statements that assign an evaluated value to a target."""
        if not self.updates(target):
            return [_assignment(verbatim(in_one_statement(self._text(target), " = 0")), value)]
        if isinstance(target, ast.Attribute):
            return [self._set(target, value)]
        pattern, stmts = self._pattern(target, new)
        return [_assignment(pattern, value), *stmts]

    def _set(self, target: ast.Attribute, value: ast.expr, obj: ast.expr | None = None) -> ast.stmt:
        obj = obj or verbatim(self._object(target))
        field_name = self.scopes.attribute(target)
        if (setter := self.names.setters.get(field_name)) is not None:
            return ast.Expr(ast.Call(verbatim(setter), [value, obj], []))
        raise Unsupported(target, f"{field_name} may be deleted but not assigned")

    def _is_inlined(self, target: ast.Attribute, stmt: ast.stmt, end: int) -> bool:
        """May the look-up that decides about an update stand in its place? It needs lines of its own, a name
        to look up, and a function, where its temporary is seen by nobody."""
        return (
            isinstance(target.value, ast.Name)
            and 0 < len(self.in_place.guards.get(self.scopes.attribute(target), ())) <= MAX_GUARDS
            and self.scopes.scope(stmt).kind == "function"
            and self._is_alone(self.source.start(stmt), end)
        )

    def _is_asked_in_place(self, stmt: ast.Expr, method: ast.Attribute, element: ast.expr) -> bool:
        """May the look-up whether a global set has an element stand in place of `add` and `discard`?"""
        owner = method.value
        untouched = not any(n in self.choices or n in self.fixed for n in (stmt.value, method, owner))
        return (
            method.attr in _ASKING
            and isinstance(owner, ast.Name)
            and owner.id in self.in_place.sets
            and isinstance(
                element, ast.Name | ast.Constant | ast.Tuple | ast.Attribute | ast.Call | ast.Subscript
            )
            and untouched
            and self.scopes.is_global(owner)
            and self.scopes.scope(stmt).kind == "function"
            and self._is_alone(self.source.start(stmt), self.source.end(stmt))
            and stmt.lineno == stmt.end_lineno
        )

    def _ask_in_place(self, stmt: ast.Expr, method: ast.Attribute, element: ast.expr) -> list[Edit]:
        """`if x not in G: G._put_(x)`: no call where nothing changes, nor where nobody asks about x."""
        new = _Temporaries(self.names)
        text = self._text(element)
        stmts: list[ast.stmt] = []
        value = verbatim(text)
        if not _is_atom(element, text):
            value = new.name("element")
            stmts.append(_assignment(value, verbatim(text)))
        operator, change = _ASKING[method.attr]
        owner = verbatim(self._text(method.value))
        work: list[ast.stmt] = [ast.Expr(ast.Call(ast.Attribute(owner, change, ast.Load()), [value], []))]
        if (entry := self.in_place.set_entries.get(ast.unparse(method.value))) is not None:
            items = element.elts if isinstance(element, ast.Tuple) else []
            texts = [self._text(item) for item in items]
            atoms = all(map(_is_atom, items, texts))
            matters = entry.of(value, items=[verbatim(text) for text in texts] if atoms else ())
            if method.attr == "discard" and entry.reads_fields():  # of an equal element, which is there
                alone = ast.Attribute(value, "__class__", ast.Load())
                other = ast.Compare(alone, [ast.NotIn()], [verbatim(self.names.alone)])
                matters = ast.BoolOp(ast.Or(), [other, matters])
            bound = self.in_place.plainly[ast.unparse(method.value)][method.attr]
            plainly: list[ast.stmt] = [ast.Expr(ast.Call(verbatim(bound), [value], []))]
            if any(isinstance(n, ast.Attribute | ast.Subscript) for n in ast.walk(matters)):
                work = self._decided(matters, work, plainly)
            else:  # what was looked up in the set can be looked up elsewhere
                work = [ast.If(matters, work, plainly)]
        stmts.append(ast.If(ast.Compare(value, [operator], [owner]), work, []))
        return self._statements(self.source.start(stmt), self.source.end(stmt), [*stmts, *new.deletion()])

    def _decided(self, test: ast.expr, work: list[ast.stmt], plain: list[ast.stmt]) -> list[ast.stmt]:
        """Do the work where a test holds or raises; else `plain` alone."""
        matters = ast.Name(self.matters, ast.Store())
        failed = ast.ExceptHandler(verbatim("Exception"), None, [_assignment(matters, ast.Constant(True))])
        return [ast.Try([_assignment(matters, test)], [failed], [], []), ast.If(matters, work, plain)]

    def _set_in_place(self, target: ast.Attribute, value: ast.expr) -> list[ast.stmt]:
        """`if o in tag: change_f(x, o)`, and else the assignment itself, without a call.

        A receiver that cannot be a key is in no tag set; what then happens to it is up to Python. A flag
        would cost as much as the look-up, so all stands in the `try`: what the update raised goes on."""
        obj = verbatim(self._object(target))
        field_name = self.scopes.attribute(target)
        tags = self.in_place.guards[field_name]
        tests: list[ast.expr] = [
            ast.Call(verbatim(self.in_place.has[tag]), [obj], [])
            if tag in self.in_place.has
            else ast.Compare(obj, [ast.In()], [verbatim(tag)])
            for tag in tags
        ]
        guard = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
        plain = _assignment(ast.Attribute(obj, target.attr, ast.Store()), value)
        asked = ast.Call(verbatim(self.names.is_key), [obj, *map(verbatim, tags)], [])
        change = self._set(target, value)
        if (changer := self.names.changers.get(field_name)) is not None:
            change = ast.Expr(ast.Call(verbatim(changer), [value, obj], []))
        work = [change]
        if (entry := self.in_place.entries.get(field_name)) is not None:
            old = ast.Attribute(obj, target.attr, ast.Load())
            work = self._decided(entry.of(obj, old, value), [change], [plain])
        unknown = [ast.If(asked, [ast.Raise()], []), plain]
        caught = verbatim(f"({', '.join(_UNKEYED)})")
        return [ast.Try([ast.If(guard, work, [plain])], [ast.ExceptHandler(caught, None, unknown)], [], [])]

    def _del(self, target: ast.Attribute) -> ast.stmt:
        obj = verbatim(self._object(target))
        field_name = self.scopes.attribute(target)
        if (deleter := self.names.deleters.get(field_name)) is not None:
            return ast.Expr(ast.Call(verbatim(deleter), [obj], []))
        return ast.Expr(ast.Call(verbatim(self.names.delattr_), [obj, ast.Constant(field_name)], []))


@dataclass(frozen=True)
class _Temporaries:
    """The temporaries of one statement."""

    names: UpdateNames
    used: list[str] = field(default_factory=list)

    def name(self, prefix: str) -> ast.expr:
        self.used.append(self.names.fresh(prefix))
        return ast.Name(self.used[-1], ast.Store())

    def deletion(self) -> list[ast.stmt]:
        return [ast.Delete([verbatim(name) for name in self.used])] if self.used else []


@dataclass(frozen=True)
class _Replacer(ast.NodeTransformer):
    """Makes the choices in a copy of a tree."""

    original: Mapping[ast.AST, ast.AST]
    choices: Choices
    replaced: Mapping[ast.AST, str]

    def visit(self, node: ast.AST) -> Any:
        original = self.original[node]
        if original in self.replaced:
            return verbatim(self.replaced[original])
        match self.choices.get(original):
            case Replace(name):
                return verbatim(name)
            case Wrap(function):
                inner = self.generic_visit(node)
                assert isinstance(inner, ast.expr)
                return ast.Call(verbatim(function), [inner], [])
            case Rebind(functions) if isinstance(node, ast.comprehension):
                return [self.generic_visit(node), *(_clause(name, function) for name, function in functions)]
        return self.generic_visit(node)


def _clause(name: str, function: str) -> ast.comprehension:
    """The clause of a comprehension that gives a name what a function makes of it."""
    made = ast.Tuple([ast.Call(verbatim(function), [verbatim(name)], [])], ast.Load())
    return ast.comprehension(ast.Name(name, ast.Store()), made, [], is_async=0)


def _clause_text(name: str, function: str) -> str:
    return f"for {name} in ({function}({name}),)"


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_atom(node: ast.expr, text: str) -> bool:
    """An expression that may be evaluated later, and stand twice in the text."""
    return isinstance(node, ast.Name | ast.Constant) and len(text) <= 40 and text.isprintable()


def _assignment(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value)
