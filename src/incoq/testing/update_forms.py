"""The forms of update that random programs use, each as a small function.

A form is (name, text, kinds of the arguments); `{f}` stands for a field and `{g}` for another one. Kinds:
`O` an object that is changed, `O.f` an object whose set in that field is changed, `S`, `M`, `L` a set, dict
or list that is changed, `vf` a value for field f, `e` an element, `k` a key, `t` something to iterate,
`two` a tuple, `i` a number, `n` a name.
"""

from __future__ import annotations

from dataclasses import dataclass

Form = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True)
class Update:
    """An update function: `args` gives the kind of each argument; `q` those of a query."""

    name: str
    text: str
    args: tuple[str, ...]
    form: str
    shadow: bool = True
    use: str = ""


RARE = {
    "add": 9.0, "discard": 3.0, "assign": 4.0, "drain": 0.2, "clear": 0.2, "pop": 0.5, "iand": 0.3,
    "intersect": 0.3, "isub": 0.4, "difference": 0.4, "del": 0.4, "delattr": 0.4, "fresh": 0.3, "update": 2.0,
    "ior": 2.0, "aug": 0.5,
}  # fmt: skip

SHRINKING = frozenset((
    "discard", "remove", "pop", "drain", "clear", "isub", "iand", "difference", "intersect", "ixor",
    "symmetric", "mapped", "assign", "unput", "pop_key", "pop_default", "clear_map", "popitem", "cut",
    "pop_at", "drop", "clear_list",
))  # fmt: skip
"""The forms that a set of the largest size still takes, so that worlds stay small."""

FIELD_UPDATES: tuple[Form, ...] = (
    ("del_{f}", "def del_{f}(o):\n    del o.{f}\n", ("O",)),
    ("aug_{f}", "def aug_{f}(o, v):\n    o.{f} += v\n", ("O", "i")),
    ("tuple_{f}", "def tuple_{f}(o, v):\n    x, o.{f} = 0, v\n    return x\n", ("O", "v{f}")),
    ("chain_{f}", "def chain_{f}(o, p, v):\n    o.{f} = p.{f} = v\n", ("O", "O", "v{f}")),
    ("chain2_{f}", "def chain2_{f}(o, v):\n    o.{f} = o.{g} = v\n", ("O", "v{f}")),
    ("swap_{f}", "def swap_{f}(o, p):\n    o.{f}, p.{f} = p.{f}, o.{f}\n", ("O", "O")),
    ("move_{f}", "def move_{f}(o, p):\n    o.{f} = p.{g}\n", ("O", "O")),
    ("setattr_{f}", 'def setattr_{f}(o, v):\n    return setattr(o, "{f}", v)\n', ("O", "v{f}")),
    ("delattr_{f}", 'def delattr_{f}(o):\n    delattr(o, "{f}")\n', ("O",)),
    ("setname_{f}", "def setname_{f}(o, name, v):\n    setattr(o, name, v)\n", ("O", "n", "v{f}")),
    ("fresh_{f}", "def fresh_{f}(o):\n    o.{f} = set()\n", ("O",)),
    ("literal_{f}", "def literal_{f}(o, x, y):\n    o.{f} = {x, y}\n", ("O", "e", "e")),
    ("made_{f}", "def made_{f}(o, x):\n    o.{f} = Set((x,))\n", ("O", "e")),
    ("built_{f}", "def built_{f}(o, t):\n    o.{f} = {x for x in t}\n", ("O", "t")),
    ("addto_{f}", "def addto_{f}(o, x):\n    o.{f}.add(x)\n", ("O.{f}", "e")),
    ("ior_{f}", "def ior_{f}(o, t):\n    o.{f} |= t\n", ("O.{f}", "t")),
    ("isub_{f}", "def isub_{f}(o, t):\n    o.{f} -= t\n", ("O.{f}", "t")),
)

