"""The generated maintenance functions, with the invariant that each block keeps and the cost of each loop.

Both are read off the comments of the generated code, so that what is shown is what a reader of the code sees:

    # tag_u_1 for member += (celeb_followers, u): O(1)          a block
    for celeb in fil_inv_followers.get(s, ()):  # #fil_inv_followers{celeb_followers}     a loop
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from incoq.compile import Compiled

# The methods of the containers that maintenance is put into; every other mutator is made of them.
CONTAINERS = {"Set": ("add", "discard"), "Dict": ("__setitem__", "__delitem__"), "List": ("_put_", "_take_")}

OF_FIXED = {"_put_": "add", "_take_": "discard"}  # what does the work of these, of a fixed set

_BLOCK = re.compile(r"^\s*# (?P<invariant>\w+) for (?P<change>.*?): (?P<cost>O\(.*\))$")
_LOOP = re.compile(r"^\s*for .*:  # (?P<cost>#.*)$")


def maintenance_functions(compiled: Compiled) -> Iterable[dict[str, Any]]:
    """The generated functions: updates, tags, demand, asking. What all programs share is left out."""
    text = compiled.support.text
    names = compiled.support.names
    prelude = set(names.values())
    methods = {method: names[name] for name, own in CONTAINERS.items() for method in own}
    lines = text.splitlines()
    known = {i.name for i in compiled.plan.invariants}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name in methods:
                    fixed = compiled.support.own_classes.get(node.name)
                    shown = OF_FIXED.get(method.name, method.name) if fixed else method.name
                    function = _function(lines, method, f"{fixed or methods[method.name]}.{shown}", known)
                    if function["blocks"]:  # elsewhere a method of the prelude
                        yield function
        elif isinstance(node, ast.FunctionDef) and node.name not in prelude:
            yield _function(lines, node, node.name, known)


def _function(lines: list[str], node: ast.FunctionDef, name: str, known: set[str]) -> dict[str, Any]:
    code = [line[node.col_offset :] for line in lines[node.lineno - 1 : node.end_lineno]]
    blocks, loops = [], []
    for number, line in enumerate(code, 1):
        if (block := _BLOCK.match(line)) and block["invariant"] in known:
            blocks.append({"line": number, **block.groupdict()})
        elif loop := _LOOP.match(line):
            loops.append({"line": number, "cost": f"O({loop['cost']})"})
    return {
        "function": name,
        "what": ast.get_docstring(node) or "",
        "code": "\n".join(code),
        "blocks": blocks,
        "loops": loops,
    }
