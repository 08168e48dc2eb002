"""Training commands started as a user does, by accelerate's launcher, on processors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.runs import ROOT
from training.progress import read_metrics


def launch(script: str, *arguments: object, processes: int) -> str:
    """Start a script of ``training`` in so many processes, and wait for its end.

    Args:
        script: Its name.
        arguments: Of the command.
        processes: How many.

    Returns:
        What they printed.
    """
    start = [sys.executable, "-W", "ignore", "-m", "accelerate.commands.launch", "--num_machines", "1"]
    start += ["--num_processes", str(processes), "--mixed_precision", "no", "--dynamo_backend", "no"]
    start += ["--multi_gpu", "--main_process_port", "0"] if processes > 1 else []
    ended = subprocess.run(
        [*start, str(ROOT / "training" / script), *map(str, arguments)],
        env=os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def assert_two_train_as_one(script: str, config: Path, folder: Path, *, rows: int, steps: int) -> Path:
    """Hold that two processes see every row once between them, and have the losses of one with twice the batch.

    Args:
        script: Of ``training``.
        config: What it is told.
        folder: Where both runs go.
        rows: That are trained on.
        steps: That are made, each of them logged.

    Returns:
        The folder of the run by two processes.
    """
    losses = []
    for processes in (1, 2):
        run = folder / f"by{processes}"
        printed = launch(script, "--config", config, "--output", run, processes=processes)
        assert printed.count("Adapter: ") == 1
        training: Mapping[str, Any] = json.loads((run / "metrics.json").read_text(encoding="utf-8"))["training"]
        assert training["processes"] == processes
        assert (training["rows"], training["seen"], training["times"]) == (rows, rows, rows)
        losses.append([line["loss"] for line in read_metrics(run / "metrics.jsonl") if "loss" in line])
    assert len(losses[0]) == steps
    assert losses[1] == pytest.approx(losses[0], abs=1e-3)
    assert losses[0][0] != losses[0][-1]
    return folder / "by2"
