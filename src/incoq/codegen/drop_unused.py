"""Leave out what a program does not need of its support code.

Before:    class List(list): …, class Dict(dict): …, def heap_of(…), del_email(o), …
After:     class List(list): "The program makes none.", …
Invariant: what the program's own text calls, and all that this calls in turn, is there. Containers that the
           text makes nowhere are classes without methods: values are only asked whether they belong to them.
Cost:      one search for names in each text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from incoq.codegen.print_python import Printed

# What a program calls to make containers of these classes, or to change them.
_MAKERS = {"List": ("List", "fresh", "through", "list_routes"), "Dict": ("Dict", "dict_routes")}

_DOCSTRING = re.compile(r'(?m)^\s*"""(?:[^"\\]|\\.|"(?!""))*"""$')
_WORD = re.compile(r"[\w\u0080-\U0010ffff]+")  # a name may hold marks that are no letters


def drop_unused(
    printed: Sequence[Printed], names: Mapping[str, str], texts: Iterable[str], roots: Collection[str]
) -> tuple[Printed, ...]:
    """The statements that these texts of the program need, and those that bind a root; `names` gives what the
    names of the prelude are called here."""
    wanted = {word for text in texts for word in _names(text)}
    for container, makers in _MAKERS.items():
        if wanted.isdisjoint(_meant(names[maker]) for maker in makers):
            printed = [_bare(p, names[container]) for p in printed]
    by_name: dict[str, list[Printed]] = {}
    for piece in printed:
        for name in map(_meant, piece.binds):
            by_name.setdefault(name, []).append(piece)
    reached = {*wanted, *map(_meant, roots)}
    pending = list(reached & by_name.keys())
    kept: set[Printed] = set()
    while pending:
        for piece in by_name[pending.pop()]:
            if piece not in kept:
                kept.add(piece)
                new = (_words(piece.text) & by_name.keys()) - reached
                reached |= new
                pending += new
    return tuple(piece for piece in printed if piece in kept)


@lru_cache(maxsize=512)  # most of it is the same in every program
def _words(text: str) -> set[str]:
    """The names in generated text, and more: the words of comments, and of strings, which may hold names."""
    return _names(_DOCSTRING.sub("", text))


def _names(text: str) -> set[str]:
    return set(_WORD.findall(_meant(text)))


def _meant(text: str) -> str:
    """Names are the same to Python if they are so once normalised."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _bare(piece: Printed, container: str) -> Printed:
    """The class of a container without its methods."""
    if not piece.text.startswith(f"class {container}("):
        return piece
    head = piece.text.partition("\n")[0]
    return replace(piece, text=f'{head}\n    """The program makes none that a query could reach."""')
