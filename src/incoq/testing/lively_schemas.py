"""Make random schemas: what the fields of classes hold, and which containers there are.

A kind is a text: `int`, a class (`Obj`, `Item`), `{k}` a set, `[k]` a list, `(k, k)` a tuple, `<k, k>` a
dict.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

CLASSES = ("Obj", "Item")
INTS = (0, 1, 2)


def parts(kind: str) -> tuple[str, ...]:
    """The kinds inside a kind: `{(Obj, int)}` has `(Obj, int)`, and that has `Obj` and `int`."""
    found, depth, start = [], 0, 1
    for index, letter in enumerate(kind):
        depth += (letter in "{[(<") - (letter in "}])>")
        if (letter == "," and depth == 1) or (depth == 0 and index):
            found.append(kind[start:index].strip())
            start = index + 1
    return tuple(found) if kind[0] in "{[(<" else ()


@dataclass(frozen=True)
class Schema:
    """What the fields of each class hold, and of what kind each container of the world is."""

    fields: dict[str, str]
    owners: dict[str, tuple[str, ...]]
    containers: dict[str, str]
    objects: dict[str, str]
    relations: dict[str, str]
    answers: dict[str, str] = field(default_factory=dict)

    def of(self, owner: str) -> list[str]:
        """The fields of a class."""
        return [f for f, owners in self.owners.items() if owner in owners]

    def named(self, kind: str) -> list[str]:
        """The objects or containers of a kind."""
        return [name for name, k in {**self.objects, **self.containers}.items() if k == kind]


def make_schema(rng: random.Random) -> Schema:
    """One or two classes with three to six fields, and two or three of each container they need."""
    classes = CLASSES if rng.random() < 0.4 else CLASSES[:1]

    def simple() -> str:
        return rng.choice(("int", "Obj", "Obj", classes[-1]))

    def pair() -> str:
        return f"({simple()}, {simple()})" if rng.random() < 0.85 else f"({simple()}, ({simple()}, int))"

    inner = f"{{{rng.choice(('Obj', classes[-1], 'int'))}}}"
    of_pairs = f"{{{pair()}}}"
    sets = ["{Obj}", "{Obj}", f"{{{classes[-1]}}}", of_pairs]
    sets += ["{int}"] if rng.random() < 0.5 else []
    sets += [f"{{{inner}}}"] if rng.random() < 0.3 else []
    others = [f"<{simple()}, {rng.choice(('int', 'Obj', 'Obj', inner))}>"] if rng.random() < 0.45 else []
    others += [f"[{simple()}]"] if rng.random() < 0.35 else []
    names = "abcdef"[: rng.choice((3, 3, 4, 4, 5, 6))]
    kinds = [rng.choice(sets[:3]), rng.choice(("Obj", classes[-1])), "int", *others]
    kinds += [rng.choice((*sets, simple(), simple(), "int", pair())) for _ in names]
    fields = dict(zip(names, kinds, strict=False))
    owners: dict[str, tuple[str, ...]] = {
        f: CLASSES[:1] if len(classes) == 1 or rng.random() < 0.35 else rng.choice((CLASSES, CLASSES[1:]))
        for f in names
    }
    relations = {}
    if rng.random() < 0.3:
        relations = {"R": rng.choice((of_pairs, "{Obj}")), "T": f"{{{pair()}}}"}
    used = [*fields.values(), *(k for r in relations.values() for k in parts(r)), rng.choice(sets)]
    containers: dict[str, str] = {}
    for kind in used:
        while kind[0] in "{[<" and kind not in containers.values():
            letter = {"{": "s", "[": "l", "<": "m"}[kind[0]]
            for _ in range(rng.choice((1, 2, 2))):
                containers[f"{letter}{sum(c[0] == letter for c in containers)}"] = kind
            kind = parts(kind)[-1]
    count = rng.choice((2, 3, 3, 4))
    objects = {f"o{i}": "Obj" for i in range(count)}
    objects |= {f"o{count + i}": "Item" for i in range(rng.choice((1, 2, 2)))} if len(classes) == 2 else {}
    return Schema(fields, owners, containers, objects, relations)
