"""A loop whose trainings a launcher starts: accelerate's own, with two processes, on a tiny model."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from debate.card import read_card
from tests.commands import call
from tests.loops import loop
from tests.runs import ROOT, SCRIPTS, debates, write
from tests.tiny import save_model
from training.loop import COMMAND


@pytest.mark.model
@pytest.mark.timeout(1200)
def test_the_loop_goes_on_with_what_two_processes_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    base = save_model(tmp_path / "model", context=2048)
    config = loop(
        base,
        iterations=1,
        launcher=[
            *(sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0"),
            *("--config_file", str(ROOT / "configs" / "accelerate" / "cpu2.yaml")),
        ],
        players=[
            {"name": "extractive", "kind": "extractive"},
            {"name": "scripted", "model": f"{SCRIPTS}:debater"},
        ],
        anchors=["extractive"],
        newcomer={
            "name": "debater",
            "model": f"{SCRIPTS}:second_debater",
            "optimizer": {"kind": "best_of_n", "n": 2},
        },
        debater={"methods": []},
        judge={key: value for key, value in loop(base)["judge"].items() if key != "held_out"},
        concessions=None,
    )
    run = tmp_path / "run"
    ended = call(COMMAND, "--config", write(tmp_path / "c.yaml", config), "--output", run)
    assert ended.code == 0, ended.err
    training = json.loads((run / "judge-1" / "metrics.json").read_text(encoding="utf-8"))["training"]
    assert training["processes"] == 2
    assert training["seen"] == training["rows"]
    card = read_card(run / "judge-1" / "adapter")
    assert card is not None
    assert card.kind == "judge"
    judged = debates(run / "iteration-1" / "judged")
    assert {verdict["judge"] for item in judged for verdict in item["verdicts"]} == {"first", "judge-1"}
    assert "Adapter: " in (run / "logs" / "judge-1.txt").read_text(encoding="utf-8")
    assert (run / "report.html").is_file()