FIELD_UPDATES_ALL: tuple[Form, ...] = (
    ("union_{f}", "def union_{f}(o, s, t):\n    o.{f} = s | t\n", ("O", "S", "S")),
    ("copy_{f}", "def copy_{f}(o, s):\n    o.{f} = s.copy()\n", ("O", "S")),
    ("target_{f}", "def target_{f}(o, t):\n    for o.{f} in t:\n        pass\n", ("O", "two")),
    ("starred_{f}", "def starred_{f}(o, t):\n    o.{f}, *rest = t\n    return rest\n", ("O", "two")),
    ("noted_{f}", "def noted_{f}(o, v):\n    o.{f}: object = v\n", ("O", "v{f}")),
    ("dunder_{f}", 'def dunder_{f}(o, v):\n    o.__dict__["{f}"] = v\n', ("O", "v{f}")),
    ("vars_{f}", 'def vars_{f}(o, v):\n    vars(o)["{f}"] = v\n', ("O", "v{f}")),
    ("object_{f}", 'def object_{f}(o, v):\n    object.__setattr__(o, "{f}", v)\n', ("O", "v{f}")),
    ("nested_{f}", "def nested_{f}(o, v):\n    (o.{f}, [o.{g}, x]) = v, [v, 0]\n", ("O", "v{f}")),
)

VIEW_UPDATES: tuple[Form, ...] = (  # what Python makes of a set and the keys of a dict is another set
    ("iorkeys_{f}", "def iorkeys_{f}(o, t):\n    o.{f} |= dict.fromkeys(t).keys()\n", ("O.{f}", "t")),
    ("isubkeys_{f}", "def isubkeys_{f}(o, t):\n    o.{f} -= dict.fromkeys(t).keys()\n", ("O.{f}", "t")),
    ("keys_{f}", "def keys_{f}(o, t, x):\n    o.{f} = dict.fromkeys(t).keys() | {x}\n", ("O", "t", "e")),
    ("xorkeys_{f}", "def xorkeys_{f}(o, s, t):\n    o.{f} = s ^ dict.fromkeys(t).keys()\n", ("O", "S", "t")),
)

BATCH_UPDATES: tuple[Form, ...] = (
    (
        "batch_{f}",
        "def batch_{f}(o, p, v, s, x):\n    with batch():\n        o.{f} = v\n        s.add(x)\n"
        "        p.{f} = o.{g}\n        o.{f} = 1\n        o.{f} = v\n        s.discard(x)\n",
        ("O", "O", "v{f}", "S", "e"),
    ),
    (
        "batch_back_{f}",
        "def batch_back_{f}(o, v):\n    with batch():\n        old = o.{f}\n        o.{f} = v\n"
        "        del o.{f}\n        o.{f} = old\n",
        ("O", "v{f}"),
    ),
    (
        "batch_in_batch_{f}",
        "def batch_in_batch_{f}(s, o, x, y, v):\n    with batch():\n        s.add(x)\n"
        "        with batch():\n            o.{f} = v\n        s.discard(y)\n        del o.{f}\n",
        ("S", "O", "e", "e", "v{f}"),
    ),
    (
        "batch_sets",
        "def batch_sets(s, t, x, y):\n    with batch():\n        s.add(x)\n        t.discard(x)\n"
        "        s |= t\n        t.add(y)\n        s.discard(x)\n",
        ("S", "S", "e", "e"),
    ),
    (
        "batch_clear",
        "def batch_clear(s, x):\n    with batch():\n        xs = list(s)\n        s.clear()\n"
        "        s.update(xs)\n        s.add(x)\n",
        ("S", "e"),
    ),
)

SET_UPDATES: tuple[Form, ...] = (
    ("remove", "def remove(s, x):\n    s.remove(x)\n", ("S", "e")),
    ("pop", "def pop(s):\n    return s.pop()\n", ("S",)),
    ("drain", "def drain(s):\n    while s:\n        s.pop()\n", ("S",)),
    ("clear", "def clear(s):\n    s.clear()\n", ("S",)),
    ("update", "def update(s, t):\n    s.update(t)\n", ("S", "t")),
    ("update2", "def update2(s, t, u):\n    return s.update(t, u)\n", ("S", "t", "t")),
    ("ior", "def ior(s, t):\n    s |= t\n", ("S", "t")),
    ("isub", "def isub(s, t):\n    s -= t\n", ("S", "t")),
    ("iand", "def iand(s, t):\n    s &= t\n", ("S", "t")),
    ("ixor", "def ixor(s, t):\n    s ^= t\n", ("S", "t")),
    ("difference", "def difference(s, t):\n    s.difference_update(t)\n", ("S", "t")),
    ("intersect", "def intersect(s, t):\n    s.intersection_update(t)\n", ("S", "t")),
    ("symmetric", "def symmetric(s, t):\n    s.symmetric_difference_update(t)\n", ("S", "t")),
    ("kept_add", "def kept_add(s, x):\n    r = s.add(x)\n    return [r]\n", ("S", "e")),
    (
        "guarded",
        "def guarded(s, x):\n    if x in s:\n        s.remove(x)\n    else:\n        s.add(x)\n",
        ("S", "e"),
    ),
    ("alias", "def alias(s, x):\n    t = s\n    t.add(x)\n    return len(t)\n", ("S", "e")),
    ("both", "def both(s, t, x):\n    s.discard(x), t.add(x)\n", ("S", "S", "e")),
    ("partly", "def partly(s, x, y):\n    s.add(x)\n    s.remove(y)\n", ("S", "e", "e")),
)

