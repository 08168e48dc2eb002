"""Model cards: written and read back, and no model scores a story that its card names."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from debate.card import CARD, Card, check_judge_unseen, check_unseen, read_card, write_card
from debate.errors import ConfigError, FoldError, StoreError
from debate.fingerprint import VALUES, fingerprint
from debate.models.load import EMBEDDED, ModelConfig
from debate.question import Fold, Question
from debate.sources import load
from tests.debate.test_folds import ONE, STORIES, THREE, TWO, question, retold

FACTS: dict[str, Any] = {
    "protocol": {"kind": "simultaneous", "rounds": 3},
    "metrics": {"accuracy": {"value": 0.71, "low": 0.64, "high": 0.77, "n": 200, "clusters": 20}},
    "few_clusters": False,
    "judge": None,
}


def card(*questions: Question, base: str = EMBEDDED) -> Card:
    return Card(kind="judge", base=base, stories=Card.stories_of(questions), data="ab" * 32, facts=FACTS)


def test_a_card_comes_back_as_it_was_written(tmp_path: Path) -> None:
    written = card(question("one", ONE, fold="judge"), question("two", None), question("one", ONE, fold="judge"))
    assert read_card(tmp_path) is None
    write_card(tmp_path, written)
    assert read_card(tmp_path) == written
    assert [file.name for file in tmp_path.iterdir()] == [CARD]
    tree = json.loads((tmp_path / "dissoi.json").read_text(encoding="utf-8"))
    assert [story["id"] for story in tree["stories"]] == ["one", "two"]
    assert tree["stories"][0]["fold"] == "judge"
    # Digits, not numbers: JSON readers elsewhere round whole numbers above 2**53.
    first = tree["stories"][0]["fingerprint"]
    assert [int(first[at : at + 16], 16) for at in range(0, 16 * VALUES, 16)] == list(fingerprint(ONE))
    assert tree["stories"][1]["fingerprint"] == ""
    assert tree["facts"] == FACTS
    write_card(tmp_path, card())
    assert read_card(tmp_path) == card()
    with pytest.raises(StoreError, match=r"cannot write .*nowhere"):
        write_card(tmp_path / "nowhere", written)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "referee"}, r"is malformed \(kind: Input should be 'judge', 'debater' or 'preference'\); restore it"),
        ({"stories": [{"id": "one", "source": "a", "fingerprint": "12"}]}, r"stories\.0\.fingerprint: .*hexadecimal"),
        ({"colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"schema_version": 2, "colour": "red"}, "is of version 2, this code knows 1; install a newer Dissoi"),
    ],
)
def test_a_card_that_cannot_be_read_says_what_and_where(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / CARD
    tree = card(question("one", ONE)).model_dump(mode="json")
    path.write_text(json.dumps(tree | change), encoding="utf-8")
    with pytest.raises(ConfigError, match=message) as error:
        read_card(tmp_path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '"judge"', "\ud800"])
def test_a_file_that_is_no_card_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / CARD).write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ConfigError, match=f"model card .*{CARD}"):
        read_card(tmp_path)


def test_the_embedded_models_own_record_is_no_card(tmp_path: Path) -> None:
    (tmp_path / CARD).write_text('{"source": "hub:x@1", "sha256": "00"}', encoding="utf-8")
    assert read_card(tmp_path) is None


def test_facts_are_plain_finite_values() -> None:
    for value in (float("nan"), {"low": [float("-inf")]}):
        with pytest.raises(ValueError, match="a number is not finite, which JSON cannot hold; use null"):
            Card(kind="judge", base=EMBEDDED, stories=(), data="0", facts={"accuracy": value})


def test_no_model_scores_a_story_it_was_trained_on() -> None:
    trained = card(question("one", ONE), question("two", TWO), question("none", None))
    fresh = [question("three", THREE), question("other-none", None)]
    check_unseen(trained, fresh, who="judge j")
    check_unseen(card(), [*fresh, question("one", ONE)], who="judge j")
    with pytest.raises(
        FoldError,
        match=r"judge j was trained on 2 of these 4 stories .*answers: 'one', 'zwei' \(there 'two'\); choose",
    ):
        check_unseen(trained, [*fresh, question("one", "Another text."), question("zwei", retold(TWO))], who="judge j")
    with pytest.raises(FoldError, match="trained on 1 of these 1 stories"):
        check_unseen(trained, [question("none", None)], who="judge j")


def test_a_card_read_back_refuses_what_it_refused(tmp_path: Path) -> None:
    write_card(tmp_path, card(*load("shipped:stories")))
    kept = read_card(tmp_path)
    assert kept is not None
    assert len(kept.stories) == len(STORIES) == 40
    with pytest.raises(FoldError, match=r"40 of these 40 stories.*\(there '.*and 37 more; choose"):
        check_unseen(kept, [question(f"s{n}", retold(text)) for n, text in enumerate(STORIES.values())], who="j")


def test_many_stories() -> None:
    rng = random.Random(0)
    texts = [" ".join(f"w{rng.randrange(5000)}" for _ in range(60)) for _ in range(1500)]
    trained = card(*(question(f"s{n}", text) for n, text in enumerate(texts)))
    others = [" ".join(text.split()[::-1]) for text in texts]
    check_unseen(trained, [question(f"t{n}", text) for n, text in enumerate(others)], who="j")
    with pytest.raises(FoldError, match=r"1 of these 1501 stories .*'u' \(there 's1499'\)"):
        check_unseen(
            trained, [question("u", texts[-1]), *(question(f"t{n}", text) for n, text in enumerate(others))], who="j"
        )


def test_cards_are_found_where_the_weights_are(tmp_path: Path) -> None:
    base, adapter = tmp_path / "base", tmp_path / "judge"
    base.mkdir()
    adapter.mkdir()
    model = ModelConfig(name=f"hf/{base}", adapter=str(adapter))
    check_judge_unseen(model, [question("one", ONE)])
    write_card(base, card(question("one", ONE)))
    with pytest.raises(FoldError, match="trained on 1 of"):  # the adapter has none
        check_judge_unseen(model, [question("one", ONE)])
    with pytest.raises(FoldError, match="trained on 1 of"):
        check_judge_unseen(ModelConfig(name=f"hf/{base}"), [question("one", ONE)])
    write_card(adapter, card(question("two", TWO)))
    with pytest.raises(FoldError, match=r"trained on 1 of .*'two'"):
        check_judge_unseen(
            ModelConfig(name=EMBEDDED, adapter=str(adapter)), [question("one", ONE), question("two", TWO)]
        )
    for name in (EMBEDDED, "openai/one", "hf/some/model"):
        check_judge_unseen(ModelConfig(name=name), [question("one", ONE), question("two", TWO)])
    # What either was trained on, the two together recall.
    check_judge_unseen(model, [question("three", THREE)])
    for story_id, story in (("one", ONE), ("two", TWO)):
        with pytest.raises(FoldError, match=rf"model 'hf/.*base\+judge' was trained on 1 of .*'{story_id}'"):
            check_judge_unseen(model, [question(story_id, story)])


@pytest.mark.external
def test_a_judge_of_one_published_source_is_kept_from_its_stories_in_another(check_data: Path) -> None:
    nyu = load(f"nyu:{check_data / 'nyu-human-debates.tar.gz'}")
    leval = load(f"leval:{check_data / 'quality-leval-15-stories.jsonl'}")
    # 13 of the 15 L-Eval stories were debated (tests/external/test_fingerprint_stories.py), under other ids.
    with pytest.raises(FoldError, match=r"was trained on 13 of these 15 stories .*'leval-\w+' \(there 'quality-\d+'\)"):
        check_unseen(card(*nyu), leval, who="judge")
    with pytest.raises(FoldError, match="was trained on 13 of these 96 stories"):
        check_unseen(card(*leval), nyu, who="judge")
    folds: dict[Fold | None, list[Question]] = {}
    for one in nyu:
        folds.setdefault(one.fold, []).append(one)
    check_unseen(card(*folds["judge"]), folds["test"], who="judge")
    with pytest.raises(FoldError, match="of these 15 stories"):
        check_unseen(card(*folds["judge"]), leval, who="judge")
    check_unseen(card(*nyu, *leval), load("shipped:stories"), who="judge")
