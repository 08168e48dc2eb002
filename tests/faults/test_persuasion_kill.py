"""A persuasion run that is killed at any moment goes on to what it would have been, and asks for nothing twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.killing import kill_and_go_on
from tests.persuasion_scripts import NAME
from tests.runs import write
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


def debates(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "debates.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("calls", [10, 60])
def test_a_killed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    whole, run = kill_and_go_on(COMMAND, write(tmp_path / "c.yaml", config()), calls, monkeypatch)
    assert debates(run) == debates(whole)
