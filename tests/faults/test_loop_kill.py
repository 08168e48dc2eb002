"""A closed loop that is killed in stages of every kind goes on by ``--resume`` and ends as one never stopped."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import random
import sys
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

from tests.loops import loop
from tests.runs import debates, write
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
# Of every kind: debates, both trainings, verdicts, and the last report.
KILLED = ("iteration-1/tournament", "debater-1", "judge-1", "iteration-1/judged", "test/self-play")


# Each process is a fork of one that has the libraries loaded, which would take longer than all stages.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["training.loop_run", "training.letter_trainer", "training.speech_trainers", "trl", "peft"]
)


def run_loop(arguments: list[str], said: Path) -> None:
    """Run the command as a process of its own does."""
    import torch

    from training.loop import COMMAND

    torch.set_num_threads(1)

    with said.open("a") as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        sys.exit(COMMAND.main(arguments))


def start(said: Path, *arguments: object) -> ForkServerProcess:
    process = FORKS.Process(target=run_loop, args=(list(map(str, arguments)), said))
    process.start()
    return process


def finish(said: Path, *arguments: object) -> None:
    process = start(said, *arguments)
    process.join()
    assert process.exitcode == 0, said.read_text()


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
    base = folder / "base"
    saving = FORKS.Process(target=save_model, args=(base,), kwargs={"context": 2048})
    saving.start()
    saving.join()
    tree = loop(base)
    short = tree["debater"] | {"methods": ["sft"]}
    return write(folder / "c.yaml", loop(base, iterations=1, debater=short, judge=tree["judge"] | {"held_out": None}))


def test_killed_again_and_again_it_ends_as_if_never_stopped(config: Path, tmp_path: Path) -> None:
    never, said = tmp_path / "never", tmp_path / "said.txt"
    finish(said, "--config", config, "--output", never)
    run, draw = tmp_path / "run", random.Random(1)
    for stage in KILLED:
        arguments = ["--resume", run] if (run / "config.yaml").exists() else ["--config", config, "--output", run]
        process = start(said, *arguments)
        while process.is_alive() and state(run, stage) is None:
            time.sleep(0.01)
        time.sleep(draw.uniform(0, 0.6))
        process.kill()
        process.join()
        assert state(run, stage) in {"begun", "done"}, said.read_text()
    finish(said, "--resume", run)
    assert all(state(run, stage) == "done" for stage in STAGES)
    assert not (run / "replaced").exists()  # nothing was done anew
    (one,), (other,) = figures(run), figures(never)
    assert one == pytest.approx(other, abs=1e-3)
    here, there = verdicts(run), verdicts(never)
    assert here.keys() == there.keys()
    for key, probabilities in here.items():
        assert probabilities == pytest.approx(there[key], abs=1e-3), key
