"""The command that trains debaters, on a tiny random model and speeches made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from debate.card import Card, read_card, write_card
from debate.sources import load
from tests.commands import assert_refuses, call
from tests.launching import assert_two_train_as_one
from tests.runs import write
from tests.tiny import save_model
from training.finetune_debater import COMMAND

DOSSIERS = "dossiers:40?seed=1"
HELD_OUT = "dossiers:9?seed=2&templates=heldout"


def config(base: Path, **changes: Any) -> dict[str, Any]:
    return {
        "base": f"hf/{base}",
        "data": [{"debates": DOSSIERS, "fold": "debater", "limit": 6, "made": {"kinds": {"both": 1}}}],
        "arguments": {"won": False, "min_words": 25, "max_words": 70, "max_copied": 1, "verified": False},
        "fit": {"dtype": "float32", "batch": 4, "log_steps": 1, "learning_rate": 0.01},
        "seed": 1,
    } | changes


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"), context=2048)


PAIRS = {"method": "dpo", "adapter": {"dropout": 0.1}}
SHORT = {"batch": 4, "max_length": 90}
SOME = {"unseen": {"source": HELD_OUT, "stories": 1}}
SPEECH = {"min_words": 25, "max_words": 70, "max_attempts": 1, "max_tokens": 4}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": [{"debates": HELD_OUT, "fold": "test"}]}, ("fold test", "must be of fold debater")),
        ({"validation": [{"debates": DOSSIERS, "fold": "judge"}]}, ("must be of fold validation",)),
        ({"measure": {"same": {"source": DOSSIERS, "fold": "debater"}}, "speech": SPEECH}, ("was trained on",)),
        ({"fit": {"batch": 512}}, ("fewer than a batch of 512",)),
        ({"fit": SHORT}, ("no argument row is left", "too long, even around its quotes")),
        ({"arguments": {"won": True}}, ("nobody judged them", "arguments.won")),
        ({"arguments": {"won": False, "min_words": 90}}, ("no argument row is left", "outside the word limits")),
        ({"start": "nowhere"}, ("adapter nowhere", "missing")),
        (PAIRS, ("adapter.dropout 0.1", "set it to 0")),
    ],
)
def test_bad_input_gets_one_clear_line(base: Path, tmp_path: Path, changes: Any, words: tuple[str, ...]) -> None:
    path = write(tmp_path / "c.yaml", config(base, **changes))
    assert_refuses(COMMAND, call(COMMAND, "--config", path, "--output", tmp_path / "out"), *words)
    assert not (tmp_path / "out").exists()


def test_a_base_that_has_seen_what_is_measured_is_refused(tmp_path: Path) -> None:
    base = save_model(tmp_path / "model", context=2048)
    seen = Card(kind="debater", base="hf/x", stories=Card.stories_of(load(HELD_OUT)), data="0" * 64)
    write_card(base, seen)
    path = write(tmp_path / "c.yaml", config(base, measure=SOME, speech=SPEECH))
    assert_refuses(COMMAND, call(COMMAND, "--config", path, "--dry-run"), f"model 'hf/{base}' was trained on")


@pytest.mark.e2e
def test_two_processes_train_as_one_does(base: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "c.yaml", config(base))
    run = assert_two_train_as_one("finetune_debater.py", path, tmp_path, rows=12, steps=3)
    card = read_card(run / "adapter")
    assert card is not None
    assert card.facts["sources"] == {DOSSIERS: 12}
    assert card.facts["folds"] == {"debater": 12}
    assert card.facts["judges"] == []
