"""The shipped stories keep to the rules of their card."""

from __future__ import annotations

import collections
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

STORIES = Path(__file__).resolve().parents[2] / "data" / "stories"
FILES = sorted(STORIES.glob("*.yaml"))
# Stories are ASCII but for dashes and an accent that their names and sums of money may need.
ALLOWED = re.compile("[\x00-\x7f–—é]*")


def read(path: Path) -> dict[str, Any]:
    story: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return story


@pytest.fixture(scope="module")
def stories() -> list[dict[str, Any]]:
    return [read(path) for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_story_file_keeps_to_the_format(path: Path) -> None:
    story = read(path)
    assert set(story) == {"id", "title", "genre", "fold", "text", "questions"}
    assert story["id"] == path.stem
    text = story["text"]
    assert 430 <= len(text.split()) <= 680
    assert ALLOWED.fullmatch(path.read_text(encoding="utf-8"))
    assert all("\n" not in paragraph for paragraph in text.strip().split("\n\n")), "a paragraph is one line"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_questions_can_be_argued_both_ways(path: Path) -> None:
    story = read(path)
    questions = story["questions"]
    assert [question["id"] for question in questions] == [f"{story['id']}-{number}" for number in range(1, 5)]
    assert sum(question["gold"] == 0 for question in questions) == 2
    assert len({question["text"] for question in questions}) == 4
    for question in questions:
        assert set(question) == {"id", "text", "answers", "gold", "evidence", "why"}
        assert question["why"].strip()
        lengths = [len(answer.split()) for answer in question["answers"]]
        assert len(lengths) == 2
        assert all(4 <= length <= 14 for length in lengths)
        assert abs(lengths[0] - lengths[1]) <= 3
        assert len(question["evidence"]) == 2
        for passages in question["evidence"]:
            assert passages
            for passage in passages:
                assert passage in story["text"]
                assert 6 <= len(passage.split()) <= 30


def test_there_are_forty_stories_of_forty_genres(stories: list[dict[str, Any]]) -> None:
    assert len({story["id"] for story in stories}) == len(stories) == 40
    assert len({story["title"] for story in stories}) == 40
    assert len({story["genre"] for story in stories}) == 40
    assert len({" ".join(story["text"].split()) for story in stories}) == 40


def test_folds_are_as_the_card_says(stories: list[dict[str, Any]]) -> None:
    card = (STORIES / "CARD.md").read_text(encoding="utf-8")
    stated = {
        fold: (int(n_stories), int(n_questions))
        for fold, n_stories, n_questions in re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|", card, re.MULTILINE)
    }
    counts = collections.Counter(story["fold"] for story in stories)
    assert stated == {fold: (count, 4 * count) for fold, count in counts.items()}
    assert set(stated) == {"judge", "debater", "validation", "test"}


def test_length_does_not_give_the_gold_answer_away(stories: list[dict[str, Any]]) -> None:
    differences = [
        len(question["answers"][question["gold"]]) - len(question["answers"][1 - question["gold"]])
        for story in stories
        for question in story["questions"]
    ]
    longer, shorter = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    assert (longer, shorter, differences.count(0)) == (64, 75, 21), "the card states these counts"
