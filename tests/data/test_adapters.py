"""The adapters that ship: small, for the embedded model, of the folds that they may be of, and described by cards."""

from __future__ import annotations

import pytest

from debate.card import CARD, check_judge_unseen, read_card
from debate.errors import FoldError
from debate.models.adapter import find_adapter
from debate.models.load import EMBEDDED, ModelConfig
from debate.sources import load, select
from debate.sources.locate import data_folder

NAMES = {"judge": "judge", "held-out-judge": "judge", "debater": "debater"}
"""What each is called, and the kind that it is, which is its fold too."""


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
    assert (card.kind, card.base) == (NAMES[name], EMBEDDED)
    assert {story.fold for story in card.stories} == {NAMES[name]}
    assert all(story.source.startswith("dossiers:") for story in card.stories)
    assert all(story.fingerprint for story in card.stories)
    assert (folder / "README.md").is_file()


@pytest.mark.parametrize("name", NAMES)
def test_no_card_names_a_path_of_the_machine_it_was_made_on(name: str) -> None:
    for file in (CARD, "README.md", "adapter_config.json"):
        text = (data_folder() / "adapters" / name / file).read_text(encoding="utf-8")
        assert not any(f"{quote}/{place}/" in text for quote in "\"': " for place in ("tmp", "home", "root", "work"))


@pytest.mark.parametrize(("name", "own"), [("judge", "dossiers:20?seed=1"), ("held-out-judge", "dossiers:20?seed=3")])
def test_judges_may_judge_what_the_default_configurations_debate_and_not_their_own_stories(name: str, own: str) -> None:
    model = ModelConfig(name=EMBEDDED, adapter=f"shipped:{name}")
    for source in ("dossiers:200?seed=21", "dossiers:200?seed=22", "dossiers:1500?seed=111"):
        check_judge_unseen(model, select(load(source), fold="validation"))
    check_judge_unseen(model, load("shipped:stories"))
    check_judge_unseen(model, load("dossiers:50?seed=7&templates=heldout"))
    with pytest.raises(FoldError):
        check_judge_unseen(model, select(load(own), fold="judge"))


def test_no_two_share_a_story() -> None:
    cards = [read_card(data_folder() / "adapters" / name) for name in NAMES]
    seen = [{story.id for story in card.stories} for card in cards if card is not None]
    assert len(seen) == len(NAMES)
    assert len(set.union(*seen)) == sum(map(len, seen))
