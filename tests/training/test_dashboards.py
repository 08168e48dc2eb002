"""The workspace at Weights & Biases: what it shows, in which order, and that a loop logs what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.commands import assert_refuses, call
from tests.offline import ROOT, environment
from tournaments.elo_picture import TITLE
from training.dashboards import COMMAND, DashboardConfig, build, layout
from training.picture import ITERATIONS, SLOPES


def test_elo_against_accuracy_comes_first() -> None:
    first, *rest = layout()
    assert first.name == TITLE
    assert [panel.kind for panel in first.panels] == ["media", "scatter", "table", "table"]
    assert {panel.title for panel in first.panels} >= {f"{TITLE} (first)", "Points (first)", SLOPES}
    titles = {panel.title for section in rest for panel in section.panels}
    assert ITERATIONS in titles
    assert "transcripts" in titles


def test_every_curve_is_along_a_step_of_its_own() -> None:
    steps = {panel.x for section in layout() for panel in section.panels if panel.kind == "line"}
    assert steps == {"loop/iteration", "judge/step", "sft/step", "dpo/step"}


def test_it_is_built_with_the_library(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library's own
        pytest.importorskip("wandb_workspaces.workspaces")
    config = DashboardConfig(entity="team", project="p", group="loop-1")
    workspace = build(config, layout())
    assert [section.name for section in workspace.sections] == [section.name for section in layout()]
    first: list[Any] = list(workspace.sections[0].panels)
    assert type(first[0]).__name__ == "MediaBrowser"
    assert first[0].media_keys == [f"{TITLE} (first)"]
    assert (first[1].x.name, first[1].y.name) == ("rated/elo", "rated/accuracy")
    shown = str(workspace.runset_settings.filters)
    assert "loop-1" in shown
    assert not list(tmp_path.iterdir())


def test_the_plan_needs_no_network_and_a_missing_key_is_one_line(tmp_path: Path) -> None:
    plan = call(COMMAND, "--entity", "team", "--dry-run")
    assert plan.code == 0, plan.err
    assert plan.out.index(TITLE) < plan.out.index("Judges")
    assert_refuses(COMMAND, call(COMMAND, "--project", "p"), "no configuration")
    done = subprocess.run(
        [sys.executable, "-m", "training.dashboards", "--entity", "team"],
        cwd=tmp_path,
        env={**environment(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "needs an API key" in line
    assert "wandb login" in line
