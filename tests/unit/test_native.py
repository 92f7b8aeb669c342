"""A program built as C answers as its text does; without a compiler the text stays what runs."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from click.testing import CliRunner

from incoq.cli import main
from incoq.native import build, typed

PROGRAM = """
from incoq import Set, query


class User:
    def __init__(self, name):
        self.name = name
        self.friends = Set()


class Name(str):
    meanwhile = int

    def __ne__(self, other):
        Name.meanwhile()
        return str.__ne__(self, other)

    __hash__ = str.__hash__


@query(keep="weak")
def names(user):
    return {f.name for f in user.friends if f.name != "b"}


def main(meanwhile=int):
    Name.meanwhile = meanwhile
    a, b, c = User("a"), User("b"), User("c")
    print(sorted(names(a)))
    a.friends |= {b, c}
    print(sorted(names(a)))
    b.name = "d"
    c.name = "b"
    print(sorted(names(a)))
    a.friends.discard(b)
    print(sorted(names(a)))
    names(User("garbage at once"))
    a.friends.add(User(Name("e")))
    print(sorted(names(a)), len(names.demanded))


if __name__ == "__main__":
    main()
"""


def compile_natively(folder: Path) -> str:
    (folder / "friends.py").write_text(PROGRAM)
    command = ["compile", str(folder / "friends.py"), "-o", str(folder / "out.py"), "--native"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    return done.output


def run(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_global_that_is_a_dict_for_good_is_typed_where_functions_read_it() -> None:
    text = (
        "kept = {}\nother = {}\n\ndef get(k):\n    global other\n    other = None\n    return kept.get(k)\n"
    )
    made = typed(text, {"kept": "dict"})
    assert "kept = {}\ncdef dict c_kept = kept" in made
    assert "return c_kept.get(k)" in made


def test_an_extension_is_built_and_answers_as_the_text_does_when_garbage_is_collected_too(
    tmp_path: Path,
) -> None:
    shown = compile_natively(tmp_path)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    assert f"built {tmp_path / '_out_support'}{suffix}" in " ".join(shown.split("\n"))
    check = f"assert out.__file__.endswith('{suffix}') and s.__file__.endswith('{suffix}')"
    natively = run(tmp_path, "-c", f"import gc, out, _out_support as s; {check}; out.main(gc.collect)")
    for built in tmp_path.glob(f"*{suffix}"):
        built.unlink()
    as_text = run(tmp_path, "-c", "import gc, out; out.main(gc.collect)")
    assert natively == as_text == "[]\n['c']\n['d']\n[]\n['e'] 1\n"


def test_without_a_compiler_the_program_is_written_and_the_message_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    shown = compile_natively(tmp_path)
    assert "not built: no C compiler (no-such-compiler) is found, so the program runs as Python" in shown
    assert run(tmp_path, "out.py").startswith("[]\n['c']")


def test_without_cython_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert list(build([])) == [
        "not built: Cython is missing, so the program runs as Python; pip install 'incoq[native]'"
    ]


def test_a_failing_build_shows_what_the_compiler_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd.py").write_text("x = 1\n")
    monkeypatch.setenv("CC", f"{sys.executable} -c raise(SystemExit('broken'))")
    (shown,) = build([tmp_path / "odd.py"])
    assert shown.startswith(f"not built: {tmp_path / 'odd.py'} runs as Python; the build said:")
    assert not list(tmp_path.glob("*.so"))
