"""Swiss tournaments that are gone on with: what must be as it was, what may change, and budgets."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.runs import (
    EXTRACTIVE,
    ROOT,
    SCRIPTS,
    Run,
    assert_refused,
    cells,
    found,
    hold,
    swiss,
    tournament,
    write,
)
from tests.scripts import WEIGHTS


def test_a_second_run_and_a_resumed_one_find_the_same(done: Run, tmp_path: Path) -> None:
    assert swiss("--config", done.config, "--output", tmp_path / "again").code == 0
    assert found(tmp_path / "again") == found(done.folder)
    before = found(done.folder)
    again = swiss("--resume", done.folder)
    assert again.code == 0
    assert found(done.folder) == before
    ladder = done.ended.out[: done.ended.out.index("Cost")]
    assert again.out.startswith(ladder)


def test_data_that_changed_since_are_named(tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    rows = [
        {"id": str(index), "question": "Who?", "answers": ["He.", "She."], "story": f"Nobody saw ship number {index}."}
        for index in range(2)
    ]
    own.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    limits = {"min_words": 1, "max_words": 60}
    ended = hold(tmp_path, source=f"questions:{own}", fold=None, self_play=None, players=EXTRACTIVE, speech=limits)
    assert ended.code == 0, ended.err
    own.write_text(own.read_text(encoding="utf-8").replace("She", "They"), encoding="utf-8")
    assert_refused(swiss("--resume", tmp_path / "run"), "data.cross_play")


def test_an_edited_template_is_noticed_on_resume(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    template = tmp_path / "prompts" / "judge_letter.txt"
    text = (ROOT / "debate" / "prompts" / "judge_letter.txt").read_text(encoding="utf-8")
    template.write_text(text.replace("=== user", "=== user\nListen well."), encoding="utf-8")
    changes: dict[str, Any] = {"prompts": str(tmp_path / "prompts"), "players": EXTRACTIVE, "self_play": None}
    ended = hold(tmp_path, **changes)
    assert ended.code == 0, ended.err
    assert swiss("--resume", tmp_path / "run").code == 0
    template.write_text(text.replace("=== user", "=== user\nListen badly."), encoding="utf-8")
    assert_refused(swiss("--resume", tmp_path / "run"), "prompts.judge_letter")


def test_wrong_prompt_folders_are_refused_before_there_is_a_run(tmp_path: Path) -> None:
    assert_refused(hold(tmp_path, prompts=str(tmp_path / "prompts")), "prompts is not a folder")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "judge_letter.txt").write_text("=== user\n{{question}}\n", encoding="utf-8")
    refused = hold(tmp_path, prompts=str(tmp_path / "prompts"))
    assert_refused(
        refused, "judge_letter.txt", "missing ['answers', 'letters', 'material', 'setting', 'story_if_read']"
    )
    assert not (tmp_path / "run").exists()


def test_other_weights_are_noticed_on_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    players = [{"name": "one", "model": f"{SCRIPTS}:changing"}, *EXTRACTIVE]
    assert hold(tmp_path, players=players, self_play=None).code == 0
    assert json.loads((tmp_path / "run" / "models.json").read_text())[f"{SCRIPTS}:changing"] == {"digest": "one"}
    monkeypatch.setenv(WEIGHTS, "two")
    refused = swiss("--resume", tmp_path / "run")
    assert_refused(refused, f"{SCRIPTS}:changing", "weights, device, number type", "one -> two")
    monkeypatch.delenv(WEIGHTS)
    assert swiss("--resume", tmp_path / "run").code == 0


def test_another_revision_of_the_code_is_warned_of(done: Run, tmp_path: Path) -> None:
    shutil.copytree(done.folder, tmp_path / "run")
    tree = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text(encoding="utf-8"))
    if tree["provenance"]["revision"] is None:
        pytest.skip("this is no checkout, so there is no revision to differ")
    tree["provenance"]["revision"] = "0123abc"
    write(tmp_path / "run" / "config.yaml", tree)
    ended = swiss("--resume", tmp_path / "run")
    assert ended.code == 0
    (line,) = ended.errors
    assert "was started by another revision of the code: 0123abc -> " in line


def test_ratings_are_kept_by_what_they_were_made_from(done: Run, tmp_path: Path) -> None:
    shutil.copytree(done.folder, tmp_path / "run")
    assert swiss("--resume", tmp_path / "run").code == 0
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    ((key, payload),) = connection.execute("SELECT key, payload FROM ratings").fetchall()
    connection.close()
    assert len(key) == 64
    with (tmp_path / "run" / "ratings.csv").open(encoding="utf-8", newline="") as file:
        table = [(row["player"], row["elo"], row["status"]) for row in csv.DictReader(file)]
    assert [(row["player"], f"{row['elo']:.4f}", row["status"]) for row in json.loads(payload)] == table


def test_a_budget_stops_cleanly_and_a_larger_one_goes_on(done: Run, tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", tournament())
    stopped = swiss("--config", config, "--output", tmp_path / "run", "--budget.max_calls", 100)
    assert stopped.code == 2
    (line,) = stopped.errors
    assert "max_calls 100 is spent" in line
    assert "resume" in line
    again = swiss("--resume", tmp_path / "run")  # the budget is the run's own, until another is given
    assert again.code == 2
    for budget in (250, 10_000):
        ended = swiss("--resume", tmp_path / "run", "--budget.max_calls", budget)
    assert ended.code == 0, ended.err
    assert found(tmp_path / "run") == found(done.folder)
    # No call was made twice.
    assert [row[:2] for row in cells(ended.out, "Cost")] == [row[:2] for row in cells(done.ended.out, "Cost")]
