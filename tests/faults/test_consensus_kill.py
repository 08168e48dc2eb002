"""Debates that seek agreement are killed at any moment, go on to what they would have been, and ask nothing twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.killing import kill_and_go_on
from tests.roundtables import HERE, roundtable
from tests.runs import write
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


def written(folder: Path) -> dict[str, list[Any]]:
    """All that a run leaves beside its report: debates, outcomes, and the sheet of a run of texts."""
    names = ("debates.jsonl", "outcomes.jsonl", "rating-sheet.csv", "rating-key.csv")
    found = {name: folder / name for name in names if (folder / name).exists()}
    lines = {name: path.read_text(encoding="utf-8").splitlines() for name, path in found.items()}
    return {name: [json.loads(line) for line in own] if ".jsonl" in name else own for name, own in lines.items()}


@pytest.mark.parametrize("system", RUNS)
@pytest.mark.parametrize("calls", [6, 40])
def test_a_killed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, calls: int) -> None:
    whole, run = kill_and_go_on(COMMAND, write(tmp_path / "c.yaml", RUNS[system]), calls, monkeypatch)
    assert written(run) == written(whole)
