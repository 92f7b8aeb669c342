"""Names and strings: programs of fuzzed identifiers answer as before; compiling them runs nothing of theirs.

Every program has its class, fields, parameters, variables, functions, globals and strings made of what could
meet names of ours or of Python: prelude and generated names, builtins, soft keywords, dunders, private names,
letters that Python takes for one another, quotes, braces, newlines and markup. The text of each holds a
canary that running it would set. A sample is compiled again under other hash seeds, and must give the same
bytes; what explains it as a page has no more markup than it has for a program of plain names.
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
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import incoq
from incoq.codegen import prelude
from incoq.explain import explain_html
from incoq.testing.execution import load
from trust.outcome import Outcome

ROOT = Path(__file__).resolve().parent.parent
HASH_SEEDS = ("1", "2", "7")
SAMPLE = 20
FIRST = 100_000  # beyond the seeds of the ordinary tests
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
KINDS = (
    *("C", "f", "g", "h", "q", "a", "b", "v", "w", "u", "x", "y", "R", "m", "n", "p"),
    *("D", "E", "F", "G"),  # classes and functions
    *(f"l{number}" for number in range(28)),  # locals, parameters, fields that no query reads
)

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
class {D}({C}):
    {l0} = {doc!r}
    def {l1}(self, {l2}, *{l3}, {l4}=None, **{l5}):
        {l6} = [{l7} for {l7} in {l3} if {l7} is not {l4}]
        self.{f}, self.{l8} = {l2}, {l6}
        self.{h}.update({l6})
        return len({l6}), sorted({l5}), self.{l0}
def {E}({l9}, {l10}):
    {l11} = {l12} = 0
    for {l13}, {l14} in enumerate({l10}):
        {l9}.{h}.add({l14})
        {l11} += {l13}
    while {l12} < 2:
        {l12} += 1
    {l15} = lambda {l16}, {l17}={l11}: ({l16}.{f}, {l17})
    try:
        {l9}.{g} = {l15}({l9})[0].{l18}
    except AttributeError as {l19}:
        {l9}.{l18} = {l20} = type({l19}).__name__
        return {l20}
def {F}({l21}):
    {l22} = {{{l23}: {l24} for {l23}, {l24} in ((1, {l21}), (2, None))}}
    def {l25}({l26}):
        nonlocal {l21}
        {l21} = {l26}
        return [{l27} for {l27} in {l22}]
    return {l25}(3), {l21}
{G} = {F}
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
            ours = kind in "CqRuDEFG" and plain in dir(builtins)  # refused: IQ213
            magic = kind in "fghm" and plain[:2] == plain[-2:] == "__"  # refused: IQ202
            if (ours or magic) and rng.random() < 0.95:
                continue
            if not (plain in seen or plain == "self" or (kind in "vw" and plain == "_")):
                seen.add(plain)
                names[kind] = name
                break
    text, doc = rng.choice(STRINGS) + rng.choice(STRINGS), rng.choice(STRINGS)
    canary = "__import__('sys').canary_of_names = 1"
    source = PROGRAM.format(
        canary=canary, canary_default=f"exec({canary!r})" if rng.random() < 0.05 else "0", text=text, doc=doc,
        **names,
    )  # fmt: skip
    return Made(source, names, (text, doc))


def scenario(space: dict[str, Any], made: Made) -> list[Any]:
    """What a program answers, step by step; objects shown by their order."""
    shown: list[Any] = []

    def name(kind: str, of: str = "C") -> str:
        plain = unicodedata.normalize("NFKC", made.names[kind])
        private = plain.startswith("__") and not plain.endswith("__")
        owner = unicodedata.normalize("NFKC", made.names[of]).lstrip("_")
        return f"_{owner}{plain}" if private and owner else plain

    made_of, update, query = (space[unicodedata.normalize("NFKC", made.names[k])] for k in "Cuq")
    relation = space[unicodedata.normalize("NFKC", made.names["R"])]
    objects = [made_of(n) for n in range(3)]
    child, linked, plainly, again = (space[unicodedata.normalize("NFKC", made.names[k])] for k in "DEFG")
    other = child(7)
    objects.append(other)
    shown.append(plainly(8) if again is plainly else again)
    for step in range(5):
        update(objects[step % 4], step % 2)
        shown.append(linked(objects[step % 3], objects[: step % 4]))
        shown.append(getattr(other, name("l1", "D"))(step, *objects[: step % 3], extra=step))
        for one in objects:
            shown.append(sorted(query(one, relation)))
            shown.append(sorted(getattr(one, name("m"))(made.strings[0] if step % 2 else "?")))
    return shown


def check(seed: int) -> tuple[str, str]:
    """What became of a seed: `answered`, the code of a refusal, or a fault with its description."""
    made = make(seed)
    if hasattr(sys, "canary_of_names"):
        del sys.canary_of_names
    try:
        compiled = incoq.compile_source(made.text, mode=("filtered", "incremental")[seed % 2])
        code = compiled.code
    except incoq.CompileError as error:
        if hasattr(sys, "canary_of_names"):
            return "fault", "the program ran while it was compiled"
        return error.code, ""
    except Exception as error:
        return "fault", f"the compiler raised {type(error).__name__}: {error}"
    if hasattr(sys, "canary_of_names"):
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


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.scripts = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag with the names of its attributes."""
        self.found.add(f"{tag} {' '.join(sorted(name for name, _ in attrs))}")
        self.scripts += tag == "script"


