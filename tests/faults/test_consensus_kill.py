"""Debates that seek agreement are killed at any moment, go on to what they would have been, and ask nothing twice."""

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
from tests.roundtables import HERE, roundtable
from tests.runs import ROOT, metrics, write
from tests.scripts import ASKED
from tests.tit_for_tat import NAME
from tournaments.consensus import COMMAND

pytestmark = pytest.mark.faults

RUNS: dict[str, dict[str, Any]] = {
    "ford": roundtable(
        "slow_one", "slow_other", limit=8, order="both", judge={"model": f"{HERE}:slow_one"}, concurrency=4
    ),
    "mad": {
        "system": "mad",
        "source": "shipped:ambiguity",
        "limit": 3,
        "speakers": [{"name": name, "model": NAME.format("slow_debater")} for name in ("affirmative", "negative")],
        "judge": {"model": NAME.format("slow_judge")},
        "levels": [1, 3],
        "iterations": 2,
        "forced": True,
        "concurrency": 4,
    },
}


def stored(folder: Path) -> int:
    connection = sqlite3.connect(folder / "run.sqlite")
    (calls,) = connection.execute("SELECT count(*) FROM calls").fetchone()
    connection.close()
    return int(calls)


def asked(log: Path) -> int:
    return len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


def written(folder: Path) -> dict[str, list[Any]]:
    """All that a run leaves beside its report: debates, outcomes, and the sheet of a run of texts."""
    names = ("debates.jsonl", "outcomes.jsonl", "rating-sheet.csv", "rating-key.csv")
    found = {name: folder / name for name in names if (folder / name).exists()}
    lines = {name: path.read_text(encoding="utf-8").splitlines() for name, path in found.items()}
    return {name: [json.loads(line) for line in own] if ".jsonl" in name else own for name, own in lines.items()}


@pytest.mark.parametrize("system", RUNS)
@pytest.mark.parametrize("calls", [6, 40])
def test_a_killed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, calls: int) -> None:
    path, log = write(tmp_path / "c.yaml", RUNS[system]), tmp_path / "asked"
    whole = call(COMMAND, "--config", path, "--output", tmp_path / "whole")
    assert whole.code == 0, whole.err
    process = subprocess.Popen(
        [sys.executable, "-m", "tournaments.consensus", "--config", path, "--output", tmp_path / "run"],
        cwd=ROOT,
        env={**os.environ, ASKED: str(log)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while asked(log) < calls and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    flying = asked(log) - stored(tmp_path / "run")
    assert flying >= 0
    assert stored(tmp_path / "run") < stored(tmp_path / "whole")
    monkeypatch.setenv(ASKED, str(log))
    ended = call(COMMAND, "--resume", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert asked(log) - stored(tmp_path / "run") <= flying
    assert stored(tmp_path / "run") == stored(tmp_path / "whole")
    assert written(tmp_path / "run") == written(tmp_path / "whole")
    assert metrics(tmp_path / "run") == metrics(tmp_path / "whole")
