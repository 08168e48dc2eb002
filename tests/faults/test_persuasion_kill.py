"""A persuasion run that is killed at any moment goes on to what it would have been, and asks for nothing twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.commands import call
from tests.persuasion_scripts import NAME
from tests.runs import ROOT, metrics, write
from tests.scripts import ASKED
from tournaments.persuasion import COMMAND

pytestmark = pytest.mark.faults


def config() -> dict[str, Any]:
    """A run of slow models, a few debates at a time."""
    return {
        "limit": 3,
        "persuaders": [{"name": "p", "model": f"{NAME}:slow_persuader"}],
        "debaters": [{"name": "d", "model": f"{NAME}:slow_debater"}],
        "helper": {"model": f"{NAME}:slow_helper"},
        "moderators": {"model": f"{NAME}:slow_moderator"},
        "rounds": 3,
        "repetitions": 2,
        "concurrency": 4,
    }


def stored(folder: Path) -> int:
    connection = sqlite3.connect(folder / "run.sqlite")
    (calls,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    connection.close()
    return int(calls)


def asked(log: Path) -> int:
    return len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


def debates(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "debates.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("calls", [10, 60])
def test_a_killed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    path, log = write(tmp_path / "c.yaml", config()), tmp_path / "asked"
    whole = call(COMMAND, "--config", path, "--output", tmp_path / "whole")
    assert whole.code == 0, whole.err
    process = subprocess.Popen(
        [sys.executable, "-m", "tournaments.persuasion", "--config", path, "--output", tmp_path / "run"],
        cwd=ROOT,
        env={**os.environ, ASKED: str(log)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while asked(log) < calls and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    flying = asked(log) - stored(tmp_path / "run")
    assert flying >= 0
    monkeypatch.setenv(ASKED, str(log))
    ended = call(COMMAND, "--resume", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert asked(log) - stored(tmp_path / "run") <= flying
    assert stored(tmp_path / "run") == stored(tmp_path / "whole")
    assert debates(tmp_path / "run") == debates(tmp_path / "whole")
    assert metrics(tmp_path / "run") == metrics(tmp_path / "whole")
