"""The adapters that ship: small, for the embedded model, of the folds that they may be of, and described by cards."""

from __future__ import annotations

import pytest

from debate.card import CARD, check_judge_unseen, read_card
from debate.errors import FoldError
from debate.models.adapter import find_adapter
from debate.models.load import EMBEDDED, ModelConfig
from debate.sources import load, select
from debate.sources.locate import data_folder

NAMES = ("judge", "debater")


def test_they_are_the_ones_that_are_listed() -> None:
    folder = data_folder() / "adapters"
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == sorted(NAMES)
    listed = (folder / "CARD.md").read_text(encoding="utf-8")
    assert all(f"`shipped:{name}`" in listed for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_for_the_embedded_model_and_of_one_fold(name: str) -> None:
    folder = find_adapter(f"shipped:{name}", EMBEDDED)
    assert (folder / "adapter_model.safetensors").stat().st_size < 1_000_000
    card = read_card(folder)
    assert card is not None
    assert (card.kind, card.base) == (name, EMBEDDED)
    assert {story.fold for story in card.stories} == {name}
    assert all(story.source.startswith("dossiers:") for story in card.stories)
    assert all(story.fingerprint for story in card.stories)
    assert (folder / "README.md").is_file()


@pytest.mark.parametrize("name", NAMES)
def test_no_card_names_a_path_of_the_machine_it_was_made_on(name: str) -> None:
    for file in (CARD, "README.md", "adapter_config.json"):
        text = (data_folder() / "adapters" / name / file).read_text(encoding="utf-8")
        assert not any(f"{quote}/{place}/" in text for quote in "\"': " for place in ("tmp", "home", "root", "work"))


def test_the_judge_may_judge_what_the_default_configurations_debate_and_not_its_own_stories() -> None:
    model = ModelConfig(name=EMBEDDED, adapter="shipped:judge")
    for source in ("dossiers:200?seed=21", "dossiers:200?seed=22"):
        check_judge_unseen(model, select(load(source), fold="validation"))
    check_judge_unseen(model, load("shipped:stories"))
    check_judge_unseen(model, load("dossiers:50?seed=7&templates=heldout"))
    with pytest.raises(FoldError):
        check_judge_unseen(model, select(load("dossiers:20?seed=1"), fold="judge"))


def test_judge_and_debater_share_no_story() -> None:
    cards = [read_card(data_folder() / "adapters" / name) for name in NAMES]
    seen = [{story.id for story in card.stories} for card in cards if card is not None]
    assert len(seen) == len(NAMES)
    assert not set.intersection(*seen)
