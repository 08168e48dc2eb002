"""QuALITY as released, on rows in that form with text of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from debate.errors import SourceError
from debate.sources import load
from debate.sources.quality import strip_html

QUALITY = Path(__file__).resolve().parents[2] / "fixtures" / "quality"
TRAIN = f"quality:{QUALITY / 'train.jsonl'}"


def test_gold_is_the_annotators_label_and_the_distractor_the_most_chosen() -> None:
    questions = {question.id: question for question in load(TRAIN)}
    first = questions["90001_AAAAAAAA_1"]
    # The writer said 1, the annotators 2; their distractors were 1, 1, 3, 2, 1.
    assert (first.gold, first.distractor, first.hard) == (1, 0, True)
    assert first.answers[1] == "To hide his debts"
    # Most chose gold (3, 3, 3) as distractor: skipped; 2 and 1 are level, so the first.
    second = questions["90001_AAAAAAAA_2"]
    assert (second.gold, second.distractor, second.hard) == (2, 0, False)
    # 4, 4, 1, 1, 2: of equals the first.
    assert questions["90001_BBBBBBBB_1"].distractor == 0
    assert questions["90002_CCCCCCCC_1"].distractor is None


def test_lines_on_one_article_share_the_story() -> None:
    questions = load(TRAIN)
    assert [question.story_id for question in questions] == ["quality-90001"] * 3 + ["quality-90002"]
    assert questions[0].story is questions[2].story


def test_html_becomes_paragraphs() -> None:
    tram = load(f"{TRAIN}?source=slate")[0]
    assert tram.story == (
        "The Last Tram\n\nThe conductor counted nine fares & rang the bell.\n\nNobody got off.\n\n"
        "At the depot he found a tenth ticket, and it was his own."
    )


def test_text_without_tags_stays_as_it_is() -> None:
    plain = "He wrote a < b, and AT&amp;T.\n\n  Then <he> left."
    assert strip_html(plain) == plain


def test_filters() -> None:
    assert [question.id for question in load(f"{TRAIN}?hard=true")] == ["90001_AAAAAAAA_1", "90001_BBBBBBBB_1"]
    assert [question.id for question in load(f"{TRAIN}?hard=false&source=Gutenberg")] == ["90001_AAAAAAAA_2"]
    with pytest.raises(
        SourceError, match=r"no article is from 'Slat'; did you mean 'Slate'\? \(sources: Gutenberg, Slate"
    ):
        load(f"{TRAIN}?source=Slat")
    with pytest.raises(SourceError, match="holds no questions with these options"):
        load(f"{TRAIN}?hard=true&source=Slate")
    with pytest.raises(SourceError, match="write hard=true or hard=false"):
        load(f"{TRAIN}?hard=yes")


def test_the_test_split_has_no_gold() -> None:
    questions = load(f"quality:{QUALITY / 'test.jsonl'}")
    assert [(question.gold, question.distractor) for question in questions] == [(None, None)] * 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gold_label": 5}, "line 1, questions[0]: field 'gold_label' is 5; labels count from 1 to 4"),
        ({"gold_label": "2"}, "line 1, questions[0]: field 'gold_label' is a text; whole number is needed"),
        ({"options": ["only"]}, "field 'options' needs two or more answers"),
        ({"difficult": 2}, "field 'difficult' is 2; 0 or 1 is needed"),
        (
            {"validation": [{"untimed_best_distractor": 9}]},
            "questions[0], validation[0]: field 'untimed_best_distractor'",
        ),
        ({"question": " "}, "field 'question' is blank"),
    ],
)
def test_malformed_rows_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    row = json.loads((QUALITY / "train.jsonl").read_text(encoding="utf-8").splitlines()[0])
    row["questions"][0].update(change)
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(SourceError) as error:
        load(f"quality:{path}")
    assert message in str(error.value)
