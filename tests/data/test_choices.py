"""The shipped multiple-choice questions keep to the rules of their card."""

from __future__ import annotations

import collections
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from debate.sources import load

FOLDER = Path(__file__).resolve().parents[2] / "data" / "choices"
ALLOWED = re.compile("[\x00-\x7f]*")


@pytest.fixture(scope="module")
def items() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load((FOLDER / "items.yaml").read_text(encoding="utf-8"))
    return loaded


def test_every_item_keeps_to_the_format(items: list[dict[str, Any]]) -> None:
    assert len({item["id"] for item in items}) == len(items) == 40
    for item in items:
        assert set(item) == {"id", "kind", "text", "answers", "gold"}
        assert item["text"].endswith("?")
        assert len({answer.lower() for answer in item["answers"]}) == len(item["answers"])
        assert 0 <= item["gold"] < len(item["answers"])
    assert ALLOWED.fullmatch((FOLDER / "items.yaml").read_text(encoding="utf-8"))


def test_the_card_counts_right(items: list[dict[str, Any]]) -> None:
    assert collections.Counter(item["kind"] for item in items) == {
        "cause": 6,
        "effect": 6,
        "happened": 6,
        "purpose": 8,
        "people": 6,
        "facts": 8,
    }
    assert collections.Counter(len(item["answers"]) for item in items) == {2: 12, 3: 10, 4: 10, 5: 8}


def test_neither_place_nor_length_gives_the_right_answer_away(items: list[dict[str, Any]]) -> None:
    for size in (2, 3, 4, 5):
        places = collections.Counter(item["gold"] for item in items if len(item["answers"]) == size)
        assert set(places) == set(range(size))
        assert max(places.values()) - min(places.values()) <= 1
    longest = shortest = 0
    for item in items:
        lengths = [len(answer) for answer in item["answers"]]
        gold = lengths.pop(item["gold"])
        longest += gold > max(lengths)
        shortest += gold < min(lengths)
    assert (longest, shortest) == (14, 12)


def test_they_load_as_questions_of_their_own_clusters(items: list[dict[str, Any]]) -> None:
    questions = load("shipped:choices")
    assert [question.id for question in questions] == [item["id"] for item in items]
    assert [question.gold for question in questions] == [item["gold"] for item in items]
    assert len({question.story_id for question in questions}) == 40
    assert all(question.story is None and question.fold is None for question in questions)
