"""Commands of scripted models that log what they are asked, killed with no warning and gone on with."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from debate.command import Command
from tests.commands import call
from tests.runs import ROOT, metrics
from tests.scripts import ASKED


def stored(folder: Path) -> int:
    """How many calls a run has kept."""
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as connection:
        return int(connection.execute("SELECT count(*) FROM calls").fetchone()[0])


def asked(log: Path) -> int:
    """How many calls the models were asked."""
    return len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


def kill_and_go_on(command: Command[Any], config: Path, calls: int, patch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Hold a run that is never stopped, and one that is killed after some calls and resumed, beside a configuration.

    Holds that the second asks for nothing twice but what was in flight, and finds the same figures.

    Args:
        command: The command; its models log their calls to the file that ``ASKED`` names.
        config: Its configuration.
        calls: After how many calls it is killed; fewer than it makes.
        patch: Sets the log for the run that goes on.

    Returns:
        The folders of both.
    """
    whole, run, log = config.parent / "whole", config.parent / "run", config.parent / "asked"
    ended = call(command, "--config", config, "--output", whole)
    assert ended.code == 0, ended.err
    process = subprocess.Popen(
        [sys.executable, "-m", command.name, "--config", config, "--output", run],
        cwd=ROOT,
        env={**os.environ, ASKED: str(log)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while asked(log) < calls and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    flying = asked(log) - stored(run)
    assert flying >= 0
    assert stored(run) < stored(whole)
    patch.setenv(ASKED, str(log))
    ended = call(command, "--resume", run)
    assert ended.code == 0, ended.err
    assert asked(log) - stored(run) <= flying
    assert stored(run) == stored(whole)
    assert metrics(run) == metrics(whole)
    return whole, run
