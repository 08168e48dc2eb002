"""A closed loop that is killed in stages of every kind goes on by ``--resume`` and ends as one never stopped."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.loops import loop
from tests.runs import ROOT, debates, write
from tests.tiny import save_model

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1200)]

STAGES = (
    "iteration-1/tournament",
    "debater-1",
    "iteration-1/debates",
    "judge-1",
    "iteration-1/self-play",
    "iteration-1/concessions",
    "iteration-1/judged",
    "test/tournament",
    "test/tournament-judged",
    "test/self-play",
    "test/self-play-judged",
    "test/concessions",
)
# Killing each takes minutes; these are of every kind: debates, both trainings, verdicts, and the last report.
KILLED = ("iteration-1/tournament", "debater-1", "judge-1", "iteration-1/judged", "test/self-play")


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "training.loop", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def state(run: Path, stage: str) -> str | None:
    try:
        book = json.loads((run / "stages.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    entry = book["stages"].get(stage)
    return None if entry is None else str(entry["state"])


def figures(run: Path) -> list[dict[str, Any]]:
    text = (run / "metrics.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def verdicts(run: Path) -> dict[tuple[str, str], Any]:
    """What each judge made of each debate of the test, by the debate and the order."""
    return {
        (item["debate"]["id"], f"{verdict['judge']} {verdict['order']}"): verdict["probabilities"]
        for item in debates(run / "test" / "self-play-judged")
        for verdict in item["verdicts"]
    }


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loop")
    base = save_model(folder / "base", context=2048)
    tree = loop(base)
    short = tree["debater"] | {"methods": ["sft"]}
    return write(folder / "c.yaml", loop(base, iterations=1, debater=short, judge=tree["judge"] | {"held_out": None}))


def test_killed_again_and_again_it_ends_as_if_never_stopped(config: Path, tmp_path: Path) -> None:
    never = tmp_path / "never"
    finish(start("--config", config, "--output", never))
    run, draw = tmp_path / "run", random.Random(1)
    for stage in KILLED:
        arguments = ["--resume", run] if (run / "config.yaml").exists() else ["--config", config, "--output", run]
        with start(*arguments) as process:
            while process.poll() is None and state(run, stage) is None:
                time.sleep(0.01)
            time.sleep(draw.uniform(0, 0.6))
            process.send_signal(signal.SIGKILL)
            process.communicate()
        assert state(run, stage) in {"begun", "done"}
    finish(start("--resume", run))
    assert all(state(run, stage) == "done" for stage in STAGES)
    assert not (run / "replaced").exists()  # nothing was done anew
    (one,), (other,) = figures(run), figures(never)
    assert one == pytest.approx(other, abs=1e-3)
    here, there = verdicts(run), verdicts(never)
    assert here.keys() == there.keys()
    for key, probabilities in here.items():
        assert probabilities == pytest.approx(there[key], abs=1e-3), key
