"""The how-to pages do what they say: their files are saved and their commands are run, as a reader would.

A block after "… `NAME`:" is the file NAME; the files of all pages lie in one folder, as some use those of others. A
block of ``bash`` is run there. The block of ``text`` after it is what it prints, where "…" on a line of its own stands
for any number of lines. A block that begins with "# with the embedded model" is left to the test that has the model.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from debate.errors import ModelAccessError
from debate.models.embedded import ensure_embedded

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("own-debater", "own-judge", "own-prompts", "own-protocol", "own-questions", "rejudge", "training-rows")
WITH_MODEL = "# with the embedded model\n"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w./-]+\.\w+)`:$")


class Block(NamedTuple):
    """A block of a page: a file, commands, or what the commands before it print."""

    language: str
    text: str
    file: str | None


def blocks(page: str) -> Iterator[Block]:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        named = _FILE.search(text[: found.start()].rstrip())
        yield Block(found[1], found[2], named and named[1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the files of all pages, and nothing else."""
    for page in PAGES:
        for block in blocks(page):
            if block.file is not None:
                path = tmp_path / block.file
                assert not path.exists(), f"{block.file} is in two pages"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which ``python`` is this interpreter, and there is no terminal to fit lines to."""
    programs = tmp_path_factory.mktemp("bin")
    python = programs / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DISSOI_RUNS", "COLUMNS"))}
    return {**kept, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def run(commands: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{commands}{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def assert_shown(shown: str, printed: str) -> None:
    """Hold that the lines shown are those printed, in order; blanks may differ."""
    lines = [" ".join(line.split()) for line in printed.strip().splitlines()]
    at, skip = 0, False
    for line in (" ".join(line.split()) for line in shown.splitlines()):
        if line == "…":
            skip = True
            continue
        if skip:
            assert line in lines[at:], f"{line!r} is not printed after line {at}:\n{printed}"
            at = lines.index(line, at)
        assert at < len(lines), f"{line!r} is shown, and no more is printed:\n{printed}"
        assert lines[at] == line
        at, skip = at + 1, False
    assert skip or at == len(lines), f"more is printed than shown, from line {at}:\n{printed}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_works_as_written(page: str, folder: Path, environment: dict[str, str]) -> None:
    printed: str | None = None
    commands = 0
    for block in blocks(page):
        if block.language == "bash" and not block.text.startswith(WITH_MODEL):
            printed = run(block.text, folder, environment)
            commands += 1
        elif block.language == "text" and block.file is None:
            assert printed is not None, f"nothing was run before {block.text!r}"
            assert_shown(block.text, printed)
            printed = None
    assert commands


@pytest.mark.model
@pytest.mark.parametrize("page", [page for page in PAGES if any(WITH_MODEL in block.text for block in blocks(page))])
def test_a_page_works_with_the_embedded_model(page: str, folder: Path, environment: dict[str, str]) -> None:
    try:
        ensure_embedded()
    except ModelAccessError as error:
        pytest.skip(str(error))
    for block in blocks(page):
        if block.text.startswith(WITH_MODEL):
            printed = run(block.text, folder, environment)
            for own in (folder / "my_prompts").glob("*.txt"):
                assert own.read_text(encoding="utf-8").splitlines()[1] in printed


def test_what_is_shown_must_be_printed() -> None:
    printed = "one\ntwo  2\nthree\nfour\n"
    for right in ("one\ntwo 2\nthree\nfour", "…\nthree\nfour", "one\n…", "one\n…\nfour", "…"):
        assert_shown(right, printed)
    for wrong in ("one\ntwo 2\nthree", "two 2\n…", "one\nthree\n…", "…\nfour\n…\none", "…\nfive", "…\nfour\nfive"):
        with pytest.raises(AssertionError):
            assert_shown(wrong, printed)
