"""The command that trains debaters, on the embedded model: from a run's speeches to an adapter with its card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from debate.card import read_card
from debate.errors import ModelAccessError
from debate.models.embedded import NAME, ensure_embedded
from debate.sources import load
from tests.commands import assert_refuses, call
from tests.runs import SCRIPTS, hold
from training.finetune_debater import COMMAND
from training.rows_folder import read_rows

pytestmark = pytest.mark.model
SPEECH = {"min_words": 25, "max_words": 60, "max_tokens": 40, "max_attempts": 1}


@pytest.fixture(scope="module", autouse=True)
def _model() -> None:
    try:
        ensure_embedded()
    except ModelAccessError as error:
        pytest.skip(f"the embedded model cannot be had: {error}")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of scripted debaters on generated stories, each of which quotes."""
    folder = tmp_path_factory.mktemp("debates")
    players = [{"name": name, "model": f"{SCRIPTS}:{name}"} for name in ("debater", "second_debater")]
    ended = hold(
        folder,
        source="dossiers:60?seed=5",
        protocol={"kind": "simultaneous", "rounds": 1},
        players=players,
        self_play=None,
        stories=4,
    )
    assert ended.code == 0, ended
    return folder / "run"


def configured(folder: Path, run: Path, **changes: Any) -> Path:
    tree = {
        "base": NAME,
        "data": [{"debates": f"run:{run}", "fold": "debater"}],
        "arguments": {"won": False, "min_words": 25, "max_words": 60, "max_copied": 1},
        "measure": {"unseen": {"source": "dossiers:9?seed=2&templates=heldout", "stories": 1}},
        "speech": SPEECH,
        "fit": {"batch": 4, "learning_rate": 0.001, "log_steps": 1},
        "seed": 1,
    } | changes
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(tree), encoding="utf-8")
    return path


def test_a_plan_says_what_will_be_learned(run: Path, tmp_path: Path) -> None:
    ended = call(COMMAND, "--config", configured(tmp_path, run), "--dry-run")
    assert ended.code == 0, ended.err
    assert "tokens that are learned" in ended.out
    assert "16 rows" in ended.out
    assert not (tmp_path / "out").exists()


def test_a_debater_is_trained_measured_and_named_by_its_card(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    config = configured(tmp_path, run)
    limited = call(COMMAND, "--config", config, "--output", out, "--data.0.limit", "4", "--merge", "true")
    assert limited.code == 0, limited.err
    card = read_card(out / "adapter")
    assert card is not None
    assert (card.kind, card.base) == ("debater", NAME)
    rows = read_rows(out / "rows")
    assert {story.id for story in card.stories} >= {row.story for row in rows.rows}
    assert {row.fold for row in rows.rows} == {"debater"}
    metrics = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["training"]["rows"] == len(rows.rows)
    measured = metrics["measures"]["unseen"]
    assert measured["before"]["speeches"] == measured["after"]["speeches"] == 2
    assert (out / "merged" / "model.safetensors").is_file()
    assert "Adapter: " in limited.out
    again = call(COMMAND, "--config", config, "--output", out)
    assert again.code == 2
    assert "exists already" in again.err


def test_stories_that_must_not_be_learned_from_are_refused(run: Path, tmp_path: Path) -> None:
    learned = sorted({question.id for question in load(f"run:{run}")})
    assert learned
    shown = configured(tmp_path, run, measure={"seen": {"source": f"run:{run}"}})
    assert_refuses(COMMAND, call(COMMAND, "--config", shown, "--dry-run"), "was trained on", learned[0])
    made = configured(tmp_path, run, data=[{"debates": "dossiers:40?seed=1", "fold": "judge"}])
    assert_refuses(COMMAND, call(COMMAND, "--config", made, "--dry-run"), "fold judge", "fold debater")


def test_what_nobody_judged_cannot_have_won(run: Path, tmp_path: Path) -> None:
    config = configured(tmp_path, run, arguments={"min_words": 25, "max_words": 60, "judge": "nobody"})
    assert_refuses(COMMAND, call(COMMAND, "--config", config, "--dry-run"), "no debate has a verdict of judge 'nobody'")
    few = configured(tmp_path, run, fit={"batch": 512})
    assert_refuses(COMMAND, call(COMMAND, "--config", few, "--dry-run"), "fewer than a batch of 512")