SET_UPDATES_ALL: tuple[Form, ...] = (
    ("escaped", "def escaped(s, x):\n    f = s.add\n    f(x)\n", ("S", "e")),
    ("mapped", "def mapped(s, t):\n    list(map(s.discard, t))\n", ("S", "two")),
    ("unbound", "def unbound(s, x):\n    set.add(s, x)\n", ("S", "e")),
    ("named", 'def named(s, x):\n    getattr(s, "add")(x)\n', ("S", "e")),
)

MAP_UPDATES: tuple[Form, ...] = (
    ("put", "def put(m, k, v):\n    m[k] = v\n", ("M", "k", "e")),
    ("unput", "def unput(m, k):\n    del m[k]\n", ("M", "k")),
    ("pop_key", "def pop_key(m, k):\n    return m.pop(k)\n", ("M", "k")),
    ("pop_default", "def pop_default(m, k):\n    return m.pop(k, None)\n", ("M", "k")),
    ("setdefault", "def setdefault(m, k, v):\n    return m.setdefault(k, v)\n", ("M", "k", "e")),
    ("update_map", "def update_map(m, k, v):\n    m.update({k: v})\n", ("M", "k", "e")),
    ("clear_map", "def clear_map(m):\n    m.clear()\n", ("M",)),
    ("popitem", "def popitem(m):\n    return m.popitem()\n", ("M",)),
    ("aug_item", "def aug_item(m, k, v):\n    m[k] += v\n", ("M", "k", "i")),
)

LIST_UPDATES: tuple[Form, ...] = (
    ("append", "def append(l, x):\n    l.append(x)\n", ("L", "e")),
    ("insert", "def insert(l, i, x):\n    l.insert(i, x)\n", ("L", "i", "e")),
    ("store", "def store(l, i, x):\n    l[i] = x\n", ("L", "i", "e")),
    ("cut", "def cut(l, i):\n    del l[i]\n", ("L", "i")),
    ("slice", "def slice_(l, i, x, y):\n    l[i:] = [x, y]\n", ("L", "i", "e", "e")),
    ("extend", "def extend(l, t):\n    l.extend(t)\n", ("L", "two")),
    ("iadd", "def iadd(l, t):\n    l += t\n", ("L", "two")),
    ("pop_at", "def pop_at(l, i):\n    return l.pop(i)\n", ("L", "i")),
    ("drop", "def drop(l, x):\n    l.remove(x)\n", ("L", "i")),
    ("reverse", "def reverse(l):\n    l.reverse()\n", ("L",)),
    ("sort", "def sort(l):\n    l.sort(key=id)\n", ("L",)),
    ("clear_list", "def clear_list(l):\n    l.clear()\n", ("L",)),
    ("twice", "def twice(l):\n    l *= 2\n", ("L",)),
)

LIST_FIELD_UPDATES: tuple[Form, ...] = (
    ("tail_{f}", "def tail_{f}(o, l):\n    o.{f} = l[1:]\n", ("O", "L")),
    ("sorted_{f}", "def sorted_{f}(o, l):\n    o.{f} = sorted(l, key=id)\n", ("O", "L")),
    ("copied_{f}", "def copied_{f}(o, l):\n    o.{f} = l.copy()\n", ("O", "L")),
    ("plus_{f}", "def plus_{f}(o, l, x):\n    o.{f} = l + [x, x]\n", ("O", "L", "e")),
    ("listed_{f}", "def listed_{f}(o, t):\n    o.{f} = list(t)\n", ("O", "two")),
    ("filled_{f}", "def filled_{f}(o, l):\n    o.{f} = [x for x in l]\n", ("O", "L")),
    ("deeper_{f}", "def deeper_{f}(o, l):\n    l.append(l)\n    o.{f} = l\n", ("O", "L")),
)
