"""What is measured of a file of tests is kept until the file or the code changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from trust import file_by_file
from trust.file_by_file import measured


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr(file_by_file, "ROOT", tmp_path)
    found = [tmp_path / name for name in ("a.py", "b.py", "c.py")]
    for path in found:
        path.write_text(path.stem)
    return found


def test_only_what_changed_is_measured_again(files: list[Path], tmp_path: Path) -> None:
    seen: list[str] = []

    def measure(path: Path) -> int:
        seen.append(path.name)
        return len(path.read_text())

    def run(code: bytes) -> dict[str, int]:
        seen.clear()
        parts, left = measured(tmp_path / "parts", files, code, measure, 60)
        assert left == []
        return parts

    assert run(b"1") == {"a.py": 1, "b.py": 1, "c.py": 1}
    assert sorted(seen) == ["a.py", "b.py", "c.py"]
    files[1].write_text("longer")
    assert run(b"1") == {"a.py": 1, "b.py": 6, "c.py": 1}
    assert seen == ["b.py"]
    run(b"2")
    assert sorted(seen) == ["a.py", "b.py", "c.py"]


def test_a_run_without_time_says_which_files_are_left_and_keeps_the_others(
    files: list[Path], tmp_path: Path
) -> None:
    place = tmp_path / "parts"
    measured(place, files[:1], b"", lambda path: "done", 60)
    assert measured(place, files, b"", lambda path: "never", 0) == ({"a.py": "done"}, ["b.py", "c.py"])


def test_a_file_that_cannot_be_measured_ends_the_run(files: list[Path], tmp_path: Path) -> None:
    def measure(path: Path) -> str:
        raise RuntimeError(f"{path.name} did not run")

    with pytest.raises(RuntimeError, match="did not run"):
        measured(tmp_path / "parts", files, b"", measure, 60)
