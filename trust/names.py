"""Names and strings: programs of fuzzed identifiers answer as before; compiling them runs nothing of theirs.

Every program has its class, fields, parameters, variables, functions, globals and strings made of what could
meet names of ours or of Python: prelude and generated names, builtins, soft keywords, dunders, private names,
letters that Python takes for one another, quotes, braces, newlines and markup. The text of each holds a
canary that running it would set. A sample is compiled again under other hash seeds, and must give the same
bytes.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import keyword
import os
import random
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import incoq
from incoq.codegen import prelude
from incoq.testing.execution import load
from trust.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
HASH_SEEDS = ("1", "2", "7")
SAMPLE = 40
GENERATED = (
    "r_q tag_u tag_v inv_member fil_member fil_inv_member_1 demand_q release_q ask_q keep_q drop_q set_a",
    "del_a maintain_q ok result answer image count old value tagged o s x s_2 x_2 smaller_set larger_set",
    "element part_1 adopt ADOPTED REFUSED SETTERS DELETERS SOURCES q_query settle watch usual_q original",
    "cls self",
)
ODD = "ª º ﬁ ﬂ 𝐱 𝑦 ｘ é é ß ſ µ а е о х Ω Ω ñ 变量 переменная ℌ ⅳ x̱ İ ı"
STRINGS = (
    "", "'", '"', '"""', "'''", "\\", "\n", "\r\n", "{}", "{x}", "%s", "\x00", "</script>", "<b>",
    "&amp;", "# type: ignore", "é", "\ud800", "\u2028", "a" * 300, "\\N{DASH}", "$", "`",
    "'); raise SystemExit(\"",
)  # fmt: skip
WORDS = [*dir(prelude), *dir(builtins), *" ".join((*GENERATED, ODD)).split()]
KINDS = ("C", "f", "g", "h", "q", "a", "b", "v", "w", "u", "x", "y", "R", "m", "n", "p")

PROGRAM = """{canary}
from incoq import Set, query
class {C}:
    {doc!r}
    def __init__(self, {p}, {n}={canary_default}):
        self.{f} = {p}
        self.{g} = {text!r}
        self.{h} = Set()
    @query
    def {m}(self, {n}):
        return {{{v}.{f} for {v} in self.{h} if {v}.{g} != {n}}}
@query
def {q}({a}, {b}):
    return {{({v}.{f}, {w}.{g}) for {v} in {a}.{h}
            for {w} in {b} if {v}.{f} == {w}.{f} if {w}.{g} == {text!r}}}
{R} = Set()
def {u}({x}, {y}):
    {x}.{f}, {x}.{g} = {y}, {text!r} + ""
    {x}.{h}.add({x})
    {R}.add({x})
"""


@dataclass(frozen=True)
class Made:
    """A program with the names that it uses."""

    text: str
    names: dict[str, str]
    strings: tuple[str, ...]


def identifier(rng: random.Random) -> str:
    """A name that Python takes."""
    while True:
        roll = rng.random()
        if roll < 0.6:
            name = rng.choice(WORDS)
        elif roll < 0.7:
            name = rng.choice(("__{}", "_{}", "__{}__", "{}_", "{}_2", "set_{}", "tag_{}")).format(
                rng.choice(WORDS)
            )
        elif roll < 0.75:
            name = rng.choice(("match", "case", "type", "_", "__", "async_", "print"))
        else:
            letters = "abcxyz_ABC019éЖ变"
            name = "".join(rng.choice(letters) for _ in range(rng.choice((1, 2, 3, 8, 40))))
        plain = unicodedata.normalize("NFKC", name)
        if (
            name.isidentifier()
            and not keyword.iskeyword(plain)
            and plain not in ("Set", "query", "__debug__")
        ):
            return name


def make(seed: int) -> Made:
    """The program of a seed."""
    rng = random.Random(seed)
    names: dict[str, str] = {}
    seen: set[str] = set()
    for kind in KINDS:
        while True:
            name = identifier(rng)
            plain = unicodedata.normalize("NFKC", name)
            ours = kind in "CqRu" and plain in dir(builtins) and rng.random() < 0.9  # mostly refused: IQ213
            if not (ours or plain in seen or plain == "self" or (kind in "vw" and plain == "_")):
                seen.add(plain)
                names[kind] = name
                break
    text, doc = rng.choice(STRINGS) + rng.choice(STRINGS), rng.choice(STRINGS)
    canary = "__import__('builtins').canary_of_names = 1"
    source = PROGRAM.format(
        canary=canary, canary_default=f"exec({canary!r})" if rng.random() < 0.2 else "0", text=text, doc=doc,
        **names,
    )  # fmt: skip
    return Made(source, names, (text, doc))