@cache
def usual_tags() -> tuple[frozenset[str], int]:
    """The tags of pages of programs with plain names and strings, and how many scripts one has."""
    found: set[str] = set()
    scripts = 0
    for mode in ("filtered", "incremental"):
        plain = {kind: f"n{number}" for number, kind in enumerate(KINDS)}
        text = PROGRAM.format(canary="", canary_default="0", text="text", doc="doc", **plain)
        tags = Tags(explain_html(incoq.compile_source(text, mode=mode)))
        found |= tags.found
        scripts = tags.scripts
    return frozenset(found), scripts


def markup(seed: int) -> str:
    """What the page of a seed's program has more of than that of a plain one."""
    made = make(seed)
    try:
        compiled = incoq.compile_source(made.text, "<b>.py", mode=("filtered", "incremental")[seed % 2])
    except incoq.CompileError:
        return ""
    tags, (usual, scripts) = Tags(explain_html(compiled)), usual_tags()
    more = tags.found - usual
    return (
        f"its page has {sorted(more)} and {tags.scripts} scripts" if more or tags.scripts != scripts else ""
    )


def run(budget_seconds: float, seed: int) -> Outcome:
    """Programs until the time is over; then the hash seeds, the pages, and our own text."""
    start = time.perf_counter()
    ends: Counter[str] = Counter()
    failures: list[str] = []
    at = first = seed or FIRST
    while time.perf_counter() - start < 0.85 * budget_seconds and len(failures) < 10:
        end, fault = check(at)
        ends[end] += 1
        if fault:
            failures.append(f"seed {at}: {fault}")
        at += 1
    sample = list(range(first, min(at, first + SAMPLE)))
    failures += [f"seed {number}: {more}" for number in sample if (more := markup(number))]
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
    counts = {
        "identifiers": programs * len(KINDS), "strings": 2 * programs, "programs": programs,
        "answered": ends["answered"], "sampled": len(sample),
    }  # fmt: skip
    figure = (
        "{identifiers:,} identifiers and {strings:,} strings in {programs:,} programs, at least {answered:,}"
        f" of which answer; {{sampled:,}} of them under {1 + len(HASH_SEEDS)} hash seeds and as pages;"
        f" {len(failures)} faults"
    )
    limit = "0 faults; nothing runs; same bytes; no markup of theirs; no pickle"
    details = tuple(f"{count:>8,} {end}" for end, count in ends.most_common())
    return Outcome("names", figure, limit, tuple(failures), details, counts=counts, next_seed=at)
