"""Commands held in this process, whichever they are."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from debate.command import Command
from tests.runs import Ended


def call(command: Command[Any], *arguments: object) -> Ended:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command.main([str(argument) for argument in arguments])
    return Ended(code, out.getvalue(), err.getvalue())


def assert_refuses(command: Command[Any], ended: Ended, *words: str) -> None:
    """Hold that a command was refused in one clear line that names some words."""
    assert ended.code == 2, ended
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1, ended.err
    assert ended.err.startswith(f"{command.name}: ")
    for word in words:
        assert word in ended.err