def scenario(space: dict[str, Any], made: Made) -> list[Any]:
    """What a program answers, step by step; objects shown by their order."""
    shown: list[Any] = []

    def name(kind: str) -> str:
        plain = unicodedata.normalize("NFKC", made.names[kind])
        private = plain.startswith("__") and not plain.endswith("__") and kind in "fghm"
        owner = unicodedata.normalize("NFKC", made.names["C"]).lstrip("_")
        return f"_{owner}{plain}" if private and owner else plain

    made_of, update, query = (space[unicodedata.normalize("NFKC", made.names[k])] for k in "Cuq")
    relation = space[unicodedata.normalize("NFKC", made.names["R"])]
    objects = [made_of(n) for n in range(3)]
    for step in range(5):
        update(objects[step % 3], step % 2)
        for one in objects:
            shown.append(sorted(query(one, relation)))
            shown.append(sorted(getattr(one, name("m"))(made.strings[0] if step % 2 else "?")))
    return shown


def check(seed: int) -> tuple[str, str]:
    """What became of a seed: `answered`, the code of a refusal, or a fault with its description."""
    made = make(seed)
    if hasattr(builtins, "canary_of_names"):
        del builtins.canary_of_names
    try:
        compiled = incoq.compile_source(made.text, mode=("filtered", "incremental")[seed % 2])
        code = compiled.code
    except incoq.CompileError as error:
        if hasattr(builtins, "canary_of_names"):
            return "fault", "the program ran while it was compiled"
        return error.code, ""
    except Exception as error:
        return "fault", f"the compiler raised {type(error).__name__}: {error}"
    if hasattr(builtins, "canary_of_names"):
        return "fault", "the program ran while it was compiled"
    try:
        expected: Any = scenario(load(made.text, "plain"), made)
    except Exception as error:
        expected = type(error).__name__
    try:
        got: Any = scenario(load(code, "compiled"), made)
    except Exception as error:
        if str(getattr(error, "code", "")).startswith("IQ"):
            return str(error.code), ""  # type: ignore[attr-defined]  # a coded refusal of the run
        got = type(error).__name__
    if got != expected:
        return "fault", f"the answers are {got}, not {expected}"
    return "answered" if isinstance(expected, list) else "raised alike", ""


def digests(seeds: list[int]) -> list[str]:
    """The digests of what the programs of some seeds are compiled to."""
    found = []
    for seed in seeds:
        try:
            text = incoq.compile_source(make(seed).text).code
        except incoq.CompileError as error:
            text = error.code
        found.append(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
    return found


def under_hash_seed(hash_seed: str, seeds: list[int]) -> list[str]:
    """The same in a process with another hash seed."""
    code = f"from trust.names import digests; print(*digests({seeds!r}))"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    return done.stdout.split()


def reads_pickles(text: str) -> list[str]:
    """The places of a module that could read a pickle."""
    found = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module)):
                modules = [module]
            case ast.Attribute(attr="read_pickle" | "UnpicklingError" as attr):
                modules = [attr]
            case ast.keyword(arg="allow_pickle"):
                modules = ["allow_pickle"]
            case _:
                continue
        wanted = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
        found += [m for m in modules if m.split(".")[0] in wanted or m in ("read_pickle", "allow_pickle")]
    return found


def run(budget_seconds: float, seed: int) -> Outcome:
    """Programs until the time is over; then the hash seeds, and our own text."""
    start = time.perf_counter()
    ends: Counter[str] = Counter()
    failures: list[str] = []
    at = seed * 1_000_000
    while time.perf_counter() - start < 0.85 * budget_seconds and len(failures) < 10:
        end, fault = check(at)
        ends[end] += 1
        if fault:
            failures.append(f"seed {at}: {fault}")
        at += 1
    sample = list(range(seed * 1_000_000, seed * 1_000_000 + SAMPLE))
    base = under_hash_seed("0", sample)
    for hash_seed in HASH_SEEDS:
        other = under_hash_seed(hash_seed, sample)
        failures += [
            f"seed {s}: other bytes under PYTHONHASHSEED={hash_seed}"
            for s, one, two in zip(sample, base, other, strict=True)
            if one != two
        ]
    for path in sorted((ROOT / "src").rglob("*.py")):
        failures += [f"{path.name} imports {m}" for m in reads_pickles(path.read_text(encoding="utf-8"))]
    programs = sum(ends.values())
    figure = (
        f"{programs * len(KINDS):,} identifiers and {2 * programs:,} strings in {programs:,} programs,"
        f" {len(sample)} of them under {1 + len(HASH_SEEDS)} hash seeds; {len(failures)} faults"
    )
    details = tuple(f"{count:>8,} {end}" for end, count in ends.most_common())
    return Outcome("names", figure, "0 faults; nothing runs; same bytes; no pickle", tuple(failures), details)
