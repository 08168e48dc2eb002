"""What is made of a file is kept until the file changes."""

from __future__ import annotations

import os
from pathlib import Path

from debate.sources.once import read_once


def test_a_file_is_read_once_until_it_changes_and_apart_for_each_way_of_reading(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    @read_once(2)
    def read(path: Path, ending: str) -> str:
        asked.append((path.name, ending))
        return path.read_text(encoding="utf-8") + ending

    file = tmp_path / "a"
    file.write_text("one", encoding="utf-8")
    assert [read(file, "!"), read(file, "!"), read(file, "?")] == ["one!", "one!", "one?"]
    assert asked == [("a", "!"), ("a", "?")]
    file.write_text("two", encoding="utf-8")
    os.utime(file, ns=(1, 1))  # another time, whatever the clock's steps
    assert read(file, "!") == "two!"
    assert len(asked) == 3


def test_a_folder_is_read_each_time_and_what_is_not_there_is_the_reader_s_to_say(tmp_path: Path) -> None:
    asked: list[Path] = []

    @read_once(1)
    def read(path: Path) -> int:
        asked.append(path)
        return len(list(path.iterdir())) if path.is_dir() else -1

    assert [read(tmp_path), read(tmp_path), read(tmp_path / "none"), read(tmp_path / "none")] == [0, 0, -1, -1]
    assert len(asked) == 4
