"""Programs of fuzzed names, a few of them; and what no text of ours may read."""

from __future__ import annotations

from pathlib import Path

import pytest

import incoq
from trust.names import Tags, check, markup, reads_pickles, under_hash_seed, usual_tags

SEEDS = range(40)


def test_programs_of_fuzzed_names_answer_as_before_and_never_run_when_compiled() -> None:
    ends = {seed: check(seed) for seed in SEEDS}
    assert not {seed: fault for seed, (_, fault) in ends.items() if fault}
    # two of three in the mean; which names a seed makes changes with those of the support code
    assert sum(end == "answered" for end, _ in ends.values()) >= len(SEEDS) // 3


def test_a_page_of_fuzzed_names_has_no_markup_of_theirs() -> None:
    assert not {seed: more for seed in (0, 1, 3) if (more := markup(seed))}
    usual, scripts = usual_tags()
    assert scripts == 1
    assert not Tags("<b onclick='x'>").found <= usual


def test_equal_input_gives_equal_bytes_under_other_hash_seeds() -> None:
    assert under_hash_seed("1", [2, 4, 5]) == under_hash_seed("9", [2, 4, 5])


@pytest.mark.parametrize("text", ["import pickle", "from marshal import loads", "f(allow_pickle=True)"])
def test_a_module_that_could_read_a_pickle_is_found(text: str) -> None:
    assert reads_pickles(text)


def test_no_pickle_is_read_anywhere() -> None:
    ours = Path(incoq.__file__).parent.rglob("*.py")
    assert not {path.name: found for path in ours if (found := reads_pickles(path.read_text("utf-8")))}


def test_a_builtin_that_the_module_binds_is_refused_where_generated_code_needs_it() -> None:
    text = "from incoq import query\ndef getattr(o, n): return 1\n@query\ndef q(s): return {x.a for x in s}\n"
    with pytest.raises(incoq.CompileError) as caught:
        incoq.compile_source(text)
    assert caught.value.code == "IQ213"
    assert incoq.compile_source(text.replace("getattr", "input")).code
