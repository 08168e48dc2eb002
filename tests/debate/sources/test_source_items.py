"""Open items: what ships, files of one's own, and what is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from debate.errors import SourceError
from debate.item import Item
from debate.sources import load
from debate.sources.items import load_items

QUESTION = {"question": "How many?", "answers": ["2", "two"], "trap": "3"}
TEXT = {
    "text": "Der Hahn tropft.",
    "language": "de",
    "right": "The tap is dripping.",
    "trap": "The rooster is dripping.",
}


def write(path: Path, *rows: object) -> str:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return f"items:{path}"


def test_what_ships() -> None:
    questions, texts = load_items("shipped:counterintuitive"), load_items("shipped:ambiguity")
    assert ({item.task for item in questions}, {item.task for item in texts}) == ({"question"}, {"translation"})
    assert {item.source for item in texts} == {"shipped:ambiguity"}
    assert {item.language for item in texts} == {"German", "Chinese"}


def test_own_files(tmp_path: Path) -> None:
    source = write(tmp_path / "q.jsonl", {**QUESTION, "id": "q", "why": "1 + 1"}, {**QUESTION, "question": "And now?"})
    first, second = load_items(source)
    assert first == Item("q", "question", "How many?", ("2", "two"), "3", source, why="1 + 1")
    assert second.id not in {"", "q"}
    assert load_items(source)[1].id == second.id  # made from its texts
    (text,) = load_items(write(tmp_path / "t.jsonl", TEXT))
    assert (text.language, text.right, text.trap) == ("German", ("The tap is dripping.",), "The rooster is dripping.")


def test_as_a_question_it_holds_all_that_grades_it() -> None:
    item = load_items("shipped:ambiguity")[0]
    question = item.as_question()
    assert question.answers == (*item.right, item.trap)
    assert (question.gold, question.distractor, question.story_id) == (0, 1, item.id)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{**QUESTION, "trap": " "}], ["line 1", "'trap' is blank"]),
        ([{**QUESTION, "answers": []}], ["needs a right answer and a trap"]),
        ([{**QUESTION, "answer": "2"}], ["unknown field 'answer'", "did you mean 'answers'"]),
        ([{"question": "How?", "trap": "3"}], ["field 'answers' is missing"]),
        ([{**TEXT, "language": 3}], ["field 'language' is a number"]),
        ([QUESTION, TEXT], ["put them into two files"]),
        ([QUESTION, QUESTION], ["two items have the id"]),
        ([], ["holds no items"]),
    ],
)
def test_wrong_files_are_refused_with_the_reason(tmp_path: Path, rows: list[object], words: list[str]) -> None:
    with pytest.raises(SourceError) as refused:
        load_items(write(tmp_path / "i.jsonl", *rows))
    for word in words:
        assert word in str(refused.value)


@pytest.mark.parametrize("source", ["shipped:counterintuitiv", "quality:x", "items:", "counterintuitive"])
def test_unknown_sources_are_refused_with_what_there_is(source: str) -> None:
    with pytest.raises(SourceError, match="shipped:counterintuitive"):
        load_items(source)


def test_open_items_are_no_questions_to_choose_from_and_say_whose_they_are() -> None:
    with pytest.raises(SourceError, match=r"it is for tournaments\.consensus --system mad"):
        load("shipped:ambiguity")
